"""What an answer is worth: the calls that are made of it, and the points that its replies earn.

The trusted side only: the reference, the seed and the hidden inputs are here. Values are compared with the functions
that `check()` uses, on the inputs that it asks, and on hidden ones: no answer that `check()` calls wrong earns all
points.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from course_lib.grading.sandbox.conversation import Call, Reply
from course_lib.grading.sentences import say
from course_lib.teaching.checks.check import ENOUGH
from course_lib.teaching.checks.check_form import Check, answered, call_text, expected, wrong_outputs
from course_lib.teaching.checks.check_texts import said
from course_lib.teaching.checks.check_values import form_fault, how_far, leaves, none_fault, short

TRY_AGAIN = "Not yet: "
"""How `check()` begins; a grade says the same without it."""

STUB = "NotImplementedError"
QUANTITY = 200
"""Characters that a quantity with its unit may have."""


@dataclass(frozen=True)
class Scored:
    """What one exercise earned.

    groups     case group -> whether all of its inputs were answered rightly; "" where the check has no groups.
    diagnosis  (name, message) of the known wrong answer that this is; None if it is none.
    failing    the first public input that was not answered rightly, and what came of it, in words; None if all were.
    outcome    "right"; "partial" (some groups); otherwise what the first failing call came to: "wrong", "form" (not the
               kind of value asked for), "stub" (not done), or an outcome of `Reply` other than "value".
    whole      whether it was earned by a later try (`tries`), of which nothing but the points is told.
    """

    points: float
    max_points: float
    groups: dict[str, bool]
    diagnosis: tuple[str, str] | None
    failing: str | None
    outcome: str
    whole: bool = False


def calls_for(check: Check, seed: int, draws: int) -> tuple[Call, ...]:
    """The calls that grade one answer: all inputs that `check()` asks, the first of them again, which finds out a
    function that keeps something between calls, and `draws` hidden ones for each group. A quantity is only looked at
    once.

    The same check, seed and number give the same calls.
    """
    if draws < 0:
        raise ValueError(f"draws must be at least 0, not {draws!r}")
    public = [Call(check.name, case, group, public=True) for group, case in check.inputs()]
    public += [Call(check.name, case, group, public=True, drawn=True) for group, case in check.drawn]
    if check.unit is not None:
        return tuple(public)
    rng = random.Random(seed)
    hidden = [Call(check.name, check.draw(rng, group), group) for group in check.group_points() for _ in range(draws)]
    return (*public, public[0], *hidden)


def score(check: Check, calls: Sequence[Call], replies: Sequence[Reply]) -> Scored:
    """The points of an answer from the replies to `calls_for(check, …)`.

    Raises `ValueError` if calls and replies do not belong together, or the reference fails on an input.
    """
    if len(calls) != len(replies) or any(call.function != check.name for call in calls):
        raise ValueError(f"check {check.id!r}: {len(replies)} replies do not belong to these {len(calls)} calls")
    wanted = [expected(check, call.arguments) for call in calls]
    got = [_answered(check, reply.value) for reply in replies]
    right = [
        reply.outcome == "value" and check.same.distance(value, want) <= 1
        for reply, value, want in zip(replies, got, wanted, strict=True)
    ]
    if all(right):
        return Scored(check.points, check.points, dict.fromkeys(check.group_points(), True), None, None, "right")
    groups = {
        group: all(one for one, call in zip(right, calls, strict=True) if call.group == group)
        for group in check.group_points()
    }
    points = sum(points for group, points in check.group_points().items() if groups[group])
    failed = [at for at, one in enumerate(right) if not one]
    first = min(failed, key=lambda at: (not calls[at].public, at))
    outcome = "partial" if points else _outcome(replies[first], got[first], wanted[first])
    failing = _failing(check, calls[first], replies[first], got, wanted, first) if calls[first].public else None
    return Scored(points, check.points, groups, _diagnosis(check, calls, replies, got, right), failing, outcome)


def _answered(check: Check, value):
    """`answered`, but no endless text is searched for a number."""
    return value if isinstance(value, str) and len(value) > QUANTITY else answered(check.unit, value)


def _outcome(reply: Reply, got, wanted) -> str:
    if reply.outcome == "value":
        return "stub" if got is None and wanted is not None else "form" if form_fault(got, wanted) else "wrong"
    return "stub" if reply.outcome == "raised" and reply.error.startswith(STUB) else reply.outcome


def _diagnosis(check: Check, calls, replies, got, right) -> tuple[str, str] | None:
    """The known wrong answer that the outputs equal on every public input (the nearest, if several). As in `check()` a
    later call may have given no value: `ENOUGH` outputs tell all the same, if one of them is wrong.
    """
    said = [*takewhile(lambda at: replies[at].outcome == "value", range(len(check.asked())))]
    if len(said) < min(ENOUGH, len(check.inputs())) or all(right[at] for at in said):
        return None
    far = dict.fromkeys(check.wrong, 0.0)
    for at in said:
        for name, output in wrong_outputs(check, calls[at].arguments).items():
            far[name] = max(far[name], check.same.distance(got[at], output))
    nearest = min(far, key=far.get, default=None)
    return (nearest, check.messages[nearest]) if nearest is not None and far[nearest] <= 1 else None


def _failing(check: Check, call: Call, reply: Reply, got: list, wanted: list, at: int) -> str:
    """What came of a public input, in the sentences of `check()`; never the right value."""
    quantity = check.unit is not None
    values = {"call": call_text(check.signature, call.arguments), "name": check.name, "unit": check.unit}
    values |= {"got": short(got[at]), "quantity": f"{short(got[at])} {check.unit or ''}".rstrip()}
    if reply.outcome != "value":
        stopped = _outcome(reply, got[at], wanted[at])
        if stopped == "raised":
            text = said("raised_elsewhere", quantity, error=reply.error, **values)
        else:
            text = say("stopped", stopped, error=reply.error, **values)
    elif at == len(check.asked()):  # the first input again
        text = said("differs", quantity, again=short(got[at]), **(values | {"got": short(got[0])}))
    elif fault := form_fault(got[at], wanted[at]):
        name = none_fault(wanted) if got[at] is None else "form_pure" if check.unit == "" else "form"
        text = said(name, quantity, fault=fault, **values)
    else:
        leaf = next(leaf for leaf in leaves(got[at], wanted[at]) if check.same.leaf_distance(*leaf[1:]) > 1)
        name, size = how_far(*leaf[1:]) if check.how_far else ("value", {})
        text = said(name, quantity, where=leaf[0], **size, **values)
    return text.removeprefix(TRY_AGAIN).strip()
