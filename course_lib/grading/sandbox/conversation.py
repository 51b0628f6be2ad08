"""One job: what is asked of a student's process, what comes back, and how each of its ends is read.

A conversation with one child at a time: run this cell, call this function with that input. Each request carries a
number that the child cannot know beforehand, so nothing that it sends early counts as an answer. A child that is late,
dies or talks out of turn is killed; what remains to be called goes on in a fresh one, without the cell that ended it.
"""

import secrets
import signal
import time
from dataclasses import dataclass

from course_lib.grading.sandbox import wire
from course_lib.grading.sandbox.sandbox import Limits, Sandbox
from course_lib.grading.sentences import say

NAMES = {each.value: each.name for each in signal.Signals}
"""Of the signals that have one; those for real time have numbers only."""


@dataclass(frozen=True)
class Call:
    """One call of a student's function with an encoded input (`check_form`): `{"args": […]}` or `{"kwargs": {…}}`.

    `group` and `public` are for `scoring`; the sandbox does not get them.
    """

    function: str
    arguments: dict
    group: str = ""
    public: bool = False


@dataclass(frozen=True)
class Job:
    """The answer cells of one notebook, in order, and the calls to be made (all public ones before the hidden ones).

    others  the notebook's other code cells, of which only what the answers need is run.
    allow   modules of the course that may be imported (`Check.allow`).
    """

    key: str
    cells: tuple[str, ...]
    calls: tuple[Call, ...]
    allow: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What one call gave. `value` is plain (`check_values.plain`); `error` is clean text of at most 500 characters.

    outcome: "value"; "raised"; "missing" (no such name); "late", "memory" (more than the limits leave); "died" (the
    process ended); "refused" (the answer is no JSON, too large, or came unasked); "not-run" (no time was left for it).
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
    """One job on one sandbox. `answered()` holds it."""

    def __init__(self, job: Job, sandbox: Sandbox, limits: Limits):
        self._job, self._sandbox, self._limits = job, sandbox, limits
        self._deadline = time.monotonic() + limits.job
        self._spent: dict[str, float] = {}  # function -> seconds of its calls, and of the restarts that they made
        self._ended: set[int] = set()  # cells that ended a child: no child runs them again
        self._errors: dict[int, str] = {}  # cell -> what went wrong
        # All public inputs before the first hidden one, whatever exercise they are of: students are told what came of a
        # public input, and a function could give back there the hidden ones that it has seen.
        self._order = sorted(range(len(job.calls)), key=lambda at: not job.calls[at].public)
        self._calls = [job.calls[at] for at in self._order]
        self._replies: list[Reply] = []  # in the order of _calls

    def answered(self) -> Answered:
        began = time.monotonic()
        while len(self._replies) < len(self._calls):
            self._with_a_child()
        replies = tuple(
            reply for _, reply in sorted(zip(self._order, self._replies, strict=True), key=lambda one: one[0])
        )
        note = " ".join(
            say("cells", "others" if at < 0 else "answer", number=at + 1, what=what.rstrip("."))
            for at, what in sorted(self._errors.items())
        )
        return Answered(self._job.key, replies, time.monotonic() - began, note)

    def _with_a_child(self) -> None:
        """Go on with a fresh child for as long as it lives. Each child settles a call, or a cell, or is the last."""
        began, cell, stop = time.monotonic(), None, None
        self._channel = self._sandbox.job(library=bool(self._job.allow))
        try:
            with self._channel:
                deadline = min(began + self._limits.cells, self._deadline)
                self._ask({"allow": list(self._job.allow)}, deadline)
                for cell in range(-1 if self._job.others else 0, len(self._job.cells)):
                    if cell not in self._ended:
                        self._run_cell(cell, deadline)
                cell = None
                self._charge(began)
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
            self._errors[cell] = say("ends", reply.outcome)
            self._charge(began)
        else:
            self._replies.append(reply)

    def _charge(self, began: float) -> None:
        """A function whose call ended the last child pays for the cells of the next one."""
        if self._replies:
            function = self._calls[len(self._replies) - 1].function
            self._spent[function] = self._spent.get(function, 0.0) + time.monotonic() - began

    def _run_cell(self, cell: int, deadline: float) -> None:
        """Run an answer cell; −1 stands for what the answers need of the other cells."""
        if cell >= 0:
            request = {"cell": self._job.cells[cell], "name": f"<cell {cell + 1}>"}
        else:
            request = {"cells": list(self._job.cells), "others": list(self._job.others)}
        if error := self._ask(request, deadline).get("error"):
            self._errors[cell] = wire.clean(error)

    def _call(self, call: Call) -> Reply:
        now = time.monotonic()
        if now >= self._deadline:
            return Reply("not-run")
        left = self._limits.function - self._spent.get(call.function, 0.0)
        if left <= 0:
            return Reply("late")
        try:
            reply = self._ask(
                {"call": call.function, "arguments": call.arguments},
                min(now + self._limits.call, now + left, self._deadline),
            )
        finally:
            self._spent[call.function] = self._spent.get(call.function, 0.0) + time.monotonic() - now
        return _reply(reply)

    def _ask(self, request: dict, deadline: float) -> dict:
        """One request and its reply. Raises `_Stop`."""
        token = secrets.token_hex(8)
        try:
            if wire.pending(self._channel):
                raise _Stop("refused", say("refused", "unasked"))
            wire.send(self._channel, {**request, "token": token}, deadline)
            reply = wire.receive(self._channel, deadline)
        except wire.Late:
            raise _Stop("late") from None
        except wire.Broken:
            raise _Stop("died") from None
        if not isinstance(reply, dict) or reply.get("token") != token:
            raise _Stop("refused", say("refused", "unasked"))
        return reply


def _reply(reply: dict) -> Reply:
    """What a child says of a call; it may say anything."""
    match reply:
        case {"outcome": "value", "value": value}:
            try:
                return Reply("value", wire.unpack(value))
            except ValueError as error:
                return Reply("refused", error=wire.clean(error))
        case {"outcome": "raised" | "refused" as outcome, "error": str(error)}:
            return Reply(outcome, error=wire.clean(error))
        case {"outcome": "missing" | "memory" as outcome}:
            return Reply(outcome)
    return Reply("refused", error=say("refused", "form"))


def _reply_of(stop: _Stop, end: str) -> Reply:
    """`stop` in the light of what the zygote saw: a killed child may have been killed for its memory."""
    if end == "memory":
        return Reply("memory")
    if stop.outcome == "died" and end.startswith("signal "):
        number = int(end.removeprefix("signal "))
        return Reply("died", error=NAMES.get(number, f"signal {number}"))
    return Reply(stop.outcome, error=stop.error)
