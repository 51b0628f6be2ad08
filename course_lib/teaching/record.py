"""The learner's own record: one small JSON file of events, and what it says about progress.

The file is `record.json` in the nearest folder upwards that holds `.course/` (there: `.course/record.json`), else in
`$COURSE_HOME`; without either, events stay in this process. It never leaves the machine. It is replaced atomically
under a lock, so that two notebooks may write at once. What cannot be written is kept in memory and written with the
next event that can. A damaged file is set aside; a file of a newer course is left alone.

Document: `{"schema": 1, "events": [{"kind", "id", "at", "payload"}, …]}`; `at` is the time in UTC (ISO 8601).
"""

import contextlib
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from course_lib.teaching import markup, units
from course_lib.teaching.static import is_static

try:
    import fcntl
except ImportError:  # a browser kernel or Windows: one process writes, no lock is needed or to be had
    fcntl = None

SCHEMA = 1

NO_FOLDER = (
    "Your guesses are kept only until this kernel stops: no course folder was found here. "
    "Open the course with `make lab` or `course lab` to keep them."
)
NOT_WRITTEN = "Your guesses are kept only until this kernel stops: {file} could not be written ({reason})."
NEWER = (
    "Your guesses are kept only until this kernel stops: {file} was written by a newer version of this course "
    "and is left as it is. Update the course to use it."
)
SET_ASIDE = "The record could not be read. It is kept as {file}, and a new one was started."

_pending: dict[str, list[dict]] = {}  # events of this process that are on no disk yet, by path of their record
_said: set[str] = set()
_threads = threading.RLock()


class _NewerSchemaError(Exception):
    pass


class Record:
    """The record at `path`, or in memory for `path=None`. Open it with `Record.open()`; no method raises for a bad
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
        path = _find(start)
        record = cls(path, "" if path else NO_FOLDER)
        if path is not None:
            record._read()
        _say(record.notice)
        return record

    @property
    def where(self) -> str:
        return "memory" if self._stuck else str(self.path)

    def add(self, kind: str, id: str, payload: Mapping[str, Any]) -> None:
        """Append an event; kinds are "guess", "hint", "reveal" and "check". What is not JSON in the payload is kept as
        its text.
        """
        event = {"kind": kind, "id": id, "at": datetime.now(UTC).isoformat(), "payload": dict(payload)}
        event = json.loads(json.dumps(event, default=str))
        with _threads:
            pending = _pending.setdefault(str(self.path), [])
            pending.append(event)
            if self.path is not None:
                self._try(lambda: self._write(pending))
        _say(self.notice)

    def events(self, id: str | None = None) -> list[dict]:
        """All events in the order they were written, or those of one card or check."""
        with _threads:
            events = [*self._read(), *_pending.get(str(self.path), [])]
        return [event for event in events if _is_event(event) and id in (None, event["id"])]

    def _write(self, pending: list[dict]) -> None:
        with _lock(self.path):
            document = self._load()
            document["events"].extend(pending)
            _replace(self.path, json.dumps(document, indent=1, ensure_ascii=False))
        pending.clear()

    def _read(self) -> list:
        return [] if self.path is None else self._try(lambda: self._load()["events"]) or []

    def _try(self, action):
        """Run an action on the file; where that fails, note the line to show and go on in memory."""
        try:
            result = action()
        except _NewerSchemaError:
            self.notice = NEWER.format(file=self.path.name)
        except OSError as error:
            self.notice = NOT_WRITTEN.format(file=self.path.name, reason=error.strerror or type(error).__name__)
        else:
            self._stuck = False
            return result
        self._stuck = True
        return None

    def _load(self) -> dict:
        """The document on disk; a new one where there is none or where it was damaged and could be set aside."""
        document = _parse(self.path)
        if document is None:
            with _lock(self.path):
                document = _parse(self.path)  # another process may have set it aside meanwhile
                if document is None:
                    self.notice = SET_ASIDE.format(file=_set_aside(self.path).name)
                    document = {"schema": SCHEMA, "events": []}
        if document["schema"] > SCHEMA:
            raise _NewerSchemaError
        return document


def _find(start: Path | str | None) -> Path | None:
    try:
        folder = Path(start or Path.cwd()).resolve()
    except OSError:  # the current folder was deleted
        folder = None
    for parent in [folder, *folder.parents] if folder else []:
        if (parent / ".course").is_dir():
            return parent / ".course" / "record.json"
    home = os.environ.get("COURSE_HOME")
    if not home:
        return None
    with contextlib.suppress(OSError):  # writing will say why
        Path(home).mkdir(parents=True, exist_ok=True)
    return Path(home) / "record.json"


def _parse(path: Path) -> dict | None:
    """The document; an empty one where there is no file; None where it is damaged."""
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


def _is_event(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and isinstance(event.get("kind"), str)
        and isinstance(event.get("id"), str)
        and isinstance(event.get("payload"), dict)
    )


_held = threading.local()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """An exclusive lock beside the record (which itself is replaced); re-entrant within a thread."""
    if fcntl is None or getattr(_held, "path", None) == path:
        yield
        return
    with open(path.with_name(".record.lock"), "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        _held.path = path
        try:
            yield
        finally:
            _held.path = None


def _replace(path: Path, text: str) -> None:
    """Write beside, flush to the disk, then rename: a reader sees the old text or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".record-", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


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


# ---- Progress ----------------------------------------------------------------------------------------------------

SURE = {"guess": "a guess", "fairly": "fairly sure", "very": "very sure"}  # how sure, in the order shown


@dataclass(frozen=True)
class UnitProgress:
    """One unit: its cards, how many were committed and revealed, how far off the revealed numbers were, and its
    checks. Claims that stand only on the docket are no cards here; a check still at its stub is not tried.
    """

    unit: str
    cards: int
    committed: int
    revealed: int
    decades: float | None  # median |log10(first guess / truth)| over revealed number cards; None: no such card yet
    checks_tried: int
    checks_passed: int


@dataclass(frozen=True)
class Progress:
    """What the record says. `calibration` maps how sure → (right, revealed) over first guesses."""

    units: tuple[UnitProgress, ...]
    calibration: Mapping[str, tuple[int, int]]
    where: str

    _HEADERS = ("unit", "cards", "committed", "revealed", "guess off by, decades", "checks passed")
    _SURE_HEADERS = ("how sure", "revealed", "right", "share right")

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                u.unit.replace("_", " "),
                str(u.cards),
                str(u.committed),
                str(u.revealed),
                "–" if u.decades is None else f"{u.decades:.2f}",
                f"{u.checks_passed} of {u.checks_tried} tried" if u.checks_tried else "–",
            )
            for u in self.units
        ]

    def _sure_rows(self) -> list[tuple[str, ...]]:
        return [
            (SURE[sure], str(total), str(right), f"{100 * right / total:.0f} %" if total else "–")
            for sure, (right, total) in self.calibration.items()
        ]

    def __str__(self) -> str:
        tables = (
            markup.text_table(self._HEADERS, self._rows()),
            markup.text_table(self._SURE_HEADERS, self._sure_rows()),
        )
        return "\n\n".join(tables)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first = markup.table(
            self._HEADERS, self._rows(), "What you have done. One decade off is a factor of ten; the median counts."
        )
        second = markup.table(self._SURE_HEADERS, self._sure_rows(), "How sure you were, and how often you were right.")
        return first + second


def progress() -> Progress:
    """What is done, how good the first guesses were, and how well "sure" went with "right"."""
    record = Record.open()
    events = record.events()
    names = {units.prefix(unit): unit for unit in units.names()}
    prefixes = [*names, *sorted({_prefix(event["id"]) for event in events} - set(names))]
    calibration = {sure: _calibration(events, sure) for sure in SURE}
    return Progress(tuple(_unit_progress(p, names.get(p, p), events) for p in prefixes), calibration, record.where)


def _prefix(id: str) -> str:
    return id.partition(".")[0]


def _unit_progress(prefix: str, unit: str, events: list[dict]) -> UnitProgress:
    tables = _card_tables(unit)
    docket = {id for id, table in tables.items() if table.get("docket") is True}
    mine = [event for event in events if _prefix(event["id"]) == prefix and event["id"] not in docket]
    ids = {kind: {event["id"] for event in mine if event["kind"] == kind} for kind in ("guess", "reveal")}
    outcomes = [(event["id"], event["payload"].get("outcome")) for event in mine if event["kind"] == "check"]
    off = [
        abs(decades)
        for event in _first(mine, "reveal").values()
        if (decades := _float(event["payload"].get("decades"))) is not None
    ]
    return UnitProgress(
        unit,
        len(tables) - len(docket),
        len(ids["guess"]),
        len(ids["reveal"]),
        median(off) if off else None,
        len({id for id, outcome in outcomes if outcome != "stub"}),
        len({id for id, outcome in outcomes if outcome == "right"}),
    )


def _card_tables(unit: str) -> Mapping[str, Mapping[str, Any]]:
    try:
        return units.cards(unit) if unit in units.names() else {}
    except ValueError:  # a cards file that cannot be read has its own line where a card is shown
        return {}


def _calibration(events: list[dict], sure: str) -> tuple[int, int]:
    guesses, reveals = _first(events, "guess"), _first(events, "reveal")
    verdicts = [
        reveals[id]["payload"].get("right") is True
        for id, guess in guesses.items()
        if id in reveals and guess["payload"].get("sure") == sure
    ]
    return sum(verdicts), len(verdicts)


def _first(events: list[dict], kind: str) -> dict[str, dict]:
    first: dict[str, dict] = {}
    for event in events:
        if event["kind"] == kind:
            first.setdefault(event["id"], event)
    return first


def _float(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
