"""What was graded so far, kept so that no interruption loses it: one SQLite file beside the gradebook.

A result belongs to a digest of all that it depends on; a second run asks for the same digest and does not run again
what has it. The seed of every exercise of every student is logged here, so that a grade can be explained. The file is
for the teacher's eyes only.
"""

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 0.5
"""Seconds of results that a kill may lose: what is put is on the disk after at most this long."""

TABLES = """
create table if not exists result (unit text, student text, digest text, data text, primary key (unit, student));
create table if not exists handed_over (unit text, student text, items text, primary key (unit, student));
create table if not exists seed (unit text, student text, exercise text, seed text,
    primary key (unit, student, exercise));
"""


class Store:
    """The file at `folder`/results.db, for one process at a time. Use it as a context.

    Raises `RuntimeError` where another grader works in the same folder.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> "Store":
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = open(self.folder / "lock", "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise RuntimeError(
                f"another `course grade` is at work in {self.folder.parent}; wait for it to end"
            ) from None
        path = self.folder / "results.db"
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        self._db = sqlite3.connect(path)
        self._db.executescript(TABLES)
        self._kept = time.monotonic()
        return self

    def __exit__(self, *_) -> None:
        self._db.commit()
        self._db.close()
        self._lock.close()

    def results(self, unit: str) -> dict[str, tuple[str, dict]]:
        """Student -> (digest, result)."""
        rows = self._db.execute("select student, digest, data from result where unit = ?", (unit,))
        return {student: (digest, json.loads(data)) for student, digest, data in rows}

    def put(self, unit: str, student: str, digest: str, data: Mapping, seeds: Mapping[str, int]) -> None:
        """Keep a result, in place of an older one, and the seeds it was drawn with (exercise -> seed)."""
        text = json.dumps(data, ensure_ascii=False, sort_keys=True)
        self._db.execute("insert or replace into result values (?, ?, ?, ?)", (unit, student, digest, text))
        rows = [(unit, student, exercise, str(seed)) for exercise, seed in seeds.items()]
        self._db.executemany("insert or replace into seed values (?, ?, ?, ?)", rows)
        if time.monotonic() - self._kept > PATIENCE:
            self._db.commit()
            self._kept = time.monotonic()

    def handed_over(self, unit: str) -> dict[str, dict[str, str]]:
        """Student -> what nbgrader's gradebook has: a digest of each item by its grade_id, and of all under ""."""
        rows = self._db.execute("select student, items from handed_over where unit = ?", (unit,))
        return {student: json.loads(items) for student, items in rows}

    def mark_handed_over(self, unit: str, items: Mapping[str, Mapping[str, str]]) -> None:
        rows = [(unit, student, json.dumps(digests, sort_keys=True)) for student, digests in items.items()]
        self._db.executemany("insert or replace into handed_over values (?, ?, ?)", rows)
        self._db.commit()
