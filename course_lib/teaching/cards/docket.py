"""The docket of a unit: every claim on trial with its computed ruling, in one table; and the page of all claims."""

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from course_lib import units
from course_lib.teaching import live, markup
from course_lib.teaching.cards import answer_html, answers
from course_lib.teaching.cards.card_texts import Card, read_card
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.record.record import Record
from course_lib.teaching.static import Static, is_static, notice

WIDTHS = ("27%", "10%", "29%", "34%")  # of the columns
TO_VOTE, UNDECIDED = "to-vote", "undecided"  # in the place of a ruling

_PARAGRAPH = '<p style="margin:0 0 0.5em">'


def verdicts(prefix: str | None = None):
    """Decide every claim of the unit `prefix` ("q05") now, by running its code, and show the rulings, folded.

    Without a prefix: the claims of all units, each with a link to the cell that decides or shows it, and, in a live
    notebook, with a search; there a claim that has a card shows its ruling once the learner has voted. Folded so that
    "Run All" does not answer the claims that are still to be voted on. A claim whose code fails has no ruling, and its
    row says why.
    """
    if prefix is None:
        return _all() if is_static() else Page()
    unit = units.unit_of(f"{prefix}.")
    try:
        claims = _claims(unit) if unit else []
    except ValueError as error:
        return notice(str(error))
    if not claims:
        return notice(say("no-claims", prefix=prefix))
    return _docket(claims, say("claims", _number(claims), number=len(claims)), {})


class Page:
    """The claims of all units in a live notebook: a search above the tables."""

    def __init__(self):
        voted = {event["id"] for event in Record.open().events() if event["kind"] == "guess"}
        self._shown = _all(voted)

    def __repr__(self) -> str:
        return repr(self._shown)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        try:
            from course_lib.teaching.cards.claim_search import search
        except ImportError as error:
            display(notice(say("no-search", package=error.name)))
        else:
            titles = {units.prefix(unit): _title(unit) for unit in units.in_order() if _has_claims(unit)}
            live.publish(search(titles), say("page", "name"), say("page-gone"))
        display(self._shown)


def _has_claims(unit: str) -> bool:
    try:
        return bool(_claims(unit))
    except ValueError:
        return False


def _title(unit: str) -> str:
    return units.about(unit).get("title", unit)


def _number(claims: Sequence[Card]) -> str:
    return "one" if len(claims) == 1 else "many"


def _claims(unit: str) -> list[Card]:
    return [read_card(id) for id, table in units.cards(unit).items() if table.get("kind") == "claim"]


def _all(voted: Collection[str] | None = None) -> Static:
    """The dockets of all units. voted: the cards with a vote, where those without one keep their rulings back."""
    found = [_unit(unit, voted) for unit in units.in_order()]
    return Static("".join(one.html for one in found if one), "\n\n".join(one.text for one in found if one))


def _unit(unit: str, voted: Collection[str] | None) -> Static | None:
    """The docket of one unit among others, with links into its notebook; None where it has none."""
    try:
        claims = _claims(unit)
    except ValueError as error:
        return notice(str(error))
    cells = units.about(unit).get("cells", {})
    links = {claim.id: _link(unit, cells.get(claim.id) or claim.cell or cells.get("verdicts")) for claim in claims}
    kept = set() if voted is None else {claim.id for claim in claims if claim.id in cells} - set(voted)
    summary = say("claims-of-unit", _number(claims), title=_title(unit), number=len(claims))
    return _docket(claims, summary, links, kept) if claims else None


def _link(unit: str, cell: str | None) -> str:
    return f"{unit}.ipynb" + (f"#cell-id={units.cell_in_view(unit, cell)}" if cell else "")


def _docket(
    claims: Sequence[Card], summary: str, links: Mapping[str, str], kept: Collection[str] = frozenset()
) -> Static:
    """A folded table of claims. links: claim id -> where it is decided; kept: ids whose rulings are not shown yet."""
    decided = [_decide(claim, claim.id in kept) for claim in claims]
    rows = (_row(one, links.get(one.claim.id, "")) for one in decided)
    table = markup.wide_table(say.all("columns"), WIDTHS, rows)
    unit = units.prefix(claims[0].folder)
    shown = (
        f'<details class="course-docket course-of-{unit}"><summary>{html.escape(summary)}</summary>{table}</details>'
    )
    lines = [f"{say('on-docket', one.ruling)}: {_name(one.claim)}: {one.claim.prompt}" for one in decided]
    return Static(shown, "\n".join([summary, *lines]))


def _name(claim: Card) -> str:
    return claim.id.partition(".")[2].upper()


@dataclass(frozen=True)
class Decided:
    """A claim with its ruling, `TO_VOTE` or `UNDECIDED`; what was computed, or why nothing is shown; what is true."""

    claim: Card
    ruling: str
    lines: Sequence[str]
    true: str = ""


def _decide(claim: Card, kept: bool) -> Decided:
    if kept:
        return Decided(claim, TO_VOTE, [say("vote-first")])
    try:
        verdict = answers.answer(claim).verdict
        computed = [f"{label}: {value}" for label, value in answer_html.evidence(claim, verdict)]
        lines = [*filter(None, [answer_html.because(claim, verdict)]), *computed]
        return Decided(claim, verdict.ruling, lines, claim.corrected.format_map(verdict.values))
    except Exception as error:  # whatever a claim's code raises, or its texts lack, concerns its own row only
        return Decided(claim, UNDECIDED, [f"{type(error).__name__}: {error}"])


def _row(one: Decided, link: str) -> str:
    claim = one.claim
    source = f"{_PARAGRAPH}<em>{html.escape(claim.source)}</em></p>" if claim.source else ""
    name = markup.linked(f"<strong>{html.escape(_name(claim))}</strong>", link)
    return markup.row(
        f"{_PARAGRAPH}{name}</p>{_prose(claim.prompt)}{source}",
        f"<strong>{html.escape(say('on-docket', one.ruling))}</strong>",
        "".join(f"{_PARAGRAPH}{html.escape(line)}</p>" for line in one.lines),
        _prose(one.true),
        mark=f"course-{one.ruling}",
    )


def _prose(text: str) -> str:
    return markup.markdown(text).replace("<p>", _PARAGRAPH)
