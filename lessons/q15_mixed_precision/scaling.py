"""Dynamic loss scaling: the rule of `torch.amp.GradScaler`, in one function."""


def after(scale: float, good: int, overflow: bool, interval: int) -> tuple[float, int]:
    """(scale, good steps in a row) for the next step: half after an overflow, twice after `interval` good steps."""
    if overflow:
        return scale / 2, 0
    if good + 1 == interval:
        return scale * 2, 0
    return scale, good + 1
