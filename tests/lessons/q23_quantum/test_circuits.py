"""Slopes against finite differences, plateaus against integrals, the energy against Kronecker products, analog products
against whole numbers.
"""

from functools import reduce

import numpy as np
import pytest

from course_lib.units.q23_quantum import circuits, costs, qubits
from course_lib.units.q23_quantum.experiments import analog_matmul, hybrid_loop, statevector

ANGLES = np.random.default_rng(3).uniform(0, 2 * np.pi, (3, 4))


@pytest.mark.parametrize("place", [(0, 0), (0, 3), (1, 1), (2, 0)])
def test_a_shift_is_a_derivative(place):
    near = [circuits.mean_of_first(circuits.shifted(ANGLES, place, by)) for by in (1e-5, -1e-5)]
    assert circuits.slope(circuits.mean_of_first, ANGLES, place) == pytest.approx((near[0] - near[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("shots", [100, 10_000])
def test_shots_make_the_noise_that_is_said(shots):
    drawn = circuits.slopes_with_shots(ANGLES, (0, 0), shots, 20_000, np.random.default_rng(0))
    exact = circuits.slope(circuits.mean_of_first, ANGLES, (0, 0))
    readings = [circuits.mean_of_first(circuits.shifted(ANGLES, (0, 0), by)) for by in (np.pi / 2, -np.pi / 2)]
    variance = sum((1 - reading**2) / shots for reading in readings) / 4
    assert np.std(drawn) == pytest.approx(variance**0.5, rel=0.03)
    assert np.mean(drawn) == pytest.approx(exact, abs=5 * (variance / 20_000) ** 0.5)
    assert variance**0.5 <= costs.gradient_error(shots)


def in_the_simulator(angles, what):
    state = qubits.zeros(len(angles))
    for qubit, angle in enumerate(angles):
        state = qubits.apply(qubits.turn(angle), state, qubit)
    odds = qubits.probabilities(state)
    return odds[0] if what == "all" else odds @ (1 + circuits.signs(len(angles))).mean(1) / 2


@pytest.mark.parametrize("what", ["all", "mean"])
def test_slopes_of_products_are_those_of_the_simulator(what):
    n, drawn = 4, circuits.random_slopes(4, what, 5, np.random.default_rng(5))
    angles = np.random.default_rng(5).uniform(0, 2 * np.pi, (5, n))
    for row, value in zip(angles, drawn.values, strict=True):
        moved = [in_the_simulator([row[0] + by, *row[1:]], what) for by in (1e-5, -1e-5)]
        assert value == pytest.approx((moved[0] - moved[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize(("n", "what"), [(2, "all"), (3, "all"), (2, "mean"), (3, "mean")])
def test_the_shots_needed_are_those_of_drawn_readings(n, what):
    """At the shots that `random_slopes` gives, readings drawn one by one scatter as much as the slope itself."""
    found = circuits.random_slopes(n, what, 40, np.random.default_rng(7))
    angles = np.random.default_rng(7).uniform(0, 2 * np.pi, (40, n))
    place = next(i for i, shots in enumerate(found.shots) if 30 < shots < 3000)
    shots, rng = round(found.shots[place]), np.random.default_rng(1)
    means = []
    for by in (np.pi / 2, -np.pi / 2):
        odds = np.cos((angles[place] + by * np.eye(n)[0]) / 2) ** 2
        zero = rng.random((3000, shots, n)) < odds
        read = zero.all(2) if what == "all" else zero.mean(2)
        means.append(read.mean(1))
    scatter = ((means[0] - means[1]) / 2).std()
    assert scatter == pytest.approx(abs(found.values[place]), rel=0.06)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_variance_is_an_integral(n):
    angle = (np.arange(4000) + 0.5) / 4000 * 2 * np.pi
    first, rest = (np.sin(angle) ** 2).mean() / 4, (np.cos(angle / 2) ** 4).mean()
    assert circuits.variance_of_all(n) == pytest.approx(first * rest ** (n - 1))


def test_the_energy_is_the_matrix():
    n = 3

    def on(**gates):
        return reduce(np.kron, [gates.get(f"q{place}", np.eye(2)) for place in range(n)])

    z, x = qubits.Z, qubits.X
    matrix = -(on(q0=z, q1=z) + on(q1=z, q2=z)) - sum(on(**{f"q{place}": x}) for place in range(n))
    assert circuits.ising(n) == pytest.approx(matrix)
    assert circuits.lowest(n) == pytest.approx(np.linalg.eigvalsh(matrix)[0])
    state = circuits.chain(ANGLES[:, :n])
    assert circuits.measured_energy(state, None, None) == pytest.approx(state @ matrix @ state)
    noisy = circuits.measured_energy(state, 400_000, np.random.default_rng(0))
    assert noisy == pytest.approx(state @ matrix @ state, abs=0.02)


def test_the_loop_counts_its_shots():
    loop = circuits.train(2, 2, 30, 3, 0.1, 0)
    assert loop.circuits == 3 * 4 * 2 * 2
    assert loop.shots == 30 * loop.circuits
    assert loop.energy >= circuits.lowest(2) - 1e-12
    cases = {case.name: case for case in hybrid_loop.cases(None, True)}
    assert cases["1,000 shots"].facts["shots"] == 40 * 12 * 2 * 2 * 1000


@pytest.mark.parametrize("way", ["whole", "blocks"])
@pytest.mark.parametrize("n", [2, 9, 16])
def test_the_gate_that_is_timed_is_the_gate(way, n):
    gate, state = statevector.gate_on(way, n, n // 2)
    assert gate() == pytest.approx(qubits.apply(qubits.H, state, n // 2))
    assert state.nbytes == costs.state_bytes(n)


def test_a_product_of_few_bits_is_one_of_whole_numbers():
    torch = pytest.importorskip("torch")
    x, w = torch.tensor([[3.0, -7.0], [1.0, 2.0]]), torch.tensor([[1.0, -1.0], [0.0, 1.0], [1.0, 1.0]])
    out = analog_matmul.product(x, w, 4, 0, None)  # 7 levels a side: operands are exact, ±7 and ±1
    exact = np.array([[10, -7, -4], [-1, 2, 3]])
    assert out.numpy() == pytest.approx(np.round(exact / 10 * 7) / 7 * 10, rel=1e-6)
    assert analog_matmul.product(x, w, 0, 0, None).numpy() == pytest.approx(exact)


def test_two_bits_are_three_levels():
    torch = pytest.importorskip("torch")
    assert set(analog_matmul.rounded(torch.linspace(-1, 1, 101), 2).tolist()) == {-1.0, 0.0, 1.0}


def test_noise_has_the_deviation_that_is_said():
    torch = pytest.importorskip("torch")
    x, w = torch.ones(2000, 1), torch.tensor([[2.0]])
    out = analog_matmul.product(x, w, 0, 0.1, torch.Generator().manual_seed(0))
    assert out.std().item() == pytest.approx(0.2, rel=0.06)
