"""What case 2 counts, against hand calculations and brute force: pages, samplers, rounding and splits."""

import math
import random
from fractions import Fraction

import pytest

from course_lib.accounting import communication
from course_lib.units.case2_serving_kernels import counted, explorer, roundings, sampling, splitting
from tests.explorers import STEP, calls_of

# ---------------------------------------------------------------- pages and bytes


@pytest.mark.parametrize("seed", range(30))
def test_pages_held_are_the_different_ones(seed):
    """A page is what it holds: the tokens up to its end, or a sequence's own if it is not full of common ones."""
    rng = random.Random(seed)
    sequences, common, own, page = (rng.randrange(1, most) for most in (9, 60, 30, 17))
    pages = set()
    for number in range(sequences):
        text = [*range(common), *((number, place) for place in range(own))]
        for begin in range(0, len(text), page):
            part = text[: begin + page]
            shared = len(part) == begin + page and begin + page <= common
            pages.add((tuple(part), None if shared else number))
    assert counted.held(sequences, common, own, page) == len(pages)


def test_the_title_by_hand():
    # 2 tensors · 2 B · 8 · 14336 · 32 layers, over 7.505 B weights · 2 B and 8 · 1000 · 2 · 32 · 8 · 128 · 2 B
    saved = 2 * 2 * 8 * 14_336 * 32
    weights = 2 * (8_030_261_248 - 128_256 * 4096 + 8 * 4096)
    caches = 8 * 1000 * 2 * 32 * 8 * 128 * 2
    assert counted.sooner(8) == pytest.approx(saved / (weights + caches), rel=1e-3)
    assert f"{counted.sooner(8):.1%}" == "0.1%"


def test_what_fits_fits_and_one_more_does_not():
    found = counted.fitting("qwen3-8b", "rtx-4090", 2000, 500)
    room = (25_757_220_864 - 2 * 8_190_735_360) // (16 * 147_456)
    assert counted.held(found, 2000, 500) <= room < counted.held(found + 1, 2000, 500)


# ---------------------------------------------------------------- numbers and draws


@pytest.mark.parametrize("seed", range(5))
def test_bf16_is_torchs(seed):
    torch = pytest.importorskip("torch")
    rng = random.Random(seed)
    values = [rng.gauss(0, 1) * 10.0 ** rng.randrange(-6, 6) for _ in range(500)]
    theirs = torch.tensor(values, dtype=torch.float32).bfloat16().tolist()
    assert [sampling.bf16(roundings.fp32(value)) for value in values] == theirs


def test_shares_of_softmax_are_exact_fractions():
    logits = [math.log(weight) for weight in (1, 2, 5)]
    assert sampling.softmax(logits) == pytest.approx([float(Fraction(weight, 8)) for weight in (1, 2, 5)])
    assert sampling.softmax([z + 2000 for z in logits]) == pytest.approx([0.125, 0.25, 0.625])


def test_chi_square_by_hand():
    # 60 and 40 of two equal tokens: (10² + 10²)/50
    assert sampling.chi_square([60, 40], [3.0, 3.0]) == pytest.approx(4)


def test_the_mean_of_chi_square_of_a_right_sampler_is_its_degrees_of_freedom():
    right = sampling.softmax(sampling.LOGITS)
    assert sampling.expected_chi_square(right, sampling.LOGITS, 400_000) == pytest.approx(7)


@pytest.mark.slow  # millions of draws
@pytest.mark.parametrize("shift", [0, 20, 100])
def test_rounded_shares_are_those_of_two_million_draws(shift):
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(1)
    logits, counts = torch.tensor(sampling.LOGITS), torch.zeros(8, dtype=torch.long)
    draws = 250_000
    for _ in range(8):
        noise = -torch.empty(draws, 8, dtype=torch.float64).exponential_(generator=generator).log()
        sums = ((logits + shift).bfloat16() + noise.bfloat16()).tolist()
        counts += torch.bincount(torch.tensor([row.index(max(row)) for row in sums]), minlength=8)
    told, total = sampling.rounded_shares(sampling.LOGITS, shift), 8 * draws
    assert sum(told) == pytest.approx(1)
    for count, share in zip(counts.tolist(), told, strict=True):
        assert abs(count - total * share) < 5 * math.sqrt(total * share) + 0.001 * total * share


def test_one_rounding_is_half_a_step_and_two_are_one():
    for name, step in (("fp32", 2**-23), ("bf16", 2**-7)):
        for exact, once, twice in roundings.pairs(roundings.FORMATS[name]):
            assert abs(once - exact) <= step / 2 * abs(exact)  # half a step: one rounding
            assert abs(twice - exact) <= step * 1.01 * abs(exact)  # two of them
    assert roundings.share_close("fp32") == 1
    assert 0.5 < roundings.share_close("bf16") < 0.9


def test_close_is_torchs():
    torch = pytest.importorskip("torch")
    rng = random.Random(0)
    for _ in range(300):
        b = rng.gauss(0, 1) * 10.0 ** rng.randrange(-9, 1)
        a = b * (1 + rng.choice([0, 5e-7, 2e-6])) + rng.choice([0, 5e-9, 3e-8])
        pair = torch.tensor([a, b], dtype=torch.float64)
        for atol in (0.0, 1e-8):
            assert roundings.close(a, b, 1e-6, atol) == torch.allclose(pair[0], pair[1], rtol=1e-6, atol=atol)


# ---------------------------------------------------------------- splits


def test_a_pair_by_hand():
    # batch 1, 8192 → 28672 → 8192 over 8: 2 · 8192 · 3584 · 2 B at 3.35e12 B/s, 14 steps of 2 µs, 28,672 B at 450e9
    found = splitting.pair(1, 8192, 28_672, 8)
    weights = 2 * 2 * 8192 * 3584 / 3.35e12
    assert found.products == pytest.approx(weights, rel=1e-3)
    assert found.latency == pytest.approx(28e-6)
    assert found.link == pytest.approx(28_672 / 450e9)
    assert found.seconds == pytest.approx(63.13e-6, rel=1e-3)


def test_the_tasks_of_the_explorer():
    gains = {batch: explorer.gain(batch) for batch in range(1, 2000)}
    assert explorer.least() == min(gains, key=gains.get)
    low, high = (explorer.even_latency() + off for off in (-0.01, 0.01))
    for latency, faster in ((low, 8), (high, 2)):
        times = {ranks: splitting.pair(1, 8192, 28_672, ranks, latency=latency * 1e-6).seconds for ranks in (2, 8)}
        assert min(times, key=times.get) == faster
    small = [splitting.pair(1, 768, 3072, ranks).seconds for ranks in (1, 8)]
    assert 9 < small[1] / small[0] < 11


def test_numbers_sent_are_those_of_the_collectives():
    p, batch, inputs, outputs = 8, 32, 4096, 16_384
    gather, scatter, both = (
        {n: call(nbytes=batch * n, ranks=p, bandwidth=1e9).bytes_per_rank for n in (inputs, outputs)}
        for call in (communication.all_gather, communication.reduce_scatter, communication.all_reduce)
    )
    told = {
        ("column", False, False): 0,
        ("column", False, True): gather[outputs],
        ("column", True, False): gather[inputs],
        ("column", True, True): gather[inputs] + gather[outputs],
        ("row", False, False): scatter[outputs],
        ("row", True, True): both[outputs],
    }
    for (by, sharded, whole), sent in told.items():
        assert splitting.numbers_sent(inputs, outputs, batch, p, by, sharded, whole) == sent


def test_the_selector_never_looks_at_batch_or_outputs():
    for inputs, told in ((50, "row"), (500, "hybrid"), (4096, "column")):
        assert {splitting.selector(inputs, outputs, batch) for outputs in (7, 9000) for batch in (1, 99)} == {told}


def test_every_end_of_the_explorers_sliders_can_be_drawn(monkeypatch):
    for batch in (1, 8192):
        for pair in explorer.PAIRS:
            for link in explorer.LINKS:
                for latency in (0.1, 50):
                    figure = explorer.view(batch, pair, link, latency).figure
                    assert all(0 <= y <= figure.y.high for mark in figure.marks for y in mark.y)
    monkeypatch.setenv("COURSE_STATIC", "1")
    assert "8 ranks: 63.1 µs." in " ".join(repr(explorer.tensor_parallel(batch=1)).split())
    with pytest.raises(ValueError, match="latency"):
        explorer.tensor_parallel(latency=5000)


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(64, "70b", "450 GB/s", 2.0)) < STEP
