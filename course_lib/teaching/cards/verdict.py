"""What the code of a claim on trial returns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

Ruling = Literal["holds", "holds-if", "fails"]
RULINGS: tuple[str, ...] = get_args(Ruling)


@dataclass(frozen=True, init=False)
class Verdict:
    """The ruling on a claim, and the named numbers that were computed to reach it: `Verdict("fails", ridge=201.3)`.

    The words stand in the claim's table of `cards.toml`, with the names in braces: `because`, one sentence for what
    numbers alone do not say, such as the condition of "holds-if", and `evidence`, label -> what stands beside it.
    """

    ruling: Ruling
    values: Mapping[str, Any]

    def __init__(self, ruling: Ruling, **values):
        if ruling not in RULINGS:
            raise ValueError(f"ruling={ruling!r} is none of {', '.join(RULINGS)}")
        object.__setattr__(self, "ruling", ruling)
        object.__setattr__(self, "values", MappingProxyType(values))


def if_all(*tests: bool) -> Ruling:
    """ "holds" where all tests do, else "fails"."""
    return "holds" if all(tests) else "fails"


def by_cases(cases: Iterable[bool]) -> Ruling:
    """What a claim is that is true in all cases, in some of them ("holds-if"), or in none."""
    cases = list(cases)
    return "holds" if all(cases) else "holds-if" if any(cases) else "fails"
