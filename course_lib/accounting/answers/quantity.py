"""A number that carries its derivation: built from named symbols, it prints as a formula in symbols and in numbers.

    >>> d, f = symbol("d", 768, "model width"), symbol("f", 3072, "width of the MLP")
    >>> mlp = 2 * d * f + f
    >>> mlp.value, formula(mlp), numbers(mlp)
    (4721664, '2·d·f + f', '2·768·3072 + 3072')

Value and text come from the same expression, so a text cannot say anything else than what was computed.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import total_ordering
from math import prod, sqrt


@total_ordering
class Quantity:
    """`value` (an exact int, a Fraction or a float) and how it came about: `op` of `args`. Compares as its value does.

    + - * / and ** with numbers and quantities build formulas. `//` is exact and refuses a remainder; shares that round
    up are `ceil(a, b)`. Adding 0 and multiplying by 1 or 0 leave no trace: `(d + bias) * q` prints "(d + 1)·q" or
    "d·q". Sums and products are kept flat.
    """

    __slots__ = ("args", "op", "value")

    def __init__(self, value, op: str = "number", args: tuple = ()):
        self.value, self.op, self.args = value, op, args

    def __add__(self, other):
        other = of(other)
        if other.op == "number" and not other.value:
            return self
        if self.op == "number" and not self.value:
            return other
        terms = self.args if self.op == "+" else (self,)
        return Quantity(self.value + other.value, "+", terms + (other.args if other.op == "+" else (other,)))

    def __radd__(self, other):
        return of(other) + self

    def __sub__(self, other):
        return self + -1 * of(other)

    def __rsub__(self, other):
        return of(other) - self

    def __neg__(self):
        return -1 * self

    def __mul__(self, other):
        other = of(other)
        for one, another in ((self, other), (other, self)):
            if one.op == "number" and one.value in (0, 1):
                return another if one.value else NOTHING
        factors = self.args if self.op == "*" else (self,)
        return Quantity(self.value * other.value, "*", factors + (other.args if other.op == "*" else (other,)))

    def __rmul__(self, other):
        return of(other) * self

    def __truediv__(self, other):
        other = of(other)
        return Quantity(self.value / other.value, "/", (self, other))

    def __rtruediv__(self, other):
        return of(other) / self

    def __floordiv__(self, other):
        other = of(other)
        whole, rest = divmod(self.value, other.value)
        if rest:
            raise ValueError(f"{self} = {numbers(self)} = {self.value} is no multiple of {other} = {other.value}.")
        return Quantity(whole, "/", (self, other)) if other.value != 1 or other.args else self

    def __pow__(self, other):
        other = of(other)
        return Quantity(self.value**other.value, "^", (self, other))

    def __rpow__(self, other):
        return of(other) ** self

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __bool__(self):
        return bool(self.value)

    def __eq__(self, other):
        return self.value == getattr(other, "value", other)

    def __lt__(self, other):
        return self.value < getattr(other, "value", other)

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return formula(self)


def of(value) -> Quantity:
    """`value`, a number or already a Quantity, as a Quantity."""
    return value if isinstance(value, Quantity) else Quantity(int(value) if isinstance(value, bool) else value)


NOTHING = Quantity(0)


def symbol(name: str, value, meaning: str = "") -> Quantity:
    """A named number. A quantity as `value` is its definition, which an explanation gives behind the meaning."""
    definition = value if isinstance(value, Quantity) else None
    return Quantity(getattr(value, "value", value), "symbol", (name, meaning, definition))


def product(*factors) -> Quantity:
    """All factors at once, which is cheaper than one at a time and keeps a 1."""
    flat = []
    for factor in map(of, factors):
        flat += factor.args if factor.op == "*" else (factor,)
    return Quantity(prod(factor.value for factor in flat), "*", tuple(flat))


def total(terms: Iterable) -> Quantity:
    """The sum of all terms at once."""
    flat = []
    for term in map(of, terms):
        flat += term.args if term.op == "+" else (term,)
    kept = tuple(term for term in flat if term.op != "number" or term.value)
    return Quantity(sum(term.value for term in kept), "+", kept) if len(kept) != 1 else kept[0]


def ceil(value, by) -> Quantity:
    """value/by, rounded up."""
    value, by = of(value), of(by)
    return Quantity(-(-value.value // by.value), "ceil", (value, by)) if by.value != 1 or by.args else value


def largest(*values) -> Quantity:
    """The maximum, which prints as max(…)."""
    values = tuple(map(of, values))
    return Quantity(max(values).value, "max", values)


def smallest(*values) -> Quantity:
    """The minimum, which prints as min(…)."""
    values = tuple(map(of, values))
    return Quantity(min(values).value, "min", values)


def nearest(value) -> Quantity:
    """The nearest whole number, of what is only whole in the mean."""
    return Quantity(round(of(value).value), "round", (of(value),))


def root(value) -> Quantity:
    """The square root, as a float."""
    return Quantity(sqrt(of(value).value), "√", (of(value),))


def doublings(value) -> Quantity:
    """How often 1 must double to reach a whole number: ⌈log2(value)⌉."""
    return Quantity((of(value).value - 1).bit_length(), "⌈log2", (of(value),))


# ---------------------------------------------------------------- the formula


def _name(leaf: Quantity) -> str:
    return leaf.args[0]


def _digits(value) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"({text})" if value < 0 else text


def numbers(quantity: Quantity) -> str:
    """The formula with the number of every symbol; floats have four significant digits."""
    return formula(quantity, lambda leaf: _digits(leaf.value))


def key(quantity: Quantity) -> str:
    """A text that two quantities share if they are the same formula of the same symbols with the same values."""
    if quantity.op in ("symbol", "number"):
        return f"{'#'.join(quantity.args[:2])}#{quantity.value}"
    inner = map(key, quantity.args)
    return f"{quantity.op}({' '.join(sorted(inner) if quantity.op in '+*' else inner)})"


def _terms(quantity: Quantity, sign: int = 1):
    """(sign, factors) of each term of a sum; what is subtracted is opened up, so that equal terms meet."""
    if quantity.op == "+":
        for term in quantity.args:
            yield from _terms(term, sign)
        return
    factors = quantity.args if quantity.op == "*" else (quantity,)
    if len(factors) == 2 and factors[0].op == "number" and factors[0].value == -1:
        yield from _terms(factors[1], -sign)
    else:
        yield sign, factors


def formula(quantity: Quantity, leaf: Callable[[Quantity], str] = _name) -> str:
    """The formula in symbols; `leaf` writes one of them. Equal terms of a sum are added; terms of several bare
    numbers are counted where they are the same."""
    merged: dict[str, list] = {}  # what is alike in a term -> how often, as it is written once, what is alike
    for sign, factors in _terms(quantity):
        rest = tuple(factor for factor in factors if factor.op != "number")
        bare = [factor.value for factor in factors if factor.op == "number" and abs(factor.value) != 1]
        sign *= prod(-1 for factor in factors if factor.op == "number" and factor.value < 0)
        added = rest and len(bare) < 2  # 4·B·d and 8·B·d are 12·B·d, but 3·64·7 and 3·64·5 stay what they are
        often = sign * abs(bare[0]) if added and bare else sign
        alike = " ".join(sorted(map(key, rest)) + ([] if added else [str(abs(value)) for value in bare]))
        if alike in merged:
            merged[alike][0] += often
            merged[alike][1] = None  # written with its number
        else:
            merged[alike] = [often, factors, rest if added else factors]
    text = ""
    for often, written, alike in merged.values():
        if often:
            sign = (" - " if text else "-") if often < 0 else (" + " if text else "")
            text += sign + _product(written or (*((Quantity(often),) if abs(often) != 1 else ()), *alike), leaf)
    return text or "0"


def _product(factors, leaf) -> str:
    quotients = [factor for factor in factors if factor.op == "/"]
    last = quotients[0] if len(quotients) == 1 else None  # a quotient stands last, where it cannot be misread
    sizes = [factor for factor in factors if factor is not last]
    shown = [size for size in sizes if size.op != "number" or size.value != -1] or ([] if quotients else sizes)
    texts = [_factor(size, leaf) if size.op != "number" else _digits(abs(size.value)) for size in shown]
    return "·".join(texts if last is None else [*texts, _quotient(last, leaf)])


def _quotient(quantity, leaf) -> str:
    above, below = quantity.args
    opened = above.op == "*" and [arg.op for arg in above.args] == ["number", "+"] and above.args[0] == -1
    top = formula(above, leaf) if above.op == "*" else _factor(above, leaf)
    top = f"({top})" if opened else top  # several terms
    under = formula(below, leaf) if below.op in "*/" else _factor(below, leaf)
    bare = below.op in ("*", "/") or (below.op == "+" and "·" in under and under[0] != "(")  # a sum of equal terms
    return f"{top}/({under})" if bare else f"{top}/{under}"


def _factor(quantity, leaf) -> str:
    """As a factor of a product: in brackets where it must be."""
    op, args = quantity.op, quantity.args
    if op == "symbol":
        return leaf(quantity)
    if op == "number":
        return _digits(quantity.value)
    if op in ("max", "min", "round"):
        return f"{op}({', '.join(formula(arg, leaf) for arg in args)})"
    if op == "ceil":
        return f"⌈{_quotient(quantity, leaf)}⌉"
    if op == "⌈log2":
        return f"⌈log2({formula(args[0], leaf)})⌉"
    if op == "√":
        return f"√({formula(args[0], leaf)})"
    if op == "^":
        return "^".join(
            _factor(arg, leaf) if arg.op in ("symbol", "number") else f"({formula(arg, leaf)})" for arg in args
        )
    text = formula(Quantity(quantity.value, "+", (quantity,)), leaf) if op == "/" else formula(quantity, leaf)
    return f"({text})" if any(sign in text for sign in " /-") else text


# ---------------------------------------------------------------- explaining


def symbols(quantities: Iterable[Quantity]) -> dict[tuple, Quantity]:
    """(name, value, meaning) -> every symbol, in the order of its first use; then those of their definitions."""
    found, waiting, seen = {}, list(quantities), set()
    for quantity in waiting:  # which grows by the definitions
        stack = [quantity]
        while stack:
            here = stack.pop()
            if here.op == "symbol":
                name, meaning, definition = here.args
                if (name, here.value, meaning) not in found:
                    found[name, here.value, meaning] = here
                    if definition is not None:
                        waiting.append(definition)
            elif here.args and id(here) not in seen:
                seen.add(id(here))
                stack += reversed(here.args)
    return found


def explain(parts: Mapping[str, Quantity], amount: Callable[[str, object], str]) -> tuple[list[str], list[str]]:
    """(a line for each part: name = in symbols = in numbers = value; a line for each symbol: its meaning, definition).

    amount(name, value) writes the value of a part. Two symbols of one name and different values or meanings get an
    index: f₁, f₂. A symbol that is itself a part has its line among the parts.
    """
    used = symbols(parts.values())
    alike = {}
    for name, value, meaning in used:
        alike.setdefault(name, []).append((value, meaning))

    def leaf(quantity) -> str:
        name, meaning, _ = quantity.args
        same = alike[name]
        return name + str(same.index((quantity.value, meaning)) + 1).translate(LOW) if len(same) > 1 else name

    lines = []
    for name, quantity in parts.items():
        shown = amount(name, quantity.value)
        if quantity.op == "number":
            lines.append(f"{name} = given = {shown}")
            continue
        steps = (text for text in (formula(quantity, leaf), numbers(quantity)) if text != shown)
        lines.append(" = ".join((name, *dict.fromkeys(steps), shown)))
    own, meanings = set(map(id, parts.values())), []
    for (_, value, meaning), quantity in used.items():
        definition = quantity.args[2]
        if definition is None or id(definition) not in own:
            steps = (formula(definition, leaf), numbers(definition), _digits(value)) if definition is not None else ()
            meanings.append(" = ".join((f"{leaf(quantity)}: {meaning}", *dict.fromkeys(steps))))
    return lines, meanings


LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
