"""gelu(x·a + b)·mask as four calls, each reading and writing memory, and fused into one pass by a compiler or by hand.

The mask is what dropout multiplies with: 0, or 1/(1 − p). On a processor the tanh of the GELU costs more than its
traffic, so the prediction, which only sees bytes, is too short there.
"""

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

SCALE, SHIFT, KEPT = 1.5, 0.25, 0.9
TANH_GELU = 8  # FLOPs of a GELU by tanh, the tanh counted as one: x·(0.5 + 0.5·tanh(x·(c + d·x·x)))


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four passes, with and without fresh memory; one pass; full adds what torch.compile makes of it (it takes a while
    to compile), and a GPU adds a Triton kernel.
    """
    dtype, elements = main_dtype(device), 2**23 if device.kind == "cpu" else 2**27

    def one(name, reads, flops):
        return roofline.elementwise(elements, reads=reads, flops_per_element=flops, dtype=dtype, name=name)

    four = (one("times a", 1, 1), one("plus b", 1, 1), one("GELU", 1, TANH_GELU), one("times mask", 2, 1))
    fused = (one("fused", 2, 3 + TANH_GELU),)

    def case(name, how, ops, build):
        call = say("calls", how, elements=elements)
        return Case(name, call, ops, lambda bench: build(*_operands(bench, elements, dtype)))

    found = [
        case("four passes", "reused", four, _four),
        case("four passes, fresh results", "fresh", four, _fresh),
        case("one pass: x·mask", "last", (one("times mask", 2, 1),), _one),
    ]
    if device.kind == "gpu":
        found.append(case("Triton kernel", "by-hand", fused, _triton))
    if not quick:
        found.append(case("torch.compile", "compiled", fused, _compiled))
    return tuple(found)


def _operands(bench, elements: int, dtype: str):
    x, mask = bench.random(elements, dtype=dtype), bench.random(elements, dtype=dtype)
    mask.copy_((mask < KEPT - 0.5) / KEPT)
    return bench, x, mask, bench.empty(elements, dtype=dtype), bench.empty(elements, dtype=dtype)


def chain(torch, x, mask):
    """What every case computes."""
    return torch.nn.functional.gelu(x * SCALE + SHIFT, approximate="tanh") * mask


def _four(bench, x, mask, out, between):
    torch = bench.torch

    def passes():
        torch.mul(x, SCALE, out=between)
        torch.add(between, SHIFT, out=out)
        torch.ops.aten.gelu.out(out, approximate="tanh", out=between)
        torch.mul(between, mask, out=out)

    return passes


def _fresh(bench, x, mask, out, between):
    return lambda: chain(bench.torch, x, mask)


def _one(bench, x, mask, out, between):
    return lambda: bench.torch.mul(x, mask, out=out)


def _compiled(bench, x, mask, out, between):
    torch = bench.torch
    with compiling(bench):
        fused = torch.compile(lambda x, mask, out: out.copy_(chain(torch, x, mask)), fullgraph=True, dynamic=False)
        fused(x, mask, out)
        _check(bench, x, mask, out, "torch.compile")
    return lambda: fused(x, mask, out)


def _triton(bench, x, mask, out, between):
    with compiling(bench, "A Triton kernel"):
        from course_lib.units.q18_operator_fusion import triton_chain

        triton_chain.chain(x, mask, out, SCALE, SHIFT)
        _check(bench, x, mask, out, "the Triton kernel")
    return lambda: triton_chain.chain(x, mask, out, SCALE, SHIFT)


def _check(bench, x, mask, out, who: str) -> None:
    """Whether a fused chain computes what the four calls do, as far as rounding lets it."""
    part = slice(0, 2**16)
    expected = chain(bench.torch, x[part].float(), mask[part].float())
    if not bench.torch.allclose(out[part].float(), expected, rtol=0.02, atol=0.01):
        raise Unavailable(f"The numbers of {who} are not those of the four calls.")


def plot(result):
    """Predicted and measured time of each case, on a logarithmic axis."""
    times, title = result.measured, say("title", "plain")
    fused = [name for name in ("Triton kernel", "torch.compile") if name in times]
    if fused and "four passes" in times:
        title = say("title", "found", factor=times["four passes"] / times[fused[0]])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, CASE_COLUMNS, table=rows_by_case, full_seconds=0.8)
