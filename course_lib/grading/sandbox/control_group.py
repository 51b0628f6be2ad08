"""A control group (cgroup v2) round one sandbox, where the machine lends one: what the kernel counts and limits itself.

The zygote looks at its job twenty times a second and sees what lives. The group also counts the processor time of what
has ended, and with the controller of memory the kernel stops a job between two looks.
"""

import contextlib
import itertools
import os
import time
from pathlib import Path

NAME = "flops-course"
NUMBERS = itertools.count()


class ControlGroup:
    """A group of its own for one sandbox. `entrance`: the file into which a process writes its number to be in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.entrance = folder / "cgroup.procs"

    @property
    def seconds(self) -> float:
        """Time that all processes of the group have used of processors so far, those that have ended too."""
        return self._value("cpu.stat", "usage_usec") / 1e6

    @property
    def memory_kills(self) -> int:
        """Processes that the kernel has killed because the group had no memory left."""
        return self._value("memory.events", "oom_kill")

    def limit(self, more: int) -> None:
        """No more than `more` bytes beyond what it holds now, where the machine lends the controller of memory."""
        with contextlib.suppress(OSError):
            held = int((self.folder / "memory.current").read_text())
            (self.folder / "memory.max").write_text(str(held + more))

    def remove(self) -> None:
        """Wait until the last process has left, which is soon after it has closed its files; what stays is swept up by
        the next grader.
        """
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.02)

    def _value(self, file: str, key: str) -> int:
        """A line of a file of the group; 0 where the machine has no such file."""
        try:
            lines = (line.split() for line in (self.folder / file).read_text().splitlines())
        except OSError:
            return 0
        return next((int(value) for name, value in lines if name == key), 0)


def make() -> ControlGroup | None:
    """A new group beside this process's own or, where that is not allowed, below it; None where neither is."""
    with contextlib.suppress(OSError):
        for place in places(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text()):
            sweep(place)
            folder = place / f"{NAME}-{os.getpid()}-{next(NUMBERS)}"
            with contextlib.suppress(OSError):
                folder.mkdir()
                return ControlGroup(folder)
    return None


def places(groups: str, mounts: str) -> list[Path]:
    """Where a process may make groups, by its `/proc/self/cgroup` and `/proc/self/mountinfo`: beside its own group,
    which alone may have a controller of memory (a group with processes lends none to groups below it), then below it.
    """
    own = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), None)
    for fields in (line.split() for line in mounts.splitlines()):
        root, point, kind = fields[3], Path(fields[4]), fields[fields.index("-") + 1]
        if kind == "cgroup2" and own is not None and Path(own).is_relative_to(root):
            below = point / Path(own).relative_to(root)
            return [below] if below == point else [below.parent, below]
    return []


def sweep(place: Path) -> None:
    """Remove the groups of graders that were killed."""
    for folder in place.glob(f"{NAME}-*-*"):
        if not Path(f"/proc/{folder.name.split('-')[-2]}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
