"""The texts of a card as `cards.toml` states them, and the numbers of its rounds.

A number or choice card may have parameters: `rounds = [{m = 1}, {m = 100}]`. The names stand in braces in its texts
(`{m}`, or `{m:,}` with a format) and are handed to its truth function by keyword. Round 0 is what is asked first.
"""

import difflib
import math
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_lib import units
from course_lib.teaching import markup
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.checks.typed_number import parse_number

KINDS = ("number", "choice", "claim", "reflection")
SCALES = ("log", "linear")
LONGEST = 2000  # characters of a reflection, where the card states no limit of its own

_BRACES = re.compile(r"\{([A-Za-z_]\w*)(:[^{}]*)?\}")
_TRUTH = "truth"  # in a reason: the answer, filled in when it has been computed


class CardError(ValueError):
    """A card that does not exist or whose texts are incomplete; the message is one line for the learner."""


@dataclass(frozen=True)
class Choice:
    key: str
    text: str
    why: str = ""


@dataclass(frozen=True)
class Card:
    """The texts of one card in one of its rounds. A claim has the three rulings as its choices.

    A `transfer` card asks by what factor the guess may be off, in place of how sure. `given` are the parameters of this
    `round`, of which there are `rounds`; a card without parameters has one.
    """

    id: str
    folder: str
    kind: str
    prompt: str
    hints: tuple[str, ...] = ()
    reason: str = ""
    unit: str = ""
    scale: str = "log"
    range: tuple[float, float] | None = None
    tolerance: float = 0.0
    slips: tuple[tuple[float, str], ...] = ()
    choices: tuple[Choice, ...] = ()
    source: str = ""
    corrected: str = ""
    because: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    cell: str = ""  # of the lesson: where a claim is decided that has no card of its own there
    limit: int = LONGEST
    transfer: bool = False
    round: int = 0
    rounds: int = 1
    given: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def form(self) -> str:
        """What it is called on the page: its kind, or "transfer"."""
        return "transfer" if self.transfer else self.kind

    def choice(self, key: str) -> Choice | None:
        return next((choice for choice in self.choices if choice.key == key), None)

    def shown(self, value: float | str) -> str:
        """A guess or an answer as the learner reads it, with its unit."""
        if self.kind == "number":
            return f"{markup.number(value)} {self.unit}".strip()
        choice = self.choice(value)
        return markup.plain(choice.text) if choice else value


# ---- Finding a card ----------------------------------------------------------------------------------------------


def read_card(id: str) -> Card:
    """The first round of the card of this id, as `read_rounds`."""
    return read_rounds(id)[0]


def read_rounds(id: str) -> tuple[Card, ...]:
    """All rounds of the card of this id. CardError for an unknown id (it names the nearest) and for texts that are
    incomplete.
    """
    unit = units.unit_of(id)
    try:
        tables = units.cards(unit) if unit else {}
    except (OSError, ValueError) as error:
        raise CardError(str(error)) from None
    if id not in tables:
        raise CardError(_unknown(id))
    return parse_card(id, unit, tables[id])


def _unknown(id: str) -> str:
    known = [known for unit in units.names() for known in tables(unit)]
    near = difflib.get_close_matches(id, known, n=1, cutoff=0.4)
    return say("no-card-near", id=id, near=near[0]) if near else say("no-card", id=id)


def tables(unit: str) -> Mapping[str, Mapping[str, Any]]:
    """A unit's cards by id, as their tables stand; none where they cannot be read, which is said where one is shown."""
    try:
        return units.cards(unit)
    except (OSError, ValueError):
        return {}


# ---- Reading a table ---------------------------------------------------------------------------------------------


def parse_card(id: str, folder: str, table: Mapping[str, Any]) -> tuple[Card, ...]:
    """The rounds of the card that a table of `cards.toml` states, one where it has no parameters.

    CardError names the card and the field that is missing or wrong.
    """
    if not isinstance(table, Mapping):
        raise CardError(f"The card {id} in cards.toml is {table!r} where a table is expected.")
    kind = _field(id, table, "kind", str)
    if kind not in KINDS:
        raise CardError(f"The card {id} has kind={kind!r} in cards.toml; allowed: {', '.join(KINDS)}.")
    docket = table.get("docket")
    if docket is not None and not (kind == "claim" and isinstance(docket, bool)):
        raise CardError(f"The card {id} has docket={docket!r} in cards.toml; only a claim has it, true or false.")
    if "transfer" in table and kind != "number":
        raise CardError(f"The card {id} has 'transfer' in cards.toml; only a number has it.")
    rounds = _rounds(id, table)
    parse = {"number": _number, "choice": _choice, "claim": _claim, "reflection": _reflection}[kind]
    cards = []
    for n, given in enumerate(rounds):
        filled = fill(table, given)
        common = {
            "id": id,
            "folder": folder,
            "kind": kind,
            "hints": tuple(_field(id, filled, "hints", list, [], of=str)),
            "reason": _field(id, filled, "reason", str, ""),
            "round": n,
            "rounds": len(rounds),
            "given": given,
        }
        cards.append(Card(**common, **parse(id, filled)))
    if len({card.prompt for card in cards}) < len(cards):
        raise CardError(f"The card {id} asks the same in two of its rounds in cards.toml: put the names in the prompt.")
    return tuple(cards)


_NEEDED = object()


def _field(id: str, table: Mapping[str, Any], name: str, types, default: Any = _NEEDED, of=None) -> Any:
    """A field of the right type (a list: of items of type `of`), or its default."""
    if name not in table:
        if default is _NEEDED:
            raise CardError(f"The card {id} has no {name!r} in cards.toml.")
        return default
    value = table[name]
    fits = isinstance(value, types) and not (isinstance(value, bool) and types is not bool)
    if not fits or (of and not all(isinstance(item, of) and not isinstance(item, bool) for item in value)):
        raise CardError(f"The card {id} has {name}={value!r} in cards.toml, which is of the wrong type.")
    return value


def _number(id: str, table: Mapping[str, Any]) -> dict[str, Any]:
    scale = _field(id, table, "scale", str, "log")
    if scale not in SCALES:
        raise CardError(f"The card {id} has scale={scale!r} in cards.toml; allowed: {', '.join(SCALES)}.")
    span = _field(id, table, "range", list, None, of=(int, float))
    if span is not None and not (len(span) == 2 and span[0] < span[1] and (scale == "linear" or span[0] > 0)):
        raise CardError(
            f"The card {id} has range={span!r} in cards.toml; it takes [low, high], above zero on a log scale."
        )
    transfer = _field(id, table, "transfer", bool, False)
    if transfer and scale != "log":
        raise CardError(f"The card {id} has transfer=true in cards.toml; a factor of error takes scale='log'.")
    return {
        "transfer": transfer,
        "prompt": _field(id, table, "prompt", str),
        "unit": _field(id, table, "unit", str),
        "scale": scale,
        "range": tuple(span) if span else None,
        "tolerance": _field(id, table, "tolerance", (int, float)),
        "slips": tuple((_slip(id, value), text) for value, text in _field(id, table, "slips", dict, {}).items()),
    }


def _slip(id: str, value: str) -> float:
    try:
        return parse_number(value, scale="linear")
    except ValueError:
        raise CardError(
            f"The card {id} has the slip {value!r} in cards.toml; its key is a number, or one name of its rounds alone "
            "in braces."
        ) from None


def _choice(id: str, table: Mapping[str, Any]) -> dict[str, Any]:
    try:
        choices = tuple(Choice(**choice) for choice in _field(id, table, "choices", list))
    except TypeError:
        raise CardError(f"The card {id} needs key, text and why in each of its choices in cards.toml.") from None
    return {"prompt": _field(id, table, "prompt", str), "choices": choices}


def _claim(id: str, table: Mapping[str, Any]) -> dict[str, Any]:
    because, evidence = _field(id, table, "because", str, ""), _field(id, table, "evidence", dict, {})
    corrected = _field(id, table, "corrected", str)
    for text in (because, corrected, *evidence.values()):
        try:
            names(text)
        except (TypeError, ValueError):
            raise CardError(f"The card {id} has {text!r} in cards.toml, whose braces cannot be filled.") from None
    return {
        "prompt": _field(id, table, "claim", str),
        "source": _field(id, table, "source", str, ""),
        "corrected": corrected,
        "because": because,
        "evidence": evidence,
        "cell": _field(id, table, "cell", str, ""),
        "choices": tuple(Choice(key, text) for key, text in say.table("rulings").items()),
    }


def _reflection(id: str, table: Mapping[str, Any]) -> dict[str, Any]:
    _field(id, table, "reason", str)
    limit = _field(id, table, "limit", int, LONGEST)
    if not 0 < limit <= 10 * LONGEST:
        raise CardError(f"The card {id} has limit={limit!r} in cards.toml; it takes 1 to {10 * LONGEST} characters.")
    return {"prompt": _field(id, table, "prompt", str), "limit": limit}


# ---- Rounds ------------------------------------------------------------------------------------------------------


def fill(value: Any, given: Mapping[str, int | float | str]) -> Any:
    """Every text in a table with the names of `given` in braces replaced by their values; other braces stay."""
    if isinstance(value, str):
        return _BRACES.sub(lambda found: _filled(found, given), value)
    if isinstance(value, Mapping):
        return {fill(key, given): fill(item, given) for key, item in value.items() if key != "rounds"}
    return [fill(item, given) for item in value] if isinstance(value, list) else value


def _filled(found: re.Match, given: Mapping[str, int | float | str]) -> str:
    if found[1] not in given:
        return found[0]
    value, form = given[found[1]], (found[2] or "")[1:]
    if not form and isinstance(value, int):
        form = "," if abs(value) >= 10_000 else ""  # 4096 but 10,000, as the lessons write them
    elif not form and isinstance(value, float):
        form = "g"
    try:
        return format(value, form)
    except ValueError:
        return found[0]


def _rounds(id: str, table: Mapping[str, Any]) -> Sequence[Mapping[str, int | float | str]]:
    """The parameters of each round; [{}] for a card without. CardError where names and texts do not agree."""
    if "rounds" not in table:
        return [{}]
    rounds = _field(id, table, "rounds", list, of=Mapping)
    if table["kind"] not in ("number", "choice") or len(rounds) < 2:
        raise CardError(f"The card {id} has rounds in cards.toml; a number or a choice takes at least two of them.")
    names = set(rounds[0])
    if any(set(given) != names for given in rounds) or not names or _TRUTH in names:
        raise CardError(f"The card {id} has rounds in cards.toml that do not all give the same names.")
    values = [value for given in rounds for value in given.values()]
    if not all(isinstance(value, int | float | str) and not isinstance(value, bool) for value in values):
        raise CardError(f"The card {id} has rounds in cards.toml whose values are not numbers or texts.")
    if not all(math.isfinite(value) for value in values if isinstance(value, float)):
        raise CardError(f"The card {id} has rounds in cards.toml with a number that is not finite.")
    braces = set(_names({key: value for key, value in table.items() if key != "rounds"}))
    wrong = sorted((braces - names - {_TRUTH}) | (names - braces))
    if wrong:
        raise CardError(
            f"The card {id} has {wrong[0]!r} only in its texts or only in its rounds in cards.toml; it takes both."
        )
    return rounds


def names(text: str) -> set[str]:
    """The values that a text of a claim names in braces: `{ridge:.0f}`, `{share[1024]:.0%}`. ValueError for braces that
    do not close.
    """
    return {re.match(r"\w*", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _names(value: Any) -> list[str]:
    """The names in braces in every text of a table."""
    if isinstance(value, str):
        return [found[1] for found in _BRACES.finditer(value)]
    if isinstance(value, Mapping):
        return [name for key, item in value.items() for name in [*_names(key), *_names(item)]]
    return [name for item in value for name in _names(item)] if isinstance(value, list) else []
