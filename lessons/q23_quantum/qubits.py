"""A state-vector simulator: n qubits are 2ⁿ amplitudes in one array. In an index, qubit 0 is the leftmost bit."""

import numpy as np

H = np.array([[1, 1], [1, -1]]) / 2**0.5
X = np.array([[0, 1], [1, 0]])
Z = np.array([[1, 0], [0, -1]])


def zeros(n: int):
    """The state in which all n qubits read 0."""
    state = np.zeros(2**n)
    state[0] = 1
    return state


def turn(angle: float):
    """The gate that turns a qubit by `angle`, in radians. 2π turns all signs and no probability."""
    return np.array([[np.cos(angle / 2), -np.sin(angle / 2)], [np.sin(angle / 2), np.cos(angle / 2)]])


def apply(gate, state, qubit: int):
    """A new state: the 2 × 2 `gate` on each pair of amplitudes whose indices differ in `qubit` alone."""
    pairs = state.reshape(2**qubit, 2, -1)
    zero, one = pairs[:, 0], pairs[:, 1]
    rows = [gate[row][0] * zero + gate[row][1] * one for row in (0, 1)]
    return np.stack(rows, axis=1).reshape(-1)


def on_all(gate, state):
    """The same gate on every qubit, one after the other."""
    for qubit in range(count(state)):
        state = apply(gate, state, qubit)
    return state


def entangle(state, first: int, second: int):
    """A new state: the sign turned wherever both qubits, first < second, are 1 (the gate CZ)."""
    new = state.reshape(2**first, 2, 2 ** (second - first - 1), 2, -1).copy()
    new[:, 1, :, 1] *= -1
    return new.reshape(-1)


def flip(state, index: int):
    """A new state: the sign of one amplitude turned. Hardware needs a circuit for it that recognises the index."""
    new = state.copy()
    new[index] *= -1
    return new


def load(numbers):
    """(state whose amplitudes are `numbers` over their norm, rotations that it took): 2ⁿ real numbers, a tree of angles.

    Qubit k is turned by an angle of its own for each setting of the k qubits before it.
    """
    n = int(np.log2(len(numbers)))
    state, rotations = zeros(n), 0
    for qubit in range(n):
        left, right = np.moveaxis(np.reshape(numbers, (2**qubit, 2, -1)), 1, 0)
        last = qubit == n - 1  # signs are those of the last turn
        halves = [half[:, 0] if last else np.linalg.norm(half, axis=1) for half in (left, right)]
        angles = np.arctan2(halves[1], halves[0])[:, None]
        pairs = state.reshape(2**qubit, 2, -1)  # the qubit reads 0 so far
        state = np.stack([np.cos(angles) * pairs[:, 0], np.sin(angles) * pairs[:, 0]], axis=1).reshape(-1)
        rotations += len(angles)
    return state, rotations


def probabilities(state):
    """How likely each index is to be read."""
    return np.abs(state) ** 2


def read(state, shots: int, rng):
    """How often each index was read in so many shots; each shot needs the state anew."""
    return rng.multinomial(shots, probabilities(state))


def count(state) -> int:
    """Qubits of a state."""
    return len(state).bit_length() - 1
