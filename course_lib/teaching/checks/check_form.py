"""The form in which an exercise's check is written, and the data that the build makes of it.

A check is a function that the learner completes (or a quantity that the learner assigns), a few public inputs, the
reference, and known wrong answers. Its author writes a `Check` in `lessons/<unit>/checks.py`, and what learners read of
it in `checks.toml` beside it (`with_words`). The build turns both, by `public_cases`, into `checks.json`: inputs, right
outputs and the outputs of each known wrong answer, but no code.
"""

import ast
import json
import math
import random
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from course_lib.teaching.checks.check_values import DIGITS, Close, is_number, plain, short
from course_lib.teaching.checks.typed_number import parse_number

TRIES = 100
DRAWS = 100
"""Inputs that `faults` draws to see that the right answer and each known wrong one stay apart."""

HIDDEN = 8
"""Hidden inputs, of each group, that a graded answer meets."""

ESCAPES = 0.01
"""The chance that a wrong answer may have to meet none among them that tells it from the right one."""

MOST_FAULTS = 3
"""Sentences on one wrong answer: a hundred drawn inputs say no more."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One graded function, or one graded quantity (`unit`); with no points the function of a your-turn in a lesson.

    id         `<unit prefix>.<kebab-name>`, as in `check("q05.ridge", …)`.
    points     what a right answer scores in nbgrader; all or nothing, unless there are `groups`. 0 for a your-turn.
    signature  as the learner sees it: `"intensity(flops, nbytes)"`; of a quantity the variable's name: `"bandwidth"`.
    public     inputs that the learner may see: each a tuple of positional arguments or a mapping of keyword arguments,
               of JSON values or numeric numpy arrays. With `groups` a mapping: group -> such inputs.
    generate   draws one more such input from a `random.Random`; hidden inputs come from it. With `groups` it takes the
               name of the group as well.
    reference  the right function; takes and returns JSON values or numeric arrays, all numbers finite.
    same       when two answers are equal.
    wrong      name -> function: an answer that people give.
    allow      modules, e.g. "course_lib.accounting", that a graded run lets the learner import; the exercise says so.
    groups     partial credit: what a group of inputs has in common, in words that a learner may read ("one card") ->
               the points for being right on all of them. Together they are `points`.
    unit       of a quantity: the learner assigns a number in this unit, or a text such as "3.35 TB/s" in the same unit
               under any prefix; `reference` and `wrong` take nothing and return a number in it ("" for a pure number).
               It has no `public`, `generate` or `groups`.
    how_far    False where the text asks for a bet: a wrong number then hears no factor, which would tell the right one.
    insight    from checks.toml: one sentence that a right answer earns, what to take away from the exercise.
    messages   from checks.toml: name of each known wrong answer -> the sentence that sets it right.
    drawn      from checks.json: (group, encoded input) of what `check()` asks beside `public`, drawn by the build.

    `faults` says what the functions must fulfil together.
    """

    id: str
    points: float
    signature: str
    public: Sequence | Mapping[str, Sequence] = ()
    generate: Callable[..., tuple | Mapping] | None = None
    reference: Callable
    same: Close = field(default_factory=Close)
    wrong: Mapping[str, Callable] = field(default_factory=dict)
    allow: Sequence[str] = ()
    groups: Mapping[str, float] = field(default_factory=dict)
    unit: str | None = None
    how_far: bool = True
    insight: str = ""
    messages: Mapping[str, str] = field(default_factory=dict)
    drawn: Sequence[tuple[str, dict]] = ()

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+\.[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise ValueError(f"a check's id is <unit prefix>.<kebab-name>, such as 'q05.ridge', not {self.id!r}")
        for unfit in self._unfit():
            raise ValueError(f"check {self.id!r}: {unfit}")
        if self.unit is None:
            parameters(self.signature)

    def _unfit(self) -> Iterator[str]:
        """What is wrong with the fields, in sentences; each but the first may rest on the one before being right."""
        if not (is_number(self.points) and 0 <= self.points < math.inf):
            yield f"points must be a positive number, or 0 in a your-turn, not {self.points!r}"
        if self.unit is not None:
            if self.points == 0:
                yield "a your-turn (points=0) asks for a function, not for a quantity"
            if self.public or self.generate or self.groups:
                yield f"a quantity (unit={self.unit!r}) has no public, generate or groups"
            if not self.signature.isidentifier():
                yield f"signature of a quantity is the variable's name, not {self.signature!r}"
            return
        if not self.public:
            yield "public must hold at least one input"
        if not callable(self.generate):
            yield "generate must be a function that draws an input"
        grouped = isinstance(self.public, Mapping)
        if not self.groups:
            if grouped:
                yield "public is a mapping of groups, but groups gives them no points"
            return
        points = list(self.groups.values())
        if not all(is_number(each) and each > 0 for each in points) or not math.isclose(sum(points), self.points):
            yield f"the points of groups must be positive and sum to {self.points:g}, not {points}"
        if not grouped or set(self.public) != set(self.groups) or not all(self.public.values()):
            yield f"public must be a mapping with inputs for each of {list(self.groups)}"

    @property
    def name(self) -> str:
        """The name of the function, or of the variable, that the learner gives."""
        return self.signature.partition("(")[0]

    def group_points(self) -> dict[str, float]:
        """Group -> its points; without groups all points stand under ""."""
        return dict(self.groups) or {"": self.points}

    def inputs(self) -> list[tuple[str, dict]]:
        """(group, encoded input) of every public input; the group is "" where there are none."""
        by_group = {group: self.public[group] for group in self.groups} or {"": self.public or ((),)}
        return [(group, _encode_arguments(case, self.id)) for group, cases in by_group.items() for case in cases]

    def asked(self) -> list[tuple[str, dict]]:
        """(group, encoded input) of everything that `check()` asks."""
        return [*self.inputs(), *self.drawn]

    def draw(self, rng: random.Random, group: str = "") -> dict:
        """One more encoded input of a group. A quantity has but one, which is empty."""
        if self.unit is not None:
            return {"args": []}
        return _encode_arguments(self.generate(rng, group) if self.groups else self.generate(rng), self.id)


def public_cases(check: Check, drawn: Sequence[tuple[str, dict]] = ()) -> dict:
    """`check` as data for `checks.json`: no code, but what the reference and each wrong answer give in public, to
    `DIGITS` digits, so that every processor writes the same file.

    drawn   encoded inputs, each with its group, that were drawn as hidden ones are (`drawn_inputs`), beside those that
            the author chose: so that what `check()` calls right is what the grade will call right.

    Raises `ValueError` naming the check if one of them fails or returns what JSON cannot hold.
    """
    chosen = check.inputs()
    inputs = [*chosen, *drawn]
    data = {
        "points": check.points,
        "signature": check.signature,
        "same": {"rel": check.same.rel, "abs": check.same.abs},
        "allow": list(check.allow),
        "insight": check.insight,
        "cases": [
            {"input": case, "expected": rounded(expected(check, case))}
            | ({"group": group} if group else {})
            | ({"drawn": True} if at >= len(chosen) else {})
            for at, (group, case) in enumerate(inputs)
        ],
        "wrong": [
            {
                "name": name,
                "message": check.messages[name],
                "outputs": [rounded(_wrong_output(check, name, case)) for _, case in inputs],
            }
            for name in check.wrong
        ],
    }
    if check.groups:
        data["groups"] = dict(check.groups)
    if check.unit is not None:
        data["unit"] = check.unit
    if not check.how_far:
        data["how_far"] = False
    return data


def drawn_inputs(check: Check, count: int) -> dict[str, list[dict]]:
    """Group -> `count` drawn inputs, the same at every build; a quantity has none. Fewer only where `generate` draws
    few that differ. Each has its own seed: no draw hangs on another.
    """
    return {group: _drawn_inputs(check, group, count) for group in check.group_points() if check.unit is None}


def _drawn_inputs(check: Check, group: str, count: int) -> list[dict]:
    found: dict[str, dict] = {}
    for number in range(count + TRIES):
        if len(found) < count:
            case = check.draw(random.Random(f"{check.id} {group} {number}"), group)
            found.setdefault(json.dumps(case), case)
    return [*found.values()]


def is_steady(check: Check, case: Mapping) -> bool:
    """Whether neither the right answer to an input nor a known wrong one lies where processors round apart."""
    return steady([expected(check, case), *wrong_outputs(check, case).values()])


def steady(value) -> bool:
    """Whether each float of a JSON value has the same `DIGITS` digits where it differs by some of its last places."""
    if isinstance(value, float) and value != rounded(value):
        room = 8 * math.ulp(value)
        return rounded(value - room) == rounded(value + room)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(steady, parts))


def rounded(value):
    """A JSON value with every float in it to `DIGITS` significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value


def faults(check: Check, draws: int = DRAWS) -> list[str]:
    """What is wrong with `check` itself, in sentences; empty if nothing is. The build refuses a check that has any.

    More than three tolerances must lie between the right answer and each known wrong one on at least one public input,
    and between any two known wrong ones: else a message goes to the wrong learner. On a drawn input a known wrong
    answer is right, or that far off; and so often off that it cannot escape all hidden inputs of a submission. With
    groups it may be right on *all* inputs of a group, if it is not in another. No group is earned by one answer to
    everything, such as None.
    """
    try:
        data = public_cases(check)
        answers = {"the right answer": [case["expected"] for case in data["cases"]]}
        answers |= {f"wrong[{wrong['name']!r}]": wrong["outputs"] for wrong in data["wrong"]}
        found = [
            f"check {check.id!r}: the right answer to {call_text(check.signature, case)} has more than the {DIGITS} "
            "digits that built data keep, and `same` allows for none"
            for _, case in check.inputs()
            if check.same.distance(right := expected(check, case), rounded(right)) > 1
        ]
        found += [
            f"check {check.id!r}: no public input tells {other} from {one}"
            for i, one in enumerate(answers)
            for other in list(answers)[i + 1 :]
            if all(check.same.distance(a, b) <= 3 for a, b in zip(answers[other], answers[one], strict=True))
        ]
        drawn = [
            (group, check.draw(random.Random(seed), group))
            for group in check.group_points()
            for seed in range(draws if check.unit is None else 1)
        ]
        found += _constant_faults(check, drawn)
        for name in check.wrong:
            found += islice(_drawn_faults(check, name, drawn), MOST_FAULTS)
    except ValueError as error:
        return [str(error)]
    return list(dict.fromkeys(found))


def _constant_faults(check: Check, drawn: Sequence[tuple[str, dict]]) -> Iterator[str]:
    """Where who always gives the same answer, and has understood nothing, earns the points of a group."""
    for group in check.groups:
        public, rest = (
            [expected(check, case) for where, case in cases if where == group] for cases in (check.inputs(), drawn)
        )
        first = public[0]
        right = statistics.mean(check.same.distance(first, each) <= 1 for each in rest)
        if all(check.same.distance(first, each) <= 1 for each in public) and right**HIDDEN > ESCAPES:
            yield (
                f"check {check.id!r}: {short(first)} is right on all public inputs of {group!r}, "
                f"and on {right:.0%} of the drawn ones"
            )


def _drawn_faults(check: Check, name: str, drawn: Sequence[tuple[str, dict]]) -> Iterator[str]:
    """Where a known wrong answer comes too near to the right one; in a group that it gets right everywhere it may."""

    def far(case: Mapping) -> float:
        return check.same.distance(_wrong_output(check, name, case), expected(check, case))

    distances = [(group, case, far(case)) for group, case in drawn]
    for _, case, distance in distances:
        if 1 < distance <= 3:
            yield (
                f"check {check.id!r}: wrong[{name!r}] is within three tolerances of the right answer "
                f"on {call_text(check.signature, case)}"
            )
    failed = {group for group, _, distance in distances if distance > 1}
    failed |= {group for group, case in check.inputs() if far(case) > 1}
    if not failed:
        yield f"check {check.id!r}: wrong[{name!r}] is right on every input"
    for group in failed:
        right = statistics.mean(distance <= 1 for where, _, distance in distances if where == group)
        if right**HIDDEN > ESCAPES:
            yield f"check {check.id!r}: wrong[{name!r}] is right on {right:.0%} of the drawn inputs {group}".rstrip()


def expected(check: Check, case: Mapping):
    """The right answer to an encoded input: plain finite JSON values; of a quantity the number in its unit."""
    return _output(check, "the reference", check.reference, case)


def wrong_outputs(check: Check, case: Mapping) -> dict:
    """Name -> what each known wrong answer gives for an encoded input, in the form of `expected`."""
    return {name: _wrong_output(check, name, case) for name in check.wrong}


def _wrong_output(check: Check, name: str, case: Mapping):
    return _output(check, f"wrong[{name!r}]", check.wrong[name], case)


def answered(unit: str | None, value):
    """A learner's plain value as it is compared: where a quantity in `unit` was asked for, the number in that unit.

    Anything else, and a text that is no number in that unit, stays as it is.
    """
    if unit is None or not isinstance(value, str):
        return value
    try:
        return parse_number(value, unit, scale="linear")
    except ValueError:
        return value


def _output(check: Check, who: str, fn: Callable, case: Mapping):
    """What `fn` returns for an encoded input, as plain finite JSON values."""
    args, kwargs = decode_arguments(case)
    try:
        value = answered(check.unit, plain(fn(*args, **kwargs)))
        if json.loads(json.dumps(value, allow_nan=False)) != value:
            raise TypeError("the keys of a dictionary must be text")
    except Exception as error:
        call = call_text(check.signature, case)
        raise ValueError(f"check {check.id!r}: {who} gives no finite JSON value on {call}: {error!r}") from error
    return value


def parameters(signature: str) -> list[str]:
    """The parameter names of `"f(a, b=2)"`."""
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except SyntaxError:
        raise ValueError(f"signature must look like 'ridge(peak, bandwidth)', not {signature!r}") from None
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def call_text(signature: str, case: Mapping) -> str:
    """The call as the learner would write it: `ridge(peak=989e12, bandwidth=3.35e12)`; of a quantity its name."""
    if "(" not in signature:
        return signature
    args, kwargs = decode_arguments(case)
    named = dict(zip(parameters(signature), args, strict=False)) | kwargs
    shown = ", ".join(f"{name}={short(plain(value), 60)}" for name, value in named.items())
    return f"{signature.partition('(')[0]}({shown})"


def _encode_arguments(arguments, id: str) -> dict:
    """An input as JSON: `{"args": […]}` or `{"kwargs": {…}}`; a numpy array as `{"array": nested list, "dtype": …}`."""
    if isinstance(arguments, Mapping):
        encoded = {"kwargs": {name: _encode(value) for name, value in arguments.items()}}
    elif isinstance(arguments, (tuple, list)):
        encoded = {"args": [_encode(value) for value in arguments]}
    else:
        raise ValueError(f"check {id!r}: an input is a tuple or a mapping of arguments, not {arguments!r}")
    try:
        return json.loads(json.dumps(encoded, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"check {id!r}: the input {arguments!r} must hold JSON values or arrays: {error}") from None


def _encode(value):
    return {"array": value.tolist(), "dtype": str(value.dtype)} if hasattr(value, "dtype") else value


def decode_arguments(case: Mapping) -> tuple[list, dict]:
    """Fresh arguments from an encoded input: whatever one call does to them, the next gets its own."""
    args, kwargs = case.get("args", []), case.get("kwargs", {})
    return [_decode(value) for value in args], {name: _decode(value) for name, value in kwargs.items()}


def _decode(value):
    if isinstance(value, dict) and set(value) == {"array", "dtype"}:
        import numpy as np

        return np.array(value["array"], dtype=value["dtype"])
    return _fresh(value)


def _fresh(value):
    """A copy of a JSON value: twice as fast as `copy.deepcopy`, which also looks for what stands in it twice."""
    if isinstance(value, list):
        return [_fresh(each) for each in value]
    return {name: _fresh(each) for name, each in value.items()} if isinstance(value, dict) else value
