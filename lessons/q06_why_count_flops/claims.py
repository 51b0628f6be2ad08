"""Claims on trial in Q6: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib import experiments
from course_lib.accounting import flops, hardware, inference, models, roofline
from course_lib.accounting.hardware import multiprocessors
from course_lib.experiments import published
from course_lib.teaching.cards.verdict import Verdict, if_all
from course_lib.units.q06_why_count_flops import waterfall

A100 = "a100-40-sxm"
GPT2 = models.load("gpt2")
N, D, L, V = 1024, GPT2.d_model, GPT2.layers, GPT2.vocab
BEST_FOUND = published.get("mamf-a100-bf16").value


def _near(value: float, claimed: float, share: float = 0.05) -> bool:
    return abs(value / claimed - 1) < share


def _layer(part: str, seq: int = N) -> int:
    """FLOP of a token in one part of one layer of GPT-2 small, forward."""
    return int(flops.forward(GPT2, 1, seq)["layer"][part]) // seq


def _token(seq: int = N) -> float:
    return int(flops.forward(GPT2, 1, seq)) / seq


def _million(value: float) -> float:
    return value / 1e6


def s003_30() -> Verdict:
    returned = L * (5 * D * D + 8 * D * D + 2 * D + 2 * D) + D * V + D * V
    return Verdict(if_all(80e6 <= returned <= 95e6), returned=returned, token=_token(), embedding=D * V)


def s003_32() -> Verdict:
    claimed = {6e6: 1.67e6, 71e6: 140e3}
    rate = 10e12 / _token()
    return Verdict(
        if_all(any(_near(rate, tokens) for tokens in claimed.values())),
        claimed=[10e12 / flop for flop in claimed],
        token=_million(_token()),
        rate=rate,
    )


def s004_025() -> Verdict:
    """Near the limit: at least what the best shape of a search reached. Room: a quarter of the limit or more is unused.

    The claim states no shape: it holds for all only if a thin product has room at 150, too.
    """
    peak = hardware.load(A100).peak("fp16")
    high, low = 280e12, 150e12
    thin = roofline.matmul(128, 4096, 4096, dtype="fp16").on(A100).attainable
    shares = round(100 * high / peak) == 90, round(100 * low / peak) == 48
    large = all((*shares, high >= 0.95 * BEST_FOUND, low < 0.75 * BEST_FOUND))
    ruling = "fails" if not large else "holds" if low < 0.75 * thin else "holds-if"
    return Verdict(
        ruling,
        high=high / peak,
        low=low / peak,
        best=BEST_FOUND / 1e12,
        of_best=low / BEST_FOUND,
        thin=thin / 1e12,
        of_thin=low / thin,
    )


def s003_35() -> Verdict:
    """Has 4 another balance of FLOPs and parameters than its neighbours, and do models in use agree on it?

    Gated MLPs have three matrices, so models are compared by weights: a factor of 4 with two matrices is 8·d².
    """
    balance = {factor: 2 * flops.matmul(1, D, factor * D) / (2 * factor * D * D) for factor in (1, 2, 4, 8)}
    used = {
        model.name: (3 if model.gated_mlp else 2) * model.mlp_width / model.d_model
        for model in map(models.load, models.names())
        if model.decodes and getattr(model, "experts", None) == 1
    }
    fours = sum(_near(weights, 8) for weights in used.values())
    stands_out = all(balance[4] < ratio for factor, ratio in balance.items() if factor != 4)
    return Verdict(
        if_all(stands_out or fours > 0.9 * len(used)),
        balance=", ".join(f"{ratio:.0f}" for ratio in balance.values()),
        models=len(used),
        least=min(used.values()),
        most=max(used.values()),
        fours=fours,
    )


def s003_31() -> Verdict:
    rows = flops.forward(GPT2, 1, N, extras=True)
    norms, residuals = (int(rows["layer"][part]) // N for part in ("norm", "residual"))
    others = 1 - int(flops.forward(GPT2, 1, N)) / int(rows)
    shares = {row["class"]: row["share"] for row in _profile().rows if row["batch"] == "large batch"}
    return Verdict(
        if_all(norms == 2 * D, residuals == 2 * D),
        norms=norms // D,
        residuals=residuals // D,
        others=others,
        time=_of(shares, "norms"),
    )


def _profile():
    return experiments.load("train_step_waterfall", "amd-epyc-2-cores")


def _of(shares, word: str) -> float:
    return sum(share for name, share in shares.items() if word in name)


def s002_19() -> Verdict:
    """Operations of many kinds, recorded on a processor: which predictor comes within a factor of two, how often?"""
    recorded = experiments.load("roofline_points", "amd-epyc-2-cores")
    peak = recorded.device["peaks"][recorded.provenance["dtype"]]

    def within_two(predicted) -> int:
        return sum(0.5 <= row["measured"] / predicted(row) <= 2 for row in recorded.rows)

    by_flops = within_two(lambda row: row["flops"] / peak)
    by_roofline = within_two(lambda row: row["predicted"])
    cases = len(recorded.rows)
    return Verdict(
        if_all(by_flops < cases / 2, by_roofline > by_flops), cases=cases, by_flops=by_flops, by_roofline=by_roofline
    )


def s003_23() -> Verdict:
    count = GPT2.parameters()
    return Verdict(
        if_all(_near(int(count), 117e6, 0.01)),
        total=int(count),
        layers=int(count["layers"]),
        embeddings=int(count["embedding"]),
    )


def s003_28() -> Verdict:
    """The sums, and the terms that they are made of, in units of d²."""
    qkv, out, mlp = (_layer(part) / D**2 for part in ("attention.qkv", "attention.out", "mlp"))
    scores = {seq: _layer("attention.scores", seq) / D**2 for seq in (128, 512, 1024)}
    pairs = (_layer("attention.scores") + _layer("attention.values")) / D**2
    layer = _layer("attention") + _layer("mlp")
    terms = (qkv == 3, out == 1, all(term == 1 for term in scores.values()), mlp == 8, GPT2.activation == "relu")
    return Verdict(
        if_all(*terms, _near(layer, 5_898_240), _near(L * layer, 70_778_880)),
        stated=10 * D * D,
        qkv=qkv,
        out=out,
        mlp=mlp,
        scores=scores,
        pairs=pairs / (qkv + pairs + out),
        ratio=(qkv + pairs + out) / 2,
        activation=GPT2.activation,
        layer=layer,
        layers=L * layer,
        token=_token(),
    )


def s003_29() -> Verdict:
    layer = int(flops.forward(GPT2, 1, N)["layer"]) / N
    six_n = flops.six_nd(int(GPT2.parameters()), 1)
    return Verdict(
        if_all(_near(layer, 6e6, 0.2)),
        layer=_million(layer),
        six_n=_million(six_n),
        with_pairs=_million(six_n + 12 * L * N * D),
    )


def s003_34() -> Verdict:
    """Published training runs in bf16 by card, and Llama-3 8B on an H100, writing and reading."""
    runs = [run for run in map(published.get, published.names("q06")) if run.measures.startswith("MFU")]
    runs = [run for run in runs if run.dtype == "bf16" and run.device.startswith(("a100", "h100"))]
    of = {card: [30 <= run.published <= 50 for run in runs if run.device.startswith(card)] for card in ("h100", "a100")}
    usual = {card: sum(inside) > 0.8 * len(inside) for card, inside in of.items()}
    llama = models.load("llama3-8b")
    decode = inference.decode_step(llama, batch=1, context=1024, device="h100-sxm")
    prompt = roofline.matmul(2048, llama.d_model, llama.mlp_width, dtype="bf16").on("h100-sxm")
    each = int(flops.forward(llama, 1, 1024)) / 1024
    writing = each * decode.tokens_per_second / hardware.load("h100-sxm").peak("bf16")
    somewhere = any(usual.values()) and decode.bound == "memory"
    everywhere = all(usual.values()) and prompt.bound == "memory"
    ruling = "fails" if not somewhere else "holds" if everywhere else "holds-if"
    return Verdict(
        ruling,
        **{card: (sum(inside), len(inside)) for card, inside in of.items()},
        least=min(run.published for run in runs),
        most=max(run.published for run in runs),
        writing=writing,
        bound=decode.bound,
        reading=prompt.bound,
    )


def s003_40() -> Verdict:
    """A recorded step: how much of what is lost carries the name of an operation?"""
    shares = waterfall.shares(_profile())
    used = shares.pop(waterfall.USED)
    unnamed = shares["between the operations"]
    return Verdict(if_all(unnamed < 0.25 * (100 - used)), used=used, lost=shares)


def s004_005() -> Verdict:
    """What whole waves of tiles allow on 108 multiprocessors, and what a search under real power limits reached."""
    peak = hardware.load(A100).peak("fp16")
    sides = (1024, 2048, 3072, 4096, 8192)
    useful = {n: multiprocessors.waves(n, n, tile_m=256, tile_n=128, device=A100).useful for n in sides}
    right = round(100 * 180e12 / peak) == 58
    possible = any(share > 0.9 for share in useful.values())
    always = all(share > 0.9 for share in useful.values()) and 0.9 * peak < BEST_FOUND
    ruling = "fails" if not (right and possible) else "holds" if always else "holds-if"
    return Verdict(ruling, claimed=180e12 / peak, useful=useful, best=BEST_FOUND / peak)
