"""What fusing a batch norm and a ReLU into a convolution saves, by the roofline, for each output number."""

from course_lib.accounting import hardware

SIZE = 2  # bytes of a number in fp16


def times(channels: float, kernel: int, device="a100-40-sxm", depthwise: bool = False) -> tuple[float, float]:
    """Seconds of the convolution and of the two pointwise calls, for each output number. As many channels in as out."""
    device = hardware.resolve(device)
    work = 2 * kernel**2 * (1 if depthwise else channels)
    conv = max(work / device.peak("fp32" if depthwise else "fp16"), 2 * SIZE / device.memory_bandwidth)
    return conv, 2 * 2 * SIZE / device.memory_bandwidth


def flat_until(kernel: int, device="a100-40-sxm") -> float:
    """Channels up to which the convolution takes the time of its bytes."""
    device = hardware.resolve(device)
    return 2 * SIZE / device.memory_bandwidth * device.peak("fp16") / (2 * kernel**2)


def saved(channels: float, kernel: int, device="a100-40-sxm", depthwise: bool = False) -> float:
    """Share of the time that fusing saves."""
    conv, passes = times(channels, kernel, device, depthwise)
    return passes / (conv + passes)
