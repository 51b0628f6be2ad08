"""Whether a program has become slower, from ratios of times that were taken in pairs."""

from statistics import median

LEAST = 0.02  # the smallest slowdown that anybody would act on
NOISES = 3


def noise(ratios) -> float:
    """The standard error of their median, taken from the median absolute deviation: 1.2533 · 1.4826 · MAD / √n.

    1.4826 · MAD is the deviation of a normal distribution, and a median scatters 1.2533 times as much as a mean.
    """
    middle = median(ratios)
    return 1.2533 * 1.4826 * median(abs(ratio - middle) for ratio in ratios) / len(ratios) ** 0.5


def is_slower(ratios) -> bool:
    """Whether the median ratio, new over old, is above 1 by more than `LEAST` and by more than `NOISES` times its noise."""
    return median(ratios) - 1 > max(LEAST, NOISES * noise(ratios))
