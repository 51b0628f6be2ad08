"""What the code of a claim on trial returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

Ruling = Literal["holds", "holds-if", "fails"]
RULINGS: tuple[str, ...] = get_args(Ruling)


@dataclass(frozen=True)
class Verdict:
    """The ruling on a claim, and what was computed to reach it.

    `evidence` maps a label to the value that the learner sees beside it; the claim's corrected text may name these
    labels. `because` is one sentence for what numbers alone do not say, such as the condition of "holds-if".
    """

    ruling: Ruling
    evidence: Mapping[str, str | int | float] = field(default_factory=dict)
    because: str = ""

    def __post_init__(self):
        if self.ruling not in RULINGS:
            raise ValueError(f"ruling={self.ruling!r} is none of {', '.join(RULINGS)}")
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
