"""The simulator against matrices built by Kronecker products, loading against the numbers, Grover against its angle."""

from functools import reduce

import numpy as np
import pytest

from course_lib.units.q23_quantum import costs, qubits

TURNED = qubits.turn(0.7)  # no symmetric gate, so that rows and columns cannot be mixed up


def drawn(n, seed=0):
    state = np.random.default_rng(seed).normal(size=2**n)
    return state / np.linalg.norm(state)


def on(gate, n, qubit):
    """The whole matrix, qubit 0 the leftmost factor."""
    return reduce(np.kron, [gate if place == qubit else np.eye(2) for place in range(n)])


@pytest.mark.parametrize(("n", "qubit"), [(1, 0), (3, 0), (3, 1), (3, 2), (6, 4)])
def test_a_gate_is_the_kronecker_product(n, qubit):
    state = drawn(n)
    before = state.copy()
    assert qubits.apply(TURNED, state, qubit) == pytest.approx(on(TURNED, n, qubit) @ before)
    assert (state == before).all()


@pytest.mark.parametrize(("n", "first", "second"), [(2, 0, 1), (4, 0, 3), (4, 1, 2), (5, 2, 4)])
def test_entangling_turns_the_sign_where_both_are_one(n, first, second):
    both = on(np.diag([0, 1]), n, first) @ on(np.diag([0, 1]), n, second)
    state = drawn(n)
    assert qubits.entangle(state, first, second) == pytest.approx((np.eye(2**n) - 2 * both) @ state)


def test_a_turn_by_half_a_circle_swaps_and_gates_keep_the_norm():
    assert qubits.apply(qubits.turn(np.pi), qubits.zeros(1), 0) == pytest.approx([0, 1])
    for gate in (qubits.H, qubits.X, qubits.Z, TURNED):
        assert gate.T @ gate == pytest.approx(np.eye(2))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_loading_takes_one_turn_fewer_than_numbers(n):
    numbers = np.random.default_rng(n).normal(size=2**n)
    state, rotations = qubits.load(numbers)
    assert state == pytest.approx(numbers / np.linalg.norm(numbers))
    assert rotations == 2**n - 1 == costs.loading_seconds(2**n, 1)


def test_loading_zeros_beside_numbers():
    state, _ = qubits.load([3.0, 0.0, -4.0, 0.0])
    assert state == pytest.approx([0.6, 0, -0.8, 0])


def grover(n, marked, calls):
    """Probability after so many calls, by the whole reflection matrices."""
    size = 2**n
    even = np.full(size, size**-0.5)
    oracle = np.diag([-1.0 if index in marked else 1.0 for index in range(size)])
    step = (2 * np.outer(even, even) - np.eye(size)) @ oracle
    state = np.linalg.matrix_power(step, calls) @ even
    return sum(state[index] ** 2 for index in marked)


@pytest.mark.parametrize(("n", "marked"), [(3, [5]), (5, [0, 7, 9]), (6, [1])])
def test_success_is_that_of_the_reflections(n, marked):
    for calls in (0, 1, costs.grover_calls(n, len(marked)), 2 * costs.grover_calls(n, len(marked))):
        assert costs.grover_success(n, calls, len(marked)) == pytest.approx(grover(n, marked, calls))


@pytest.mark.parametrize("n", [4, 8])
def test_the_search_in_gates_is_the_search_in_reflections(n):
    state, found = qubits.on_all(qubits.H, qubits.zeros(n)), 3
    for calls in range(1, 2 * costs.grover_calls(n) + 1):
        state = qubits.on_all(qubits.H, qubits.flip(qubits.on_all(qubits.H, qubits.flip(state, found)), 0))
        assert qubits.probabilities(state)[found] == pytest.approx(costs.grover_success(n, calls))


@pytest.mark.parametrize(("n", "marked"), [(n, marked) for n in range(4, 21, 3) for marked in (1, 2, 3)])
def test_no_other_number_of_calls_in_the_first_half_turn_is_better_by_much(n, marked):
    calls = costs.grover_calls(n, marked)
    best = max(costs.grover_success(n, other, marked) for other in range(2 * calls + 2))
    assert costs.grover_success(n, calls, marked) > best - 0.04 > 0.9


def test_a_shot_reads_the_squares():
    state = drawn(3)
    many = qubits.read(state, 400_000, np.random.default_rng(0))
    assert many.sum() == 400_000
    assert many / 400_000 == pytest.approx(state**2, abs=0.004)
