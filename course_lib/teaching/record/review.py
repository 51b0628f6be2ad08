"""`review("q05")`: two questions of earlier units, drawn from what the learner missed or has not met for long.

`leitner` says which. They are live cards in a frame; what is done on them is kept in the record apart from what was
done in their lesson, as events of the kind "review": {did, in, on, round} and what the card itself keeps. `did` is the
card's own kind of event, `in` the unit whose review it is, `on` its day.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import Any

from course_lib import units
from course_lib.teaching import live
from course_lib.teaching.cards import card_words
from course_lib.teaching.cards.card_texts import Card, CardError, read_rounds
from course_lib.teaching.record.leitner import Place, encounters, places, queue
from course_lib.teaching.record.record import Record
from course_lib.teaching.static import is_static, notice
from course_lib.words import words

say = words(__file__)

ASKED = 2  # questions in a review
KINDS = ("number", "choice")  # of cards that a review asks


@dataclass(frozen=True)
class Question:
    """A card in the round to ask, and where it stood before."""

    card: Card
    place: Place


def review(prefix: str, today: date | None = None):
    """Show two questions of units before the unit `prefix` ("q05") that were answered on an earlier day, or one line
    where there are none. Shown again on the same day, it has the same questions and what was done on them.

    Returns something to display in every case. today: for tests.
    """
    unit, today = units.unit_of(f"{prefix}."), today or date.today()
    if unit is None:
        return notice(say("no-unit", prefix=prefix))
    if is_static():
        return notice(say("elsewhere"))
    record = Record.open()
    asked = questions(record.events(), unit, today)
    if not asked:
        return notice(say("none"))
    try:
        return LiveReview(record, unit, today, asked)
    except ImportError as error:
        return notice(card_words.say("no-widgets", package=error.name))


def questions(events: Sequence[Mapping[str, Any]], unit: str, today: date) -> list[Question]:
    """The questions of the review of `unit`. What was done in this review itself does not change them."""
    order, own = units.in_order(), units.prefix(unit)
    before = {units.prefix(earlier) for earlier in order[: order.index(unit)]}
    met = [
        one
        for one in encounters(events)
        if one.id.partition(".")[0] in before and (one.review, one.day) != (own, today)
    ]
    found = places(met)
    asked = (_question(id, found[id]) for id in queue(met, today))
    return list(islice(filter(None, asked), ASKED))


def _question(id: str, place: Place) -> Question | None:
    """Another round than the last one, where there is another; None for a card that is gone or not to be asked."""
    try:
        rounds = read_rounds(id)
    except CardError:
        return None
    return Question(rounds[(place.round + 1) % len(rounds)], place) if rounds[0].kind in KINDS else None


class LiveReview(live.Live):
    """A review on the screen: `.widget` frames its `.cards`."""

    def __init__(self, record: Record, unit: str, today: date, asked: Sequence[Question]):
        from ipywidgets import HTML, VBox

        from course_lib.teaching.cards.card_widget import LiveCard

        own = units.prefix(unit)
        self.cards = []
        parts = [HTML(f"<p><strong>{html.escape(say('title'))}</strong></p>")]
        for question in asked:
            card = question.card
            title = units.about(units.unit_of(card.id)).get("title", card.folder)
            page = Page(record, own, today, card.round)
            alone = replace(card, round=0, rounds=1)
            self.cards.append(LiveCard([alone], page, place=f"{own}/{today}/{card.round}/"))
            line = say("met", title=title, day=question.place.day)
            parts += [HTML(f"<p>{html.escape(line)}</p>"), self.cards[-1].widget]
        super().__init__(VBox(parts).add_class("course-review"), f"review {own}", say("gone"))


class Page:
    """The record as a card of one review sees it: as if it were asked for the first time."""

    def __init__(self, record: Record, unit: str, day: date, round: int):
        self._record = record
        self._mark = {"in": unit, "on": day.isoformat(), "round": round}

    @property
    def notice(self) -> str:
        return self._record.notice

    def events(self, id: str) -> list[dict]:
        """What was done on this card here, as events of its first round."""
        own = self._mark.items()
        return [
            {**event, "kind": event["payload"].get("did"), "payload": {**event["payload"], "round": 0}}
            for event in self._record.events(id)
            if event["kind"] == "review" and own <= event["payload"].items()
        ]

    def add(self, kind: str, id: str, payload: Mapping[str, Any]) -> None:
        self._record.add("review", id, {"did": kind, **self._mark, **payload})
