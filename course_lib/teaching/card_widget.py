"""A card on the screen: the form of `cards.js` around the texts, the state and the answer of `cards`.

What is shown follows from the record's events alone, so a card comes back as it was after a kernel restart, and a
second click or a second window finds what the first one did. Needs anywidget.
"""

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from course_lib.teaching import cards, markup
from course_lib.teaching.record import SURE, Record

STEPS = 100  # of the slider from end to end

START = "Write a guess, choose how sure you are, then commit. Nothing is judged before you reveal."
START_CHOICE = "Choose one, choose how sure you are, then commit. Nothing is judged before you reveal."
NO_GUESS = "Nothing is committed yet: the guess is missing."
NO_SURE = "Nothing is committed yet: choose how sure you are."
NEITHER = "Nothing is committed yet: give a guess and choose how sure you are."
COMMITTED = "Committed: {guess}, {sure}. You can reveal the answer, or retry first; the first guess is kept."
RETRIED = "Committed: {guess}, {sure}. Your first guess, {first}, is kept and will be compared."
RETRY = "Give your second guess and commit it. Your first guess, {first}, is kept."
WAITING = "Sent. The kernel answers when it is free."
COMPUTING = "Computing the answer…"
FAILED = "The answer cannot be computed here ({reason}). Your guess is kept; reveal again later."
REVEALED = "Revealed. The answer stands below."
ALL_HINTS = "All hints are open"

_FOLDER = files(__package__)


class CardWidget(anywidget.AnyWidget):
    """The form; `face` are its texts, `view` is what it shows now. It sends {"do", "guess", "sure"} for each click."""

    _esm = (_FOLDER / "cards.js").read_text(encoding="utf-8")
    _css = (_FOLDER / "range.css").read_text(encoding="utf-8") + (_FOLDER / "cards.css").read_text(encoding="utf-8")
    face = traitlets.Dict().tag(sync=True)
    view = traitlets.Dict().tag(sync=True)


class LiveCard:
    """One live card; `.widget` is what is on the screen. Made by `cards.card(id)`."""

    def __init__(self, card: cards.Card):
        self._card = card
        self._record = Record.open()
        self._retrying = False
        self._answer: cards.Answer | None = None
        self._turn = 0
        self.widget = CardWidget(face=face(card))
        self.widget.on_msg(lambda _, content, __: self.act(content))
        self._restore()

    def __repr__(self) -> str:
        return f"card {self._card.id}"

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = self.widget._repr_mimebundle_(**kwargs)
        return {**data, "text/plain": repr(self)}, metadata

    # ---- What a click does ----

    def act(self, content: Mapping[str, Any]) -> None:
        """Do what a click asks for: `do` is commit, retry, reveal or hint; a commit brings the `guess` as typed and
        how `sure`.
        """
        match content:
            case {"do": "commit", "guess": str(guess), "sure": str(sure)}:
                self._commit(guess.strip(), sure)
            case {"do": "retry"}:
                self._retry()
            case {"do": "reveal"}:
                self._reveal()
            case {"do": "hint"}:
                self._hint()

    def _commit(self, typed: str, sure: str) -> None:
        state = self._state()
        if self._locked(state):
            return self._restore()
        known = sure in SURE
        if not typed or not known:
            return self._show(state, NO_SURE if typed else NO_GUESS if known else NEITHER)
        try:
            value = self._read(typed)
        except ValueError as error:
            return self._show(state, str(error))
        self._record.add("guess", self._card.id, {"value": value, "text": typed, "sure": sure})
        self._retrying = False
        self._restore()

    def _read(self, typed: str) -> float | str:
        if self._card.kind == "number":
            return cards.parse_number(typed, self._card.unit, self._card.scale)
        if self._card.choice(typed) is None:
            raise ValueError(NO_GUESS)
        return typed

    def _retry(self) -> None:
        state = self._state()
        self._retrying = bool(state.guesses) and not state.revealed
        self._show(state)

    def _reveal(self) -> None:
        state = self._state()
        if not state.guesses or state.revealed:
            return self._restore()
        self._show(state, COMPUTING)
        if self._compute(state):
            self._record.add("reveal", self._card.id, cards.outcome(self._card, state.guesses[0], self._answer))
            self._retrying = False
            self._restore()

    def _hint(self) -> None:
        opened = self._state().hints
        if opened < len(self._card.hints):
            self._record.add("hint", self._card.id, {"n": opened + 1})
        self._show(self._state())

    # ---- What is shown ----

    def _state(self) -> cards.State:
        return cards.state(self._card, self._record.events(self._card.id))

    def _locked(self, state: cards.State) -> bool:
        return state.revealed or (bool(state.guesses) and not self._retrying)

    def _restore(self) -> None:
        """Show what the record says."""
        state = self._state()
        if not state.revealed or self._answer is not None or self._compute(state):
            self._show(state)

    def _compute(self, state: cards.State) -> bool:
        """Compute the answer; where its function fails, say so in one line."""
        try:
            self._answer = cards.answer(self._card)
        except Exception as error:
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            self._show(state, FAILED.format(reason=reason))
            return False
        return True

    def _show(self, state: cards.State, line: str = "") -> None:
        """Put a state on the screen, with a line or the one that belongs to the state."""
        last = state.guesses[-1] if state.guesses else cards.Guess("", "", "")
        locked = self._locked(state)
        answered = state.revealed and self._answer is not None
        open_hints = state.hints == len(self._card.hints)
        enabled = {
            "commit": not locked,
            "retry": bool(state.guesses) and not state.revealed and not self._retrying,
            "reveal": bool(state.guesses) and not answered,
            "hint": not open_hints,
        }
        self._turn += 1  # makes every answer a change, so that the page knows that its message has arrived
        self.widget.view = {
            "turn": self._turn,
            "saved": len(state.guesses),
            "guess": last.text if self._card.kind == "number" else last.value,
            "sure": last.sure,
            "locked": locked,
            "enabled": [name for name, on in enabled.items() if on],
            "message": " ".join(filter(None, [line or self._line(state), self._record.notice])),
            "hint": ""
            if not self._card.hints
            else ALL_HINTS
            if open_hints
            else cards.hint_label(self._card, state.hints),
            "hints": cards.hints_html(self._card, state.hints),
            "answer": cards.answer_html(self._card, state.guesses, self._answer) if answered else "",
        }

    def _line(self, state: cards.State) -> str:
        if state.revealed:
            return REVEALED
        if not state.guesses:
            return START if self._card.kind == "number" else START_CHOICE
        first, last = state.guesses[0], state.guesses[-1]
        line = RETRY if self._retrying else RETRIED if len(state.guesses) > 1 else COMMITTED
        return line.format(
            first=self._card.shown(first.value), guess=self._card.shown(last.value), sure=SURE.get(last.sure, last.sure)
        )


def face(card: cards.Card) -> dict[str, Any]:
    """The texts of the form, none of which gives the answer away."""
    return {
        "name": "Claim on trial" if card.kind == "claim" else "Prediction",
        "prompt": cards.prompt_html(card),
        "guess": {"number": "Your guess:", "choice": "Your choice:", "claim": "Your vote:"}[card.kind],
        "unit": card.unit,
        "choices": [[choice.key, markup.plain(choice.text)] for choice in card.choices],
        "slider": slider(card) if card.range else None,
        "sure": "How sure:",
        "levels": [[key, text] for key, text in SURE.items()],
        "buttons": {"commit": "Commit", "retry": "Retry", "reveal": "Reveal", "hint": ""},
        "waiting": WAITING,
    }


def slider(card: cards.Card) -> dict[str, Any]:
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
        "label": "or slide:",
        "unset": "not set",
    }
