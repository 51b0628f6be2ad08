"""A small serving engine in plain torch: paged KV cache, continuous batching, prefix reuse, preemption, cancellation.

A page holds keys and values of `page` positions, in all layers. A sequence has a table of pages. A full page is never
written again, so that several sequences may read it: it is found by the exact tokens up to its end, and counted. A page
that nobody holds keeps its contents until it is needed for something else, the one that was let go first before others.

What real engines do and this one does not: attention kernels that read pages where they are (here `gather` copies
them), prompts in pieces (chunked prefill), hashes in place of exact tokens, several processes, CUDA graphs.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from course_lib.accounting import models

if TYPE_CHECKING:
    import torch


# ---------------------------------------------------------------- the model


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder as Llama has it: RMS norms, rotary positions, grouped heads, a gated MLP with SiLU."""

    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    ff: int

    @property
    def head(self) -> int:
        return self.width // self.heads

    def describe(self, context: int) -> models.Transformer:
        """The same model for the calculators of `accounting`."""
        return models.Transformer(
            name="engine",
            layers=self.layers,
            d_model=self.width,
            heads=self.heads,
            kv_heads=self.kv_heads,
            vocab=self.vocab,
            context=context,
            d_ff=self.ff,
            gated_mlp=True,
            activation="silu",
            bias=False,
            norm="rmsnorm",
            positions="rotary",
        )


class Model:
    """Weights and the two ways to run them: all positions at once (`full`), or new ones with a paged cache (`paged`)."""

    def __init__(self, torch, shape: Shape, dtype=None, seed: int = 0):
        self.torch, self.shape, s = torch, shape, shape
        generator = torch.Generator().manual_seed(seed)

        def matrix(rows, columns):
            numbers = torch.randn(rows, columns, generator=generator) * rows**-0.5
            return numbers.to(dtype or torch.float32)

        def ones():
            return torch.ones(s.width, dtype=dtype or torch.float32)

        self.table = matrix(s.width, s.vocab).T.contiguous()  # the head's too
        self.last = ones()
        joint = (s.heads + 2 * s.kv_heads) * s.head
        self.blocks = [
            {
                "norm1": ones(),
                "qkv": matrix(s.width, joint),
                "out": matrix(s.heads * s.head, s.width),
                "norm2": ones(),
                "up": matrix(s.width, 2 * s.ff),
                "down": matrix(s.ff, s.width),
            }
            for _ in range(s.layers)
        ]

    def weights(self) -> list[torch.Tensor]:
        return [self.table, self.last, *(weight for block in self.blocks for weight in block.values())]

    def to(self, dtype) -> Model:
        """A copy in another number format."""
        copy = object.__new__(Model)
        copy.torch, copy.shape = self.torch, self.shape
        copy.table, copy.last = self.table.detach().to(dtype), self.last.detach().to(dtype)
        copy.blocks = [{name: weight.detach().to(dtype) for name, weight in block.items()} for block in self.blocks]
        return copy

    def _norm(self, x, scale):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * scale

    def _turn(self, x, positions):
        """Rotary positions: pairs of numbers [..., positions, heads, head], turned by angles that grow with the position."""
        half = self.shape.head // 2
        rate = 1000.0 ** (-self.torch.arange(half, dtype=self.torch.float64) / half)
        angle = (positions[..., None, None] * rate).to(x.dtype)
        cos, sin, (a, b) = angle.cos(), angle.sin(), x.split(half, -1)
        return self.torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def _queries(self, block, x, positions):
        """Queries [..., heads, head], keys and values [..., kv_heads, head] of normed inputs, turned."""
        s = self.shape
        joint = (self._norm(x, block["norm1"]) @ block["qkv"]).unflatten(-1, (-1, s.head))
        q, k, v = joint.split((s.heads, s.kv_heads, s.kv_heads), -2)
        return self._turn(q, positions), self._turn(k, positions), v

    def _mlp(self, block, x):
        gate, up = (self._norm(x, block["norm2"]) @ block["up"]).chunk(2, -1)
        return (self.torch.nn.functional.silu(gate) * up) @ block["down"]

    def full(self, ids):
        """Logits [batch, tokens, vocab] of whole texts ids [batch, tokens]: no cache, torch's own attention."""
        positions, x = self.torch.arange(ids.shape[1]), self.table[ids]
        for block in self.blocks:
            q, k, v = (part.transpose(1, 2) for part in self._queries(block, x, positions))
            seen = self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + seen.transpose(1, 2).flatten(2) @ block["out"]
            x = x + self._mlp(block, x)
        return self._norm(x, self.last) @ self.table.T

    def paged(self, ids, starts, cache, places):
        """Logits [batch, vocab] behind the last of the new tokens ids [batch, new].

        starts [batch]: position of the first new one. cache [layers, 2, slots, kv_heads, head] is written. places
        [batch, longest]: the slot of each position; beyond a sequence's end, any slot that it holds.
        """
        torch, s = self.torch, self.shape
        positions = starts[:, None] + torch.arange(ids.shape[1])
        unseen = torch.arange(places.shape[1]) > positions[..., None]  # [batch, new, longest]
        into, x = places.gather(1, positions), self.table[ids]
        for block, (keys, values) in zip(self.blocks, cache, strict=True):
            q, keys[into], values[into] = self._queries(block, x, positions)
            k, v = keys[places], values[places]  # a copy; a kernel made for pages reads them where they are
            q = q.unflatten(2, (s.kv_heads, -1))
            scores = torch.einsum("bngrd,btgd->bgrnt", q, k) * s.head**-0.5
            shares = scores.masked_fill(unseen[:, None, None], -torch.inf).softmax(-1)
            x = x + torch.einsum("bgrnt,btgd->bngrd", shares, v).flatten(2) @ block["out"]
            x = x + self._mlp(block, x)
        return self._norm(x[:, -1], self.last) @ self.table.T


# ---------------------------------------------------------------- requests


@dataclass(frozen=True)
class Request:
    """What is asked: tokens in, at most `new` tokens out, less if `stop` comes. temperature 0: the likeliest token."""

    prompt: tuple[int, ...]
    new: int
    temperature: float = 0.0
    seed: int = 0
    stop: int | None = None

    def __post_init__(self):
        if not self.prompt or self.new < 1:
            raise ValueError(f"{len(self.prompt)} tokens in, {self.new} out: both must be at least 1.")

    def over(self, made: list[int]) -> bool:
        return len(made) == self.new or (bool(made) and made[-1] == self.stop)


def pick(torch, logits, request: Request, index: int) -> int:
    """The `index`-th new token of a request, from its logits [vocab].

    Its noise depends on the request and the index alone: not on what else is in the batch, nor on how often it is drawn.
    """
    if request.temperature == 0:
        return int(logits.argmax())
    generator = torch.Generator().manual_seed(request.seed * 1_000_003 + index)
    noise = torch.empty(len(logits), dtype=torch.float64).exponential_(generator=generator)
    return int((logits.double() / request.temperature - noise.log()).argmax())


def plain(model: Model, request: Request) -> list[int]:
    """The tokens of one request, alone, without a cache: the whole text again for each token."""
    made: list[int] = []
    while not request.over(made):
        logits = model.full(model.torch.tensor([[*request.prompt, *made]]))[0, -1]
        made.append(pick(model.torch, logits, request, len(made)))
    return made


# ---------------------------------------------------------------- pages


class Pages:
    """Which pages are held, by how many, and which full ones can be found by the tokens up to their end."""

    def __init__(self, count: int):
        self.holders = [0] * count
        self.free = OrderedDict.fromkeys(range(count))  # in the order in which they will be taken
        self.known: dict[tuple[int, ...], int] = {}
        self.named: dict[int, tuple[int, ...]] = {}

    def find(self, tokens: tuple[int, ...], page: int) -> list[int]:
        """Full pages that hold a beginning of tokens; at least the last token is left to compute."""
        found: list[int] = []
        while (end := (len(found) + 1) * page) < len(tokens) and tokens[:end] in self.known:
            found.append(self.known[tokens[:end]])
        return found

    def hold(self, page: int) -> None:
        self.free.pop(page, None)
        self.holders[page] += 1

    def take(self) -> int:
        """A page to write: the one that was let go first. KeyError where none is free."""
        page, _ = self.free.popitem(last=False)
        if page in self.named:
            del self.known[self.named.pop(page)]
        self.holders[page] = 1
        return page

    def name(self, page: int, tokens: tuple[int, ...]) -> None:
        """From now on a full page can be found; where another has these tokens already, that one stays."""
        if page not in self.named and tokens not in self.known:
            self.known[tokens], self.named[page] = page, tokens

    def let_go(self, page: int) -> None:
        self.holders[page] -= 1
        if self.holders[page] == 0:
            self.free[page] = None

    @property
    def held(self) -> int:
        return len(self.holders) - len(self.free)


# ---------------------------------------------------------------- the engine


@dataclass(eq=False)
class Sequence:
    """A request on its way: what it made so far, its pages, and for how many positions these hold keys and values."""

    number: int
    request: Request
    made: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    stored: int = 0

    @property
    def tokens(self) -> tuple[int, ...]:
        return (*self.request.prompt, *self.made)


@dataclass
class Counts:
    """What an engine did: steps, positions that it computed and that it found, preemptions, most pages held at once."""

    steps: int = 0
    computed: int = 0
    found: int = 0
    preempted: int = 0
    peak: int = 0


class Engine:
    """Serves requests; each `step` gives every running sequence one token.

    pages, page: pages of the cache, positions of a page. most: sequences that run at once. reuse: whether full pages
    are found again. poison: whether a page is filled with NaN when it is taken, so that a stale number shows (tests).
    """

    def __init__(
        self, model: Model, pages: int, page: int = 16, most: int = 8, reuse: bool = True, poison: bool = False
    ):
        self.model, self.page, self.most, self.reuse, self.poison = model, page, most, reuse, poison
        s, self.torch = model.shape, model.torch
        self.cache = self.torch.zeros(s.layers, 2, pages * page, s.kv_heads, s.head, dtype=model.table.dtype)
        self.pages, self.counts = Pages(pages), Counts()
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []  # in order of arrival, as the waiting ones are: those came later
        self.answers: dict[int, list[int]] = {}
        self.numbers, self.offsets = 0, self.torch.arange(page)

    def add(self, request: Request) -> int:
        """The number of a request, which waits from now on. ValueError where it would not fit the cache even alone."""
        needs = -(-(len(request.prompt) + request.new - 1) // self.page)
        if needs > len(self.pages.holders):
            raise ValueError(f"{needs} pages are needed at its end, and the cache has {len(self.pages.holders)}.")
        self.numbers += 1
        self.waiting.append(Sequence(self.numbers - 1, request))
        return self.numbers - 1

    def cancel(self, number: int) -> list[int] | None:
        """End a request wherever it is: its pages are free. Returns what it made; None where it is over or unknown."""
        for queue in (self.running, self.waiting):
            for sequence in queue:
                if sequence.number == number:
                    queue.remove(sequence)
                    self._let_go(sequence)
                    return sequence.made
        return None

    def step(self) -> list[tuple[int, int]]:
        """One token for each running sequence, then the prompts of those that may enter: (number, token) of each."""
        self.counts.steps += 1
        preempted = self.counts.preempted
        ready = self._make_room()
        given = self._compute(ready) if ready else []
        if preempted == self.counts.preempted:  # whoever had to leave in this step does not come back in it
            while self.waiting and len(self.running) < self.most and self._enter(self.waiting[0]):
                self.running.append(self.waiting.popleft())
                given += self._compute(self.running[-1:])
        self.counts.peak = max(self.counts.peak, self.pages.held)
        for sequence in [s for s in self.running if s.request.over(s.made)]:
            self.running.remove(sequence)
            self._let_go(sequence)
            self.answers[sequence.number] = sequence.made
        return given

    def run(self) -> dict[int, list[int]]:
        """Step until nothing runs or waits: number -> its tokens."""
        while self.running or self.waiting:
            self.step()
        return self.answers

    def _make_room(self) -> list[Sequence]:
        """The running sequences, each with a page for its next position: those that came last leave where none is free."""
        ready: list[Sequence] = []
        for sequence in list(self.running):
            if sequence not in self.running:  # it has left for an earlier one
                break
            while len(sequence.pages) * self.page < len(sequence.tokens):
                if self.pages.free:
                    sequence.pages.append(self._take())
                    continue
                last = self.running.pop()
                self._let_go(last)
                self.waiting.appendleft(last)  # it keeps its tokens, and computes their keys and values again
                self.counts.preempted += 1
                if last is sequence:
                    return ready
            ready.append(sequence)
        return ready

    def _enter(self, sequence: Sequence) -> bool:
        """Give a waiting sequence the pages of all its tokens, those of a known beginning among them, if there are enough."""
        tokens = sequence.tokens
        found = self.pages.find(tokens, self.page) if self.reuse else []
        more = -(-len(tokens) // self.page) - len(found)
        if more > len(self.pages.free) - sum(page in self.pages.free for page in found):
            return False
        for page in found:
            self.pages.hold(page)
        sequence.pages = found + [self._take() for _ in range(more)]
        sequence.stored = len(found) * self.page
        self.counts.found += sequence.stored
        return True

    def _compute(self, sequences: list[Sequence]) -> list[tuple[int, int]]:
        """Keys and values of all tokens that have none, equally many in each sequence, and a new token for each."""
        torch = self.torch
        texts = [s.tokens for s in sequences]
        tables = [torch.tensor(s.pages)[:, None] * self.page + self.offsets for s in sequences]
        slots = [table.flatten()[: len(text)] for table, text in zip(tables, texts, strict=True)]
        places = torch.stack([_padded(torch, some, max(map(len, texts))) for some in slots])
        new = torch.tensor([text[s.stored :] for text, s in zip(texts, sequences, strict=True)])
        starts = torch.tensor([s.stored for s in sequences])
        logits = self.model.paged(new, starts, self.cache, places)
        self.counts.computed += new.numel()
        for sequence, text, row in zip(sequences, texts, logits, strict=True):
            if self.reuse:
                for end in range((sequence.stored // self.page + 1) * self.page, len(text) + 1, self.page):
                    self.pages.name(sequence.pages[end // self.page - 1], text[:end])
            sequence.stored = len(text)
            sequence.made.append(pick(torch, row, sequence.request, len(sequence.made)))
        return [(s.number, s.made[-1]) for s in sequences]

    def _take(self) -> int:
        page = self.pages.take()
        if self.poison:
            self.cache[:, :, page * self.page : (page + 1) * self.page] = float("nan")
        return page

    def _let_go(self, sequence: Sequence) -> None:
        for page in reversed(sequence.pages):  # its end is taken before its beginning, which others may share
            self.pages.let_go(page)
        sequence.pages, sequence.stored = [], 0


def _padded(torch, slots, length: int):
    """Slots, and then the first one again and again, which nothing looks at."""
    return torch.cat((slots, slots[:1].expand(length - len(slots))))
