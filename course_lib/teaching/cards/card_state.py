"""What the learner did on a card, as the record's events tell it. Nothing else decides what a card shows.

Events of a card: "guess" {value, text, sure}, "hint" {n}, "reveal" {truth, right, decades} and "round" {round}, which
begins a round with other numbers. The first three carry their `round` too, but for round 0.
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
    sure: str  # "guess" | "fairly" | "very"; "" for a reflection


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
        if event["kind"] == "guess" and not revealed and _fits(card, payload.get("value")):
            guesses.append(Guess(payload["value"], str(payload.get("text", payload["value"])), payload.get("sure", "")))
        elif event["kind"] == "hint":
            hints = min(hints + 1, len(card.hints))
        elif event["kind"] == "reveal" and guesses and not revealed:
            revealed, truth = True, payload.get("truth")
    return State(tuple(guesses), hints, revealed, truth if _fits(card, truth) else None)


def _fits(card: Card, value: Any) -> bool:
    if card.kind == "number":
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return isinstance(value, str) and (card.kind == "reflection" or card.choice(value) is not None)
