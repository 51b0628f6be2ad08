"""Results that carry their own derivation: small frozen values such as a `roofline.Place`.

A `Breakdown` explains a sum of exact integers; an `Explained` result explains a handful of figures (times, rates,
ratios) that follow from each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from course_lib.accounting import units
from course_lib.accounting.answers import quantity
from course_lib.accounting.answers.quantity import Quantity
from course_lib.accounting.units import FrozenDict

_UNITS = {  # of a figure, by its name; those of other names are bare numbers
    "seconds": "s",
    "tokens_per_second": "tokens/s",
    "bytes_per_rank": "B",
    "weight_bytes": "B",
    "kv_bytes": "B",
    "intensity": "FLOP/B",
    "ridge": "FLOP/B",
    "attainable": "FLOP/s",
    "flops": "FLOP",
    "params": "parameters",
    "tokens": "tokens",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Explained:
    """Base of results. A subclass is a frozen dataclass (`repr=False`) whose own fields are the figures.

    A figure that is made as a Quantity becomes its plain value, and `derivation` keeps the Quantity. A figure that
    others follow from is made as a symbol of its own name, with its formula as the definition. assumptions, omitted:
    sentences. Two results are equal when their figures are.
    """

    derivation: Mapping[str, Quantity] = field(init=False, default_factory=dict, compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False)
    omitted: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self):
        made = {name: figure for name, figure in self.figures().items() if isinstance(figure, Quantity)}
        for name, figure in made.items():
            object.__setattr__(self, name, figure.value)
        derivation = {name: figure.args[2] if _is_its_own(name, figure) else figure for name, figure in made.items()}
        object.__setattr__(self, "derivation", FrozenDict(derivation))

    def figures(self) -> dict:
        """Field -> value, without the explanation."""
        own = {item.name for item in fields(Explained)}
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in own}

    def explain(self) -> str:
        """Each figure in symbols and in numbers, then what the symbols mean, what is assumed and what is left out."""
        made = self.derivation  # a figure stands after those that it follows from
        order = sorted(made, key=lambda name: sum(used in made for used, *_ in quantity.symbols([made[name]])))
        lines, meanings = quantity.explain({name: made[name] for name in order}, lambda name, _: self._shown(name))
        lines += meanings
        lines += [f"Assumes: {sentence}" for sentence in self.assumptions]
        lines += [f"Leaves out: {sentence}" for sentence in self.omitted]
        return "\n".join(lines)

    def _shown(self, name: str) -> str:
        """A figure with its unit; seconds and bytes by their own rules, words as they are."""
        value, unit = getattr(self, name), _UNITS.get(name, "")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return units.format_si(int(value), value.unit) if hasattr(value, "unit") else str(value)
        if unit == "s":
            return units.format_seconds(value)
        return units.format_si(value, unit) if value >= 0 or unit else f"{value:.4g}"

    def _rows(self) -> list[tuple[str, str]]:
        return [(name, self._shown(name)) for name in self.figures()]

    def __repr__(self) -> str:
        """One figure a line, for a terminal."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        """The figures as a table, with the derivation folded under it, for a notebook."""
        from course_lib.accounting.answers import tables

        body = "".join(
            f'<tr style="background:none">{tables.label(name)}'
            f'<td style="{tables.LABEL}">{tables.escape(value)}</td></tr>'
            for name, value in self._rows()
        )
        return tables.framed(f"<tbody>{body}</tbody>", self.explain())

    def to_json(self) -> str:
        """JSON text: the figures, the values they follow from, assumptions and omissions."""
        import json

        values = {name: value for name, value, _ in quantity.symbols(self.derivation.values())}
        explanation = {"values": values, "assumptions": self.assumptions, "omitted": self.omitted}
        return json.dumps({**self.figures(), **explanation}, ensure_ascii=False, default=_plain)


def _is_its_own(name: str, figure: Quantity) -> bool:
    return figure.op == "symbol" and figure.args[0] == name and figure.args[2] is not None


def _plain(value):
    """A nested result (a Breakdown or an Explained) as the object that its own JSON says."""
    import json

    return json.loads(value.to_json())
