"""Tokens, joules, heat and pages against hand calculations, step-by-step integration and a naive cache; and what the
experiments count against real tensors and a file whose pages are known.
"""

import math
import mmap

import pytest
import torch

from course_lib.accounting import inference, models
from course_lib.experiments.running.errors import Unavailable
from course_lib.units.q22_on_the_edge import edge, heat, paging
from course_lib.units.q22_on_the_edge.experiments import low_bit_decode, mapped_weights

# Llama-3 8B from its paper: 32 layers, width 4096, 8 heads of 128 for keys and values, 14,336, 128,256 words, no tying
WEIGHTS = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336 + 2 * 4096) + 4096 + 128_256 * 4096
KEPT = 2 * 32 * 8 * 128  # numbers of a token in the KV cache


# ---------------------------------------------------------------- a token


def test_a_token_of_the_phone_by_hand():
    nbytes = (WEIGHTS + 4096) / 2 + 1024 * KEPT  # one row of the input table
    assert edge.bytes_a_token() == pytest.approx(nbytes, rel=1e-6)
    assert edge.phone().tokens_per_second == pytest.approx(51.2e9 / nbytes, rel=1e-6)
    assert round(edge.phone().tokens_per_second, 1) == 13.4
    assert edge.joules() == pytest.approx(8 * nbytes / 51.2e9)


@pytest.mark.parametrize("readers", [1, 6, 7, 64])
def test_joules_of_the_card_by_hand(readers):
    step = (2 * (WEIGHTS + 4096 * readers) + readers * 2 * 1024 * KEPT) / 3.35e12
    assert edge.joules(readers) == pytest.approx(1.1 * 700 * step / readers, rel=1e-5)


def test_the_readers_that_beat_the_phone():
    """From the formula solved for readers, on a card that waits for memory."""
    room = edge.joules() * 3.35e12 / 770 - 2 * 1024 * KEPT
    assert edge.readers_to_beat(edge.joules()) == math.ceil(2 * WEIGHTS / room) == 7
    assert edge.readers_to_beat(0.02) is None
    assert edge.readers_to_beat(edge.joules(), weights="int4", cache="int8") == 2
    assert edge.joules(1, weights="int4", cache="int8") > edge.joules() > edge.joules(2, weights="int4", cache="int8")


def test_a_byte_costs_power_over_bandwidth():
    each = edge.joules_a_byte()
    assert each["phone"] * edge.bytes_a_token() == pytest.approx(edge.joules())
    assert each["card"] * edge.bytes_a_token(64) == pytest.approx(edge.joules(64))


def test_with_many_readers_the_caches_take_most_of_the_step_of_a_dense_model_and_not_of_the_mixture():
    """295 readers, 1,024 tokens each, bf16, on an H100, by hand: bytes of the caches, and what the products take."""
    shares = {}
    for name in ("llama3-8b", "qwen3-30b-a3b"):
        m = models.load(name)
        caches = 295 * 1024 * 2 * m.layers * m.kv_heads * m.head_width * 2 / 3.35e12
        step = inference.decode_step(name, batch=295, context=1024, device="h100-sxm").seconds
        shares[name] = caches / step
    assert shares["llama3-8b"] > 0.5 > shares["qwen3-30b-a3b"]


def test_the_largest_model_at_a_rate():
    weights = edge.weights_for(20, 4, 51.2e9)
    assert weights == 5.12e9
    assert 20 * weights * 4 / 8 == 51.2e9


def test_what_is_offered():
    found = edge.offered()
    assert list(found) == list(edge.OFFERED)
    for name, (held, read, step) in found.items():
        assert held == pytest.approx((int(models.load(name).parameters()) * 4.5 / 8 + step.kv_bytes) / 1e9)
        assert held >= read * (1 - 1e-9), "nothing is read that is not held"
        assert step.tokens_per_second == pytest.approx(51.2 / read)
        assert step.fits == (held <= 8)
    least = min(found, key=lambda name: found[name][1] / found[name][0])
    assert least == "qwen3-30b-a3b", "a mixture reads little of what it holds"


def test_first_tokens_by_hand():
    """A short prompt takes one reading; a long one the FLOP of its products and of attention, at half of the peak."""
    here, there = edge.first_tokens(20)
    assert here == pytest.approx(edge.phone().seconds)
    assert there == pytest.approx(0.070 + edge.cloud(64).seconds)
    work = 2 * WEIGHTS * 1024 + 32 * 4 * 1024**2 * 4096
    here, there = edge.first_tokens(1024)
    assert here == pytest.approx(work / (0.5 * 35e12), rel=0.01)
    assert there == pytest.approx(0.070 + work / (0.5 * 989e12), rel=0.01)


# ---------------------------------------------------------------- heat


def integrated(case, watts, until, dt=0.01):
    """Kelvins and joules after so many seconds, a hundredth of a second at a time, with a governor."""
    rise = joules = 0.0
    for _ in range(round(until / dt)):
        power = watts if rise < case.allowed else min(watts, case.allowed / case.resistance)
        joules += power * dt
        rise += (power - rise / case.resistance) / case.capacity * dt
    return rise, joules


@pytest.mark.parametrize(("watts", "seconds"), [(8, 100), (8, 179), (4, 400), (2, 900)])
def test_the_rise_is_the_solution_of_the_balance(watts, seconds):
    case = heat.Case()
    assert integrated(case, watts, seconds)[0] == pytest.approx(case.rise(watts, seconds), rel=1e-3)


@pytest.mark.parametrize(("watts", "seconds"), [(8, 60), (8, 600), (4, 900), (2, 300)])
def test_energy_with_a_governor(watts, seconds):
    case = heat.Case()
    rise, joules = integrated(case, watts, seconds)
    assert case.joules(watts, seconds) == pytest.approx(joules, rel=2e-3)
    assert rise <= case.allowed + 0.01


def test_the_limit_is_where_the_rise_meets_it():
    case = heat.Case(9, 50, 25)
    assert case.rise(6, case.throttles_after(6)) == pytest.approx(25)
    assert case.watts_at(6, case.throttles_after(6) - 1) == 6
    assert case.watts_at(6, case.throttles_after(6) + 1) == 25 / 9
    assert case.throttles_after(25 / 9) is None, "what settles at the limit never gets there"
    assert heat.Case().throttles_after(2.5) is None
    assert case.watts_at(2, 1e9) == 2


# ---------------------------------------------------------------- pages


def naive(pages, room, passes):
    """LRU with a list, the oldest first."""
    kept, counts = [], []
    for _ in range(passes):
        missed = 0
        for page in range(pages):
            if page in kept:
                kept.remove(page)
            else:
                missed += 1
                del kept[: max(len(kept) - room + 1, 0)]
            if room:
                kept.append(page)
        counts.append(missed)
    return counts


@pytest.mark.parametrize(("pages", "room"), [(10, 0), (10, 1), (10, 9), (10, 10), (10, 12), (7, 3), (1, 1)])
def test_lru_against_a_list(pages, room):
    assert paging.misses(pages, room, 4) == naive(pages, room, 4)


@pytest.mark.parametrize(("pages", "room"), [(100, 0), (100, 50), (100, 90), (100, 100), (100, 200)])
def test_what_is_missed_in_the_end(pages, room):
    """A cycle longer than the room: LRU keeps nothing of use. What is pinned is missed no more, which is the best that
    any rule can do: of `pages` different ones only `room` can be there."""
    assert paging.misses(pages, room, 3)[-1] == (0 if room >= pages else pages)
    assert paging.misses(pages, room, 3, "pinned")[-1] == max(pages - room, 0)


def test_other_rules_are_refused():
    with pytest.raises(ValueError, match="'lru' or 'pinned'"):
        paging.misses(10, 5, 1, "fifo")


# ---------------------------------------------------------------- experiments


def test_bits_are_those_of_the_tensors():
    side, group = 256, low_bit_decode.GROUP
    packed = torch._convert_weight_to_int4pack_for_cpu(torch.randint(0, 16, (side, side), dtype=torch.int32), 1)
    scales = torch.ones(side // group, side, 2, dtype=torch.bfloat16)
    assert 8 * (packed.nbytes + scales.nbytes) / side**2 == low_bit_decode.BITS["int4"] == 5
    whole = 8 + 8 * torch.ones(1, dtype=torch.bfloat16).nbytes / low_bit_decode.SIDE
    assert low_bit_decode.BITS["int8"] == whole
    assert low_bit_decode.cases(None, True)[0].predict(None) == 2, "bf16"


@pytest.mark.parametrize("name", ["fp32", "bf16", "int8", "int4"])
def test_each_format_computes_the_product(name, monkeypatch):
    """The call that is timed, on one matrix, against the product in fp32; in 4 bits of the levels that it has."""
    seen = []
    for module, kernel in (
        (torch.nn.functional, "linear"),
        (torch, "_weight_int8pack_mm"),
        (torch, "_weight_int4pack_mm_for_cpu"),
    ):
        true = getattr(module, kernel)
        monkeypatch.setattr(module, kernel, lambda *given, true=true: seen.append((given[0], true(*given))))
    torch.manual_seed(0)
    matrix = torch.randn(256, 256)
    low_bit_decode.call(torch, name, matrix, 2)()
    assert len(seen) == 2
    levels = (matrix * 4 + 8).clamp(0, 15).int() - 8 + 1.0  # (q - 8)·scale + zero, both 1
    row, found = seen[-1]
    wanted = row.float() @ (levels if name == "int4" else matrix).T
    assert (found.float() - wanted).norm() / wanted.norm() < 0.02


def test_what_the_program_asks_of_a_mapped_file():
    asked = {touch: mapped_weights.asked(touch) for touch in mapped_weights.TOUCHES}
    assert asked == {"nothing": 0, "layer": 2**20, "numbers": 256, "numbers-random": 256, "all": 2**25}


def test_pages_that_are_known():
    """Told that the order is random, the system brings the pages that are touched and no others."""
    try:
        brought = {
            touch: mapped_weights._observe(None, 0, touch)[0] for touch in ("nothing", "numbers-random", "layer", "all")
        }
    except Unavailable as reason:
        pytest.skip(str(reason))
    page = mmap.PAGESIZE
    assert brought["nothing"] == 0
    assert brought["numbers-random"] == 32 * page
    assert brought["all"] == 32 * 2**20
    assert 2**20 <= brought["layer"] <= 32 * 2**20
