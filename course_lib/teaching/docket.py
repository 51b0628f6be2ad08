"""The docket of a unit: every claim on trial with its computed ruling, in one table."""

import html

from course_lib.teaching import cards, markup, units
from course_lib.teaching.static import Static, notice

HEADERS = ("claim", "said in", "ruling", "computed", "what is true")
RULINGS = {"holds": "✓ holds", "holds-if": "~ holds if …", "fails": "✗ fails"}  # a sign and a word, never colour alone


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
    rows = [_row(claim) for claim in claims]
    summary = f"{len(rows)} claims, decided just now. Open when you have voted."
    table = markup.table(HEADERS, rows)
    shown = f"<details><summary>{html.escape(summary)}</summary>{table}</details>"
    lines = [f"{ruling}: {claim}" for claim, _, ruling, _, _ in rows]
    return Static(shown, "\n".join([f"{len(rows)} claims, decided just now.", *lines]))


def _row(claim: cards.Card) -> tuple[str, ...]:
    name = claim.id.partition(".")[2].upper()
    try:
        verdict = cards.answer(claim).verdict
    except Exception as error:  # whatever a claim's code raises concerns its own row only
        return (f"{name}: {claim.prompt}", claim.source, "not decided", f"{type(error).__name__}: {error}", "")
    evidence = "; ".join(f"{label}: {value}" for label, value in verdict.evidence.items())
    said_correctly = cards.corrected(claim, verdict)
    return (f"{name}: {claim.prompt}", claim.source, RULINGS[verdict.ruling], evidence, said_correctly)
