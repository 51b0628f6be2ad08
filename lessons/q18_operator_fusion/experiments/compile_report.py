"""How many kernels torch.compile makes of some expressions, what it calls of others' libraries, and one generated loop."""

import re
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

WIDTH, ROWS = 512, 256
NAMES = ("SiLU(x)·y", "softmax(2x)", "x + GELU(LayerNorm(x))", "Linear(LayerNorm(x))", "ReLU(Linear(x))")
BREAKS = {"if x.sum() > 0": 1, "torch.where": 0}  # how often the tracing has to stop


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each compiles for seconds: quick has the first only."""
    found = [
        Case(name, say("calls", "kernels"), observe=partial(_observe, name=name), expect=lambda device: 1.0)
        for name in (NAMES[:1] if quick else NAMES)
    ]
    found += [
        Case(name, say("calls", "breaks"), observe=partial(_breaks, name=name), expect=lambda device, told=told: told)
        for name, told in (() if quick else BREAKS.items())
    ]
    return tuple(found)


def _observe(bench, seconds: float, name: str) -> list[float]:
    code = generated(bench, name)
    return [float(len(kernels(code)))]


def _breaks(bench, seconds: float, name: str) -> list[float]:
    torch = bench.torch

    def branch(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    def select(x):
        return torch.where(x.sum() > 0, x * 2, x - 1)

    torch._dynamo.reset()
    form = {"if x.sum() > 0": branch, "torch.where": select}[name]
    return [float(torch._dynamo.explain(form)(torch.ones(8, device=bench.on)).graph_break_count)]


def kernels(code: str) -> list[str]:
    """Names of the kernels that generated code defines, on a processor (C++) or a GPU (Triton)."""
    return re.findall(r"^(?:cpp|triton)_\w+(?= = async_compile)", code, re.MULTILINE)


def generated(bench, name: str) -> str:
    """What TorchInductor writes for one of `NAMES`."""
    torch = bench.torch
    nn, F = torch.nn, torch.nn.functional
    norm, linear = nn.LayerNorm(WIDTH).to(bench.on), nn.Linear(WIDTH, WIDTH).to(bench.on)
    x, y = (torch.randn(ROWS, WIDTH, device=bench.on) for _ in range(2))
    form = {
        "SiLU(x)·y": lambda x, y: F.silu(x) * y,
        "softmax(2x)": lambda x, y: torch.softmax(2 * x, -1),
        "x + GELU(LayerNorm(x))": lambda x, y: x + F.gelu(norm(x)),
        "Linear(LayerNorm(x))": lambda x, y: linear(norm(x)),
        "ReLU(Linear(x))": lambda x, y: F.relu(linear(x)),
    }[name]
    with timing.single_thread(torch), torch.no_grad(), compiling(bench):
        from torch._inductor.utils import run_and_get_code

        torch._dynamo.reset()
        _, codes = run_and_get_code(torch.compile(form, fullgraph=True, dynamic=False), x, y)
    return "\n".join(codes)


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, ""),
    timed=False,
    recording_seconds=60,
)
