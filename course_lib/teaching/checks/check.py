"""`check("q05.ridge", ridge)`: the instant answer to an exercise.

`check` compares what the learner's function returns with the data that the build made of a `Check` (`check_form`). It
runs in the learner's own process: it helps, and proves nothing; `course_lib.grading` grades.
"""

import contextlib
import difflib
import html
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from course_lib import units
from course_lib.teaching.checks.check_form import Check, answered, call_text, decode_arguments, faults, public_cases
from course_lib.teaching.checks.check_run import (
    SECONDS,
    Answer,
    Calls,
    InputAsked,
    TimeUp,
    binding_error,
    error_text,
    learners_line,
    raised_by_the_learner,
    still_dots,
)
from course_lib.teaching.checks.check_texts import said, say
from course_lib.teaching.checks.check_values import (
    EXACT,
    Close,
    form,
    form_fault,
    how_far,
    is_dots,
    leaves,
    looks_rounded,
    none_fault,
    plain,
    short,
    short_text,
)

__all__ = ["EXACT", "Check", "CheckResult", "Close", "check", "faults", "public_cases"]

ENOUGH = 3
"""Public inputs that tell a known wrong answer, where a later call raised an error."""


@dataclass(frozen=True)
class CheckResult:
    """What `check` found; a notebook shows its `message`. `diagnosis` names the recognised wrong answer, `partial` is
    what groups of inputs earn where not all answers are right.

    outcome: "right", "wrong" (value), "form" (not the kind of value asked for), "raised", "late", "stub" (not done
    yet), "not-callable"; and where nothing was checked "unknown" (no such check) or "other-function".
    """

    id: str
    outcome: str
    points: float
    message: str
    diagnosis: str | None = None
    partial: float = 0

    @property
    def passed(self) -> bool:
        return self.outcome == "right"

    @property
    def score(self) -> float:
        return self.points if self.passed else self.partial

    def __repr__(self) -> str:
        return self.message

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        # nbgrader (utils.determine_grade) reads the text/plain of a grade cell's value as its points; what is no number
        # counts as full marks.
        plain_text = f"{self.score:g}" if _under_nbgrader() else self.message
        return {"text/plain": plain_text, "text/html": self._html()}

    def _html(self) -> str:
        colour = "var(--jp-success-color1, #388e3c)" if self.passed else "var(--jp-warn-color1, #f57c00)"
        lines = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.message)).split("\n")
        body = "".join(f'<p style="margin:.2em 0">{line}</p>' for line in lines)
        style = f"border-left:4px solid {colour};padding:.2em .8em;overflow-wrap:anywhere"
        return f'<div class="course-check" role="status" style="{style}">{body}</div>'


def check(id: str, fn: Callable | float | str) -> CheckResult:
    """Try `fn` on the public inputs of check `id`, and say in a line or a short paragraph what is right or wrong.
    Where the exercise asks for a quantity, `fn` is that number, or a text such as "3.35 TB/s".

    Raises nothing that the learner's code raised (only a KeyboardInterrupt passes), and never shows the right
    value. Every call gets fresh copies of its input; the first is repeated at the end, so that a function that keeps
    something between calls is found out. What `fn` prints, or writes to stderr, is shown when its answer is not right.
    The attempt goes into the learner's record. `check_run` says what the time limit can stop.
    """
    spec = _spec(id)
    if spec is None:
        return CheckResult(short_text(str(id)), "unknown", 0, _unknown(id, fn))
    if other := _other_check(spec, fn):
        name, signature = fn.__name__, spec["signature"]
        message = say("other_function", id=id, signature=signature, name=name, other=other)
        return CheckResult(id, "other-function", spec["points"], message)
    result = _Attempt(id, spec, fn).run()
    _record(result)
    return result


class _Attempt:
    """One function tried on the public data of one check."""

    def __init__(self, id: str, spec: Mapping, fn):
        self.id = id
        self.spec = spec
        self.fn = fn
        self.same = Close(**spec["same"])
        self.inputs = [case["input"] for case in spec["cases"]]
        self.chosen = sum(not case.get("drawn", False) for case in spec["cases"])
        self.expected = [case["expected"] for case in spec["cases"]]
        self.unit = spec.get("unit")
        self.partial, self.earned = 0, []

    def run(self) -> CheckResult:
        if self.unit is not None:
            return self._quantity()
        if not callable(self.fn):
            name, got = _name(self.spec), short(plain(self.fn))
            return self._result("not-callable", ["not_callable"], id=self.id, name=name, got=got)
        answers: list[Answer] = []
        index, stopped, shown = 0, None, ""
        with Calls(self.fn, SECONDS) as calls:
            try:
                # The first input again, and those that were drawn, only where the time is more than enough.
                for index in (*range(self.chosen), 0, *range(self.chosen, len(self.inputs))):
                    if len(answers) >= self.chosen and calls.seconds > SECONDS / 2:
                        break
                    args, kwargs = decode_arguments(self.inputs[index])
                    if error := binding_error(self.fn, args, kwargs):
                        stopped = error
                        break
                    answers.append(calls.call(args, kwargs))
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                stopped, shown = error, calls.shown
        again = answers.pop(self.chosen) if len(answers) > self.chosen else None
        first = [answer.value for answer in answers]
        agree = [self._near(got, want) for got, want in zip(first, self.expected, strict=False)]
        if again and (differs := self._differs(answers[0], again)):
            print(again.shown, end="\n" if again.shown else "")
            return differs
        self._credit(agree, stopped is None)
        if not all(agree):
            at = agree.index(False)
            shown, result = answers[at].shown, self._wrong(answers[at], at, first, agree)
        elif stopped is not None:
            result = self._stopped(index, stopped)
        else:
            return self._right()
        if shown:
            print(shown)
        return result

    def _right(self) -> CheckResult:
        """All is right, and what it earns: points, of which a your-turn has none, and the insight."""
        points = self.spec["points"]
        line = said("right" if points else "right_turn", self.unit is not None, points=points)
        return CheckResult(self.id, "right", points, "\n".join(filter(None, [line, self.spec.get("insight")])))

    def _quantity(self) -> CheckResult:
        """What to say about a number or a text that the learner assigned."""
        value = answered(self.unit, plain(self.fn))
        if value is None or self.fn is ...:
            return self._result("stub", ["stub"], signature=_name(self.spec))
        if self._near(value, self.expected[0]):
            return self._right()
        return self._wrong(Answer(value, False, "", False), 0, [value], [False])

    def _credit(self, agree: list[bool], rest: bool) -> None:
        """The groups whose inputs were all answered rightly, and their points; `rest` stands for those not tried."""
        tried = [*agree, *[rest] * (len(self.inputs) - len(agree))]
        for group, points in self.spec.get("groups", {}).items():
            cases = zip(self.spec["cases"], tried, strict=True)
            if all(right for case, right in cases if case["group"] == group):
                self.partial += points
                self.earned.append(group)

    def _stopped(self, index: int, error: BaseException | str) -> CheckResult:
        """What to say about a call that gave no value; a text says why its arguments are not taken."""
        call = self._call(index)
        if isinstance(error, str):
            return self._result("form", ["arguments"], call=call, error=error)
        if isinstance(error, TimeUp):
            return self._result("late", ["late"], call=call, seconds=SECONDS)
        if isinstance(error, InputAsked):
            return self._result("raised", ["input"], call=call)
        if isinstance(error, NotImplementedError) and raised_by_the_learner(self.fn, error):
            return self._result("stub", ["stub"], signature=self.spec["signature"])
        if still_dots(error):
            return self._result("stub", ["stub_dots"], signature=self.spec["signature"])
        line = learners_line(self.fn, error)
        say = "raised" if line else "raised_elsewhere"
        return self._result("raised", [say], call=call, error=error_text(error), line=line)

    def _differs(self, one: Answer, again: Answer) -> CheckResult | None:
        """What to say where two calls with one input gave two answers of the right form."""
        want = self.expected[0]
        if form_fault(one.value, want) or form_fault(again.value, again.value) or self._near(again.value, one.value):
            return None  # infinity and NaN are near nothing, not even themselves
        values = {"call": self._call(0), "got": short(one.value), "again": short(again.value)}
        return self._result("wrong", ["differs", "keeps"], **values)

    def _wrong(self, answer: Answer, at: int, outputs: list, agree: list[bool]) -> CheckResult:
        """What to say about wrong values: which known wrong answer they are, else what the first of them lacks."""
        got, want = answer.value, self.expected[at]
        if is_dots(got):
            return self._result("stub", ["stub_dots"], signature=self.spec["signature"])
        values = {"call": self._call(at), "got": short(got), "form": form(want)}
        values["quantity"] = f"{short(got)} {self.unit or ''}".rstrip()
        if known := self._diagnosis(outputs):
            return self._result("wrong", ["diagnosed"], diagnosis=known["name"], message=known["message"], **values)
        if got is None and want is not None:
            say = "in_place" if answer.changed else "printed" if answer.printed else none_fault(self.expected)
            return self._result("form", [say, "asked"], **values)
        if fault := form_fault(got, want):
            asked = ["asked"] if isinstance(want, (list, dict)) else []
            say = "form_pure" if self.unit == "" else "form"
            return self._result("form", [say, *asked], fault=fault, **values)
        where, g, w = next(leaf for leaf in leaves(got, want) if self.same.leaf_distance(*leaf[1:]) > 1)
        say, size = how_far(g, w) if self.spec.get("how_far", True) else ("value", {})
        more = [
            *(["whole"] if looks_rounded(outputs, self.expected) else []),
            *(["agree"] if any(agree) else []),
        ]
        cases = {"agree": sum(agree), "cases": len(self.inputs)}
        return self._result("wrong", [say, *more], where=where, **size, **cases, **values)

    def _diagnosis(self, outputs: list) -> Mapping | None:
        """The known wrong answer that the outputs equal on every public input (the nearest, if several). A later call
        may have raised; `ENOUGH` outputs tell all the same.
        """
        if len(outputs) < min(ENOUGH, self.chosen):
            return None
        same = self.same.as_built()

        def far(wrong):
            return max(same.distance(got, w) for got, w in zip(outputs, wrong["outputs"], strict=False))

        nearest = min(self.spec["wrong"], key=far, default=None)
        return nearest if nearest and far(nearest) <= 1 else None

    def _near(self, got, want) -> bool:
        return self.same.distance(got, want) <= 1

    def _call(self, index: int) -> str:
        return call_text(self.spec["signature"], self.inputs[index])

    def _result(self, outcome: str, keys: list[str], *, diagnosis: str | None = None, **values) -> CheckResult:
        if self.earned:
            keys = [*keys, "partial"]
            values |= {"earned": self.partial, "points": self.spec["points"], "groups": "; ".join(self.earned)}
        message = "\n".join(said(key, self.unit is not None, unit=self.unit, **values) for key in keys)
        return CheckResult(self.id, outcome, self.spec["points"], message, diagnosis, self.partial)


def _under_nbgrader() -> bool:
    return bool(os.environ.get("NBGRADER_EXECUTION") or os.environ.get("NBGRADER_VALIDATING"))


def _record(result: CheckResult) -> None:
    """Keep the attempt in the learner's record. A failed write never breaks a check; nbgrader's runs write none."""
    if _under_nbgrader():
        return
    with contextlib.suppress(Exception):
        from course_lib.teaching.record.record import Record

        attempt = {"outcome": result.outcome, "diagnosis": result.diagnosis}
        Record.open().add("check", result.id, {**attempt, "score": result.score, "points": result.points})


# -------------------------------------------------------------------------------------------------- which check is it


def _all_checks() -> dict[str, Mapping]:
    return {id: spec for unit in units.names() for id, spec in units.checks(unit).items()}


def _spec(id) -> Mapping | None:
    """The data of check `id`, or None if there is no such check."""
    unit = units.unit_of(id) if isinstance(id, str) else None
    return units.checks(unit).get(id) if unit else None


def _name(spec: Mapping) -> str:
    """The name of the function that a check asks for."""
    return spec["signature"].partition("(")[0]


def _other_check(spec: Mapping, fn) -> str | None:
    """The id of the other check that `fn` was written for, by its name; None for most functions."""
    name = getattr(fn, "__name__", None)
    if not isinstance(name, str) or name == _name(spec):
        return None
    return next((id for id, other in _all_checks().items() if _name(other) == name), None)


def _unknown(id, fn) -> str:
    if isinstance(fn, str) and (spec := _spec(fn)):
        return say("swapped", id=fn, name=_name(spec))
    near = difflib.get_close_matches(str(id), sorted(_all_checks()), n=1, cutoff=0.5)
    return say("unknown_near" if near else "unknown", id=short(plain(id)), near=near[0] if near else None)
