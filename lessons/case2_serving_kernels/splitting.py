"""A pair of layers, width → hidden → width, on one GPU or split over several: seconds of its weights, bytes and messages."""

from dataclasses import dataclass

from course_lib.accounting import communication, hardware, roofline

LATENCY = 2e-6  # s a step of a ring; an assumption


@dataclass(frozen=True)
class Pair:
    """Seconds of a column-parallel layer, the row-parallel one behind it, and the all-reduce that ends them."""

    products: float
    link: float  # seconds of the bytes of the all-reduce
    latency: float

    @property
    def seconds(self) -> float:
        return self.products + self.link + self.latency


def pair(batch: int, width: int, hidden: int, ranks: int, device="h100-sxm", link=450e9, latency=LATENCY) -> Pair:
    """A pair of products in bf16; hidden must be a multiple of ranks. link: B/s of a rank, one way."""
    device, share = hardware.resolve(device), hidden // ranks
    products = sum(
        max(op.flops / device.peak("bf16"), op.bytes / device.memory_bandwidth)
        for op in (
            roofline.matmul(batch, width, share, dtype="bf16"),
            roofline.matmul(batch, share, width, dtype="bf16"),
        )
    )
    sums = communication.all_reduce(nbytes=2 * batch * width, ranks=ranks, bandwidth=link, latency=latency)
    return Pair(products, sums.bytes_per_rank / link, sums.steps * latency)


def selector(inputs: int, outputs: int, batch: int) -> str:
    """The "adaptive" rule as it is told: arithmetic over what is sent, and two thresholds."""
    ratio = (batch * inputs * outputs) / (batch * outputs)
    return "column" if ratio > 1000 else "row" if ratio < 100 else "hybrid"


def numbers_sent(inputs: int, outputs: int, batch: int, ranks: int, by: str, sharded: bool, whole: bool) -> float:
    """Numbers that each rank sends, forward, for one layer split `by` "column" or "row" over ranks.

    sharded: its inputs come in shares; whole: all ranks want all outputs. A ring gathers (p − 1)/p of a buffer and
    reduces to everybody with twice as much.
    """
    part = (ranks - 1) / ranks
    if by == "row":
        return (2 if whole else 1) * part * batch * outputs
    return part * batch * (inputs * sharded + outputs * whole)
