"""When a question comes back: Leitner's boxes, computed from the record's events and a date, and from nothing else.

A question is met when its answer is revealed, in its lesson, there again with new numbers, or in a review.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

WAITS = (1, 3, 7, 16, 35)  # days from meeting a question in box 1, 2, … to the day on which it is due


@dataclass(frozen=True)
class Encounter:
    """One revealed answer: whether the first guess was right, how sure the very first guess at the card was ("" where
    that was not asked), the card's round, and the unit whose review asked ("" in the card's own lesson).
    """

    id: str
    day: date
    right: bool
    sure: str = ""
    round: int = 0
    review: str = ""


@dataclass(frozen=True)
class Place:
    """Where a question stands: its box from 1 on, when it was met last, and in which round."""

    box: int
    day: date
    round: int

    def is_due(self, today: date) -> bool:
        return (today - self.day).days >= WAITS[self.box - 1]


def encounters(events: Iterable[Mapping[str, Any]]) -> list[Encounter]:
    """The encounters that the record tells of. What is not judged, and what has no day that can be read, is none."""
    sure: dict[str, Any] = {}
    found = []
    for event in events:
        id, kind, payload = event["id"], event["kind"], event["payload"]
        if kind == "guess":
            sure.setdefault(id, payload.get("sure"))
        reviewed = kind == "review" and payload.get("did") == "reveal"
        right, round = payload.get("right"), payload.get("round", 0)
        if not (kind == "reveal" or reviewed) or type(right) is not bool or type(round) is not int:
            continue
        day = _day(payload.get("on") if reviewed else event.get("at"))
        if day is not None:
            found.append(Encounter(id, day, right, sure.get(id, ""), round, payload.get("in", "") if reviewed else ""))
    return found


def _day(at: Any) -> date | None:
    """The learner's own day of a time in ISO 8601; None where it is none."""
    try:
        return datetime.fromisoformat(at).astimezone().date()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def places(met: Iterable[Encounter]) -> dict[str, Place]:
    """Where each question stands, by the rule of `due`."""
    found: dict[str, Place] = {}
    for one in sorted(met, key=lambda one: one.day):
        before = found.get(one.id)
        if not one.right:
            box = 1
        elif before is None:
            box = 1 if one.sure == "guess" else 2
        else:
            box = min(before.box + (one.day > before.day), len(WAITS))
        found[one.id] = Place(box, one.day, one.round)
    return found


def due(met: Iterable[Encounter], today: date) -> list[str]:
    """The questions that are due today, those of the lowest box first, of one box the longest unmet first.

    A question whose first guess was wrong, or right by what its owner called a guess, stands in box 1, any other in box
    2. Each right answer on a later day moves it up one box, to box 5 at most; a wrong one puts it back into box 1. From
    the day of the last encounter it is due after 1, 3, 7, 16 or 35 days, by its box.
    """
    found = sorted((place.box, place.day, id) for id, place in places(met).items() if place.is_due(today))
    return [id for _, _, id in found]


def queue(met: Iterable[Encounter], today: date) -> list[str]:
    """The questions in the order in which a review asks them: those that are due, then the others that were met before
    today, the longest unmet first.
    """
    met = list(met)
    before = sorted((place.day, id) for id, place in places(met).items() if place.day < today)
    return list(dict.fromkeys([*due(met, today), *(id for _, id in before)]))
