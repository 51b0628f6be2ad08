"""The course key, and the seed that it gives each student for each exercise.

Hidden inputs and variants are drawn with this seed. Who has the key can draw them again, bit by bit; who has not,
cannot guess them: the seed is an HMAC-SHA256 of the student's and the exercise's name.
"""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

KEY_BYTES = 32


def exercise_seed(key: bytes, student: str, exercise: str, content: str) -> int:
    """A whole number below 2⁶⁴, the same on every platform; every character of the names and of `content` counts.

    content  a digest of what was handed in: the same file meets the same inputs again, another one meets new ones.

    Raises `ValueError` for a key of another length than `new_key` makes, or an empty text.
    """
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise ValueError(f"key must be {KEY_BYTES} bytes, as new_key() makes them and read_key(path) reads them")
    for name, value in (("student", student), ("exercise", exercise), ("content", content)):
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} must be a text that is not empty, not {value!r}")
    texts = [text.encode("utf-8", "surrogatepass") for text in (student, exercise, content)]
    message = b"".join(len(text).to_bytes(4, "big") + text for text in texts)
    return int.from_bytes(hmac.new(key, message, hashlib.sha256).digest()[:8], "big")


def new_key() -> bytes:
    """A fresh course key from the operating system's randomness."""
    return secrets.token_bytes(KEY_BYTES)


def write_key(path: str | Path, key: bytes) -> None:
    """Keep `key` in a new file that only its owner may read. Raises `FileExistsError` rather than lose an older key,
    and `ValueError` for a place in a git repository.
    """
    path = Path(path)
    _outside_git(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")


def read_key(path: str | Path) -> bytes:
    """The key in the file at `path`. Raises `FileNotFoundError`, or `ValueError` saying what is wrong with the file: it
    lies in a git repository, others may read it, or it holds no key.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no course key at {path}: without the key that drew a course's hidden inputs, no grade can be repeated"
        )
    _outside_git(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise ValueError(f"others may read the course key at {path} (mode {mode:04o}): run chmod 600 on it")
    text = path.read_text(encoding="ascii", errors="replace").strip()
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"{path} holds no course key: expected {2 * KEY_BYTES} hexadecimal digits in one line")
    return key


def _outside_git(path: Path) -> None:
    for folder in path.resolve().parents:
        if (folder / ".git").exists():
            raise ValueError(
                f"the course key must not lie in a git repository ({folder}), where it may be published: "
                f"{path} must move to a folder outside it"
            )
