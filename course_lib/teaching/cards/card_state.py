"""What the learner did on a card, as the record's events tell it. Nothing else decides what a card shows.

Events of a card: "guess" {value, text, sure}, "hint" {n}, "reveal" {truth, right, decades} and "round" {round}, which
begins a round with other numbers. The first three carry their `round` too, but for round 0. A transfer card has `bound`
in place of `sure`, and `within` in its reveal.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.teaching.cards.card_texts import Card


@dataclass(frozen=True)
class Guess:
    value: float | str
    text: str  # as it was typed
    sure: str = ""  # "guess" | "fairly" | "very"; "" for a reflection and on a transfer card
    bound: float | None = None  # on a transfer card: by what factor the value may be off, at least 1


@dataclass(frozen=True)
class State:
    """What happened in one round of a card: the guesses before the reveal in their order, how many hints are open,
    whether revealed, and the answer that was revealed then.
    """

    guesses: tuple[Guess, ...] = ()
    hints: int = 0
    revealed: bool = False
    truth: float | str | None = None


def stamp(card: Card) -> dict[str, int]:
    """What the payload of an event says of its round: nothing in the first, whose events are those that count."""
    return {"round": card.round} if card.round else {}


def round_now(rounds: Sequence[Card], events: Sequence[Mapping[str, Any]]) -> int:
    """The round that the card is in; one that its texts no longer have is passed over."""
    begun = [event["payload"].get("round") for event in events if event["kind"] == "round"]
    return max((n for n in begun if type(n) is int and 0 < n < len(rounds)), default=0)


def state(card: Card, events: Sequence[Mapping[str, Any]]) -> State:
    """The state of this round of a card. A guess that no longer fits the card's texts is passed over."""
    guesses, hints, revealed, truth = [], 0, False, None
    for event in events:
        payload = event["payload"]
        if payload.get("round", 0) != card.round:
            continue
        if event["kind"] == "guess" and not revealed and _fits(card, payload.get("value")) and _bounded(card, payload):
            value, text = payload["value"], str(payload.get("text", payload["value"]))
            guesses.append(Guess(value, text, payload.get("sure", ""), payload.get("bound")))
        elif event["kind"] == "hint":
            hints = min(hints + 1, len(card.hints))
        elif event["kind"] == "reveal" and guesses and not revealed:
            revealed, truth = True, payload.get("truth")
    return State(tuple(guesses), hints, revealed, truth if _fits(card, truth) else None)


def _fits(card: Card, value: Any) -> bool:
    if card.kind == "number":
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return isinstance(value, str) and (card.kind == "reflection" or card.choice(value) is not None)


def _bounded(card: Card, payload: Mapping[str, Any]) -> bool:
    """Whether a guess at a transfer card has its bound; one made before the card became a transfer has none."""
    bound = payload.get("bound")
    return not card.transfer or (type(bound) in (int, float) and 1 <= bound <= sys.float_info.max)
