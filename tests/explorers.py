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

STEP = 10_000
"""Calls in one step of a slider, at most: far below 5 ms (0.1 to 0.4 µs a call); a table loaded anew makes more."""


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
