"""A scaling law fitted to trainings: the exponents that miss the losses least, by least squares on a grid."""

import numpy as np

EXPONENTS = np.arange(0.20, 0.5201, 0.01)


def fitted(params, tokens, losses) -> tuple[float, float, float, float, float]:
    """(E, A, B, α, β) of L = E + A/N^α + B/D^β, for given exponents linear in E, A and B. All arrays [trainings]."""
    found = []
    for a in EXPONENTS:
        for b in EXPONENTS:
            columns = np.stack([np.ones_like(params), params**-a, tokens**-b], axis=1)
            solved, *_ = np.linalg.lstsq(columns, losses, rcond=None)
            found.append((((columns @ solved - losses) ** 2).sum(), (*solved, a, b)))
    return tuple(float(value) for value in min(found, key=lambda one: one[0])[1])


def best_size(law, flops) -> float:
    """Parameters of the lowest loss under 6·N·D = flops: `economics.compute_optimal_fit` for a law of one's own."""
    _, A, B, a, b = law
    return (a * A / (b * B)) ** (1 / (a + b)) * (flops / 6) ** (b / (a + b))
