"""Large copies between host and GPU, both ways at once, and beside computation; `host_to_device` has other sizes."""

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.measurements.host_to_device import WAYS, copy, over_pcie
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
    to_gpu, to_host = _copy("pinned, to the GPU"), _copy("pinned, to the host")

    def case(name, call, ops, build, expect=_copying, size=SIZE):
        return Case(name, call, ops, build, expect=expect, facts={"bytes": size})

    return (
        *(
            case(f"copy alone: {way}", say("calls", "copy", large=large, way=way), (copied,), _copy(way))
            for way in WAYS
        ),
        case(
            "both directions at once",
            say("calls", "both", large=large),
            (copied, copied),
            _two_streams(to_gpu, to_host),
            size=2 * SIZE,
        ),
        case(
            "matrix product alone",
            f"[{PRODUCT}×{PRODUCT}] @ [{PRODUCT}×{PRODUCT}]",
            (product,),
            multiply,
            lambda device: roofline.predict_seconds(product, device=device),
            product.bytes,
        ),
        case(
            "copy, then product",
            say("calls", "one-stream", large=large),
            (copied, product),
            calls.one_after_another(to_gpu, multiply),
            lambda device: _together(device, product, sum),
        ),
        *(
            case(
                f"copy beside product, {memory}",
                say("calls", "two-streams", large=large, memory=memory),
                (copied, product),
                _two_streams(multiply, _copy(f"{memory}, to the GPU")),
                lambda device: _together(device, product, max),
            )
            for memory in ("pinned", "pageable")
        ),
    )


def _copying(device: hardware.Device) -> float | None:
    return over_pcie(device, SIZE)


def _together(device: hardware.Device, product: roofline.Op, how) -> float | None:
    """Copy and product one after another (sum) or at once (max)."""
    copying = _copying(device)
    return None if copying is None else how((copying, roofline.predict_seconds(product, device=device)))


def _copy(way: str) -> calls.Build:
    return lambda bench: copy(bench, way, SIZE)


def _two_streams(first: calls.Build, second: calls.Build) -> calls.Build:
    """Both at once: the second call is queued on a stream of its own."""

    def build(bench):
        torch = bench.torch
        here, beside = first(bench), second(bench)
        other = torch.cuda.Stream()
        torch.cuda.synchronize()

        def at_once():
            here()
            with torch.cuda.stream(other):
                beside()

        return at_once

    return build


def plot(result):
    times, title = result.measured, say("title", "plain")
    pageable, pinned = (times.get(f"copy alone: {memory}, to the GPU") for memory in ("pageable", "pinned"))
    if pageable and pinned:
        title = say("title", "found", factor=pageable / pinned)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", bytes="int B"), quick_seconds=0.2, full_seconds=0.5
)
