"""What the NVIDIA driver says about the GPU at this moment: clocks, power, temperature, utilisation, driver version.

Read from the driver's own management library (NVML) through ctypes, so that no Python package is needed. Without an
NVIDIA driver everything is absent. NVML's reference: docs.nvidia.com/deploy/nvml-api.
"""

import contextlib
import ctypes
import sys
from collections.abc import Iterator

_LIBRARY = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
_SM_CLOCK, _MEMORY_CLOCK, _CORE_SENSOR = 1, 2, 0  # nvmlClockType_t and nvmlTemperatureSensors_t


class _Utilization(ctypes.Structure):
    """nvmlUtilization_t: percent of the last sample period with a kernel running, with memory being read or written."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Gauges:
    """One GPU's readings; each is None where the driver does not give it."""

    def __init__(self, library, device):
        self._library, self._device = library, device

    def state(self) -> dict[str, float]:
        """Clocks in Hz, power in W, temperature in °C; those that the driver gives."""
        found = {
            "sm_clock": self._number("nvmlDeviceGetClockInfo", _SM_CLOCK, unit=1e6),
            "sm_clock_limit": self._number("nvmlDeviceGetMaxClockInfo", _SM_CLOCK, unit=1e6),
            "memory_clock": self._number("nvmlDeviceGetClockInfo", _MEMORY_CLOCK, unit=1e6),
            "power": self._number("nvmlDeviceGetPowerUsage", unit=1e-3),
            "power_limit": self._number("nvmlDeviceGetEnforcedPowerLimit", unit=1e-3),
            "temperature": self._number("nvmlDeviceGetTemperature", _CORE_SENSOR, unit=1.0),
        }
        return {name: value for name, value in found.items() if value is not None}

    def utilization(self) -> float | None:
        """Share (0 to 1) of the driver's last sample period in which any kernel ran: the "GPU-Util" of nvidia-smi."""
        found = _Utilization()
        if self._library.nvmlDeviceGetUtilizationRates(self._device, ctypes.byref(found)):
            return None
        return found.gpu / 100

    def driver(self) -> str | None:
        """Version of the driver."""
        text = ctypes.create_string_buffer(96)
        return None if self._library.nvmlSystemGetDriverVersion(text, ctypes.c_uint(96)) else text.value.decode()

    def _number(self, function: str, *which: int, unit: float) -> float | None:
        found, call = ctypes.c_uint(), getattr(self._library, function, None)  # old drivers lack some
        if call is None or call(self._device, *map(ctypes.c_uint, which), ctypes.byref(found)):
            return None
        return found.value * unit


@contextlib.contextmanager
def reading(torch) -> Iterator[Gauges | None]:
    """The gauges of torch's GPU 0 for the length of a with-block; None without an NVIDIA driver or GPU."""
    library = _library() if torch.cuda.is_available() else None
    if library is None or library.nvmlInit_v2():
        yield None
        return
    try:
        device = _device(library, str(getattr(torch.cuda.get_device_properties(0), "uuid", "")))
        yield None if device is None else Gauges(library, device)
    finally:
        library.nvmlShutdown()


def _library():
    """NVML, or None where no driver brings it."""
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError:
        return None


def _device(library, uuid: str) -> ctypes.c_void_p | None:
    """NVML's handle of the GPU with torch's UUID (CUDA_VISIBLE_DEVICES may hide others), else of the first one."""
    device = ctypes.c_void_p()
    name = uuid if uuid.startswith("GPU-") else f"GPU-{uuid}"
    if not library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(device)):
        return device
    return None if library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(0), ctypes.byref(device)) else device
