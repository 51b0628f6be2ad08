"""What the predictor knows how to time: kinds of operations with their sizes, and the models that are made of them.

All tensors are fp32 on a processor. An operation is `new` where its result is allocated by the call and not reused
(out=), and `cold` where its large operand (the weights, the table, the inputs of a pass) comes from main memory and not
from a cache. No torch in here: `calibration.build` makes the call that belongs to an operation.

`forward` and `step` list what the classes of transformers (5.23) run for a decoder: GPT2LMHeadModel where the model has
learned positions, LlamaForCausalLM where they are rotary, without a KV cache and without dropout.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields

from course_lib.accounting import units
from course_lib.accounting.models import Transformer

FP32 = 4  # bytes

# Passes whose arithmetic costs nothing beside their traffic -> how many tensors they read. "sum" writes one number a
# row.
PLAIN = {
    "copy": 1,
    "scale": 1,
    "relu": 1,
    "negate": 1,
    "square": 1,
    "cube": 1,
    "sum": 1,
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "tanh backward": 2,
    "multiply-add": 3,
}
# Passes that may wait for their arithmetic -> how many tensors they read.
COSTLY = {
    "exp": 1,
    "tanh": 1,
    "gelu": 1,
    "gelu-tanh": 1,
    "silu": 1,
    "sqrt": 1,
    "divide": 2,
    "gelu backward": 2,
    "gelu-tanh backward": 2,
    "silu backward": 2,
}
# Functions of whole rows -> how many tensors they read.
ROWWISE = {"softmax": 1, "log-softmax": 1, "layer_norm": 1, "softmax backward": 2, "layer_norm backward": 2}


@dataclass(frozen=True, kw_only=True)
class Operation(ABC):
    """One call of the framework; each kind says what it writes."""

    new: bool = False
    cold: bool = False

    def __post_init__(self):
        for item in fields(self):
            if item.type is int:
                object.__setattr__(self, item.name, units.count(getattr(self, item.name), item.name))

    @property
    @abstractmethod
    def result_bytes(self) -> int:
        """Bytes that the call writes."""


@dataclass(frozen=True)
class Matmul(Operation):
    """[m, k] @ [k, n], `batch` of them in one call; cold: the weights come from main memory.

    The weights are the right operand; with n = 1 (matrix times vector) the left one.
    """

    m: int
    k: int
    n: int
    batch: int = 1

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.k * self.n

    @property
    def weight_bytes(self) -> int:
        return self.batch * self.k * (self.m if self.n == 1 else self.n) * FP32

    @property
    def result_bytes(self) -> int:
        return self.batch * self.m * self.n * FP32


@dataclass(frozen=True)
class Elementwise(Operation):
    """One pass of `function` (one of PLAIN or COSTLY) over tensors of `elements` numbers."""

    elements: int
    function: str = "copy"

    def __post_init__(self):
        super().__post_init__()
        units.choice(self.function, "function", (*PLAIN, *COSTLY))

    @property
    def reads(self) -> int:
        return (PLAIN | COSTLY)[self.function]

    @property
    def result_bytes(self) -> int:
        return 0 if self.function == "sum" else self.elements * FP32

    @property
    def bytes(self) -> int:
        return self.reads * self.elements * FP32 + self.result_bytes


@dataclass(frozen=True)
class Rowwise(Operation):
    """`function` (one of ROWWISE) along each of `rows` rows of `width` numbers."""

    rows: int
    width: int
    function: str = "softmax"

    def __post_init__(self):
        super().__post_init__()
        units.choice(self.function, "function", ROWWISE)

    @property
    def elements(self) -> int:
        return self.rows * self.width

    @property
    def result_bytes(self) -> int:
        return self.elements * FP32

    @property
    def bytes(self) -> int:
        return (ROWWISE[self.function] + 1) * self.elements * FP32


@dataclass(frozen=True)
class Gather(Operation):
    """An embedding: `rows` rows of `width` numbers at random from a table; cold: from a table beyond the caches."""

    rows: int
    width: int

    @property
    def result_bytes(self) -> int:
        return self.rows * self.width * FP32


@dataclass(frozen=True)
class Attention(Operation):
    """scaled_dot_product_attention of `heads` (times batch) heads of `width`, or its backward."""

    heads: int
    queries: int
    keys: int
    width: int
    causal: bool = True
    backward: bool = False

    @property
    def block(self) -> int:
        """Queries that torch (2.13, FlashAttentionKernel.cpp) takes at a time."""
        return 256 if self.queries >= 768 else 64 if self.queries >= 192 else 32

    @property
    def scores(self) -> int:
        """Scores that are computed. torch goes through the keys in blocks of 512 and leaves out, if causal, the blocks
        that no query of a block of queries sees.
        """
        seen = 0
        for first in range(0, self.queries, self.block):
            last = min(first + self.block, self.queries)
            seen += (last - first) * (min(self.keys, -(-last // 512) * 512) if self.causal else self.keys)
        return self.heads * seen

    @property
    def loaded(self) -> int:
        """Numbers of keys (and as many of values) that the blocks of queries load together."""
        return self.heads * -(-self.queries // self.block) * self.keys * self.width

    @property
    def result_bytes(self) -> int:
        return self.heads * (2 * self.keys * self.backward + self.queries) * self.width * FP32


@dataclass(frozen=True)
class Calls(Operation):
    """`calls` calls of a torch module that only makes a view: what Python and the framework cost beside the work."""

    calls: int = 1

    @property
    def result_bytes(self) -> int:
        return 0


KINDS = {kind.__name__: kind for kind in (Matmul, Elementwise, Rowwise, Gather, Attention, Calls)}


# ---------------------------------------------------------------- models

Part = tuple[str, Operation, int]  # name of the part, one operation, how often it runs

# What transformers does beside the operations, as a number of `Calls`: modules, views, hooks, keyword arguments. From
# forward passes of models so narrow (d_model 32) that nothing else counts.
_CALLS_OF_LAYER = {"learned": 80, "rotary": 90}
_CALLS_AROUND = 140


def forward(model: Transformer, batch: int, seq: int, attention: str = "sdpa", cache_bytes: int = 0) -> list[Part]:
    """The operations of a forward pass that returns all logits.

    cache_bytes: of the last-level cache. Weights of more than half of it are cold when they are read: the activations
    and other programs want it too.
    """
    _refuse(model)
    units.choice(attention, "attention", ("sdpa", "eager"))
    batch, seq = units.count(batch, "batch"), units.count(seq, "seq")
    cold = int(model.parameters()) * FP32 > cache_bytes / 2
    tokens, d = batch * seq, model.d_model
    parts: list[Part] = [("embedding", Gather(tokens, d, new=True, cold=cold), 1)]
    if model.positions == "learned":
        parts += [
            ("embedding", Gather(seq, d, new=True), 1),
            ("embedding", Elementwise(tokens * d, "add", new=True), 1),
        ]
    layer = [
        *_norm(model, tokens),
        *_attention(model, batch, seq, attention, cold),
        ("residual", Elementwise(tokens * d, "add", new=True), 1),
        *_norm(model, tokens),
        *_mlp(model, tokens, cold),
        ("residual", Elementwise(tokens * d, "add", new=True), 1),
        ("calls", Calls(calls=_CALLS_OF_LAYER[model.positions]), 1),
    ]
    parts += [(name, operation, times * model.layers) for name, operation, times in layer]
    parts += _norm(model, tokens)
    parts.append(("calls", Calls(calls=_CALLS_AROUND), 1))
    return [*parts, ("head", Matmul(tokens, d, model.vocab, new=True, cold=cold), 1)]


def _refuse(model) -> None:
    if not isinstance(model, Transformer):
        raise ValueError(
            f"model={getattr(model, 'name', model)!r}: only decoders are predicted (GPT-2 and Llama), given as "
            "models.Transformer. For another model, predict its operations one by one."
        )
    unknown = {
        "experts": model.experts > 1,
        "qk_norm": model.qk_norm,
        "block_norms": model.block_norms != 2,
        "activation": model.activation == "relu",
    }
    if any(unknown.values()):
        names = ", ".join(name for name, there in unknown.items() if there)
        raise ValueError(
            f"model={model.name!r} is not built as GPT-2 or Llama ({names}): its operations are not listed here."
        )


def _norm(model: Transformer, tokens: int) -> list[Part]:
    """nn.LayerNorm is one call; transformers writes RMSNorm out."""
    d = model.d_model
    if model.norm == "layernorm":
        return [("norm", Rowwise(tokens, d, "layer_norm", new=True), 1)]
    return [("norm", Elementwise(tokens * d, name, new=True), 1) for name in ("square", "sum", "scale", "scale")]


def _attention(model: Transformer, batch: int, seq: int, attention: str, cold: bool) -> list[Part]:
    tokens, d, q, kv = batch * seq, model.d_model, model.q_width, model.kv_width
    if model.positions == "learned":
        parts: list[Part] = [("projections", Matmul(tokens, d, q + 2 * kv, new=True, cold=cold), 1)]
    else:
        parts = [("projections", Matmul(tokens, d, width, new=True, cold=cold), 1) for width in (q, kv, kv)]
        for width in (q, kv):  # x·cos + rotate_half(x)·sin
            for name in ("scale", "negate", "copy", "scale", "add"):
                elements = tokens * width // (2 if name == "negate" else 1)
                parts.append(("rotary", Elementwise(elements, name, new=True), 1))
    parts += _scores(model, batch, seq) if attention == "eager" else [_sdpa(model, batch, seq)]
    return [*parts, ("projections", Matmul(tokens, q, d, new=True, cold=cold), 1)]


def _sdpa(model: Transformer, batch: int, seq: int) -> Part:
    return ("attention", Attention(batch * model.heads, seq, seq, model.head_width, new=True), 1)


def _scores(model: Transformer, batch: int, seq: int) -> list[Part]:
    """Eager attention: the scores are a tensor. torch.matmul of several sequences copies its operands together."""
    heads, width = batch * model.heads, model.head_width
    scores, values = heads * seq * seq, heads * seq * width
    copies = 3 if batch > 1 or model.kv_width < model.q_width else 0
    return [
        ("attention", Elementwise(values, "copy", new=True), copies + 1),  # and the result's heads side by side
        ("attention", Matmul(seq, width, seq, heads, new=True), 1),
        ("attention", Elementwise(scores, "scale", new=True), 1),
        ("attention", Elementwise(scores, "add", new=True), 1),
        ("attention", Rowwise(heads * seq, seq, "softmax", new=True), 1),
        ("attention", Matmul(seq, seq, width, heads, new=True), 1),
    ]


def _mlp(model: Transformer, tokens: int, cold: bool) -> list[Part]:
    d, f = model.d_model, model.mlp_width
    inner = tokens * f
    if model.gated_mlp:
        middle = (model.activation, "multiply")
    elif model.activation == "gelu-tanh":  # GPT-2's: 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), pass by pass
        middle = ("scale", "cube", "scale", "add", "scale", "tanh", "scale", "multiply")
    else:
        middle = (model.activation,)
    return [
        ("mlp", Matmul(tokens, d, f, new=True, cold=cold), 2 if model.gated_mlp else 1),
        *(("activation", Elementwise(inner, name, new=True), 1) for name in middle),
        ("mlp", Matmul(tokens, f, d, new=True, cold=cold), 1),
    ]


# ---------------------------------------------------------------- a training step

# Pass forward -> the passes that its gradient takes. The gradient of an addition is handed on; that of a view is one.
_GRADIENT = {
    "add": (),
    "copy": ("copy",),
    "negate": ("negate",),
    "scale": ("scale",),
    "sum": ("scale",),
    "square": ("scale", "multiply"),
    "cube": ("square", "scale", "multiply"),
    "multiply": ("multiply", "multiply"),
    "tanh": ("tanh backward",),
    "gelu": ("gelu backward",),
    "gelu-tanh": ("gelu-tanh backward",),
    "silu": ("silu backward",),
}
# AdamW of torch for each parameter tensor: decay, first moment, second moment (two passes), root, bias correction,
# epsilon, update.
_ADAMW = ("scale", "add", "scale", "multiply-add", "sqrt", "scale", "scale", "multiply-add")


def step(model: Transformer, batch: int, seq: int, attention: str = "sdpa", cache_bytes: int = 0) -> list[Part]:
    """The operations of a training step: forward, cross-entropy, backward, AdamW; every parameter has its moments."""
    if model.dropout:
        raise ValueError(
            f"model={model.name!r} has dropout={model.dropout}, whose random numbers are not predicted: use "
            "dataclasses.replace(model, dropout=0.0)."
        )
    parts = forward(model, batch, seq, attention, cache_bytes)
    logits = Rowwise(batch * seq, model.vocab, "log-softmax", new=True)
    return [*parts, ("loss", logits, 1), *_backward(model, logits, parts), *_optimizer(model)]


def _backward(model: Transformer, logits: Rowwise, parts: list[Part]) -> Iterator[Part]:
    yield "backward", Elementwise(logits.elements, "scale", new=True), 1  # gradient of the chosen logarithms
    yield "backward", Rowwise(logits.rows, logits.width, "softmax backward", new=True), 1
    for name, operation, times in parts:
        for gradient in gradients(operation):
            yield "backward", gradient, times
        if name == "residual" and isinstance(operation, Elementwise):  # two branches' gradients are added
            yield "backward", Elementwise(operation.elements, "add", new=True), times


def gradients(operation: Operation) -> Iterator[Operation]:
    """What the backward of `operation` runs."""
    match operation:
        case Matmul(m=m, k=k, n=n, batch=batch, cold=cold):
            yield Matmul(m, n, k, batch, new=True, cold=cold)
            yield Matmul(k, m, n, batch, new=True)
        case Elementwise(elements=elements, function=function):
            for name in _GRADIENT[function]:
                yield Elementwise(elements, name, new=True)
        case Rowwise(rows=rows, width=width, function=function):
            yield Rowwise(rows, width, f"{function} backward", new=True)
        case Attention(heads=heads, queries=queries, keys=keys, width=width):
            yield Attention(heads, queries, keys, width, operation.causal, backward=True, new=True)
        case Gather(rows=rows, width=width):
            yield Elementwise(rows * width, "add", new=True)
        case Calls(calls=calls):
            yield Calls(calls=calls)


def _optimizer(model: Transformer) -> list[Part]:
    """All passes go over all parameters, which come from main memory."""
    parameters = int(model.parameters())
    gradient_of_table = Elementwise(model.vocab * model.d_model, "copy", new=True, cold=True)
    return [
        ("optimizer", gradient_of_table, 1),  # zeroed before the rows of the tokens are added
        *(("optimizer", Elementwise(parameters // model.layers, name, cold=True), model.layers) for name in _ADAMW),
    ]
