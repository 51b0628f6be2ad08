"""The gain of tiles in a transpose, against lines that are counted one by one."""

import random
from pathlib import Path

import pytest

from course_lib.teaching.checks.check_form import decode_arguments
from tools.source import load_checks

ROOT = Path(__file__).resolve().parents[3]
CHECK = next(each for each in load_checks(ROOT / "lessons" / "q01_memory_wall", ROOT) if each.id == "q01.transpose")


def counted(bytes_per_number: int, line: int, tile: int) -> float:
    """The same for a real matrix: which lines each row of each tile lies in."""
    side = 2 * max(tile, line // bytes_per_number)

    def lines(columns):
        return len({column * bytes_per_number // line for column in columns})

    row_by_row = side * lines(range(side)) + side * side
    in_tiles = 2 * side * sum(lines(range(left, left + tile)) for left in range(0, side, tile))
    return row_by_row / in_tiles


@pytest.mark.parametrize("seed", range(100))
def test_the_formula_counts_the_lines_of_a_matrix_for_every_drawn_tile(seed):
    (drawn, _) = decode_arguments(CHECK.draw(random.Random(seed)))
    assert CHECK.reference(*drawn) == pytest.approx(counted(*drawn))


@pytest.mark.parametrize("given", CHECK.public)
def test_and_for_every_public_one(given):
    assert CHECK.reference(*given) == pytest.approx(counted(*given))
