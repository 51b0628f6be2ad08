"""Writing a file in one step: a reader sees the old content or the new one, never half of it."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write `content` (a text gets its last line ending) to `path`, making its folder; OSError where that cannot be
    done, and the old file is as it was.

    It is on the disk before it takes its name, so that a power cut leaves the old file or the new one.
    """
    # "replace": half a character, as some keyboards send it, must not keep the rest from being written.
    written = content if isinstance(content, bytes) else (content + "\n").encode("utf-8", "replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # mkstemp's 0600 would keep others from reading a recording
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
