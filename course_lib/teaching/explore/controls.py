"""What can be moved in an explorer, as data: a choice, a whole number, a number on a log scale, a flag.

A control knows its label, its limits and where it starts. It reads a value from a call (`read`), which is strict, and
follows the other controls (`settle`), which is not: a dtype that the new device lacks gives way to one that it has.
Between Python and the page a value travels as JSON (`send` and `receive`): a choice as its text.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from course_lib.accounting import units
from course_lib.words import words

say = words(__file__)

State = Mapping[str, Any]
Options = Mapping[Hashable, str] | Iterable[str]

_STEPS = (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8)  # of a decade, about equally far apart


@dataclass(frozen=True)
class Choice:
    """One of some options: names, or a mapping value → text, or a function of the controls before it that gives either.

    start: the value at first where it is an option; else, or if None, the first option is.
    """

    label: str
    options: Options | Callable[[State], Options]
    start: Hashable = None

    def __post_init__(self):
        if not callable(self.options) and not self.choices({}):
            raise ValueError(f"the choice {self.label!r} needs at least one option.")

    def choices(self, state: State) -> dict[Hashable, str]:
        """Value → text of the options that the controls before this one leave."""
        options = self.options(state) if callable(self.options) else self.options
        return dict(options) if isinstance(options, Mapping) else {name: name for name in options}

    def settle(self, value, state: State):
        here = self.choices(state)
        return next(option for option in (value, self.start, next(iter(here))) if option in here)

    def read(self, value, name: str, state: State):
        here = self.choices(state)
        if isinstance(value, Hashable) and value in here:
            return value
        named = {str(option): option for option in here}
        if callable(self.options) and value not in named:
            raise ValueError(say("not-here", name=name, value=units.shortly(value), options=", ".join(named)))
        return named[units.choice(value, name, named)]

    def spec(self) -> dict[str, Any]:
        return {"kind": "choice", "label": self.label}

    def offers(self, state: State) -> list[str]:
        return list(self.choices(state).values())

    def send(self, value, state: State) -> str:
        return self.choices(state)[value]

    def receive(self, sent, name: str, state: State):
        """The option of this text; as at first where the controls before have meanwhile left others."""
        found = (value for value, text in self.choices(state).items() if text == sent)
        return next(found, self.settle(None, state))


class _Plain:
    """A control whose values are JSON values."""

    def settle(self, value, state: State):
        return self.start if value is None else value

    def offers(self, state: State) -> list | None:
        """What the page offers in this state; None where that is the same in all."""
        return None

    def send(self, value, state: State):
        return value

    def receive(self, sent, name: str, state: State):
        if sent is None:
            raise ValueError(say("empty", name=name))
        return self.read(sent, name, state)


@dataclass(frozen=True)
class Whole(_Plain):
    """A whole number from `low` to `high`: a box, and with `slider` a slider over exact stops beside it.

    stops: the slider's values, increasing; by default two to an octave: 1, 2, 3, 4, 6, 8, 12 … most: where the slider
    ends, a function of the controls before this one (the context of a model). A number beyond it gives way when they
    change; one that is asked for is the view's to refuse, which knows why.
    """

    label: str
    start: int
    low: int = 1
    high: int = 65536
    slider: bool = True
    stops: tuple[int, ...] = ()
    most: Callable[[State], int] | None = None

    def __post_init__(self):
        if self.slider and not self.stops:
            object.__setattr__(self, "stops", _octaves(self.low, self.high))
        _check(self, self.stops)

    def settle(self, value, state: State) -> int:
        return min(super().settle(value, state), self.most(state) if self.most else self.high)

    def offers(self, state: State) -> list | None:
        if self.most is None:
            return None
        end = min(self.high, self.most(state))
        return _texts((*(stop for stop in self.stops if stop < end), end))

    def read(self, value, name: str, state: State) -> int:
        with suppress(ValueError):
            if (whole := units.count(value, name, minimum=self.low)) <= self.high:
                return whole
        limits = {"low": f"{self.low:,}", "high": f"{self.high:,}"}
        raise ValueError(say("not-whole", name=name, value=units.shortly(value), **limits))

    def spec(self) -> dict[str, Any]:
        return {"step": 1, "stops": _texts(self.stops), **_box(self, self.label)}


@dataclass(frozen=True)
class Number(_Plain):
    """A number from `low` to `high`, both above zero, in `unit`: a slider with ten stops to a decade, and a box."""

    label: str
    start: float
    low: float
    high: float
    unit: str = ""

    def __post_init__(self):
        if not self.low > 0:
            raise ValueError(f"low={self.low!r} of the control {self.label!r} must be above zero: its scale is a log.")
        _check(self, (self.low, self.high))

    @property
    def stops(self) -> tuple[float, ...]:
        """Both limits and the steps of every decade between them."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (float(f"{step}e{decade}") for decade in range(first, last + 1) for step in _STEPS)
        return (self.low, *(step for step in steps if self.low < step < self.high), self.high)

    def read(self, value, name: str, state: State) -> float:
        with suppress(ValueError):
            if self.low <= (number := units.number(value, name)) <= self.high:
                return number
        limits = {"low": self._text(self.low), "high": self._text(self.high)}
        raise ValueError(say("no-number", name=name, value=units.shortly(value), **limits))

    def spec(self) -> dict[str, Any]:
        stops = [[stop, self._text(stop)] for stop in self.stops]
        label = f"{self.label} ({self.unit})" if self.unit else self.label
        return {"step": "any", "stops": stops, **_box(self, label)}

    def _text(self, value: float) -> str:
        return units.format_si(value, self.unit)


@dataclass(frozen=True)
class Flag(_Plain):
    """Something that is on or off."""

    label: str
    start: bool = False

    def read(self, value, name: str, state: State) -> bool:
        return units.flag(value, name)

    def spec(self) -> dict[str, Any]:
        return {"kind": "flag", "label": self.label}


Control = Choice | Whole | Number | Flag


def _texts(stops: Iterable[int]) -> list[list]:
    return [[stop, f"{stop:,}"] for stop in stops]


def _box(control: Whole | Number, label: str) -> dict[str, Any]:
    exact = say("exact", label=label)
    return {"kind": "number", "label": label, "exact": exact, "low": control.low, "high": control.high}


def _check(control: Whole | Number, stops: tuple) -> None:
    """Refuse limits and stops in which no slider could move."""
    low, start, high = control.low, control.start, control.high
    if not low < high:
        raise ValueError(f"the control {control.label!r} needs low < high, not {low!r} and {high!r}.")
    try:
        inside = low <= start <= high
    except TypeError:  # a text, where a call hands its argument on
        inside = False
    if not inside:
        raise ValueError(f"start={start!r} of the control {control.label!r} must lie from {low!r} to {high!r}.")
    if any(not low <= stop <= high for stop in stops) or list(stops) != sorted(set(stops)):
        raise ValueError(f"stops of the control {control.label!r} must increase, from {low!r} to {high!r} at most.")


def _octaves(low: int, high: int) -> tuple[int, ...]:
    """Both limits, and the whole numbers 2^e and 3·2^e between them."""
    between = {base << shift for base in (1, 3) for shift in range(high.bit_length())}
    return tuple(sorted({low, high, *(stop for stop in between if low < stop < high)}))
