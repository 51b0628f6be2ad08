"""What every layer says, and blocks of layers."""

from collections import namedtuple

from course_lib.accounting import units
from course_lib.accounting.answers.quantity import Quantity, product, symbol, total
from course_lib.accounting.layers import tape

WIDTH = {"d": "model width"}


class Inputs:
    """What a layer is asked about: B sequences of T tokens, quantities both, and how a step is run.

    image: what an image model reads, in patches or as sides in pixels. causal: whether later tokens are masked. page:
    tokens of a page of the cache. documents: length -> how many of it are packed into the sequences. precision,
    attention, recompute, fused_loss: as in `memory.activations`. m, s, w: bytes of a number that a matrix product reads
    or writes, of one in the residual stream, and of a weight.
    """

    image = documents = page = None
    causal = fused_loss = False
    precision, attention, recompute = "fp32", "eager", "none"

    def __init__(self, B, T, **how):
        vars(self).update(how, B=B, T=T)
        self.cast = self.precision == "amp-bf16"  # autocast copies inputs and weights of matrix products to bf16
        self.m = 4 if self.precision == "fp32" else 2
        self.s = self.w = 2 if self.precision == "bf16" else 4


# one call of an eager framework. part: its name. flops. moved: numbers read and written, weights included
Call = namedtuple("Call", "part flops moved")


class UnsaidError(ValueError):
    """A layer was asked what it does not say."""


class Layer:
    """One layer of a model. Each method gives part -> quantity; a part that is not there is 0, and what a layer does
    not say is refused.

    `sizes` maps a letter to its meaning: every size is given by that letter and becomes a symbol of that name; a class
    attribute of the name is its default. Other class attributes are options. A layer of your own is a class such as
    this mixer of Mamba-2 (Dao and Gu 2024), with one group, as `transformers` computes it:

    >>> from course_lib.accounting import flops, models
    >>> from course_lib.accounting.layers import Block, Embedding, Head, Layer, Norm
    >>> from course_lib.accounting.answers.quantity import ceil
    >>> class Mixer(Layer):
    ...     sizes = {"d": "model width", "i": "inner width", "h": "heads", "s": "numbers of state a channel"}
    ...     def parameters(self, active=False):
    ...         d, i, h, c = self.d, self.i, self.h, self.i + 2 * self.s  # c: channels of the convolution, of 4 taps
    ...         return {"mixer": d * (i + c + h) + 5 * c + 3 * h + i + i * d}
    ...     def flops(self, x):
    ...         B, T, i, h, s, n = x.B, x.T, self.i, self.h, self.s, ceil(x.T, 256)  # n: chunks of 256 tokens
    ...         c = i + 2 * s
    ...         scan = 2 * B * n * 256 * (256 * h * s + 256 * i + 2 * i * s) + 2 * B * (n + 1) * (n + 1) * i * s
    ...         dense = {"mixer.dense": 2 * B * T * self.d * (2 * i + c + h)}
    ...         return dense | {"mixer.conv": 8 * B * (T + 3) * c, "mixer.scan": scan}
    ...     def cache(self, x):
    ...         return {"state": self.i * self.s, "conv": 4 * (self.i + 2 * self.s)}
    >>> block = Block(Norm(d=768, rms=True), Mixer(d=768, i=1536, h=24, s=128))
    >>> ends = [Embedding(d=768, V=50288)], [Norm(d=768, rms=True), Head(d=768, V=50288, tied=True)]
    >>> mamba = models.Model("mamba2-130m", ends[0], [block] * 24, ends[1])
    >>> int(mamba.parameters()), int(flops.forward(mamba, batch=2, seq=1000))
    (128989632, 670648074240)
    """

    sizes: dict = {}
    backward = 2  # products of the backward pass for each of the forward pass; 1 where the input needs no gradient
    branch = True  # in a block, whether its output is added to the residual stream

    def __init__(self, **given):
        kind = type(self)
        for name, meaning in self.sizes.items():
            default = getattr(kind, name, "required")
            if name not in given and default == "required":
                raise ValueError(f"{kind.__name__} needs {name}=, the {meaning}. Its sizes: {self._sizes()}.")
            value = given.pop(name, default)
            if value is not None and not isinstance(value, Quantity):
                value = symbol(name, units.count(value, name, minimum=0 if default == 0 else 1), meaning)
            setattr(self, name, value)
        for name, value in given.items():
            if name[0] == "_" or callable(getattr(kind, name, len)):
                options = [*self.sizes, *(each for each in dir(kind) if not callable(getattr(kind, each)))]
                hint = units.hint(name, [each for each in options if each[0] != "_"])
                raise ValueError(f"{kind.__name__} knows no {name}=.{hint} Its sizes: {self._sizes()}.")
            setattr(self, name, value)

    def _sizes(self) -> str:
        return ", ".join(f"{name} ({meaning})" for name, meaning in self.sizes.items())

    def _same(self) -> tuple:
        given = sorted((name, value) for name, value in vars(self).items() if name[0] != "_")
        return (type(self), *((name, getattr(value, "value", value)) for name, value in given))

    def __eq__(self, other):
        return isinstance(other, Layer) and self._same() == other._same()

    def __hash__(self):
        return hash(self._same())

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._same()[1:])})"

    def but(self, **new) -> "Layer":
        """This layer with other sizes or options."""
        return type(self)(**{name: value for name, value in vars(self).items() if name[0] != "_"} | new)

    def _unsaid(self, what: str):
        raise UnsaidError(f"{type(self).__name__} does not say {what}.")

    def parameters(self, active: bool = False) -> dict[str, Quantity]:
        """Trainable parameters; active: those that one token meets."""
        self._unsaid("what parameters it has: define parameters(active)")

    def touched(self, x: Inputs) -> dict[str, Quantity]:
        """Parameters that the next token of x.B sequences reads."""
        return self.parameters()

    def flops(self, x: Inputs) -> dict[str, Quantity]:
        """FLOP of its matrix products and convolutions, forward."""
        self._unsaid("what it computes: define flops(x)")

    def extras(self, x: Inputs) -> dict[str, Quantity]:
        """FLOP of all that is no matrix product, forward."""
        self._unsaid("what it computes beside matrix products: define extras(x)")

    def training(self, x: Inputs) -> dict[str, Quantity]:
        """FLOP of forward and backward."""
        return {name: (1 + self.backward) * part for name, part in self.flops(x).items()}

    def assumes(self, x: Inputs) -> tuple[str, ...]:
        """Sentences: what its FLOP rest on."""
        return ()

    def omits(self, x: Inputs) -> tuple[str, ...]:
        """Sentences: what it computes that is never counted."""
        return ()

    wires = None  # product -> what it multiplies: "in", or products before it

    def adapted(self, x: Inputs, ranks: dict[str, Quantity], into: bool, again=()) -> tuple[dict[str, Quantity], bool]:
        """FLOP of forward and backward where all weights are frozen, with adapters of `ranks` beside projections, and
        whether its output has a gradient to pass back. into: whether its input has; again: parts that run once more.
        """
        if self.wires is None:
            self._unsaid("which of its products need a gradient where weights are frozen")
        terms, live, ends, whole = [], {"in": into}, self.projections(), self.flops(x)
        for name, operands in self.wires.items():
            grads = sum(live.get(each, False) for each in operands)  # gradients of operands: backward has no others
            part = PROJECTIONS.get(name, name)
            once = 1 + (part in again)
            if name in ends:
                width_in, width_out = ends[name]
                tokens = 2 * x.B * x.T
                terms.append({part: (once + bool(grads)) * tokens * width_in * width_out})
                if name in ranks:  # both of its matrices are trained; the second one's input needs a gradient
                    first, second = (once + 1 + bool(grads)) * width_in, (once + 2) * width_out
                    terms.append({"adapters": tokens * ranks[name] * (first + second)})
            elif name in whole:
                terms.append({part: (once + (grads if name in CORE else bool(grads))) * whole[name]})
            live[name] = bool(grads) or name in ranks
        return added(terms), any(live.values())

    def projections(self) -> dict[str, tuple[Quantity, Quantity]]:
        """Name among `PROJECTIONS` -> widths that go in and out of that matrix."""
        return {}

    def calls(self, x: Inputs) -> list[Call]:
        """What an eager framework runs one after the other, forward: products, norms, activations and sums."""
        self._unsaid("what it runs, one call after another: define calls(x)")

    def saved(self, x: Inputs) -> dict[str, Quantity]:
        """Bytes that autograd keeps of it from the forward to the backward pass."""
        return tape.by_part(self.ops(x)) | self.kept(x)

    def kept(self, x: Inputs) -> dict[str, Quantity]:
        """Of these, what lives until all blocks are through."""
        return {}

    def ops(self, x: Inputs) -> list[tape.Op]:
        """The ops of its backward pass, from which a peak follows, and what is saved."""
        self._unsaid(
            "what autograd saves for it: define saved(x), or ops(x) for a peak. It depends on how a model is written; "
            "described are decoders built as GPT-2 or as Llama (Mistral, Qwen 2, Qwen 3 too), and VisionTransformers. "
            "convention='megatron' gives Korthikanti's formula"
        )

    def tensors(self, each: int) -> list[Quantity]:
        """Bytes of its parameter tensors, `each` bytes a number, in the order of the implementation."""
        self._unsaid("what tensors its parameters are: define tensors(each)")

    def cache(self, x: Inputs) -> dict[str, Quantity]:
        """Numbers kept of T tokens of one sequence, for the next one."""
        self._unsaid("what it keeps for the next token: define cache(x)")

    copies: Quantity | int = 0  # of a token, which go to experts and come back

    @property
    def gathered(self) -> tuple[Quantity, Quantity | int]:
        """Width of what tensor ranks gather: for the matrices that they divide by columns, and for use without one."""
        return self.d, 0

    @property
    def passed(self) -> Quantity:
        """Width of the keys and values that ring attention passes on."""
        self._unsaid("what ranks that share a sequence pass on: define passed")

    def ranked(self, b: Quantity, T: Quantity, eager: bool) -> dict[str, Quantity]:
        """Bytes that a rank keeps of it for b tokens of sequences of T, in 16 bit (Korthikanti et al. 2022, section
        4.1), its input aside: what is `whole` on every tensor rank, what is `divided`, and the `core` of attention.
        """
        self._unsaid("what a rank keeps of it: define ranked(b, T, eager)")

    def shard(self, t: Quantity, e: Quantity | int = 1) -> "Layer":
        """This layer on one of t tensor-parallel ranks, e of which share the experts of a mixture."""
        return self if t == e == 1 else self._unsaid("how it is divided among ranks: define shard(t, e)")


class Plain(Layer):
    """Base of layers that have no matrix product, keep nothing for the next token and are whole on every rank."""

    branch, wires = False, {}

    def flops(self, x):
        return {}

    def cache(self, x):
        return {}

    def shard(self, t, e=1):
        return self


# projections that an adapter can stand beside -> the part that they belong to
PROJECTIONS = dict.fromkeys("qkv", "attention.qkv") | {"out": "attention.out"}
PROJECTIONS |= dict.fromkeys(("gate", "up", "down"), "mlp")
CORE = ("attention.scores", "attention.values")  # what selective recomputation runs once more


class Block(Layer):
    """Layers one after the other, which may say the same parts. label: the kind of block, where a model has several."""

    def __init__(self, *layers: Layer, label: str = ""):
        self.layers, self.label = layers, label

    def _sum(self, ask) -> dict[str, Quantity]:
        parts = added(map(ask, self.layers))
        if "norm" in parts:
            parts["norm"] = parts.pop("norm")  # after what it norms for
        return parts

    def parameters(self, active=False):
        return self._sum(lambda layer: layer.parameters(active))

    def touched(self, x):
        return self._sum(lambda layer: layer.touched(x))

    @property
    def sums(self) -> int:
        """All-reduces of a forward pass under tensor parallelism: one for each branch (Shoeybi et al., Megatron-LM,
        2019), or for all that share a norm.
        """
        branches = sum(layer.branch for layer in self.layers)
        return min(branches, len(self.layers) - branches) or branches

    def flops(self, x):
        return self._sum(lambda layer: layer.flops(x))

    @property
    def width(self) -> Quantity:
        """Of the residual stream: the d of its layers."""
        return next((layer.d for layer in self.layers if hasattr(layer, "d")), None) or self._unsaid("d, its width")

    def extras(self, x):
        residual = sum(layer.branch for layer in self.layers) * x.B * x.T * self.width
        return self._sum(lambda layer: layer.extras(x)) | {"residual": residual}

    def calls(self, x):
        stream = x.B * x.T * self.width
        residual = Call("residual", stream, 3 * stream)
        return [call for layer in self.layers for call in layer.calls(x) + [residual] * layer.branch]

    def training(self, x):
        again = {"none": (), "selective": CORE, "full": self.flops(x)}[x.recompute]

        def ask(layer):
            return {name: (1 + layer.backward + (name in again)) * part for name, part in layer.flops(x).items()}

        return self._sum(ask)

    def adapted(self, x, ranks, into):
        again = {"none": (), "selective": CORE, "full": self.flops(x)}[x.recompute]
        answers, reached = [], into
        for layer in self.layers:
            parts, live = layer.adapted(x, ranks, into, again)
            answers.append(parts)
            reached = reached or live
            into = into if self.sums == 1 else reached  # branches that share a norm have one input
        return added(answers), reached

    def saved(self, x):
        if x.recompute == "full":  # its input, and nothing else
            return {"checkpoint": product(x.s, x.B, x.T, self.width)}
        return added(layer.saved(x) for layer in self.layers)

    def cache(self, x):
        return self._sum(lambda layer: layer.cache(x))

    @property
    def branches(self) -> list[Layer]:
        """Those that add to the residual stream, each with an input of its own."""
        return [layer for layer in self.layers if layer.branch][: self.sums]

    def ranked(self, b, T, eager):
        inputs = {"whole": 2 * b * len(self.branches) * self.width}
        return added([inputs, *(layer.ranked(b, T, eager) for layer in self.layers)])

    def shard(self, t, e=1):
        return Block(*(layer.shard(t, e) for layer in self.layers), label=self.label)


def product_call(part: str, rows, inputs, outputs) -> Call:
    """[rows, inputs] @ [inputs, outputs]."""
    return Call(part, 2 * rows * inputs * outputs, rows * inputs + inputs * outputs + rows * outputs)


def matrix(each, inputs, *outputs, bias) -> list[Quantity]:
    """Bytes of a weight of `inputs` rows and so many columns as the outputs have together, and of its bias."""
    weight = total(product(each, inputs, output) for output in outputs)
    return [weight, total(product(each, output) for output in outputs)] if bias else [weight]


def added(answers) -> dict[str, Quantity]:
    """Part -> the sum of what several layers say of it, in the order of first mention."""
    found: dict[str, list] = {}
    for answer in answers:
        for name, part in answer.items():
            found.setdefault(name, []).append(part)
    return {name: parts[0] if len(parts) == 1 else total(parts) for name, parts in found.items()}
