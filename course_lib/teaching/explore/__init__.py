"""Explorers: controls over a pure function of `accounting`, drawn by one plot, with the numbers below.

`explore.roofline(device="h100-sxm", m=64)`, `explore.memory(model="gpt2")` and `explore.timeline(batch=16)` show one.
Below the picture stands the call that shows it again; `.state` reads it back. A lesson writes its own with
`explore.build`: see there.
"""

from course_lib.teaching.explore.attention_explorer import attention
from course_lib.teaching.explore.controls import Choice, Flag, Number, Whole
from course_lib.teaching.explore.datasheet_explorer import datasheet
from course_lib.teaching.explore.flop_tree_explorer import flop_tree
from course_lib.teaching.explore.frame import View, build
from course_lib.teaching.explore.memory_explorer import memory
from course_lib.teaching.explore.resolution_explorer import resolution
from course_lib.teaching.explore.roofline_explorer import roofline
from course_lib.teaching.explore.streaming_explorer import streaming
from course_lib.teaching.explore.timeline_explorer import timeline
from course_lib.teaching.explore.waves_explorer import waves

__all__ = [
    "Choice",
    "Flag",
    "Number",
    "View",
    "Whole",
    "attention",
    "build",
    "datasheet",
    "flop_tree",
    "memory",
    "resolution",
    "roofline",
    "streaming",
    "timeline",
    "waves",
]
