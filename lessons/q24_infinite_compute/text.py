"""A text whose entropy is known, because we wrote the law that draws it; and models of it that count.

Drawn by Python's own generator: the same seed gives the same text everywhere.
"""

import random
from bisect import bisect
from itertools import accumulate, product
from math import exp, lgamma, log

SYMBOLS, ORDER = 8, 2  # letters of the alphabet; how many of the last ones decide on the next
SHARPNESS = 0.3  # of the law's rows: the parameter of a Dirichlet distribution
BEFORE = 0.1  # what every count of a model begins with
ORDERS = (0, 1, 2, 3, 4)


class Source:
    """A law for the next letter, given the last two; drawn once, from `seed`."""

    def __init__(self, seed: int = 0):
        draw = random.Random(seed)
        self.rows = {}
        for context in product(range(SYMBOLS), repeat=ORDER):
            weights = [draw.gammavariate(SHARPNESS, 1) + 1e-9 for _ in range(SYMBOLS)]
            self.rows[context] = [weight / sum(weights) for weight in weights]

    def text(self, letters: int, seed: int):
        """So many letters of it, as an array of whole numbers."""
        return _drawn({context: list(accumulate(row)) for context, row in self.rows.items()}, ORDER, letters, seed)

    def pairs(self) -> dict[tuple[int, ...], float]:
        """How often each pair of letters comes in an endless text: 200 steps of the law."""
        often = dict.fromkeys(self.rows, 1 / len(self.rows))
        for _ in range(200):
            after = dict.fromkeys(self.rows, 0.0)
            for context, share in often.items():
                for letter, chance in enumerate(self.rows[context]):
                    after[(*context[1:], letter)] += share * chance
            often = after
        return often

    def floor(self, order: int = ORDER) -> float:
        """Nats a letter that a model which sees `order` letters cannot go below; from two letters on, the entropy."""
        often, mixed = self.pairs(), {}
        for context, share in often.items():
            seen = context[max(ORDER - order, 0) :] if order else ()
            row = mixed.setdefault(seen, [0.0] * SYMBOLS)
            for letter, chance in enumerate(self.rows[context]):
                row[letter] += share * chance
        return sum(-share * log(share / sum(row)) for row in mixed.values() for share in row if share)


def _drawn(rows, order: int, letters: int, seed: int):
    """Letters drawn one by one; rows: the last `order` letters -> chances, added up from the first letter on."""
    import numpy as np

    draw, text = random.Random(seed), [0, 1] * max(ORDERS)
    start = len(text)
    for _ in range(letters):
        row = rows[tuple(text[len(text) - order :])]
        text.append(min(bisect(row, draw.random() * row[-1]), SYMBOLS - 1))
    return np.array(text[start:])


class Counts:
    """A model that has counted which letter follows the last `order` of a text."""

    def __init__(self, order: int, text):
        import numpy as np

        self.order = order
        self.rows = np.full((SYMBOLS**order, SYMBOLS), BEFORE)
        np.add.at(self.rows, self._places(text), 1)
        fresh = np.full((1, SYMBOLS), BEFORE)
        self.evidence = sum(_log_gamma(self.rows)) - len(self.rows) * _log_gamma(fresh)[0]
        """log of what it gave to the whole text, letter by letter, each time with the counts until then."""

    def _places(self, text):
        """(number of the last letters, letter) of each letter; all models begin at the same one."""
        import numpy as np

        text, begin = np.asarray(text), max(ORDERS)
        seen = sum(text[begin - back : len(text) - back] * SYMBOLS ** (back - 1) for back in range(1, self.order + 1))
        return seen, text[begin:]

    def chances(self, text):
        """What it gives to each letter of another text."""
        return (self.rows / self.rows.sum(1, keepdims=True))[self._places(text)]

    def write(self, letters: int, seed: int):
        """So many letters, drawn from what it has counted."""
        rows = {}
        for number, row in enumerate(self.rows.tolist()):
            context = tuple(number // SYMBOLS ** (back - 1) % SYMBOLS for back in range(self.order, 0, -1))
            rows[context] = list(accumulate(row))
        return _drawn(rows, self.order, letters, seed)


def _log_gamma(rows):
    """Of each row, what its numbers give to the chance of a text: log Γ of each, less log Γ of their sum."""
    return [sum(map(lgamma, row)) - lgamma(sum(row)) for row in rows.tolist()]


def loss(models: list[Counts], shares: list[float], text) -> float:
    """Nats a letter of a mean of models."""
    import numpy as np

    mean = sum(share * model.chances(text) for share, model in zip(shares, models, strict=True))
    return float(-np.log(mean).mean())


def perfect(source: Source, text) -> float:
    """Nats a letter of the law itself: the entropy, but for the luck of this text."""
    letters = text.tolist()
    places = range(max(ORDERS), len(letters))
    return -sum(log(source.rows[tuple(letters[place - ORDER : place])][letters[place]]) for place in places) / len(
        places
    )


def trusted(models: list[Counts]) -> list[float]:
    """The share of each in a mean, by what it gave to the text as it came: Bayes, all equally likely before."""
    best = max(model.evidence for model in models)
    weights = [exp(model.evidence - best) for model in models]
    return [weight / sum(weights) for weight in weights]


def excess(order: int, letters: int, source: Source) -> float | None:
    """Nats above the entropy that a model of this order is expected to have after so many letters; None: too few.

    It cannot go below its own floor, and each of its free numbers costs half a nat over the whole text.
    """
    free = SYMBOLS**order * (SYMBOLS - 1)
    if letters < 10 * free:
        return None
    return source.floor(order) - source.floor() + free / (2 * letters)
