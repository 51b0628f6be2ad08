"""What machine this is: facts that are read, not measured. No host name, no user name, no path."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from course_lib.accounting import units

BUSY = 0.1  # share of the processor that other programs may use before times are called disturbed
UNKNOWN_CACHE = 32 * 2**20  # assumed last-level cache where the system does not say


@dataclass(frozen=True)
class Machine:
    """cpu: model name. cores: logical processors this process may use. memory: bytes this process may use.

    gpu: name, or None.
    """

    cpu: str
    cores: int
    memory: int
    gpu: str | None

    @property
    def cpu_name(self) -> str:
        return f"{self.cpu}, {units.counted(self.cores, 'core')}"


def this() -> Machine:
    """The machine at hand; `gpu` is None without torch."""
    return Machine(cpu=cpu_model(), cores=cores(), memory=memory(), gpu=gpu_name())


def cpu_model() -> str:
    """The processor's model name as the system gives it, such as "AMD EPYC" or "Apple M2"."""
    if sys.platform == "darwin":
        return _sysctl("machdep.cpu.brand_string") or platform.machine()
    text = _read("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else platform.processor() or platform.machine()


def cores() -> int:
    """Logical processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of main memory: the machine's, or the container's limit where that is less."""
    if sys.platform == "darwin":
        return int(_sysctl("hw.memsize"))
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    return min(physical, int(limit)) if limit.isdigit() else physical


def last_level_cache() -> int:
    """Bytes of the largest cache that the system reports for one core; `UNKNOWN_CACHE` where it reports none."""
    return max((each for each, _ in caches().values()), default=UNKNOWN_CACHE)


def caches() -> dict[str, tuple[int, int]]:
    """Data caches, the nearest first: name -> (bytes of one, how many of them the processors of this process see).

    {"l1": (49152, 2), "l2": (1048576, 2), "l3": (33554432, 1)}; {} where the system does not say. One of the first
    processor's stands for all: cores of two kinds count as the first kind.
    """
    return _caches_of_macos() if sys.platform == "darwin" else _caches_of_linux(Path("/sys/devices/system/cpu"))


def _caches_of_macos() -> dict[str, tuple[int, int]]:
    found = {}
    for level, key in (("l1", "l1dcachesize"), ("l2", "l2cachesize"), ("l3", "l3cachesize")):
        size = _sysctl(f"hw.perflevel0.{key}") or _sysctl(f"hw.{key}")
        sharing = _sysctl("hw.perflevel0.cpusperl2") if level == "l2" else "1" if level == "l1" else ""
        if size.isdigit() and int(size):
            found[level] = int(size), max(1, cores() // int(sharing)) if sharing.isdigit() and int(sharing) else 1
    return found


def _caches_of_linux(folder: Path) -> dict[str, tuple[int, int]]:
    ours = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(cores()))
    found: dict[str, tuple[int, set[str]]] = {}
    for cpu in ours:
        for index in sorted((folder / f"cpu{cpu}" / "cache").glob("index*")):
            level, kind, size, shared = (
                _read(index / name).strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
            if kind != "Instruction" and re.fullmatch(r"\d+[KM]", size):
                each = int(size[:-1]) * {"K": 2**10, "M": 2**20}[size[-1]]
                found.setdefault(f"l{level}", (each, set()))[1].add(shared or str(cpu))
    return {name: (each, len(copies)) for name, (each, copies) in sorted(found.items())}


@dataclass(frozen=True)
class Clock:
    """A moment, to see what other programs did with the processor since then; that takes psutil."""

    wall: float
    own: float
    all: float | None

    @classmethod
    def now(cls) -> "Clock":
        try:
            import psutil

            times = psutil.cpu_times()
            used = sum(times) - times.idle - getattr(times, "iowait", 0.0)
            # guest time is counted in user time too
            used -= getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        except ImportError:
            used = None
        return cls(time.perf_counter(), time.process_time() + _children(), used)

    def used_by_others(self) -> float | None:
        """Share of the processor (0 to 1) that others used since this moment; None where it is not known."""
        now = Clock.now()
        if self.all is None or now.all is None:
            return None
        if cores() != os.cpu_count():  # the sum counts processors that are not ours
            return None
        return max(0.0, (now.all - self.all) - (now.own - self.own)) / ((now.wall - self.wall) * cores())


def _children() -> float:
    """Processor seconds of the processes that we started: of those that ended, and of those that still run."""
    ended = os.times()
    seconds = ended.children_user + ended.children_system
    try:
        import psutil
    except ImportError:
        return seconds
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            used = child.cpu_times()
            seconds += used.user + used.system + used.children_user + used.children_system
    return seconds


def gpu_name() -> str | None:
    """The first CUDA device's name, or None without one, or without torch."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def compiler() -> str | None:
    """The C++ compiler that torch.compile would find, by name (not path), or None."""
    wanted = (os.environ.get("CXX"), "c++", "g++", "clang++")
    return next((Path(name).name for name in wanted if name and shutil.which(name)), None)


def _read(path) -> str:
    try:
        return Path(path).read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    try:
        return subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, timeout=5).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
