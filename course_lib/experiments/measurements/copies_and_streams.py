"""Large copies between host and GPU, both ways at once, and beside computation; `host_to_device` has other sizes."""

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.measurements.host_to_device import WAYS, copy
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

SIZE = 256 * 2**20  # bytes of a copy
PRODUCT = 12288  # side of the matrix product beside which is copied: on an H100 it takes about as long


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Copies alone, then with a matrix product before, after and beside them; quick runs only repeat less."""
    dtype = main_dtype(device)
    product = roofline.matmul(PRODUCT, PRODUCT, PRODUCT, dtype)
    multiply = calls.product(PRODUCT, PRODUCT, PRODUCT, dtype)
    copied, large = roofline.Op("copy", 0, SIZE), units.format_bytes(SIZE)
    found = [
        Case(
            f"copy alone: {way}",
            say("calls", "copy", large=large, way=way),
            (copied,),
            build=lambda bench, way=way: copy(bench, way, SIZE),
            expect=_copying,
            facts={"bytes": SIZE},
        )
        for way in WAYS
    ]

    def beside(name, call, ops, build, expect, size=SIZE):
        found.append(Case(name, call, ops, build, expect=expect, facts={"bytes": size}))

    beside(
        "both directions at once",
        say("calls", "both", large=large),
        (copied, copied),
        _both_ways,
        _copying,
        2 * SIZE,
    )
    beside(
        "matrix product alone",
        f"[{PRODUCT}×{PRODUCT}] @ [{PRODUCT}×{PRODUCT}]",
        (product,),
        multiply,
        lambda device: roofline.predict_seconds(product, device=device),
        product.bytes,
    )
    beside(
        "copy, then product",
        say("calls", "one-stream", large=large),
        (copied, product),
        calls.one_after_another(lambda bench: copy(bench, "pinned, to the GPU", SIZE), multiply),
        lambda device: _together(device, product, sum),
    )
    for memory in ("pinned", "pageable"):
        beside(
            f"copy beside product, {memory}",
            say("calls", "two-streams", large=large, memory=memory),
            (copied, product),
            lambda bench, memory=memory: _two_streams(bench, memory, multiply),
            lambda device: _together(device, product, max),
        )
    return tuple(found)


def _copying(device: hardware.Device) -> float | None:
    """Seconds of a copy over PCIe at its full rate; None where the link is not known."""
    return SIZE / device.links["pcie"] if "pcie" in device.links else None


def _together(device: hardware.Device, product: roofline.Op, how) -> float | None:
    """Copy and product one after another (sum) or at once (max)."""
    copying = _copying(device)
    return None if copying is None else how((copying, roofline.predict_seconds(product, device=device)))


# ---------------------------------------------------------------- what is timed


def _both_ways(bench):
    torch = bench.torch
    up, down = (copy(bench, f"pinned, {way}", SIZE) for way in ("to the GPU", "to the host"))
    other = torch.cuda.Stream()
    torch.cuda.synchronize()

    def both():
        up()
        with torch.cuda.stream(other):
            down()

    return both


def _two_streams(bench, memory: str, multiply: calls.Build):
    torch = bench.torch
    up, product = copy(bench, f"{memory}, to the GPU", SIZE), multiply(bench)
    other = torch.cuda.Stream()
    torch.cuda.synchronize()

    def at_once():
        product()
        with torch.cuda.stream(other):
            up()

    return at_once


def plot(result):
    """Predicted and measured time of each case, on a logarithmic axis."""
    times, title = result.measured, say("title", "plain")
    pageable, pinned = (times.get(f"copy alone: {memory}, to the GPU") for memory in ("pageable", "pinned"))
    if pageable and pinned:
        title = say("title", "found", factor=pageable / pinned)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", bytes="int B"), quick_seconds=0.2, full_seconds=0.5
)
