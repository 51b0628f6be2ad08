"""`progress()` on the page and in the terminal: the same sentences and tables, on the page with a picture and links."""

import html as markup_html
import math
from collections.abc import Sequence
from itertools import groupby
from statistics import median
from urllib.parse import quote

from course_lib.figures.tabular import html_table, text_table
from course_lib.teaching import markup
from course_lib.teaching.record.progress import Progress, Revisit, UnitProgress
from course_lib.teaching.record.record import SURE

EMPTY = (
    "Nothing is recorded yet. Open a lesson, commit a first guess on a card and reveal the answer: "
    "from then on you see here how far off your guesses were."
)
SUMMARY = "You have revealed {revealed} of {cards} cards and solved {solved} of {exercises} exercises."
HALF = "Half of your first guesses at a number were within a factor of {factor} of the answer ({decades:.2f} decades)."
STRIP = (
    "First guesses at a number: {total}. Within a factor of two: {close}; within ten: {near}; further off: {far}. "
    "Too low: {low}; too high: {high}."
)
ONE_GUESS = "Your first guess at a number was {factor} times off ({decades:.2f} decades)."
TOO_FEW = "From five revealed guesses in one row on, a sentence here reads the row."
VERY_GOOD = "Very sure: right {right} of {total} times. You can trust that feeling."
VERY_POOR = "Very sure: right {right} of {total} times. It should be nine in ten; open a hint before such a guess."
FAIRLY = "Fairly sure: right {right} of {total} times. Seven in ten would fit the words."
GUESS_GOOD = "A guess: right {right} of {total} times. You know more than you think."
GUESS_POOR = "A guess: right {right} of {total} times, as guesses are."
GONE = "Not in this version of the course"
AGAIN = "Worth a second look"
KEPT = "Kept in {where}."

HEADERS = ("unit", "cards revealed", "exercises solved", "first guesses off by (median)")
SURE_HEADERS = ("how sure", "revealed", "right", "share right")
SURE_CAPTION = "How sure you were, and how often you were right."
NONE = "–"
ENOUGH = 5  # guesses in a row of the calibration table before a sentence reads it
TWO = math.log10(2)

STYLE = """<style>
.course-progress { max-width: 820px; line-height: 1.5; color: var(--jp-content-font-color1, currentColor); }
.course-progress table { border-collapse: collapse; margin: 10px 0; font-size: inherit; color: inherit; }
.course-progress caption { text-align: left; padding-bottom: 4px; color: inherit; white-space: nowrap; }
.course-progress tbody tr { background: none !important; }
.course-progress td { white-space: nowrap; }
.course-progress tbody th { min-width: 16em; }
.course-progress th, .course-progress td { text-align: left !important; font-weight: normal; padding: 3px 16px 3px 0;
  border-bottom: 1px solid var(--jp-border-color2, #bdbdbd); background: none; }
.course-progress thead th, .course-progress .part tr:first-child > * { font-weight: 600; }
.course-progress .part tr:not(:first-child) th { padding-left: 14px; }
.course-progress svg { display: block; width: 100%; max-width: 600px; font-size: 13px; margin: 8px 0; }
.course-progress svg text { fill: currentColor; }
.course-progress svg path { stroke: currentColor; fill: none; }
.course-progress svg .near { fill: currentColor; opacity: 0.12; stroke: none; }
.course-progress svg .dot { fill: var(--jp-layout-color1, white); stroke: currentColor; stroke-width: 2; }
.course-progress h4 { margin: 14px 0 4px; font-size: inherit; font-weight: 600; }
.course-progress li { margin: 4px 0; }
.course-progress a { text-decoration: underline; }
.course-progress a:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
</style>"""


def text(progress: Progress) -> str:
    """The progress for a terminal."""
    rows = [row for _, rows in _parts(progress) for row in rows]
    parts = ["\n".join(_sentences(progress)), text_table(HEADERS, rows, words=True)]
    if any(total for _, total in progress.calibration.values()):
        parts += [text_table(SURE_HEADERS, _sure_rows(progress), words=True), "\n".join(_readings(progress))]
    if progress.revisit:
        items = (f"- {one.title}\n  {one.why}" + f" [{one.notebook}]" * bool(one.notebook) for one in progress.revisit)
        parts.append("\n".join([f"{AGAIN}:", *items]))
    return "\n\n".join([*parts, KEPT.format(where=progress.where)])


def html(progress: Progress) -> str:
    """The progress for a notebook; links are relative to the current folder."""
    parts = [STYLE, *(f"<p>{_escape(line)}</p>" for line in _sentences(progress))]
    if len(progress.off) > 1:
        parts.append(strip(list(progress.off.values())))
    parts.append(_table(progress))
    if any(total for _, total in progress.calibration.values()):
        parts.append(html_table(SURE_HEADERS, _sure_rows(progress), SURE_CAPTION, side=""))
        parts += [f"<p>{_escape(line)}</p>" for line in _readings(progress)]
    if progress.revisit:
        items = (f"<li>{_link(one)}<br>{_escape(one.why)}</li>" for one in progress.revisit)
        parts.append(f"<h4>{AGAIN}</h4><ol>{''.join(items)}</ol>")
    return f'<div class="course-progress">{"".join(parts)}</div>'


_escape = markup_html.escape


def _link(one: Revisit) -> str:
    target = quote(one.notebook) + f"#cell-id={quote(one.cell)}" * bool(one.cell)
    return f'<a href="{_escape(target)}">{_escape(one.title)}</a>' if one.notebook else _escape(one.title)


# ---- Sentences -----------------------------------------------------------------------------------------------------


def _sentences(progress: Progress) -> list[str]:
    """What stands first: how much is done and how good the guesses were; how to begin where nothing is recorded."""
    if not any(unit.committed or unit.revealed or unit.tried for unit in progress.units):
        return [EMPTY]
    total = {name: _sum(progress.units, name) for name in ("revealed", "cards", "solved", "exercises")}
    return [SUMMARY.format(**total), *_about_guesses(list(progress.off.values()))]


def _about_guesses(off: Sequence[float]) -> list[str]:
    if not off:
        return []
    typical = median(map(abs, off))
    numbers = {"factor": _factor(typical), "decades": typical}
    if len(off) == 1:
        return [ONE_GUESS.format(**numbers)]
    return [HALF.format(**numbers), describe(off)]


def describe(off: Sequence[float]) -> str:
    """The strip in one sentence: its text alternative."""
    close, near = sum(abs(value) <= TWO for value in off), sum(TWO < abs(value) <= 1 for value in off)
    return STRIP.format(
        total=len(off),
        close=close,
        near=near,
        far=len(off) - close - near,
        low=sum(value < 0 for value in off),
        high=sum(value > 0 for value in off),
    )


def _readings(progress: Progress) -> list[str]:
    """One sentence for each row of the calibration table that holds enough guesses."""
    lines = []
    for sure, (right, total) in progress.calibration.items():
        if total >= ENOUGH:
            share = right / total
            line = {
                "guess": GUESS_GOOD if share > 0.6 else GUESS_POOR,
                "fairly": FAIRLY,
                "very": VERY_GOOD if share >= 0.8 else VERY_POOR,
            }[sure]
            lines.append(line.format(right=right, total=total))
    return lines or [TOO_FEW]


def _factor(decades: float) -> str:
    """0.3 → "2": the factor that a number of decades is; a float ends at 308 of them."""
    return markup.number(10.0 ** min(decades, 300.0))


# ---- Tables --------------------------------------------------------------------------------------------------------


def _sum(units: Sequence[UnitProgress], name: str) -> int:
    return sum(getattr(unit, name) for unit in units)


def _parts(progress: Progress) -> list[tuple[str, list[tuple[str, ...]]]]:
    """(part, rows of its units), the units in their order; a part with a name has a row of its own first."""
    parts = []
    for part, found in groupby(progress.units, key=_part_of):
        units = list(found)
        rows = [_row(unit.title, [unit], unit.decades) for unit in units]
        if part:
            off = [abs(v) for unit in units for id, v in progress.off.items() if _belongs(id, unit)]
            rows.insert(0, _row(part, units, median(off) if off else None))
        parts.append((part, rows))
    return parts


def _part_of(unit: UnitProgress) -> str:
    return unit.part or ("" if unit.cards or unit.exercises else GONE)


def _belongs(id: str, unit: UnitProgress) -> bool:
    return id.partition(".")[0] == unit.unit.partition("_")[0]


def _row(title: str, units: Sequence[UnitProgress], decades: float | None) -> tuple[str, ...]:
    cards, exercises = _sum(units, "cards"), _sum(units, "exercises")
    return (
        title,
        f"{_sum(units, 'revealed')} of {cards}" if cards else NONE,
        f"{_sum(units, 'solved')} of {exercises}" if exercises else NONE,
        NONE if decades is None else f"× {_factor(decades)} ({decades:.2f} decades)",
    )


def _sure_rows(progress: Progress) -> list[tuple[str, ...]]:
    return [
        (SURE[sure], str(total), str(right), f"{100 * right / total:.0f} %" if total else NONE)
        for sure, (right, total) in progress.calibration.items()
    ]


def _table(progress: Progress) -> str:
    head = "".join(f'<th scope="col">{_escape(cell)}</th>' for cell in HEADERS)
    bodies = "".join(
        f'<tbody class="{"part" if part else "alone"}">{"".join(map(_html_row, rows))}</tbody>'
        for part, rows in _parts(progress)
    )
    return f"<table><thead><tr>{head}</tr></thead>{bodies}</table>"


def _html_row(row: tuple[str, ...]) -> str:
    first, *rest = map(_escape, row)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


# ---- The strip -----------------------------------------------------------------------------------------------------

WIDTH, MARGIN, STEP = 600, 40, 13  # the SVG's own units; STEP is what one dot takes up, either way
EXACT, LOW, HIGH = "right", "too low", "too high"
MOST = 6  # decades either way; a guess further off stands at the end, as a triangle


def strip(off: Sequence[float]) -> str:
    """The first guesses as dots on an axis of decades, too low on the left, too high on the right, as SVG."""
    reach = min(max(1, math.ceil(max(map(abs, off)))), MOST)

    def x(decades: float) -> float:
        return WIDTH / 2 + (WIDTH / 2 - MARGIN) * decades / reach

    rows: list[float] = []  # where the last dot of each row stands; a dot lies in the lowest row that has room for it
    marks = []
    for value in sorted(off):
        at = x(max(-reach, min(reach, value)))
        row = next((n for n, last in enumerate(rows) if at - last >= STEP), len(rows))
        rows[row : row + 1] = [at]
        marks.append((at, row + 1, value))
    height = 20 + STEP * len(rows)
    dots = "".join(_mark(at, height - STEP * row, value, reach) for at, row, value in marks)
    ticks = "".join(
        f'<path d="M{x(n):.1f} {height}v6"/>'
        f'<text x="{x(n):.1f}" y="{height + 20}" text-anchor="middle">{_tick(n)}</text>'
        for n in range(-reach, reach + 1)
    )
    ends = (
        f'<text x="{MARGIN}" y="{height + 38}">{LOW}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{height + 38}" text-anchor="end">{HIGH}</text>'
    )
    near = f'<rect class="near" x="{x(-TWO):.1f}" y="4" width="{x(TWO) - x(-TWO):.1f}" height="{height - 4}"/>'
    words = _escape(describe(off))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height + 44}" role="img" aria-label="{words}"><title>{words}</title>'
        f'{near}<path d="M{MARGIN} {height}H{WIDTH - MARGIN}"/>{ticks}{ends}{dots}</svg>'
    )


def _mark(x: float, y: float, value: float, reach: int) -> str:
    if abs(value) <= reach:
        return f'<circle class="dot" cx="{x:.1f}" cy="{y + 3}" r="5"/>'
    side = 6 if value > 0 else -6
    return f'<path class="dot" d="M{x - side} {y - 3}l{2 * side} 6l{-2 * side} 6z"/>'


def _tick(decades: int) -> str:
    if decades == 0:
        return EXACT
    size = abs(decades)
    factor = f"{10**size:,}" if size < 4 else f'10<tspan dy="-5" font-size="10">{size}</tspan>'
    return f"{'×' if decades > 0 else '÷'}{factor}"
