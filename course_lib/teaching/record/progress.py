"""What the learner's record says: what is done, how far off the first guesses were, how well "sure" went with "right",
and what to look at again. `progress_view` shows it.

Only the first round of a card counts; "Same question, new numbers" and reviews are practice. What is judged is the
first guess.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from os.path import relpath
from pathlib import Path
from statistics import median
from typing import Any

from course_lib import units
from course_lib.teaching import markup
from course_lib.teaching.cards.answers import factor
from course_lib.teaching.cards.card_texts import Card, CardError, read_card, tables
from course_lib.teaching.record.leitner import due, encounters
from course_lib.teaching.record.record import SURE, Record
from course_lib.teaching.record.review import KINDS
from course_lib.words import words

say = words(__file__)

REVISIT = 8  # at most so many things to revisit
FAR = 1.0  # decades; a first guess further off is worth a second look
WRONG_BUT_SURE = 1.5  # how many decades of surprise a wrong choice is worth that the learner was very sure of
TITLE = 100  # characters of a question that stand for it


@dataclass(frozen=True)
class UnitProgress:
    """One unit: its cards, how many were committed and revealed, how far off the revealed numbers were, and its
    exercises. Claims that stand only on the docket are no cards here; an exercise still at its stub is not tried. The
    your-turns of lessons are not counted.
    """

    unit: str
    title: str
    part: str
    cards: int
    committed: int
    revealed: int
    decades: float | None  # median |log10(first guess / truth)| over revealed number cards; None: no such card yet
    exercises: int
    tried: int
    solved: int


@dataclass(frozen=True)
class Revisit:
    """One thing to look at again: its question, one sentence why, the notebook as a path from the current folder (""
    where it is not here), and the id of its cell there ("" where that is not known).
    """

    id: str
    title: str
    why: str
    notebook: str
    cell: str
    surprise: float


@dataclass(frozen=True)
class Transfer:
    """The first guess at a transfer card: by what factor its owner said that it may be off, by what factor it was, and
    whether the answer lay inside that bound.
    """

    own: float
    actual: float
    inside: bool


@dataclass(frozen=True)
class Progress:
    """What the record says.

    off: card id -> log10(first guess / truth) of every revealed number card. calibration: how sure -> (right,
    revealed) over first guesses. transfer: card id -> Transfer of every revealed transfer card. due: how many questions
    are due for review. revisit: the most surprising first. where: the record's file, or "memory".
    """

    units: tuple[UnitProgress, ...]
    off: Mapping[str, float]
    calibration: Mapping[str, tuple[int, int]]
    transfer: Mapping[str, Transfer]
    due: int
    revisit: tuple[Revisit, ...]
    where: str

    def __str__(self) -> str:
        from course_lib.teaching.record import progress_view

        return progress_view.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from course_lib.teaching.record import progress_view

        return progress_view.html(self)


def progress(start: Path | str | None = None, today: date | None = None) -> Progress:
    """What is done, how good the first guesses were, how well "sure" went with "right", and what to revisit.

    start: the folder whose record is read; default: the current one. today: for tests.
    """
    record = Record.open(start)
    return read(record.events(), today or date.today(), record.where, _copy(record))


def read(events: Iterable[Mapping[str, Any]], today: date, where: str = "memory", copy: Path | None = None) -> Progress:
    """The progress that these events amount to. `copy` is the learner's copy, for links to its notebooks."""
    everything = list(events)
    practised = {event["id"] for event in everything if _practice(event) and event["payload"].get("right") is True}
    events = [event for event in everything if not _practice(event)]
    names = {units.prefix(unit): unit for unit in units.names() if tables(unit) or _exercises(unit)}
    gone = sorted({_prefix(event["id"]) for event in events} - set(names))
    reveals = _first(events, "reveal")
    off = {id: value for id, reveal in reveals.items() if (value := _float(reveal.get("decades"))) is not None}
    return Progress(
        tuple(_unit(prefix, names.get(prefix, prefix), events, off) for prefix in [*names, *gone]),
        off,
        {sure: _calibration(events, sure) for sure in SURE},
        _transfer(events, off),
        sum((card := _card(id)) is not None and card.kind in KINDS for id in due(encounters(everything), today)),
        _revisit(events, off, practised, copy),
        where,
    )


def _practice(event: Mapping[str, Any]) -> bool:
    """Whether an event is of a later round of a card, of a review, or of the inventory, which has its own summary."""
    return bool(event["payload"].get("round")) or event["kind"] in ("review", "inventory")


def _prefix(id: str) -> str:
    return id.partition(".")[0]


def _copy(record: Record) -> Path | None:
    inside = record.path is not None and record.path.parent.name == ".course"
    return record.path.parent.parent if inside else None


# ---- Units ---------------------------------------------------------------------------------------------------------


def _unit(prefix: str, unit: str, events: list, off: Mapping[str, float]) -> UnitProgress:
    cards, about = tables(unit), units.about(unit)
    own = {id for id, table in cards.items() if table.get("docket") is not True}
    mine = [event for event in events if _prefix(event["id"]) == prefix]
    done = [sum(id in own or not cards for id in _first(mine, kind)) for kind in ("guess", "reveal")]
    outcomes = _outcomes(mine)
    decades = [abs(value) for id, value in off.items() if _prefix(id) == prefix]
    return UnitProgress(
        unit,
        about.get("title", unit.replace("_", " ")),
        about.get("part", ""),
        len(own),
        *done,
        median(decades) if decades else None,
        len(_exercises(unit)),
        len(outcomes),
        sum("right" in found for found in outcomes.values()),
    )


def _exercises(unit: str) -> Mapping[str, Any]:
    """The checks that have points. A your-turn has none: its answer stands one cell further, so that it was right says
    nothing about the learner.
    """
    return {id: check for id, check in units.checks(unit).items() if check["points"]}


def _outcomes(events: list) -> dict[str, set[str]]:
    """Exercise id -> the outcomes of its checks; one still at its stub is left out, and so is a your-turn."""
    found: dict[str, set[str]] = {}
    for event in events:
        payload = event["payload"]
        if event["kind"] == "check" and payload.get("outcome") != "stub" and payload.get("points") != 0:
            found.setdefault(event["id"], set()).add(str(payload.get("outcome")))
    return found


# ---- Guesses -------------------------------------------------------------------------------------------------------


def _calibration(events: list, sure: str) -> tuple[int, int]:
    """(right, revealed) of the first guesses that were committed as `sure`; what is not judged does not count."""
    guesses, reveals = _first(events, "guess"), _first(events, "reveal")
    asked = [id for id, guess in guesses.items() if guess.get("sure") == sure]
    verdicts = [reveals[id].get("right") for id in asked if id in reveals]
    return sum(right is True for right in verdicts), sum(isinstance(right, bool) for right in verdicts)


def _transfer(events: list, off: Mapping[str, float]) -> dict[str, Transfer]:
    guesses, found = _first(events, "guess"), {}
    for id, reveal in _first(events, "reveal").items():
        inside, own = reveal.get("within"), _float(guesses.get(id, {}).get("bound"))
        if isinstance(inside, bool) and own is not None and id in off:
            found[id] = Transfer(own, factor(off[id]), inside)
    return found


def _first(events: list, kind: str) -> dict[str, Mapping[str, Any]]:
    """Id -> the payload of its first event of a kind."""
    first: dict[str, Mapping[str, Any]] = {}
    for event in events:
        if event["kind"] == kind:
            first.setdefault(event["id"], event["payload"])
    return first


def _float(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


# ---- What to revisit -----------------------------------------------------------------------------------------------


def _revisit(events: list, off: Mapping[str, float], practised: set[str], copy: Path | None) -> tuple[Revisit, ...]:
    """Guesses more than a decade off, wrong choices made very sure, exercises tried and not solved; a card that came
    out right with new numbers is left out.
    """
    guesses, found = _first(events, "guess"), []
    for id, reveal in _first(events, "reveal").items():
        guess, right = guesses.get(id, {}), reveal.get("right")
        if id in practised or right is True:
            continue
        if abs(off.get(id, 0.0)) > FAR:
            values = {"guess": _shown(id, guess), "factor": markup.number(factor(off[id]))}
            why = say("why", "high" if off[id] > 0 else "low", **values)
            found.append(Revisit(id, _question(id), why, _notebook(id, copy), _cell(id), abs(off[id])))
        elif right is False and id not in off and guess.get("sure") == "very":
            why = say("why", "sure")
            found.append(Revisit(id, _question(id), why, _notebook(id, copy), _cell(id), WRONG_BUT_SURE))
    for id, outcomes in _outcomes(events).items():
        if "right" not in outcomes:
            why = say("why", "tried")
            found.append(Revisit(id, _exercise(id), why, _notebook(id, copy, "exercises"), "", 0.0))
    return tuple(sorted(found, key=lambda item: -item.surprise)[:REVISIT])


def _card(id: str) -> Card | None:
    try:
        return read_card(id)
    except CardError:  # a card that this version does not have any more
        return None


def _question(id: str) -> str:
    card = _card(id)
    text = textwrap.shorten(markup.plain(card.prompt), TITLE, placeholder=" …") if card else id
    return say("claim", claim=text) if card and card.kind == "claim" else text


def _shown(id: str, guess: Mapping[str, Any]) -> str:
    card, value = _card(id), _float(guess.get("value"))
    return card.shown(value) if card and value is not None else str(guess.get("text", guess.get("value", "")))


def _exercise(id: str) -> str:
    """The exercise's function, as it stands in its notebook; the id where the exercise is gone."""
    return _exercises(units.unit_of(id) or "").get(id, {}).get("signature", id)


def _notebook(id: str, copy: Path | None, top: str = "notebooks") -> str:
    unit = units.unit_of(id)
    if copy is None or unit is None:
        return ""
    path = copy / top / (unit if top == "exercises" else "") / f"{unit}.ipynb"
    return Path(relpath(path)).as_posix() if path.is_file() else ""


def _cell(id: str) -> str:
    unit = units.unit_of(id)
    return units.cell_in_view(unit, units.about(unit).get("cells", {}).get(id, "")) if unit else ""
