"""Checks of the exercises of Q7: what is asked, how inputs are drawn, the reference, and the wrong answers that people give."""

import math

import numpy as np

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q07.causal ----------------------------------------------------------------------------------


def _causal(batch, heads, tokens, width):
    return [4 * batch * heads * width * pairs for pairs in (tokens**2, tokens * (tokens + 1) // 2)]


def _causal_scores_only(batch, heads, tokens, width):
    return [2 * batch * heads * width * pairs for pairs in (tokens**2, tokens * (tokens + 1) // 2)]


def _causal_one_flop(batch, heads, tokens, width):
    return [batch * heads * width * pairs for pairs in (tokens**2, tokens * (tokens + 1) // 2)]


def _causal_one_head(batch, heads, tokens, width):
    return [4 * batch * width * pairs for pairs in (tokens**2, tokens * (tokens + 1) // 2)]


def _causal_half(batch, heads, tokens, width):
    return [4 * batch * heads * width * tokens**2, 2 * batch * heads * width * tokens**2]


def _causal_not_itself(batch, heads, tokens, width):
    return [4 * batch * heads * width * pairs for pairs in (tokens**2, tokens * (tokens - 1) // 2)]


def _causal_count_of_pairs(batch, heads, tokens, width):
    return [batch * heads * pairs for pairs in (tokens**2, tokens * (tokens + 1) // 2)]


def _draw_causal(rng):
    return rng.randrange(1, 64), rng.randrange(2, 64), rng.randrange(10, 5000), rng.choice([32, 64, 80, 128])


# ---- q07.half ------------------------------------------------------------------------------------


def _half_of(token, pair):
    """Smallest whole n with n·pair ≥ token, and with (n + 1)/2·pair ≥ token."""
    return [-(-token // pair), -(-2 * token // pair) - 1]


def _token(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    layer = d_model * (d_model + 2 * key_width) + d_model**2 + mlp_matrices * d_model * d_ff
    return 2 * (layers * layer + d_model * vocab)


def _half(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 4 * layers * d_model)


def _half_no_head(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, mlp_matrices, 0), 4 * layers * d_model)


def _half_all_keys(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, d_model, d_ff, mlp_matrices, vocab), 4 * layers * d_model)


def _half_no_gate(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, 2, vocab), 4 * layers * d_model)


def _half_scores_only(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 2 * layers * d_model)


def _half_six(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return [6 * d_model, 12 * d_model - 1]


def _half_two(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return [2 * d_model, 4 * d_model - 1]


def _half_eight(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return [8 * d_model, 16 * d_model - 1]


def _half_no_output(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    token = _token(layers, d_model, key_width, d_ff, mlp_matrices, vocab) - 2 * layers * d_model**2
    return _half_of(token, 4 * layers * d_model)


def _half_keys_in_pair(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 2 * layers * (d_model + key_width))


def _half_floor(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    token, pair = _token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 4 * layers * d_model
    return [token // pair, 2 * token // pair - 1]


def _half_strict(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    token, pair = _token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 4 * layers * d_model
    return [token // pair + 1, 2 * token // pair]


def _half_one_more(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    """Rounded down and 1 added in the first number only."""
    right = _half(layers, d_model, key_width, d_ff, mlp_matrices, vocab)
    return [_half_strict(layers, d_model, key_width, d_ff, mlp_matrices, vocab)[0], right[1]]


def _half_no_causal(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return [_half(layers, d_model, key_width, d_ff, mlp_matrices, vocab)[0]] * 2


def _half_doubled(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    everything = _half(layers, d_model, key_width, d_ff, mlp_matrices, vocab)[0]
    return [everything, 2 * everything]


def _half_of_the_square(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    """n²/2 for the pairs of a causal mask, rounded up by itself."""
    token, pair = _token(layers, d_model, key_width, d_ff, mlp_matrices, vocab), 4 * layers * d_model
    return [-(-token // pair), -(-2 * token // pair)]


def _half_one_flop_a_weight(layers, d_model, key_width, d_ff, mlp_matrices, vocab):
    return _half_of(_token(layers, d_model, key_width, d_ff, mlp_matrices, vocab) // 2, 4 * layers * d_model)


def _draw_half(rng):
    """A model with fewer key heads, whose MLP is wider than two and a half of its widths. Its half point is a whole number
    in half of the draws, and less than a half above one in the others: the head adds vocab / (2 · layers) to it.
    """
    heads, groups = rng.choice([16, 32, 48]), rng.choice([2, 4, 8])
    d = 128 * heads
    layers, wide = rng.randrange(12, 90), d * 5 // 2 + 64 * rng.randrange(1, 60)
    vocab = 2 * layers * rng.randrange(32_000 // layers, 100_000 // layers) + rng.choice([0, rng.randrange(1, layers)])
    return layers, d, d // groups, wide, rng.choice([2, 3]), vocab


# ---- q07.online ----------------------------------------------------------------------------------


def _online(pieces):
    scores = [score for piece in pieces for score in piece[0]]
    values = [value for piece in pieces for value in piece[1]]
    weights = [math.exp(score - max(scores)) for score in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def _running(pieces, of_total, of_result):
    """The running form with its two rescalings, as functions of the old and the new maximum."""
    biggest, total, result = -math.inf, 0.0, 0.0
    for scores, values in pieces:
        new = max(biggest, *scores)
        weights = [math.exp(score - new) for score in scores]
        total = total * of_total(biggest, new) + sum(weights)
        result = result * of_result(biggest, new) + sum(w * v for w, v in zip(weights, values, strict=True))
        biggest = new
    return result / total


def _right_factor(old, new):
    return math.exp(old - new)


def _no_factor(old, new):
    return 1.0


def _inverted_factor(old, new):
    return math.exp(min(new - old, 700)) if old > -math.inf else 0.0


def _online_own_maxima(pieces):
    """Each piece relative to its own maximum, and nothing rescaled."""
    total = result = 0.0
    for scores, values in pieces:
        weights = [math.exp(score - max(scores)) for score in scores]
        total += sum(weights)
        result += sum(w * v for w, v in zip(weights, values, strict=True))
    return result / total


def _online_piece_maximum(pieces):
    """Each piece relative to its own maximum, the old sums brought to it by a factor that is cut off before it overflows."""
    biggest, total, result = -math.inf, 0.0, 0.0
    for scores, values in pieces:
        weights = [math.exp(score - max(scores)) for score in scores]
        rescale = math.exp(min(biggest - max(scores), 300))
        total = total * rescale + sum(weights)
        result = result * rescale + sum(w * v for w, v in zip(weights, values, strict=True))
        biggest = max(scores)
    return result / total


def _online_from_zero(pieces):
    """The largest score of all, or 0, is taken away: of large negative scores nothing is, and their exponentials vanish."""
    scores = [score for piece in pieces for score in piece[0]]
    values = [value for piece in pieces for value in piece[1]]
    weights = [math.exp(score - max(0.0, *scores)) for score in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / (sum(weights) or 1.0)


def _online_no_division(pieces):
    scores = [score for piece in pieces for score in piece[0]]
    weights = [math.exp(score - max(scores)) for score in scores]
    return sum(w * v for w, v in zip(weights, (v for piece in pieces for v in piece[1]), strict=True))


def _draw_online(rng):
    """Four pieces or five. Either all scores are far below 0, one comes twice in its piece, and one piece twice, in any
    order; or each piece begins and ends far below its largest score, and every other piece lies far above its neighbours:
    no maximum but the running one will do. Values of every piece differ clearly.
    """
    far = rng.choice([False, True])
    pieces = []
    for number, top in enumerate((0.0, 0.7, 0.3, 1.5)):
        base = (0.0, 998.0)[number % 2] if far else -998.0
        scores = [round(base + top + rng.uniform(-0.6, 0), 3) for _ in range(rng.randrange(1, 3))]
        scores = [-998.0, *scores, -998.0] if far else [*scores, scores[0]]
        pieces.append([scores, [round(rng.uniform(1, 2) + 3 * number, 3) for _ in scores]])
    if not far:
        pieces.append([list(part) for part in rng.choice(pieces)])  # no list in two places
        rng.shuffle(pieces)
    return (pieces,)


# ---- q07.blocked ---------------------------------------------------------------------------------


def _weights(q, k, power=0.5):
    scores = q @ k.T / q.shape[1] ** power
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def _moved(q, block):
    return 2 * q.size + 2 * q.size * math.ceil(len(q) / block)


def _blocked(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": _moved(q, block)}


def _blocked_all_each_time(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": 2 * q.size * math.ceil(len(q) / block) * 2}


def _blocked_keys_and_queries(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": q.size + q.size * math.ceil(len(q) / block)}


def _blocked_whole_blocks(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": 2 * q.size + 2 * q.size * (len(q) // block)}


def _blocked_block_too_many(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": 2 * q.size + 2 * q.size * (len(q) // block + 1)}


def _blocked_no_values(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": 2 * q.size + q.size * math.ceil(len(q) / block)}


def _blocked_with_scores(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": _moved(q, block) + 2 * len(q) ** 2}


def _blocked_no_result(q, k, v, block):
    return {"result": _weights(q, k) @ v, "moved": _moved(q, block) - q.size}


def _blocked_by_piece(q, k, v, block):
    """Each block of keys gets a softmax of its own, and their results are averaged."""
    parts = [_weights(q, k[i : i + block]) @ v[i : i + block] for i in range(0, len(k), block)]
    return {"result": sum(parts) / len(parts), "moved": _moved(q, block)}


def _blocked_running(q, k, v, block, factor):
    """The running form with its rescaling, as a function of the old and the new maximum."""
    scores = q @ k.T / math.sqrt(q.shape[1])
    biggest, total, result = np.full((len(q), 1), -np.inf), 0.0, 0.0
    for i in range(0, len(k), block):
        new = np.maximum(biggest, scores[:, i : i + block].max(1, keepdims=True))
        weights, rescale = np.exp(scores[:, i : i + block] - new), factor(biggest, new)
        total, result = total * rescale + weights.sum(1, keepdims=True), result * rescale + weights @ v[i : i + block]
        biggest = new
    return {"result": result / total, "moved": _moved(q, block)}


def _blocked_first_maximum(q, k, v, block):
    """The largest score of the first block is taken away from all; what would overflow is cut off."""
    scores = q @ k.T / math.sqrt(q.shape[1])
    weights = np.exp(np.minimum(scores - scores[:, :block].max(1, keepdims=True), 300))
    return {"result": weights / weights.sum(1, keepdims=True) @ v, "moved": _moved(q, block)}


def _blocked_inverted(q, k, v, block):
    return _blocked_running(
        q, k, v, block, lambda old, new: np.where(old > -np.inf, np.exp(np.minimum(new - old, 300)), 0)
    )


def _arrays(rng, n, d):
    """q, k and v of [n, d], of a few decimals."""
    return tuple(np.array([[round(rng.gauss(0, 1.5), 2) for _ in range(d)] for _ in range(n)]) for _ in range(3))


def _far_scores(q, k, block):
    """Set the first three columns of q and of k so that scores are too large for an exponential, in four kinds of rows by
    turns: all scores some hundreds above 0; all as far below; those after the first block far above the earlier ones; the
    first block far above all later ones, and neighbouring keys far apart.
    """
    small = 0.01 * k[:, :3].round()
    k[:, :3] = small + 40
    k[:block, 1] = small[:block, 1]
    k[::2, 2] *= -1
    k[block:, 2] = np.minimum(k[block:, 2], 0)
    q[:, :3] = 0
    for row in range(len(q)):
        q[row, (0, 0, 1, 2)[row % 4]] = (40, -40, 40, 40)[row % 4]
    return q, k


def _draw_blocked(rng):
    """In half of the draws the last block has one row only, or one too few; in three of four scores are too large for
    an exponential. The maximum of some row grows after the first block.
    """
    while True:
        block, far = rng.randrange(3, 6), rng.random() < 0.75
        n = block * rng.randrange(2, 4) + rng.choice([0, 0, 1, block - 1])
        q, k, v = _arrays(rng, n, rng.randrange(3, 5) if far else rng.randrange(2, 5))
        if far:
            q, k = _far_scores(q, k, block)
        scores = q @ k.T / math.sqrt(q.shape[1])
        if (scores.max(1) - scores[:, :block].max(1)).max() > 1:
            return q, k, v, block


def _public_blocked(n, d, block, far=False):
    import random

    q, k, v = _arrays(random.Random(2 * n), n, d)  # no result is so near zero that processors differ in its 12th digit
    if far:
        q, k = _far_scores(q, k, block)
    return q, k, v, block


# ---- q07.bytes -----------------------------------------------------------------------------------


def _steps(rows, scores):
    return {"scores": 2 * rows + scores, "softmax": 2 * scores, "values": scores + 2 * rows}


def _bytes(batch, heads, tokens, width, bytes_per_number):
    each = batch * heads * tokens * bytes_per_number
    return _steps(each * width, each * tokens)


def _bytes_as_given(batch, heads, tokens, width, bytes_per_number):
    return _steps(batch * heads * tokens * width * bytes_per_number, batch * tokens * tokens)


def _bytes_heads_left(batch, heads, tokens, width, bytes_per_number):
    rows = batch * heads * tokens * width * bytes_per_number
    return _steps(rows, batch * tokens * tokens * bytes_per_number)


def _bytes_size_left(batch, heads, tokens, width, bytes_per_number):
    return _steps(batch * heads * tokens * width * bytes_per_number, batch * heads * tokens * tokens)


def _bytes_softmax_once(batch, heads, tokens, width, bytes_per_number):
    right = _bytes(batch, heads, tokens, width, bytes_per_number)
    return right | {"softmax": right["softmax"] // 2}


def _draw_bytes(rng):
    return (
        rng.randrange(1, 64),
        rng.randrange(2, 40),
        rng.randrange(100, 5000),
        rng.choice([64, 80, 128]),
        rng.choice([2, 4]),
    )


# ---- your turns ----------------------------------------------------------------------------------


def _growth(before, after, half_point):
    return (after + after**2 / half_point) / (before + before**2 / half_point)


def _draw_growth(rng):
    before = rng.randrange(100, 5000)
    return before, before * rng.randrange(2, 30) + rng.randrange(50), rng.randrange(1000, 50_000)


def _running_sum(pieces):
    biggest = max(max(piece) for piece in pieces)
    return sum(math.exp(score - biggest) for piece in pieces for score in piece)


def _sum_by(pieces, rescale):
    """The running form with its factor, as a function of the old and the new maximum."""
    biggest, total = max(pieces[0]), 0.0
    for piece in pieces:
        new = max(biggest, *piece)
        total = total * rescale(biggest, new) + sum(math.exp(score - new) for score in piece)
        biggest = new
    return total


def _draw_sum(rng):
    """Four pieces in any order, one of them often twice; in three of four draws the maximum grows after the first. In
    half of them every score is too large for an exponential of its own.
    """
    base = rng.choice([0, 1000])
    pieces = [[round(base + rng.uniform(-3, 0) + 1.5 * top, 2) for _ in range(rng.randrange(2, 5))] for top in range(4)]
    pieces += rng.sample(pieces, rng.randrange(2))
    rng.shuffle(pieces)
    return (pieces,)


def _token_seconds(weights, cache, context, texts, bandwidth):
    return (weights + texts * context * cache) / bandwidth


def _draw_token(rng):
    return (
        rng.randrange(2, 140) * 1e9,
        rng.randrange(16, 512) * 1024,
        rng.randrange(1000, 100_000),
        rng.randrange(2, 64),
        rng.randrange(300, 8000) * 1e9,
    )


CHECKS = [
    Check(
        id="q07.turn-growth",
        points=0,
        signature="growth(before, after, half_point)",
        public=[(1024, 4096, 6703), (2048, 65_536, 9000), (500, 2600, 1500)],
        generate=_draw_growth,
        reference=_growth,
        wrong={
            "square": lambda before, after, half_point: (after / before) ** 2,
            "tokens": lambda before, after, half_point: after / before,
            "pairs in full": lambda before, after, half_point: (after + after**2) / (before + before**2),
            "doubled": lambda before, after, half_point: (
                (after + 2 * after**2 / half_point) / (before + 2 * before**2 / half_point)
            ),
            "a token": lambda before, after, half_point: (1 + after / half_point) / (1 + before / half_point),
            "upside down": lambda before, after, half_point: _growth(after, before, half_point),
        },
    ),
    Check(
        id="q07.turn-rescale",
        points=0,
        signature="running_sum(pieces)",
        public=[
            ([[0.0, 1.0], [2.0, 3.0]],),
            ([[1.0, -1.0], [4.0, 2.0], [3.0, 5.5], [1.0, -1.0], [0.5, 1.5]],),  # one piece twice
            ([[2.0, 0.5], [1.0, -0.5], [2.5, 2.0]],),
            ([[5.0, 4.0], [1.0, 2.0], [4.5]],),
            ([[0.0, -1.0], [0.0, 0.5], [0.5, -2.0]],),
            ([[1000.0, 999.0], [1001.5, 1000.5]],),
            ([[1.0, 2.0]],),
        ],
        generate=_draw_sum,
        reference=_running_sum,
        same=Close(rel=1e-4),
        wrong={
            "no rescaling": lambda pieces: _sum_by(pieces, _no_factor),
            "inverted": lambda pieces: _sum_by(pieces, lambda old, new: math.exp(new - old)),
            "forgotten": lambda pieces: _sum_by(pieces, lambda old, new: 0.0),
            "of the new maximum": lambda pieces: _sum_by(pieces, lambda old, new: math.exp(-new)),
            "difference": lambda pieces: _sum_by(pieces, lambda old, new: old - new),
        },
    ),
    Check(
        id="q07.turn-token",
        points=0,
        signature="token_seconds(weights, cache, context, texts, bandwidth)",
        public=[
            (15.01e9, 131_072, 8192, 32, 3.35e12),
            (15.01e9, 131_072, 131_072, 1, 3.35e12),
            (140e9, 327_680, 3000, 8, 4.8e12),
        ],
        generate=_draw_token,
        reference=_token_seconds,
        wrong={
            "one text": lambda weights, cache, context, texts, bandwidth: (weights + context * cache) / bandwidth,
            "weights for each": lambda weights, cache, context, texts, bandwidth: (
                texts * (weights + context * cache) / bandwidth
            ),
            "a share each": lambda weights, cache, context, texts, bandwidth: (
                (weights / texts + context * cache) / bandwidth
            ),
            "no context": lambda weights, cache, context, texts, bandwidth: (weights + texts * cache) / bandwidth,
            "no weights": lambda weights, cache, context, texts, bandwidth: texts * context * cache / bandwidth,
            "square": lambda weights, cache, context, texts, bandwidth: (
                (weights + texts * context**2 * cache) / bandwidth
            ),
            "upside down": lambda weights, cache, context, texts, bandwidth: (
                bandwidth / (weights + texts * context * cache)
            ),
        },
    ),
    Check(
        id="q07.causal",
        points=2,
        signature="attention_flops(batch, heads, tokens, width)",
        public=[(1, 12, 1024, 64), (8, 32, 4096, 128), (2, 3, 5, 4)],
        generate=_draw_causal,
        reference=_causal,
        same=Close(rel=1e-5),
        wrong={
            "scores only": _causal_scores_only,
            "one FLOP": _causal_one_flop,
            "one head": _causal_one_head,
            "exactly half": _causal_half,
            "not itself": _causal_not_itself,
            "no gain": lambda batch, heads, tokens, width: [4 * batch * heads * width * tokens**2] * 2,
            "pairs": _causal_count_of_pairs,
        },
    ),
    Check(
        id="q07.half",
        points=3,
        signature="half_context(layers, d_model, key_width, d_ff, mlp_matrices, vocab)",
        public=[
            (32, 4096, 1024, 14336, 3, 128256),
            (12, 768, 768, 3072, 2, 50257),
            (80, 8192, 1024, 28672, 3, 128256),
            (126, 16384, 16384, 53248, 3, 128256),
        ],
        generate=_draw_half,
        reference=_half,
        same=EXACT,
        wrong={
            "no head": _half_no_head,
            "all keys": _half_all_keys,
            "no gate": _half_no_gate,
            "scores only": _half_scores_only,
            "no result": _half_no_output,
            "key width in a pair": _half_keys_in_pair,
            "rounded down": _half_floor,
            "more than half": _half_strict,
            "one more": _half_one_more,
            "six widths": _half_six,
            "two widths": _half_two,
            "eight widths": _half_eight,
            "not causal": _half_no_causal,
            "doubled": _half_doubled,
            "half of the square": _half_of_the_square,
            "one FLOP a weight": _half_one_flop_a_weight,
        },
    ),
    Check(
        id="q07.online",
        points=3,
        signature="attend_online(pieces)",
        public=[
            ([[[0.0, 1.0], [1.0, 2.0]], [[2.0, 3.0], [5.0, 7.0]]],),
            ([[[-741.0, -742.5], [1.0, 2.0]], [[-743.0], [10.0]]],),
            ([[[1.0], [4.0]], [[2.5, 0.5], [10.0, 20.0]], [[3.0], [-6.0]]],),
            ([[[990.0, 991.0], [1.0, 2.0]], [[1000.0, 998.5], [3.0, 5.0]]],),
            ([[[-1000.0], [1.0]], [[-999.0], [2.0]]],),
            ([[[0.0], [1.0]], [[1000.0, 999.0], [2.0, 5.0]]],),
            ([[[5.0, 4.0], [1.0, 2.0]], [[1.0, 0.0], [10.0, 20.0]]],),
            ([[[900.0, 901.0], [1.0, 2.0]], [[-900.0], [10.0]], [[-900.0], [4.0]], [[-900.0], [7.0]]],),
            ([[[0.5, 900.0], [1.0, 4.0]], [[0.0], [10.0]], [[899.0], [7.0]]],),
            ([[[-900.0, 900.0, -900.0], [1.0, 5.0, 2.0]], [[-900.0, 901.0, -900.0], [3.0, 8.0, 4.0]]],),
            ([[[1.0, 0.5], [2.0, 3.0]], [[2.0], [1.0]], [[0.0, 1.0], [4.0, 4.0]], [[1.5], [7.0]], [[1.0], [9.0]]],),
            (
                [
                    [[0.0, -1.0, 0.0, 0.0, -0.5], [-4.0, -1.0, -8.0, -4.0, -3.0]],
                    [[0.0, -1.0, 0.0, 0.0, -0.5], [-4.0, -1.0, -8.0, -4.0, -3.0]],
                    [[4.0], [-1.0]],
                ],
            ),
            ([[[2.0], [5.0]]],),
        ],
        generate=_draw_online,
        reference=_online,
        same=Close(rel=1e-4, abs=1e-5),
        wrong={
            "no rescaling": lambda pieces: _running(pieces, _no_factor, _no_factor),
            "inverted": lambda pieces: _running(pieces, _inverted_factor, _inverted_factor),
            "only the sum": lambda pieces: _running(pieces, _right_factor, _no_factor),
            "only the values": lambda pieces: _running(pieces, _no_factor, _right_factor),
            "mean of pieces": lambda pieces: sum(_online([piece]) for piece in pieces) / len(pieces),
            "last piece": lambda pieces: _online(pieces[-1:]),
            "own maxima": _online_own_maxima,
            "piece maximum": _online_piece_maximum,
            "from zero": _online_from_zero,
            "not divided": _online_no_division,
        },
    ),
    Check(
        id="q07.blocked",
        points=4,
        signature="blocked_attention(q, k, v, block)",
        public=[
            _public_blocked(8, 3, 2),
            _public_blocked(7, 2, 3),
            _public_blocked(9, 4, 4),
            _public_blocked(5, 3, 2, far=True),
            _public_blocked(13, 3, 4, far=True),
            _public_blocked(17, 2, 3),
        ],
        generate=_draw_blocked,
        reference=_blocked,
        same=Close(rel=1e-3, abs=1e-3),
        wrong={
            "not scaled": lambda q, k, v, block: {"result": _weights(q, k, power=0) @ v, "moved": _moved(q, block)},
            "scaled by d": lambda q, k, v, block: {"result": _weights(q, k, power=1) @ v, "moved": _moved(q, block)},
            "keys once": lambda q, k, v, block: {"result": _weights(q, k) @ v, "moved": 4 * q.size},
            "keys or values": _blocked_no_values,
            "all each time": _blocked_all_each_time,
            "keys and queries": _blocked_keys_and_queries,
            "whole blocks": _blocked_whole_blocks,
            "a block too many": _blocked_block_too_many,
            "scores moved": _blocked_with_scores,
            "result not counted": _blocked_no_result,
            "bytes": lambda q, k, v, block: {"result": _weights(q, k) @ v, "moved": 8 * _moved(q, block)},
            "rows": lambda q, k, v, block: {"result": _weights(q, k) @ v, "moved": _moved(q, block) // q.shape[1]},
            "a softmax each": _blocked_by_piece,
            "no rescaling": lambda q, k, v, block: _blocked_running(q, k, v, block, lambda old, new: 1.0),
            "inverted": _blocked_inverted,
            "first maximum": _blocked_first_maximum,
        },
    ),
    Check(
        id="q07.bytes",
        points=3,
        signature="eager_bytes(batch, heads, tokens, width, bytes_per_number)",
        public=[(32, 1, 2048, 64, 4), (32, 12, 1024, 64, 2), (1, 32, 8192, 128, 2)],
        generate=_draw_bytes,
        reference=_bytes,
        same=Close(rel=1e-5),
        wrong={
            "as given": _bytes_as_given,
            "heads left": _bytes_heads_left,
            "size left": _bytes_size_left,
            "softmax once": _bytes_softmax_once,
        },
    ),
]
