"""The answer of a card, computed when it is revealed, and how far a guess is from it."""

import math
from dataclasses import dataclass
from typing import Any

from course_lib import units
from course_lib.teaching.cards.card_state import Guess
from course_lib.teaching.cards.card_texts import Card
from course_lib.teaching.cards.verdict import Verdict


@dataclass(frozen=True)
class Answer:
    """The computed truth: a number in the card's unit or a choice's key; for a claim, with the verdict behind it; None
    for a reflection, which has a model answer and no truth.
    """

    truth: float | str | None
    verdict: Verdict | None = None


def answer(card: Card) -> Answer:
    """Compute the answer of a card. Whatever its function raises passes through; a value of the wrong kind is a
    ValueError.
    """
    if card.kind == "reflection":
        return Answer(None)
    if card.kind == "claim":
        verdict = units.function(card.folder, "claims", card.id)()
        if not isinstance(verdict, Verdict):
            raise ValueError(f"the claim's function returned {verdict!r} where a Verdict is expected")
        return Answer(verdict.ruling, verdict)
    truth = units.function(card.folder, "truths", card.id)(**card.given)
    if card.kind == "number":
        truth = float(truth)
        if not math.isfinite(truth):
            raise ValueError(f"the answer came out as {truth}")
    elif card.choice(truth) is None:
        raise ValueError(f"the answer came out as {truth!r}, which is none of the card's choices")
    return Answer(truth)


def close(card: Card, guess: float, truth: float) -> bool:
    """Whether a number is within the card's tolerance: on a log scale within the factor 1 + tolerance."""
    if card.scale == "log" and guess > 0 and truth > 0:
        return abs(math.log(guess) - math.log(truth)) <= math.log1p(card.tolerance) + 1e-12
    return abs(guess - truth) <= card.tolerance * (abs(truth) or 1.0) + 1e-12


def right(card: Card, guess: float | str, truth: float | str | None) -> bool | None:
    """Whether a guess counts as right; None for a reflection, which is not judged."""
    if card.kind == "reflection":
        return None
    return close(card, guess, truth) if card.kind == "number" else guess == truth


def decades(guess: float | str, truth: float | str | None) -> float | None:
    """log10(guess / truth): +1 is ten times too high. None where one of them is not a number above zero."""
    if not isinstance(guess, int | float) or not isinstance(truth, int | float) or guess <= 0 or truth <= 0:
        return None
    return math.log10(guess) - math.log10(truth)


def factor(decades: float) -> float:
    """The factor that so many decades are, either way: 0.3 → 2. A float ends at 308 of them."""
    return 10.0 ** min(abs(decades), 300.0)


def within(guess: Guess, truth: float | str | None) -> bool | None:
    """Whether the answer lies within the factor by which the guess was said to be off at most; None without one."""
    off = decades(guess.value, truth)
    return None if guess.bound is None or off is None else abs(off) <= math.log10(guess.bound) + 1e-12


def outcome(card: Card, first: Guess, found: Answer) -> dict[str, Any]:
    """What the record keeps of a reveal; it judges the first guess, on a transfer card its own bound too."""
    return {
        "truth": found.truth,
        "right": right(card, first.value, found.truth),
        "decades": decades(first.value, found.truth),
        **({"within": within(first, found.truth)} if card.transfer else {}),
    }
