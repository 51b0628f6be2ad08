"""Three ways to multiply by eight-bit weights: all give the product, and their counts are those of torch."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable
from course_lib.units.q10_why_compress.experiments import int8_three_ways as ways

SIDE = 256


@pytest.mark.parametrize("build", [ways._first, ways._on_the_way, ways._both])
@pytest.mark.parametrize("rows", [1, 8])
def test_each_way_gives_the_product_but_for_the_rounding(build, rows):
    with torch.inference_mode():
        right = ways._wide(Bench.on_device(torch, "cpu"), rows, SIDE, "fp32")()
        try:
            found = build(Bench.on_device(torch, "cpu"), rows, SIDE, "fp32")()
        except Unavailable as reason:
            pytest.skip(str(reason))
    assert ((found.float() - right).norm() / right.norm()).item() < 0.03


def test_counts():
    wide, first, narrow = (ways.ops(way, 8, SIDE, "fp32") for way in (ways.WIDE, ways.FIRST, ways.BOTH))
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        ways._wide(Bench.on_device(torch, "cpu"), 8, SIDE, "fp32")()
    assert wide[0].flops == counter.get_total_flops()
    ends = 4 * 2 * 8 * SIDE
    assert wide[0].bytes == ends + 4 * SIDE**2
    assert narrow[0].bytes == ends + SIDE**2
    assert sum(op.bytes for op in first) == ends + (1 + 4 + 4) * SIDE**2
