"""One job: what is asked of a student's process, what comes back, and how each of its ends is read.

A conversation with one child at a time: run this cell, call this function with that input. Each request carries a
number that the child cannot know beforehand, so nothing that it sends early counts as an answer. A child that is late,
dies or talks out of turn is killed; what remains to be called goes on in a fresh one, without the cell that ended it.
"""

import secrets
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace

from course_lib.grading.sandbox import wire
from course_lib.grading.sandbox.sandbox import COURSE, Limits, Sandbox
from course_lib.grading.sentences import say

NAMES = {each.value: each.name for each in signal.Signals}
"""Of the signals that have one; those for real time have numbers only."""


PLACES = sorted({sys.prefix, sys.base_prefix, str(COURSE.parent)}, key=len, reverse=True)
"""Folders of this machine that an error may name."""


@dataclass(frozen=True)
class Call:
    """One call of a student's function with an encoded input (`check_form`): `{"args": […]}` or `{"kwargs": {…}}`.

    `group`, `public` and `drawn` (a public input that `check()` leaves out where the others took long) are for the
    scoring and for how much time there is; the sandbox does not get them.
    """

    function: str
    arguments: dict
    group: str = ""
    public: bool = False
    drawn: bool = False


@dataclass(frozen=True)
class Job:
    """The answer cells of one notebook, in order, and the calls to be made (all public ones before the hidden ones).

    others  the notebook's other code cells, of which only what the answers need is run.
    allow   modules of the course that may be imported (`Check.allow`).
    silent  nothing that the children say is passed on but values: an earlier job of this student's has seen hidden
            inputs, and code finds ways to leave word for a later process.
    """

    key: str
    cells: tuple[str, ...]
    calls: tuple[Call, ...]
    allow: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    silent: bool = False


@dataclass(frozen=True)
class Reply:
    """What one call gave. `value` is plain (`check_values.plain`); `error` is clean text of at most 500 characters.

    outcome: "value"; "raised"; "missing" (no such name); "late", "memory" (more than the limits leave; "late" is also a
    call that was not made, because another of its group was late); "died" (the process ended); "refused" (the answer is
    no JSON, too large, or came unasked); "not-run" (no time was left for it).
    """

    outcome: str
    value: object = None
    error: str = ""


@dataclass(frozen=True)
class Answered:
    """The replies to all calls of a job, in their order; `note` says in words which cells failed, and how."""

    key: str
    replies: tuple[Reply, ...]
    seconds: float
    note: str = ""


class _Stop(Exception):  # noqa: N818 (how a child's life ended)
    """The child cannot go on: `outcome` as in `Reply`."""

    def __init__(self, outcome: str, error: str = ""):
        super().__init__(outcome)
        self.outcome, self.error = outcome, error


class Conversation:
    """One job on one sandbox. `answered()` holds it. Times are what the job has used (`Limits`)."""

    def __init__(self, job: Job, sandbox: Sandbox, limits: Limits):
        self._job, self._sandbox, self._limits = job, sandbox, limits
        self._left = limits.job
        self._spent: Counter[str] = Counter()  # function -> seconds of its calls, and of the restarts that they made
        self._late: set[tuple[str, str]] = set()  # function and group of calls that were late
        self._ended: set[int] = set()  # cells that ended a child: no child runs them again
        self._errors: dict[int, str] = {}  # cell -> what went wrong
        self._silent = job.silent  # also from the first hidden call on
        # All public inputs before the first hidden one, whatever exercise they are of: students are told what came of a
        # public input, and a function could give back there the hidden ones that it has seen.
        self._order = sorted(range(len(job.calls)), key=lambda at: not job.calls[at].public)
        self._calls = [job.calls[at] for at in self._order]
        self._replies: list[Reply] = []  # in the order of _calls
        calls = Counter(call.function for call in job.calls)
        timed = Counter(call.function for call in job.calls if call.public and not call.drawn)
        self._allowed = {name: limits.function * calls[name] / (timed[name] or calls[name]) for name in calls}

    def answered(self) -> Answered:
        began = time.monotonic()
        while len(self._replies) < len(self._calls):
            self._with_a_child()
        by_place = dict(zip(self._order, self._replies, strict=True))
        replies = tuple(by_place[at] for at in range(len(by_place)))
        note = " ".join(
            say("cells", "others" if at < 0 else "answer", number=at + 1, what=what.rstrip("."))
            for at, what in sorted(self._errors.items())
        )
        return Answered(self._job.key, replies, time.monotonic() - began, note)

    def _with_a_child(self) -> None:
        """Go on with a fresh child for as long as it lives. Each child settles a call, or a cell, or is the last."""
        before, cell, stop = self._left, None, None
        self._channel = self._sandbox.job(library=bool(self._job.allow))
        try:
            with self._channel:
                self._ask({"allow": list(self._job.allow)}, self._limits.cells)
                for cell in range(-1 if self._job.others else 0, len(self._job.cells)):
                    if cell not in self._ended:
                        self._run_cell(cell, self._limits.cells - (before - self._left))
                cell = None
                self._charge(before)
                while len(self._replies) < len(self._calls):
                    self._replies.append(self._call(self._calls[len(self._replies)]))
        except _Stop as problem:
            stop = problem
        finally:
            end = self._sandbox.end()
        if stop is None:
            return
        reply = _reply_of(stop, end)
        if cell is not None:
            self._ended.add(cell)
            self._errors |= {} if self._silent else {cell: say("ends", reply.outcome)}
            self._charge(before)
        else:
            call = self._calls[len(self._replies)]
            self._late |= {(call.function, call.group)} if reply.outcome == "late" else set()
            self._replies.append(self._heard(reply))

    def _charge(self, before: float) -> None:
        """A function whose call ended the last child pays for the cells of the next one."""
        if self._replies:
            self._spent[self._calls[len(self._replies) - 1].function] += before - self._left

    def _run_cell(self, cell: int, allowed: float) -> None:
        """Run an answer cell; −1 stands for what the answers need of the other cells."""
        if cell >= 0:
            request = {"cell": self._job.cells[cell], "name": f"<cell {cell + 1}>"}
        else:
            request = {"cells": list(self._job.cells), "others": list(self._job.others)}
        if (error := self._ask(request, allowed).get("error")) and not self._silent:
            self._errors[cell] = _told(error)

    def _call(self, call: Call) -> Reply:
        left = self._allowed[call.function] - self._spent[call.function]
        if left <= 0 or (call.function, call.group) in self._late:
            return Reply("late")
        if self._left <= 0:
            return Reply("not-run")
        self._silent |= not call.public
        before = self._left
        try:
            reply = self._ask({"call": call.function, "arguments": call.arguments}, min(self._limits.call, left))
        finally:
            self._spent[call.function] += before - self._left
        return self._heard(_reply(reply))

    def _heard(self, reply: Reply) -> Reply:
        return replace(reply, error="") if self._silent else reply

    def _ask(self, request: dict, allowed: float) -> dict:
        """One request and its reply, within `allowed` seconds of those that are left. Raises `_Stop`."""
        token, clock = secrets.token_hex(8), _Clock(self._sandbox, min(allowed, self._left), self._limits.wall)
        try:
            if wire.pending(self._channel):
                raise _Stop("refused", say("refused", "unasked"))
            wire.send(self._channel, {**request, "token": token}, clock.look)
            reply = wire.receive(self._channel, clock.look)
        except wire.Broken:
            raise _Stop("died") from None
        finally:
            self._left -= clock.taken()
        if not isinstance(reply, dict) or reply.get("token") != token:
            raise _Stop("refused", say("refused", "unasked"))
        return reply


class _Clock:
    """What a job uses from now on. The sandbox is asked from the first `wire.TICK` on: most calls end before that."""

    def __init__(self, sandbox: Sandbox, allowed: float, wall: float):
        self._sandbox, self._allowed, self._wall = sandbox, allowed, wall
        self._began = self._looked = time.monotonic()
        self._base: float | None = None
        self._used = 0.0

    def look(self) -> None:
        """Raises `_Stop` where the job has used more than it may."""
        now = time.monotonic()
        if now - self._looked < wire.TICK:
            return
        self._looked = now
        try:
            used = self._sandbox.used()
        except OSError:
            raise _Stop("late") from None
        if self._base is None:
            self._base = used - (now - self._began)
        # A job can hide what it uses, by children that nobody waits for and that take the processor from it: so the
        # time never runs back, nor slower than the clock by more than `Limits.wall`.
        self._used = max(self._used, used - self._base, (now - self._began) / self._wall)
        if self._used > self._allowed:
            raise _Stop("late")

    def taken(self) -> float:
        return self._used if self._base is not None else time.monotonic() - self._began


def _reply(reply: dict) -> Reply:
    """What a child says of a call; it may say anything."""
    match reply:
        case {"outcome": "value", "value": value}:
            try:
                return Reply("value", wire.unpack(value))
            except ValueError as error:
                return Reply("refused", error=wire.clean(error))
        case {"outcome": "raised" | "refused" as outcome, "error": str(error)}:
            return Reply(outcome, error=_told(error))
        case {"outcome": "missing" | "memory" as outcome}:
            return Reply(outcome)
    return Reply("refused", error=say("refused", "form"))


def _told(error: str) -> str:
    """What a child says of an error, without the folders of this machine, which students' pages need not show."""
    for place in PLACES:
        error = error.replace(place, "…")
    return wire.clean(error)


def _reply_of(stop: _Stop, end: str) -> Reply:
    """`stop` in the light of what the zygote saw: a killed child may have been killed for its memory."""
    if end == "memory":
        return Reply("memory")
    if stop.outcome == "died" and end.startswith("signal "):
        number = int(end.removeprefix("signal "))
        return Reply("died", error=NAMES.get(number, f"signal {number}"))
    return Reply(stop.outcome, error=stop.error)
