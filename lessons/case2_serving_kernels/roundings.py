"""SiLU(a)·b rounded once and rounded twice: two right kernels, number by number, in pure Python."""

import math
import random
import struct
from collections.abc import Callable

from course_lib.units.case2_serving_kernels.sampling import bf16


def fp32(x: float) -> float:
    return struct.unpack("<f", struct.pack("<f", x))[0]


FORMATS = {"fp32": fp32, "bf16": bf16}


def pairs(round: Callable[[float], float], count: int = 4000, scale: float = 1.0) -> list[tuple[float, float, float]]:
    """(in fp64, rounded once, rounded after SiLU and after the product) of random inputs in the format."""
    rng, found = random.Random(0), []
    for _ in range(count):
        a, b = round(rng.gauss(0, 1)), round(rng.gauss(0, scale))
        silu = a / (1 + math.exp(-a))
        found.append((silu * b, round(silu * b), round(round(silu) * b)))
    return found


def close(a: float, b: float, rtol: float = 1e-6, atol: float = 0.0) -> bool:
    """What torch.allclose asks of each number."""
    return abs(a - b) <= atol + rtol * abs(b)


def share_close(format: str) -> float:
    """The share of numbers in which the two right forms are close."""
    found = pairs(FORMATS[format])
    return sum(close(a, b) for _, a, b in found) / len(found)


def share_of_sums(rows: int = 200, length: int = 1000, rtol: float = 1e-6) -> float:
    """The share of fp32 sums of random numbers that are close when they are added up from either end."""
    rng, found = random.Random(0), 0
    for _ in range(rows):
        numbers = [fp32(rng.gauss(0, 1)) for _ in range(length)]
        ahead = back = 0.0
        for number, other in zip(numbers, reversed(numbers), strict=True):
            ahead, back = fp32(ahead + number), fp32(back + other)
        found += close(ahead, back, rtol)
    return found / rows
