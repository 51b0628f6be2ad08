"""The lengths that fit into a cache, computed in single precision."""

import random
from pathlib import Path

import numpy as np
import pytest

from course_lib.teaching.checks.check_form import decode_arguments
from tools.source import load_checks

ROOT = Path(__file__).resolve().parents[3]
CHECK = next(each for each in load_checks(ROOT / "lessons" / "q01_memory_wall", ROOT) if each.id == "q01.knees")
DRAWN = [tuple(decode_arguments(CHECK.draw(random.Random(seed)))[0]) for seed in range(200)]
ONE = np.float32(1)

IN_SINGLE = {
    "bytes over bytes": lambda kib, copies, arrays, size: kib * 1024 * copies / (arrays * size),
    "the arrays first": lambda kib, copies, arrays, size: kib / arrays * 1024 * copies / size,
    "the copies last": lambda kib, copies, arrays, size: kib * 1024 / (arrays * size) * copies,
    "times one over": lambda kib, copies, arrays, size: kib * 1024 * copies * (ONE / (arrays * size)),
}


@pytest.mark.parametrize("way", IN_SINGLE)
def test_rounding_down_in_single_precision_is_right(way):
    for caches, arrays, size in [*CHECK.public, *DRAWN]:
        numbers = [np.float32([kib, copies, arrays, size]) for kib, copies in caches]
        assert [np.floor(IN_SINGLE[way](*each)) for each in numbers] == CHECK.reference(caches, arrays, size)
