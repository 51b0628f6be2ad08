"""Prices at zero against formulas typed here from data sheets; the explorer's task, its ends and its static form."""

from itertools import permutations, product

import pytest

from course_lib.units.q24_infinite_compute import explorer, prices
from tests.explorers import STEP, calls_of

# Llama-3 8B: 32 layers of 4096, 8 key heads of 128; bytes of the matrices that a token reads, with one row of the table
LAYERS, KV = 32, 2 * 8 * 128 * 2
PARAMETERS = 8_030_261_248
READ = 2 * (PARAMETERS - 128_256 * 4096 + 4096)
PEAK, BANDWIDTH = 989e12, 3.35e12
AWAY = 2 * 10_000e3 / 299_792_458


def chat(batch, arithmetic=1, nbytes=1, calls=1, distance=1):
    """s of an answer, written out; a factor of 0 makes a price free."""
    weights = 2 * (PARAMETERS - 128_256 * 4096 + batch * 4096) / BANDWIDTH * nbytes
    cache = batch * 1024 * LAYERS * KV / BANDWIDTH * nbytes
    step = max(10 * LAYERS * 5e-6 * calls, cache + max(weights, 2 * batch * PARAMETERS / PEAK * arithmetic))
    return 500 * step + AWAY * distance


@pytest.mark.parametrize(("name", "batch"), [("one", 1), ("many", 256), ("crowd", 512)])
def test_a_chat_is_the_formula(name, batch):
    names = ("arithmetic", "bytes", "calls", "distance")
    for kept in product((0, 1), repeat=4):
        free = [price for price, factor in zip(names, kept, strict=True) if not factor]
        assert prices.seconds(name, free) == pytest.approx(chat(batch, *kept), rel=1e-9, abs=1e-9)


def test_eight_cards_wait_for_two_messages_a_layer():
    left = prices.seconds("eight", ["arithmetic", "bytes", "calls", "distance"])
    assert left == pytest.approx(500 * 126 * 2 * 5e-6)
    assert prices.TOKENS / left == pytest.approx(793.65, rel=1e-4)


def test_launches_run_ahead_of_messages_and_only_the_distance_comes_on_top():
    # 126 layers: 6.3 ms of launches a step beside 1.26 ms of messages, or 10.08 ms of them
    assert prices.seconds("eight", ["arithmetic", "bytes"]) == pytest.approx(500 * 6.3e-3 + AWAY)
    assert prices.seconds("eight", ["arithmetic", "bytes"], link=40e-6) == pytest.approx(500 * 10.08e-3 + AWAY)


def test_a_long_prompt_waits_for_arithmetic_until_its_weights_bind():
    now, then = (prices.seconds("prompt", [*free, "distance"]) for free in ([], ["arithmetic"]))
    # no more than 2 FLOP a parameter and token, and attention: less than half as much again
    assert 0.9 < now / (2 * 8192 * PARAMETERS / PEAK) < 1.5
    assert then == pytest.approx(READ / BANDWIDTH)


def test_the_message_is_the_row_of_the_sweep():
    # 16,384 numbers of 2 bytes; 1.44 GB/s of bus bandwidth, which counts 2 · 7/8 of the buffer
    assert prices.published_message() == pytest.approx(32_768 * 2 * 7 / 8 / 1.44e9)


@pytest.mark.parametrize("name", prices.WORKS)
def test_what_binds_saves_most_by_brute_force(name):
    for count in range(5):
        for free in permutations(prices.PRICES, count):
            left = [price for price in prices.PRICES if price not in free]
            saved = {price: prices.seconds(name, free) - prices.seconds(name, [*free, price]) for price in left}
            assert saved[prices.binds(name, free)] == pytest.approx(max(saved.values()), abs=1e-11)


def test_free_things_never_take_longer():
    for name, free in product(prices.WORKS, product((False, True), repeat=5)):
        gone = [price for price, flag in zip(prices.PRICES, free, strict=True) if flag]
        assert all(prices.seconds(name, [*gone, price]) <= prices.seconds(name, gone) for price in prices.PRICES)


# ---------------------------------------------------------------- the explorer

START = {"work": "one", "arithmetic": True, "bytes": False, "calls": False, "messages": False, "distance": False}


def test_every_work_is_offered():
    assert set(explorer.WORKS) == set(prices.WORKS)


def test_the_title_of_the_lesson():
    assert explorer.view(**START, link=5).readout[explorer.say("rows", "times")] == "×1.00"


def test_the_task_has_the_answer_of_the_lesson():
    state = START | {"work": "eight", "bytes": True, "calls": True}
    assert explorer.view(**state, link=5).readout[explorer.say("rows", "each")] == "1.26 ms"
    assert explorer.view(**state, link=39.8).readout[explorer.say("rows", "each")] == "10.0 ms"
    assert explorer.view(**state, link=5).readout[explorer.say("rows", "binds")] == "messages"


def test_with_all_prices_at_zero_nothing_is_left():
    for work in prices.WORKS:
        view = explorer.view(work, True, True, True, True, True, 5)
        assert view.readout[explorer.say("rows", "times")] == explorer.say("endless")


def test_every_state_can_be_drawn():
    for work, flags, link in product(prices.WORKS, product((False, True), repeat=5), (0.1, 100)):
        figure = explorer.view(work, *flags, link).figure
        assert all(0 <= value <= figure.y.high for mark in figure.marks for value in mark.y)


def test_the_static_form_says_what_it_waits_for(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    assert "now an answer waits for bytes" in " ".join(repr(explorer.zero_prices()).split())


def test_an_all_reduce_of_a_second_is_refused():
    with pytest.raises(ValueError, match="link"):
        explorer.zero_prices(link=1e6)


def test_a_step_of_the_slider_is_little_work():
    explorer.view(**START, link=5)  # what is read from files once
    assert calls_of(lambda: explorer.view(**START | {"work": "prompt"}, link=6)) < STEP
