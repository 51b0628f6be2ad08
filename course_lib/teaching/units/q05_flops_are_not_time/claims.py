"""Claims on trial in Q5: each function decides one claim by computing it and returns the verdict with its evidence."""

from dataclasses import replace
from math import ceil, sqrt

from course_lib import experiments
from course_lib.accounting import flops, hardware, models, roofline
from course_lib.accounting.hardware import multiprocessors
from course_lib.teaching.cards.verdict import Verdict

A100 = "a100-40-sxm"
RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def _ruling(*tests: bool) -> str:
    return "holds" if all(tests) else "fails"


def s002_18() -> Verdict:
    """Pairs with ten times the FLOPs, of layers and of a model, on an H100 by data sheet: where do their ratios lie?"""

    def layer(rows):
        return [roofline.matmul(rows, 4096, 4096, dtype="bf16")]

    product = roofline.matmul(4096, 4096, 4096, dtype="bf16")
    adds = roofline.elementwise(10 * product.flops, reads=2, writes=1, flops_per_element=1, dtype="bf16")
    pairs = {
        "a Linear layer 4096→4096, 1 → 10 rows": (layer(1), layer(10)),
        "the same, 100 → 1,000 rows": (layer(100), layer(1_000)),
        "the same, 2,000 → 20,000 rows": (layer(2_000), layer(20_000)),
        "GPT-2 small, 1 → 10 sequences of 16 tokens": (gpt2(1, 16), gpt2(10, 16)),
        "GPT-2 small, 10 → 100 sequences of 1024 tokens": (gpt2(10, 1024), gpt2(100, 1024)),
        "a 4096³ product → additions with ten times its FLOPs": ([product], [adds]),
    }
    assert all(flops_of(big) == 10 * flops_of(small) for small, big in pairs.values())
    ratios = {name: seconds_of(big) / seconds_of(small) for name, (small, big) in pairs.items()}
    evidence = {name: f"×{ratio:,.{1 if ratio < 100 else 0}f} the time" for name, ratio in ratios.items()}
    because = "On an H100, by its data sheet and a sum of maxima; the last pair is no model, it shows how far the ratio can go."
    return Verdict(_ruling(all(2 <= ratio <= 5 for ratio in ratios.values())), evidence, because)


def gpt2(sequences: int, tokens: int) -> list[roofline.Op]:
    """The products and the softmax of a forward pass of GPT-2 small with unfused attention, in bf16."""
    m, rows = models.load("gpt2"), sequences * tokens
    heads, d, width = sequences * m.heads, m.d_model, m.head_width
    layer = [
        roofline.matmul(rows, d, 3 * d, dtype="bf16"),
        roofline.matmul(tokens, width, tokens, batch=heads, dtype="bf16"),
        roofline.elementwise(heads * tokens**2, flops_per_element=5, dtype="bf16"),
        roofline.matmul(tokens, tokens, width, batch=heads, dtype="bf16"),
        roofline.matmul(rows, d, d, dtype="bf16"),
        roofline.matmul(rows, d, m.mlp_width, dtype="bf16"),
        roofline.matmul(rows, m.mlp_width, d, dtype="bf16"),
    ]
    return [*(m.layers * layer), roofline.matmul(rows, d, m.vocab, dtype="bf16")]


def flops_of(ops: list[roofline.Op]) -> int:
    return sum(op.flops for op in ops)


def seconds_of(ops: list[roofline.Op]) -> float:
    """Sum of maxima on an H100."""
    return sum(op.on("h100-sxm").seconds for op in ops)


def s002_03() -> Verdict:
    ridge = roofline.ridge_point(A100, "fp16")
    places = {n: op.on(A100) for n in (256, 512, 1024, 4096) for op in [roofline.matmul(n, n, n, dtype="fp16")]}
    crossing = next(n for n in range(1, 4096) if roofline.matmul(n, n, n, dtype="fp16").intensity >= ridge)
    evidence = {f"n = {n}": f"{p.intensity:.0f} FLOP/B, {p.bound}-bound" for n, p in places.items()}
    ruling = _ruling(places[256].bound == "compute", places[4096].bound == "memory")
    return Verdict(
        ruling, {**evidence, "A100 ridge point": f"{ridge:.0f} FLOP/B", "compute-bound from": f"n = {crossing}"}
    )


def s004_007() -> Verdict:
    op = roofline.matmul(4096, 4096, 4096, dtype="fp16")
    place = op.on(A100)
    evidence = {
        "FLOPs": f"{op.flops / 1e9:.1f} GFLOP",
        "bytes": f"{op.bytes / 1e6:.1f} MB",
        "intensity": f"{op.intensity:.0f} FLOP/B",
        "bound": place.bound,
    }
    return Verdict(_ruling(round(op.bytes / 1e6) == 201, round(op.intensity) == 685), evidence)


def s004_009() -> Verdict:
    rows, cols = 128, 4096
    reported, bandwidth = 145e9, 1.5e12  # FLOP/s and B/s, both as the notes state them
    op = roofline.elementwise(rows * cols, reads=1, writes=1, flops_per_element=4, dtype="fp32")
    roof = bandwidth * op.intensity
    share = reported / roof
    evidence = {
        "elements": f"{rows * cols:,}",
        "bytes that must move": f"{op.bytes / 1e6:.1f} MB",
        "roof at 1.5 TB/s": f"{roof / 1e9:.0f} GFLOP/s",
        "145 GFLOP/s is": f"{share:.0%} of the roof",
    }
    return Verdict(_ruling(abs(share - 0.77) < 0.05), evidence)


def s002_01() -> Verdict:
    """A convolution as small CNNs have it, against what an A100 needs to be busy."""
    side, channels, multiprocessors = 56, 64, 108  # A100: 108 multiprocessors (NVIDIA A100 whitepaper, 2020)
    count = flops.conv2d(in_channels=channels, out_channels=channels, kernel=3, out_height=side, out_width=side)
    seconds = count / hardware.load(A100).peak("fp16")
    tiles = ceil(side * side / 128) * ceil(channels / 128)
    evidence = {
        "FLOPs": f"{count / 1e6:.0f} MFLOP",
        "arithmetic at the A100's fp16 peak": f"{seconds * 1e6:.2f} µs",
        "output tiles of 128 × 128": tiles,
        "multiprocessors of an A100": multiprocessors,
    }
    return Verdict(_ruling(tiles >= multiprocessors), evidence)


def s002_02() -> Verdict:
    rows, width = 64 * 1024, 4096
    op = roofline.matmul(rows, width, width, dtype="fp16")
    place = op.on(A100)
    evidence = {
        "rows of each product": f"{rows:,}",
        "intensity of a 4096 → 4096 product": f"{place.intensity:,.0f} FLOP/B",
        "A100 ridge point": f"{place.ridge:.0f} FLOP/B",
        "bound": place.bound,
    }
    return Verdict(_ruling(place.bound == "memory"), evidence)


def s002_05() -> Verdict:
    a100, v100 = hardware.load(A100), hardware.load("v100-sxm2")
    evidence = {
        "A100 FP32": f"{a100.peak('fp32') / 1e12:.1f} TFLOP/s",
        "A100 40 GB bandwidth": f"{a100.memory_bandwidth / 1e9:,.0f} GB/s",
        "V100 bandwidth": f"{v100.memory_bandwidth / 1e9:,.0f} GB/s",
    }
    return Verdict(_ruling(abs(a100.memory_bandwidth / 900e9 - 1) < 0.05), evidence)


def s002_06() -> Verdict:
    shapes = {
        "4096 × 4096 × 4096, fp32": roofline.matmul(4096, 4096, 4096, dtype="fp32"),
        "256 × 256 × 256, fp32": roofline.matmul(256, 256, 256, dtype="fp32"),
        "4096 × 4096 × 4096, fp16": roofline.matmul(4096, 4096, 4096, dtype="fp16"),
        "1 × 4096 × 4096, fp32": roofline.matmul(1, 4096, 4096, dtype="fp32"),
    }
    ruling = _ruling(all(abs(op.intensity - 2) < 0.5 for op in shapes.values()))
    return Verdict(ruling, {name: f"{op.intensity:,.1f} FLOP/B" for name, op in shapes.items()})


def s002_07() -> Verdict:
    needed = 20e12 / 2
    return Verdict(_ruling(needed == 10e12), {"20e12 / 2": f"{needed / 1e12:.0f} TB/s"})


def s002_08() -> Verdict:
    as_written = 900e9 / 10e13
    evidence = {"900e9 / 10e13": f"{as_written:.1%}", "900e9 / 10e12": f"{900e9 / 10e12:.1%}"}
    return Verdict(_ruling(round(as_written, 2) == 0.09), evidence)


def s002_14() -> Verdict:
    """The n × n × d products of one head, with the recomputation of Dao et al. 2022, algorithm 4, line 11."""
    n, d = 1024, 64
    scores, values = flops.matmul(n, d, n), flops.matmul(n, n, d)
    forward = fused_forward = scores + values
    backward = 2 * scores + 2 * values  # the gradients of Q and K, of the probabilities and of V
    fused_backward = backward + scores  # the scores were never stored
    training = (fused_forward + fused_backward) / (forward + backward)
    evidence = {
        "forward, fused ÷ standard": f"{fused_forward / forward:.2f}",
        "forward and backward, fused ÷ standard": f"{training:.2f}",
    }
    ruling = "holds" if training == 1 else "holds-if"
    return Verdict(ruling, evidence, "It holds for the forward pass only.")


def s004_006() -> Verdict:
    stated = {"fp32": 13, "fp16": 208}
    at_1500 = replace(hardware.load(A100), memory_bandwidth=1.5e12)
    evidence = {}
    for dtype in stated:
        evidence[f"{dtype} at 1.5 TB/s"] = f"{roofline.ridge_point(at_1500, dtype):.1f}"
        evidence[f"{dtype}, A100 40 GB"] = f"{roofline.ridge_point(A100, dtype):.1f}"
        evidence[f"{dtype}, A100 80 GB"] = f"{roofline.ridge_point('a100-80-sxm', dtype):.1f}"
    as_stated = all(round(roofline.ridge_point(at_1500, d)) == ridge for d, ridge in stated.items())
    by_data_sheet = all(round(roofline.ridge_point(A100, d)) == ridge for d, ridge in stated.items())
    ruling = "holds" if by_data_sheet else "holds-if" if as_stated else "fails"
    return Verdict(ruling, evidence, "It holds if the bandwidth is 1.5 TB/s.")


def s004_008() -> Verdict:
    add = roofline.elementwise(100_000_000, reads=2, writes=1, flops_per_element=1, dtype="fp32")
    roof = 1.5e12 * add.intensity
    evidence = {"intensity": f"1/{1 / add.intensity:.0f} FLOP/B", "roof at 1.5 TB/s": f"{roof / 1e9:.0f} GFLOP/s"}
    return Verdict(_ruling(round(1 / add.intensity) == 12, round(roof / 1e9) == 125), evidence)


def s004_011() -> Verdict:
    n, fp16 = 4096, 2
    compulsory = roofline.matmul(n, n, n, dtype="fp16").bytes
    without_reuse = 2 * n**3 * fp16
    evidence = {"each element once": f"{compulsory / 1e6:.1f} MB", "no reuse": f"{without_reuse / 1e9:.0f} GB"}
    return Verdict(_ruling(abs(without_reuse / 100e6 - 1) < 0.05), evidence)


def s004_012() -> Verdict:
    n = 4096

    def stated(cache):
        return 3 * n * sqrt(cache)

    def hong_kung(cache):
        return 2 * n**3 / sqrt(cache)

    small, large = 1_000_000, 4_000_000  # elements of cache
    evidence = {
        "stated, cache of 1 M → 4 M elements": f"{stated(small):,.0f} → {stated(large):,.0f} elements",
        "Hong and Kung, the same caches": f"{hong_kung(small):,.0f} → {hong_kung(large):,.0f} elements",
        "each element once": f"{3 * n * n:,} elements",
    }
    return Verdict(_ruling(stated(large) <= stated(small)), evidence)


def s002_09() -> Verdict:
    """Three functions applied to a long vector, one after another and in one pass."""
    n = 100_000_000
    apart = 3 * [roofline.elementwise(n, dtype="fp16")]
    fused = roofline.elementwise(n, flops_per_element=3, dtype="fp16")
    before, after = sum(op.on(A100).seconds for op in apart), fused.on(A100).seconds
    evidence = {
        "intensity, apart → fused": f"{apart[0].intensity:.2f} → {fused.intensity:.2f} FLOP/B",
        "time on an A100, apart → fused": f"{before * 1e6:.0f} → {after * 1e6:.0f} µs, both {fused.on(A100).bound}-bound",
    }
    return Verdict(_ruling(fused.intensity > apart[0].intensity, after < before), evidence)


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
    evidence = {
        "one column, of an A100's fp32 peak": f"at most {one:.1%}",
        "256 columns, no reuse": f"at most {roof(256, stored):.1%}",
        "256 columns, every row fetched once": f"at most {reused:.0%}",
        "256 columns, this project's processor": f"{here:.0%} of its own",
    }
    ruling = "fails" if reused < 0.3 else "holds" if one >= 0.3 else "holds-if"
    return Verdict(ruling, evidence, "It can hold where many columns use each row again; the notes do not say of what.")


def s002_16() -> Verdict:
    """Published speed-ups, and the most that the saved bytes allow: GPT-2 small, eight sequences of 1024 tokens."""
    tokens, width, heads = 1024, 64, 8 * 12
    scores = roofline.matmul(tokens, width, tokens, batch=heads, dtype="fp16")
    softmax = roofline.elementwise(heads * tokens**2, dtype="fp16")
    values = roofline.matmul(tokens, tokens, width, batch=heads, dtype="fp16")
    fused = roofline.Op("fused", scores.flops + values.flops, 4 * heads * tokens * width * 2, dtype="fp16")
    allowed = sum(op.on(A100).seconds for op in (scores, softmax, values)) / fused.on(A100).seconds
    evidence = {
        "Dao 2023, abstract": "2 to 4 times",
        "what the bytes allow, GPT-2 small on an A100": f"at most {allowed:.1f} times",
    }
    because = "It holds against the optimised baselines of that paper; published, not measured here."
    return Verdict("holds-if" if allowed >= 2 else "fails", evidence, because)


def s002_17() -> Verdict:
    """Where an A100's time goes in products and softmax of GPT-2 small: reading a text, and writing one token."""
    d, layers = 768, 12
    at_once, one = gpt2(8, 1024), layers * [roofline.matmul(1, d, n, dtype="fp16") for n in (3 * d, d, 4 * d, 4 * d)]
    shares = {}
    for name, ops in {"8 sequences of 1024 tokens": at_once, "one token, weights only": one}.items():
        times = [(op.on(A100).seconds, op.on(A100).bound) for op in ops]
        shares[name] = sum(t for t, bound in times if bound == "memory") / sum(t for t, _ in times)
    evidence = {f"{name}: time that waits for memory": f"{share:.1%}" for name, share in shares.items()}
    # One layer of the width of large models, with fused attention: nothing is left but products.
    large = roofline.matmul(8192, 8192, 8192, dtype="fp16").on(A100)
    evidence["a product of 8192³"] = f"{large.bound}-bound, {large.intensity / large.ridge:.0f} times the ridge point"
    always = min(shares.values()) > 0.5 and large.bound == "memory"
    never = max(shares.values()) < 0.5
    ruling = "holds" if always else "fails" if never else "holds-if"
    return Verdict(ruling, evidence, "It holds left of the ridge point, and large products lie right of it.")


def s002_20() -> Verdict:
    """Two orders of the same 512 × 512 product, in the same number of calls, as this project recorded them."""
    rates = experiments.load("gemm_ladder", RECORDED).measured
    orders = {name: rates[name] for name in ("row by row", "outer products")}
    passes = {"row by row": 4 * 512**2, "outer products": 2 * 4 * 512**2}  # B is read; C is read and written
    evidence = {
        name: f"{rate / 1e9:.0f} GFLOP/s, {passes[name] / 1e6:.1f} MB pass by in each call"
        for name, rate in orders.items()
    }
    return Verdict(_ruling(orders["row by row"] > 1.2 * orders["outer products"]), evidence)


def s002_21() -> Verdict:
    """How much of an A100's multiprocessors the tiles of a small and of a large product can use."""
    shares = {
        f"{side} × {side}": multiprocessors.waves(side, side, tile_m=128, tile_n=128, device=A100).useful
        for side in (256, 1024, 8192)
    }
    evidence = {f"product of {name}: useful at most": f"{share:.0%}" for name, share in shares.items()}
    small, *_, large = shares.values()
    return Verdict(_ruling(small > large), evidence)


def s002_22() -> Verdict:
    """Each item of the list as a pair with equal FLOPs, from the recording: how much longer the unfriendly one takes."""
    times = experiments.load("hardware_friendly", RECORDED).measured
    rates = experiments.load("gemm_ladder", RECORDED).measured
    ratios = {
        "contiguous access: a gather at random": times["gather, at random"] / times["gather, in order"],
        "balanced load: sparse rows of unequal length": times["sparse rows, skewed"] / times["sparse rows, equal"],
        "short chains: a cumulative sum for a sum": times["cumulative sum"] / times["sum"],
        "reuse: a row at a time for the whole product": rates["library, out="] / rates["row by row"],
    }
    evidence = {name: f"×{ratio:.1f} the time" for name, ratio in ratios.items()}
    return Verdict(_ruling(*(ratio > 1.1 for ratio in ratios.values())), evidence)


def s001_28() -> Verdict:
    """Half of the bytes (more locality) or half of the FLOPs: which shortens an addition, and which a large product?"""
    evidence, locality_wins = {}, []
    ops = {
        "an addition": roofline.elementwise(10**8, reads=2, dtype="fp16"),
        "a product of 4096³": roofline.matmul(4096, 4096, 4096, dtype="fp16"),
    }
    for name, op in ops.items():
        whole = op.on(A100).seconds
        bytes_halved = roofline.Op(name, op.flops, op.bytes // 2, dtype="fp16").on(A100).seconds / whole
        flops_halved = roofline.Op(name, op.flops // 2, op.bytes, dtype="fp16").on(A100).seconds / whole
        evidence[f"{name}, half of the bytes"] = f"{bytes_halved:.0%} of the time"
        evidence[f"{name}, half of the FLOPs instead"] = f"{flops_halved:.0%} of the time"
        locality_wins.append(bytes_halved < flops_halved)
    ruling = "holds" if all(locality_wins) else "holds-if" if any(locality_wins) else "fails"
    return Verdict(
        ruling, evidence, "It holds left of the ridge point. Fewer bytes for the same FLOPs *is* a higher intensity."
    )


def s004_051() -> Verdict:
    intensity = 34.36e9 / 576e6
    roof = min(1.5e12 * intensity, hardware.load(A100).peak("fp16"))
    evidence = {
        "34.36 GFLOP ÷ 576 MB": f"{intensity:.1f} FLOP/B",
        "roof at 1.5 TB/s, fp16": f"{roof / 1e12:.0f} TFLOP/s",
    }
    return Verdict(_ruling(abs(intensity - 0.06) < 0.01, abs(roof - 90e9) < 5e9), evidence)
