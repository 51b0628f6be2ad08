"""The same matrix product, and the same step of a small network, in one number format after another."""

from collections.abc import Callable
from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls, timing
from course_lib.experiments.running.bench import torch_dtype
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FORMATS = {"cpu": ("fp32", "bf16"), "gpu": ("fp32", "tf32", "bf16", "fp16", "fp8-e4m3")}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """A square product in every format, and forward and backward of an MLP with and without autocast; full has a second
    size of the product.
    """
    kind = "cpu" if device.kind == "cpu" else "gpu"
    sides = (512, 1024) if kind == "cpu" else (8192, 4096)
    width, rows = (512, 256) if kind == "cpu" else (8192, 8192)
    found = []
    for side in sides[:1] if quick else sides:
        for dtype in FORMATS[kind]:
            op = roofline.matmul(side, side, side, dtype)
            size = "product" if side == sides[0] else f"product of {side}³"
            call = say("calls", "product", side=side, dtype=dtype)
            found.append(_case(f"{size}, {dtype}", call, (op,), partial(_product, side=side, dtype=dtype), dtype))
    for dtype in [name for name in FORMATS[kind] if not name.startswith("fp8")]:
        ops = _mlp_ops(rows, width, dtype)
        how = {"bf16": "autocast to bf16", "fp16": "autocast to fp16"}.get(dtype, dtype)
        call = say("calls", "step", width=width, wide=4 * width, rows=rows)
        found.append(_case(f"MLP step, {how}", call, ops, partial(_mlp, rows=rows, width=width, dtype=dtype), how))
    return tuple(found)


def _case(name: str, call: str, ops: tuple[roofline.Op, ...], observe: Callable, how: str) -> Case:
    def expect(device: hardware.Device) -> float | None:
        """The roofline's seconds, None for a format without a peak."""
        return roofline.predict_seconds(ops, device=device) if ops[0].dtype in device.peaks else None

    facts = {"format": how, "flops": sum(op.flops for op in ops)}
    return Case(name, call, ops, observe=observe, expect=expect, facts=facts)


def _mlp_ops(rows: int, width: int, dtype: str) -> tuple[roofline.Op, ...]:
    """The products: forward, gradient of the weights, and of the inputs but for the first layer, whose input is data.

    Left out, so predicted too short: GELU, the copies that autocast makes of weights and activations, and what the
    gradients of the weights are copied back to fp32 for.
    """
    wide = 4 * width
    up, down = ("up", rows, width, wide), ("down", rows, wide, width)
    found = [roofline.matmul(m, k, n, dtype, name=name) for name, m, k, n in (up, down)]
    found += [roofline.matmul(k, m, n, dtype, name=f"{name}, weights") for name, m, k, n in (up, down)]
    return (*found, roofline.matmul(rows, width, wide, dtype, name="down, inputs"))


# ---------------------------------------------------------------- what is timed


def _need(torch, on: str, dtype: str) -> None:
    """Unavailable where this GPU's tensor cores lack a format: torch would take another way, in silence."""
    if on != "cuda":
        return
    have = torch.cuda.get_device_capability()
    least = {"tf32": (8, 0), "bf16": (8, 0), "fp16": (7, 0), "fp8-e4m3": (8, 9)}.get(dtype, (0, 0))
    if have < least:
        raise Unavailable(
            f"{dtype} needs compute capability {least[0]}.{least[1]}, and this GPU has {have[0]}.{have[1]}."
        )


def _product(bench, seconds: float, side: int, dtype: str):
    torch = bench.torch
    _need(torch, bench.on, dtype)
    with torch.inference_mode(), timing.fp32_products(torch, dtype):
        build = calls.fp8_product(side) if dtype.startswith("fp8") else calls.product(side, side, side, dtype)
        return timing.measure_whole(build(bench), seconds=seconds).values


def _mlp(bench, seconds: float, rows: int, width: int, dtype: str):
    torch = bench.torch
    _need(torch, bench.on, dtype)
    up, down = bench.random(4 * width, width), bench.random(width, 4 * width)
    up, down = (weight.mul_(0.05).requires_grad_() for weight in (up, down))
    x = bench.random(rows, width)
    half = dtype in ("bf16", "fp16")

    def step():
        with torch.autocast(bench.on, dtype=torch_dtype(torch, dtype), enabled=half):
            hidden = torch.nn.functional.gelu(torch.nn.functional.linear(x, up), approximate="tanh")
            loss = torch.nn.functional.linear(hidden, down).float().square().mean()
        up.grad = down.grad = None
        loss.backward()

    with timing.fp32_products(torch, dtype):
        return timing.measure_whole(step, seconds=seconds).values


def plot(result):
    times, title = result.measured, say("title", "plain")
    if {"product, fp32", "product, bf16"} <= set(times):
        product = times["product, fp32"] / times["product, bf16"]
        title = say("title", "found", product=product)
        if {"MLP step, fp32", "MLP step, autocast to bf16"} <= set(times):
            step = times["MLP step, fp32"] / times["MLP step, autocast to bf16"]
            title = say("title", "both", product=product, step=step)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s", format="str", flops="int FLOP"), full_seconds=0.6)
