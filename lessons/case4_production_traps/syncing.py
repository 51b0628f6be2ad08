"""Two clocks: a host that launches steps and runs ahead, a device that runs them in order, and a host that waits."""


def pipeline(host: float, device: float, steps: int, every: int = 0) -> float:
    """Time until the last of `steps` is done, step by step. host, device: time of a step on each; every: the host waits
    for the device after every so many steps (0: only at the end).
    """
    launched = done = 0.0
    for number in range(1, steps + 1):
        launched += host
        done = max(done, launched) + device
        if every and number % every == 0:
            launched = done
    return max(launched, done)


def each_step(host: float, device: float, every: int) -> float:
    """Time of a step in the long run: the slower of the two; once in `every` steps the other is waited for as well."""
    if not every >= 1:
        raise ValueError(f"every={every!r} must be 1 or more: the host waits after every so many steps.")
    return max(host, device) + min(host, device) / every


def slower(host: float, device: float, every: int) -> float:
    """How many times as long as without waiting."""
    return each_step(host, device, every) / max(host, device)
