"""A total whose parts are named, sum exactly to it, and say how they were derived."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from course_lib.accounting import units
from course_lib.accounting.answers import quantity
from course_lib.accounting.answers.quantity import Quantity
from course_lib.accounting.units import FrozenDict

_BAR = 24  # characters of a full bar in a terminal


@dataclass(frozen=True, eq=False, repr=False)
class Breakdown:
    """An exact integer `total` of `unit`, split into `parts`.

    parts: name -> int or Breakdown of the same unit; they sum exactly to the total. `b["attention.scores"]` walks them.
    assumptions, omitted: sentences that say what the number rests on and what it leaves out.
    derivation: name of an int part -> the `Quantity` that it came from, shown by `explain`.
    multiply_adds: whether every int part counts a matrix product or convolution with 2 per multiply-add.
    views: more Breakdowns that `b["layer.mlp"]` can reach and that are *not* added to the total, such as one layer.

    Breakdowns of one unit add, part by part; an integer scales them; over a number, or a Breakdown of the same unit,
    the total is a plain float. A Breakdown equals only a Breakdown of the same unit, total and parts; compare numbers
    with `int(b)`.
    """

    total: int
    unit: str
    parts: Mapping[str, "int | Breakdown"]
    assumptions: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    derivation: Mapping[str, Quantity] = field(default_factory=dict)
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
        object.__setattr__(self, "views", FrozenDict(self.views))

    @classmethod
    def of(cls, unit: str, parts: Mapping, **more) -> "Breakdown":
        """The Breakdown of `parts` (int, Quantity or Breakdown); its total is their sum. `more`: the other fields."""
        derivation = {name: part for name, part in parts.items() if isinstance(part, Quantity)}
        parts = {name: part.value if isinstance(part, Quantity) else part for name, part in parts.items()}
        return cls(sum(map(int, parts.values())), unit, parts, derivation=derivation, **more)

    @classmethod
    def from_terms(cls, unit: str, terms: Mapping[str, Quantity], **more) -> "Breakdown":
        """As `of`, with dotted names: "attention.out" nests `out` in a part `attention`. `more` is of the outer one;
        `multiply_adds` holds for the nested ones too. ValueError where a name is both a part and a nest of parts.
        """
        nested: dict[str, dict] = {}
        for name, term in terms.items():
            head, _, rest = name.partition(".")
            nested.setdefault(head, {})[rest] = term
        parts, passed = {}, {key: more[key] for key in ("multiply_adds",) if key in more}
        for name, inner in nested.items():
            if "" in inner and len(inner) > 1:
                raise ValueError(f"{name!r} is a part and holds parts, {', '.join(filter(None, inner))}: rename one.")
            parts[name] = inner[""] if "" in inner else cls.from_terms(unit, inner, **passed)
        return cls.of(unit, parts, **more)

    # ------------------------------------------------------------ reading

    def __int__(self) -> int:
        return self.total

    def __getitem__(self, path: str) -> "int | Breakdown":
        here = self
        for step in str(path).split("."):
            found = {**here.views, **here.parts} if isinstance(here, Breakdown) else {}
            if step not in found:
                hint = units.hint(path, [name for name, _ in self.flat()])
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
        return _all_ints_multiply_adds(self) and all(value._only_multiply_adds() for value in nested)

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
        left, right = self._derived(), other._derived()
        parts = {name: _joined(name, left.get(name), right.get(name)) for name in {**left, **right}}
        return Breakdown.of(
            self.unit,
            parts,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            omitted=tuple(dict.fromkeys(self.omitted + other.omitted)),
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
            {name: times * part for name, part in self._derived().items()},
            assumptions=self.assumptions,
            omitted=self.omitted,
            multiply_adds=self.multiply_adds,
            views={name: view * times for name, view in self.views.items()},
        )

    __rmul__ = __mul__

    def __truediv__(self, other) -> float:
        if isinstance(other, Breakdown):
            if other.unit != self.unit:
                raise ValueError(f"Cannot divide {self.unit} by {other.unit}: take int(b) of both if that is meant.")
            other = other.total
        return self.total / units.positive(other, "divisor")

    def _derived(self) -> dict:
        """name -> part: a Breakdown, or the Quantity of an int part (one of a bare number where it was given)."""
        return {
            name: part if isinstance(part, Breakdown) else self.derivation.get(name, quantity.of(part))
            for name, part in self.parts.items()
        }

    # ------------------------------------------------------------ showing

    def fits(self, device) -> bool:
        """Whether so many bytes fit the memory of `device` (an id or a `hardware.Device`)."""
        from course_lib.accounting import hardware  # read when first asked for: imports stay cheap

        if self.unit != "B":
            raise ValueError(f"fits: these are {self.unit}, and a memory holds bytes.")
        return self.total <= hardware.resolve(device).memory_capacity

    def explain(self) -> str:
        """How each part was derived, in symbols and numbers, then what the total assumes and leaves out."""
        lines, meanings = quantity.explain(dict(self._leaves()), lambda _, value: _amount(value, self.unit))
        lines += [f"total = {_amount(self.total, self.unit)}", *meanings]
        lines += [f"Assumes: {sentence}" for sentence in self.assumptions]
        lines += [f"Leaves out: {sentence}" for sentence in self.omitted]
        return "\n".join(lines)

    @property
    def quantity(self) -> Quantity:
        """The total with its derivation: the sum of all parts."""
        return quantity.total(part for _, part in self._leaves())

    def _leaves(self, prefix: str = "") -> Iterator[tuple[str, Quantity]]:
        for name, part in self._derived().items():
            if isinstance(part, Breakdown):
                yield from part._leaves(f"{prefix}{name}.")
            else:
                yield prefix + name, part

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
        from course_lib.accounting.answers import tables

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
            f'<td style="{tables.CELL}">{tables.escape(self._brief())}</td></tr>'
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
