"""The docket of a unit: every claim on trial with its computed ruling, in one table."""

import html

from course_lib.teaching import cards, markup, units
from course_lib.teaching.static import Static, notice

COLUMNS = {"claim": "27%", "ruling": "10%", "computed": "29%", "what is true": "34%"}  # header -> width
RULINGS = {"holds": "✓ holds", "holds-if": "~ holds if …", "fails": "✗ fails"}  # a sign and a word, never colour alone
UNDECIDED = "not decided"

# In the tags: JupyterLab's own rules align cells right, and a notebook that it does not trust loses style sheets.
_CELL = "text-align:left;vertical-align:top;font-weight:normal;overflow-wrap:break-word"
_PARAGRAPH = '<p style="margin:0 0 0.5em">'


def verdicts(prefix: str) -> Static:
    """Decide every claim of the unit `prefix` ("q05") now, by running its code, and show the rulings, folded.

    Folded so that "Run All" does not answer the claims that are still to be voted on. A claim whose code fails has no
    ruling, and its row says why.
    """
    unit = units.unit_of(f"{prefix}.")
    try:
        tables = units.cards(unit) if unit else {}
        claims = [cards.read_card(id) for id, table in tables.items() if table.get("kind") == "claim"]
    except (ValueError, cards.CardError) as error:
        return notice(str(error))
    if not claims:
        return notice(f"There are no claims on trial in {prefix!r}. Units are named by their beginning, such as 'q05'.")
    rulings, rows = zip(*map(_decide, claims), strict=True)
    summary = f"{len(claims)} claims, decided just now."
    head = "".join(
        f'<th scope="col" style="{_CELL};width:{width}"><strong>{name}</strong></th>' for name, width in COLUMNS.items()
    )
    table = (
        f'<table style="table-layout:fixed;width:100%"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    shown = f"<details><summary>{summary} Open when you have voted.</summary>{table}</details>"
    lines = [f"{ruling}: {_name(claim)}: {claim.prompt}" for claim, ruling in zip(claims, rulings, strict=True)]
    return Static(shown, "\n".join([summary, *lines]))


def _name(claim: cards.Card) -> str:
    return claim.id.partition(".")[2].upper()


def _decide(claim: cards.Card) -> tuple[str, str]:
    """The ruling of a claim in words, and its row."""
    try:
        verdict = cards.answer(claim).verdict
    except Exception as error:  # whatever a claim's code raises concerns its own row only
        return UNDECIDED, _row(claim, UNDECIDED, [f"{type(error).__name__}: {error}"], "")
    computed = [f"{label}: {value}" for label, value in cards.evidence(verdict)]
    lines = [*filter(None, [verdict.because]), *computed]
    return RULINGS[verdict.ruling], _row(claim, RULINGS[verdict.ruling], lines, cards.corrected(claim, verdict))


def _row(claim: cards.Card, ruling: str, lines: list[str], true: str) -> str:
    source = f"{_PARAGRAPH}<em>{html.escape(claim.source)}</em></p>" if claim.source else ""
    name = f"{_PARAGRAPH}<strong>{html.escape(_name(claim))}</strong></p>"
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
