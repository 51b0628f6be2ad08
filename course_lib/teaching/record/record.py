"""The learner's own record: one small JSON file of events. `progress` says what is in it, `exchange` hands it over.

The file is `record.json` in the nearest folder upwards that holds `.course/` (there: `.course/record.json`), else in
`$COURSE_HOME`; without either, events stay in this process. It never leaves the machine. It is replaced atomically
under a lock, so that two notebooks may write at once. What cannot be written is kept in memory and written with the
next event that can, at the latest when the process ends. A damaged file is set aside; a file of a newer course is left
alone.

Document: `{"schema": 1, "events": [{"kind", "id", "at", "payload"}, …]}`; `at` is the time in UTC (ISO 8601).
"""

import atexit
import contextlib
import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib import atomic
from course_lib.teaching.static import is_static
from course_lib.words import words

try:
    import fcntl
except ImportError:  # a browser kernel or Windows: one process writes, no lock is needed or to be had
    fcntl = None

say = words(__file__)

SCHEMA = 1
PATIENCE = 10  # seconds to wait for another process that holds the lock; a write takes some milliseconds

SURE = ("guess", "fairly", "very")  # how sure, in the order shown; `cards/card_words.toml` has the words

_pending: dict[str, list[dict]] = {}  # events of this process that are on no disk yet, by path of their record
_said: set[str] = set()
_threads = threading.RLock()


class NewerSchemaError(Exception):
    """The record was written by a newer version of the course."""


class Record:
    """The record at `path`, or in memory for `path=None`. Open it with `Record.open()`; only `merge` raises for a bad
    file or disk.

    `where` says in words where events go. `notice` is the one line that a learner should see, or "".
    """

    def __init__(self, path: Path | None, notice: str = ""):
        self.path = path
        self.notice = notice
        self._stuck = path is None

    @classmethod
    def open(cls, start: Path | str | None = None) -> "Record":
        """The record of the folder `start` (default: the current one). Says it once where nothing can be kept."""
        if is_static():
            return cls(None)
        path = find(start)
        record = cls(path, "" if path else say("no-folder"))
        record.document()
        _say(record.notice)
        return record

    @property
    def where(self) -> str:
        return "memory" if self._stuck else str(self.path)

    def add(self, kind: str, id: str, payload: Mapping[str, Any]) -> None:
        """Append an event; kinds are "guess", "hint", "reveal", "round", "review", "inventory" and "check". What is not
        JSON in the payload is kept as its text.
        """
        event = {"kind": kind, "id": id, "at": datetime.now(UTC).isoformat(), "payload": dict(payload)}
        event = json.loads(json.dumps(event, default=str), parse_constant=str)
        with _threads:
            _pending.setdefault(str(self.path), []).append(event)
            if self.path is not None:
                self._try(self._change)
        _say(self.notice)

    def events(self, id: str | None = None) -> list[dict]:
        """All events in the order they were written, or those of one card or check."""
        return [event for event in self.document()["events"] if is_event(event) and id in (None, event["id"])]

    def document(self) -> dict:
        """All that the file holds, what this version does not understand too, and what waits to be written."""
        with _threads:
            document = None if self.path is None else self._try(self._load)
            document = document or {"schema": SCHEMA, "events": []}
            return {**document, "events": [*document["events"], *_pending.get(str(self.path), [])]}

    def merge(self, events: list[dict]) -> int:
        """Add those events that the record does not hold yet, in the order of their times; how many they were.

        OSError where the file cannot be written, NewerSchemaError where it belongs to a newer course; the record is
        then as before.
        """
        known = {_identity(event) for event in self.document()["events"]}
        new = [event for name, event in {_identity(event): event for event in events}.items() if name not in known]
        with _threads:
            self._change(lambda mine: sorted([*mine, *new], key=_time))
        return len(new)

    def _change(self, change: Callable[[list], list] = list) -> None:
        """Replace the file's events and those that wait by what `change` makes of them; by default they stay."""
        pending = _pending.get(str(self.path), [])
        with _lock(self.path):
            document = self._load()
            events = change([*document["events"], *pending])
            atomic.replace(self.path, to_text({**document, "events": events}), mode=0o600)  # nobody else's business
        pending.clear()

    def _try(self, action):
        """Run an action on the file; where that fails, note the line to show and go on in memory."""
        try:
            result = action()
        except NewerSchemaError:
            self.notice = say("newer", file=self.path.name)
        except OSError as error:
            self.notice = say("not-written", file=self.path.name, reason=error.strerror or type(error).__name__)
        else:
            if self._stuck and not _pending.get(str(self.path)):  # that it can be read does not mean all is written
                self._stuck, self.notice = False, ""
            return result
        self._stuck = True
        return None

    def _load(self) -> dict:
        """The document on disk; a new one where there is none or where it was damaged and could be set aside."""
        document = parse(self.path)
        if document is None:
            with _lock(self.path):
                document = parse(self.path)  # another process may have set it aside meanwhile
                if document is None:
                    self.notice = say("set-aside", file=_set_aside(self.path).name)
                    document = {"schema": SCHEMA, "events": []}
        if document["schema"] > SCHEMA:
            raise NewerSchemaError
        return document


@atexit.register
def _write_what_waits() -> None:
    """A last try for what could not be written; a disk may have room again."""
    for path, pending in _pending.items():
        if pending and path != str(None):
            record = Record(Path(path))
            record._try(record._change)


def find(start: Path | str | None = None) -> Path | None:
    """Where the record of the folder `start` (default: the current one) is or will be; None: nowhere."""
    try:
        folder = Path(start or Path.cwd()).resolve()
    except OSError:  # the current folder was deleted
        folder = None
    for parent in [folder, *folder.parents] if folder else []:
        with contextlib.suppress(OSError):  # a folder that may not be looked into
            if (parent / ".course").is_dir():
                return parent / ".course" / "record.json"
    home = os.environ.get("COURSE_HOME")
    if not home:
        return None
    with contextlib.suppress(OSError):  # writing will say why
        Path(home).mkdir(parents=True, exist_ok=True)
    return Path(home) / "record.json"


def parse(path: Path) -> dict | None:
    """The document in a file; an empty one where there is no file; None where it is damaged."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"schema": SCHEMA, "events": []}
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("schema"), int) or document["schema"] < 1:
        return None
    if document["schema"] <= SCHEMA and not isinstance(document.get("events"), list):
        return None
    return document


def is_event(event: Any) -> bool:
    """Whether this version understands an event; others stay in the file and are passed over."""
    return (
        isinstance(event, dict)
        and isinstance(event.get("kind"), str)
        and isinstance(event.get("id"), str)
        and isinstance(event.get("payload"), dict)
    )


def _identity(event: Any) -> str:
    return json.dumps(event, sort_keys=True)


def _time(event: Any) -> str:
    at = event.get("at") if isinstance(event, dict) else None
    return at if isinstance(at, str) else ""


_held = threading.local()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """An exclusive lock beside the record (which itself is replaced); re-entrant within a thread. OSError where
    another process keeps it for longer than `PATIENCE`.
    """
    if fcntl is None or getattr(_held, "path", None) == path:
        yield
        return
    with open(path.with_name(".record.lock"), "a") as handle:
        _wait_for(handle)
        _held.path = path
        try:
            yield
        finally:
            _held.path = None


def _wait_for(handle) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.ENOTSUP):  # a network disk without locks
                return None
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, say("locked")) from None
        time.sleep(0.002)


def to_text(document: Mapping[str, Any]) -> str:
    """A document as JSON, one event a line."""
    rest = json.dumps({key: value for key, value in document.items() if key != "events"}, ensure_ascii=False)
    events = ",\n".join(json.dumps(event, ensure_ascii=False) for event in document["events"])
    return f'{rest[:-1]}, "events": [\n{events}\n]}}'


def _set_aside(path: Path) -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    names = (f"record.damaged-{stamp}{suffix}.json" for suffix in ["", *(f"-{n}" for n in range(2, 1000))])
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    os.rename(path, aside)
    return aside


def _say(line: str) -> None:
    if line and line not in _said:
        _said.add(line)
        print(line)
