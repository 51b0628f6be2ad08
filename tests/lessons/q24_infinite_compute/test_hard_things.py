"""Searches against brute force, judges against order statistics, networks against the clock of a calculator."""

from itertools import combinations
from math import log, log2, sqrt

import pytest

from course_lib.accounting import hardware
from course_lib.units.q24_infinite_compute import choosing, claims, learners, portable, search, truths


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_both_searches_find_what_brute_force_finds(n):
    drawn, wanted = search.numbers(n)
    for goal in (wanted, wanted + 1, 0, sum(drawn), sum(drawn) + 1):
        there = any(sum(part) == goal for size in range(n + 1) for part in combinations(drawn, size))
        assert search.by_all(drawn, goal) == (there, 2**n)
        assert search.by_halves(drawn, goal) == (there, 2 ** (n // 2) + 2 ** (n - n // 2))


def test_the_largest_of_a_few_normal_numbers():
    """Known in closed form: 0, 1/√π, 3/(2√π)."""
    pi = 3.141592653589793
    assert [choosing.largest(n) for n in (1, 2, 3)] == pytest.approx([0, 1 / sqrt(pi), 1.5 / sqrt(pi)], abs=1e-4)


@pytest.mark.parametrize("judge", ["exact", "noisy"])
def test_what_is_chosen_is_what_is_expected(judge):
    torch = pytest.importorskip("torch")
    found = choosing.chosen(torch, judge, 64, 4000, seed=1)
    assert found == pytest.approx(choosing.expected(judge, 64), abs=0.06)


def test_a_judge_who_can_be_fooled():
    torch = pytest.importorskip("torch")
    few, many = (choosing.chosen(torch, "gullible", n, 500, seed=2) for n in (8, 8192))
    assert few > 0.4 > 0.25 > many


def test_the_floor_of_wrong_labels_by_hand():
    # 0.82 right, nine others with 0.02
    assert learners.floor() == pytest.approx(-0.82 * log(0.82) - 9 * 0.02 * log(0.02))
    assert learners.floor(1, 10) == pytest.approx(log(10))


def test_a_fifth_of_the_labels_is_drawn_anew():
    torch = pytest.importorskip("torch")
    labels = torch.zeros(20_000, dtype=torch.long)
    changed = (learners.relabelled(torch, labels, 0.2, 0) != 0).float().mean().item()
    assert changed == pytest.approx(0.18, abs=0.01)


def test_a_network_is_what_torch_makes_of_it():
    torch = pytest.importorskip("torch")
    weights = learners.network(torch, 2, 16, 0)
    layers = [
        torch.nn.Linear(64, 16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 10),
    ]
    net = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for layer, place in zip(layers[::2], range(0, 6, 2), strict=True):
            layer.weight.copy_(weights[place].T)
            layer.bias.copy_(weights[place + 1])
    images = torch.randn(5, 64)
    assert torch.allclose(learners.scores(torch.nn.functional, weights, images), net(images), atol=1e-5)


def test_seconds_of_a_network_by_hand():
    from dataclasses import replace

    small = replace(hardware.load("h100-sxm"), peaks={"fp32": 1e9}, memory_bandwidth=1e9, call_overhead=2e-7)
    # 64·8 and 8·10 weights, each with a row in and a row out, 4 bytes; more bytes than FLOPs here
    moved = 4 * (64 * 8 + 64 + 8 + 8 * 10 + 8 + 10)
    assert learners.seconds(1, 8, small) == pytest.approx(moved / 1e9 + 2 * 2e-7)


# ---------------------------------------------------------------- tiles


def test_every_tile_gives_the_product():
    torch = pytest.importorskip("torch")
    a, b = torch.randn(70, 50, dtype=torch.float64), torch.randn(50, 90, dtype=torch.float64)
    for tile in ((32, 32), (64, 256), (128, 64)):
        assert torch.allclose(portable.product(torch, a, b, tile), a @ b)


def test_a_tile_by_hand():
    # 1,024 × 4,096 in tiles of 128 × 256: 8 · 16 = 128 tiles for 132 multiprocessors, one wave
    useful = 128 / 132
    computing = 2 * 1024 * 4096 * 4096 / useful / 989e12
    through = 2 * (16 * 1024 * 4096 + 8 * 4096 * 4096 + 1024 * 4096) / 5.5e12
    once = 2 * (1024 * 4096 + 4096 * 4096 + 1024 * 4096) / 3.35e12
    found = portable.seconds((128, 256), "h100-sxm", 1024, 4096, 4096)
    assert found == pytest.approx(max(computing, through, once))


def test_the_best_tile_is_the_best_by_hand():
    for card in portable.CARDS:
        times = [portable.seconds(tile, card, 1024, 4096, 4096) for tile in portable.tiles(card)]
        assert portable.seconds(portable.best(card, 1024, 4096, 4096), card, 1024, 4096, 4096) == min(times)
        assert (256, 256) not in portable.tiles(card)  # 262,144 bytes of sums: all registers


def test_portability_is_a_harmonic_mean():
    shape, tile = (1024, 4096, 4096), (128, 128)
    found = [portable.efficiency(tile, card, *shape) for card in portable.CARDS]
    assert portable.portability(tile, shape) == pytest.approx(3 / sum(1 / each for each in found))
    assert portable.portability((256, 256), shape) == 0


def test_one_part_is_no_split():
    tile, shape = (64, 128), (1024, 4096, 4096)
    assert portable.split_seconds(1, tile, "a100-40-sxm", *shape) == pytest.approx(
        portable.seconds(tile, "a100-40-sxm", *shape)
    )


# ---------------------------------------------------------------- cards and claims, other rounds


def test_truths_of_the_second_rounds():
    # 512 readers: cache 68.72 GB, weights 15.01, arithmetic 2 · 512 · 8.03e9 / 989e12 = 8.31 ms
    now = 68.719 / 3.35 + max(15.014 / 3.35, 8.3145)
    assert truths.free_tonight(512, "", "", "") == pytest.approx(now / ((68.719 + 15.014) / 3.35), rel=1e-3)
    assert truths.endless_model(70, "", "", "", "", "") == pytest.approx(406.4 / 70e9**0.34)
    assert truths.faster_search(1000, *[""] * 5) == pytest.approx(log2(1000))


def test_splitting_helps_only_where_tiles_are_few():
    values = claims.s001_27().values
    assert values["square"] == pytest.approx(1)
    assert values["long"] > 2
