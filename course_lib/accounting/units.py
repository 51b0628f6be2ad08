"""Units: checks of what comes in, and words for what goes out.

Everything in `accounting` is a plain number in SI base units: FLOP, FLOP/s, bytes (B), B/s, seconds. Prefixes exist
only here, where a number becomes text. k, M, G … are powers of 1000 (GB = 1e9 B); Ki, Mi, Gi … are powers of 1024
(GiB = 2**30 B) and are always spelled so.
"""

import re
from collections.abc import Iterable
from functools import wraps

# ---------------------------------------------------------------- a mapping that cannot change


class FrozenDict(dict):
    """A dict that refuses to change: it can be shared between frozen values, copied, pickled and written as JSON."""

    def _refuse(self, *args, **kwargs):
        raise TypeError("this mapping is read-only: make a new value with dataclasses.replace(...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self):
        return FrozenDict, (dict(self),)


# ---------------------------------------------------------------- checks

_MOST = 10**60  # of anything: products of sizes stay within a float


def count(value, name: str, minimum: int = 1) -> int:
    """`value` as an exact int; integral floats pass (`70e9` is 70000000000).

    Raises ValueError, naming `name` and the value, for anything else: a fraction of a thing, a bool, infinity, text, or
    less than `minimum`, or more than 1e60.
    """
    try:
        whole = int(value) if not isinstance(value, (str, bytes, bool)) else None
    except (TypeError, ValueError, OverflowError):
        whole = None
    if hasattr(value, "parts"):
        raise ValueError(f"{name} is a Breakdown; give its number, int(b), or that of a part, such as b['mlp'].")
    if whole is None or whole != value:
        raise ValueError(
            f"{name}={shortly(value)} must be a whole number (70e9 is fine, 2.5 is not): it counts things."
        )
    if whole < minimum:
        raise ValueError(f"{name}={shortly(value)} must be at least {minimum}.")
    if whole > _MOST:
        raise ValueError(f"{name} has {len(str(whole))} digits: there is not so much of anything here.")
    return whole


def pair(value, name: str, minimum: int = 1) -> tuple[int, int]:
    """`value`, an int or a pair, as (height, width)."""
    both = value if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{name}={value!r} must be an int or a pair (height, width).")
    return count(both[0], name, minimum), count(both[1], name, minimum)


def image_size(value):
    """`value`, checked: a side in pixels stays an int, a pair is (height, width)."""
    both = pair(value, "image")
    return both if isinstance(value, (tuple, list)) else both[0]


def flag(value, name: str) -> bool:
    """`value` if it is True or False, else ValueError naming `name` and the value."""
    if not isinstance(value, bool):
        raise ValueError(f"{name}={value!r} must be True or False.")
    return value


def number(value, name: str) -> float:
    """`value` as a finite float ≥ 0, else ValueError naming `name` and the value."""
    try:
        result = float(value) if not isinstance(value, (str, bytes, bool)) else None
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is None or not 0 <= result < float("inf"):
        raise ValueError(f"{name}={shortly(value)} must be a finite number, zero or more.")
    return result


def fraction(value, name: str) -> float:
    """`value` as a float in [0, 1], else ValueError naming `name` and the value."""
    result = number(value, name)
    if result > 1:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1; 40 % is 0.4.")
    return result


def bandwidth(value, name: str = "bandwidth") -> float:
    """A bandwidth in B/s. Values in (0, 1e5) are refused: nothing is that slow, so the number is in GB/s or TB/s."""
    result = positive(value, name)
    if result < 1e5:
        raise ValueError(f"{name}={value!r} looks like GB/s; this takes B/s (900 GB/s is 900e9, 3.35 TB/s is 3.35e12).")
    return result


def peak_rate(value, name: str = "peak") -> float:
    """A peak rate in FLOP/s. Values in (0, 1e6) are refused: the number is in TFLOP/s."""
    result = positive(value, name)
    if result < 1e6:
        raise ValueError(f"{name}={value!r} looks like TFLOP/s; this takes FLOP/s (312 TFLOP/s is 312e12).")
    return result


def capacity(value, name: str = "memory_capacity") -> int:
    """A device memory in bytes. Values in (0, 1e6) are refused: the number is in GB."""
    result = count(value, name)
    if result < 1e6:
        raise ValueError(f"{name}={value!r} looks like GB; this takes bytes (80 GB is 80e9, 80 GiB is 80 * 2**30).")
    return result


def positive(value, name: str) -> float:
    """`value` as a finite float above 0, else ValueError naming `name` and the value."""
    result = number(value, name)
    if result == 0:
        raise ValueError(f"{name}={value!r} must be more than zero.")
    return result


def latency(value, name: str = "latency") -> float:
    """A short time in seconds, 0 allowed. Values above 1 are refused: the number is in µs or ms."""
    result = number(value, name)
    if result > 1:
        raise ValueError(f"{name}={value!r} looks like µs; this takes seconds (5 µs is 5e-6).")
    return result


def choice(value, name: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of `allowed`, else ValueError with the nearest one."""
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    raise ValueError(f"{name}={shortly(value)} is not known.{hint(value, allowed)} Known: {', '.join(allowed)}.")


def shortly(value) -> str:
    """`value` as it is shown in an error: a model or device by its name, anything else by the start of its repr."""
    named = getattr(value, "name", None) or getattr(value, "id", None)
    if isinstance(named, str):
        return f"{type(value).__name__} {named!r}"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"{text.splitlines()[0][:57]}…"


def counted(number: int, noun: str) -> str:
    """A number and what it counts, for nouns that take -s: "1 row", "16384 rows"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def hint(value, allowed: Iterable[str]) -> str:
    """A question after the entry of `allowed` that has all words of `value` ("a100": "a100-40-sxm"), else after the
    most similar one; "" if none is close.
    """
    import difflib  # only when an error is being written

    lowered, asked = {name.lower(): name for name in allowed}, str(value).lower()
    words = [word for word in re.split(r"[^a-z0-9.]+", asked) if word]
    holding = [name for name in lowered if words and all(word in re.split(r"[^a-z0-9.]+", name) for word in words)]
    found = holding or difflib.get_close_matches(asked, lowered, n=1, cutoff=0.5)
    return f" Did you mean {lowered[found[0]]!r}?" if found else ""


def teach(module: dict) -> None:
    """Let the public functions and dataclasses of a module (its `globals()`) answer an unknown keyword with the nearest
    one that they take, in a TypeError."""
    for name, found in list(module.items()):
        if name[0] == "_" or getattr(found, "__module__", "") != module["__name__"]:
            continue
        if isinstance(found, type) and "__init__" in vars(found):
            found.__init__ = _taught(found.__init__, name)
        elif hasattr(found, "__code__"):
            module[name] = _taught(found, name)


def _taught(function, title: str):
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def call(*args, **given):
        try:
            return function(*args, **given)
        except TypeError:
            unknown = [name for name in given if name not in known]
            if not unknown:
                raise
            takes = ", ".join(name for name in known if name != "self")
            raise TypeError(f"{title}() knows no {unknown[0]}=.{hint(unknown[0], known)} It takes {takes}.") from None

    return call


# ---------------------------------------------------------------- formatting

_LARGE = tuple((1000.0**power, prefix) for power, prefix in enumerate(["", *"kMGTPEZY"]))[::-1]
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_BINARY = tuple((1024.0**power, prefix) for power, prefix in enumerate(["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]))[::-1]
_CALENDAR = ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min"))
_WORDS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"), (1.0, ""))
# A prefix joins these symbols ("GFLOP"); any other unit is a word and gets a word ("124 million parameters").
_SYMBOLS = frozenset({"FLOP", "FLOP/s", "MAC", "B", "B/s", "s", "Hz", "W", "J"})
_DIVISIBLE = frozenset({"s", "W", "J"})
_RATIOS = frozenset({"", "FLOP/B"})


def _significant(value: float, digits: int) -> str:
    """`value` with `digits` significant digits; in exponent form below 1e-4 and from 1e4 on."""
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded value: 9.996 has 1
    if value == 0 or -4 <= exponent < 4:
        return f"{value:.{max(0, digits - 1 - exponent)}f}"
    return f"{value:.{digits - 1}e}"


def _scaled(value: float, steps, digits: int) -> tuple[str, str]:
    """(digits, prefix) at the largest step that leaves at least 1 after rounding: 999.9e9 is 1.00 T and not 1000 G."""
    fits = (step for step in steps if float(f"{value / step[0]:.{digits - 1}e}") >= 1)
    size, prefix = next(fits, steps[-1])
    return _significant(value / size, digits), prefix


def format_si(value, unit: str = "", digits: int = 3) -> str:
    """`value` with an SI prefix: 1.07e9, "FLOP" → "1.07 GFLOP"; 3.35e12, "B/s" → "3.35 TB/s".

    A unit that is a word gets a word: 124439808, "parameters" → "124 million parameters". Whole numbers below 1000
    stay whole ("24 FLOP"). Prefixes below one (m, µ, n, p) serve seconds, watts and joules only; other small values are
    plain decimals ("0.0833 FLOP/B"), and so are large ratios ("1,365 FLOP/B").
    """
    if value < 0:
        return f"−{format_si(-value, unit, digits)}"
    if value == int(value) and value < 1000:
        text, prefix = str(int(value)), ""
    elif unit in _RATIOS:
        text, prefix = _plain(value, digits), ""
    elif unit not in _SYMBOLS:
        text, word = _scaled(value, _WORDS, digits)
        return f"{text} {word} {unit}" if word else f"{text} {unit}"
    else:
        text, prefix = _scaled(value, _LARGE if value >= 1 or unit not in _DIVISIBLE else _SMALL, digits)
    return f"{text} {prefix}{unit}".rstrip()


def format_bytes(value, binary: bool = False, digits: int = 3) -> str:
    """Bytes as decimal kB, MB, GB (`binary=False`) or as KiB, MiB, GiB: 85899345920 → "85.9 GB" or "80.0 GiB"."""
    if not binary:
        return format_si(value, "B", digits)
    if value < 1024 and value == int(value):
        return f"{int(value)} B"
    size, prefix = next((step for step in _BINARY if value >= step[0]), _BINARY[-1])
    return f"{_plain(value / size, digits)} {prefix}B"


def format_seconds(value, digits: int = 3) -> str:
    """A time: 0.025 → "25.0 ms", 299008 → "3.46 days". Minutes, hours, days and years from two minutes on."""
    if value < 120:
        return format_si(value, "s", digits)
    size, word = next((step for step in _CALENDAR if value >= 2 * step[0]), _CALENDAR[-1])
    return f"{_plain(value / size, digits)} {word}"


def format_exact(value: int) -> str:
    """Every digit, in groups of three: 124439808 → "124,439,808"."""
    return f"{value:,}"


def _plain(value: float, digits: int) -> str:
    """No prefix: significant digits below 1000, then every digit before the point, an exponent from 1e15 on."""
    return f"{round(value):,}" if 1000 <= round(value) < 1e15 else _significant(value, digits)
