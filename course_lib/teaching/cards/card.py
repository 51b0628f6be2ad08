"""Prediction cards: the learner commits a guess and how sure it is, then the answer is computed.

`card("q05.linear-1-to-100")` shows one card. Its texts come from the unit's `cards.toml` (`card_texts`), its answer
from `truths.py` or `claims.py` (`answers`, `answer_html`), and what the learner did from the record (`card_state`).
`card_widget` puts it on the screen; without a live kernel a card has the static form that is made here.

A card never raises, so that it never stops "Run All": what is wrong with it is said in one line in its place.
"""

import html

from course_lib.teaching import markup
from course_lib.teaching.cards.card_texts import Card, CardError, read_rounds
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.static import Static, is_static, notice


def card(id: str):
    """Show the card `id`: a live one in a notebook, its static form while a notebook is built (`COURSE_STATIC=1`).

    Returns something to display in every case; an id that does not exist gives one line that names the nearest.
    """
    try:
        rounds = read_rounds(str(id))
    except CardError as error:
        return notice(str(error))
    if is_static():
        return static_card(rounds[0])
    try:
        from course_lib.teaching.cards.card_widget import LiveCard
    except ImportError as error:
        return static_card(rounds[0], say("no-widgets", package=error.name))
    return LiveCard(rounds)


# ---- The static form ---------------------------------------------------------------------------------------------


def prompt_html(card: Card) -> str:
    heading, prompt = f"<p><strong>{say('headings', card.form)}</strong></p>", markup.markdown(card.prompt)
    if card.kind != "claim":
        return heading + prompt
    source = f"<footer>{html.escape(card.source)}</footer>" if card.source else ""
    return f"{heading}<blockquote>{prompt}{source}</blockquote>"


def static_card(card: Card, line: str = "") -> Static:
    """The card without a widget: prompt, unit or choices, folded hints, never the answer. line: why it is not live."""
    line = line or say("live-elsewhere")
    options = [markup.plain(choice.text) for choice in card.choices]
    if options:
        ask = "<ul>" + "".join(f"<li>{html.escape(option)}</li>" for option in options) + "</ul>"
        ask_text = "\n".join(f"- {option}" for option in options)
    else:
        ask_text = say("static-asked", "number-in-unit" if card.unit else card.kind, unit=card.unit)
        bound = say("may-be-off-static") if card.transfer else ""
        ask = "".join(f"<p>{html.escape(line)}</p>" for line in (ask_text, bound) if line)
        ask_text = "\n".join(filter(None, [ask_text, bound]))
    hints = "".join(
        f"<details><summary>{hint_label(card, n)}</summary>{markup.markdown(hint)}</details>"
        for n, hint in enumerate(card.hints)
    )
    page = f'<div class="course-card">{prompt_html(card)}{ask}{hints}<p><em>{html.escape(line)}</em></p></div>'
    return Static(page, f"{markup.plain(card.prompt)}\n{ask_text}\n{line}")


def hint_label(card: Card, n: int) -> str:
    """The label of the n-th hint, counted from 0."""
    named = say.all("named-hints")
    return named[n] if len(card.hints) == len(named) else say("hint", n=n + 1, hints=len(card.hints))


def hint_html(card: Card, n: int) -> str:
    """The n-th hint, counted from 0, under its label."""
    return f"<p><strong>{hint_label(card, n)}</strong></p>{markup.markdown(card.hints[n])}"
