"""Writing a file in one step: a reader sees the old content or the new one, never half of it."""

import os
import tempfile
from pathlib import Path


def replace(path: Path, text: str) -> None:
    """Write `text` to `path`, making its folder; OSError where that cannot be done, and the old file is as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(temporary, 0o644)  # mkstemp's 0600 would keep others from reading a recording
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
