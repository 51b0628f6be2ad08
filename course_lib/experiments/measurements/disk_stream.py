"""A file read from beginning to end: from the disk, and from the system's page cache."""

import errno
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from course_lib.accounting import hardware
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

MB = 10**6
PIECE = 2**20  # B of one read
SMALL_PIECE = 2**12


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Cold, warm, and warm in small pieces; a file of 64 MB, full 256 MB.

    Where the system cannot drop a file from its page cache on request, there is no cold case.
    """
    size = (64 if quick else 256) * MB

    def case(name: str, piece: int, cold: bool = False) -> Case:
        def observe(bench: Bench, seconds: float) -> list[float]:
            with temporary_file(size) as file:
                return rates(file, size, piece, cold, seconds)

        def expect(device: hardware.Device) -> float | None:
            """The kernel copies each page out of main memory; the piece that it is copied to stays in the cache."""
            return None if cold or device.kind != "cpu" else device.memory_bandwidth

        call = say("calls", "read", size=size // MB, piece=piece // 2**10)
        return Case(name, call, observe=observe, expect=expect)

    cold = (case("cold, from the disk", PIECE, cold=True),) if hasattr(os, "posix_fadvise") else ()
    return (
        *cold,
        case("warm, from the page cache", PIECE),
        case("warm, in small pieces", SMALL_PIECE),
    )


@contextmanager
def temporary_file(size: int) -> Iterator:
    """A file of `size` random bytes in the folder for temporary files, written out to the disk; removed at the end."""
    block = os.urandom(PIECE)
    with tempfile.TemporaryFile(buffering=0) as file:
        try:
            for start in range(0, size, PIECE):
                file.write(block[: size - start])
            os.fsync(file.fileno())
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Unavailable(
                f"disk_stream needs {size // MB} MB in the folder for temporary files, which has no room for them: "
                "set TMPDIR to another folder."
            ) from None
        yield file


def rates(file, size: int, piece: int, cold: bool, seconds: float) -> list[float]:
    """B/s of reading the whole file, again and again for about `seconds` and at least twice."""
    target = memoryview(bytearray(piece))
    found, end = [], time.perf_counter() + seconds
    if not cold:
        _read(file, target)
    while len(found) < 2 or time.perf_counter() < end:
        if cold:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        _read(file, target)
        found.append(size / (time.perf_counter() - start))
    return found


def _read(file, target) -> None:
    file.seek(0)
    while file.readinto(target):
        pass


def plot(result):
    rates = result.measured
    cold, warm = rates.get("cold, from the disk"), rates.get("warm, from the page cache")
    title = say("title", "plain")
    if cold and warm:
        title = say("title", "found", cold=quantity(cold, "B/s"), warm=quantity(warm, "B/s"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "B/s"), quick_seconds=0.1, full_seconds=2.0)
