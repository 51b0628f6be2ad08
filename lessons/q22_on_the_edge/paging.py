"""A file that is read from beginning to end again and again, in memory that does not hold all of it: simulated; and the
experiment on mapped files, or its recording.
"""

from collections import OrderedDict

from course_lib import experiments
from course_lib.experiments.running.errors import Unavailable

PROJECT = "amd-epyc-2-cores"


def mapped():
    """The experiment `mapped_weights` here, or its recording where this system cannot be asked, with the reason."""
    try:
        return experiments.run("mapped_weights")
    except Unavailable as reason:
        print(reason)
        return experiments.load("mapped_weights", PROJECT)


def misses(pages: int, room: int, passes: int, policy: str = "lru") -> list[int]:
    """Pages that each pass has to fetch. "lru" drops the page that was used longest ago; "pinned" keeps the first
    `room` pages it met, and drops what comes on top at once.
    """
    if policy not in ("lru", "pinned"):
        raise ValueError(f"policy={policy!r} must be 'lru' or 'pinned'.")
    kept: OrderedDict[int, None] = OrderedDict()
    counts = []
    for _ in range(passes):
        missed = 0
        for page in range(pages):
            if page in kept:
                kept.move_to_end(page)
                continue
            missed += 1
            if len(kept) < room:
                kept[page] = None
            elif policy == "lru" and room:
                kept.popitem(last=False)
                kept[page] = None
        counts.append(missed)
    return counts
