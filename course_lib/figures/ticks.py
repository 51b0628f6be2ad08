"""Plain numbers along an axis: "10 µs", "100 G", "2,048"; as many as fit beside each other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LARGE = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST = 9  # ticks on an axis
FEW = 3  # ticks that an axis should have at least


def tick_text(value: float, unit: str = "", digits: int = 4) -> str:
    """A tick as one reads it: seconds, bytes and ratios with their unit, of other units the prefix only ("100 G" where
    the axis says FLOP/s). Counts below a hundred thousand stay whole, and shares in % as they are. Seconds from ten
    thousand on, which nobody calls kiloseconds, are powers of ten: "10⁴ s", "2·10⁵ s".
    """
    if value < 0:
        return f"−{tick_text(-value, unit, digits)}"
    if value == 0:
        return "0"
    plain = f"{value:,.10g}"
    if unit == "×":
        return f"{plain}×"
    if unit == "%" or (unit == "" and value < 1e5):
        return plain
    if unit == "s" and value >= 1e4 * (1 - 1e-9):
        front, power = f"{value:.{digits - 1}e}".split("e")
        front = front.rstrip("0").rstrip(".")
        return f"{'' if front == '1' else f'{front}·'}10{str(int(power)).translate(_RAISED)} s"
    steps = _SMALL if unit == "s" else _LARGE + _SMALL[:1]
    step, prefix = next((step for step in steps if value >= step[0] * (1 - 1e-9)), steps[-1])
    return f"{value / step:,.{digits}g} {prefix}{unit if unit in ('s', 'B') else ''}".rstrip()


def log_ticks(low: float, high: float) -> Iterator[list[float]]:
    """Sets of ticks of a logarithmic axis, from many to few: 1, 2, 5 of each decade; 1 and 3; 1; every other 1, …

    A range that holds too few of them has ticks as a linear one.
    """
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    sets = [(mantissas, 1) for mantissas in ((1, 2, 5), (1, 3), (1,))] + [((1,), step) for step in range(2, 9)]
    for mantissas, step in sets:
        found = [m * 10.0**d for d in decades if d % step == 0 for m in mantissas]
        found = [value for value in found if _within(value, low, high)]
        if len(found) >= FEW:
            yield found
    for ticks in linear_ticks(low, high):
        yield [value for value in ticks if _within(value, low, high)]


def linear_ticks(low: float, high: float) -> Iterator[list[float]]:
    """Sets of ticks at round steps, from many to few."""
    if not high > low:
        yield [low]
        return
    power = math.floor(math.log10(high - low)) - 1
    steps = [m * 10.0**p for p in range(power, power + 3) for m in (1, 2, 5)]
    for step in steps:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < 100:
            yield [round(n * step, 12 - math.floor(math.log10(step))) for n in range(first, last + 1)]


def few_ticks(low: float, high: float, log: bool = False) -> list[float]:
    """The most ticks from `low` to `high` that are not too many, whatever the length of their texts."""
    sets = log_ticks(low, high) if log else linear_ticks(low, high)
    return next(found for found in sets if len(found) <= MOST)


def _within(value: float, low: float, high: float) -> bool:
    return low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


def set_ticks(axes, name: str, unit: str, values: Sequence[float] = ()) -> None:
    """Ticks of the axis "x" or "y" of `axes`, which is laid out: the most that stand clear of each other.

    values: where the data lie; they are the ticks if they fit, and the first and those that stand clear if not all do.
    """
    from matplotlib.ticker import NullLocator

    axis, (low, high) = getattr(axes, f"{name}axis"), sorted(getattr(axes, f"get_{name}lim")())
    if values:
        chosen = _clear_of_each_other(axes, name, unit, sorted(set(values), key=_roundness, reverse=True))
    else:
        sets = log_ticks(low, high) if axis.get_scale() == "log" else linear_ticks(low, high)
        kept = [_inside(axes, name, unit, ticks) for ticks in sets if len(ticks) <= MOST]
        fitting = (ticks for ticks in kept if len(_clear_of_each_other(axes, name, unit, ticks)) == len(ticks))
        chosen = next(fitting, _clear_of_each_other(axes, name, unit, kept[-1]))
    axis.set_ticks(chosen, [tick_text(value, unit, 3 if values else 4) for value in chosen])
    axis.set_minor_locator(NullLocator())
    getattr(axes, f"set_{name}lim")(*((high, low) if axis.get_inverted() else (low, high)))


def _roundness(value: float) -> int:
    """The largest power of two in a whole number, by which 512 comes before 511."""
    return int(value) & -int(value) if value == int(value) else 0


def _inside(axes, name: str, unit: str, values: Sequence[float]) -> list[float]:
    """Those of `values` whose text does not leave the canvas at its end."""
    end = axes.figure.bbox.width if name == "x" else axes.figure.bbox.height
    return [value for value in values if _extent(axes, name, unit, value)[1] <= end]


def _clear_of_each_other(axes, name: str, unit: str, values: Sequence[float]) -> list[float]:
    """The first of `values`, and each whose text stands clear of those before; in order of size."""
    kept: list[tuple[float, float, float]] = []
    for value in values:
        start, end = _extent(axes, name, unit, value)
        gap = (end - start) / (4 if name == "x" else 3)
        if all(end + gap <= other_start or start >= other_end + gap for _, other_start, other_end in kept):
            kept.append((value, start, end))
    return sorted(value for value, _, _ in kept)


def _extent(axes, name: str, unit: str, value: float) -> tuple[float, float]:
    """Where the text of a tick begins and ends along its axis, in pixels."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    sizes: Mapping[str, Any] = rcParams
    font, renderer = FontProperties(size=sizes[f"{name}tick.labelsize"]), axes.figure.canvas.get_renderer()
    width, height, _ = renderer.get_text_width_height_descent(tick_text(value, unit), font, ismath=False)
    if name == "x":
        at, half = axes.get_xaxis_transform().transform((value, 0))[0], width / 2
    else:
        at, half = axes.get_yaxis_transform().transform((0, value))[1], height / 2
    return at - half, at + half
