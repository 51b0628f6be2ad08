"""The revealed answer as HTML: the guess beside it, the reasoning, and why each slip or choice tempts."""

import html
import math
from collections.abc import Sequence

from course_lib.figures.tabular import html_table
from course_lib.teaching import markup
from course_lib.teaching.cards.answers import Answer, close, decades, factor, within
from course_lib.teaching.cards.card_state import Guess
from course_lib.teaching.cards.card_texts import Card, names
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.cards.verdict import Verdict


def answer_html(card: Card, guesses: Sequence[Guess], found: Answer) -> str:
    """The answer to the guesses of one round, of which there is at least one."""
    made = {"number": _number, "choice": _choice, "claim": _claim, "reflection": _reflection}[card.kind]
    return (
        f'<section class="course-answer" aria-label="{say("answer")}">{"".join(made(card, guesses, found))}</section>'
    )


# ---- A number ----------------------------------------------------------------------------------------------------


def comparison(card: Card, guess: float, truth: float) -> str:
    """One sentence: the guess, the answer, and how far apart they are."""
    off = decades(guess, truth)
    if close(card, guess, truth):
        case = "right"
    elif card.scale == "linear" or off is None:
        cases = ("points-above", "points-below") if card.unit == "%" else ("above", "below")
        case = cases[guess <= truth]
    else:
        case = "high" if off > 0 else "low"
    return say(
        "compared",
        case,
        guess=card.shown(guess),
        truth=card.shown(truth),
        tolerance=100 * card.tolerance,
        gap=card.shown(abs(guess - truth)),
        points=markup.number(abs(guess - truth)),
        decades=abs(off or 0.0),
        factor=markup.number(factor(off or 0.0)),
    )


def _number(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    first, last, truth = guesses[0], guesses[-1], found.truth
    parts = [f"<p><strong>{html.escape(comparison(card, first.value, truth))}</strong></p>"]
    if (inside := within(first, truth)) is not None:
        off = markup.number(factor(decades(first.value, truth)))
        line = say("own-bound", "inside" if inside else "outside", bound=markup.number(first.bound), factor=off)
        parts.append(f"<p>{html.escape(line)}</p>")
    if last.value != first.value:
        line = say("last-right" if close(card, last.value, truth) else "last-wrong", guess=card.shown(last.value))
        parts.append(f"<p>{html.escape(line)}</p>")
    parts.append(scale_picture(card, first.value, truth))
    for value, text in card.slips:
        if any(close(card, guess.value, value) and not close(card, guess.value, truth) for guess in guesses):
            parts.append(f'<div class="course-slip">{markup.markdown(text)}</div>')
    return [*parts, markup.markdown(card.reason.replace("{truth}", markup.number(truth)))]


# Of the picture: a dot and a diamond, each with its words, tell guess and answer apart, not their colour.


def scale_picture(card: Card, guess: float, truth: float) -> str:
    """The first guess and the answer on one axis, logarithmic where the card is, as SVG."""
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
    shown = {"guess": card.shown(guess), "truth": card.shown(truth)}
    title = html.escape(say("on-one-axis", **shown))
    a, b = x(guess), x(truth)
    return (
        f'<svg class="course-scale" viewBox="0 14 520 90" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<path d="M30 50H490"/>{axis}<path class="gap" d="M{min(a, b):.1f} 50H{max(a, b):.1f}"/>'
        f'<circle class="guess" cx="{a:.1f}" cy="50" r="7"/>{label(guess, 30, say("guess-label", **shown))}'
        f'<path class="truth" d="M{b:.1f} 41l9 9l-9 9l-9-9z"/>{label(truth, 96, say("truth-label", **shown))}'
        "</svg>"
    )


def _power(exponent: int) -> str:
    return f"{10.0**exponent:,g}" if -3 <= exponent <= 4 else f"1e{exponent}"


# ---- A choice ----------------------------------------------------------------------------------------------------


def _choice(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    first, last = guesses[0].value, guesses[-1].value
    sentence = say("first-right" if first == found.truth else "first-wrong")
    items = []
    for choice in card.choices:
        keys = {"right": found.truth, "first": first, "last": last if last != first else None}
        marks = ", ".join(say("marks", name) for name, key in keys.items() if key == choice.key)
        mark = f" <em>({marks})</em>" if marks else ""
        items.append(f"<dt>{html.escape(markup.plain(choice.text))}{mark}</dt><dd>{markup.markdown(choice.why)}</dd>")
    reason = card.reason.replace("{truth}", card.shown(found.truth))
    return [f"<p><strong>{sentence}</strong></p>", markup.markdown(reason), f"<dl>{''.join(items)}</dl>"]


# ---- A claim -----------------------------------------------------------------------------------------------------


def because(card: Card, verdict: Verdict) -> str:
    """What numbers alone do not say of a ruling; empty where they say it all."""
    return card.because.format_map(verdict.values)


def evidence(card: Card, verdict: Verdict) -> list[tuple[str, str]]:
    """What was computed for a ruling, as (label, value) texts: the rows of which the verdict has every number."""
    return [
        (label, text.format_map(verdict.values))
        for label, text in card.evidence.items()
        if names(text) <= verdict.values.keys()
    ]


def _claim(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    verdict = found.verdict
    computed, reason = evidence(card, verdict), because(card, verdict)
    ruled, voted = say("ruled", verdict.ruling), say("voted", guesses[0].value)
    said = say("in-full" if verdict.ruling == "holds" else "correctly")
    return [
        f"<p><strong>{ruled}</strong> {voted}</p>",
        f"<p>{html.escape(reason)}</p>" if reason else "",
        html_table(say.all("evidence"), computed, side="") if computed else "",
        f"<p><strong>{said}</strong></p>{markup.markdown(card.corrected.format_map(verdict.values))}",
    ]


# ---- A reflection ------------------------------------------------------------------------------------------------


def _reflection(card: Card, guesses: Sequence[Guess], found: Answer) -> list[str]:
    wrote = html.escape(guesses[-1].text)
    return [
        '<div class="course-beside">',
        f'<div><p><strong>{say("wrote")}</strong></p><p class="wrote">{wrote}</p></div>',
        f"<div><p><strong>{say('model')}</strong></p>{markup.markdown(card.reason)}</div>",
        "</div>",
    ]


# ---- Earlier rounds ----------------------------------------------------------------------------------------------


def earlier_html(card: Card, guesses: Sequence[Guess], truth: float | str) -> str:
    """A round before the present one, folded: what was asked, and the answer as the record keeps it."""
    name = say("later-round" if card.round else "round", n=card.round + 1)
    asked = markup.markdown(card.prompt)
    return f"<details><summary>{name}</summary>{asked}{answer_html(card, guesses, Answer(truth))}</details>"
