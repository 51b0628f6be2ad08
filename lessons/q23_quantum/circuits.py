"""Circuits with angles: read with shots, differentiated by shifts, and trained in a loop with an ordinary processor."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from course_lib.units.q23_quantum import qubits

SHIFT = np.pi / 2


def chain(angles):
    """The state of a circuit: layers of one turn for each qubit, neighbours entangled after each layer but the last.

    angles: array [layers, qubits].
    """
    layers, n = angles.shape
    state = qubits.zeros(n)
    for layer in range(layers):
        for qubit in range(n):
            state = qubits.apply(qubits.turn(angles[layer, qubit]), state, qubit)
        if layer < layers - 1:
            for first, second in pairwise(range(n)):
                state = qubits.entangle(state, first, second)
    return state


def first_is_zero(state) -> float:
    """Probability that qubit 0 reads 0."""
    return float(qubits.probabilities(state)[: len(state) // 2].sum())


def mean_of_first(angles) -> float:
    """The expected reading of qubit 0: +1 for a 0, −1 for a 1."""
    return 2 * first_is_zero(chain(angles)) - 1


def shifted(angles, place, by: float):
    """A copy with one angle changed."""
    new = angles.copy()
    new[place] += by
    return new


def slope(value, angles, place) -> float:
    """∂value/∂angle by the parameter-shift rule: half the difference between a quarter turn on and one back."""
    return (value(shifted(angles, place, SHIFT)) - value(shifted(angles, place, -SHIFT))) / 2


def slopes_with_shots(angles, place, shots: int, times: int, rng):
    """`slope` of `mean_of_first`, `times` times over, each from so many readings of two circuits."""
    plus, minus = (
        2 * rng.binomial(shots, first_is_zero(chain(shifted(angles, place, by))), times) / shots - 1
        for by in (SHIFT, -SHIFT)
    )
    return (plus - minus) / 2


# ---------------------------------------------------------------- plateaus


@dataclass(frozen=True)
class Slopes:
    """∂f/∂θ₁ at random angles, and the shots of each circuit at which its noise is as large as itself."""

    values: np.ndarray
    shots: np.ndarray

    @property
    def variance(self) -> float:
        return float(np.mean(self.values**2))  # their mean is 0

    @property
    def median_shots(self) -> float:
        return float(np.median(self.shots))


def random_slopes(n: int, what: str, times: int, rng) -> Slopes:
    """n qubits, each turned by an angle of its own. what: "all", whether all read 0; "mean", the share that do.

    A probability p is read with a variance of p(1 − p)/shots, the share of n qubits with that of their mean.
    """
    angles = rng.uniform(0, 2 * np.pi, (times, n))
    zero = np.cos(angles / 2) ** 2
    plus, minus = (np.cos((angles[:, 0] + by) / 2) ** 2 for by in (SHIFT, -SHIFT))
    rest = zero[:, 1:]
    if what == "all":
        two = [first * rest.prod(1) for first in (plus, minus)]
        noise = sum(p * (1 - p) for p in two)
    else:
        two = [(first + rest.sum(1)) / n for first in (plus, minus)]
        noise = sum((first * (1 - first) + (rest * (1 - rest)).sum(1)) / n**2 for first in (plus, minus))
    values = (two[0] - two[1]) / 2
    return Slopes(values, noise / 4 / values**2)


def variance_of_all(n: int) -> float:
    """Variance of ∂/∂θ₁ of Π cos²(θᵢ/2): 1/8 for the first factor, 3/8 for each other."""
    return (3 / 8) ** (n - 1) / 8


# ---------------------------------------------------------------- a loop of two machines


@dataclass(frozen=True)
class Loop:
    """What a hybrid loop came to: energy of the state (exact, for the last angles), shots and circuits used."""

    energy: float
    shots: int
    circuits: int


def ising(n: int):
    """The energy matrix of n spins in a row: −Σ ZᵢZᵢ₊₁ − Σ Xᵢ. Neighbours want to agree, a field pulls sideways."""
    total = np.zeros((2**n, 2**n))
    for column in range(2**n):
        basis = np.zeros(2**n)
        basis[column] = 1
        for first in range(n - 1):
            both = qubits.apply(qubits.Z, qubits.apply(qubits.Z, basis, first), first + 1)
            total[:, column] -= both
        for qubit in range(n):
            total[:, column] -= qubits.apply(qubits.X, basis, qubit)
    return total


def lowest(n: int) -> float:
    """The lowest energy, by diagonalising: what the loop looks for."""
    return float(np.linalg.eigvalsh(ising(n))[0])


def signs(n: int):
    """[2ⁿ, n]: +1 where that bit of the index is 0, −1 where it is 1; qubit 0 first."""
    index = np.arange(2**n)[:, None]
    return 1 - 2 * (index >> np.arange(n - 1, -1, -1) & 1)


def measured_energy(state, shots, rng) -> float:
    """The energy from two circuits: read as it is, and with an H on each qubit before reading. None: without noise."""
    spins = signs(qubits.count(state))
    agree, alone = (spins[:, 1:] * spins[:, :-1]).sum(1), spins.sum(1)
    total = 0.0
    for turned, weight in ((state, agree), (qubits.on_all(qubits.H, state), alone)):
        odds = qubits.probabilities(turned)
        share = odds if shots is None else rng.multinomial(shots, odds / odds.sum()) / shots
        total -= float(share @ weight)
    return total


def train(n: int, layers: int, shots, steps: int, rate: float, seed: int) -> Loop:
    """Gradient descent on the angles: the circuit gives energies, the processor moves the angles.

    Each slope takes two angles' worth of energies, each energy two circuits with `shots` readings (None: no noise).
    """
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-0.3, 0.3, (layers, n)) + np.pi / 4
    for _ in range(steps):
        gradient = np.zeros_like(angles)
        for place in np.ndindex(angles.shape):
            gradient[place] = slope(lambda moved: measured_energy(chain(moved), shots, rng), angles, place)
        angles = angles - rate * gradient
    circuits = steps * angles.size * 2 * 2
    return Loop(measured_energy(chain(angles), None, rng), circuits * (shots or 0), circuits)
