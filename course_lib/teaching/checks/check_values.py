"""Answers as plain values, and how one differs from another: its form first, then its numbers.

Plain are None, bool, int, float, str, and lists and dictionaries of plain values, all of exactly these types: a
learner's class that overrides `==`, `float` or `tolist` cannot mislead a comparison. What is none of these becomes a
`Foreign`, which equals nothing that was asked for.
"""

import builtins
import inspect
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice

from course_lib.teaching.checks.check_texts import say

MOST = 20_000
"""Values that an answer may hold; what is larger is compared by its length only."""

DEEPEST = 50
"""Lists in lists that an answer may hold; a list that holds itself ends here."""

SHOWN = 160
"""Characters of a value in a message."""

DIGITS = 12
"""Significant digits of a float in built data: processors differ in the last two or three of their sixteen."""


@dataclass(frozen=True)
class Foreign:
    """A value that is not plain: the name of its type, its text, its length if it is a list too long to copy, and the
    sentence of `check_texts` that fits where `want` ("number", "list", …) was asked for.
    """

    kind: str
    text: str
    length: int | None = None
    hints: tuple[tuple[str | None, str], ...] = ()

    def hint(self, want: str) -> str:
        return next((say for asked, say in self.hints if asked in (None, want)), "kind")


def plain(value):
    """`value` copied as plain values: numpy and torch scalars and arrays become numbers and lists, tuples lists,
    fractions and decimals whole numbers or the nearest floats.

    Raises nothing but what interrupts a program.
    """
    return _copy(value, [MOST], 0)


def _copy(value, left: list[int], depth: int):
    """`left[0]` counts down the values that may still be copied."""
    left[0] -= 1
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if array := _array_type(kind):
        return _copy_array(array, value, left, depth)
    if issubclass(kind, float):
        return float.__float__(value)
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, str):
        return str.__str__(value)
    for container in (list, tuple, dict):
        if issubclass(kind, container):
            return _copy_container(container, value, left, depth)
    if kind in (Fraction, Decimal):
        with suppress(Exception):  # one beyond a float, or whose parts are no numbers
            if math.isfinite(number := float(value)):
                return whole if (whole := int(value)) == value else number
    return _foreign(value)


def _copy_container(container: type, value, left: list[int], depth: int):
    length = container.__len__(value)
    items = dict.items(value) if container is dict else container.__iter__(value)
    if length > left[0] or depth == DEEPEST:
        if container is dict:
            return Foreign("dict", "{…}", length)
        begin = [_copy(item, [10], DEEPEST) for item in islice(items, 3 if depth < DEEPEST else 0)]
        return Foreign("list", f"[{''.join(f'{literal(item)}, ' for item in begin)}…]", length)
    if container is dict:
        return {_copy(key, left, DEEPEST): _copy(item, left, depth + 1) for key, item in items}
    return [_copy(item, left, depth + 1) for item in items]


def _array_type(kind: type) -> type | None:
    """The class of numpy or torch that gives values of this type their `tolist`."""
    return next(
        (base for base in kind.__mro__ if _package(base) in ("numpy", "torch") and "tolist" in vars(base)),
        None,
    )


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _copy_array(array: type, value, left: list[int], depth: int):
    try:
        shape = tuple(value.shape)
        if math.prod(shape) > left[0]:
            return Foreign("list", f"<{type(value).__name__} {shape}>", shape[0])
        found = array.tolist(value)
        if type(found) is type(value):  # numpy's longdouble
            found = float(value)
    except Exception:  # a tensor without data, for example
        return _foreign(value)
    return _copy(found, left, depth)


def _foreign(value) -> Foreign:
    """The name, text and hints of a value that is not plain. Its own code runs here: `repr` may fail."""
    kind = type(value)
    try:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    except Exception:
        text = f"<{kind.__name__}>"
    hints = []
    if kind.__name__ == "coroutine":
        value.close()  # else Python warns later that nobody awaited it
        hints.append((None, "kind_async"))
    elif issubclass(kind, type) or inspect.isroutine(value):
        hints.append((None, "kind_call"))
    elif _package(kind) in ("decimal", "fractions"):
        hints.append(("number", "kind_number"))
    elif hasattr(kind, "__iter__"):
        hints.append(("list", "kind_list"))
    return Foreign(kind.__name__, short_text(text), hints=tuple(hints))


def is_dots(value) -> bool:
    """Whether a plain value is, or holds, the `...` that stands where a learner is to write."""
    if isinstance(value, (list, dict)):
        return any(map(is_dots, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Foreign) and value.kind == "ellipsis"


# ------------------------------------------------------------------------------------------------------- comparing


@dataclass(frozen=True)
class Close:
    """Equal within a tolerance: |got − expected| ≤ max(rel·|expected|, abs) for each number; all else exactly.

    Dictionaries need the same keys, lists the same length. An integral float equals its integer; a bool equals no
    number.
    """

    rel: float = 1e-6
    abs: float = 0.0

    def __post_init__(self):
        for name, value in (("rel", self.rel), ("abs", self.abs)):
            if not (isinstance(value, (int, float)) and 0 <= value < math.inf):
                raise ValueError(f"{name} must be a finite number ≥ 0, not {value!r}")

    def as_built(self) -> "Close":
        """No stricter than floats in built data are exact: they have `DIGITS` digits."""
        return Close(max(self.rel, 10.0 ** (1 - DIGITS)), self.abs)

    def distance(self, got, expected) -> float:
        """How far apart two plain values are, in tolerances: ≤ 1 is equal, inf if anything but a number differs."""
        if form_fault(got, expected):
            return math.inf
        return max((self.leaf_distance(g, e) for _, g, e in leaves(got, expected)), default=0.0)

    def leaf_distance(self, got, expected) -> float:
        """`distance` of two values of one kind that are neither list nor dictionary."""
        if got == expected:
            return 0.0
        if not (is_number(got) and is_number(expected)):
            return math.inf
        try:
            tolerance = max(self.rel * builtins.abs(expected), self.abs)
            return builtins.abs(got - expected) / tolerance if tolerance else math.inf
        except OverflowError:  # an integer beyond the range of a float
            return math.inf


EXACT = Close(rel=0.0)
"""Equal with no tolerance: for counts, names, lists of names."""


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kind_of(value) -> str:
    """The type of a plain value as learners know it; int and float are one kind, `number`."""
    if isinstance(value, Foreign):
        return value.kind
    return "number" if is_number(value) else "None" if value is None else type(value).__name__


def none_fault(expected) -> str:
    """The name of the sentence for a wrong None. expected: the answers to all inputs; None may be among them."""
    return "none_here" if any(answer is None for answer in expected) else "nothing"


def form_fault(got, expected, where: str = "result") -> str:
    """The sentence that says where `got` has another form than `expected`; empty if their forms agree.

    Where None is right any other value has the right form: a sentence about its type would give the answer away. Only
    infinity and NaN are right nowhere.
    """
    if expected is None:
        return say("endless", where=where, got=got) if isinstance(got, float) and not math.isfinite(got) else ""
    want, kind = kind_of(expected), kind_of(got)
    if kind != want:
        told = "list or tuple" if kind == "list" else kind  # `plain` makes them one
        return say(_kind_sentence(got, want), where=where, want=want, kind=told)
    if isinstance(got, float) and not math.isfinite(got):
        return say("finite", where=where, got=got)
    length = got.length if isinstance(got, Foreign) else len(got) if isinstance(got, list) else None
    if isinstance(expected, list) and length != len(expected):
        return say("length_one" if len(expected) == 1 else "length", where=where, want=len(expected), length=length)
    if isinstance(got, Foreign):
        return say("large", where=where)
    if isinstance(expected, dict) and set(got) != set(expected):
        return say("keys", where=where, want=list(expected), keys=short([*got]))
    return next(filter(None, (form_fault(*item, at) for at, *item in _items(got, expected, where))), "")


def _kind_sentence(got, want: str) -> str:
    if isinstance(got, Foreign):
        return got.hint(want)
    if isinstance(got, str) and want == "number":
        with suppress(ValueError):
            float(got)
            return "kind_text"
    return "kind"


def form(expected) -> str:
    """The form of a right answer without its values: `{'bytes': number, 'share': number}`, `[number, …]`."""
    if isinstance(expected, dict):
        return "{" + ", ".join(f"{key!r}: {form(value)}" for key, value in expected.items()) + "}"
    if isinstance(expected, list):
        kinds = dict.fromkeys(form(item) for item in expected if item is not None)
        return f"[{', '.join(kinds)}{', …' * (len(expected) > len(kinds))}]"
    return "…" if expected is None else kind_of(expected)


def _items(got, expected, where: str) -> Iterator[tuple]:
    """(where, got, expected) for each item of two lists or dictionaries of the same form; nothing for other values."""
    keys = range(len(expected)) if isinstance(expected, list) else expected if isinstance(expected, dict) else ()
    return ((f"{where}[{key!r}]", got[key], expected[key]) for key in keys)


def leaves(got, expected, where: str = "result") -> Iterator[tuple]:
    """(where, got, expected) for everything in two values of the same form that is neither list nor dictionary."""
    if not isinstance(expected, (list, dict)):
        yield where, got, expected
    for at, g, e in _items(got, expected, where):
        yield from leaves(g, e, at)


def how_far(got, expected) -> tuple[str, dict]:
    """Which sentence tells how far off a value is, and its values: for two positive numbers their ratio.

    Never the right value: a ratio that begins with its digits (to 1 or 1000, say) is left out.
    """
    if not (is_number(got) and is_number(expected) and got > 0 and expected > 0):
        return "value", {}
    try:
        ratio, percent = got / expected, 100 * abs(got - expected) / expected
    except OverflowError:
        return "value", {}
    large = ratio > 1
    if 1 / 1.1 < ratio < 1.1:
        return "large_percent" if large else "small_percent", {"percent": f"{percent:.2g}"}
    factor = max(ratio, 1 / ratio) if ratio else math.inf
    if _digits(factor) == _digits(expected):
        return "too_large" if large else "too_small", {}
    return "large_factor" if large else "small_factor", {"ratio": f"{factor:.4g}"}


def _digits(value: float) -> str:
    return f"{value:.3e}".partition("e")[0]


def looks_rounded(outputs: list, expected: list) -> bool:
    """Whether all numbers are whole and within 1 % of the right ones, which are not all whole."""
    if form_fault(outputs, expected):
        return False
    pairs = [(got, want) for _, got, want in leaves(outputs, expected) if is_number(want)]
    return (
        all(got == int(got) and Close(rel=0.01).leaf_distance(got, want) < 1 for got, want in pairs)
        and not all(want == int(want) for _, want in pairs)
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- values in a message


def short_text(text: str, limit: int = SHOWN) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def short(value, limit: int = SHOWN) -> str:
    """A plain value as Python code, cut off after `limit` characters."""
    try:
        return short_text(literal(value), limit)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"<{kind_of(value)} too long to print>"


def literal(value) -> str:
    """`value` as Python code; a float from a million on as `9.89e14`, not `989000000000000.0`, if that is shorter."""
    if isinstance(value, Foreign):
        return value.text
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if type(value) is float and 1e6 <= abs(value) < math.inf:
        return min(repr(value), f"{Decimal(repr(value)).normalize():e}".replace("e+", "e"), key=len)
    return repr(value)
