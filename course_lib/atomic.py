"""Writing a file in one step: a reader, or a kill, finds the old content or the new one, never half of it."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def replace(path: Path, content: str | bytes, mode: int = 0o666, alone: bool = False) -> None:
    """Write `content` (a text ends with a line ending) to `path`, making its folder; OSError where that cannot be done,
    and the old file is as it was. A file that holds it already is left alone.

    mode: who may read it, as far as the user's umask lets them. alone: nobody else writes this file, so what a kill
    left half done is written over by the next try. The content is on the disk before it takes its name, so that a power
    cut leaves the old file or the new one.
    """
    if isinstance(content, str):
        # "replace": half a character, as some keyboards send it, must not keep the rest from being written.
        content = (content if content.endswith("\n") else content + "\n").encode("utf-8", "replace")
    with suppress(OSError):
        if path.is_file() and path.read_bytes() == content:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{'' if alone else '-' + secrets.token_hex(8)}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
