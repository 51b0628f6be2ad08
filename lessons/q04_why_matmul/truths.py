"""The truth of each prediction card of Q4, computed when a learner reveals it."""

from course_lib import experiments
from course_lib.accounting import hardware, roofline
from course_lib.accounting.hardware import multiprocessors

H100 = "h100-sxm"
RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def add_or_multiply() -> str:
    """The order of magnitude of the ratio of the two times."""
    product = roofline.matmul(4096, 4096, 4096, dtype="bf16")
    addition = roofline.elementwise(4096**2, reads=2, writes=1, flops_per_element=1, dtype="bf16")
    ratio = product.on(H100).seconds / addition.on(H100).seconds
    orders = {"equal": 2, "few": 30, "hundreds": 1000, "thousands": 10_000}  # each up to
    return next(key for key, end in orders.items() if ratio < end)


def loop_to_library() -> float:
    rates = experiments.load("gemm_ladder", RECORDED).measured
    return rates["library, out="] / rates["loop over numbers"]


def biggest_step() -> str:
    """The step of the recorded ladder with the largest factor."""
    rates = experiments.load("gemm_ladder", RECORDED).measured
    steps = {
        "dots": ("loop over numbers", "dot products"),
        "rows": ("dot products", "row by row"),
        "tiles": ("outer products", "tiles"),
        "library": ("tiles", "library, out="),
    }
    return max(steps, key=lambda key: rates[steps[key][1]] / rates[steps[key][0]])


def one_more_row(m, n, across, by_tiles) -> float:
    """across (tiles in a row of tiles) and by_tiles (ratio of the tiles, a slip) are for the card's texts; not used."""
    before, after = (multiprocessors.waves(rows, n, tile_m=128, tile_n=256, device=H100).waves for rows in (m, m + 1))
    return after / before


def rnn_or_attention() -> float:
    n, d = 2048, 4096
    step = roofline.matmul(1, d, d, dtype="bf16")
    products = [roofline.matmul(n, d, n, dtype="bf16"), roofline.matmul(n, n, d, dtype="bf16")]
    assert n * step.flops == sum(op.flops for op in products)
    return n * step.on(H100).seconds / sum(op.on(H100).seconds for op in products)


def tile_for_l2() -> int:
    """Smallest side whose FLOP per byte from L2 keep the arithmetic busy, by trying them."""
    device = hardware.load(H100)
    needed = device.peak("bf16") / device.bandwidth("l2")
    return next(t for t in range(1, 4096) if 2 * t * t / (2 * (t + t)) >= needed)


def elsewhere() -> float:
    """TFLOP/s that tiles of 512 × 128 allow a TPU v5p, fetched from its memory; the result's bytes are left out."""
    device, n = hardware.load("tpu-v5p"), 8192
    moved = int(roofline.tiled_matmul_bytes(n, n, n, tile_m=512, tile_n=128, dtype="bf16")) - 2 * n * n
    return min(device.peak("bf16"), 2 * n**3 / moved * device.memory_bandwidth) / 1e12
