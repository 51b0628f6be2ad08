"""Dishonest, broken and unlucky answers to one exercise, `ridge(peak, bandwidth)`: each a cell that deserves no point.

HOST stands for a folder of the grading machine that the tests watch; a cell that finds what it should not see there, or
in another student's work, writes the right answer down. Bounded by themselves: none loops longer than the limits.
"""

from tests.grading.sandbox.corpus import breaking, forging, hoarding, processes, snooping, values

ATTACKS: dict[str, str] = {
    f"{module.__name__.rpartition('.')[2]}: {name}": source
    for module in (values, forging, processes, hoarding, snooping, breaking)
    for name, source in module.ATTACKS.items()
}
MARKER = "marker-5d1c9e77 of the honest answer"
"""What stands in the honest answers between the attacks; `snooping` looks for it."""
