"""Reading a number as a learner types it into a card: "3e9", "2*10^9", "1/3", "1,000", "3 GiB", "3 million", "５０％".

A comma or a space groups thousands. Units are the card's own, the same unit under another prefix, or none.
"""

import math
import re

from course_lib.words import words

say = words(__file__)

# What a Chinese keyboard types in its full-width mode, and signs that look like the ones meant.
_SIGNS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SIGNS |= {ord(sign): ord(meant) for sign, meant in {"\u3000": " ", "。": ".", "−": "-", "÷": "/", "μ": "µ"}.items()}
_SIGNS |= {ord(space): ord(" ") for space in "\u00a0\u202f\u2009"}  # as tables group their thousands
_GROUPS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?: \d{3})+(?![\d,])")
_POWER = re.compile(r"(?<![\d.,])(?:([\d.]+) ?[*×·x] ?)?10 ?\^ ?([+-]?\d+)")

_NUMBER = r"[+-]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:[eE][+-]?\d+)?"
_TYPED = re.compile(
    rf"(?P<top>{_NUMBER})\s*(?:/\s*(?P<bottom>{_NUMBER}))?\s*"
    r"(?P<count>(?:thousand|million|billion|trillion)\b)?\s*(?P<unit>[^\d\s.,+\-^*/=<>~].*)?"
)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,])")

_WORDS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, None: 1.0}
_PREFIXES = {
    "n": 1e-9,
    "µ": 1e-6,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_BASES = ("FLOP/s", "FLOP/B", "tokens/s", "B/s", "FLOP", "Wh", "B", "s", "W", "J")
_COUNTS = {prefix: _PREFIXES[prefix] for prefix in ("k", "K", "M", "G", "T")}
_SPELLED = {"byte": "B", "bytes": "B", "second": "s", "seconds": "s", "sec": "s", "percent": "%"}
_SPELLED |= {"minute": "min", "minutes": "min", "hour": "h", "hours": "h", "day": "d", "days": "d"}
_FLOPS = {"FLOPs/s": "FLOP/s", "FLOPS": "FLOP/s", "FLOPs": "FLOP"}  # at the end, after any prefix
_BEFORE = {"×": ("×", "x"), "$": ("$",)}  # units that are also written before the number


def parse_number(typed: str, unit: str = "", scale: str = "log") -> float:
    """The number that was typed, in the card's unit. On a "log" scale it must be above zero.

    ValueError with one line that says what the box reads.
    """
    typed = typed.strip()
    text = _GROUPS.sub(lambda found: found[0].replace(" ", ""), typed.translate(_SIGNS).strip())
    text = _POWER.sub(lambda found: f"{found[1] or 1}e{found[2]}", text)
    for sign in _BEFORE.get(unit, ()):
        text = text.removeprefix(sign).lstrip()
    match = _TYPED.fullmatch(text)
    value = _value(match)
    if value is None:
        pointed, commas = _DECIMAL_COMMA.subn(r"\1.\2", text)
        if commas == 1 and _value(_TYPED.fullmatch(pointed)) is not None:
            raise ValueError(say("with-a-point", pointed=pointed))
        raise ValueError(say("not-read", typed=typed))
    factor = _factor((match["unit"] or "").strip(), unit)
    if factor is None:
        raise ValueError(say("other-unit" if unit else "no-unit", typed=typed, unit=unit))
    value *= factor * _WORDS[match["count"]]
    if not math.isfinite(value):
        raise ValueError(say("not-finite", typed=typed))
    if scale == "log" and value <= 0:
        raise ValueError(say("not-above-zero", typed=typed))
    return value


def _value(match: re.Match | None) -> float | None:
    """What a match of `_TYPED` is worth without its unit; None without a match or without digits."""
    if match is None:
        return None
    try:
        value = float(match["top"].replace(",", ""))
        divisor = 1.0 if match["bottom"] is None else float(match["bottom"].replace(",", ""))
    except ValueError:
        return None
    return value / divisor if divisor else math.inf


def _factor(typed: str, unit: str) -> float | None:
    """What a number in the typed unit is multiplied with to be in the card's unit; None where the two do not fit."""
    typed = _SPELLED.get(typed, typed)
    for spelled, symbol in _FLOPS.items():
        if typed.endswith(spelled):
            typed = typed.removesuffix(spelled) + symbol
    if typed in ("", unit, unit.removesuffix("s")) or (unit == "×" and typed in ("x", "X", "times")):
        return 1.0
    if typed == "%" and unit == "":
        return 0.01
    for base in _BASES:
        prefixes = _PREFIXES | (_BINARY if base in ("B", "B/s") else {})
        if (own := prefixes.get(unit.removesuffix(base))) and unit.endswith(base):
            other = prefixes.get(typed.removesuffix(base)) if typed.endswith(base) else None
            return other and other / own
    return _COUNTS.get(typed)
