"""Two breakdowns side by side: part by part, what grew, what shrank and what only one of them has."""

from dataclasses import dataclass

from course_lib.accounting import tables, units

_BAR = 16  # characters of a full bar in a terminal


@dataclass(frozen=True, repr=False)
class Comparison:
    """`left` and `right`, two Breakdowns of one unit, called `labels`; made by `left.compare(right)`.

    rows: (part, left value, right value) in the order of the parts, dotted names for nested ones; 0 where one side
    lacks a part. In a notebook a table with bars, in a terminal text; `to_json()`.
    """

    left: object
    right: object
    labels: tuple[str, str]

    def __post_init__(self):
        if self.left.unit != self.right.unit:
            raise ValueError(
                f"Cannot compare {self.left.unit} with {self.right.unit}: both sides must count the same thing."
            )
        labels = tuple(self.labels)
        if len(labels) != 2 or not all(isinstance(label, str) and label for label in labels):
            raise ValueError(f"labels={self.labels!r} must be two words, one for each side, such as ('MHA', 'GQA').")
        object.__setattr__(self, "labels", labels)

    @property
    def unit(self) -> str:
        return self.left.unit

    @property
    def rows(self) -> tuple[tuple[str, int, int], ...]:
        left, right = dict(self.left.flat()), dict(self.right.flat())
        return tuple((name, left.get(name, 0), right.get(name, 0)) for name in {**left, **right})

    @property
    def difference(self) -> int:
        """right − left, which may be negative."""
        return int(self.right) - int(self.left)

    @property
    def ratio(self) -> float | None:
        """right / left; None where left is 0."""
        return int(self.right) / int(self.left) if int(self.left) else None

    @property
    def _longest(self) -> int:
        """The largest part of either side, which has a full bar."""
        return max(1, *(value for _, a, b in self.rows for value in (a, b)))

    def _table(self) -> list[tuple[str, int, int, str, str]]:
        """(part, left, right, difference, ratio) of every row and of the total, the last two in words."""
        rows = [*self.rows, ("total", int(self.left), int(self.right))]
        return [(name, a, b, _signed(b - a), _times(a, b)) for name, a, b in rows]

    def __repr__(self) -> str:
        """The table as text, for a terminal; bars are scaled to the largest part."""
        table = self._table()
        heads = ("part", *self.labels, "difference", "ratio")
        cells = [heads] + [
            (name, units.format_exact(a), units.format_exact(b), difference, ratio)
            for name, a, b, difference, ratio in table
        ]
        widths = [max(len(row[column]) for row in cells) for column in range(5)]
        _, *parts, total = cells
        lines = [_aligned(heads, widths)]
        for row, (_, a, b) in zip(parts, self.rows, strict=True):
            bars = f"{'░' * round(_BAR * a / self._longest)}|{'█' * round(_BAR * b / self._longest)}"
            lines.append(f"{_aligned(row, widths)}  {bars}")
        lines.append(_aligned(total, widths))
        return "\n".join([*lines, f"In {self.unit}; bars: ░ {self.labels[0]}, █ {self.labels[1]}."])

    def _repr_html_(self) -> str:
        """The table with two bars a part, for a notebook: left above right. Colours follow the theme."""
        from html import escape

        bar = "height:0.45em;margin:1px 0;box-sizing:border-box;"
        body = []
        for name, a, b, difference, ratio in self._table():
            line = "border-top:1px solid currentColor;" if name == "total" else ""
            bars = "".join(
                f'<div style="width:{value / self._longest:.2%};{bar}{fill}"></div>'
                for value, fill in (
                    (a, f"border:1px solid {tables.BRAND}"),
                    (b, f"background:{tables.BRAND}"),
                )
                if value and name != "total"
            )
            body.append(
                f'<tr style="background:none;{line}">{tables.label(name)}'
                f"{tables.numbers(units.format_exact(a), units.format_exact(b), difference, ratio)}"
                f'<td style="{tables.CELL}"><div aria-hidden="true" style="width:12em">{bars}</div></td></tr>'
            )
        upper, lower = map(escape, self.labels)
        caption = f"In {escape(self.unit)}; upper bar: {upper}, lower bar: {lower}."
        return tables.framed(
            f'<caption style="{tables.LABEL}">{caption}</caption>'
            f"{tables.heads('part', *self.labels, 'difference', 'ratio', '')}<tbody>{''.join(body)}</tbody>"
        )

    def to_json(self) -> str:
        """JSON text: unit, labels, totals, and every part as [name, left, right]."""
        import json

        totals = [int(self.left), int(self.right)]
        return json.dumps(
            {"unit": self.unit, "labels": self.labels, "totals": totals, "parts": self.rows}, ensure_ascii=False
        )


def _aligned(row, widths) -> str:
    first, *rest = (
        text.ljust(width) if column == 0 else text.rjust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest])


def _signed(value: int) -> str:
    """A difference with its sign, or 0."""
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{units.format_exact(abs(value))}"


def _times(left: int, right: int) -> str:
    """right / left in words: "×2.00"; "new" where left is 0, "gone" where right is."""
    if left == right:
        return "same"
    if left == 0:
        return "new"
    return f"×{units.format_si(right / left)}" if right else "gone"
