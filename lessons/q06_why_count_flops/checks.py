"""Checks of the exercises of Q6: what is asked, how inputs are drawn, the reference, and the wrong answers that people give."""

from course_lib.teaching.checks.check import Check

# ---- q06.utilisation-of-a-run --------------------------------------------------------------------


def _parts(layers, d_model, vocab, seq):
    """FLOP of a token forward: (weights of the layers, pairs of tokens, head)."""
    return layers * 24 * d_model**2, layers * 4 * seq * d_model, 2 * d_model * vocab


def _utilisation(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return 3 * sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / (devices * peak)


def _forward_only(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / (devices * peak)


def _no_pairs(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    weights, _, head = _parts(layers, d_model, vocab, seq)
    return 3 * (weights + head) * tokens_per_second / (devices * peak)


def _no_head(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    weights, pairs, _ = _parts(layers, d_model, vocab, seq)
    return 3 * (weights + pairs) * tokens_per_second / (devices * peak)


def _layers_only(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    weights, _, _ = _parts(layers, d_model, vocab, seq)
    return 3 * weights * tokens_per_second / (devices * peak)


def _recomputed(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return 4 * sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / (devices * peak)


def _one_device(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return 3 * sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / peak


def _multiply_adds(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return 1.5 * sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / (devices * peak)


def _two_thirds(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    return 2 * sum(_parts(layers, d_model, vocab, seq)) * tokens_per_second / (devices * peak)


def _positions_counted(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    """6N + 12·L·n·d with all of N: the embedding of the positions too."""
    parameters = layers * 12 * d_model**2 + (vocab + seq) * d_model
    return (6 * parameters + 12 * layers * seq * d_model) * tokens_per_second / (devices * peak)


def _all_parameters(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    """6N + 12·L·n·d with positions, norms and biases: what is often quoted as 860 MFLOP for GPT-2 small."""
    parameters = layers * (12 * d_model**2 + 13 * d_model) + (vocab + seq + 2) * d_model
    return (6 * parameters + 12 * layers * seq * d_model) * tokens_per_second / (devices * peak)


def _both_tables(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    weights, pairs, head = _parts(layers, d_model, vocab, seq)
    return 3 * (weights + pairs + 2 * head) * tokens_per_second / (devices * peak)


def _causal(layers, d_model, vocab, seq, tokens_per_second, devices, peak):
    weights, pairs, head = _parts(layers, d_model, vocab, seq)
    return 3 * (weights + pairs / 2 + head) * tokens_per_second / (devices * peak)


def _draw_utilisation(rng):
    """A run between 15 and 60 % of the peak, with a head and pairs that matter."""
    layers, d_model = rng.choice([12, 24, 36]), rng.choice([768, 1024, 1536, 2048])
    vocab, seq = rng.choice([32_000, 50_257, 100_352]), rng.choice([1024, 2048, 4096, 8192])
    devices, peak = rng.choice([2, 8, 64, 512]), rng.choice([125e12, 312e12, 989e12])
    token = 3 * sum(_parts(layers, d_model, vocab, seq))
    return layers, d_model, vocab, seq, round(rng.uniform(0.15, 0.6) * devices * peak / token), devices, peak


# ---- q06.token-flops -----------------------------------------------------------------------------


def _token(layers, d_model, vocab, seq):
    return sum(_parts(layers, d_model, vocab, seq))


def _token_as_given(layers, d_model, vocab, seq):
    return layers * (13 * d_model**2 + 4 * d_model) + 2 * d_model * vocab


def _token_no_pairs(layers, d_model, vocab, seq):
    weights, _, head = _parts(layers, d_model, vocab, seq)
    return weights + head


def _token_given_no_lookup(layers, d_model, vocab, seq):
    return _token_as_given(layers, d_model, vocab, seq) - d_model * vocab


def _token_given_layers_only(layers, d_model, vocab, seq):
    return _token_as_given(layers, d_model, vocab, seq) - 2 * d_model * vocab


def _token_no_values(layers, d_model, vocab, seq):
    weights, pairs, head = _parts(layers, d_model, vocab, seq)
    return weights + pairs // 2 + head


def _token_embedding(layers, d_model, vocab, seq):
    return _token(layers, d_model, vocab, seq) + 2 * d_model * vocab


def _draw_token(rng):
    layers, width = rng.randrange(2, 49), 64 * rng.randrange(4, 65)
    return layers, width, rng.randrange(1000, 130_000), rng.choice([256, 512, 1024, 2048, 4096, 8192]) + 1


# ---- q06.block-flops -----------------------------------------------------------------------------


def _block(tokens, d_model, heads, kv_heads, head_dim, d_ff, matrices=3, two=2):
    queries, keys = heads * head_dim, kv_heads * head_dim
    attention = two * tokens * d_model * (2 * queries + 2 * keys) + 2 * two * tokens * tokens * queries
    return {"attention": attention, "mlp": two * matrices * tokens * d_model * d_ff}


def _block_two_matrices(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    return _block(tokens, d_model, heads, kv_heads, head_dim, d_ff, matrices=2)


def _block_multiply_adds(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    return _block(tokens, d_model, heads, kv_heads, head_dim, d_ff, two=1)


def _block_all_heads(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    return _block(tokens, d_model, heads, heads, head_dim, d_ff)


def _block_pairs_grouped(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    whole = _block(tokens, d_model, heads, kv_heads, head_dim, d_ff)
    fewer = 4 * tokens * tokens * (heads - kv_heads) * head_dim
    return whole | {"attention": whole["attention"] - fewer}


def _block_no_values(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    whole = _block(tokens, d_model, heads, kv_heads, head_dim, d_ff)
    return whole | {"attention": whole["attention"] - 2 * tokens * tokens * heads * head_dim}


def _block_no_output(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    whole = _block(tokens, d_model, heads, kv_heads, head_dim, d_ff)
    return whole | {"attention": whole["attention"] - 2 * tokens * d_model * heads * head_dim}


def _block_one_narrow(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    whole = _block(tokens, d_model, heads, kv_heads, head_dim, d_ff)
    return whole | {"attention": whole["attention"] - 2 * tokens * d_model * kv_heads * head_dim}


def _block_width_of_model(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    keys = kv_heads * head_dim
    attention = 2 * tokens * d_model * (2 * d_model + 2 * keys) + 4 * tokens * tokens * d_model
    return {"attention": attention, "mlp": 6 * tokens * d_model * d_ff}


def _block_a_token(tokens, d_model, heads, kv_heads, head_dim, d_ff):
    return {part: flop // tokens for part, flop in _block(tokens, d_model, heads, kv_heads, head_dim, d_ff).items()}


def _draw_block(rng):
    """Fewer key heads than heads, and heads that together are not as wide as the model."""
    groups, kv_heads, head_dim = rng.choice([2, 4, 8]), rng.choice([2, 4, 8]), rng.choice([64, 128, 256])
    heads = groups * kv_heads
    d_model = heads * head_dim + rng.choice([-1, 1]) * 64 * rng.randrange(1, 4)
    return rng.randrange(100, 9000), d_model, heads, kv_heads, head_dim, 64 * rng.randrange(40, 300)


# ---- q06.honest-counter --------------------------------------------------------------------------


def _count(ops, two=2, biases=False, batches=True, groups=True, unknown=True, known=("embedding",), once=True):
    total, names = 0, []
    for op in ops:
        if op["op"] == "linear":
            total += two * op["rows"] * op["in"] * op["out"] + (op["rows"] * op["out"] if biases and op["bias"] else 0)
        elif op["op"] == "bmm":
            total += 2 * (op["batch"] if batches else 1) * op["m"] * op["k"] * op["n"]
        elif op["op"] == "conv":
            height, width = op["kernel"]
            each = 2 * op["positions"] * op["in"] * op["out"] * height * width
            total += each // op["groups"] if groups else each
        elif op["op"] not in known:
            names.append(op["op"])
    found = sorted(set(names)) if once else sorted(names)
    return {"flops": total, "unknown": found if unknown else []}


def _count_right(ops):
    return _count(ops)


def _count_group_squared(ops):
    less = 0
    for op in ops:
        if op["op"] == "conv":
            height, width = op["kernel"]
            each = 2 * op["positions"] * op["in"] * op["out"] * height * width
            less += each // op["groups"] - each // op["groups"] ** 2
    whole = _count(ops)
    return whole | {"flops": whole["flops"] - less}


def _count_unsorted(ops):
    whole = _count(ops)
    return whole | {"unknown": list(dict.fromkeys(op["op"] for op in ops if op["op"] in whole["unknown"]))}


def _count_once(ops):
    return _count([op for place, op in enumerate(ops) if op not in ops[:place]])


def _count_square_kernel(ops):
    square = [op | {"kernel": [op["kernel"][0]] * 2} if op["op"] == "conv" else op for op in ops]
    return _count(square)


_TRACE = [
    {"op": "embedding", "rows": 64, "width": 32},
    {"op": "linear", "rows": 64, "in": 32, "out": 96, "bias": True},
    {"op": "bmm", "batch": 4, "m": 64, "k": 8, "n": 64},
    {"op": "fused_attention", "batch": 4, "m": 64, "width": 8},
    {"op": "linear", "rows": 64, "in": 32, "out": 32, "bias": False},
]
_IMAGES = [
    {"op": "conv", "positions": 196, "in": 16, "out": 32, "kernel": [3, 5], "groups": 1},
    {"op": "conv", "positions": 196, "in": 32, "out": 64, "kernel": [3, 3], "groups": 8},
    {"op": "scan", "rows": 7},
    {"op": "topk", "rows": 7, "k": 2},
    {"op": "cumsum", "rows": 7},
    {"op": "fused_attention", "batch": 2, "m": 9, "width": 4},
    {"op": "scan", "rows": 9},
    {"op": "fft", "rows": 8},
    {"op": "bmm", "batch": 3, "m": 5, "k": 7, "n": 11},
    {"op": "linear", "rows": 10, "in": 64, "out": 10, "bias": True},
    {"op": "embedding", "rows": 5, "width": 3},
]
_TWICE = [  # equal operations, and unknown ones that look like those it knows
    {"op": "linear", "rows": 20, "in": 12, "out": 36, "bias": False},
    {"op": "bmm", "batch": 2, "m": 20, "k": 6, "n": 20},
    {"op": "conv", "positions": 49, "in": 24, "out": 24, "kernel": [3, 1], "groups": 4},
    {"op": "conv_transpose", "positions": 49, "in": 24, "out": 24, "kernel": [3, 3], "groups": 1},
    {"op": "bilinear", "rows": 20, "in": 12, "out": 36, "bias": False},
    {"op": "linear", "rows": 20, "in": 12, "out": 36, "bias": False},
    {"op": "bmm", "batch": 2, "m": 20, "k": 6, "n": 20},
    {"op": "conv", "positions": 49, "in": 24, "out": 24, "kernel": [3, 1], "groups": 4},
    {"op": "embedding_bag", "rows": 20, "width": 12},
    {"op": "baddbmm", "batch": 2, "m": 20, "k": 6, "n": 20},
]
_KNOWN = [
    {"op": "linear", "rows": 20, "in": 12, "out": 36, "bias": False},
    {"op": "conv", "positions": 49, "in": 24, "out": 24, "kernel": [1, 7], "groups": 24},
]


def _draw_count(rng):
    """A trace with every kind of operation, two products of it twice, and five unknown ones, two of them twice, in any
    order: a set of so many names is hardly ever sorted by chance.
    """
    channels, unknown = 8 * rng.randrange(2, 9), rng.sample(["cumsum", "fft", "roll", "scan", "sort", "topk"], 4)
    ops = [
        {"op": "embedding", "rows": rng.randrange(10, 99), "width": rng.randrange(10, 99)},
        {
            "op": "linear",
            "rows": rng.randrange(3, 9),
            "in": rng.randrange(9, 40),
            "out": rng.randrange(90, 400),
            "bias": True,
        },
        {"op": "bmm", "batch": rng.randrange(3, 30), "m": rng.randrange(20, 99), "k": 64, "n": rng.randrange(20, 99)},
        {
            "op": "conv",
            "positions": rng.randrange(50, 500),
            "in": channels,
            "out": 2 * channels,
            "kernel": [3, 5],
            "groups": 1,
        },
        {
            "op": "conv",
            "positions": rng.randrange(500, 900),
            "in": channels,
            "out": rng.choice([2, 3]) * channels,
            "kernel": [3, 3],
            "groups": rng.choice([2, 4, 8]),
        },
        *({"op": name, "rows": rng.randrange(2, 9)} for name in (*unknown, *unknown[:2])),
        {"op": "fused_attention", "batch": rng.randrange(2, 9), "m": rng.randrange(20, 99), "width": 64},
    ]
    ops += [dict(op) for op in ops if op["op"] in ("linear", "bmm")]
    rng.shuffle(ops)
    return (ops,)


# ---- the lines of the lesson ---------------------------------------------------------------------


def _after(used, bar, faster):
    return used / (1 - bar + bar / faster)


def _draw_after(rng):
    used = rng.randrange(10, 60) / 100
    return used, rng.randrange(20, 100) / 100 * (1 - used), rng.choice([1.5, 3, 4, 8, 20])


def _mfu(forward, tokens_per_second, devices, peak):
    return 3 * forward * tokens_per_second / (devices * peak)


def _draw_mfu(rng):
    forward, devices = rng.randrange(100, 10**6) * 1e6, rng.choice([2, 8, 64, 512])
    peak = rng.choice([125e12, 312e12, 989e12])
    return forward, round(rng.uniform(0.15, 0.6) * devices * peak / (3 * forward), 1), devices, peak


def _lost(seconds, flops, peak):
    return [100 * (taken - needed / peak) / sum(seconds) for taken, needed in zip(seconds, flops, strict=True)]


def _lost_of_all_lost(seconds, flops, peak):
    lost = _lost(seconds, flops, peak)
    return [100 * share / sum(lost) for share in lost]


def _lost_by_class(seconds, flops, peak):
    return [100 * (1 - needed / peak / taken) for taken, needed in zip(seconds, flops, strict=True)]


def _draw_lost(rng):
    """A step of three to six classes: the first beats the peak, as the model's FLOPs may be more than those that ran; the
    last of them does no FLOPs, and the others up to 90 % of what they could. One may stand twice.
    """
    peak, seconds = rng.choice([1e12, 50e12, 312e12]), [rng.randrange(5, 90) / 1000 for _ in range(rng.randrange(3, 7))]
    shares = [rng.uniform(1.3, 1.8), *(rng.uniform(0.2, 0.9) for _ in seconds[2:]), 0]
    if rng.random() < 0.5:  # two that are alike
        seconds, shares = [*seconds, seconds[1]], [*shares, shares[1]]
    return seconds, [round(share * taken * peak) for share, taken in zip(shares, seconds, strict=True)], peak


CHECKS = [
    Check(
        id="q06.turn-after",
        points=0,
        signature="utilisation_after(used, bar, faster)",
        public=[(0.4, 0.5, 4), (0.6, 0.08, 1.5), (0.25, 0.7, 20)],
        generate=_draw_after,
        reference=_after,
        wrong={
            "added": lambda used, bar, faster: used + bar * (1 - 1 / faster),
            "gone": lambda used, bar, faster: used / (1 - bar),
            "part taken away": lambda used, bar, faster: used / (1 - bar / faster),
            "of the loss": lambda used, bar, faster: used / (1 - (1 - used) * bar * (1 - 1 / faster)),
            "all faster": lambda used, bar, faster: used * faster,
            "time": lambda used, bar, faster: 1 - bar + bar / faster,
        },
    ),
    Check(
        id="q06.turn-mfu",
        points=0,
        signature="mfu(forward, tokens_per_second, devices, peak)",
        public=[(284_812_800, 135_629, 1, 312e12), (875e9, 2_494_000, 16_384, 989e12), (17e9, 72_000, 8, 989e12)],
        generate=_draw_mfu,
        reference=_mfu,
        wrong={
            "forward only": lambda *run: _mfu(*run) / 3,
            "backward like forward": lambda *run: 2 * _mfu(*run) / 3,
            "six": lambda *run: 2 * _mfu(*run),
            "recomputed": lambda *run: 4 * _mfu(*run) / 3,
            "one device": lambda forward, rate, devices, peak: _mfu(forward, rate, 1, peak),
            "percent": lambda *run: 100 * _mfu(*run),
            "upside down": lambda *run: 1 / _mfu(*run),
        },
    ),
    Check(
        id="q06.turn-lost",
        points=0,
        signature="lost(seconds, flops, peak)",
        public=[
            ([0.038, 0.005, 0.004], [6_442_450_944, 402_653_184, 0], 200e9),
            ([0.5, 0.25, 0.125, 0.125, 0.0625], [2e12, 0.25e12, 0, 1.2e12, 0.25e12], 8e12),
            ([0.25], [1.5e12], 8e12),
        ],
        generate=_draw_lost,
        reference=_lost,
        wrong={
            "time": lambda seconds, flops, peak: [100 * taken / sum(seconds) for taken in seconds],
            "used": lambda seconds, flops, peak: [100 * needed / peak / sum(seconds) for needed in flops],
            "of all lost": _lost_of_all_lost,
            "of its class": _lost_by_class,
            "clipped": lambda *step: [max(0, share) for share in _lost(*step)],
            "no sign": lambda *step: [abs(share) for share in _lost(*step)],
            "not in percent": lambda *step: [share / 100 for share in _lost(*step)],
            "seconds": lambda seconds, flops, peak: [
                share * sum(seconds) / 100 for share in _lost(seconds, flops, peak)
            ],
        },
    ),
    Check(
        id="q06.utilisation-of-a-run",
        points=3,
        signature="utilisation(layers, d_model, vocab, seq, tokens_per_second, devices, peak)",
        public=[
            (12, 768, 50257, 1024, 135_629, 1, 312e12),
            (24, 2048, 50257, 2048, 320_000, 32, 312e12),
            (36, 1280, 32000, 8192, 410_000, 8, 989e12),
        ],
        generate=_draw_utilisation,
        reference=_utilisation,
        wrong={
            "forward only": _forward_only,
            "backward like forward": _two_thirds,
            "no pairs": _no_pairs,
            "causal": _causal,
            "no head": _no_head,
            "layers only": _layers_only,
            "positions": _positions_counted,
            "all parameters": _all_parameters,
            "both tables": _both_tables,
            "recomputed": _recomputed,
            "one device": _one_device,
            "multiply-adds": _multiply_adds,
        },
    ),
    Check(
        id="q06.token-flops",
        points=3,
        signature="token_flops(layers, d_model, vocab, seq)",
        public=[(12, 768, 50257, 1024), (2, 256, 2048, 100), (48, 1600, 50257, 513)],
        generate=_draw_token,
        reference=_token,
        wrong={
            "as given": _token_as_given,
            "only doubled": lambda layers, d_model, vocab, seq: 2 * _token_as_given(layers, d_model, vocab, seq),
            "context forgotten": lambda layers, d_model, vocab, seq: layers * 26 * d_model**2 + 2 * d_model * vocab,
            "context forgotten, the rest right": _token_no_pairs,
            "only the look-up removed": _token_given_no_lookup,
            "only the layers kept": _token_given_layers_only,
            "multiply-adds": lambda layers, d_model, vocab, seq: _token(layers, d_model, vocab, seq) // 2,
            "no values": _token_no_values,
            "embedding": _token_embedding,
            "look-up kept": lambda layers, d_model, vocab, seq: _token(layers, d_model, vocab, seq) + d_model * vocab,
            "extras": lambda layers, d_model, vocab, seq: _token(layers, d_model, vocab, seq) + layers * 4 * d_model,
            "whole sequence": lambda layers, d_model, vocab, seq: seq * _token(layers, d_model, vocab, seq),
            "no head": lambda layers, d_model, vocab, seq: _token(layers, d_model, vocab, seq) - 2 * d_model * vocab,
            "layers' weights only": lambda layers, d_model, vocab, seq: layers * 24 * d_model**2,
        },
    ),
    Check(
        id="q06.block-flops",
        points=4,
        signature="block_flops(tokens, d_model, heads, kv_heads, head_dim, d_ff)",
        public=[
            (2048, 4096, 32, 8, 128, 14336),
            (100, 1024, 16, 8, 128, 3072),
            (1, 64, 4, 2, 8, 96),
            (35, 90, 6, 1, 20, 250),
            (40, 90, 3, 3, 20, 130),
        ],
        generate=_draw_block,
        reference=_block,
        wrong={
            "two matrices": _block_two_matrices,
            "multiply-adds": _block_multiply_adds,
            "all heads": _block_all_heads,
            "grouped pairs": _block_pairs_grouped,
            "no values": _block_no_values,
            "no output": _block_no_output,
            "one narrow projection": _block_one_narrow,
            "width of the model": _block_width_of_model,
            "a token": _block_a_token,
        },
    ),
    Check(
        id="q06.honest-counter",
        points=4,
        signature="count(ops)",
        public=[(_TRACE,), (_IMAGES,), (_KNOWN,), (_TWICE,), (_TWICE[:1],)],
        generate=_draw_count,
        reference=_count_right,
        wrong={
            "as given": lambda ops: _count(ops, two=1, batches=False, groups=False, unknown=False),
            "multiply-adds": lambda ops: _count(ops, two=1),
            "one batch": lambda ops: _count(ops, batches=False),
            "no groups": lambda ops: _count(ops, groups=False),
            "groups twice": _count_group_squared,
            "silent": lambda ops: _count(ops, unknown=False),
            "look-up unknown": lambda ops: _count(ops, known=()),
            "biases": lambda ops: _count(ops, biases=True),
            "named twice": lambda ops: _count(ops, once=False),
            "unsorted": _count_unsorted,
            "square kernel": _count_square_kernel,
            "equal ones once": _count_once,
        },
    ),
]
