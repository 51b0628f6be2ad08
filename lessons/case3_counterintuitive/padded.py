"""Products of unequal lengths in one padded call: what is wasted, what is saved, and where the sign turns."""

from math import sqrt

COUNT = 256  # products
WIDTH = 32  # of each row
WAYS = ("exact", "padded")


def lengths(longest: int) -> list[int]:
    """1 to `longest`, all equally often."""
    return [1 + place % longest for place in range(COUNT)]


def flops(longest: int) -> dict[str, int]:
    """FLOPs of all products [l, WIDTH] · [WIDTH, l]: of each its own, and of all with the longest."""
    exact = sum(2 * n * n * WIDTH for n in lengths(longest))
    return {"exact": exact, "padded": COUNT * 2 * longest**2 * WIDTH}


def predicted(longest: int, call: float, rate: float) -> dict[str, float]:
    """Seconds of both ways, where a call takes `call` s before it computes and FLOPs run at `rate` a second."""
    work = flops(longest)
    return {"exact": COUNT * call + work["exact"] / rate, "padded": call + work["padded"] / rate}


def turns_near(call: float, rate: float) -> float:
    """The longest length L at which padding breaks even, for many lengths: a third of L² is used, so two thirds of
    2 · WIDTH · L² FLOPs are wasted for each call.
    """
    return sqrt(0.75 * call * rate / WIDTH)
