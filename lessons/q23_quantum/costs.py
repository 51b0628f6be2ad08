"""What the tasks of this lesson cost, counted: bytes, gates, calls, shots, seconds."""

from math import asin, ceil, floor, log2, pi, sin, sqrt

AMPLITUDE = 16  # B of a complex number in double precision


def qubits_for(numbers: int) -> int:
    """The fewest qubits whose amplitudes are so many."""
    return (int(numbers) - 1).bit_length()


def state_bytes(qubits: int, amplitude: int = AMPLITUDE) -> int:
    """Bytes of all amplitudes."""
    return amplitude * 2**qubits


def loading_seconds(numbers: int, gate: float) -> float:
    """Seconds for real numbers that nothing connects: one angle fewer than numbers, one gate for each."""
    return (numbers - 1) * gate


def shots_at_least(bits: float, qubits: int) -> int:
    """Shots for so many bits, when each brings at most one for each qubit (Holevo)."""
    return ceil(bits / qubits)


def read_out_error(numbers: int, shots: float, kind: str = "uniform") -> float:
    """Expected sum of |estimate − probability| over all numbers, for shots well above them.

    Each is off by √(2 p (1 − p) / (π · shots)) in the mean. kind: how the probabilities are spread, "uniform" (the worst),
    "normal" (squares of normal numbers) or "dirichlet" (squared lengths of complex normal numbers).
    """
    root = {"uniform": 1, "normal": sqrt(2 / pi), "dirichlet": sqrt(pi) / 2}[kind]  # the mean of √(p · numbers)
    return root * sqrt(2 * numbers / (pi * shots))


def shots_for_read_out(numbers: int, error: float, kind: str = "uniform") -> float:
    """Shots at which `read_out_error` is `error`."""
    return read_out_error(numbers, 1, kind) ** 2 / error**2


def grover_calls(qubits: int, marked: int = 1) -> int:
    """Calls of Grover's search through 2ⁿ items: π/4 · √(2ⁿ/marked), rounded down."""
    root = sqrt(2**qubits / marked)
    return floor(root * pi / 4)


def grover_success(qubits: int, calls: int, marked: int = 1) -> float:
    """Probability that the index read after so many calls is a marked one."""
    return sin((2 * calls + 1) * asin(sqrt(marked / 2**qubits))) ** 2


def search_seconds(items: float, call: float, cores: int = 1) -> float:
    """Seconds of trying items in any order on so many cores: half of them in the mean."""
    return items / 2 * call / cores


def grover_seconds(items: float, call: float) -> float:
    """Seconds of Grover's search, its calls not rounded."""
    return pi / 4 * sqrt(items) * call


def tie_items(quantum: float, classical: float, cores: int = 1) -> float:
    """Items at which both searches take equally long; quantum, classical: seconds of a call.

    From π/4 · √N · quantum = N/2 · classical / cores.
    """
    return (pi / 2 * quantum * cores / classical) ** 2


def tie_seconds(quantum: float, classical: float, cores: int = 1) -> float:
    """Seconds that both searches take where they tie: below this, cores are faster."""
    return grover_seconds(tie_items(quantum, classical, cores), quantum)


def bits_of(items: float) -> float:
    """log₂"""
    return log2(items)


def gradient_shots(parameters: int, shots: int) -> int:
    """Shots of a whole gradient by parameter shift: two circuits for each parameter."""
    return 2 * parameters * shots


def gradient_error(shots: int) -> float:
    """Standard error of a parameter-shift derivative at worst, of readings ±1 and so many shots for each circuit."""
    return 1 / sqrt(2 * shots)
