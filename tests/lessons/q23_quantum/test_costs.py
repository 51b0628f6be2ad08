"""Counts against hand calculations and brute force: read-out errors by binomials, the tie by bisection."""

import math

import numpy as np
import pytest

from course_lib.accounting import models
from course_lib.units.q23_quantum import chips, costs

LLAMA = int(models.load("llama3-8b").parameters())


def test_the_title():
    assert 2**32 < LLAMA < 2**33
    assert costs.qubits_for(LLAMA) == 33
    assert costs.loading_seconds(LLAMA, 1e-6) / 3600 == pytest.approx(2.2306, abs=1e-3)  # 8.03e9 µs
    assert costs.shots_at_least(16 * LLAMA, 33) == pytest.approx(3.8934e9, rel=1e-4)


@pytest.mark.parametrize(("numbers", "qubits"), [(2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)])
def test_qubits_at_powers_of_two(numbers, qubits):
    assert costs.qubits_for(numbers) == qubits


def test_states_by_hand():
    assert costs.state_bytes(40) == 17_592_186_044_416
    assert costs.state_bytes(50, 2) == 2**51


def expected_error(odds, shots):
    """Σ E|K/shots − p| for binomial K, term by term."""
    total = 0.0
    for p in odds:
        counts = np.arange(shots + 1)
        logs = [math.lgamma(shots + 1) - math.lgamma(k + 1) - math.lgamma(shots - k + 1) for k in counts]
        chances = np.exp(np.array(logs) + counts * math.log(p) + (shots - counts) * math.log1p(-p))
        total += float(chances @ np.abs(counts / shots - p))
    return total


def test_the_error_of_equal_probabilities():
    # p(1 − p) for p is 1/32 of the variance at 32 numbers
    exact = expected_error(np.full(32, 1 / 32), 4000)
    assert exact == pytest.approx(costs.read_out_error(32, 4000, "uniform"), rel=0.03)


@pytest.mark.parametrize("kind", ["normal", "dirichlet"])
def test_the_error_of_uneven_probabilities(kind):
    rng = np.random.default_rng(1)
    raw = rng.normal(size=4096) ** 2 if kind == "normal" else rng.exponential(size=4096)
    odds = raw / raw.sum()
    shots = 2_000_000
    summed = np.sqrt(2 * odds * (1 - odds) / (math.pi * shots)).sum()
    assert summed == pytest.approx(costs.read_out_error(4096, shots, kind), rel=0.03)
    assert costs.read_out_error(4096, shots, kind) < costs.read_out_error(4096, shots)


def test_shots_are_the_inverse_of_the_error():
    assert costs.read_out_error(1024, costs.shots_for_read_out(1024, 0.01, "normal"), "normal") == pytest.approx(0.01)


@pytest.mark.parametrize(("quantum", "classical", "cores"), [(1e-3, 1e-9, 1), (1e-3, 1e-9, 10_000), (0.02, 5e-8, 64)])
def test_the_tie_by_bisection(quantum, classical, cores):
    low, high = 0.0, 120.0  # log₂ of the items
    for _ in range(200):
        middle = (low + high) / 2
        faster = math.pi / 4 * 2 ** (middle / 2) * quantum < 2**middle / 2 * classical / cores
        low, high = (low, middle) if faster else (middle, high)
    assert math.log2(costs.tie_items(quantum, classical, cores)) == pytest.approx(low)
    assert costs.tie_seconds(quantum, classical, cores) == pytest.approx(2**low / 2 * classical / cores)


def test_the_tie_by_hand():
    # √N = π/2 · 10⁶; π/4 · √N · 1 ms = π²/8 · 1,000 s
    assert costs.tie_seconds(1e-3, 1e-9) == pytest.approx(math.pi**2 / 8 * 1000)
    assert costs.bits_of(costs.tie_items(1e-3, 1e-9)) == pytest.approx(41.17, abs=0.01)
    assert costs.tie_seconds(1e-3, 1e-9, 10_000) / 86_400 == pytest.approx(142.8, abs=0.1)


def test_grover_by_hand():
    assert costs.grover_calls(40) == 823_549  # π/4 · 1,048,576 = 823,549.66
    assert [costs.grover_calls(n) for n in (4, 8, 12)] == [3, 12, 50]
    assert costs.grover_calls(10, 16) == 6  # π/4 · 8 = 6.28


def test_a_gradient_by_hand():
    assert costs.gradient_shots(124_439_808, 1000) * 1e-4 / 86_400 == pytest.approx(288.06, abs=0.01)


def test_a_chip_by_hand():
    assert chips.picojoules("photonic") == pytest.approx(79.6 / 65.5)
    assert chips.picojoules("in-memory, quick") == pytest.approx(1 / 9.76)
    assert chips.gpu_picojoules("h100-sxm", "bf16") == pytest.approx(700 / 989)
    assert pytest.approx(31.36) == chips.READ  # 8 · 3.92 pJ
    assert chips.per_product(256, 10, 1e-3) == pytest.approx(2 * 10 / 256 + 1e-3)
