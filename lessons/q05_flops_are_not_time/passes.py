"""Forward passes as lists of operations: what the lesson, its claims and its cards put under a roof."""

from course_lib.accounting import models, roofline


def forward(model: str, texts: int, tokens: int) -> list[roofline.Op]:
    """The operations of a forward pass of a GPT-2 in bf16, with unfused attention, norms and activations.

    The embedding, biases, dropout and a cache of earlier tokens are left out.
    """
    m, rows = models.load(model), texts * tokens
    heads, d, width = texts * m.heads, m.d_model, m.head_width
    norm = roofline.elementwise(rows * d, flops_per_element=8, dtype="bf16")
    residual = roofline.elementwise(rows * d, reads=2, dtype="bf16")
    layer = [
        norm,
        roofline.matmul(rows, d, 3 * d, dtype="bf16"),
        roofline.matmul(tokens, width, tokens, batch=heads, dtype="bf16"),
        roofline.elementwise(heads * tokens**2, flops_per_element=5, dtype="bf16"),
        roofline.matmul(tokens, tokens, width, batch=heads, dtype="bf16"),
        roofline.matmul(rows, d, d, dtype="bf16"),
        residual,
        norm,
        roofline.matmul(rows, d, m.mlp_width, dtype="bf16"),
        roofline.elementwise(rows * m.mlp_width, flops_per_element=8, dtype="bf16"),
        roofline.matmul(rows, m.mlp_width, d, dtype="bf16"),
        residual,
    ]
    return [*(m.layers * layer), norm, roofline.matmul(rows, d, m.vocab, dtype="bf16")]


def total(ops: list[roofline.Op]) -> roofline.Op:
    """All FLOPs, bytes and calls of bf16 operations as those of one: what a maximum of sums looks at."""
    return roofline.Op(
        "total", sum(op.flops for op in ops), sum(op.bytes for op in ops), "bf16", sum(op.calls for op in ops)
    )
