"""Claims on trial in Q5: each function decides one claim by computing it and returns the verdict with its numbers."""

from dataclasses import replace
from math import ceil, sqrt

from course_lib import experiments
from course_lib.accounting import flops, hardware, roofline
from course_lib.accounting.hardware import multiprocessors
from course_lib.teaching.cards.verdict import Verdict, by_cases, if_all
from course_lib.units.q05_flops_are_not_time import passes

A100 = "a100-40-sxm"
RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def s002_18() -> Verdict:
    """Pairs with ten times the FLOPs, of layers and of a model, on an H100 by data sheet: where do their ratios lie?"""

    def layer(rows):
        return [roofline.matmul(rows, 4096, 4096, dtype="bf16")]

    product = roofline.matmul(4096, 4096, 4096, dtype="bf16")
    adds = roofline.elementwise(10 * product.flops, reads=2, writes=1, flops_per_element=1, dtype="bf16")
    pairs = {
        "few": (layer(1), layer(10)),
        "some": (layer(100), layer(1_000)),
        "many": (layer(2_000), layer(20_000)),
        "gpt2-short": (passes.forward("gpt2", 1, 16), passes.forward("gpt2", 10, 16)),
        "gpt2-long": (passes.forward("gpt2", 10, 1024), passes.forward("gpt2", 100, 1024)),
        "additions": ([product], [adds]),
    }
    assert all(passes.total(big).flops == 10 * passes.total(small).flops for small, big in pairs.values())
    ratios = {name: seconds_of(big) / seconds_of(small) for name, (small, big) in pairs.items()}
    return Verdict(if_all(all(2 <= ratio <= 5 for ratio in ratios.values())), ratios=ratios)


def seconds_of(ops: list[roofline.Op]) -> float:
    """Sum of maxima on an H100."""
    return sum(op.on("h100-sxm").seconds for op in ops)


def s002_03() -> Verdict:
    ridge = roofline.ridge_point(A100, "fp16")
    places = {n: op.on(A100) for n in (256, 512, 1024, 4096) for op in [roofline.matmul(n, n, n, dtype="fp16")]}
    crossing = next(n for n in range(1, 4096) if roofline.matmul(n, n, n, dtype="fp16").intensity >= ridge)
    ruling = if_all(places[256].bound == "compute", places[4096].bound == "memory")
    return Verdict(
        ruling,
        intensity={n: place.intensity for n, place in places.items()},
        bound={n: place.bound for n, place in places.items()},
        ridge=ridge,
        crossing=crossing,
    )


def s004_007() -> Verdict:
    op = roofline.matmul(4096, 4096, 4096, dtype="fp16")
    place = op.on(A100)
    return Verdict(
        if_all(round(op.bytes / 1e6) == 201, round(op.intensity) == 685),
        flops=op.flops / 1e9,
        moved=op.bytes / 1e6,
        intensity=op.intensity,
        bound=place.bound,
    )


def s004_009() -> Verdict:
    rows, cols = 128, 4096
    reported, bandwidth = 145e9, 1.5e12  # FLOP/s and B/s, both as the claim states them
    op = roofline.elementwise(rows * cols, reads=1, writes=1, flops_per_element=4, dtype="fp32")
    roof = bandwidth * op.intensity
    share = reported / roof
    return Verdict(
        if_all(abs(share - 0.77) < 0.05), elements=rows * cols, moved=op.bytes / 1e6, roof=roof / 1e9, share=share
    )


def s002_01() -> Verdict:
    """A convolution as small CNNs have it, against what an A100 needs to be busy."""
    side, channels, multiprocessors = 56, 64, 108  # A100: 108 multiprocessors (NVIDIA A100 whitepaper, 2020)
    count = flops.conv2d(in_channels=channels, out_channels=channels, kernel=3, out_height=side, out_width=side)
    seconds = count / hardware.load(A100).peak("fp16")
    tiles = ceil(side * side / 128) * ceil(channels / 128)
    return Verdict(
        if_all(tiles >= multiprocessors),
        flops=count / 1e6,
        microseconds=seconds * 1e6,
        tiles=tiles,
        multiprocessors=multiprocessors,
    )


def s002_02() -> Verdict:
    """64 sequences, as training and prefill see them (1024 rows each) and as decoding does (one row each)."""
    places = {
        name: roofline.matmul(64 * rows, 4096, 4096, dtype="fp16").on(A100)
        for name, rows in {"training": 1024, "decoding": 1}.items()
    }
    by_memory = [place.bound == "memory" for place in places.values()]
    ruling = by_cases(by_memory)
    return Verdict(
        ruling,
        intensity={name: place.intensity for name, place in places.items()},
        bound={name: place.bound for name, place in places.items()},
        ridge=places["training"].ridge,
    )


def s002_05() -> Verdict:
    a100, v100 = hardware.load(A100), hardware.load("v100-sxm2")
    return Verdict(
        if_all(abs(a100.memory_bandwidth / 900e9 - 1) < 0.05),
        peak=a100.peak("fp32") / 1e12,
        a100=a100.memory_bandwidth / 1e9,
        v100=v100.memory_bandwidth / 1e9,
    )


def s002_06() -> Verdict:
    shapes = {
        "large": roofline.matmul(4096, 4096, 4096, dtype="fp32"),
        "small": roofline.matmul(256, 256, 256, dtype="fp32"),
        "narrow": roofline.matmul(4096, 4096, 4096, dtype="fp16"),
        "row": roofline.matmul(1, 4096, 4096, dtype="fp32"),
    }
    ruling = if_all(all(abs(op.intensity - 2) < 0.5 for op in shapes.values()))
    return Verdict(ruling, **{name: op.intensity for name, op in shapes.items()})


def s002_07() -> Verdict:
    needed = 20e12 / 2
    return Verdict(if_all(needed == 10e12), needed=needed / 1e12)


def s002_08() -> Verdict:
    as_written = 900e9 / 10e13
    return Verdict(if_all(round(as_written, 2) == 0.09), as_written=as_written, meant=900e9 / 10e12)


def s002_14() -> Verdict:
    """The n × n × d products of one head, with the recomputation of Dao et al. 2022, algorithm 4, line 11."""
    n, d = 1024, 64
    scores, values = flops.matmul(n, d, n), flops.matmul(n, n, d)
    forward = fused_forward = scores + values
    backward = 2 * scores + 2 * values  # the gradients of Q and K, of the probabilities and of V
    fused_backward = backward + scores  # the scores were never stored
    training = (fused_forward + fused_backward) / (forward + backward)
    ruling = "holds" if training == 1 else "holds-if"
    return Verdict(ruling, forward=fused_forward / forward, training=training)


def _ridges(device) -> dict[str, float]:
    return {dtype: roofline.ridge_point(device, dtype) for dtype in ("fp32", "fp16")}


def s004_006() -> Verdict:
    stated = {"fp32": 13, "fp16": 208}
    at_1500 = replace(hardware.load(A100), memory_bandwidth=1.5e12)
    as_stated, by_data_sheet = (
        all(round(found[dtype]) == ridge for dtype, ridge in stated.items())
        for found in (_ridges(at_1500), _ridges(A100))
    )
    ruling = "holds" if by_data_sheet else "holds-if" if as_stated else "fails"
    return Verdict(ruling, claimed=_ridges(at_1500), a100_40=_ridges(A100), a100_80=_ridges("a100-80-sxm"))


def s004_008() -> Verdict:
    add = roofline.elementwise(100_000_000, reads=2, writes=1, flops_per_element=1, dtype="fp32")
    roof = 1.5e12 * add.intensity
    return Verdict(
        if_all(round(1 / add.intensity) == 12, round(roof / 1e9) == 125), elements=1 / add.intensity, roof=roof / 1e9
    )


def s004_011() -> Verdict:
    n, fp16 = 4096, 2
    compulsory = roofline.matmul(n, n, n, dtype="fp16").bytes
    without_reuse = 2 * n**3 * fp16
    return Verdict(
        if_all(abs(without_reuse / 100e6 - 1) < 0.05), compulsory=compulsory / 1e6, without_reuse=without_reuse / 1e9
    )


def s004_012() -> Verdict:
    n = 4096

    def stated(cache):
        return 3 * n * sqrt(cache)

    def least(cache):
        return 2 * n**3 / sqrt(cache)

    small, large = 1_000_000, 4_000_000  # elements of cache
    return Verdict(
        if_all(stated(large) <= stated(small)),
        stated=[stated(small), stated(large)],
        bound=[least(small), least(large)],
        once=3 * n * n,
    )


def s002_09() -> Verdict:
    """Three functions applied to a long vector, one after another and in one pass."""
    n = 100_000_000
    apart = 3 * [roofline.elementwise(n, dtype="fp16")]
    fused = roofline.elementwise(n, flops_per_element=3, dtype="fp16")
    before, after = sum(op.on(A100).seconds for op in apart), fused.on(A100).seconds
    return Verdict(
        if_all(fused.intensity > apart[0].intensity, after < before),
        apart=apart[0].intensity,
        fused=fused.intensity,
        before=before * 1e6,
        after=after * 1e6,
        bound=fused.on(A100).bound,
    )


def s002_11() -> Verdict:
    """fp32 values with an index of 8 bytes: with one column, and with 256 whose dense rows are used again or not."""
    fp32, index, side, share = 4, 8, 4096, 0.1
    stored = int(share * side**2)

    def roof(columns: int, rows_fetched: int) -> float:
        """Share of an A100's fp32 peak; `rows_fetched`: rows of the dense operand that come from memory."""
        moved = stored * (fp32 + index) + rows_fetched * columns * fp32 + side * columns * fp32
        return roofline.Op("sparse", 2 * stored * columns, moved, dtype="fp32").on(A100).attainable / peak

    peak = hardware.load(A100).peak("fp32")
    recorded = experiments.load("hardware_friendly", RECORDED)
    row = recorded["many columns, 90 % zeros skipped"]
    here = row["flops"] / row["measured"] / hardware.measured(recorded.device).peak("fp32")
    one, reused = roof(1, side), roof(256, side)
    ruling = "fails" if reused < 0.3 else "holds" if one >= 0.3 else "holds-if"
    return Verdict(ruling, one=one, apart=roof(256, stored), reused=reused, here=here)


def s002_16() -> Verdict:
    """Published speed-ups, and the most that the saved bytes allow: GPT-2 small, eight sequences of 1024 tokens."""
    tokens, width, heads = 1024, 64, 8 * 12
    scores = roofline.matmul(tokens, width, tokens, batch=heads, dtype="fp16")
    softmax = roofline.elementwise(heads * tokens**2, dtype="fp16")
    values = roofline.matmul(tokens, tokens, width, batch=heads, dtype="fp16")
    fused = roofline.Op("fused", scores.flops + values.flops, 4 * heads * tokens * width * 2, dtype="fp16")
    allowed = sum(op.on(A100).seconds for op in (scores, softmax, values)) / fused.on(A100).seconds
    return Verdict("holds-if" if allowed >= 2 else "fails", allowed=allowed)


def s002_17() -> Verdict:
    """Where an A100's time goes in GPT-2 small: reading texts, and writing one token (its layers' weights only)."""
    d, layers = 768, 12
    at_once, one = (
        passes.forward("gpt2", 8, 1024),
        layers * [roofline.matmul(1, d, n, dtype="fp16") for n in (3 * d, d, 4 * d, 4 * d)],
    )
    shares = {}
    for name, ops in {"reading": at_once, "writing": one}.items():
        times = [(op.on(A100).seconds, op.on(A100).bound) for op in ops]
        shares[name] = sum(t for t, bound in times if bound == "memory") / sum(t for t, _ in times)
    # One layer of the width of large models, with fused attention: nothing is left but products.
    large = roofline.matmul(8192, 8192, 8192, dtype="fp16").on(A100)
    always = min(shares.values()) > 0.5 and large.bound == "memory"
    never = max(shares.values()) < 0.5
    ruling = "holds" if always else "fails" if never else "holds-if"
    return Verdict(ruling, **shares, bound=large.bound, times=large.intensity / large.ridge)


def s002_20() -> Verdict:
    """Two orders of the same 512 × 512 product, in the same number of calls, as this project recorded them."""
    rates = experiments.load("gemm_ladder", RECORDED).measured
    orders = {name: rates[name] for name in ("row by row", "outer products")}
    passes = {"row by row": 4 * 512**2, "outer products": 2 * 4 * 512**2}  # B is read; C is read and written
    return Verdict(
        if_all(orders["row by row"] > 1.2 * orders["outer products"]),
        rate={name: rate / 1e9 for name, rate in orders.items()},
        moved={name: size / 1e6 for name, size in passes.items()},
    )


def s002_21() -> Verdict:
    """How much of an A100's multiprocessors the tiles of a small and of a large product can use."""
    shares = {
        side: multiprocessors.waves(side, side, tile_m=128, tile_n=128, device=A100).useful
        for side in (256, 1024, 8192)
    }
    small, *_, large = shares.values()
    return Verdict(if_all(small > large), shares=shares)


def s002_22() -> Verdict:
    """Each item of the list as a pair with equal FLOPs, from the recording: how much longer the unfriendly one takes."""
    times = experiments.load("hardware_friendly", RECORDED).measured
    rates = experiments.load("gemm_ladder", RECORDED).measured
    ratios = {
        "gather": times["gather, at random"] / times["gather, in order"],
        "balance": times["sparse rows, skewed"] / times["sparse rows, equal"],
        "chains": times["cumulative sum"] / times["sum"],
        "reuse": rates["library, out="] / rates["row by row"],
    }
    return Verdict(if_all(*(ratio > 1.1 for ratio in ratios.values())), **ratios)


def s001_28() -> Verdict:
    """Half of the bytes (more locality) or half of the FLOPs: which shortens an addition, and which a large product?"""
    halved = {}
    ops = {
        "addition": roofline.elementwise(10**8, reads=2, dtype="fp16"),
        "product": roofline.matmul(4096, 4096, 4096, dtype="fp16"),
    }
    for name, op in ops.items():
        whole = op.on(A100).seconds
        halved[name] = {
            "bytes": roofline.Op(name, op.flops, op.bytes // 2, dtype="fp16").on(A100).seconds / whole,
            "flops": roofline.Op(name, op.flops // 2, op.bytes, dtype="fp16").on(A100).seconds / whole,
        }
    locality_wins = [times["bytes"] < times["flops"] for times in halved.values()]
    ruling = by_cases(locality_wins)
    return Verdict(ruling, **halved)


def s004_051() -> Verdict:
    intensity = 34.36e9 / 576e6
    roof = min(1.5e12 * intensity, hardware.load(A100).peak("fp16"))
    return Verdict(if_all(abs(intensity - 0.06) < 0.01, abs(roof - 90e9) < 5e9), intensity=intensity, roof=roof / 1e12)
