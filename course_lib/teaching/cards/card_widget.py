"""A card on the screen: the form of `cards.js` around the texts, the state and the answer of a card.

What is shown follows from the record's events alone, so a card comes back as it was after a kernel restart, and a
second click or a second window finds what the first one did. Needs anywidget.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from course_lib.teaching import live, markup
from course_lib.teaching.cards import answers
from course_lib.teaching.cards.answer_html import answer_html, earlier_html
from course_lib.teaching.cards.card import hint_html, hint_label, prompt_html
from course_lib.teaching.cards.card_state import Guess, State, round_now, stamp, state
from course_lib.teaching.cards.card_texts import Card
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.checks.typed_number import parse_number
from course_lib.teaching.record.record import SURE, Record

STEPS = 100  # of the slider from end to end


class CardWidget(anywidget.AnyWidget):
    """The form; `face` are its texts, `view` is what it shows now. It sends {"do", "round", "guess", "sure"} for each
    click.
    """

    _esm = live.source("make.js", "pointer.js", "cards/cards.js")
    _css = live.source("range.css", "cards/cards.css")
    face = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)


class LiveCard(live.Live):
    """One live card; `.widget` is what is on the screen. Made by `card.card(id)`, and by a review with the `record` as
    it is seen there, and a `place` that tells the browser its drafts from those of the lesson.
    """

    def __init__(self, rounds: Sequence[Card], record=None, place: str = ""):
        self._rounds = rounds
        self._record = record or Record.open()
        self._card = rounds[0]  # the round that the card is in, and what happened in it
        self._state = State()
        self._answer: answers.Answer | None = None
        self._earlier = ""
        self._retrying = False
        self._turn = 0
        self._read()
        # The first view goes along when the widget is made: a form that is painted without one would be empty.
        widget = CardWidget(face=face(rounds, place), view=self._view(self._answered()))
        super().__init__(widget, f"card {self._card.id}", say("gone"))
        widget.on_msg(lambda _, content, __: self.act(content))

    # ---- What a click does ----

    def act(self, content: Mapping[str, Any]) -> None:
        """Do what a click asks for: `do` is commit, retry, reveal, hint or again; a commit brings the `guess` as typed
        and how `sure`. A click on a `round` that another window has left changes nothing.
        """
        self._read()
        line = self._do(content) if content.get("round", 0) == self._card.round else ""
        self._read()
        try:
            if content.get("do") == "commit" and not line:
                self._prepare()
        finally:  # a learner may interrupt what takes long
            self.widget.view = self._view(line or self._answered())

    def _prepare(self) -> None:
        """Work the answer out as soon as a guess is committed, so that the reveal, which shows it, takes no time though
        the truth be measured. What goes wrong is said at the reveal, which tries again.
        """
        wanted = self._state.guesses and not self._state.revealed and self._answer is None
        if wanted and self._card.kind != "reflection":
            self.widget.view = self._view(self._said("preparing"))
            self._compute()

    def _do(self, content: Mapping[str, Any]) -> str:
        """Act on the state that was just read. Returns the line to show where it is not the one of the state."""
        match content:
            case {"do": "commit", "guess": str(guess), "sure": str(sure)} if not self._locked():
                return self._commit(guess.strip(), sure)
            case {"do": "retry"}:
                self._retrying = bool(self._state.guesses) and not self._state.revealed
            case {"do": "reveal"} if self._state.guesses and not self._state.revealed:
                return self._reveal()
            case {"do": "hint"} if self._state.hints < len(self._card.hints):
                self._add("hint", {"n": self._state.hints + 1})
            case {"do": "again"} if self._state.revealed and self._card.round + 1 < len(self._rounds):
                self._record.add("round", self._card.id, {"round": self._card.round + 1})
        return ""

    def _commit(self, typed: str, sure: str) -> str:
        if self._card.kind == "reflection":
            if not typed or len(typed) > self._card.limit:
                return say("too-long", length=len(typed), limit=self._card.limit) if typed else say("no-text")
            self._add("guess", {"value": typed})
        else:
            transfer = self._card.transfer
            known = bool(sure.strip()) if transfer else sure in SURE
            if not typed or not known:
                missing = "no-sure" if typed else "no-guess" if known else "neither"
                return say("transfer", missing) if transfer else say(missing)
            try:
                value = self._value(typed)
                beside = {"bound": bound(sure)} if transfer else {"sure": sure}
            except ValueError as error:
                return str(error)
            self._add("guess", {"value": value, "text": typed, **beside})
        self._retrying = False
        return ""

    def _value(self, typed: str) -> float | str:
        if self._card.kind == "number":
            return parse_number(typed, self._card.unit, self._card.scale)
        if self._card.choice(typed) is None:
            raise ValueError(say("no-guess"))
        return typed

    def _reveal(self) -> str:
        line = ""
        if self._answer is None:
            self.widget.view = self._view(say("computing"))
            line = self._compute()
        if not line:
            self._add("reveal", answers.outcome(self._card, self._state.guesses[0], self._answer))
            self._retrying = False
        return line

    def _add(self, kind: str, payload: Mapping[str, Any]) -> None:
        self._record.add(kind, self._card.id, {**payload, **stamp(self._card)})

    # ---- What is shown ----

    def _read(self) -> None:
        """Take the round and its state from the record."""
        events = self._record.events(self._card.id)
        now = round_now(self._rounds, events)
        if now != self._card.round:
            self._card, self._answer, self._retrying = self._rounds[now], None, False
            before = [(card, state(card, events)) for card in self._rounds[:now]]
            self._earlier = "".join(
                earlier_html(card, done.guesses, done.truth) for card, done in before if done.truth is not None
            )
        self._state = state(self._card, events)

    def _answered(self) -> str:
        """Compute the answer of a round that was revealed, where that is still to be done."""
        return self._compute() if self._state.revealed and self._answer is None else ""

    def _compute(self) -> str:
        """Compute the answer; where its function fails, the one line that says so."""
        try:
            self._answer = answers.answer(self._card)
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            return say("failed", reason=reason)
        return ""

    def _locked(self) -> bool:
        return self._state.revealed or (bool(self._state.guesses) and not self._retrying)

    def _view(self, line: str = "") -> dict[str, Any]:
        """What the form shows: the state, with a line or the one that belongs to the state."""
        card, found = self._card, self._state
        last = found.guesses[-1] if found.guesses else Guess("", "")
        answered = found.revealed and self._answer is not None
        open_hints = found.hints == len(card.hints)
        enabled = {
            "commit": not self._locked(),
            "retry": bool(found.guesses) and not found.revealed and not self._retrying,
            "reveal": bool(found.guesses) and not answered,
            "again": answered and card.round + 1 < card.rounds,
            "hint": not open_hints,
        }
        self._turn += 1  # makes every answer a change, so that the page knows that its message has arrived
        return {
            "turn": self._turn,
            "round": card.round,
            "saved": len(found.guesses),
            "guess": last.text if card.kind == "number" else last.value,
            "sure": last.sure if last.bound is None else f"{last.bound:.15g}",
            "locked": self._locked(),
            "enabled": [name for name, on in enabled.items() if on],
            "message": " ".join(filter(None, [line or self._line(), self._record.notice])),
            "hint": "" if not card.hints else say("all-hints") if open_hints else hint_label(card, found.hints),
            "hints": [hint_html(card, n) for n in range(found.hints)],
            "answer": answer_html(card, found.guesses, self._answer) if answered else "",
            "earlier": self._earlier,
        }

    def _line(self) -> str:
        card, guesses = self._card, self._state.guesses
        reflection = card.kind == "reflection"
        if self._state.revealed:
            return say("beside" if reflection else "revealed")
        if not guesses:
            return say("next-round") if card.round else say("start", card.form)
        if reflection:
            return say("rewrite" if self._retrying else "kept")
        return self._said("retry" if self._retrying else "retried" if len(guesses) > 1 else "committed")

    def _said(self, key: str) -> str:
        """A message with the first guess, the last one and how sure that is."""
        card, first, last = self._card, self._state.guesses[0], self._state.guesses[-1]
        sure = say.table("sure").get(last.sure, last.sure)
        if last.bound is not None:
            sure = say("within", factor=markup.number(last.bound))
        return say(key, first=card.shown(first.value), guess=card.shown(last.value), sure=sure)


def bound(typed: str) -> float:
    """The factor that was typed. ValueError with one line where it is none or below 1."""
    factor = parse_number(typed, "×")
    if factor < 1:
        raise ValueError(say("below-one"))
    return factor


# ---- The texts of the form ---------------------------------------------------------------------------------------


def face(rounds: Sequence[Card], place: str = "") -> dict[str, Any]:
    """The texts of the form, none of which gives the answer away."""
    card = rounds[0]
    return {
        "draft": f"{place}{card.id}",
        "kind": card.kind,
        "name": say("names", card.form),
        "guess": say("asked", card.kind),
        "unit": card.unit,
        "rounds": [
            {
                "prompt": prompt_html(each),
                "choices": [[choice.key, markup.plain(choice.text)] for choice in each.choices],
            }
            for each in rounds
        ],
        "slider": slider(card) if card.range else None,
        "sure": say("how-sure"),
        "levels": [] if card.kind == "reflection" or card.transfer else list(map(list, say.table("sure").items())),
        "bound": say("may-be-off") if card.transfer else "",
        "buttons": {name: text for name, text in say.table("buttons").items() if name != "again" or len(rounds) > 1},
        "waiting": say("waiting"),
        "silent": say("silent"),
        "stopped": say("stopped"),
    }


def slider(card: Card) -> dict[str, Any]:
    """The slider's values from end to end of the card's range: on a log scale with two digits each, none twice."""
    low, high = card.range
    log = card.scale == "log"
    if log:
        ratio = math.log10(high / low)
        values = sorted({float(f"{low * 10 ** (ratio * step / STEPS):.2g}") for step in range(STEPS + 1)})
    else:
        values = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
    return {
        "values": values,
        "boxes": [markup.number(value) for value in values],
        "texts": [card.shown(value) for value in values],
        "log": log,
        "label": say("slide"),
        "unset": say("unset"),
    }
