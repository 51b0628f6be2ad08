"""What all models have in common: layers before the blocks, the blocks, layers after. Totals are sums over them."""

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from course_lib.accounting import units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import LOW, Quantity, key, symbol, total
from course_lib.accounting.layers.base import Inputs, Layer, UnsaidError, added

_MANY = 8  # kinds of blocks whose sum is written out


class Stack:
    """Base of models. A subclass has `name` and `context` and makes its layers in `stack()`; equal blocks are counted
    together, as kinds.
    """

    decodes = True  # whether it says the next token, so that a causal mask and a cache mean something
    reads_images = False
    omits_extras = "Softmax, norms, activation functions, residual additions and the embedding look-up."
    written = (
        "The model as written in transformers 5.23, on the CPU of PyTorch 2.13, with labels and no attention mask."
    )
    omits_parameters: tuple[str, ...] = ()

    def stack(self) -> tuple[list[Layer], list[Layer], list[Layer]]:
        """(before the blocks, the blocks in their order, after them)"""
        raise NotImplementedError

    @cached_property
    def parts(self) -> tuple[list[Layer], list[Layer], list[Layer]]:
        """`stack()`, made once; an embedding knows whether the head has its matrix."""
        before, blocks, after = self.stack()
        if any(getattr(layer, "tied", False) for layer in after):
            before = [layer.but(tied=True) if hasattr(layer, "tied") else layer for layer in before]
        return before, blocks, after

    @cached_property
    def kinds(self) -> list[tuple[Layer, Quantity]]:
        """(block, how many like it) of each kind, in the order of first use."""
        objects, counts = {}, {}
        for block in self.parts[1]:  # by identity first, which is cheap; then equal ones together
            objects[id(block)] = (block, objects.get(id(block), (None, 0))[1] + 1)
        for block, number in objects.values():
            counts[block] = counts.get(block, 0) + number
        if len(counts) == 1:
            return [(block, symbol("L", number, "layers")) for block, number in counts.items()]
        return [
            (block, symbol(f"L{str(place).translate(LOW)}", number, f"{_label(block, place)} layers"))
            for place, (block, number) in enumerate(counts.items(), 1)
        ]

    @cached_property
    def count(self) -> Quantity:
        """How many blocks there are."""
        return self.kinds[0][1] if len(self.kinds) == 1 else symbol("L", len(self.parts[1]), "layers")

    def over_blocks(self, answers: list[dict[str, Quantity]]) -> dict[str, Quantity]:
        """Part -> the sum over the blocks, of which each kind answered for one. What is alike is counted together."""
        if len(answers) == 1:
            return {name: self.count * part for name, part in answers[0].items()}
        parts = {}
        names = dict.fromkeys(name for answer in answers for name in answer)
        for name in sorted(names, key="norm".__eq__):  # norms after what they norm for
            alike = {}
            for answer, (_, count) in zip(answers, self.kinds, strict=True):
                if name in answer:
                    alike.setdefault(key(answer[name]), (answer[name], []))[1].append(count)
            terms = [
                (self.count if len(counts) == len(answers) else total(counts)) * part for part, counts in alike.values()
            ]
            parts[name] = total(terms)
            if len(terms) > _MANY:
                parts[name] = symbol("Σ", parts[name].value, f"{name} of {len(terms)} kinds of layers, added up")
        return parts

    def breakdown(self, unit: str, ask: Callable[[Layer], dict[str, Quantity]], **more) -> Breakdown:
        """What `ask` gets from every layer, added up; `more` as in Breakdown. Views: "layers" are the blocks alone,
        "layer" one of them where all answer the same, else each kind by its label.
        """
        ask = self.naming(ask)
        passed = {name: more[name] for name in ("multiply_adds", "omitted") if name in more}
        answers = [ask(block) for block, _ in self.kinds]
        inside, views = self.over_blocks(answers) if answers else {}, {}
        if inside:
            views["layers"] = Breakdown.from_terms(unit, inside, **passed)
            same = all(answer == answers[0] for answer in answers[1:])
            for place, (answer, (block, _)) in enumerate(zip(answers, self.kinds, strict=True), 1):
                if answer and (place == 1 or not same):
                    label = "layer" if same else _label(block, place)
                    views[label] = Breakdown.from_terms(unit, answer, **passed)
        return Breakdown.from_terms(unit, self.collect(ask, inside), views=views, **more)

    def collect(self, ask, inside: dict[str, Quantity] | None = None) -> dict[str, Quantity]:
        """Part -> what `ask` gets from every layer, added up. inside: what is known of the blocks already."""
        ask, (before, _, after) = self.naming(ask), self.parts
        if inside is None and self.kinds:
            inside = self.over_blocks([ask(block) for block, _ in self.kinds])
        return added([*map(ask, before), inside or {}, *map(ask, after)])

    def naming(self, ask: Callable) -> Callable:
        """`ask`, whose refusal names this model."""

        def asked(layer):
            try:
                return ask(layer)
            except UnsaidError as refusal:
                raise ValueError(f"model={units.shortly(self)}: {refusal}") from None

        return asked

    def sentences(self, what: str, x: Inputs) -> tuple[str, ...]:
        """What the layers say under the name `what`, "assumes" or "omits", each once."""
        before, _, after = self.parts
        inside = (layer for block, _ in self.kinds for layer in (block, *getattr(block, "layers", ())))
        said = (getattr(layer, what)(x) for layer in (*inside, *before, *after))
        return tuple(dict.fromkeys(sentence for sentences in said for sentence in sentences))

    def omits(self, x: Inputs) -> tuple[str, ...]:
        """What is never counted, not among the extras either."""
        return (
            "Biases, the scaling of embeddings and scores, soft caps, masking of scores, rotary rotation and dropout.",
            *self.sentences("omits", x),
        )

    def parameters(self, active: bool = False) -> Breakdown:
        """Trainable parameters, equal to the real checkpoint's; a tied head counts once, under embedding.token.

        Parts: embedding.…, attention.…, router, mlp, norm, head, as the layers name them, summed over the layers;
        "layer.…" is one layer, "layers.…" all of them. A ConvNet has its stages, and in each convolution, norm and
        linear. active=True keeps everything but counts active experts: the parameters that one token meets.
        """
        units.flag(active, "active")
        said = {"assumptions": self._reading(active), "omitted": self.omits_parameters}
        return self.breakdown("parameters", lambda layer: layer.parameters(active), **said)

    def _reading(self, active: bool) -> tuple[str, ...]:
        """Sentences on how parameters are counted."""
        some = [layer for block, _ in self.kinds for layer in getattr(block, "layers", ()) if hasattr(layer, "E")]
        tied = any(getattr(layer, "tied", False) for layer in self.parts[2])
        said = ["The head is the token embedding and counts once."] if tied else []
        said += [f"Counts {layer.A.value} of {layer.E.value} experts in each layer." for layer in some if active]
        return tuple(dict.fromkeys(said))

    # ------------------------------------------------------------ what it is asked about

    def at(self, image) -> "Stack":
        """This model as it reads images of the size `image`: itself, unless its layers depend on it."""
        return self

    def inputs(self, batch=1, seq=None, image=None, causal=False, documents=None, **more) -> Inputs:
        """What every layer is asked about; ValueError for what this model does not read."""
        B = units.count(batch, "batch")
        if units.flag(causal, "causal") and not self.decodes:
            raise ValueError(
                f"causal={causal!r}: only a decoder (models.Transformer) has a causal mask; {self.name} has none."
            )
        if self.reads_images and seq is not None:
            raise ValueError(f"seq={seq!r}: {self.name} reads images; give image=, a side or (height, width).")
        if not self.reads_images and image is not None:
            raise ValueError(f"image={image!r}: {self.name} reads tokens; give seq=, the tokens in a sequence.")
        if self.reads_images and documents is not None:
            raise ValueError(f"documents={units.shortly(documents)}: {self.name} reads images, which are not packed.")
        T, image = self._tokens(seq, image)
        B = symbol("B", B, f"{'images' if self.reads_images else 'sequences'} in the batch")
        if documents is not None:
            given, listed = documents, documents if isinstance(documents, (list, tuple)) else ()
            documents = Counter(units.count(length, "documents") for length in listed)
            if sum(documents.elements()) != B * T or max(documents) > T:
                raise ValueError(
                    f"documents={units.shortly(given)} must be lengths of at most seq={T.value} tokens each, "
                    f"batch · seq = {(B * T).value} together."
                )
        return Inputs(B, T, image=image, causal=causal, documents=documents, **more)

    def _tokens(self, seq, image):
        """(tokens, what an image becomes)"""
        return symbol("T", self.length(seq, "seq"), "tokens in a sequence"), None

    def length(self, tokens, name: str) -> int:
        """`tokens`, or the context for None; ValueError beyond the last learned position."""
        if tokens is None:
            if self.context is None:
                raise ValueError(f"{name}=None: {self.name} has no context of its own; say how many tokens.")
            return self.context
        tokens = units.count(tokens, name)
        learned = next((layer.positions for layer in self.parts[0] if getattr(layer, "positions", None)), None)
        if learned is not None and tokens > learned:
            said = f"{name}={tokens} is longer than context={learned}"
            raise ValueError(f"{said}: {self.name} has no position beyond it.")
        return tokens


def _label(block: Layer, place: int) -> str:
    return getattr(block, "label", "") or f"kind{place}"
