"""A file of weights that is mapped into memory: how much of it comes into memory, by what is touched of it."""

import ctypes
import mmap
import os
import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.measurements import disk_stream
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

LAYERS, LAYER = 32, 2**20  # B of one layer
SIZE = LAYERS * LAYER
NUMBER = 8  # B of one number
DROPS = 20  # times that the system is asked to drop the file
TOUCHES = ("nothing", "layer", "numbers", "numbers-random", "all")
MOST_PAGES = {"nothing": 0, "layer": LAYER, "numbers": LAYERS * mmap.PAGESIZE, "numbers-random": LAYERS * mmap.PAGESIZE}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Mapped only, one layer read, a number of each layer, the same with a hint, all of it."""
    return tuple(
        Case(
            say("cases", touch, layers=LAYERS),
            say("calls", touch, layers=LAYERS),
            observe=partial(_observe, touch=touch),
            expect=partial(_expected, touch=touch),
            facts={"touch": touch, "asked": asked(touch)},
        )
        for touch in TOUCHES
    )


def asked(touch: str) -> int:
    """Bytes that the program reads."""
    return {"nothing": 0, "layer": LAYER, "all": SIZE}.get(touch, NUMBER * LAYERS)


def _expected(device: hardware.Device, touch: str) -> float:
    """Whole pages of what is touched."""
    return MOST_PAGES.get(touch, SIZE)


def _observe(bench, seconds: float, touch: str) -> list[float]:
    """Bytes of the file that are in memory afterwards, three times over, each from nothing."""
    if not (hasattr(os, "posix_fadvise") and hasattr(mmap, "MADV_RANDOM")):
        raise Unavailable(say("no-advice"))
    with disk_stream.temporary_file(SIZE) as file:
        return [_touched(file, touch) for _ in range(3)]


def _touched(file, touch: str) -> int:
    with mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_COPY) as mapped:
        for _ in range(DROPS):  # pages that were written a moment ago may not go at once
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if not resident(mapped):
                break
            time.sleep(0.02)
        else:
            raise Unavailable(say("in-memory"))
        if touch == "numbers-random":
            mapped.madvise(mmap.MADV_RANDOM)
        if touch in ("layer", "all"):
            start = 7 * LAYER if touch == "layer" else 0
            sum(mapped[start : start + (LAYER if touch == "layer" else SIZE)][:: mmap.PAGESIZE])
        elif touch != "nothing":
            [mapped[start : start + NUMBER] for start in range(LAYER // 2, SIZE, LAYER)]
        return resident(mapped)


def resident(mapped) -> int:
    """Bytes of a mapping that are in memory, by whole pages: asked of the system (mincore)."""
    pages = len(mapped) // mmap.PAGESIZE
    states, library = (ctypes.c_ubyte * pages)(), ctypes.CDLL(None, use_errno=True)
    start = ctypes.c_char.from_buffer(mapped)  # needs a mapping that may be written: ACCESS_COPY
    try:
        code = library.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(len(mapped)), states)
    except AttributeError:
        raise Unavailable(say("no-advice")) from None
    finally:
        del start
    if code:
        raise Unavailable(say("no-advice"))
    return mmap.PAGESIZE * sum(state & 1 for state in states)


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title", size=SIZE / 1e6), axis=say("axis"), log=False),
    quantity_columns(say, "B", touch="str", asked="int B", hidden=("touch",)),
    timed=False,
    method={"size": SIZE / 1e6, "layers": LAYERS},
)
