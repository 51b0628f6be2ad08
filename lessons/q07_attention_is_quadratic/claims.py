"""Claims on trial in Q7: each function decides one claim by computing it and returns the verdict with its numbers."""

from dataclasses import replace
from math import log2

from course_lib import experiments
from course_lib.accounting import flops, hardware, models, roofline
from course_lib.teaching.cards.verdict import Verdict, by_cases, if_all
from course_lib.words import words

say = words(__file__)

A100, H100 = "a100-40-sxm", "h100-sxm"
EXPONENTIALS = 3.9e12  # a second on an H100 (Shah et al., "FlashAttention-3", arXiv:2407.08608, section 3.1)
# Share of the peak, from the abstracts: arXiv 2307.08691 (for the first and the second), 2603.05451, and of the third the
# final paper (NeurIPS 2024, "BF16 reaching up to 840 TFLOPs/s (85% utilization)"; the preprint, 2407.08608, has 75 % in FP16)
PUBLISHED = {1: 0.40, 2: 0.73, 3: 0.85, 4: 0.71}  # on A100, A100, H100, B200


def _near(value: float, stated: float, tolerance: float = 0.05) -> bool:
    return abs(value / stated - 1) < tolerance


def _head(n: int, d: int) -> int:
    """FLOPs of the two products of one head."""
    return flops.matmul(n, d, n) + flops.matmul(n, n, d)


def _training(n: int, d: int) -> tuple[int, int]:
    """FLOPs of one head forward and backward: written out; fused, where the scores are computed once more."""
    scores, values = flops.matmul(n, d, n), flops.matmul(n, n, d)
    written_out = 3 * (scores + values)
    return written_out, written_out + scores


def _eager(n: int, d: int, dtype: str, heads: int = 1) -> list[roofline.Op]:
    return [
        roofline.matmul(n, d, n, dtype=dtype, batch=heads, name="scores"),
        roofline.elementwise(heads * n * n, flops_per_element=5, dtype=dtype, name="softmax"),
        roofline.matmul(n, n, d, dtype=dtype, batch=heads, name="values"),
    ]


def _blocked_numbers(n: int, d: int, near: int) -> int:
    """Numbers that blocked attention moves when `near` of them fit into the near memory: queries and results of a block,
    a piece of keys and values, and their scores. The piece is a quarter of d, so that the scores stay few.
    """
    keys = d // 4
    block = (near - 2 * keys * d) // (2 * d + keys)  # 2·block·d + 2·keys·d + block·keys ≤ near
    return 2 * n * d + 2 * n * d * -(-n // block)


class Counted:
    """A number that counts what is done with it."""

    comparisons = multiplications = 0

    def __init__(self, value: float):
        self.value = value

    def __gt__(self, other):
        Counted.comparisons += 1
        return self.value > other.value

    def __mul__(self, other):
        Counted.multiplications += 1
        return Counted(self.value * other.value)


def _rows(n: int) -> list[list[Counted]]:
    Counted.comparisons = Counted.multiplications = 0
    return [[Counted((i * j) % 7) for j in range(n)] for i in range(n)]


def _gpt2(n: int, causal: bool = False):
    return flops.forward(replace(models.load("gpt2"), context=2**21), seq=n, causal=causal)


def _pairs(counted) -> int:
    return counted["attention.scores"] + counted["attention.values"]


# ---------------------------------------------------------------- what attention costs


def s000_01() -> Verdict:
    n = 2048
    head, layer = _head(n, 64), _pairs(_gpt2(n)["layer"])
    return Verdict(if_all(_near(head, n * n)), pairs=n * n, head=head, each=head / n**2, layer=layer / 1e9)


def s000_02() -> Verdict:
    n, d = 2048, 64
    linear = flops.matmul(d, n, d) + flops.matmul(n, d, d)
    times = experiments.load("attention_scaling", "amd-epyc-2-cores").measured
    faster = {form: times[f"{form} {n}"] / times[f"linear {n}"] for form in ("SDPA", "eager")}
    as_fast = any(10 <= factor <= 40 for factor in faster.values())
    return Verdict(if_all(_near(linear, n), as_fast), linear=linear, flops=_head(n, d) / linear, faster=faster)


def s000_03() -> Verdict:
    n, d = 2048, 64
    written_out, fused = _training(n, d)
    eager, once = sum(op.bytes for op in _eager(n, d, "fp16")), roofline.elementwise(n * d, reads=3, dtype="fp16").bytes
    ruling = "holds" if fused == written_out else "holds-if" if eager > once else "fails"
    return Verdict(ruling, training=fused / written_out, traffic=eager / once)


def s003_05() -> Verdict:
    short, long = _gpt2(1024), _gpt2(4096)
    growth = {
        "pairs": _pairs(long) / _pairs(short),
        "layers": int(long["layers"]) / int(short["layers"]),
        "whole": long.total / short.total,
    }
    whole, pairs = _near(growth["whole"], 16), _near(growth["pairs"], 16)
    ruling = "holds" if whole else "holds-if" if pairs else "fails"
    return Verdict(ruling, **growth)


def s003_06() -> Verdict:
    def block(n):
        layer = _gpt2(n)["layer"]
        return int(layer) - layer["mlp"]

    order = {n: log2(block(2 * n) / block(n)) for n in (512, 1024, 2**20)}
    d = models.load("gpt2").d_model
    quadratic = [abs(power - 2) < 0.1 for power in order.values()]
    ruling = "holds" if all(quadratic) else "holds-if" if quadratic[-1] else "fails"
    return Verdict(ruling, order=order, block=2 * d, layer=6 * d)


def s003_14() -> Verdict:
    n = 1024
    plain, stable = n + (n - 1) + n, (n - 1) + n + n + (n - 1) + n
    ruling = "holds" if _near(stable, 3 * n) else "holds-if" if _near(plain, 3 * n) else "fails"
    return Verdict(ruling, plain=plain, plain_each=plain / n, stable=stable, stable_each=stable / n)


def s003_15() -> Verdict:
    n = 64
    for row in _rows(n):
        max(row)
    return Verdict(if_all(_near(Counted.comparisons, n)), counted=Counted.comparisons, claimed=n)


def s003_16() -> Verdict:
    n = 64
    for row in _rows(n):
        max(row)
    steps = Counted.comparisons + 3 * n * n + n * (n - 1)  # subtract, exp, divide; sum
    return Verdict(if_all(_near(steps, 4 * n * n + n)), steps=steps, claimed=4 * n * n + n)


def s003_17() -> Verdict:
    extra = {n: flops.softmax(n, n, stable=True) / flops.softmax(n, n) for n in (64, 4096, 2**20)}
    shares = {n: flops.softmax(n, n, stable=True) / _head(n, 64) for n in extra}
    return Verdict(if_all(extra[2**20] < 1.05), extra=extra, shares=shares)


def s003_18() -> Verdict:
    import torch

    scores = {"randn": torch.randn(64, generator=torch.Generator().manual_seed(0))}
    scores["large"] = 300 * scores["randn"]
    weights = {name: x.exp() / x.exp().sum() for name, x in scores.items()}
    finite = {name: bool(result.isfinite().all()) for name, result in weights.items()}
    return Verdict(
        if_all(*finite.values()), **{name: say("finite", "yes" if right else "no") for name, right in finite.items()}
    )


def s003_19() -> Verdict:
    import torch

    found = {"function": hasattr(torch, "softmax_"), "method": hasattr(torch.Tensor, "softmax_")}
    return Verdict(
        if_all(found["function"]), **{name: say("there", "yes" if there else "no") for name, there in found.items()}
    )


def s003_20() -> Verdict:
    n, hidden = 64, Counted(float("-inf"))
    for i, row in enumerate(_rows(n)):
        for j, score in enumerate(row):
            row[j] = score if j <= i else hidden
    full, causal = _pairs(_gpt2(4096)), _pairs(_gpt2(4096, causal=True))
    return Verdict(if_all(_near(Counted.multiplications, n * n)), counted=Counted.multiplications, causal=causal / full)


def s003_21() -> Verdict:
    n, gpt2 = 4096, models.load("gpt2")
    head, model = flops.softmax(n, n), gpt2.heads * gpt2.layers * flops.softmax(n, n)
    ruling = "holds" if _near(model, 50e6) else "holds-if" if _near(head, 50e6) else "fails"
    return Verdict(ruling, head=head / 1e6, model=model / 1e9, products=_head(n, gpt2.head_width) / 1e9)


def s003_22() -> Verdict:
    share, of_time = {}, {}
    for n in (1024, 16384, 2**18):
        ops = _eager(n, 64, "bf16")
        share[n] = ops[1].flops / sum(op.flops for op in ops)
        of_time[n] = ops[1].on(H100).seconds / sum(op.on(H100).seconds for op in ops)
    peak = hardware.load(H100).peak("bf16")
    exps = {d: (1 / EXPONENTIALS) / (4 * d / peak) for d in (64, 128)}
    grows = share[2**18] > 1.5 * share[1024]
    return Verdict(if_all(grows, share[2**18] > 0.5), share=share, of_time=of_time, exps=exps)


# ---------------------------------------------------------------- fused attention


def s002_12() -> Verdict:
    reached = [share >= 0.85 for share in PUBLISHED.values()]
    ruling = by_cases(reached)
    return Verdict(ruling, published=PUBLISHED)


def s002_13() -> Verdict:
    shares = {}
    for dtype, d in (("fp16", 64), ("fp16", 128), ("fp32", 64)):
        ops = _eager(4096, d, dtype)
        products = ops[0].flops + ops[2].flops
        seconds = sum(op.on(A100).seconds for op in ops)
        shares[f"{dtype}_{d}"] = products / seconds / hardware.load(A100).peak(dtype)
    within = [0.1 <= share <= 0.2 for share in shares.values()]
    ruling = by_cases(within)
    return Verdict(ruling, **shares)


def s002_15() -> Verdict:
    d, near = 64, 50_000
    moved = log2(_blocked_numbers(2**16, d, near) / _blocked_numbers(2**15, d, near))
    kept = log2((4 * 2**16 * d + 2**16) / (4 * 2**15 * d + 2**15))  # q, k, v, result and one number a row
    eager = sum(op.bytes for op in _eager(2**15, d, "fp16")) / 2
    quadratic = [abs(power - 2) < 0.1 for power in (moved, kept)]
    ruling = "holds" if all(quadratic) else "holds-if" if quadratic[0] else "fails"
    return Verdict(ruling, moved=moved, kept=kept, traffic=_blocked_numbers(2**15, d, near) / eager)


def s004_026() -> Verdict:
    n, d = 4096, 64
    written_out, fused = _training(n, d)
    orders = [log2(_training(2 * n, d)[i] / _training(n, d)[i]) for i in range(2)]
    eager = sum(op.bytes for op in _eager(n, d, "fp16")) / 2
    return Verdict(
        if_all(orders[1] < orders[0] - 0.1 or fused < written_out),
        orders=orders,
        training=fused / written_out,
        traffic=_blocked_numbers(n, d, 50_000) / eager,
    )


# ---------------------------------------------------------------- 32 sequences of 2048, one head of 64


def s004_049() -> Verdict:
    scores = 32 * 2048**2
    sizes = {dtype: scores * size for dtype, size in (("FP32", 4), ("FP16", 2))}
    ruling = if_all(any(_near(size, 128 * 2**20) or _near(size, 128e6) for size in sizes.values()))
    return Verdict(ruling, scores=scores, sizes={dtype: size / 2**20 for dtype, size in sizes.items()})


def s004_050() -> Verdict:
    ops = {dtype: _eager(2048, 64, dtype, heads=32) for dtype in ("fp32", "fp16")}
    totals = {dtype: sum(op.bytes for op in own) for dtype, own in ops.items()}
    steps = {dtype: [op.bytes / 2**20 for op in own] for dtype, own in ops.items()}
    ruling = if_all(any(_near(total, 576 * unit, 0.1) for total in totals.values() for unit in (10**6, 2**20)))
    return Verdict(
        ruling,
        steps=steps,
        totals={dtype: total / 2**20 for dtype, total in totals.items()},
        heads=models.load("gpt2").heads,
    )


def s004_054() -> Verdict:
    once = {dtype: roofline.elementwise(32 * 2048 * 64, reads=3, dtype=dtype).bytes for dtype in ("fp32", "fp16")}
    n, d = 2**16, 64
    wide = [_blocked_numbers(n, d, near) for near in (50_000, 200_000)]
    formula = 3 < wide[0] / wide[1] < 5
    possible = [size <= 50e6 for size in once.values()]
    ruling = "fails" if not formula or not any(possible) else "holds" if all(possible) else "holds-if"
    return Verdict(ruling, once={dtype: size / 1e6 for dtype, size in once.items()}, less=wide[0] / wide[1])
