"""The form in which an exercise's check is written, and the data that the build makes of it.

A check is a function that the learner completes, a few public inputs, the reference, and known wrong answers, each
with the sentence that sets it right. Its author writes a `Check` in `lessons/<unit>/checks.py`. The build turns it,
by `public_cases`, into `checks.json`: inputs, right outputs and the outputs of each known wrong answer, but no code.
"""

import ast
import copy
import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from course_lib.teaching.check_values import Close, is_number, plain, short

DRAWS = 100
"""Inputs that `faults` draws to see that the right answer and each known wrong one stay apart."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One graded function.

    id         `<unit prefix>.<kebab-name>`, as in `check("q05.ridge", …)`.
    points     what a right answer scores in nbgrader; all or nothing.
    signature  as the learner sees it: `"intensity(flops, nbytes)"`.
    public     inputs that the learner may see: each a tuple of positional arguments or a mapping of keyword arguments,
               of JSON values or numeric numpy arrays.
    generate   draws one more such input from a `random.Random`; hidden inputs come from it.
    reference  the right function; takes and returns JSON values or numeric arrays, all numbers finite.
    same       when two answers are equal.
    wrong      name -> (function, message): an answer that people give, and the sentence that sets it right.
    allow      modules, e.g. "course_lib.accounting", that a graded run lets the learner import; the exercise says so.
    insight    one sentence that a right answer earns: what to take away from the exercise.

    `faults` says what the functions must fulfil together.
    """

    id: str
    points: float
    signature: str
    public: Sequence
    generate: Callable[[random.Random], tuple | Mapping]
    reference: Callable
    same: Close = field(default_factory=Close)
    wrong: Mapping[str, tuple[Callable, str]] = field(default_factory=dict)
    allow: Sequence[str] = ()
    insight: str = ""

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+\.[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise ValueError(f"a check's id is <unit prefix>.<kebab-name>, such as 'q05.ridge', not {self.id!r}")
        if not (is_number(self.points) and 0 < self.points < math.inf):
            raise ValueError(f"check {self.id!r}: points must be a positive number, not {self.points!r}")
        if not self.public:
            raise ValueError(f"check {self.id!r}: public must hold at least one input")
        _parameters(self.signature)


def public_cases(check: Check) -> dict:
    """`check` as data for `checks.json`: no code, but what the reference and each wrong answer give in public.

    Raises `ValueError` naming the check if one of them fails or returns what JSON cannot hold.
    """
    cases = [_encode_arguments(arguments, check.id) for arguments in check.public]
    return {
        "points": check.points,
        "signature": check.signature,
        "same": {"rel": check.same.rel, "abs": check.same.abs},
        "allow": list(check.allow),
        "insight": check.insight,
        "cases": [
            {"input": case, "expected": _output(check, "the reference", check.reference, case)} for case in cases
        ],
        "wrong": [
            {
                "name": name,
                "message": message,
                "outputs": [_output(check, f"wrong[{name!r}]", fn, case) for case in cases],
            }
            for name, (fn, message) in check.wrong.items()
        ],
    }


def faults(check: Check, draws: int = DRAWS) -> list[str]:
    """What is wrong with `check` itself, in sentences; empty if nothing is. The build refuses a check that has any.

    More than three tolerances must lie between the right answer and each known wrong one, on every drawn input and
    on at least one public input, and between any two known wrong ones on a public input: else a message goes to the
    wrong learner.
    """
    try:
        data = public_cases(check)
        answers = {"the right answer": [case["expected"] for case in data["cases"]]}
        answers |= {f"wrong[{wrong['name']!r}]": wrong["outputs"] for wrong in data["wrong"]}
        found = [
            f"check {check.id!r}: no public input tells {other} from {one}"
            for i, one in enumerate(answers)
            for other in list(answers)[i + 1 :]
            if all(check.same.distance(a, b) <= 3 for a, b in zip(answers[other], answers[one], strict=True))
        ]
        for seed in range(draws):
            case = _encode_arguments(check.generate(random.Random(seed)), check.id)
            right = _output(check, "the reference", check.reference, case)
            for name, (fn, _) in check.wrong.items():
                if check.same.distance(_output(check, f"wrong[{name!r}]", fn, case), right) <= 3:
                    call = call_text(check.signature, case)
                    found.append(
                        f"check {check.id!r}: wrong[{name!r}] is within three tolerances of the right answer on {call}"
                    )
    except ValueError as error:
        return [str(error)]
    return list(dict.fromkeys(found))


def _output(check: Check, who: str, fn: Callable, case: Mapping):
    """What `fn` returns for an encoded input, as plain finite JSON values."""
    args, kwargs = decode_arguments(case)
    try:
        value = plain(fn(*args, **kwargs))
        if json.loads(json.dumps(value, allow_nan=False)) != value:
            raise TypeError("the keys of a dictionary must be text")
    except Exception as error:
        call = call_text(check.signature, case)
        raise ValueError(f"check {check.id!r}: {who} gives no finite JSON value on {call}: {error!r}") from error
    return value


def _parameters(signature: str) -> list[str]:
    """The parameter names of `"f(a, b=2)"`."""
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except SyntaxError:
        raise ValueError(f"signature must look like 'ridge(peak, bandwidth)', not {signature!r}") from None
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def call_text(signature: str, case: Mapping) -> str:
    """The call as the learner would write it: `ridge(peak=989e12, bandwidth=3.35e12)`."""
    args, kwargs = decode_arguments(case)
    named = dict(zip(_parameters(signature), args, strict=False)) | kwargs
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
    return copy.deepcopy(value)
