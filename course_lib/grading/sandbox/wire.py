"""What passes between the grader and a student's process: JSON in frames, both ways. Never pickle.

A frame is four bytes of length (big-endian) and that many bytes of JSON. An answer is a plain value (`check_values`):
what is None, bool, number or text stands for itself, a list is a list, and `{"dict": [[key, value], …]}` and
`{"foreign": [kind, text, length, hints]}` are the two other kinds. `unpack` believes nothing of what it reads.
"""

import json
import socket
from collections.abc import Callable

from course_lib.teaching.checks.check_texts import say
from course_lib.teaching.checks.check_values import DEEPEST, MOST, Foreign

FRAME = 4_000_000
"""Bytes of one frame: an answer of MOST numbers fits several times."""

LEAVES = 4 * MOST
"""Values that `unpack` makes at most: keys count too."""


TICK = 0.05
"""Seconds after which a wait is looked at."""


class Broken(Exception):  # noqa: N818 (not an error of the course: what the other side did)
    """The other side closed the channel, or sent what is no frame."""


def send(channel: socket.socket, message, waiting: Callable | None = None) -> None:
    """Write one frame. `waiting()` is asked every `TICK` and after each part; what it raises ends the wait. Raises
    `Broken`, or `ValueError` for what is no JSON or is larger than a frame.
    """
    body = json.dumps(message).encode("ascii")
    if len(body) > FRAME:
        raise ValueError(f"{len(body)} bytes are more than one answer may have ({FRAME})")
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data:
        data = data[_patient(channel, channel.send, data, waiting) or 0 :]


def receive(channel: socket.socket, waiting: Callable | None = None):
    """The JSON of one frame; `waiting` as in `send`. Raises `Broken`."""
    length = int.from_bytes(_read(channel, 4, waiting), "big")
    if length > FRAME:
        raise Broken(f"a frame of {length} bytes")
    try:
        return json.loads(_read(channel, length, waiting).decode("ascii"))
    except (ValueError, RecursionError) as error:  # also an integer of more digits than Python reads
        raise Broken(f"no JSON: {type(error).__name__}") from None


def pending(channel: socket.socket) -> bool:
    """Whether the other side has sent something that nobody asked for. Raises `Broken` if it has closed its end."""
    channel.settimeout(0)
    try:
        unasked = channel.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError as error:
        raise Broken(str(error)) from None
    if not unasked:
        raise Broken("closed")
    return True


def _read(channel: socket.socket, count: int, waiting: Callable | None) -> bytes:
    """`count` bytes; memory grows only with what has really come."""
    data = bytearray()
    while len(data) < count:
        got = _patient(channel, channel.recv, min(count - len(data), 1 << 18), waiting)
        if got == b"":
            raise Broken("closed")
        data += got or b""
    return bytes(data)


def _patient(channel: socket.socket, step: Callable, argument, waiting: Callable | None):
    """What `step(argument)` gives; None where it has waited for a `TICK`."""
    try:
        channel.settimeout(TICK if waiting else None)
        done = step(argument)
    except TimeoutError:
        done = None
    except OSError as error:
        raise Broken(str(error)) from None
    if waiting:
        waiting()
    return done


# ------------------------------------------------------------------------------------------------------------ values


def pack(value):
    """A plain value as JSON."""
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, Foreign):
        return {"foreign": [value.kind, value.text, value.length, [list(hint) for hint in value.hints]]}
    return value


def unpack(message):
    """The plain value that `pack` made `message` from, and nothing but plain values whatever `message` is. Raises
    `ValueError` for what `pack` does not make, or is too deep, too large, or holds text that is no Unicode.
    """
    return _unpack(message, [LEAVES], 0)


def _unpack(message, left: list[int], depth: int):
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise ValueError("the answer is too large")
    if message is None or isinstance(message, (bool, int, float)):
        return message
    if isinstance(message, str):
        message.encode("utf-8")  # UnicodeEncodeError is a ValueError
        return message
    if isinstance(message, list):
        return [_unpack(item, left, depth + 1) for item in message]
    match message:
        case {"dict": list(pairs)} if len(message) == 1:
            return dict(_pair(pair, left, depth + 1) for pair in pairs)
        case {"foreign": [str(kind), str(text), int() | None as length, list(hints)]} if len(message) == 1:
            return Foreign(clean(kind), clean(text), length, tuple(map(_hint, hints)))
    raise ValueError("the answer has a form that no answer has")


def _pair(pair, left: list[int], depth: int) -> tuple:
    match pair:
        case [key, item] if not isinstance(key, list) and not (isinstance(key, dict) and "dict" in key):
            return _unpack(key, left, depth), _unpack(item, left, depth)
    raise ValueError("the answer holds a dictionary of a form that none has")


def _hint(hint) -> tuple:
    match hint:
        case [str() | None as asked, str(key)] if key.startswith("kind_") and key in say.table():
            return asked, key
    raise ValueError("the answer holds a form that none has")


def clean(text, limit: int = 500) -> str:
    """Text from a student's process, fit for a line of a report: no control characters, no half characters."""
    shown = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * limit])
    shown = " ".join(shown.encode("utf-8", "replace").decode("utf-8").split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
