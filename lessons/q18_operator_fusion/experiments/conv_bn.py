"""A 3×3 convolution with batch norm and ReLU behind it: as three calls, and with the batch norm folded into the weights."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

CHANNELS, SIDE, BATCH = 64, 56, 2


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """A dense convolution and a depthwise one."""
    return tuple(
        Case(
            name,
            say("calls", name),
            observe=partial(_observe, groups=groups),
            facts={"groups": groups},
        )
        for name, groups in (("dense", 1), ("depthwise", CHANNELS))
    )


def _observe(bench, seconds: float, groups: int) -> list[float]:
    """Time of folded convolution and ReLU, over that of convolution, batch norm and ReLU."""
    torch = bench.torch
    nn = torch.nn
    with timing.single_thread(torch), torch.no_grad():
        conv = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=groups, bias=False).to(bench.on).eval()
        norm = nn.BatchNorm2d(CHANNELS).to(bench.on).eval()
        folded = nn.utils.fusion.fuse_conv_bn_eval(conv, norm)
        x = torch.randn(BATCH, CHANNELS, SIDE, SIDE, device=bench.on)
        found = []
        for _ in range(5):
            short, long = (
                timing.measure(form, seconds=seconds / 10).median
                for form in (lambda: torch.relu_(folded(x)), lambda: torch.relu_(norm(conv(x))))
            )
            found.append(short / long)
        return found


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "×", groups="int"),
    method={"channels": CHANNELS, "side": SIDE, "batch": BATCH},
)
