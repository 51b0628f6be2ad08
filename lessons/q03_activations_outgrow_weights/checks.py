"""Checks of Q3, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import isqrt

from course_lib.teaching.checks.check import EXACT, Check

# ---- q03.ledger ----------------------------------------------------------------------------------

_INPUTS, _OUTPUT, _BOTH = ("linear", "layer_norm", "gelu"), ("softmax", "relu", "exp"), ("mul", "matmul")


def _asked(ops, of_inputs=(*_INPUTS, *_BOTH), of_output=_OUTPUT):
    """Names of the tensors that the ops save, in order, as often as they do."""
    names = []
    for op, inputs, output in ops:
        names += inputs if op in of_inputs else [output] if op in of_output else []
    return names


def _ledger(ops, sizes, bytes_per_element):
    return bytes_per_element * sum(sizes[name] for name in set(_asked(ops)))


def _ledger_twice(ops, sizes, bytes_per_element):
    return bytes_per_element * sum(sizes[name] for name in _asked(ops))


def _ledger_twice_in_one(ops, sizes, bytes_per_element):
    """Leaves out what an earlier op has saved, but not the second of two inputs that are the same tensor."""
    names = []
    for op in ops:
        names += [name for name in _asked([op]) if name not in set(names)]
    return bytes_per_element * sum(sizes[name] for name in names)


def _ledger_outputs(ops, sizes, bytes_per_element):
    return bytes_per_element * sum(sizes[name] for name in {output for _, _, output in ops})


def _ledger_inputs(ops, sizes, bytes_per_element):
    names = set(_asked(ops, of_inputs=(*_INPUTS, *_BOTH, *_OUTPUT), of_output=()))
    return bytes_per_element * sum(sizes[name] for name in names)


def _ledger_adds(ops, sizes, bytes_per_element):
    names = set(_asked(ops, of_inputs=(*_INPUTS, *_BOTH, "add", "scale")))
    return bytes_per_element * sum(sizes[name] for name in names)


def _ledger_no_gelu(ops, sizes, bytes_per_element):
    names = set(_asked(ops, of_inputs=("linear", "layer_norm", *_BOTH)))
    return bytes_per_element * sum(sizes[name] for name in names)


def _ledger_no_exp(ops, sizes, bytes_per_element):
    names = set(_asked(ops, of_output=("softmax", "relu")))
    return bytes_per_element * sum(sizes[name] for name in names)


def _ledger_gelu_output(ops, sizes, bytes_per_element):
    names = set(_asked(ops, of_inputs=("linear", "layer_norm", *_BOTH), of_output=(*_OUTPUT, "gelu")))
    return bytes_per_element * sum(sizes[name] for name in names)


_MLP = [
    ["layer_norm", ["x"], "n"],
    ["linear", ["n"], "up"],
    ["relu", ["up"], "r"],
    ["linear", ["r"], "down"],
    ["add", ["x", "down"], "y"],
]
_MLP_SIZES = {"x": 1000, "n": 1000, "up": 4000, "r": 4000, "down": 1000, "y": 1000}
_GATED = [  # half of what goes up is a gate
    ["layer_norm", ["x"], "n"],
    ["linear", ["n"], "up"],
    ["linear", ["n"], "gate"],
    ["gelu", ["gate"], "g"],
    ["mul", ["g", "up"], "m"],
    ["linear", ["m"], "down"],
    ["relu", ["down"], "r"],
    ["add", ["x", "r"], "y"],
]
_GATED_SIZES = dict.fromkeys(("x", "n", "down", "r", "y"), 1000) | dict.fromkeys(("up", "gate", "g", "m"), 3000)
_ATTENTION = [
    ["linear", ["x"], "qkv"],
    ["matmul", ["q", "k"], "scores"],
    ["scale", ["scores"], "scaled"],
    ["softmax", ["scaled"], "p"],
    ["matmul", ["p", "v"], "z"],
    ["linear", ["z"], "out"],
    ["add", ["x", "out"], "y"],
]
_LONG = [  # the first tensor is saved again at the very end
    *[["linear", [f"t{at}"], f"t{at + 1}"] for at in range(18)],
    ["mul", ["t18", "t0"], "t19"],
]
_THRICE = [  # three ops save one tensor, and a matmul has the same one twice
    *[["linear", ["x"], name] for name in ("q", "k", "v")],
    ["matmul", ["q", "k"], "s"],
    ["matmul", ["s", "v"], "z"],
    ["matmul", ["z", "z"], "g"],
]

_BESIDE = [  # a saved tensor goes into a ReLU, an exp and a softmax too; the first tensor and the norm's result are not saved
    ["scale", ["a"], "b"],
    ["layer_norm", ["b"], "n"],
    ["add", ["n", "b"], "c"],
    ["linear", ["c"], "e"],
    ["relu", ["c"], "r"],
    ["mul", ["e", "r"], "f"],
    ["exp", ["e"], "g"],
    ["softmax", ["r"], "p"],
]


def _attention_sizes(x, scores):
    one = dict.fromkeys(("x", "q", "k", "v", "z", "out", "y"), x)
    return one | {"qkv": 3 * x} | dict.fromkeys(("scores", "scaled", "p"), scores)


def _draw_ledger(rng):
    """Attention, its result squared, and a gated MLP in a row, with sizes of their own."""
    x, scores = rng.randrange(1000, 9000), rng.randrange(10_000, 90_000)
    mlp = [[op, [f"{name}2" for name in inputs], f"{output}2"] for op, inputs, output in _GATED]
    mlp[6][0] = rng.choice(["relu", "exp"])
    join = [["mul", ["y", "y"], "squared"], ["scale", ["squared"], "x2"]]
    sizes = _attention_sizes(x, scores) | {f"{name}2": size * x // 1000 for name, size in _GATED_SIZES.items()}
    last = [["exp", ["y2"], "e2"]] if rng.random() < 0.5 else []
    return _ATTENTION + join + mlp + last, sizes | {"squared": x, "e2": sizes["y2"]}, rng.choice([2, 4])


# ---- q03.largest-batch ---------------------------------------------------------------------------


def _batch(capacity, params, layers, d, heads, seq, vocab, state=16, pairs=5, logits=12, least=0):
    sequence = layers * (34 * seq * d + pairs * heads * seq**2) + logits * seq * vocab
    return max(least, (int(capacity) - state * int(params)) // sequence)


def _batch_no_state(*arguments):
    return _batch(*arguments, state=0)


def _batch_no_scores(*arguments):
    return _batch(*arguments, pairs=0)


def _batch_no_logits(*arguments):
    return _batch(*arguments, logits=0)


def _batch_one_head(capacity, params, layers, d, heads, seq, vocab):
    return _batch(capacity, params, layers, d, 1, seq, vocab)


def _batch_one_layer(capacity, params, layers, d, heads, seq, vocab):
    return _batch(capacity, params, 1, d, heads, seq, vocab)


def _batch_no_scores_below_zero(*arguments):
    return _batch(*arguments, pairs=0, least=float("-inf"))


def _batch_no_logits_below_zero(*arguments):
    return _batch(*arguments, logits=0, least=float("-inf"))


def _batch_one_head_below_zero(capacity, params, layers, d, heads, seq, vocab):
    return _batch(capacity, params, layers, d, 1, seq, vocab, least=float("-inf"))


def _batch_one_layer_below_zero(capacity, params, layers, d, heads, seq, vocab):
    return _batch(capacity, params, 1, d, heads, seq, vocab, least=float("-inf"))


def _batch_heads_from_width(capacity, params, layers, d, heads, seq, vocab):
    return _batch(capacity, params, layers, d, d // 64, seq, vocab)


def _batch_not_squared(capacity, params, layers, d, heads, seq, vocab):
    return max(0, (capacity - 16 * params) // (layers * (34 * seq * d + 5 * heads * seq) + 12 * seq * vocab))


def _batch_more_state(*arguments):
    return _batch(*arguments, state=18)


def _batch_rounded_up(*arguments):
    return _batch(*arguments) + 1


def _batch_exact(capacity, params, layers, d, heads, seq, vocab):
    sequence = layers * (34 * seq * d + 5 * heads * seq**2) + 12 * seq * vocab
    return (capacity - 16 * params) / sequence


def _batch_not_rounded(*arguments):
    return max(0, _batch_exact(*arguments))


def _draw_batch(rng):
    """A model and a device on which no wrong answer is right; the right one from 4 to some hundreds. Now and then a small
    model that fits once or thousands of times, with a quarter to spare: rounding in kB, MB, GB or fp32 cannot take that.
    """
    small, times = rng.random() < 0.3, rng.choice([1, rng.randrange(1500, 9000)])
    if small:
        layers, d, heads, seq, params = rng.choice([2, 4]), 128, rng.choice([4, 8]), 125, 2**20
        vocab = rng.randrange(1000, 3000)
        sequence = layers * (34 * seq * d + 5 * heads * seq**2) + 12 * seq * vocab
        return times * sequence + sequence // 4 + 16 * params, params, layers, d, heads, seq, vocab
    while True:
        layers, d = rng.choice([12, 24, 32]), rng.choice([768, 1024, 2048])
        heads, seq, vocab = d // rng.choice([32, 128]), rng.choice([512, 1024, 2048]), rng.choice([32000, 50257])
        params = 12 * layers * d * d + vocab * d
        arguments = (rng.randrange(20, 160) * 10**9, params, layers, d, heads, seq, vocab)
        right, wrong = _batch(*arguments), {fn(*arguments) for fn in _BATCH_WRONG.values()}
        if right >= 4 and right not in wrong:
            return arguments


_BATCH_WRONG = {
    "state forgotten": _batch_no_state,
    "scores forgotten": _batch_no_scores,
    "logits forgotten": _batch_no_logits,
    "one head": _batch_one_head,
    "one layer": _batch_one_layer,
    "scores forgotten, below zero": _batch_no_scores_below_zero,
    "logits forgotten, below zero": _batch_no_logits_below_zero,
    "one head, below zero": _batch_one_head_below_zero,
    "one layer, below zero": _batch_one_layer_below_zero,
    "not rounded": _batch_not_rounded,
    "below zero": _batch_exact,
    "rounded up": _batch_rounded_up,
    "heads from the width": _batch_heads_from_width,
    "18 bytes of state": _batch_more_state,
    "not squared": _batch_not_squared,
}


# ---- q03.checkpoint-every ------------------------------------------------------------------------


def _need(layers, checkpoint, block, k):
    return -(-layers // k) * checkpoint + k * block


def _every(layers, checkpoint, block):
    best = min(range(1, layers + 1), key=lambda k: _need(layers, checkpoint, block, k))
    return [best, _need(layers, checkpoint, block, best)]


def _every_root(layers, checkpoint, block):
    k = round(layers**0.5)
    return [k, _need(layers, checkpoint, block, k)]


def _every_formula(layers, checkpoint, block):
    k = max(1, round((layers * checkpoint / block) ** 0.5))
    return [k, _need(layers, checkpoint, block, k)]


def _every_formula_down(layers, checkpoint, block):
    k = max(1, isqrt(layers * checkpoint // block))
    return [k, _need(layers, checkpoint, block, k)]


def _every_neighbours(layers, checkpoint, block):
    down = isqrt(layers * checkpoint // block)
    up = down if down**2 * block == layers * checkpoint else down + 1
    beside = [min(layers, max(1, k)) for k in (down, up)]
    best = min(beside, key=lambda k: _need(layers, checkpoint, block, k))
    return [best, _need(layers, checkpoint, block, best)]


def _every_up_to(layers, checkpoint, block):
    """All k up to the whole number above the formula."""
    most = min(layers, isqrt(layers * checkpoint // block) + 1)
    best = min(range(1, most + 1), key=lambda k: _need(layers, checkpoint, block, k))
    return [best, _need(layers, checkpoint, block, best)]


def _every_divisors(layers, checkpoint, block):
    divisors = [k for k in range(1, layers + 1) if layers % k == 0]
    best = min(divisors, key=lambda k: _need(layers, checkpoint, block, k))
    return [best, _need(layers, checkpoint, block, best)]


def _every_last(layers, checkpoint, block):
    best = min(range(layers, 0, -1), key=lambda k: _need(layers, checkpoint, block, k))
    return [best, _need(layers, checkpoint, block, best)]


def _every_one(layers, checkpoint, block):
    return [1, _need(layers, checkpoint, block, 1)]


def _every_inputs_only(layers, checkpoint, block):
    return [layers, checkpoint]


def _every_upside_down(layers, checkpoint, block):
    k = min(layers, max(1, isqrt(layers * block // checkpoint)))
    return [k, _need(layers, checkpoint, block, k)]


def _every_no_ceiling(layers, checkpoint, block):
    def need(k):
        return layers // k * checkpoint + k * block

    best = min(range(1, layers + 1), key=need)
    return [best, need(best)]


def _draw_every(rng):
    """In nearly half of the draws several k are best, and the smallest is not beside the formula; in as many the best k is
    above the formula, and not beside it. Now and then a single block or the whole network is best.
    """
    kind = rng.random()
    if kind < 0.08:
        layers, size, many = rng.randrange(20, 200), rng.randrange(2, 60), rng.randrange(40_000, 90_000)
        return (layers, size, size * many) if kind < 0.03 else (layers, size * many, size)
    if kind < 0.48:
        wrong = (_every_up_to, _every_neighbours, _every_formula, _every_divisors)
        ratios = [(n, 1) for n in range(10, 90)]
    else:
        wrong, ratios = (_every_last, _every_neighbours, _every_root, _every_formula), [(1, 2), (1, 3), (2, 3)]
        wrong += (
            _every_divisors,
            _every_formula_down,
            _every_one,
            _every_inputs_only,
            _every_upside_down,
            _every_no_ceiling,
        )
    while True:
        size, (checkpoint, block) = rng.randrange(2, 60), rng.choice(ratios)
        arguments = (rng.randrange(30, 200), size * checkpoint, size * block)
        if _every(*arguments) not in [fn(*arguments) for fn in wrong]:
            return arguments


# ---- q03.kv-bytes --------------------------------------------------------------------------------


def _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, both=2, held=None):
    pages = sum(-(-tokens // page) for tokens in lengths)
    held = pages * page if held is None else held
    return both * layers * kv_heads * head_dim * bytes_per_element * held


def _kv_as_given(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    held = sum(tokens // page * page for tokens in lengths)
    return _kv(layers, heads, heads, head_dim, bytes_per_element, lengths, page, both=1, held=held)


def _kv_query_heads(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    return _kv(layers, heads, heads, head_dim, bytes_per_element, lengths, page)


def _kv_full_pages(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    held = sum(tokens // page * page for tokens in lengths)
    return _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, held=held)


def _kv_rounded(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    held = sum(round(tokens / page) * page for tokens in lengths)
    return _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, held=held)


def _kv_one_page_more(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    held = sum((tokens // page + 1) * page for tokens in lengths)
    return _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, held=held)


def _kv_only_heads(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    return _kv_as_given(layers, kv_heads, kv_heads, head_dim, bytes_per_element, lengths, page)


def _kv_only_pages(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    return _kv(layers, heads, heads, head_dim, bytes_per_element, lengths, page, both=1)


def _kv_no_pages(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    return _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, held=sum(lengths))


def _kv_shared_pages(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page):
    held = -(-sum(lengths) // page) * page
    return _kv(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page, held=held)


def _draw_kv(rng):
    """One sequence fills its last page, the others, of which two are as long, do not; shared pages come to fewer."""
    page, kv_heads = rng.choice([16, 24, 32, 256]), rng.choice([4, 8])
    lengths = [page * rng.randrange(3, 90) + rng.randrange(1, page // 2) for _ in range(rng.randrange(3, 9))]
    lengths.append(rng.choice(lengths))
    lengths.insert(rng.randrange(len(lengths)), page * rng.randrange(3, 90))
    shape = (
        rng.choice([24, 32, 80]),
        kv_heads * rng.choice([4, 8]),
        kv_heads,
        rng.choice([64, 128]),
        rng.choice([1, 2]),
    )
    return (*shape, lengths, page)


# ---- the lesson's own: one line each --------------------------------------------------------------


def _lean(batch, seq, d, heads, wide=2, narrow=8):
    """Numbers: `narrow` tensors of the stream's size, `wide` of four times that, and what the norms and SDPA keep of rows."""
    return batch * seq * ((narrow + 4 * wide) * d + 4 + heads)


def _lean_block(batch, seq, d, heads):
    return _lean(batch, seq, d, heads)


def _draw_lean(rng):
    heads = rng.choice([4, 12, 16])
    return rng.randrange(2, 20), rng.choice([128, 512, 1024]), 64 * heads, heads


def _outgrown(tokens, d, kept=16):
    return kept * d * tokens / (12 * d**2)


def _draw_outgrown(rng):
    return rng.randrange(1, 10**6), rng.choice([768, 1024, 1600, 4096])


def _checkpointed(layers, stream, block):
    return layers * stream + block


def _draw_checkpointed(rng):
    stream = rng.randrange(1, 10**9)
    return rng.randrange(2, 100), stream, stream * rng.randrange(2, 40) + rng.randrange(1, 1000)


CHECKS = [
    Check(
        id="q03.turn-lean",
        points=0,
        signature="lean_block(batch, seq, d, heads)",
        public=[(4, 128, 128, 4), (16, 1024, 768, 12), (1, 512, 1600, 25), (2, 2048, 4096, 32)],
        generate=_draw_lean,
        reference=_lean_block,
        wrong={
            "output twice": lambda *block: _lean(*block, narrow=9),
            "as written": lambda *block: _lean(*block, wide=5),
            "one wide tensor": lambda *block: _lean(*block, wide=1),
            "wide as narrow": lambda *block: _lean(*block, wide=0, narrow=10),
            "scores": lambda batch, seq, d, heads: _lean(batch, seq, d, heads) + batch * heads * seq**2,
            "statistics forgotten": lambda batch, seq, d, heads: 16 * batch * seq * d,
        },
    ),
    Check(
        id="q03.turn-outgrown",
        points=0,
        signature="outgrown(tokens, d)",
        public=[(576, 768), (16_384, 768), (1000, 4096), (1, 1600)],
        generate=_draw_outgrown,
        reference=_outgrown,
        wrong={
            "one tensor": lambda tokens, d: _outgrown(tokens, d, kept=1),
            "as written": lambda tokens, d: _outgrown(tokens, d, kept=28),
            "upside down": lambda tokens, d: 1 / _outgrown(tokens, d),
            "width once": lambda tokens, d: 16 * tokens / 12,
            "bytes": lambda tokens, d: 2 * _outgrown(tokens, d),
        },
    ),
    Check(
        id="q03.turn-checkpointed",
        points=0,
        signature="checkpointed(layers, stream, block)",
        public=[(12, 50, 1350), (32, 537, 9000), (2, 10, 77), (1, 5, 80)],
        generate=_draw_checkpointed,
        reference=_checkpointed,
        wrong={
            "inputs only": lambda layers, stream, block: layers * stream,
            "all blocks at work": lambda layers, stream, block: layers * (stream + block),
            "no checkpointing": lambda layers, stream, block: layers * block,
            "block only": lambda layers, stream, block: block,
            "one input": lambda layers, stream, block: stream + block,
        },
    ),
    Check(
        id="q03.ledger",
        points=3,
        signature="saved_bytes(ops, sizes, bytes_per_element)",
        public=[
            (_MLP, _MLP_SIZES, 4),
            (_ATTENTION, _attention_sizes(1000, 7000), 2),
            (
                [["mul", ["a", "b"], "c"], ["exp", ["c"], "e"], ["mul", ["e", "a"], "f"], ["add", ["f", "g"], "h"]],
                {"a": 10, "b": 20, "c": 40, "e": 80, "f": 160, "g": 320, "h": 640},
                4,
            ),
            (_GATED, _GATED_SIZES, 2),
            ([*_GATED[:6], ["softmax", ["down"], "p"]], _GATED_SIZES | {"p": 700}, 4),
            (
                [["linear", ["a"], "b"], ["exp", ["b"], "c"], ["scale", ["c"], "e"]],
                {"a": 10, "b": 20, "c": 40, "e": 80},
                2,
            ),
            (
                [["linear", ["a"], "b"], ["mul", ["b", "b"], "c"], ["add", ["c", "a"], "e"]],
                {"a": 10, "b": 20, "c": 40, "e": 80},
                2,
            ),
            (
                [["linear", ["a"], "b"], ["gelu", ["b"], "c"], ["scale", ["c"], "e"], ["add", ["e", "a"], "f"]],
                {"a": 10, "b": 20, "c": 40, "e": 80, "f": 160},
                4,
            ),
            (_LONG, {f"t{at}": 10 + at**2 for at in range(20)}, 2),
            (_BESIDE, {"a": 10, "b": 20, "n": 40, "c": 80, "e": 160, "r": 320, "f": 640, "g": 1280, "p": 2560}, 4),
            (_THRICE, {"x": 10, "q": 20, "k": 40, "v": 80, "s": 160, "z": 320, "g": 640}, 2),
            ([["linear", ["a"], "b"]], {"a": 10, "b": 20}, 4),
        ],
        generate=_draw_ledger,
        reference=_ledger,
        same=EXACT,
        wrong={
            "counted twice": _ledger_twice,
            "twice in one op": _ledger_twice_in_one,
            "all results": _ledger_outputs,
            "inputs always": _ledger_inputs,
            "sums too": _ledger_adds,
            "gelu forgotten": _ledger_no_gelu,
            "gelu's result": _ledger_gelu_output,
            "exp forgotten": _ledger_no_exp,
            "numbers": lambda ops, sizes, bytes_per_element: sum(sizes[name] for name in set(_asked(ops))),
        },
    ),
    Check(
        id="q03.largest-batch",
        points=3,
        signature="largest_batch(capacity, params, layers, d, heads, seq, vocab)",
        public=[
            (24 * 10**9, 124_439_808, 12, 768, 12, 1024, 50257),
            (80 * 10**9, 1_557_611_200, 48, 1600, 25, 1024, 50257),
            (16 * 10**9, 1_557_611_200, 48, 1600, 25, 1024, 50257),
            (16 * 10**9, 1_557_611_200, 48, 1600, 25, 128, 50257),
            (40 * 10**9, 334_757_888, 24, 1024, 16, 512, 32000),
            (24 * 10**9, 334_757_888, 24, 1024, 8, 1024, 32000),
            # Five and one sequence fit exactly: powers of 5, so that the parts are exact in kB, MB, GB and fp32 too.
            (2_000_000_000, 4 * 5**9, 4, 5**5, 5, 5**4, 3 * 5**5),
            (1_999_999_000, 4 * 5**9, 4, 5**5, 5, 5**4, 3 * 5**5),  # and this one lacks a kB, as much as fp32 can tell
            (500_000_000, 4 * 5**9, 4, 5**5, 5, 5**4, 3 * 5**5),
            (499_999_000, 4 * 5**9, 4, 5**5, 5, 5**4, 3 * 5**5),  # the state fits, and not one sequence
            (2 * 10**9, 2**20, 2, 64, 4, 64, 1024),
            (141 * 10**9, 2**20, 2, 64, 4, 60, 1000),  # 5 · heads · seq / d is no whole number; beyond any short search
        ],
        generate=_draw_batch,
        reference=_batch,
        same=EXACT,
        wrong=_BATCH_WRONG,
    ),
    Check(
        id="q03.checkpoint-every",
        points=3,
        signature="checkpoint_every(layers, checkpoint, block)",
        public=[
            *[(96, 2, 34), (48, 10, 30), (50, 7, 16), (45, 7, 16), (100, 12, 12)],
            *[(33, 16, 33), (12, 4, 4), (3, 5, 2), (1, 7, 7)],
            *[(60, 294, 10), (47, 1, 2), (24, 1, 40), (130, 900, 1)],
            (25, 40, 5),  # the best k is just above half of the layers
            (401, 170, 1),  # there too, and far from the formula
            (500, 3000, 1),  # all layers, beyond any short search
            (251, 45, 1),  # the best k is above the formula, and far from it
            (400, 201, 1),  # nearly √2 times the formula: with many layers no best k is further above it
            (3, 8, 7),  # 1.6 times the formula, which three layers allow
            (32, 2**29, 57 * 2**29),  # bytes of a 7B model: more than a billion taken for infinity
        ],
        generate=_draw_every,
        reference=_every,
        same=EXACT,
        wrong={
            "root of L": _every_root,
            "formula rounded": _every_formula,
            "formula rounded down": _every_formula_down,
            "divisors only": _every_divisors,
            "neighbours only": _every_neighbours,
            "up to the formula": _every_up_to,
            "last of ties": _every_last,
            "every block": _every_one,
            "only checkpoints": _every_inputs_only,
            "upside down": _every_upside_down,
            "rounded down": _every_no_ceiling,
        },
    ),
    Check(
        id="q03.kv-bytes",
        points=3,
        signature="kv_bytes(layers, heads, kv_heads, head_dim, bytes_per_element, lengths, page)",
        public=[
            (32, 32, 8, 128, 2, [1000], 16),
            (80, 64, 8, 128, 1, [17, 33, 500], 16),
            (2, 4, 2, 64, 2, [5, 5, 5], 16),
            (2, 4, 2, 64, 2, [16, 32], 16),
            (2, 4, 2, 64, 2, [40, 70], 32),
            (2, 4, 2, 64, 2, [30, 75], 32),
            (2, 4, 2, 64, 2, [25, 48, 24_025], 24),  # pages that are no power of two
            (2, 4, 2, 64, 2, [257, 1024, 700], 256),  # one token into a large page
            (2, 4, 2, 64, 2, [40, 70, 33, 40, 7, 64, 5001, 70, 9, 1, 40, 50], 32),
        ],
        generate=_draw_kv,
        reference=_kv,
        same=EXACT,
        wrong={
            "as given": _kv_as_given,
            "heads only": _kv_only_heads,
            "values only": lambda *arguments: 2 * _kv_as_given(*arguments),
            "pages only": _kv_only_pages,
            "one page too many": _kv_one_page_more,
            "query heads": _kv_query_heads,
            "keys only": lambda *arguments: _kv(*arguments, both=1),
            "rounded": _kv_rounded,
            "full pages only": _kv_full_pages,
            "no pages": _kv_no_pages,
            "shared pages": _kv_shared_pages,
        },
    ),
]
