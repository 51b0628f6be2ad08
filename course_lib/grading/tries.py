"""What is run of one submission, one job after the other, and the best that each exercise earns.

First the answers, with what they need of the other cells. What that leaves short of all points runs once more as the
notebook stands: whole cells from its top down to the exercise's check. What was late runs once more when nothing else
does. Whichever earns most counts: each is the student's own code.

What is said of an exercise comes from the first job alone. The later ones run after hidden inputs were seen, and code
finds ways to leave word for a later process.
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from course_lib.grading.intake.intake import Submission
from course_lib.grading.intake.task import Item, Task
from course_lib.grading.results.scoring import Scored, calls_for, score
from course_lib.grading.sandbox.conversation import Answered, Job
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
    notes, late = [], set()
    items = [item for item in task.items if item.check]
    checks = [item.check.id for item in items]
    seeds = {id: exercise_seed(key, submission.student, id, submission.digest) for id in checks}

    def tried(job: Job, chosen: Sequence[Item], by_itself: bool = False) -> Generator[tuple[Job, bool], Answered, set]:
        """Run some exercises of one allowance; what they earn where it is more. The columns of those that were late."""
        calls = {item.column: calls_for(item.check, seeds[item.check.id], HIDDEN) for item in chosen}
        every = tuple(call for own in calls.values() for call in own)
        job = replace(job, calls=every, allow=_allowance(chosen[0]), silent=bool(best))
        answered = yield job, by_itself
        replies, late = list(answered.replies), set()
        if answered.note and answered.note not in notes:
            notes.append(answered.note)
        for item in chosen:
            mine, replies = replies[: len(calls[item.column])], replies[len(calls[item.column]) :]
            scored = score(item.check, calls[item.column], mine)
            if job.silent:
                scored = replace(scored, diagnosis=None, failing=None, whole=item.column in best)
            if item.column not in best or scored.points > best[item.column].points:
                best[item.column] = scored
            late |= {item.column} if any(reply.outcome in LATE for reply in mine) else set()
        return late

    def whole(item: Item) -> Job | None:
        """The notebook as it stands, if that may give an exercise what it lacks."""
        lacks = best[item.column].outcome != "right" and not task.is_blank(item, submission.answers)
        above = submission.whole(item.check)
        return Job(name, above, ()) if lacks and above else None

    cells = tuple(dict.fromkeys(submission.answers[answer.grade_id] for answer in task.answers if not answer.text))
    answers = Job(name, cells, (), others=tuple(submission.others))
    for chosen in _by_allowance(items):
        late |= yield from tried(answers, chosen)
    for item in items:
        if item.column not in late and (job := whole(item)):
            late |= yield from tried(job, [item])
    # All that was late in one job, whose limit bounds what a notebook full of endless loops costs the class.
    for chosen in _by_allowance([item for item in items if item.column in late]):
        still = yield from tried(answers, chosen, True)
        for item in chosen:
            if item.column not in still and (job := whole(item)):
                yield from tried(job, [item], True)
    kept = {
        "scored": {column: asdict(one) for column, one in best.items()},
        "notes": notes,
        "alone": sorted(late),
    }
    return kept, seeds


def _allowance(item: Item) -> tuple[str, ...]:
    return tuple(sorted(item.check.allow))


def _by_allowance(items: Sequence[Item]) -> list[list[Item]]:
    """The exercises, those together that may import the same modules: each group is a run of its own."""
    return [[item for item in items if _allowance(item) == one] for one in sorted(set(map(_allowance, items)))]
