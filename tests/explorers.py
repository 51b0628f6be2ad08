"""Every explorer that there is: that of the library, and those of the units."""

import re
import sys
from collections.abc import Callable

from course_lib import units

OWN = re.compile(r'"(explorer\.\w+)"')
"""In a unit's explorer.py: the call that shows an explorer again."""

IMPORTS = {"explore.roofline": "from course_lib import explore"} | {
    call: f"from course_lib.units.{path.parent.name} import explorer"
    for path in sorted((units.home() / "lessons").glob("*/explorer.py"))
    for call in OWN.findall(path.read_text(encoding="utf-8"))
}
"""Function as a notebook calls it -> the line that imports it."""

STEP = 30_000
"""Calls in one step of a slider to where it has not been, at most: 2 to 4 ms at the 0.07 to 0.13 µs that one takes."""


def calls_of(function: Callable[[], object]) -> int:
    """How many calls `function()` makes, of Python and of C: its work, whatever else the machine does meanwhile."""
    counted, before = 0, sys.getprofile()

    def count(frame, event, arg):
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return counted
