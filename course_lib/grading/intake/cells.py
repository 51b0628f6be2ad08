"""The cells of a notebook file that nobody vouches for, and which of them are the answers to a task."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from course_lib.grading.intake.task import Answer, Task, checked, mapping, nbgrader_of, source_of
from course_lib.grading.sentences import say
from course_lib.teaching.checks.check_texts import said_right

LARGEST = 64_000_000
"""Bytes of a notebook file."""

LONGEST = 200_000
"""Characters of an answer, and of all other code cells together."""

MOST_CELLS = 5_000

MOST_TEXT = 8_000_000
"""Characters of all cells together: outputs make a notebook large, what somebody wrote does not."""

MOST_CONTAINERS = 1_000_000
"""Lists and dictionaries in a file: each costs twenty times its two characters in memory."""

NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Unreadable(Exception):  # noqa: N818 (nothing is wrong with the grader)
    """A file that is no notebook; its text says why."""


def clean(text: str) -> str:
    """`text` as it can be written to any file: no lone surrogates, no control characters, one kind of line end."""
    return NO_TEXT.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


# ---------------------------------------------------------------------------------------------------- reading a file


def read_cells(path: Path) -> tuple[list[dict], list[str]]:
    """The cells of a notebook file, each with text for its source and nothing else changed, and notes on the file.

    Raises `Unreadable` with the reason. The format number is not believed: a list of cells is one.
    """
    content, linked = _content(path)
    text, notes = _text(content)
    if linked:
        notes.append(say("notes", "linked"))
    if text.count("{") + text.count("[") > MOST_CONTAINERS:
        raise Unreadable(say("unreadable", "nested"))
    try:
        notebook = mapping(json.loads(text, parse_int=_whole, parse_constant=lambda _: None))
    except RecursionError:
        raise Unreadable(say("unreadable", "nested")) from None
    except ValueError as error:
        raise Unreadable(say("unreadable", "json", error=clean(str(error)))) from None
    sheets = notebook.get("worksheets")
    sheets = map(mapping, sheets if isinstance(sheets, list) else [])
    lists = [cells for part in (notebook, *sheets) if isinstance(cells := part.get("cells"), list)]
    if not lists:
        raise Unreadable(say("unreadable", "cells"))
    if notebook.get("nbformat") != 4:
        notes.append(say("notes", "format", format=clean(str(notebook.get("nbformat"))[:20])))
    cells = [cell for cells in lists for cell in cells if isinstance(cell, dict)]
    if len(cells) > MOST_CELLS:
        raise Unreadable(say("unreadable", "many", limit=MOST_CELLS))
    if sum(len(source_of(cell)) for cell in cells) > MOST_TEXT:
        raise Unreadable(say("unreadable", "long", limit=MOST_TEXT))
    return cells, notes


def _whole(digits: str) -> int:
    """An integer of JSON; one of absurd length, which Python refuses to read, is none of ours."""
    return int(digits) if len(digits) < 20 else 0


def _content(path: Path) -> tuple[bytes, bool]:
    """What a file holds, and whether it has another name elsewhere."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable(say("unreadable", "open", error=error.strerror)) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(say("unreadable", "special"))
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Unreadable(say("unreadable", "large", limit=LARGEST // 1_000_000))
    if not content.strip(b"\0 \r\n\t"):
        raise Unreadable(say("unreadable", "empty"))
    return content, status.st_nlink > 1


def _text(content: bytes) -> tuple[str, list[str]]:
    encoding = json.detect_encoding(content)
    notes = [] if encoding == "utf-8" else [say("notes", "encoding", encoding=encoding)]
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode(encoding, "replace")
        notes.append(say("notes", "damaged", encoding=encoding))
    return text.removeprefix("\ufeff"), notes


# --------------------------------------------------------------------------------------------------- finding answers


@dataclass(frozen=True)
class Found:
    """Source by grade_id of every answer cell (the stub where there is none), the other code cells, notes.

    any    whether at least one answer cell was found.
    done   how many answers differ from the stub.
    code   all code cells as they stand; none where they are the released ones with these answers.
    until  name that is checked -> how many of `code` stand above its first check.
    right  ids of the checks whose stored output says that all was right.
    """

    answers: Mapping[str, str]
    others: Sequence[str]
    notes: Sequence[str]
    any: bool
    done: int
    code: Sequence[str] = ()
    until: Mapping[str, int] = field(default_factory=dict)
    right: frozenset[str] = frozenset()


def match(task: Task, cells: Sequence[Mapping]) -> Found:
    """Which cells answer `task`. Their id decides; where it was lost, the name that is defined, or the text before.

    Of several copies the last one above the check counts that is not the stub (as when the notebook runs from top to
    bottom), else the first such below. Where the cell was left as it was, an answer in another cell counts.
    """
    return _Match(task, cells).run()


class _Match:
    def __init__(self, task: Task, cells: Sequence[Mapping]):
        self.task, self.cells = task, cells
        self.sources = [clean(source_of(cell)) for cell in cells]
        self.code = [cell.get("cell_type") == "code" for cell in cells]
        known = [nbgrader_of(cell).get("grade_id") for cell in task.notebook["cells"]]
        self.ids = [id if (id := nbgrader_of(cell).get("grade_id")) in known else None for cell in cells]
        self.cell_ids = [_cell_ids(cell) for cell in cells]
        self.checks = [checked(source) for source in self.sources]
        self.taken: set[int] = set()
        self.own: set[int] = set()  # cells with the id of an answer; one cell without may answer several exercises
        self.notes: list[str] = []
        self.released = {_bare(source_of(cell)) for cell in task.notebook["cells"] if not nbgrader_of(cell)}

    def run(self) -> Found:
        chosen = {answer.grade_id: self._choose(answer) for answer in self.task.answers}
        answers = {answer.grade_id: self._answer(answer, chosen[answer.grade_id]) for answer in self.task.answers}
        released = [cell for cell in self.task.notebook["cells"] if cell["cell_type"] == "code"]
        given = [source_of(cell) for cell in released if not nbgrader_of(cell)]
        known = set(map(_bare, given))
        mine = [
            source
            for i, source in enumerate(self.sources)
            if self.code[i] and i not in self.taken and not self.checks[i] and _bare(source) not in known
        ]
        return Found(
            answers=answers,
            others=[*given, *_limited(mine)],
            notes=self.notes,
            any=any(index is not None for index in chosen.values()),
            done=sum(_bare(answers[answer.grade_id]) != _bare(answer.stub) for answer in self.task.answers),
            **self._as_they_stand(answers),
            right=frozenset(
                found[0]
                for cell, found in zip(self.cells, self.checks, strict=True)
                if found and any(said_right(text) for text in _shown(cell))
            ),
        )

    def _as_they_stand(self, answers: Mapping[str, str]) -> dict:
        """The fields `code` and `until` of `Found`."""
        code, until = [], {}
        for source, is_code, check in zip(self.sources, self.code, self.checks, strict=True):
            if check:
                until.setdefault(check[1], len(code))
            elif is_code and source.strip():
                code.append(source)
        released = [
            answers.get(nbgrader_of(cell).get("grade_id"), source_of(cell))
            for cell in self.task.notebook["cells"]
            if cell["cell_type"] == "code" and not checked(source_of(cell))
        ]
        same = list(map(_bare, code)) == [bare for source in released if (bare := _bare(source))]
        return {} if same or sum(map(len, code)) > 2 * LONGEST else {"code": code, "until": until}

    def _choose(self, answer: Answer) -> int | None:
        """The index of the cell that answers, or None."""
        own = self._with_id(answer)
        self.taken |= set(own)
        self.own |= set(own)
        done = [i for i in own if not self._is_stub(i, answer)]
        if len(done) > 1:
            self.notes.append(say("notes", "copies", grade_id=answer.grade_id, count=len(own)))
        if done:
            return self._in_force(done, answer)
        if (index := self._by_content(answer, own)) is not None:
            found = "elsewhere" if own else "by_place" if answer.text else "by_name"
            self.notes.append(say("notes", found, grade_id=answer.grade_id))
            self.taken.add(index)
            return index
        if not own:
            self.notes.append(say("notes", "deleted", grade_id=answer.grade_id))
        return own[0] if own else None

    def _with_id(self, answer: Answer) -> list[int]:
        """The cells that carry the answer's grade_id; if none does, those with its cell id."""
        own = [i for i, id in enumerate(self.ids) if id == answer.grade_id]
        released = _cell_ids(self.task.notebook["cells"][answer.index])
        return own or [i for i, ids in enumerate(self.cell_ids) if ids & released and self.ids[i] is None]

    def _by_content(self, answer: Answer, own: Sequence[int]) -> int | None:
        """A cell that defines what is asked for, one without id if there is one, else the cell of another answer; of a
        text, the one after the text that was before it.
        """
        if answer.text:
            return None if own else self._after(answer)
        defining = [
            i
            for i, source in enumerate(self.sources)
            if i not in own and any(_defines(source, name) for name in answer.names)
        ]
        done = [i for i in defining if i not in self.own and self.ids[i] is None] or defining
        return self._in_force([i for i in done if not self._is_stub(i, answer)] or done, answer) if done else None

    def _after(self, answer: Answer) -> int | None:
        before = _bare(source_of(self.task.notebook["cells"][answer.index - 1])) if answer.index else None
        places = (i + 1 for i, source in enumerate(self.sources[:-1]) if before and _bare(source) == before)
        return next(filter(self._is_free_text, places), None)

    def _in_force(self, indices: Sequence[int], answer: Answer) -> int:
        """The one of several copies that counts when the check is run from above."""
        names = set(answer.names)
        check = next((i for i, found in enumerate(self.checks) if found and found[1] in names), None)
        above = [i for i in indices if check is not None and i < check]
        return above[-1] if above else indices[0]

    def _answer(self, answer: Answer, index: int | None) -> str:
        """The text of an answer; a free text together with the text cells that the student added below it."""
        if index is None:
            return answer.stub
        parts = [self.sources[index]]
        if answer.text:
            below = takewhile(self._is_free_text, range(index + 1, len(self.sources)))
            parts += [self.sources[i] for i in below]
            if len(parts) > 1 and self._is_stub(index, answer):
                parts.pop(0)
        text = "\n\n".join(parts)
        if len(text) > LONGEST:
            self.notes.append(say("notes", "cell_limit", grade_id=answer.grade_id, limit=LONGEST))
        return answer.stub if _bare(text) == _bare(answer.stub) else text[:LONGEST]

    def _is_stub(self, index: int, answer: Answer) -> bool:
        return _bare(self.sources[index]) in ("", _bare(answer.stub))

    def _is_free_text(self, index: int) -> bool:
        """Whether a cell is a text of the student's own."""
        own = self.ids[index] is None and index not in self.taken and not self.code[index]
        return own and _bare(self.sources[index]) not in self.released | {""}


def _cell_ids(cell: Mapping) -> set[str]:
    """The names of a cell that survive where nbgrader's metadata was lost."""
    metadata = mapping(cell.get("metadata"))
    return {id for id in (cell.get("id"), metadata.get("cid"), metadata.get("id")) if isinstance(id, str) and id}


def _shown(cell: Mapping) -> Iterator[str]:
    """The texts of a cell's stored outputs; a text may be any that the student likes."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        yield source_of({"source": mapping(mapping(output).get("data")).get("text/plain")})


def _bare(source: str) -> str:
    """A source without what editors change: blanks at the ends of lines and of the text."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def _defines(source: str, name: str) -> bool:
    lines = source.splitlines()
    starts = f"def {name}(", f"def {name} (", f"{name} =", f"{name}=", f"{name}:"
    return any(line.startswith(starts) for line in lines)


def _limited(sources: Sequence[str]) -> list[str]:
    kept, left = [], LONGEST
    for source in sources:
        left -= len(source)
        if left < 0:
            break
        kept.append(source)
    return kept
