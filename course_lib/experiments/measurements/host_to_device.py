"""Copies between the computer's memory and the GPU's: pageable and pinned memory, by size, against PCIe."""

from course_lib.accounting import hardware
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.calls import binary_size
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns, rates
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

SIZES = tuple(2**power for power in (16, 20, 24, 28))
BETWEEN = tuple(2**power for power in (18, 22, 26, 30))
WAYS = ("pageable, to the GPU", "pinned, to the GPU", "pageable, to the host", "pinned, to the host")

table, predict = rates(lambda case, device: case.facts["bytes"])


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """64 KiB to 256 MiB in four ways; full has the sizes between, and 1 GiB.

    The prediction is the link's rate: what small copies (their launch) and pageable ones (a second copy, in the host's
    memory) fall short of is what the experiment shows.
    """
    sizes = SIZES if quick else sorted(SIZES + BETWEEN)
    return tuple(_case(way, size) for way in WAYS for size in sizes)


def _case(way: str, size: int) -> Case:
    return Case(
        f"{way}, {binary_size(size)}",
        "target.copy_(source, non_blocking=True)",
        build=lambda bench: copy(bench, way, size),
        expect=lambda device: over_pcie(device, size),
        facts={"way": way, "bytes": size},
    )


def over_pcie(device: hardware.Device, size: int) -> float | None:
    """Seconds of a copy of `size` bytes at the full rate of PCIe; None where the device does not say it."""
    return size / device.links["pcie"] if "pcie" in device.links else None


def copy(bench: Bench, way: str, size: int):
    """The call that copies `size` bytes the `way` of `WAYS`."""
    torch = bench.torch
    there = bench.random(size // 4)
    here = torch.empty(size // 4, pin_memory=way.startswith("pinned"))
    here.copy_(there)
    target, source = (there, here) if way.endswith("GPU") else (here, there)
    return lambda: target.copy_(source, non_blocking=True)


def plot(result):
    rates = result.measured
    best = max(rates, key=rates.get)
    title = say("title", rate=quantity(rates[best], "B/s"), best=best)
    return curves(result, x="bytes", title=title, axis=say("axis"), by="way")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "B/s", way="str", bytes="int B"),
    table=table,
    predict=predict,
    quick_seconds=0.06,
    full_seconds=0.3,
)
