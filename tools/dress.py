"""A right answer in another dress: the reference, computed in single precision.

Learners answer with torch as well, which computes in float32. Such an answer is as right as the reference, so the
tolerance of a check must hold it, on its public inputs and on any drawn one. (`tests/exercises` hands answers back as
arrays of numpy and torch.)
"""

import operator
import random

import numpy as np

from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import call_text, decode_arguments, expected
from course_lib.teaching.checks.check_values import plain

DRAWS = 60


class Single(float):
    """A float whose sums, differences, products, quotients and powers are rounded to float32."""


def _single(name: str):
    apply = getattr(operator, name)

    def forward(self, other):
        return Single(np.float32(apply(np.float32(self), np.float32(other)))) if _number(other) else NotImplemented

    def backward(self, other):
        return Single(np.float32(apply(np.float32(other), np.float32(self)))) if _number(other) else NotImplemented

    return forward, backward


def _number(value) -> bool:
    return isinstance(value, (int, float))


for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _method, _function in zip((f"__{_name}__", f"__r{_name}__"), _single(_name), strict=True):
        setattr(Single, _method, _function)


def faults(check: Check, draws: int = DRAWS) -> list[str]:
    """The input, in a sentence, on which a right answer in single precision would be refused.

    A check that wants an exact answer is not asked: what is counted is not computed in float32.
    """
    if check.unit is not None or not (check.same.rel or check.same.abs):
        return []
    drawn = [check.draw(random.Random(seed), group) for group in check.group_points() for seed in range(draws)]
    for case in [*(case for _, case in check.inputs()), *drawn]:
        args, kwargs = decode_arguments(case)
        with np.errstate(all="ignore"):
            value = check.reference(*map(_rounded, args), **{name: _rounded(each) for name, each in kwargs.items()})
        if not check.same.distance(plain(value), expected(check, case)) <= 1:
            return [f"check {check.id!r}: the right answer in float32 is refused on {call_text(check.signature, case)}"]
    return []


def _rounded(value):
    """An argument with each float in single precision."""
    if type(value) is float:
        return Single(np.float32(value))
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return value.astype(np.float32) if hasattr(value, "dtype") and value.dtype.kind == "f" else value
