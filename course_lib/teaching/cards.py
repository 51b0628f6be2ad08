"""Prediction cards: the learner commits a guess and how sure it is, then the answer is computed.

`card("q05.linear-1-to-100")` shows one card. Its texts come from the unit's `cards.toml`, its answer from `truths.py`
or `claims.py`, and what the learner did from the record. This module holds all that needs no widget: the texts, the
reading of a typed number, the state and the answer's HTML; `card_widget.py` puts it on the screen.

A card never raises, so that it never stops "Run All": what is wrong with it is said in one line in its place.
"""

import difflib
import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.teaching import markup, units
from course_lib.teaching.static import Static, is_static, notice
from course_lib.teaching.verdict import Verdict

KINDS = ("number", "choice", "claim")
SCALES = ("log", "linear")
HINT_NAMES = ("the idea", "the formula", "the first line")
RULING_CHOICES = {"holds": "It holds", "holds-if": "It holds only under a condition", "fails": "It fails"}

NO_WIDGETS = "A package is missing here ({package}), so this card takes no guess. Get it with: pip install {package}"
LIVE_ELSEWHERE = "The answer appears in JupyterLab, once you have committed a guess there."


class CardError(ValueError):
    """A card that does not exist or whose texts are incomplete; the message is one line for the learner."""


# ---- The texts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    key: str
    text: str
    why: str = ""


@dataclass(frozen=True)
class Card:
    """The texts of one card, as `cards.toml` states them. A claim has the three rulings as its choices."""

    id: str
    folder: str
    kind: str
    prompt: str
    hints: tuple[str, ...] = ()
    reason: str = ""
    unit: str = ""
    scale: str = "log"
    range: tuple[float, float] | None = None
    tolerance: float = 0.0
    slips: tuple[tuple[float, str], ...] = ()
    choices: tuple[Choice, ...] = ()
    source: str = ""
    corrected: str = ""

    def choice(self, key: str) -> Choice | None:
        return next((choice for choice in self.choices if choice.key == key), None)

    def shown(self, value: float | str) -> str:
        """A guess or an answer as the learner reads it, with its unit."""
        if self.kind == "number":
            return f"{markup.number(value)} {self.unit}".strip()
        choice = self.choice(value)
        return markup.plain(choice.text) if choice else value


def read_card(id: str) -> Card:
    """The card of this id. CardError for an unknown id (it names the nearest) and for texts that are incomplete."""
    unit = units.unit_of(id)
    try:
        tables = units.cards(unit) if unit else {}
    except ValueError as error:
        raise CardError(str(error)) from None
    if id not in tables:
        raise CardError(_unknown(id))
    return parse_card(id, unit, tables[id])


def parse_card(id: str, folder: str, table: Mapping[str, Any]) -> Card:
    """The card that a table of `cards.toml` states. CardError names the card and the field that is missing or wrong."""

    def need(name: str, types: type | tuple[type, ...]):
        if name not in table:
            raise CardError(f"The card {id} has no {name!r} in cards.toml.")
        if not isinstance(table[name], types):
            raise CardError(f"The card {id} has {name}={table[name]!r} in cards.toml, which is of the wrong type.")
        return table[name]

    kind = need("kind", str)
    if "docket" in table and not (kind == "claim" and isinstance(table["docket"], bool)):
        raise CardError(
            f"The card {id} has docket={table['docket']!r} in cards.toml; only a claim has it, true or false."
        )
    common = {
        "id": id,
        "folder": folder,
        "kind": kind,
        "hints": tuple(table.get("hints", ())),
        "reason": table.get("reason", ""),
    }
    if kind == "claim":
        choices = tuple(Choice(key, text) for key, text in RULING_CHOICES.items())
        claim, source, corrected = need("claim", str), table.get("source", ""), need("corrected", str)
        return Card(**common, prompt=claim, source=source, corrected=corrected, choices=choices)
    if kind == "choice":
        try:
            choices = tuple(Choice(**choice) for choice in need("choices", list))
        except TypeError:
            raise CardError(f"The card {id} needs key, text and why in each of its choices in cards.toml.") from None
        return Card(**common, prompt=need("prompt", str), choices=choices)
    if kind == "number":
        scale, span = table.get("scale", "log"), table.get("range")
        if scale not in SCALES:
            raise CardError(f"The card {id} has scale={scale!r} in cards.toml; allowed: {', '.join(SCALES)}.")
        if span is not None and not (len(span) == 2 and span[0] < span[1] and (scale == "linear" or span[0] > 0)):
            raise CardError(
                f"The card {id} has range={span!r} in cards.toml; it takes [low, high], above zero on a log scale."
            )
        try:
            slips = tuple((float(value), text) for value, text in table.get("slips", {}).items())
        except ValueError:
            raise CardError(f"The card {id} has a slip in cards.toml whose key is not a number.") from None
        return Card(
            **common,
            prompt=need("prompt", str),
            unit=need("unit", str),
            scale=scale,
            range=tuple(span) if span else None,
            tolerance=need("tolerance", (int, float)),
            slips=slips,
        )
    raise CardError(f"The card {id} has kind={kind!r} in cards.toml; allowed: {', '.join(KINDS)}.")


def _unknown(id: str) -> str:
    known = [known for unit in units.names() for known in _ids(unit)]
    near = difflib.get_close_matches(id, known, n=1, cutoff=0.4)
    if near:
        return f"There is no card {id!r}. The nearest is {near[0]!r}."
    return f"There is no card {id!r}. Ids look like 'q05.linear-1-to-100'."


def _ids(unit: str) -> list[str]:
    try:
        return list(units.cards(unit))
    except ValueError:
        return []


# ---- A typed number ----------------------------------------------------------------------------------------------

_NUMBER = r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d+)?"
_TYPED = re.compile(rf"(?P<top>{_NUMBER})\s*(?:/\s*(?P<bottom>{_NUMBER}))?\s*(?P<unit>[^\d\s.,+\-^*/=<>~].*)?")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,])")
_PREFIXES = {
    "n": 1e-9,
    "µ": 1e-6,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BASES = ("FLOP/s", "FLOP/B", "tokens/s", "B/s", "FLOP", "Wh", "B", "s", "W", "J")
_COUNTS = {prefix: _PREFIXES[prefix] for prefix in ("k", "M", "G", "T")}


def parse_number(typed: str, unit: str = "", scale: str = "log") -> float:
    """The number that a learner typed, in the card's unit: "3e9", "1/3", "1,000", "3 GB" (with the card's unit, or the
    same unit under another SI prefix). A comma groups thousands. ValueError with one line that says what the box reads.
    """
    typed = typed.strip()
    text = typed.replace("−", "-")
    if unit in ("×", "$"):  # these are also written before the number
        text = text.removeprefix(unit).removeprefix("x" if unit == "×" else "").lstrip()
    match = _TYPED.fullmatch(text)
    value = _value(match)
    if value is None:
        pointed, commas = _DECIMAL_COMMA.subn(r"\1.\2", text)
        if commas == 1 and _value(_TYPED.fullmatch(pointed)) is not None:
            raise ValueError(f"Write {pointed} with a point.")
        raise ValueError(f"“{typed}” is not a number that this box reads. Write it like 1200, 1,200, 1.2e3 or 1/3.")
    factor = _factor((match["unit"] or "").strip(), unit)
    if factor is None:
        if not unit:
            raise ValueError(f"“{typed}” has a unit, but this card asks for a pure number.")
        raise ValueError(f"“{typed}” is in another unit than this card. Write the number alone, in {unit}.")
    value *= factor
    if not math.isfinite(value):
        raise ValueError(f"“{typed}” is larger than any number a computer calculates with, or divides by zero.")
    if scale == "log" and value <= 0:
        raise ValueError(f"“{typed}” is not above zero; the answer of this card is.")
    return value


def _value(match: re.Match | None) -> float | None:
    """What a match of `_TYPED` is worth without its unit; None without a match or without digits."""
    if match is None:
        return None
    try:
        value = float(match["top"].replace(",", ""))
        divisor = 1.0 if match["bottom"] is None else float(match["bottom"].replace(",", ""))
    except ValueError:
        return None
    return value / divisor if divisor else math.inf


def _factor(typed: str, unit: str) -> float | None:
    """What a number in the typed unit is multiplied with to be in the card's unit; None where the two do not fit."""
    if typed in ("", unit, unit.removesuffix("s")) or (unit == "×" and typed in ("x", "X", "times")):
        return 1.0
    for base in _BASES:
        prefixes = _PREFIXES | (_BINARY if base in ("B", "B/s") else {})
        if (own := prefixes.get(unit.removesuffix(base))) and unit.endswith(base):
            other = prefixes.get(typed.removesuffix(base)) if typed.endswith(base) else None
            return other and other / own
    return _COUNTS.get(typed)


# ---- What the learner did ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    value: float | str
    text: str  # as it was typed
    sure: str  # "guess" | "fairly" | "very"


@dataclass(frozen=True)
class State:
    """What happened on a card so far: the guesses before the reveal in their order, how many hints are open, whether
    revealed.
    """

    guesses: tuple[Guess, ...] = ()
    hints: int = 0
    revealed: bool = False


def state(card: Card, events: Sequence[Mapping[str, Any]]) -> State:
    """The state that the record's events of this card lead to. A guess that no longer fits the card's texts is passed
    over.
    """
    guesses, hints, revealed = [], 0, False
    for event in events:
        payload = event["payload"]
        if event["kind"] == "guess" and not revealed and _fits(card, payload):
            guesses.append(Guess(payload["value"], str(payload.get("text", payload["value"])), payload.get("sure", "")))
        elif event["kind"] == "hint":
            hints = min(hints + 1, len(card.hints))
        elif event["kind"] == "reveal":
            revealed = bool(guesses)
    return State(tuple(guesses), hints, revealed)


def _fits(card: Card, payload: Mapping[str, Any]) -> bool:
    value = payload.get("value")
    if card.kind == "number":
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, str) and card.choice(value) is not None


# ---- The answer --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The computed truth: a number in the card's unit or a choice's key; for a claim, with the verdict behind it."""

    truth: float | str
    verdict: Verdict | None = None


def answer(card: Card) -> Answer:
    """Compute the answer of a card. Whatever its function raises passes through; a value of the wrong kind is a
    ValueError.
    """
    if card.kind == "claim":
        verdict = units.function(card.folder, "claims", card.id)()
        if not isinstance(verdict, Verdict):
            raise ValueError(f"the claim's function returned {verdict!r} where a Verdict is expected")
        return Answer(verdict.ruling, verdict)
    truth = units.function(card.folder, "truths", card.id)()
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
        return abs(math.log(guess / truth)) <= math.log1p(card.tolerance) + 1e-12
    return abs(guess - truth) <= card.tolerance * (abs(truth) or 1.0) + 1e-12


def right(card: Card, guess: float | str, truth: float | str) -> bool:
    return close(card, guess, truth) if card.kind == "number" else guess == truth


def decades(guess: float | str, truth: float | str) -> float | None:
    """log10(guess / truth): +1 is ten times too high. None where one of them is not a number above zero."""
    if isinstance(guess, str) or isinstance(truth, str) or guess <= 0 or truth <= 0:
        return None
    return math.log10(guess) - math.log10(truth)


def outcome(card: Card, first: Guess, found: Answer) -> dict[str, Any]:
    """What the record keeps of a reveal; it judges the first guess."""
    return {
        "truth": found.truth,
        "right": right(card, first.value, found.truth),
        "decades": decades(first.value, found.truth),
    }


# ---- The answer as HTML ------------------------------------------------------------------------------------------


def answer_html(card: Card, guesses: Sequence[Guess], found: Answer) -> str:
    """The revealed answer: the first guess against it, the reasoning, and why each choice or slip tempts."""
    parts = {"number": _number_answer, "choice": _choice_answer, "claim": _claim_answer}[card.kind]
    return f'<section class="course-answer" aria-label="Answer">{"".join(parts(card, guesses, found))}</section>'


def _number_answer(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    first, last, truth = guesses[0], guesses[-1], found.truth
    parts = [f"<p><strong>{html.escape(comparison(card, first.value, truth))}</strong></p>"]
    if last.value != first.value:
        ending = "That is right." if close(card, last.value, truth) else "That is not right."
        parts.append(f"<p>Your last guess was {html.escape(card.shown(last.value))}. {ending}</p>")
    parts.append(scale_picture(card, first.value, truth))
    for value, text in card.slips:
        if any(close(card, guess.value, value) and not close(card, guess.value, truth) for guess in guesses):
            parts.append(f'<div class="course-slip">{markup.markdown(text)}</div>')
    return [*parts, markup.markdown(card.reason.replace("{truth}", markup.number(truth)))]


_COMPARED = {
    "right": "You said {guess}; it is {truth}. That is right, within the {tolerance:.0f} % that count as right.",
    "high": "You said {guess}; it is {truth}. That is too high by a factor of {factor}, or {decades:.2f} decades.",
    "low": "You said {guess}; it is {truth}. That is too low by a factor of {factor}, or {decades:.2f} decades.",
    "above": "You said {guess}; it is {truth}. That is {gap} too high.",
    "below": "You said {guess}; it is {truth}. That is {gap} too low.",
}


def comparison(card: Card, guess: float, truth: float) -> str:
    """One sentence: the guess, the answer, and how far apart they are."""
    off = decades(guess, truth)
    if close(card, guess, truth):
        case = "right"
    elif card.scale == "linear" or off is None:
        case = "above" if guess > truth else "below"
    else:
        case = "high" if off > 0 else "low"
    return _COMPARED[case].format(
        guess=card.shown(guess),
        truth=card.shown(truth),
        tolerance=100 * card.tolerance,
        gap=card.shown(abs(guess - truth)),
        decades=abs(off or 0.0),
        factor=markup.number(10 ** min(abs(off or 0.0), 300)),
    )


def _choice_answer(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    first, last = guesses[0].value, guesses[-1].value
    sentence = "Your first choice was right." if first == found.truth else "Your first choice was not the right one."
    items = []
    for choice in card.choices:
        marks = [
            *(["✓ right"] if choice.key == found.truth else []),
            *(["your first choice"] if choice.key == first else []),
            *(["your last choice"] if choice.key == last != first else []),
        ]
        mark = f" <em>({', '.join(marks)})</em>" if marks else ""
        items.append(f"<dt>{html.escape(markup.plain(choice.text))}{mark}</dt><dd>{markup.markdown(choice.why)}</dd>")
    reason = card.reason.replace("{truth}", card.shown(found.truth))
    return [f"<p><strong>{sentence}</strong></p>", markup.markdown(reason), f"<dl>{''.join(items)}</dl>"]


_RULED = {
    "holds": "The claim holds.",
    "holds-if": "The claim holds only under a condition.",
    "fails": "The claim fails.",
}
_VOTED = {
    "holds": "Your first vote was that it holds.",
    "holds-if": "Your first vote was that it holds only under a condition.",
    "fails": "Your first vote was that it fails.",
}


def corrected(card: Card, verdict: Verdict) -> str:
    """The claim said correctly, in Markdown, with the evidence that it names filled in."""
    try:
        return card.corrected.format_map(verdict.evidence)
    except (KeyError, IndexError, ValueError):  # braces that name no evidence are text
        return card.corrected


def evidence(verdict: Verdict) -> list[tuple[str, str]]:
    """What was computed for a ruling, as (label, value) texts."""
    return [
        (label, value if isinstance(value, str) else markup.number(value)) for label, value in verdict.evidence.items()
    ]


def _claim_answer(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    verdict = found.verdict
    computed = evidence(verdict)
    said = "Said in full:" if verdict.ruling == "holds" else "Said correctly:"
    return [
        f"<p><strong>{_RULED[verdict.ruling]}</strong> {_VOTED[guesses[0].value]}</p>",
        f"<p>{html.escape(verdict.because)}</p>" if verdict.because else "",
        markup.table(("evidence", "computed just now"), computed) if computed else "",
        f"<p><strong>{said}</strong></p>{markup.markdown(corrected(card, verdict))}",
    ]


def scale_picture(card: Card, guess: float, truth: float) -> str:
    """The first guess and the answer on one axis, as SVG. Shape and words tell them apart, not colour."""
    log = card.scale == "log" and guess > 0 and truth > 0
    values = [guess, truth, *(card.range or ())]
    if log:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        high += low == high
        step = -(-(high - low) // 8)
        ticks = [(tick, _power(tick)) for tick in range(low, high + 1, step)]
    else:
        low, high = min(values), max(values)
        high += low == high
        ticks = [(tick, markup.number(tick)) for tick in (low, (low + high) / 2, high)]

    def x(value: float) -> float:
        return 30 + 460 * ((math.log10(value) if log else value) - low) / (high - low)

    def label(value: float, y: int, text: str) -> str:
        anchor = "start" if x(value) < 140 else "end" if x(value) > 380 else "middle"
        return f'<text x="{x(value):.1f}" y="{y}" text-anchor="{anchor}">{html.escape(text)}</text>'

    axis = "".join(
        f'<path d="M{30 + 460 * (tick - low) / (high - low):.1f} 46v8"/>'
        f'<text class="tick" x="{30 + 460 * (tick - low) / (high - low):.1f}" y="72" text-anchor="middle">{text}</text>'
        for tick, text in ticks
    )
    shown_guess, shown_truth = card.shown(guess), card.shown(truth)
    title = f"On one axis: your first guess, {shown_guess}, and the answer, {shown_truth}."
    a, b = x(guess), x(truth)
    return (
        f'<svg class="course-scale" viewBox="0 14 520 90" role="img" aria-label="{html.escape(title)}">'
        f"<title>{html.escape(title)}</title>"
        f'<path d="M30 50H490"/>{axis}<path class="gap" d="M{min(a, b):.1f} 50H{max(a, b):.1f}"/>'
        f'<circle class="guess" cx="{a:.1f}" cy="50" r="7"/>{label(guess, 30, "your first guess: " + shown_guess)}'
        f'<path class="truth" d="M{b:.1f} 41l9 9l-9 9l-9-9z"/>{label(truth, 96, "answer: " + shown_truth)}'
        "</svg>"
    )


def _power(exponent: int) -> str:
    return f"{10.0**exponent:g}" if -3 <= exponent <= 4 else f"1e{exponent}"


# ---- The static form ---------------------------------------------------------------------------------------------


def prompt_html(card: Card) -> str:
    if card.kind == "claim":
        source = f"<footer>{html.escape(card.source)}</footer>" if card.source else ""
        return f"<p><strong>On trial</strong></p><blockquote>{markup.markdown(card.prompt)}{source}</blockquote>"
    return f"<p><strong>Predict</strong></p>{markup.markdown(card.prompt)}"


def static_card(card: Card, line: str = LIVE_ELSEWHERE) -> Static:
    """The card without a widget: prompt, unit or choices, folded hints, never the answer."""
    options = [markup.plain(choice.text) for choice in card.choices]
    if options:
        ask = "<ul>" + "".join(f"<li>{html.escape(option)}</li>" for option in options) + "</ul>"
        ask_text = "\n".join(f"- {option}" for option in options)
    else:
        ask_text = f"Your guess, in {card.unit}: …" if card.unit else "Your guess: …"
        ask = f"<p>{html.escape(ask_text)}</p>"
    hints = "".join(
        f"<details><summary>{hint_label(card, n)}</summary>{markup.markdown(hint)}</details>"
        for n, hint in enumerate(card.hints)
    )
    page = f'<div class="course-card">{prompt_html(card)}{ask}{hints}<p><em>{html.escape(line)}</em></p></div>'
    return Static(page, f"{markup.plain(card.prompt)}\n{ask_text}\n{line}")


def hint_label(card: Card, n: int) -> str:
    """The label of the n-th hint, counted from 0."""
    if len(card.hints) == len(HINT_NAMES):
        return f"Hint {n + 1} of {len(card.hints)}: {HINT_NAMES[n]}"
    return f"Hint {n + 1} of {len(card.hints)}"


def hints_html(card: Card, opened: int) -> str:
    """The hints that are open, in their order."""
    return "".join(
        f"<p><strong>{hint_label(card, n)}</strong></p>{markup.markdown(text)}"
        for n, text in enumerate(card.hints[:opened])
    )


# ---- card(id) ----------------------------------------------------------------------------------------------------


def card(id: str):
    """Show the card `id`: a live one in a notebook, its static form while a notebook is built (`COURSE_STATIC=1`).

    Returns something to display in every case; an id that does not exist gives one line that names the nearest.
    """
    try:
        found = read_card(str(id))
    except CardError as error:
        return notice(str(error))
    if is_static():
        return static_card(found)
    try:
        from course_lib.teaching.card_widget import LiveCard
    except ImportError as error:
        return static_card(found, NO_WIDGETS.format(package=error.name))
    return LiveCard(found)
