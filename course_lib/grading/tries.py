"""What is run of one submission, one job after the other, and the best that each exercise earns.

First the answers, with what they need of the other cells. What that leaves short of all points runs once more as the
notebook stands: whole cells from its top down to the exercise's check. What was late runs once more when nothing else
does. Whichever earns most counts: each is the student's own code.

What is said of an exercise comes from the first job alone. The later ones run after hidden inputs were seen, and code
finds ways to leave word for a later process.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, replace

from course_lib.grading.intake.intake import Submission
from course_lib.grading.intake.task import Task
from course_lib.grading.results.scoring import Scored, calls_for, score
from course_lib.grading.sandbox.conversation import Answered, Job, Reply
from course_lib.grading.sandbox.engine import Engine
from course_lib.grading.seeds import exercise_seed
from course_lib.teaching.checks.check_form import HIDDEN

LATE = {"late", "not-run"}
"""Outcomes of a call for which there was no time."""

Result = tuple[dict, dict[str, int]]
"""What is kept of a submission, and the seed of each exercise. Of the first:

scored  item's column -> the fields of `Scored`.   notes  what the run had to say.
alone   columns of what was late, and ran again when nothing else did.
"""


def results(
    engine: Engine, key: bytes, submissions: Mapping[str, tuple[Task, Submission]]
) -> Iterator[tuple[str, Result]]:
    """The name and the result of each submission, as it is ready."""
    tries = {name: _tries(name, key, *one) for name, one in submissions.items()}
    alone, ended = _Todo(iter(())), []

    def go_on(name: str, answered: Answered | None = None) -> Job | None:
        """The next job of a submission, if it may run beside others; what it has come to is put aside."""
        try:
            job, by_itself = tries[name].send(answered)
        except StopIteration as end:
            ended.append((name, end.value))
            return None
        if by_itself:
            alone.ready.append(job)
        return None if by_itself else job

    beside = _Todo(filter(None, map(go_on, tries)))
    for todo, side_by_side in ((beside, None), (alone, 1)):
        for answered in engine.run(todo, side_by_side):
            if job := go_on(answered.key, answered):
                beside.ready.append(job)
            while ended:
                yield ended.pop()
    yield from ended


class _Todo:
    """An iterator of jobs that may have more after it had none: those that are ready first, then those from `new`."""

    def __init__(self, new: Iterator[Job]):
        self.ready: deque[Job] = deque()
        self._new = new

    def __iter__(self) -> "_Todo":
        return self

    def __next__(self) -> Job:
        return self.ready.popleft() if self.ready else next(self._new)


def _tries(name: str, key: bytes, task: Task, submission: Submission) -> Generator[tuple[Job, bool], Answered, Result]:
    """Yields each job of a submission and whether it must run alone, and takes what came of it."""
    best: dict[str, Scored] = {}
    notes, late, seeds = [], {}, {}
    items = [item for item in task.items if item.check]
    cells = tuple(dict.fromkeys(submission.answers[answer.grade_id] for answer in task.answers if not answer.text))
    for item in items:
        seeds[item.check.id] = exercise_seed(key, submission.student, item.check.id, submission.digest)
    for allow in sorted({tuple(sorted(item.check.allow)) for item in items}):
        chosen = [item for item in items if tuple(sorted(item.check.allow)) == allow]
        calls = {item.column: calls_for(item.check, seeds[item.check.id], HIDDEN) for item in chosen}
        every = tuple(call for item in chosen for call in calls[item.column])
        job = Job(name, cells, every, allow, tuple(submission.others), silent=bool(best))
        answered = yield job, False
        notes += [answered.note] if answered.note and answered.note not in notes else []
        replies = list(answered.replies)
        for item in chosen:
            mine, replies = replies[: len(calls[item.column])], replies[len(calls[item.column]) :]
            scored = score(item.check, calls[item.column], mine)
            best[item.column] = replace(scored, diagnosis=None, failing=None) if job.silent else scored
            late[item.column] = _is_late(mine)
    for by_itself in (False, True):
        for item in items:
            if best[item.column].outcome == "right" or task.is_blank(item, submission.answers):
                continue
            own = Job(name, cells, calls_for(item.check, seeds[item.check.id], HIDDEN), tuple(item.check.allow))
            ways = [replace(own, cells=whole)] if (whole := submission.whole(item.check)) else []
            if by_itself:
                ways = [replace(own, others=tuple(submission.others)), *ways] if late[item.column] else []
            for job in ways:
                answered = yield replace(job, silent=True), by_itself
                late[item.column] |= _is_late(answered.replies)
                best[item.column] = _better(best[item.column], score(item.check, job.calls, answered.replies))
    kept = {
        "scored": {column: asdict(one) for column, one in best.items()},
        "notes": notes,
        "alone": [column for column, was in late.items() if was],
    }
    return kept, seeds


def _is_late(replies: list[Reply]) -> bool:
    return any(reply.outcome in LATE for reply in replies)


def _better(one: Scored, other: Scored) -> Scored:
    """The one with more points; of a later try only these are told."""
    return one if other.points <= one.points else replace(other, diagnosis=None, failing=None, whole=True)
