"""What it costs to prepare text for a training, and to have it judged."""

from itertools import islice

TOKENS, BYTES = 15e12, 4
"""Tokens of a large training of 2024 (Llama 3), and bytes of text for a token. The second is assumed."""
CORE = 0.04
"""Dollars for an hour of one processor core in a cloud. Assumed."""
COMPARISONS, MINUTES, WAGE = 1e6, 2, 20
"""Judgements "this answer is better than that", minutes for one, dollars an hour. All assumed."""


def machine(bytes_per_second) -> float:
    """Dollars for one pass of one core after another over all the text, at so many B/s of a core."""
    return TOKENS * BYTES / bytes_per_second / 3600 * CORE


def judged(comparisons=COMPARISONS, minutes=MINUTES, wage=WAGE) -> float:
    """Dollars for so many judgements by people."""
    return comparisons * minutes / 60 * wage


def repeated(text, n=13) -> float:
    """Share of the runs of `n` words that stood earlier in the text."""
    words = text.split()
    grams = list(zip(*(islice(words, start, None) for start in range(n)), strict=False))
    seen, twice = set(), 0
    for gram in map(hash, grams):
        twice += gram in seen
        seen.add(gram)
    return twice / len(grams)
