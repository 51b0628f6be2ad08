"""The docket of a unit: every claim on trial with its computed ruling, in one table."""

import html
from collections.abc import Mapping, Sequence

from course_lib import units
from course_lib.teaching import markup
from course_lib.teaching.cards import answer_html, answers
from course_lib.teaching.cards.card_texts import Card, read_card
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.static import Static, notice

WIDTHS = ("27%", "10%", "29%", "34%")  # of the columns

# In the tags: JupyterLab's own rules align cells right, and a notebook that it does not trust loses style sheets.
_CELL = "text-align:left;vertical-align:top;font-weight:normal;overflow-wrap:break-word"
_PARAGRAPH = '<p style="margin:0 0 0.5em">'


def verdicts(prefix: str | None = None) -> Static:
    """Decide every claim of the unit `prefix` ("q05") now, by running its code, and show the rulings, folded.

    Without a prefix: the claims of all units, each with a link to the cell that decides it. Folded so that "Run All"
    does not answer the claims that are still to be voted on. A claim whose code fails has no ruling, and its row says
    why.
    """
    if prefix is None:
        found = [_unit(unit) for unit in units.names()]
        return Static("".join(one.html for one in found if one), "\n\n".join(one.text for one in found if one))
    unit = units.unit_of(f"{prefix}.")
    try:
        claims = _claims(unit) if unit else []
    except ValueError as error:
        return notice(str(error))
    if not claims:
        return notice(say("no-claims", prefix=prefix))
    return _docket(claims, say("claims", number=len(claims)), {})


def _claims(unit: str) -> list[Card]:
    return [read_card(id) for id, table in units.cards(unit).items() if table.get("kind") == "claim"]


def _unit(unit: str) -> Static | None:
    """The docket of one unit among others, with links into its notebook; None where it has none."""
    try:
        claims = _claims(unit)
    except ValueError as error:
        return notice(str(error))
    cells = units.about(unit).get("cells", {})
    places = {claim.id: cells.get(claim.id) or cells.get("verdicts") for claim in claims}
    links = {id: f"{unit}.ipynb#cell-id={cell}" for id, cell in places.items() if cell}
    summary = say("claims-of-unit", title=units.about(unit).get("title", unit), number=len(claims))
    return _docket(claims, summary, links) if claims else None


def _docket(claims: Sequence[Card], summary: str, links: Mapping[str, str]) -> Static:
    """A folded table of claims; `links`: claim id -> where it is decided."""
    rulings, rows = zip(*(_decide(claim, links.get(claim.id, "")) for claim in claims), strict=True)
    head = "".join(
        f'<th scope="col" style="{_CELL};width:{width}"><strong>{name}</strong></th>'
        for name, width in zip(say.all("columns"), WIDTHS, strict=True)
    )
    table = (
        f'<table style="table-layout:fixed;width:100%"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    shown = f"<details><summary>{html.escape(summary)}</summary>{table}</details>"
    lines = [f"{ruling}: {_name(claim)}: {claim.prompt}" for claim, ruling in zip(claims, rulings, strict=True)]
    return Static(shown, "\n".join([summary, *lines]))


def _name(claim: Card) -> str:
    return claim.id.partition(".")[2].upper()


def _decide(claim: Card, link: str) -> tuple[str, str]:
    """The ruling of a claim in words, and its row, with a link to where it is decided."""
    try:
        verdict = answers.answer(claim).verdict
        computed = [f"{label}: {value}" for label, value in answer_html.evidence(claim, verdict)]
        lines = [*filter(None, [answer_html.because(claim, verdict)]), *computed]
        ruling, true = say("on-docket", verdict.ruling), answer_html.corrected(claim, verdict)
    except Exception as error:  # whatever a claim's code raises, or its texts lack, concerns its own row only
        ruling, lines, true = say("on-docket", "undecided"), [f"{type(error).__name__}: {error}"], ""
    return ruling, _row(claim, link, ruling, lines, true)


def _row(claim: Card, link: str, ruling: str, lines: list[str], true: str) -> str:
    source = f"{_PARAGRAPH}<em>{html.escape(claim.source)}</em></p>" if claim.source else ""
    name = f"<strong>{html.escape(_name(claim))}</strong>"
    name = f'<a href="{html.escape(link)}">{name}</a>' if link else name
    name = f"{_PARAGRAPH}{name}</p>"
    cells = [
        f"<strong>{html.escape(ruling)}</strong>",
        "".join(f"{_PARAGRAPH}{html.escape(line)}</p>" for line in lines),
        _prose(true),
    ]
    return (
        f'<tr><th scope="row" style="{_CELL}">{name}{_prose(claim.prompt)}{source}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
        + "</tr>"
    )


def _prose(text: str) -> str:
    return markup.markdown(text).replace("<p>", _PARAGRAPH)
