"""The truth of each prediction card of Q23, computed when a learner reveals it."""

from course_lib.accounting import models
from course_lib.units.q23_quantum import costs

MODELS = {"Llama-3 8B": "llama3-8b", "GPT-3": "gpt3-175b"}


def load(model, billion, qubits, amplitudes, us, each, milli, minutes) -> float:
    """Hours for as many gates as weights."""
    weights = int(models.load(MODELS[model]).parameters())
    return costs.loading_seconds(weights, us * 1e-6) / 3600


def grover(bits, ms, root, half, core, times) -> float:
    """Minutes."""
    return costs.grover_calls(bits) * ms * 1e-3 / 60


def gradient(parameters, shots, us, half, single, hours, alone) -> float:
    """Days."""
    return costs.gradient_shots(parameters, shots) * us * 1e-6 / 86_400


def tie_hours() -> float:
    """Hours of both searches where they tie."""
    return costs.tie_seconds(0.02, 50e-9, 64) / 3600
