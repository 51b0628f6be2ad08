"""Claims on trial in Q4: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import flops, hardware, models, roofline
from course_lib.accounting.hardware import multiprocessors
from course_lib.experiments import published
from course_lib.teaching.cards.verdict import Verdict, if_all

A100 = "a100-40-sxm"
# TFLOP/s without tensor cores in fp16 and fp64, and with them in fp64: NVIDIA A100 whitepaper, table 1 (2020)
A100_FP16_LANES, A100_FP64_LANES, A100_FP64_TENSOR = 78e12, 9.7e12, 19.5e12
SCHEDULERS = 4  # of an SM, one instruction a clock each: NVIDIA A100 whitepaper, "A100 SM Architecture" (2020)
BEST_FOUND = "mamf-a100-bf16"  # best of a public search over shapes


def _block(rows: int = 8 * 1024, tokens: int = 1024) -> dict[str, list[roofline.Op]]:
    """A GPT-2 block with unfused attention in bf16: its products, and everything else."""
    m = models.load("gpt2")
    d, heads, wide = m.d_model, rows // tokens * m.heads, m.mlp_width

    def product(a, k, b, batch=1):
        return roofline.matmul(a, k, b, dtype="bf16", batch=batch)

    def passes(elements, reads, work):
        return roofline.elementwise(elements, reads=reads, flops_per_element=work, dtype="bf16")

    products = [
        product(rows, d, 3 * d),
        product(tokens, m.head_width, tokens, heads),
        product(tokens, tokens, m.head_width, heads),
        product(rows, d, d),
        product(rows, d, wide),
        product(rows, wide, d),
    ]
    others = [
        *(2 * [passes(rows * d, 1, 8)]),  # layer norms
        passes(heads * tokens**2, 1, 5),  # softmax
        passes(rows * wide, 1, 8),  # GELU
        *(2 * [passes(rows * d, 2, 1)]),  # residuals
    ]
    return {"products": products, "others": others}


def _share(block, amount) -> float:
    of = {name: sum(amount(op) for op in ops) for name, ops in block.items()}
    return of["products"] / sum(of.values())


def s003_74() -> Verdict:
    gpt2, block = models.load("gpt2"), _block()
    products, everything = (flops.forward(gpt2, batch=1, seq=1024, extras=extras).total for extras in (False, True))
    of_time = _share(block, lambda op: op.on(A100).seconds)
    by_flops, by_time = products / everything > 0.9, of_time > 0.9
    ruling = "holds" if by_flops and by_time else "holds-if" if by_flops else "fails"
    return Verdict(ruling, model=products / everything, block=_share(block, lambda op: op.flops), time=of_time)


def s003_12() -> Verdict:
    """It holds if narrower numbers alone explain the gain, and tensor cores of one precision gain nothing."""
    device = hardware.load(A100)
    gain = device.peak("fp16") / device.peak("fp32")
    by_format = A100_FP16_LANES / device.peak("fp32")
    unmixed = A100_FP64_TENSOR / A100_FP64_LANES
    sm = multiprocessors.one(A100)
    return Verdict(
        if_all(gain / by_format < 1.5, unmixed < 1.1),
        gain=gain,
        by_format=by_format,
        by_core=gain / by_format,
        unmixed=unmixed,
        tensor=sm.tensor,
        fp32=sm.fp32,
    )


def s002_10() -> Verdict:
    """Read as share of the peak. Read as speed-up over processors its first half may hold; the second fails either way."""
    op = roofline.matmul(4096, 4096, 4096, dtype="fp16")
    place, best = op.on(A100), published.get(BEST_FOUND).ratio
    return Verdict(
        if_all(place.bound == "memory", best >= 0.95),
        intensity=place.intensity,
        ridge=place.ridge,
        bound=place.bound,
        best=best,
    )


def s004_014() -> Verdict:
    """It holds if neither an activation nor a softmax, fused into the products around it, saves a tenth of the time."""

    def seconds(*ops):
        return sum(op.on("h100-sxm").seconds for op in ops)

    def saved_by_fused_gelu(rows, d):
        up, gelu = roofline.matmul(rows, d, 4 * d, dtype="bf16"), roofline.elementwise(rows * 4 * d, dtype="bf16")
        return seconds(gelu) / seconds(up, gelu)

    heads, n, d = 96, 1024, 64
    written = [
        roofline.matmul(n, d, n, dtype="bf16", batch=heads),
        roofline.elementwise(heads * n * n, flops_per_element=5, dtype="bf16"),
        roofline.matmul(n, n, d, dtype="bf16", batch=heads),
    ]
    fused = roofline.Op("fused", written[0].flops + written[2].flops, 2 * 4 * heads * n * d, dtype="bf16")
    saved = {
        "wide": saved_by_fused_gelu(8192, 4096),
        "narrow": saved_by_fused_gelu(8192, 768),
        "attention": 1 - seconds(fused) / seconds(*written),
    }
    ruling = "holds-if" if max(saved.values()) > 0.1 else "holds"
    return Verdict(ruling, **saved)


def s003_11() -> Verdict:
    """It holds if each of the four by itself is worth a factor of two or more in the models of this lesson."""
    n, tile = 4096, 128
    moved = [int(roofline.tiled_matmul_bytes(n, n, n, tile_m=side, tile_n=side, dtype="fp16")) for side in (1, tile)]
    issue = [multiprocessors.issue_share(4, chains, latency=24) for chains in (1, 4)]
    sm = multiprocessors.one(A100)
    worth = {
        "lanes": sm.fp32 / SCHEDULERS,
        "tiles": moved[0] / moved[1],
        "chains": issue[1] / issue[0],
        "cores": sm.tensor / sm.fp32,
    }
    return Verdict(if_all(*(factor >= 2 for factor in worth.values())), **worth)


def s004_013() -> Verdict:
    """No ordinary condition lifts 280 TFLOP/s to a published rate: it is above the best that was found."""
    device = hardware.load(A100)
    peak = device.peak("fp16")
    loads = device.bandwidth("shared") / 4  # numbers a second: each load unit hands one thread one number a clock
    naive = 2 * loads / 2  # FLOP/s: two loads for the 2 FLOP of a multiply-add
    best = published.get(BEST_FOUND).value
    shares = round(280e12 / peak, 1) == 0.9 and round(15e12 / peak, 2) == 0.05
    return Verdict(
        if_all(shares, best >= 280e12, naive >= 15e12),
        high=280e12 / peak,
        low=15e12 / peak,
        best=best / 1e12,
        naive=naive / 1e12,
    )
