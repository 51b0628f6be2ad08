"""Writing result files so that a reader, or a kill, finds the old file or the new one and never half of one."""

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Replace the file at `path`, if its content changes."""
    content = text.encode("utf-8", "replace")
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    os.replace(new, path)
