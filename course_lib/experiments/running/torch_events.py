"""Events of torch's profiler: what they ran in; and its start and stop without what it writes past Python."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent() -> Iterator[None]:
    """Nothing reaches the process's standard error: some versions say there that the profiler starts and stops."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def ancestors(event) -> Iterator[str]:
    """Names of the events that `event` ran in, from the nearest."""
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event.name
