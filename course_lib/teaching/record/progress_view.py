"""`progress()` on the page and in the terminal: the same sentences and tables, on the page with a picture and links."""

import math
from collections.abc import Sequence
from html import escape
from itertools import groupby
from statistics import median
from urllib.parse import quote

from course_lib.figures.tabular import html_table, text_table
from course_lib.teaching import markup
from course_lib.teaching.cards import card_words
from course_lib.teaching.cards.answers import factor
from course_lib.teaching.record.progress import Progress, Revisit, Transfer, UnitProgress, say
from course_lib.units import prefix

NONE = "–"
ENOUGH = 5  # guesses in a row of the calibration table before a sentence reads it
TWO = math.log10(2)

STYLE = """<style>
.course-progress { max-width: 820px; line-height: 1.5; color: var(--jp-content-font-color1, currentColor); }
.course-progress table { border-collapse: collapse; margin: 10px 0; font-size: inherit; color: inherit; }
.course-progress caption { text-align: left; padding-bottom: 4px; color: inherit; white-space: nowrap; }
.course-progress tbody tr { background: none !important; }
.course-progress td:not(:last-child) { white-space: nowrap; }
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
    parts = ["\n".join(_sentences(progress)), text_table(say.all("headers"), rows, words=True)]
    if any(total for _, total in progress.calibration.values()):
        parts += [text_table(say.all("sure-headers"), _sure_rows(progress), words=True), "\n".join(_readings(progress))]
    parts += _transfers(list(progress.transfer.values()))
    if progress.revisit:
        items = (f"- {one.title}\n  {one.why}" + f" [{one.notebook}]" * bool(one.notebook) for one in progress.revisit)
        parts.append("\n".join([say("again-list"), *items]))
    return "\n\n".join([*parts, say("kept", where=progress.where)])


def html(progress: Progress) -> str:
    """The progress for a notebook; links are relative to the current folder."""
    parts = [STYLE, *(f"<p>{escape(line)}</p>" for line in _sentences(progress))]
    if len(progress.off) > 1:
        parts.append(strip(list(progress.off.values())))
    parts.append(_table(progress))
    if any(total for _, total in progress.calibration.values()):
        parts.append(html_table(say.all("sure-headers"), _sure_rows(progress), say("sure-caption"), side=""))
        parts += [f"<p>{escape(line)}</p>" for line in _readings(progress)]
    parts += [f"<p>{escape(line)}</p>" for line in _transfers(list(progress.transfer.values()))]
    if progress.revisit:
        items = (f"<li>{_link(one)}<br>{escape(one.why)}</li>" for one in progress.revisit)
        parts.append(f"<h4>{say('again')}</h4><ol>{''.join(items)}</ol>")
    return f'<div class="course-progress">{"".join(parts)}</div>'


def _link(one: Revisit) -> str:
    target = quote(one.notebook) + f"#cell-id={quote(one.cell)}" * bool(one.cell)
    return f'<a href="{escape(target)}">{escape(one.title)}</a>' if one.notebook else escape(one.title)


# ---- Sentences -----------------------------------------------------------------------------------------------------


def _sentences(progress: Progress) -> list[str]:
    """What stands first: how much is done and how good the guesses were; how to begin where nothing is recorded."""
    if not any(unit.committed or unit.revealed or unit.tried for unit in progress.units):
        return [say("empty")]
    total = {name: _sum(progress.units, name) for name in ("revealed", "cards", "solved", "exercises")}
    case = "none" if not progress.due else "one" if progress.due == 1 else "more"
    due = [say("due", case, due=progress.due)] if total["revealed"] else []
    return [say("summary", **total), *due, *_about_guesses(list(progress.off.values()))]


def _about_guesses(off: Sequence[float]) -> list[str]:
    if not off:
        return []
    typical = median(map(abs, off))
    numbers = {"factor": markup.number(factor(typical)), "decades": typical}
    if len(off) == 1:
        return [say("one-guess", **numbers)]
    return [say("half", **numbers), describe(off)]


def _transfers(found: Sequence[Transfer]) -> list[str]:
    """How the bounds that the learner set on transfer cards went with how far off the guesses were."""
    if not found:
        return []
    inside = sum(one.inside for one in found)
    own, actual = markup.number(median(one.own for one in found)), markup.number(median(one.actual for one in found))
    if len(found) == 1:
        return [say("one-transfer", "inside" if inside else "outside", own=own, factor=actual)]
    return [say("transfers", inside=inside, total=len(found), share=100 * inside / len(found), own=own, factor=actual)]


def describe(off: Sequence[float]) -> str:
    """The strip in one sentence: its text alternative."""
    close, near = sum(abs(value) <= TWO for value in off), sum(TWO < abs(value) <= 1 for value in off)
    return say(
        "strip",
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
            key = {
                "guess": "guess-good" if share > 0.6 else "guess-poor",
                "fairly": "fairly",
                "very": "very-good" if share >= 0.8 else "very-poor",
            }[sure]
            lines.append(say(key, right=right, total=total))
    return lines or [say("too-few")]


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
            own = {prefix(unit.unit) for unit in units}
            off = [abs(value) for id, value in progress.off.items() if id.partition(".")[0] in own]
            rows.insert(0, _row(part, units, median(off) if off else None))
        parts.append((part, rows))
    return parts


def _part_of(unit: UnitProgress) -> str:
    return unit.part or ("" if unit.cards or unit.exercises else say("gone"))


def _row(title: str, units: Sequence[UnitProgress], decades: float | None) -> tuple[str, ...]:
    cards, exercises = _sum(units, "cards"), _sum(units, "exercises")
    return (
        title,
        say("share", done=_sum(units, "revealed"), all=cards) if cards else NONE,
        say("share", done=_sum(units, "solved"), all=exercises) if exercises else NONE,
        NONE if decades is None else say("off", factor=markup.number(factor(decades)), decades=decades),
    )


def _sure_rows(progress: Progress) -> list[tuple[str, ...]]:
    names = card_words.say.table("sure")
    return [
        (names[sure], str(total), str(right), f"{100 * right / total:.0f} %" if total else NONE)
        for sure, (right, total) in progress.calibration.items()
    ]


def _table(progress: Progress) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in say.all("headers"))
    bodies = "".join(
        f'<tbody class="{"part" if part else "alone"}">{"".join(map(_html_row, rows))}</tbody>'
        for part, rows in _parts(progress)
    )
    return f"<table><thead><tr>{head}</tr></thead>{bodies}</table>"


def _html_row(row: tuple[str, ...]) -> str:
    first, *rest = map(escape, row)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


# ---- The strip -----------------------------------------------------------------------------------------------------

WIDTH, MARGIN, STEP = 600, 40, 13  # the SVG's own units; STEP is what one dot takes up, either way
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
        f'<text x="{MARGIN}" y="{height + 38}">{say("low")}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{height + 38}" text-anchor="end">{say("high")}</text>'
    )
    near = f'<rect class="near" x="{x(-TWO):.1f}" y="4" width="{x(TWO) - x(-TWO):.1f}" height="{height - 4}"/>'
    words = escape(describe(off))
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
        return say("exact")
    size = abs(decades)
    factor = f"{10**size:,}" if size < 4 else f'10<tspan dy="-5" font-size="10">{size}</tspan>'
    return f"{'×' if decades > 0 else '÷'}{factor}"
