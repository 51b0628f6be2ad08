"""What autograd keeps from a forward pass, op by op, and what the backward pass allocates while it frees it.

The ops are those of the `transformers` implementations (5.23) on the CPU of PyTorch (2.13). The backward of an op frees
what the op saved, and turns the gradient of its output into those of its input and weights. `memory` adds the ops up.
"""

from collections import namedtuple

from course_lib.accounting import units
from course_lib.accounting.convnet import pair
from course_lib.accounting.quantity import NOTHING, Quantity, product, symbol, total

# saved: part -> what is freed once the backward of the op has run. extra: what that backward needs on top, at most.
# change: of the gradients of activations that are alive, from before to after. grads: gradients of weights it leaves.
Op = namedtuple("Op", "saved extra change grads", defaults=({}, NOTHING, NOTHING, NOTHING))


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


class Tape:
    """The ops of one training step of `model`, those of the head first, as the backward pass meets them.

    values: what each letter stands for. head, final_norm, layer, embedding: lists of `Op`. unsaved, in_core: what a
    block's forward pass holds beside all that it saves, at its end and inside attention. kept: part -> Quantity that
    lives until the blocks are through. logits, inputs: what the caller holds. tensors: the parameter tensors in the
    model's order: those before the layers, of one layer, and after the layers. ValueError for a model that belongs to
    none of the described families.
    """

    def __init__(self, model, batch, seq, image, precision, attention, recompute):
        self.vision = model.reads_images
        _refuse_other_families(model)
        self.rotary = not self.vision and model.positions == "rotary"  # the family of Llama
        self.model, self.attention, self.recompute = model, attention, recompute
        self.values = _values(model, batch, seq, image)
        self.cast = precision == "amp-bf16"  # autocast copies inputs and weights of matrix products to bf16
        self.m = 4 if precision == "fp32" else 2  # bytes of a number that a matrix product reads or writes
        self.s = 2 if precision == "bf16" else 4  # of a number in the residual stream
        self.w = 2 if precision == "bf16" else 4  # of a weight, of its gradient and of an optimizer state
        self.qkv_bias = model.bias if model.qkv_bias is None else model.qkv_bias

        self.unsaved = self._unsaved()
        self.layer = self._ops(self._block)
        self.head = self._ops(self._classifier if self.vision else self._language_head)
        self.final_norm = self._ops(lambda: self.norm(residual=False))
        self.embedding = self._ops(self._patches if self.vision else self._tokens)
        self.kept = self._kept()
        if self.vision:
            self.logits = self.size(self.m, "BK")
            self.inputs = self.size(self.s, "BPcpp") + self.size(8, "B")
        else:
            self.logits, self.inputs = self.size(self.m, "BTV"), self.size(16, "BT")
        self.tensors = self._tensors()

    def size(self, factor: int, *products: str) -> Quantity:
        """factor · (the sum of the products of letters)."""
        return total(product(factor, *(self.values[letter] for letter in sorted(letters))) for letters in products)

    def op(self, saved=None, **amounts) -> None:
        self.ops.append(Op(saved or {}, **amounts))

    def _ops(self, build) -> list[Op]:
        self.ops = []
        build()
        return self.ops

    # ------------------------------------------------------------ single ops, backward

    def linear(self, part, inputs, outputs, bias, keeps=True, stream=True, owns=True) -> None:
        """[B·T, inputs] @ [inputs, outputs]; the letters of `outputs` add up.

        keeps: its input is freed here, not by an earlier op. stream: the input has the precision of the residual
        stream, so autocast copies it. owns: nobody else needs the gradient that comes in.
        """
        size, weight = self.size, [inputs + letter for letter in outputs]
        into = size(self.m, "BT" + inputs)
        gone = size(self.m, *("BT" + letter for letter in outputs)) if owns else NOTHING
        saved = {part: into} if keeps else {}
        grads = size(self.w, *weight, *(outputs if bias else ()))
        if not self.cast:
            self.op(saved, extra=into, change=into - gone, grads=grads)
            return
        copy = size(self.m, *weight)  # bf16 weights, and later the bf16 gradient that is copied to fp32
        self.op(saved | {"autocast": copy}, extra=into + copy, change=into + copy - gone)
        widened = size(self.s, "BT" + inputs) if stream else NOTHING
        self.op(extra=widened, change=(widened - into if stream else NOTHING) - copy, grads=grads)

    def add(self) -> None:
        """Two gradients of the stream become one."""
        self.op(extra=self.size(self.s, "BTd"), change=self.size(-self.s, "BTd"))

    def branch(self, part, dropout) -> bool:
        """The gradient enters a branch of the residual stream. Returns whether the branch has a copy of its own."""
        copy = self.size(self.m, "BTd")
        if self.cast:
            self.op(extra=copy, change=copy)
        if dropout:
            self.op({part: copy}, extra=copy, change=NOTHING if self.cast else copy)
        return self.cast or dropout

    def norm(self, of_block_input=False, residual=True) -> None:
        """A norm of the stream, whose gradient then joins that of the `residual` path, if there is one.

        of_block_input: its input is what a checkpointed block keeps.
        """
        size, x = self.size, self.size(self.s, "BTd")
        checkpoint = {"checkpoint": x} if of_block_input and self.recompute == "full" else {}
        if self.rotary:  # written out, in fp32
            copied = self.s == 2
            saves = size(4, "BTd") + size(4, "BT") if copied or not checkpoint else size(4, "BT")
            self.rms_gain("norm", size(self.s, "BTd"), "d")
            if residual:
                self.op(extra=size(8, "BTd"))
                self.add()
            self.op({"norm": saves} | checkpoint, extra=size(16, "BTd"))
        else:
            statistics = size(2 * self.s, "BT")
            gains = size(self.w, "d", "d") if self.model.bias else size(self.w, "d")
            self.op({"norm": statistics if checkpoint else x + statistics} | checkpoint, extra=x, grads=gains)
            if residual:
                self.add()

    def rms_gain(self, part, normed, gain) -> None:
        """The product with the gain, which keeps what it multiplies."""
        self.op({part: normed}, extra=normed + normed, grads=self.size(self.w, gain))

    def head_norm(self, width, heads) -> None:
        """RMSNorm of each query or key head."""
        self.rms_gain("attention.norm", self.size(self.m, "BT" + width), "w")
        x = self.size(4, "BT" + width)
        self.op({"attention.norm": x + self.size(4, "BT" + heads)}, extra=self.size(16, "BT" + width))

    # ------------------------------------------------------------ a block, last op first

    def _block(self) -> None:
        self._mlp()
        self._attention()
        # inside attention, the forward pass has not saved yet what backward has freed when it gets there
        later = total(amount for op in self.ops[: self.core_at] for amount in op.saved.values())
        self.in_core = self._copies() - later
        if self.recompute == "full":  # before its backward, a block runs forward again
            rebuilt = {part: -amount for part, amount in by_part(self.ops).items() if part != "checkpoint"}
            self.ops[:0] = [Op(rebuilt), Op(extra=self.unsaved), Op(extra=self.in_core)]

    def _mlp(self) -> None:
        model, hidden = self.model, self.size(self.m, "BTf")
        owns = self.branch("mlp", model.dropout and not self.rotary)
        self.linear("mlp", "f", "d", model.bias, stream=False, owns=owns)
        if self.rotary:
            self.op({"mlp": hidden + hidden}, extra=hidden + hidden, change=hidden)  # silu(gate) · up
            self.linear("mlp", "d", "f", model.bias, keeps=self.cast)
            self.op({"mlp": hidden}, extra=hidden)
            self.linear("mlp", "d", "f", model.bias)
            self.add()
        else:
            saves, extra = _ACTIVATION[model.activation]
            self.op({"mlp": self.size(saves * self.m, "BTf")} if saves else {}, extra=self.size(extra * self.m, "BTf"))
            self.linear("mlp", "d", "f", model.bias)
        self.norm()

    def _attention(self) -> None:
        model, size, m = self.model, self.size, self.m
        fused = not self.vision and not self.rotary
        math = self.attention == "eager" or model.dropout > 0  # the CPU's fused kernel knows no dropout
        shared = not math and self.recompute != "selective"  # the kernel's output is saved once
        owns = self.branch("attention.out", model.dropout and not self.rotary)
        self.linear("attention.out", "q", "d", model.bias, keeps=not shared, stream=False, owns=owns)
        start = self.core_at = len(self.ops)
        self._scores() if math else self._fused_scores()
        if self.recompute == "selective":
            rebuilt = {part: -amount for part, amount in by_part(self.ops[start:]).items()}
            self.ops.insert(start, Op(rebuilt))
            rotated = self.s if self.rotary else m  # rotation is in the stream's precision
            self.op({"attention.scores": size(rotated, "BTq", "BTk"), "attention.values": size(m, "BTk")})
        if fused:
            self.op(extra=size(m, "BTq", "BTk", "BTk"))  # three gradients become one tensor
            self.linear("attention.qkv", "d", "qkk", self.qkv_bias)
        else:
            if self.rotary:
                self.op(extra=size(3 * self.s, "BTq"))
            if model.qk_norm:
                self.head_norm("k", "g")
                self.head_norm("q", "h")
            for position, width in enumerate("kkq"):  # v, k, q
                self.linear("attention.qkv", "d", width, self.qkv_bias, keeps=self.cast or width == "q")
                if position:
                    self.add()
        self.norm(of_block_input=True)

    def _scores(self) -> None:
        """Scores, softmax, dropout and values, written out."""
        model, size, m = self.model, self.size, self.m
        if self.attention == "sdpa":  # the CPU's kernel without fusion works in fp32 throughout
            m = softmax = mask = 4
        else:
            softmax = self.s if not self.vision and not self.rotary else 4  # GPT-2 does not upcast to fp32
            mask = self.s if self.rotary else m
        separate = model.dropout > 0 or not softmax == mask == m  # is what multiplies the values a storage of its own?
        operand = size(m, "BTq")
        self.op(extra=operand, change=operand - size(self.m, "BTq"))
        keys, values = self._kept_keys_and_values(m)
        saved = values + size(m, "BTTh") if separate else values
        self.op({"attention.values": saved}, extra=operand + size(m, "BTTh"), change=size(m, "BTTh"))
        self._convert(m, mask)
        if model.dropout:
            self.op({"attention.values": size(mask, "BTTh")}, extra=size(mask, "BTTh"))
        self._convert(mask, softmax)
        self.op({"attention.softmax": size(softmax, "BTTh")}, extra=size(softmax, "BTTh"))
        self._convert(softmax, m)
        self.op(extra=size(m, "BTTh"))  # the scale
        both = operand + operand
        self.op({"attention.scores": operand + keys}, extra=both, change=both - size(m, "BTTh"))
        used = size(m, "BTq", "BTq", "BTq")
        narrow = size(self.m, "BTq", "BTk", "BTk")  # the gradients of k and v add up over the heads that they serve
        if used != narrow:
            self.op(extra=narrow, change=narrow - used)

    def _kept_keys_and_values(self, m) -> tuple[Quantity, Quantity]:
        """Storages of the keys and values that the products keep: copies, or views where one sequence needs no copy."""
        size, copy = self.size, self.size(m, "BTq")
        if self.values["B"] > 1:
            return copy, copy
        if self.attention == "eager" and self.values["g"] == 1:  # one head, expanded to all; a cast would copy it
            return copy if self.cast else size(m, "BTk"), size(m, "BTk")
        if self.attention == "sdpa" and self.m == 4 and not self.vision and not self.rotary:
            return copy, size(m, "BTq", "BTk", "BTk")  # the view keeps the queries and keys of one tensor alive
        return copy, copy

    def _convert(self, old, new) -> None:
        if old != new:
            self.op(extra=self.size(new, "BTTh"), change=self.size(new - old, "BTTh"))

    def _fused_scores(self) -> None:
        """Scores to values in one kernel, which keeps its operands, its output and a log-sum-exp of each row."""
        size, m = self.size, self.m
        saved = {
            "attention.scores": size(m, "BTq", "BTk") + size(4, "BTh"),
            "attention.values": size(m, "BTk"),
            "attention.out": size(m, "BTq"),
        }
        self.op(saved, extra=size(m, "BTq", "BTk", "BTk"), change=size(2 * m, "BTk"))

    # ------------------------------------------------------------ outside the blocks

    def _language_head(self) -> None:
        size = self.size
        loss = size(4, "BTV")  # in fp32 whatever the precision
        self.op(extra=loss, change=loss)
        # shifting drops the first of T + 1 labels; in one sequence the rest is contiguous, and no copy is made
        labels = size(8, "BT") if self.values["B"] > 1 else size(8, "BT", "B")
        self.op({"loss": loss + labels + size(4, "")}, extra=loss)  # log-softmax, labels, the sum of their weights
        if self.m != 4:
            self.op(extra=size(self.m, "BTV"), change=size(self.m - 4, "BTV"))
        self.linear("head", "d", "V", bias=False)

    def _classifier(self) -> None:
        size, loss = self.size, self.size(self.s, "BK")
        self.op(extra=loss, change=loss)
        self.op({"loss": loss + size(self.s, "")}, extra=loss)
        if self.cast:
            saved = {"head": size(self.m, "Bd"), "autocast": size(self.m, "Kd")}
        else:
            saved = {"head": size(self.s, "BTd")}  # the class token is a view of all tokens
        self.op(saved, extra=size(self.s, "Bd"), change=size(self.s, "Bd") - loss, grads=size(self.w, "Kd", "K"))
        self.op(extra=size(self.s, "BTd"), change=size(self.s, "BTd") - size(self.s, "Bd"))

    def _tokens(self) -> None:
        size, model = self.size, self.model
        stream, table = size(self.s, "BTd"), size(self.w, "Vd")
        if not self.rotary:
            if model.dropout:
                self.op({"embedding.dropout": stream}, extra=stream)
            self.op({"embedding.position": size(8, "T")}, extra=size(self.s, "Td"), grads=size(self.w, "Cd"))
        if model.tied_head:  # the head's gradient waits; a third tensor takes the sum
            self.op(extra=table, change=table - stream)
            self.op(extra=table, change=NOTHING - table)
        else:
            self.op(change=NOTHING - stream, grads=table)

    def _patches(self) -> None:
        size, stream = self.size, self.size(self.s, "BTd")
        if self.model.dropout:
            self.op({"embedding.dropout": stream}, extra=stream)
        self.op(extra=size(self.w, "Td"), grads=size(self.w, "Td", "d"))
        kernel = size(self.m, "cdpp")  # its gradient has a second layout for a moment
        saved = {"embedding.patch": size(self.m, "BPcpp"), "autocast": kernel} if self.cast else {}
        copies = size(self.m, "BPd") + kernel
        self.op(saved, extra=copies, change=NOTHING - stream, grads=size(self.w, "cdpp", "d"))

    def _unsaved(self) -> Quantity:
        """What autocast saves in another precision only, and the sum that ends a block that does not stop early."""
        if not self.cast:
            return NOTHING
        stream = self.size(self.s, "BTd") if self.recompute == "full" else self.size(2 * (self.s + self.m), "BTd")
        weights = self.rotary and self.attention == "eager" and self.model.dropout
        return stream + self.size(4, "BTTh") if weights else stream

    def _copies(self) -> Quantity:
        """What the forward pass of attention holds beside what it saves, where the scores are written out."""
        size, m = self.size, self.m
        eager = self.attention == "eager"
        if self.cast if eager else not self.model.dropout:
            return NOTHING
        if eager or m == 4:  # the output in two layouts, and the operands that were copied
            return size(m, "BTq", "BTq") + (size(m, "BTq", "BTk", "BTk") if self.values["B"] > 1 else NOTHING)
        held = size(m, "BTq", "BTk", "BTk", "BTq", "BTTh")  # operands, output and weights, as they come and go
        held += size(4, "BTq", "BTk", "BTq")  # queries, keys and output in fp32
        if self.values["q"] != self.values["k"]:
            held += size(4, "BTk", "BTq")  # values, and keys for every query head
        if self.values["B"] > 1:  # what is saved then is a copy of scaled queries and of values
            held += size(4, "BTq") if self.values["q"] != self.values["k"] else size(4, "BTq", "BTk")
        if not self.vision:
            held += size(4, "TT")  # the causal mask
        if self.cast:  # the normed input, and what was rotated
            held += size(4, "BTd") + (size(4, "BTq", "BTk") if self.rotary else NOTHING)
            if self.recompute == "full":  # the gradient that asked for the block
                held += size(m, "BTd")
        return held

    def _kept(self) -> dict[str, Quantity]:
        kept = {"attention.rotary": self.size(2 * self.s, "Tw")} if self.rotary else {}
        if self.recompute != "none" and self.attention == "eager" and not self.vision:
            kept["attention.mask"] = self.size(self.s, "BTT")
        return kept

    def _tensors(self) -> tuple[list[Quantity], list[Quantity], list[Quantity]]:
        model, size, w = self.model, self.size, self.w

        def matrix(inputs, outputs, bias) -> list[Quantity]:
            weight = size(w, *(inputs + letter for letter in outputs))
            return [weight, size(w, *outputs)] if bias else [weight]

        bias, gain = model.bias, size(w, "d")
        norm = [gain, gain] if bias and not self.rotary else [gain]
        separate = [tensor for width in "qkk" for tensor in matrix("d", width, self.qkv_bias)]
        out, up, down = matrix("q", "d", bias), matrix("d", "f", bias), matrix("f", "d", bias)
        if self.vision:
            before = [gain, size(w, "Td"), size(w, "cdpp"), gain]
            return before, separate + out + norm + norm + up + down, norm + matrix("d", "K", bias=True)
        table = size(w, "Vd")
        after = norm if model.tied_head else [*norm, table]
        if self.rotary:
            head_norms = [size(w, "w")] * 2 if model.qk_norm else []
            return [table], separate + out + head_norms + up + up + down + norm + norm, after
        return [table, size(w, "Cd")], norm + matrix("d", "qkk", self.qkv_bias) + out + norm + up + down, after


# activation -> (tensors of the MLP's width that it saves besides its output, those that its backward needs on top)
_ACTIVATION = {
    "relu": (0, 1),  # saves its output, which the next product saves too
    "gelu": (1, 1),
    "gelu-tanh": (4, 2),  # written out, as in GPT-2: x, x³ + …, tanh, 1 + tanh
    "silu": (1, 1),
}


def _refuse_other_families(model) -> None:
    """ValueError for what is not built as GPT-2, Llama or ViT in transformers."""
    if not getattr(model, "_style", ""):
        raise ValueError(
            f"model={units.shortly(model)}: what autograd saves depends on how a model is written, and this one is not "
            "described. This serves decoders built as GPT-2 or as Llama (Mistral, Qwen 2, Qwen 3 too), and "
            "VisionTransformers. convention='megatron' gives Korthikanti's formula."
        )


def _values(model, batch, seq, image) -> dict[str, Quantity]:
    """The symbol of each letter."""
    if image is not None and model.reads_images and pair(image, "image") != pair(model.image, "image"):
        raise ValueError(
            f"image={image!r} is not the {model.image!r} that {model.name} has positions for. Try "
            "dataclasses.replace(model, image=...)."
        )
    x = model.inputs(batch, seq, image)
    block, L = model.kinds[0][0], model.count
    attention, mlp = (layer for layer in block.layers if layer.branch)
    before, _, after = model.parts
    values = {"B": x.B, "T": x.T, "L": L, "R": symbol("R", L - 1, "all layers but one")}
    values |= {"d": attention.d, "h": attention.h, "g": attention.g, "w": attention.w, "f": mlp.f}
    values |= {"q": attention._q, "k": attention._k, "P": x.image}
    ends = {name: value for layer in (*before, *after) for name, value in vars(layer).items() if len(name) == 1}
    return ends | values | {"C": symbol("C", model.context, "context")}
