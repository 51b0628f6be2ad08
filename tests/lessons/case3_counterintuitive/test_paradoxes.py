"""What is counted against brute force, what is measured against definitions of the result, the explorer against a
simulation.
"""

import math
from itertools import product

import pytest
import torch

from course_lib.accounting.hardware import multiprocessors
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from course_lib.units.case3_counterintuitive import counted, explorer, padded
from course_lib.units.case3_counterintuitive.experiments import (
    convolution_by_fft,
    fused_by_rows,
    independent_chains,
    odd_columns,
    ragged_batches,
    sorting,
    unwritten,
)
from tests.explorers import STEP, calls_of

BENCH = Bench.on_device(torch, "cpu")
START = {"warps": 16, "independent": 1, "latency": 400}


@pytest.fixture(autouse=True)
def one_thread():
    """As the experiments run; two threads on a shared machine wait for each other."""
    with timing.single_thread(torch):
        yield


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize("longest", [16, 64, 256])
def test_padding_by_the_sum_of_squares(longest):
    mean = (longest + 1) * (2 * longest + 1) / 6  # of 1², …, L²
    work = padded.flops(longest)
    assert work["exact"] == pytest.approx(256 * 2 * 32 * mean)
    assert work["padded"] / work["exact"] == pytest.approx(6 * longest**2 / ((longest + 1) * (2 * longest + 1)))


def test_padding_breaks_even_near_the_formula():
    call, rate = 2e-6, 5e10
    near = padded.turns_near(call, rate)
    assert near == pytest.approx(math.sqrt(0.75 * 1e5 / 32))
    gains = {rows: padded.predicted(rows, call, rate) for rows in (round(near * 0.9), round(near * 1.15))}
    first, last = gains.values()
    assert first["padded"] < first["exact"]
    assert last["padded"] > last["exact"]


@pytest.mark.parametrize(
    ("layer", "chunk", "nbytes"), [("large weights", 1024, 75_497_472), ("large weights", 64, 308_281_344)]
)
def test_bytes_by_hand(layer, chunk, nbytes):
    # 768 · 3072 · 2 · 4 = 18,874,368 B of weights; x and y 6,291,456 B; the hidden layer 4 · 12,582,912 B
    assert fused_by_rows.bytes_moved(layer, chunk) == nbytes


@pytest.mark.parametrize(("n", "kernel", "length"), [(16_384, 1, 16_384), (16_384, 2, 32_768), (5, 4, 8), (5, 5, 16)])
def test_the_transform_holds_all_sums(n, kernel, length):
    assert counted.padded_length(n, kernel) == length >= n + kernel - 1 > length / 2
    assert counted.by_fft(n, kernel) == 7.5 * length * math.log2(length)


def test_winograd_is_the_definition():
    for signal, kernel in product([(1, 2, 4, 8), (0.5, -3, 2, 7)], [(1, 0, 0), (0.25, -1, 3)]):
        sums, multiplications = counted.winograd(signal, kernel)
        assert sums == pytest.approx([sum(signal[i + j] * kernel[j] for j in range(3)) for i in range(2)])
        assert multiplications == 4


# ---------------------------------------------------------------- both ways compute the same


def test_padded_products_hold_the_exact_ones():
    ways = ragged_batches.forms(BENCH, 16)
    exact, at_once = ways["exact"](), ways["padded"]()
    for place, (small, length) in enumerate(zip(exact, padded.lengths(16), strict=True)):
        assert torch.allclose(small, at_once[place, :length, :length], atol=1e-5)
        assert not at_once[place, length:].any()
        assert not at_once[place, :, length:].any()


@pytest.mark.parametrize("layer", fused_by_rows.SHAPES)
def test_chunks_give_the_whole(layer):
    ways = fused_by_rows.forms(BENCH, layer)
    whole, *others = (form().clone() for form in ways.values())
    assert whole.abs().mean() > 0.1
    for other in others:
        assert torch.allclose(whole, other, atol=1e-3)


def test_a_bias_in_two_ways():
    ways = fused_by_rows.bias(BENCH)
    apart = ways["product, then bias"]().clone()
    assert torch.allclose(apart, ways["bias in the product's call"](), atol=1e-4)
    assert not torch.allclose(apart, ways["product"](), atol=1e-1)


def test_transforms_give_the_direct_sums():
    ways = convolution_by_fft.forms(BENCH, 63)
    assert torch.allclose(ways["direct"](), ways["fft"](), atol=1e-3)


def test_logits_that_nobody_reads_change_no_loss():
    ways = unwritten.losses(BENCH)
    assert ways["loss-all"]().item() == pytest.approx(ways["loss-masked"]().item(), rel=1e-5)
    heads = unwritten.heads(BENCH)
    assert torch.allclose(heads["all"]()[-1:], heads["last"](), atol=1e-4)
    assert torch.allclose(heads["all"]()[-8:], heads["eight"](), atol=1e-4)


def test_odd_columns_are_the_columns():
    for columns, form in odd_columns.forms(BENCH, 8).items():
        assert form().shape == (8, columns)


@pytest.mark.parametrize("nearly", [False, True])
def test_two_passes_sort(monkeypatch, nearly):
    import numpy as np

    monkeypatch.setattr(sorting, "KEYS", 3000)
    numbers = sorting.keys("uint32", nearly) * np.uint32(70_001)  # the upper 16 bits are at work too
    assert sorting.two_passes(numbers).tolist() == sorted(numbers.tolist())


def test_the_same_numbers_in_both_types(monkeypatch):
    monkeypatch.setattr(sorting, "KEYS", 3000)
    assert sorting.keys("uint16", False).tolist() == sorting.keys("uint32", False).tolist()
    assert [n % 256 for n in sorting.keys("uint16", False).tolist()] == sorting.keys("uint8", False).tolist()


@pytest.mark.parametrize("chains", [1, 3, 8])
def test_walks_go_along_their_chains(chains):
    table, order = independent_chains.ring(torch, 512)
    walk, path = independent_chains.walker(torch, table, order, chains)
    walk()
    been, following = path(), dict(zip(order.tolist(), order.roll(-1).tolist(), strict=True))
    assert len(following) == 512
    for place in range(0, 4 * chains):
        assert been[place + chains] == following[been[place]]


# ---------------------------------------------------------------- the explorer


@pytest.mark.parametrize(
    ("warps", "independent", "latency"), [(16, 1, 400), (4, 8, 400), (8, 4, 30), (7, 4, 30), (3, 1, 9)]
)
def test_the_share_is_the_simulated_one(warps, independent, latency):
    simulated = multiprocessors.issue_share(warps, independent, latency=latency, cycles=20 * latency)
    assert explorer.share(warps, independent, latency) == pytest.approx(simulated, abs=0.01)


@pytest.mark.parametrize(("independent", "latency"), [(4, 30), (1, 400), (25, 400), (7, 7)])
def test_the_fewest_warps_are_the_first_that_are_enough(independent, latency):
    needed = explorer.fewest(independent, latency)
    assert explorer.share(needed, independent, latency) == 1
    assert needed == 1 or explorer.share(needed - 1, independent, latency) < 1


def test_the_task_has_the_answer_of_the_lesson():
    assert explorer.fewest(4, 30) == 8
    assert explorer.fewest(1, 400) == 400
    assert explorer.share(16, 25, 400) == 1 > explorer.share(16, 24, 400)
    assert explorer.view(8, 4, 30).figure.title.startswith("8 × 4")


@pytest.mark.parametrize("state", [(7, 4, 30), (1, 64, 100), (8, 4, 30), (399, 1, 400), (1, 1, 1000)])
def test_the_point_lies_on_the_line_and_no_title_rounds_it_away(state):
    figure = explorer.view(*state).figure
    line, _, here = figure.marks
    (_, corner, _), (x,), (y,) = line.x, here.x, here.y
    assert y == pytest.approx(min(100, 100 * x / corner))
    assert y == 100 or (" 0.0%" not in figure.title and "100.0%" not in figure.title)


def test_every_end_of_the_sliders_can_be_drawn():
    for state in product((1, explorer.MOST), (1, 64), (1, 1000)):
        figure = explorer.view(*state).figure
        for mark in figure.marks:
            assert all(figure.x.low <= x <= figure.x.high for x in mark.x)
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_the_static_form_says_how_busy_it_is(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    assert "With 16 it is 4.0%." in " ".join(repr(explorer.latency_hiding()).split())


def test_no_warp_is_refused():
    with pytest.raises(ValueError, match="warps"):
        explorer.latency_hiding(warps=0)


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(**START | {"warps": 20})) < STEP


def test_another_process_sorts_without_vectors():
    found = sorting._observe(None, 0, "32 bits, default, no vectors", 2)
    assert len(found) == 2
    assert all(seconds > 0 for seconds in found)


def test_bytes_of_a_radix_sort():
    assert counted.radix_bytes(32) == 4 + 4 * 8  # counted once; four passes that read and write four bytes
    assert counted.radix_bytes(16, digit=16) == 2 + 4
