"""Results that carry their own derivation: small frozen values such as a `roofline.Place`.

A `Breakdown` explains a sum of exact integers; an `Explained` result explains a handful of figures (times, rates,
ratios) that follow from each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from course_lib.accounting import tables, units
from course_lib.accounting.units import FrozenDict


@dataclass(frozen=True, kw_only=True, repr=False)
class Explained:
    """Base of results. A subclass is a frozen dataclass (`repr=False`) whose own fields are the figures.

    derivation: (field, formula, unit) for each figure that is computed, in order; formulas use the names in `values`;
    "" where the figure is given.
    values: symbol -> number. symbols: symbol -> its meaning in words. assumptions, omitted: sentences.
    Two results are equal when their figures are.
    """

    derivation: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    values: Mapping[str, float] = field(default_factory=dict, compare=False)
    symbols: Mapping[str, str] = field(default_factory=dict, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False)
    omitted: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self):
        object.__setattr__(self, "values", FrozenDict(self.values))
        object.__setattr__(self, "symbols", FrozenDict(self.symbols))

    def figures(self) -> dict:
        """Field -> value, without the explanation."""
        own = {item.name for item in fields(Explained)}
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in own}

    def explain(self) -> str:
        """Each figure in symbols and in numbers, then what the symbols mean, what is assumed and what is left out."""
        lines, used = [], set()
        for name, formula, unit in self.derivation:
            used |= units.symbols_in(formula)
            numbers = units.substitute(formula, self.values)
            shown = _shown(getattr(self, name), unit)
            steps = [text for text in dict.fromkeys((formula, numbers)) if text and text != shown]
            lines.append(" = ".join((name, *steps, shown)))
        lines += [f"{letter}: {meaning}" for letter, meaning in self.symbols.items() if letter in used]
        lines += [f"Assumes: {sentence}" for sentence in self.assumptions]
        lines += [f"Leaves out: {sentence}" for sentence in self.omitted]
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str]]:
        unit = {name: unit for name, _, unit in self.derivation}
        return [(name, _shown(value, unit.get(name, ""))) for name, value in self.figures().items()]

    def __repr__(self) -> str:
        """One figure a line, for a terminal."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        """The figures as a table, with the derivation folded under it, for a notebook."""
        from html import escape

        body = "".join(
            f'<tr style="background:none">{tables.label(name)}<td style="{tables.LABEL}">{escape(value)}</td></tr>'
            for name, value in self._rows()
        )
        return tables.framed(f"<tbody>{body}</tbody>", self.explain())

    def to_json(self) -> str:
        """JSON text: the figures, the values they follow from, assumptions and omissions."""
        import json

        explanation = {"values": self.values, "assumptions": self.assumptions, "omitted": self.omitted}
        return json.dumps({**self.figures(), **explanation}, ensure_ascii=False, default=_plain)


def _plain(value):
    """A nested result (a Breakdown or an Explained) as the object that its own JSON says."""
    import json

    return json.loads(value.to_json())


def _shown(value, unit: str) -> str:
    """A figure with its unit; seconds and bytes by their own rules, words as they are."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return units.format_si(int(value), value.unit) if hasattr(value, "unit") else str(value)
    if unit == "s":
        return units.format_seconds(value)
    return units.format_si(value, unit) if value >= 0 or unit else f"{value:.4g}"
