"""Attention over the length of the sequence: eager, SDPA, windowed and linear; forward, and with its backward pass.

Eager attention writes the n×n matrix of scores and reads it again; SDPA (scaled_dot_product_attention) keeps it in
tiles that never reach main memory (Dao et al., "FlashAttention", arXiv:2205.14135). A window gives every query the keys
of its own block and of the two beside it. Linear attention replaces the softmax by positive features φ and multiplies
φ(K)ᵀ by V first (Katharopoulos et al., "Transformers are RNNs", arXiv:2006.16236). No mask is causal here. The first
two compute the same function, the others functions of their own. No prediction knows the cost of exp, nor that the
scores of a short sequence stay in a cache.
"""

from collections.abc import Callable

from course_lib.accounting import flops, hardware, precision, roofline
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

WIDTH = 64  # of a head
BLOCK = 128  # queries that share a window of three blocks of keys


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four forms by sequence length, at two lengths with their backward pass too; full adds a longer sequence, and the
    backward pass at the others.
    """
    dtype = main_dtype(device)
    heads, lengths, longer = (
        (2, (256, 512, 1024, 2048), (4096,)) if device.kind == "cpu" else (32, (1024, 2048, 4096, 8192), (16384,))
    )
    forms: dict[str, tuple[Callable, Callable, Callable]] = {  # operations forward, and both ways; what runs
        "eager": (eager_ops, eager_both_ways, eager),
        "SDPA": (sdpa_ops, sdpa_both_ways, sdpa),
        "window": (window_ops, window_both_ways, window),
        "linear": (linear_ops, linear_both_ways, linear),
    }
    found = [
        _case(name, f"{name} {n}", heads, n, dtype, ops, function, backward=False)
        for name, (ops, _, function) in forms.items()
        for n in (lengths if quick else lengths + longer)
    ]
    found += [
        _case(f"{name}, both ways", f"{name} {n}, both ways", heads, n, dtype, ops, function, backward=True)
        for name, (_, ops, function) in forms.items()
        for n in (lengths[:3:2] if quick else lengths)
    ]
    return tuple(found)


def _case(series, name, heads, n, dtype, ops_of, function, backward) -> Case:
    ops = ops_of(heads, n, dtype)

    def build(bench):
        torch = bench.torch
        shape = (1, heads, n, WIDTH)
        q, k, v, gradient = (bench.random(*shape, dtype=dtype) for _ in range(4))
        forward = function(torch, n, q.device)
        if not backward:
            return lambda: forward(q, k, v)
        inputs = [tensor.requires_grad_() for tensor in (q, k, v)]
        return lambda: torch.autograd.grad(forward(*inputs), inputs, gradient)

    facts = {
        "series": series,
        "length": n,
        "flops": sum(op.flops for op in ops),
        "bytes": sum(op.bytes for op in ops),
    }
    call = say("calls", "both-ways" if backward else "forward", heads=heads, n=n, width=WIDTH)
    return Case(name, call, ops, build, gradients=backward, facts=facts)


# ---------------------------------------------------------------- the four forms


def eager(torch, n, device):
    def forward(q, k, v):
        weights = torch.softmax((q * WIDTH**-0.5) @ k.transpose(-2, -1), dim=-1)
        return weights @ v

    return forward


def sdpa(torch, n, device):
    return torch.nn.functional.scaled_dot_product_attention


def window(torch, n, device):
    """SDPA of every block of queries with the keys of three blocks, which are gathered first; the places beyond either
    end are masked.
    """
    blocks = n // BLOCK
    place = torch.arange(-BLOCK, n + BLOCK, device=device).unfold(0, 3 * BLOCK, BLOCK)
    mask = ((place >= 0) & (place < n)).view(1, blocks, 1, 3 * BLOCK).expand(1, blocks, BLOCK, 3 * BLOCK)

    def gather(x):
        """[1, heads, n, width] to [heads, blocks, 3 blocks of rows, width]."""
        padded = torch.nn.functional.pad(x[0], (0, 0, BLOCK, BLOCK))
        return padded.unfold(1, 3 * BLOCK, BLOCK).transpose(-2, -1).contiguous()

    def forward(q, k, v):
        blocked = q.view(-1, blocks, BLOCK, WIDTH)
        out = torch.nn.functional.scaled_dot_product_attention(blocked, gather(k), gather(v), attn_mask=mask)
        return out.view(q.shape)

    return forward


def linear(torch, n, device):
    def features(x):
        return torch.nn.functional.elu(x) + 1

    def forward(q, k, v):
        queries, keys = features(q), features(k)
        summary, total = keys.transpose(-2, -1) @ v, keys.sum(dim=-2, keepdim=True)
        return (queries @ summary) / (queries @ total.transpose(-2, -1))

    return forward


# ---------------------------------------------------------------- what they do: operations in the order of their calls


def eager_ops(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    return (
        roofline.elementwise(heads * n * WIDTH, dtype=dtype, name="scale"),
        roofline.matmul(n, WIDTH, n, dtype, batch=heads, name="scores"),
        _softmax(heads, n, n, dtype),
        roofline.matmul(n, n, WIDTH, dtype, batch=heads, name="values"),
    )


def sdpa_ops(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    """One call: q, k and v are read once, the result is written once."""
    return (_sdpa(heads, n, n, dtype),)


def window_ops(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    """Keys and values are copied twice, padded by a block at each end and then threefold, before one SDPA."""
    rows, padded, gathered = heads * n * WIDTH, heads * (n + 2 * BLOCK) * WIDTH, heads * 3 * n * WIDTH
    pad = roofline.Op("pad", 0, 2 * precision.nbytes(rows + padded, dtype), dtype, calls=2)
    gather = roofline.Op("gather", 0, 2 * precision.nbytes(padded + gathered, dtype), dtype, calls=2)
    return (pad, gather, _sdpa(heads * (n // BLOCK), BLOCK, 3 * BLOCK, dtype))


def linear_ops(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    elements = heads * n * WIDTH
    features = [
        roofline.elementwise(elements, dtype=dtype, name=name) for name in ("elu of q", "+ 1", "elu of k", "+ 1")
    ]
    total = roofline.Op("sum", heads * (n - 1) * WIDTH, precision.nbytes(heads * (n + 1) * WIDTH, dtype), dtype)
    divide = roofline.Op("divide", elements, precision.nbytes(2 * elements + heads * n, dtype), dtype)
    return (
        *features,
        roofline.matmul(WIDTH, n, WIDTH, dtype, batch=heads, name="summary"),
        total,
        roofline.matmul(n, WIDTH, WIDTH, dtype, batch=heads, name="values"),
        roofline.matmul(n, WIDTH, 1, dtype, batch=heads, name="normaliser"),
        divide,
    )


def eager_both_ways(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    """Each product has two in the backward pass; the gradient of the softmax reads two n×n matrices and writes one."""
    scores, values = eager_ops(heads, n, dtype)[1::2]
    softmax = roofline.elementwise(heads * n * n, reads=2, flops_per_element=4, dtype=dtype, name="softmax, backward")
    scale = roofline.elementwise(heads * n * WIDTH, dtype=dtype, name="scale, backward")
    return (*eager_ops(heads, n, dtype), values, values, softmax, scores, scores, scale)


def sdpa_both_ways(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    return (*sdpa_ops(heads, n, dtype), _sdpa_backward(heads, n, n, dtype))


def window_both_ways(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    """The gradients of the gathered keys and values are added up in padded tensors, which are then cut to size."""
    rows, padded, gathered = heads * n * WIDTH, heads * (n + 2 * BLOCK) * WIDTH, heads * 3 * n * WIDTH
    gather = precision.nbytes(gathered + 2 * padded, dtype)  # zeros first, then the sums
    cut = precision.nbytes(padded + rows + 3 * rows, dtype)  # once without the padding, once into a tensor of zeros
    return (
        *window_ops(heads, n, dtype),
        _sdpa_backward(heads * (n // BLOCK), BLOCK, 3 * BLOCK, dtype),
        roofline.Op("gather, backward", 2 * gathered, 2 * gather, dtype, calls=2),
        roofline.Op("pad, backward", 0, 2 * cut, dtype, calls=4),
        roofline.Op("copy of q's gradient", 0, 2 * precision.nbytes(rows, dtype), dtype),
    )


def linear_both_ways(heads: int, n: int, dtype: str) -> tuple[roofline.Op, ...]:
    """Each product has two in the backward pass; the gradient of the division alone takes six passes."""
    forward, elements = linear_ops(heads, n, dtype), heads * n * WIDTH
    divide = forward[-1]
    total = roofline.Op("sum, backward", elements, precision.nbytes(elements + heads * n, dtype), dtype)

    def passes(name, reads):
        return roofline.elementwise(elements, reads=reads, dtype=dtype, name=name)

    return (
        *forward,
        *(divide, divide, passes("negate", 1), passes("multiply", 2), divide, total),
        *_twice(op for op in forward if op.name in ("normaliser", "values", "summary")),
        *(passes("add", 2), passes("add", 2), passes("elu, backward", 2), passes("elu, backward", 2)),
    )


def _twice(products) -> list[roofline.Op]:
    """The two products of the backward pass of each product: of the same three operands, in other places."""
    return [op for op in products for _ in range(2)]


def _sdpa_backward(heads: int, queries: int, keys: int, dtype: str) -> roofline.Op:
    """The backward pass computes the scores again, so it has five products to the forward pass's two. It reads q, k, v,
    the result and its gradient and writes three gradients.
    """
    traffic = precision.nbytes(4 * heads * (queries + keys) * WIDTH, dtype)
    return roofline.Op("SDPA, backward", 5 * heads * flops.matmul(queries, WIDTH, keys), traffic, dtype)


def _softmax(heads: int, rows: int, columns: int, dtype: str) -> roofline.Op:
    work = flops.softmax(heads * rows, columns, stable=True)
    return roofline.Op("softmax", work, precision.nbytes(2 * heads * rows * columns, dtype), dtype)


def _sdpa(heads: int, queries: int, keys: int, dtype: str) -> roofline.Op:
    """The two products and the softmax between them; only what enters and leaves the call crosses main memory."""
    work = 2 * heads * flops.matmul(queries, WIDTH, keys) + flops.softmax(heads * queries, keys, stable=True)
    return roofline.Op("SDPA", work, precision.nbytes(2 * heads * (queries + keys) * WIDTH, dtype), dtype)


def plot(result):
    """Measured and predicted time over the sequence length, a line for each form; both ways only in words."""

    def growth(form):
        rows = [row for row in result.rows if row["series"] == form]
        return (rows[-1]["length"] / rows[0]["length"], rows[-1]["measured"] / rows[0]["measured"]) if rows else (1, 1)

    (longer, eager_times), (linear_longer, linear_times) = growth("eager"), growth("linear")
    title = say("title", "plain")
    if longer == linear_longer > 1:
        title = say(
            "title", "found", longer=longer, eager=quantity(eager_times, "×"), linear=quantity(linear_times, "×")
        )
    return curves(
        result, x="length", title=title, axis=say("axis"), by="series", only=("eager", "SDPA", "window", "linear")
    )


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(
        say, "s", series="str", length="int", flops="int FLOP", bytes="int B", hidden=("series", "length")
    ),
    quick_seconds=0.05,
    full_seconds=0.2,
)
