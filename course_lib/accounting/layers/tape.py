"""What autograd keeps from a forward pass, op by op, and what the backward pass allocates while it frees it.

The ops are those of the `transformers` implementations (5.23) of GPT-2, Llama and ViT on the CPU of PyTorch (2.13). The
backward of an op frees what the op saved, and turns the gradient of its output into those of its input and weights.
`Ops` are those of one layer, the last of its forward pass first; `Step` puts the layers of a model together.
"""

from collections import namedtuple

from course_lib.accounting.answers.quantity import NOTHING, Quantity, product, symbol, total

# saved: part -> what is freed once the backward of the op has run. extra: what that backward needs on top, at most.
# change: of the gradients of activations that are alive, from before to after. grads: gradients of weights it leaves.
# core: whether attention begins here.
Op = namedtuple("Op", "saved extra change grads core", defaults=({}, NOTHING, NOTHING, NOTHING, False))


def by_part(ops) -> dict[str, Quantity]:
    """Part -> what the ops save, in the order of the forward pass."""
    parts = {}
    for op in reversed(ops):
        for part, amount in reversed(op.saved.items()):
            parts[part] = parts.get(part, NOTHING) + amount
    return parts


def largest_instant(ops, grads=NOTHING, alive=NOTHING) -> tuple[Quantity, Quantity, Quantity]:
    """The backward of `ops` at its largest: (still saved by them, gradients of weights, all other temporaries).

    grads, alive: gradients of weights and of activations that exist before the first op.
    """
    saved = [sum(amount.value for amount in op.saved.values()) for op in ops]
    left, made, running, best, at = sum(saved), 0, 0, -1, 0
    for index, op in enumerate(ops):
        now = left + made + op.grads.value + running + op.extra.value
        if now > best:
            best, at = now, index
        left, made, running = left - saved[index], made + op.grads.value, running + op.change.value
    return (
        total(amount for op in ops[at:] for amount in op.saved.values()),
        grads + total(op.grads for op in ops[: at + 1]),
        alive + total(op.change for op in ops[:at]) + ops[at].extra,
    )


class Ops:
    """The ops of one `layer`, asked about `x`, as they are added to `list`."""

    def __init__(self, layer, x):
        self.layer, self.x, self.list = layer, x, []
        sizes = {name.strip("_"): value for name, value in vars(layer).items() if isinstance(value, Quantity)}
        self.letters = sizes | {"B": x.B, "T": x.T, "P": x.image}

    def size(self, factor: int, *products: str) -> Quantity:
        """factor · (the sum of the products of letters)."""
        return total(product(factor, *(self.letters[letter] for letter in sorted(letters))) for letters in products)

    def op(self, saved=None, **amounts) -> None:
        self.list.append(Op(saved or {}, **amounts))

    # ------------------------------------------------------------ single ops, backward

    def linear(self, part, inputs, outputs, bias, keeps=True, stream=True, owns=True) -> None:
        """[B·T, inputs] @ [inputs, outputs]; the letters of `outputs` add up.

        keeps: its input is freed here, not by an earlier op. stream: the input has the precision of the residual
        stream, so autocast copies it. owns: nobody else needs the gradient that comes in.
        """
        size, weight = self.size, [inputs + letter for letter in outputs]
        into = size(self.x.m, "BT" + inputs)
        gone = size(self.x.m, *("BT" + letter for letter in outputs)) if owns else NOTHING
        saved = {part: into} if keeps else {}
        grads = size(self.x.w, *weight, *(outputs if bias else ()))
        if not self.x.cast:
            self.op(saved, extra=into, change=into - gone, grads=grads)
            return
        copy = size(self.x.m, *weight)  # bf16 weights, and later the bf16 gradient that is copied to fp32
        self.op(saved | {"autocast": copy}, extra=into + copy, change=into + copy - gone)
        widened = size(self.x.s, "BT" + inputs) if stream else NOTHING
        self.op(extra=widened, change=(widened - into if stream else NOTHING) - copy, grads=grads)

    def add(self) -> None:
        """Two gradients of the stream become one."""
        self.op(extra=self.size(self.x.s, "BTd"), change=self.size(-self.x.s, "BTd"))

    def branch(self, part, dropout) -> bool:
        """The gradient enters a branch of the residual stream. Returns whether the branch has a copy of its own."""
        copy = self.size(self.x.m, "BTd")
        if self.x.cast:
            self.op(extra=copy, change=copy)
        if dropout:
            self.op({part: copy}, extra=copy, change=NOTHING if self.x.cast else copy)
        return self.x.cast or dropout

    def rms_gain(self, part, normed, gain) -> None:
        """The product with the gain, which keeps what it multiplies."""
        self.op({part: normed}, extra=normed + normed, grads=self.size(self.x.w, gain))

    def head_norm(self, width, heads) -> None:
        """RMSNorm of each query or key head."""
        self.rms_gain("attention.norm", self.size(self.x.m, "BT" + width), "w")
        x = self.size(4, "BT" + width)
        self.op({"attention.norm": x + self.size(4, "BT" + heads)}, extra=self.size(16, "BT" + width))


def norm(layer, x, first, residual) -> list[Op]:
    """The ops of a Norm, whose gradient then joins that of the `residual` path, if it stands in a block.

    first: of its block, so that its input is what a checkpointed block keeps.
    """
    ops = Ops(layer, x)
    size, stream = ops.size, ops.size(x.s, "BTd")
    checkpoint = {"checkpoint": stream} if first and x.recompute == "full" else {}
    if layer.rms:  # written out, in fp32
        copied = x.s == 2
        saves = size(4, "BTd") + size(4, "BT") if copied or not checkpoint else size(4, "BT")
        ops.rms_gain("norm", stream, "d")
        if residual:
            ops.op(extra=size(8, "BTd"))
            ops.add()
        ops.op({"norm": saves} | checkpoint, extra=size(16, "BTd"))
    else:
        statistics = size(2 * x.s, "BT")
        gains = size(x.w, "d", "d") if layer.bias else size(x.w, "d")
        ops.op({"norm": statistics if checkpoint else stream + statistics} | checkpoint, extra=stream, grads=gains)
        if residual:
            ops.add()
    return ops.list


def mlp(layer, x) -> list[Op]:
    """The ops of an MLP: plain as in GPT-2 and ViT, or gated as in Llama."""
    ops = Ops(layer, x)
    size, m, hidden = ops.size, x.m, ops.size(x.m, "BTf")
    owns = ops.branch("mlp", layer.dropout and not layer.gated)
    ops.linear("mlp", "f", "d", layer.bias, stream=False, owns=owns)
    if layer.gated:
        ops.op({"mlp": hidden + hidden}, extra=hidden + hidden, change=hidden)  # silu(gate) · up
        ops.linear("mlp", "d", "f", layer.bias, keeps=x.cast)
        ops.op({"mlp": hidden}, extra=hidden)
        ops.linear("mlp", "d", "f", layer.bias)
        ops.add()
    else:
        saves, extra = _ACTIVATION[layer.activation]
        ops.op({"mlp": size(saves * m, "BTf")} if saves else {}, extra=size(extra * m, "BTf"))
        ops.linear("mlp", "d", "f", layer.bias)
    return ops.list


# activation -> (tensors of the MLP's width that it saves besides its output, those that its backward needs on top)
_ACTIVATION = {
    "relu": (0, 1),  # saves its output, which the next product saves too
    "gelu": (1, 1),
    "gelu-tanh": (4, 2),  # written out, as in GPT-2: x, x³ + …, tanh, 1 + tanh
    "silu": (1, 1),
}


# ---------------------------------------------------------------- attention


def attention(layer, x) -> list[Op]:
    """The ops of Attention in the style of GPT-2, Llama or ViT."""
    ops = _AttentionOps(layer, x)
    ops.build()
    return ops.list


class _AttentionOps(Ops):
    def __init__(self, layer, x):
        super().__init__(layer, x)
        self.rotary, self.fused = layer.style == "llama", layer.style == "gpt2"  # fused: one matrix for q, k and v

    def build(self) -> None:
        layer, x, size, m = self.layer, self.x, self.size, self.x.m
        math = x.attention == "eager" or layer.dropout > 0  # the CPU's fused kernel knows no dropout
        shared = not math and x.recompute != "selective"  # the kernel's output is saved once
        owns = self.branch("attention.out", layer.dropout and not self.rotary)
        self.linear("attention.out", "q", "d", layer.out_bias, keeps=not shared, stream=False, owns=owns)
        start = len(self.list)
        self._scores() if math else self._fused_scores()
        if x.recompute == "selective":
            rebuilt = {part: -amount for part, amount in by_part(self.list[start:]).items()}
            self.list.insert(start, Op(rebuilt))
            rotated = x.s if self.rotary else m  # rotation is in the stream's precision
            self.op({"attention.scores": size(rotated, "BTq", "BTk"), "attention.values": size(m, "BTk")})
        self.list[start] = self.list[start]._replace(core=True)
        if self.fused:
            self.op(extra=size(m, "BTq", "BTk", "BTk"))  # three gradients become one tensor
            self.linear("attention.qkv", "d", "qkk", layer.qkv_bias)
            return
        if self.rotary:
            self.op(extra=size(3 * x.s, "BTq"))
        if layer.qk_norm:
            self.head_norm("k", "g")
            self.head_norm("q", "h")
        for position, width in enumerate("kkq"):  # v, k, q
            self.linear("attention.qkv", "d", width, layer.qkv_bias, keeps=x.cast or width == "q")
            if position:
                self.add()

    def _scores(self) -> None:
        """Scores, softmax, dropout and values, written out."""
        layer, x, size, m = self.layer, self.x, self.size, self.x.m
        if x.attention == "sdpa":  # the CPU's kernel without fusion works in fp32 throughout
            m = softmax = mask = 4
        else:
            softmax = x.s if self.fused else 4  # GPT-2 does not upcast to fp32
            mask = x.s if self.rotary else m
        separate = layer.dropout > 0 or not softmax == mask == m  # is what multiplies the values a storage of its own?
        operand = size(m, "BTq")
        self.op(extra=operand, change=operand - size(x.m, "BTq"))
        keys, values = self._kept_keys_and_values(m)
        saved = values + size(m, "BTTh") if separate else values
        self.op({"attention.values": saved}, extra=operand + size(m, "BTTh"), change=size(m, "BTTh"))
        self._convert(m, mask)
        if layer.dropout:
            self.op({"attention.values": size(mask, "BTTh")}, extra=size(mask, "BTTh"))
        self._convert(mask, softmax)
        self.op({"attention.softmax": size(softmax, "BTTh")}, extra=size(softmax, "BTTh"))
        self._convert(softmax, m)
        self.op(extra=size(m, "BTTh"))  # the scale
        both = operand + operand
        self.op({"attention.scores": operand + keys}, extra=both, change=both - size(m, "BTTh"))
        used = size(m, "BTq", "BTq", "BTq")
        narrow = size(x.m, "BTq", "BTk", "BTk")  # the gradients of k and v add up over the heads that they serve
        if used != narrow:
            self.op(extra=narrow, change=narrow - used)

    def _kept_keys_and_values(self, m) -> tuple[Quantity, Quantity]:
        """Storages of the keys and values that the products keep: copies, or views where one sequence needs no copy."""
        x, size, copy = self.x, self.size, self.size(m, "BTq")
        if x.B > 1:
            return copy, copy
        if x.attention == "eager" and self.layer.g == 1:  # one head, expanded to all; a cast would copy it
            return copy if x.cast else size(m, "BTk"), size(m, "BTk")
        if x.attention == "sdpa" and x.m == 4 and self.fused:
            return copy, size(m, "BTq", "BTk", "BTk")  # the view keeps the queries and keys of one tensor alive
        return copy, copy

    def _convert(self, old, new) -> None:
        if old != new:
            self.op(extra=self.size(new, "BTTh"), change=self.size(new - old, "BTTh"))

    def _fused_scores(self) -> None:
        """Scores to values in one kernel, which keeps its operands, its output and a log-sum-exp of each row."""
        size, m = self.size, self.x.m
        saved = {
            "attention.scores": size(m, "BTq", "BTk") + size(4, "BTh"),
            "attention.values": size(m, "BTk"),
            "attention.out": size(m, "BTq"),
        }
        self.op(saved, extra=size(m, "BTq", "BTk", "BTk"), change=size(2 * m, "BTk"))

    def copies(self) -> Quantity:
        """What the forward pass of attention holds beside what it saves, where the scores are written out."""
        x, size, m, eager = self.x, self.size, self.x.m, self.x.attention == "eager"
        grouped = self.letters["q"] != self.letters["k"]
        if x.cast if eager else not self.layer.dropout:
            return NOTHING
        if eager or m == 4:  # the output in two layouts, and the operands that were copied
            return size(m, "BTq", "BTq") + (size(m, "BTq", "BTk", "BTk") if x.B > 1 else NOTHING)
        held = size(m, "BTq", "BTk", "BTk", "BTq", "BTTh")  # operands, output and weights, as they come and go
        held += size(4, "BTq", "BTk", "BTq")  # queries, keys and output in fp32
        if grouped:
            held += size(4, "BTk", "BTq")  # values, and keys for every query head
        if x.B > 1:  # what is saved then is a copy of scaled queries and of values
            held += size(4, "BTq") if grouped else size(4, "BTq", "BTk")
        if self.layer.style != "vit":
            held += size(4, "TT")  # the causal mask
        if x.cast:  # the normed input, and what was rotated
            held += size(4, "BTd") + (size(4, "BTq", "BTk") if self.rotary else NOTHING)
            if x.recompute == "full":  # the gradient that asked for the block
                held += size(m, "BTd")
        return held

    def unsaved(self) -> Quantity:
        """What autocast saves in another precision only, and the sum that ends a block that does not stop early."""
        x = self.x
        if not x.cast:
            return NOTHING
        stream = self.size(x.s, "BTd") if x.recompute == "full" else self.size(2 * (x.s + x.m), "BTd")
        weights = self.rotary and x.attention == "eager" and self.layer.dropout
        return stream + self.size(4, "BTTh") if weights else stream


# ---------------------------------------------------------------- outside the blocks


def language_head(layer, x) -> list[Op]:
    """The ops of the loss, with labels given, and of a Head."""
    ops = Ops(layer, x)
    size, loss = ops.size, ops.size(4, "BTV")  # in fp32 whatever the precision
    ops.op(extra=loss, change=loss)
    # shifting drops the first of T + 1 labels; in one sequence the rest is contiguous, and no copy is made
    labels = size(8, "BT") if x.B > 1 else size(8, "BT", "B")
    if x.fused_loss:  # the logits, whose gradient takes their place, labels, a log-sum-exp of each row
        ops.list = [Op({"loss": size(x.m, "BTV") + labels + size(4, "BT")})]
    else:
        ops.op({"loss": loss + labels + size(4, "")}, extra=loss)  # log-softmax, labels, the sum of their weights
    if x.m != 4 and not x.fused_loss:
        ops.op(extra=size(x.m, "BTV"), change=size(x.m - 4, "BTV"))
    ops.linear("head", "d", "V", bias=False)
    return ops.list


def classifier(layer, x) -> list[Op]:
    """The ops of the loss and of a PooledHead."""
    ops = Ops(layer, x)
    size, loss = ops.size, ops.size(x.s, "BK")
    ops.op(extra=loss, change=loss)
    ops.op({"loss": loss + size(x.s, "")}, extra=loss)
    saved = {"head": size(x.s, "BTd")}  # the class token is a view of all tokens
    if x.cast:
        saved = {"head": size(x.m, "Bd"), "autocast": size(x.m, "Kd")}
    ops.op(saved, extra=size(x.s, "Bd"), change=size(x.s, "Bd") - loss, grads=size(x.w, "Kd", "K"))
    ops.op(extra=size(x.s, "BTd"), change=size(x.s, "BTd") - size(x.s, "Bd"))
    return ops.list


def embedding(layer, x) -> list[Op]:
    """The ops of an Embedding."""
    ops = Ops(layer, x)
    size, stream, table = ops.size, ops.size(x.s, "BTd"), ops.size(x.w, "Vd")
    if layer.positions is not None:
        if layer.dropout:
            ops.op({"embedding.dropout": stream}, extra=stream)
        ops.op({"embedding.position": size(8, "T")}, extra=size(x.s, "Td"), grads=size(x.w, "Cd"))
    if layer.tied:  # the head's gradient waits; a third tensor takes the sum
        ops.op(extra=table, change=table - stream)
        ops.op(extra=table, change=-table)
    else:
        ops.op(change=-stream, grads=table)
    return ops.list


def patches(layer, x) -> list[Op]:
    """The ops of a PatchEmbedding."""
    ops = Ops(layer, x)
    size, stream = ops.size, ops.size(x.s, "BTd")
    if layer.dropout:
        ops.op({"embedding.dropout": stream}, extra=stream)
    ops.op(extra=size(x.w, "Td"), grads=size(x.w, "Td", "d"))
    kernel = size(x.m, "cdpp")  # its gradient has a second layout for a moment
    saved = {"embedding.patch": size(x.m, "BPcpp"), "autocast": kernel} if x.cast else {}
    ops.op(saved, extra=size(x.m, "BPd") + kernel, change=-stream, grads=size(x.w, "cdpp", "d"))
    return ops.list


# ---------------------------------------------------------------- blocks and models


class Step:
    """One training step of a model of equal blocks, asked about `x`: its ops, the head's first.

    head, final_norm, layer, embedding: lists of `Op`. unsaved, in_core: what a block's forward pass holds beside all
    that it saves, at its end and inside attention. kept: part -> bytes that live until the blocks are through. logits,
    inputs: what the caller holds. tied: whether the head is the embedding. tensors: the parameter tensors in the order
    of the model: those before the blocks, of one block, and after the blocks. L, R: blocks, and all but one.
    """

    def __init__(self, model, x):
        if not model.kinds:
            raise ValueError(f"model={model.name!r} has no blocks; the peak of a model of equal ones is known.")
        self.x, (block, _) = x, model.kinds[0]
        before, _, (*between, head) = model.parts
        self.head, self.final_norm = head.ops(x), [op for layer in between for op in layer.ops(x)]
        self.layer = _in_block(block, x)
        self.attention = next((layer for layer in block.layers if hasattr(layer, "qk_norm")), None)
        if any(_in_block(other, x) != self.layer for other, _ in model.kinds[1:]):
            raise ValueError(f"model={model.name!r} has several kinds of layers; the peak of equal ones is known.")
        begins = next((place for place, op in enumerate(self.layer) if op.core), None)
        if begins is None:
            block._unsaid("the peak of a block without attention")
        core = _AttentionOps(self.attention, x)
        # inside attention, the forward pass has not saved yet what backward has freed when it gets there
        later = total(amount for op in self.layer[:begins] for amount in op.saved.values())
        self.unsaved, self.in_core = core.unsaved(), core.copies() - later
        if x.recompute == "full":  # before its backward, a block runs forward again
            rebuilt = {part: -amount for part, amount in by_part(self.layer).items() if part != "checkpoint"}
            self.layer[:0] = [Op(rebuilt), Op(extra=self.unsaved), Op(extra=self.in_core)]
        self.embedding = [op for layer in before for op in layer.ops(x)]
        self.kept = {part: amount for layer in before for part, amount in layer.kept(x).items()}
        self.logits, self.inputs, self.tied = head.logits(x), before[0].read(x), getattr(head, "tied", False)
        self.tensors = tuple(
            [tensor for layer in layers for tensor in layer.tensors(x.w)]
            for layers in (before, _in_order(block), (*between, head))
        )
        self.L, self.stream = model.count, product(x.s, x.B, x.T, block.width)
        self.R = symbol("R", self.L - 1, "all layers but one")


def _in_block(block, x) -> list[Op]:
    """The ops of a block, where the same norm may stand in several places."""
    last = len(block.layers) - 1
    return [
        op
        for place, layer in enumerate(reversed(block.layers))
        for op in (layer.ops(x) if layer.branch else layer.ops(x, first=place == last, residual=True))
    ]


def _in_order(block) -> list:
    """The layers of a block in the order in which their tensors stand in the implementation."""
    norms = [layer for layer in block.layers if not layer.branch]
    attention, *others = (layer for layer in block.layers if layer.branch)
    orders = {"llama": [attention, *others, *norms], "vit": [attention, *norms, *others]}
    return orders.get(attention.style, block.layers)
