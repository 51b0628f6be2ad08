"""Explorers: controls over a pure function of `accounting`, drawn by one plot, with the numbers below.

`explore.roofline(device="h100-sxm", m=64)` shows the one that several units use; a unit's own is `explorer.py` in its
folder, made with `explore.build`: see there. Below the picture stands the call that shows it again; `.state` reads it
back. `explore.interact(ridge, rows=(1, 1000))` puts a learner's own function under sliders.
"""

from course_lib.teaching.explore.controls import Choice, Flag, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.teaching.explore.interact import interact
from course_lib.teaching.explore.roofline_explorer import roofline

__all__ = [
    "Choice",
    "Flag",
    "Number",
    "View",
    "Whole",
    "build",
    "interact",
    "roofline",
]
