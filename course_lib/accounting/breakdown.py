"""A total whose parts are named, sum exactly to it, and say how they were derived."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from course_lib.accounting import tables, units
from course_lib.accounting.units import FrozenDict

_BAR = 24  # characters of a full bar in a terminal


@dataclass(frozen=True, eq=False, repr=False)
class Breakdown:
    """An exact integer `total` of `unit`, split into `parts`.

    parts: name -> int or Breakdown of the same unit; they sum exactly to the total. `b["attention.scores"]` walks them.
    assumptions, omitted: sentences that say what the number rests on and what it leaves out.
    derivation: name of an int part -> its formula in symbols and numbers, shown by `explain`.
    symbols: letter of the formulas -> its meaning.
    multiply_adds: whether every int part counts a matrix product or convolution with 2 per multiply-add.
    views: more Breakdowns that `b["layer.mlp"]` can reach and that are *not* added to the total, such as one layer.

    Breakdowns of one unit add, part by part; an integer scales them. A Breakdown equals only a Breakdown of the same
    unit, total and parts; compare numbers with `int(b)`.
    """

    total: int
    unit: str
    parts: Mapping[str, "int | Breakdown"]
    assumptions: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    derivation: Mapping[str, str] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    multiply_adds: bool = False
    views: Mapping[str, "Breakdown"] = field(default_factory=dict)

    def __post_init__(self):
        parts = {}
        for name, value in self.parts.items():
            if not isinstance(name, str) or not name or "." in name:
                raise ValueError(f"parts: {name!r} must be a non-empty name without a dot; nest a Breakdown instead.")
            if isinstance(value, Breakdown) and value.unit != self.unit:
                raise ValueError(f"parts[{name!r}] is in {value.unit}; this Breakdown is in {self.unit}.")
            whole = isinstance(value, Breakdown)
            parts[name] = value if whole else units.count(value, f"parts[{name!r}]", minimum=0)
        total = units.count(self.total, "total", minimum=0)
        summed = sum(map(int, parts.values()))
        if not parts or summed != total:
            raise ValueError(
                f"total={total} must be the sum of the parts, which is {summed}. Try Breakdown.of(unit, parts)."
            )
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "parts", FrozenDict(parts))
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        object.__setattr__(self, "omitted", tuple(self.omitted))
        object.__setattr__(self, "derivation", FrozenDict(self.derivation))
        object.__setattr__(self, "symbols", FrozenDict(self.symbols))
        object.__setattr__(self, "views", FrozenDict(self.views))

    @classmethod
    def of(cls, unit: str, parts: Mapping, **more) -> "Breakdown":
        """The Breakdown of `parts`, its total being their sum. `more`: the other fields."""
        return cls(sum(map(int, parts.values())), unit, parts, **more)

    @classmethod
    def from_terms(
        cls, unit: str, terms: Mapping[str, tuple[int, str]], values: Mapping[str, int], **more
    ) -> "Breakdown":
        """The Breakdown of `terms`: dotted name -> (value, formula). "attention.out" nests `out` in a part `attention`.

        values: the number that each symbol of the formulas stands for. more: the fields of the outer
        Breakdown; `multiply_adds` and `symbols` hold for the nested ones too.
        """
        nested: dict[str, dict] = {}
        for name, term in terms.items():
            head, _, rest = name.partition(".")
            nested.setdefault(head, {})[rest] = term
        parts, derivation = {}, {}
        for name, inner in nested.items():
            if "" not in inner:
                passed = {key: more[key] for key in ("multiply_adds", "symbols") if key in more}
                parts[name] = cls.from_terms(unit, inner, values, **passed)
                continue
            parts[name], formula = inner[""]
            numbers = units.substitute(formula, values)
            derivation[name] = formula if numbers == formula else f"{formula} = {numbers}"
        return cls.of(unit, parts, derivation=derivation, **more)

    # ------------------------------------------------------------ reading

    def __int__(self) -> int:
        return self.total

    def __getitem__(self, path: str) -> "int | Breakdown":
        here = self
        for step in str(path).split("."):
            found = {**here.views, **here.parts} if isinstance(here, Breakdown) else {}
            if step not in found:
                near = units.nearest(path, [name for name, _ in self.flat()])
                hint = f" Did you mean {near!r}?" if near else ""
                raise KeyError(f"There is no part {path!r}.{hint} Parts: {', '.join([*self.parts, *self.views])}.")
            here = found[step]
        return here

    def flat(self) -> Iterator[tuple[str, int]]:
        """(dotted name, value) of every int part, in order; the values sum to the total."""
        for name, value in self.parts.items():
            if isinstance(value, Breakdown):
                yield from ((f"{name}.{inner}", number) for inner, number in value.flat())
            else:
                yield name, value

    def share(self, path: str | None = None) -> "float | dict[str, float]":
        """The part `path` over the total; without a path, every top-level part over the total."""
        if path is not None:
            return int(self[path]) / self.total if self.total else 0.0
        return {name: self.share(name) for name in self.parts}

    @property
    def macs(self) -> int:
        """Multiply-adds: half the FLOP. ValueError unless every part is a matrix product or a convolution."""
        if self.unit != "FLOP" or not self._only_multiply_adds():
            raise ValueError(
                f"macs: these {self._brief()} have parts that are no multiply-adds, so half of it means nothing. "
                "Only matrix products and convolutions, counted in FLOP, have MACs."
            )
        return self.total // 2

    def _only_multiply_adds(self) -> bool:
        nested = [value for value in self.parts.values() if isinstance(value, Breakdown)]
        ints_pass = self.multiply_adds or len(nested) == len(self.parts)
        return ints_pass and all(value._only_multiply_adds() for value in nested)

    # ------------------------------------------------------------ arithmetic

    def __eq__(self, other):
        if not isinstance(other, Breakdown):
            return NotImplemented
        return (self.unit, self.total, self.parts) == (other.unit, other.total, other.parts)

    def __hash__(self):
        return hash((self.unit, self.total))

    def __add__(self, other):
        if not isinstance(other, Breakdown):
            return NotImplemented
        if other.unit != self.unit:
            raise ValueError(f"Cannot add {other.unit} to {self.unit}.")
        parts = {
            name: _joined(name, self.parts.get(name), other.parts.get(name)) for name in {**self.parts, **other.parts}
        }
        derivation = dict(self.derivation)
        for name, formula in other.derivation.items():
            derivation[name] = f"[{derivation[name]}] + [{formula}]" if name in derivation else formula
        return Breakdown.of(
            self.unit,
            parts,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            omitted=tuple(dict.fromkeys(self.omitted + other.omitted)),
            derivation=derivation,
            symbols={**self.symbols, **other.symbols},
            multiply_adds=_all_ints_multiply_adds(self, other),
            views={name: view + other.views[name] for name, view in self.views.items() if name in other.views},
        )

    def __radd__(self, other):
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0

    def __mul__(self, times):
        times = units.count(times, "factor", minimum=0)
        if times == 1:
            return self
        return Breakdown.of(
            self.unit,
            {name: value * times for name, value in self.parts.items()},
            assumptions=self.assumptions,
            omitted=self.omitted,
            derivation={name: f"{times}·[{formula}]" for name, formula in self.derivation.items()},
            symbols=self.symbols,
            multiply_adds=self.multiply_adds,
            views={name: view * times for name, view in self.views.items()},
        )

    __rmul__ = __mul__

    # ------------------------------------------------------------ showing

    def compare(self, other: "Breakdown", labels: tuple[str, str] = ("left", "right")):
        """This Breakdown and `other`, of the same unit, side by side: a `compare.Comparison`."""
        from course_lib.accounting.compare import Comparison  # read when first asked for: imports stay cheap

        if not isinstance(other, Breakdown):
            raise ValueError(f"other={other!r} must be a Breakdown; compare plain numbers with int(b).")
        return Comparison(self, other, labels)

    def explain(self) -> str:
        """How each part was derived, in symbols and numbers, then what the total assumes and leaves out."""
        lines = [f"{name} = {formula} = {_amount(value, self.unit)}" for name, value, formula in self._derived()]
        lines.append(f"total = {_amount(self.total, self.unit)}")
        used = set().union(*(units.symbols_in(formula) for _, _, formula in self._derived()))
        lines += [f"{letter}: {meaning}" for letter, meaning in self.symbols.items() if letter in used]
        lines += [f"Assumes: {sentence}" for sentence in self.assumptions]
        lines += [f"Leaves out: {sentence}" for sentence in self.omitted]
        return "\n".join(lines)

    def _derived(self, prefix: str = "") -> Iterator[tuple[str, int, str]]:
        for name, value in self.parts.items():
            if isinstance(value, Breakdown):
                yield from value._derived(f"{prefix}{name}.")
            else:
                yield prefix + name, value, self.derivation.get(name, "given")

    def _rows(self, depth: int = 0) -> Iterator[tuple[int, str, int]]:
        for name, value in self.parts.items():
            yield depth, name, int(value)
            if isinstance(value, Breakdown):
                yield from value._rows(depth + 1)

    def _brief(self) -> str:
        return units.format_si(self.total, self.unit)

    def __repr__(self) -> str:
        """The table as text, for a terminal."""
        rows = [("  " * depth + name, value) for depth, name, value in self._rows()]
        exact = [units.format_exact(value) for _, value in rows]
        label_width = max(len("total"), *(len(label) for label, _ in rows))
        width = max(len(units.format_exact(self.total)), *map(len, exact))
        lines = []
        for (label, value), digits in zip(rows, exact, strict=True):
            share = value / self.total if self.total else 0.0
            bar = "█" * round(_BAR * share)
            lines.append(f"{label:<{label_width}}  {digits:>{width}}  {share:>6.1%}  {bar}".rstrip())
        total = f"{'total':<{label_width}}  {units.format_exact(self.total):>{width}}  {1:>6.1%}  {self._brief()}"
        return "\n".join([*lines, total])

    def _repr_html_(self) -> str:
        """The table with bars, for a notebook. Colours follow the theme; the share stands in words beside each bar."""
        from html import escape

        body = []
        for depth, name, value in self._rows():
            share = value / self.total if self.total else 0.0
            bar = (
                f'<div aria-hidden="true" style="width:12em;border-left:1px solid currentColor">'
                f'<div style="width:{share:.2%};height:0.8em;opacity:{0.75 if depth == 0 else 0.4};'
                f'background:{tables.BRAND}"></div></div>'
            )
            body.append(
                f'<tr style="background:none">{tables.label(name, depth)}'
                f"{tables.numbers(units.format_exact(value), f'{share:.1%}')}"
                f'<td style="{tables.CELL}">{bar}</td></tr>'
            )
        body.append(
            f'<tr style="background:none;border-top:1px solid currentColor;font-weight:bold">{tables.label("total")}'
            f"{tables.numbers(units.format_exact(self.total), '100.0%')}"
            f'<td style="{tables.CELL}">{escape(self._brief())}</td></tr>'
        )
        table = f"{tables.heads('part', self.unit, 'share', '')}<tbody>{''.join(body)}</tbody>"
        return tables.framed(table, self.explain())

    def to_json(self) -> str:
        """JSON text: unit, total, parts (nested objects of integers), assumptions, omitted."""
        import json

        return json.dumps(
            {**self._plain(), "assumptions": self.assumptions, "omitted": self.omitted}, ensure_ascii=False
        )

    def _plain(self) -> dict:
        parts = {name: v._plain() if isinstance(v, Breakdown) else v for name, v in self.parts.items()}
        return {"unit": self.unit, "total": self.total, "parts": parts}


def _amount(value: int, unit: str) -> str:
    return f"{units.format_exact(value)} {unit}"


def _joined(name: str, left, right):
    """The sum of two parts of one name, either of which may be missing."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, Breakdown) != isinstance(right, Breakdown):
        raise ValueError(f"Cannot add: {name!r} is split into parts on one side only.")
    return left + right


def _all_ints_multiply_adds(*breakdowns: Breakdown) -> bool:
    """Whether each Breakdown that has int parts counts multiply-adds in them."""
    with_ints = [b for b in breakdowns if any(not isinstance(value, Breakdown) for value in b.parts.values())]
    return all(b.multiply_adds for b in with_ints)
