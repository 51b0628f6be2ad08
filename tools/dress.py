"""A right answer in another dress: the reference, computed in single precision, in numpy's whole numbers, or in another
order.

Learners answer with torch as well, which computes in float32, and with numpy, whose whole numbers end at 2**63. Such an
answer is as right as the reference, so a check must hold it, on its public inputs and on any drawn one.
(`tests/exercises` hands answers back as arrays of numpy and torch.)
"""

import operator
import random
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np

from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import call_text, decode_arguments, expected
from course_lib.teaching.checks.check_values import plain
from tools import edits

DRAWS = 60


class FractionsError(Exception):
    """The reference computes in fractions, which are exact: it says nothing of float32."""


class Single(float):
    """A float whose sums, differences, products, quotients and powers are rounded to float32."""

    def as_integer_ratio(self):
        raise FractionsError


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
    """The inputs, in sentences, on which a right answer in float32, or in whole numbers of numpy, is refused."""
    if check.unit is not None:
        return []
    cases = _cases(check, draws)
    return [
        f"check {check.id!r}: the right answer in {how} is refused on {call_text(check.signature, refused)}"
        for how, dressed in {"float32": _single_number, "whole numbers of numpy": _whole_number}.items()
        if (refused := next((case for case in cases if not _holds(check, case, dressed)), None)) is not None
    ]


def refused_orders(check: Check, draws: int = DRAWS) -> dict[str, str]:
    """Name of a piece of arithmetic in another order -> the call, in words, on which the answer that has it so is
    refused.
    """
    if check.unit is not None:
        return {}
    cases, found = [(case, expected(check, case)) for case in _cases(check, draws)], {}
    for other in edits.reordered(check.reference):
        with suppress(TypeError):  # not of numbers
            refused = (case for case, right in cases if check.same.distance(_said(other.run, case), right) > 1)
            if (case := next(refused, None)) is not None:
                found[other.name] = call_text(check.signature, case)
    return found


def _said(run: Callable, case: Mapping):
    args, kwargs = decode_arguments(case)
    return plain(run(*args, **kwargs))


def _cases(check: Check, draws: int) -> list[dict]:
    drawn = [check.draw(random.Random(seed), group) for group in check.group_points() for seed in range(draws)]
    return [*(case for _, case in check.inputs()), *drawn]


def _holds(check: Check, case: Mapping, dressed: Callable) -> bool:
    """Whether the reference is still right where each number that it is given is `dressed`."""
    args, kwargs = decode_arguments(case)
    args, kwargs = (
        [_each(value, dressed) for value in args],
        {key: _each(value, dressed) for key, value in kwargs.items()},
    )
    try:
        with np.errstate(all="ignore", over="raise" if dressed is _whole_number else "ignore"):
            value = check.reference(*args, **kwargs)
    except FractionsError:
        return True
    except (FloatingPointError, OverflowError):
        return False
    return check.same.distance(plain(value), expected(check, case)) <= 1


def _single_number(value):
    if hasattr(value, "dtype"):
        return value.astype(np.float32) if value.dtype.kind == "f" else value
    return Single(np.float32(value)) if type(value) is float else value


def _whole_number(value):
    return np.int64(value) if type(value) is int and abs(value) < 2**63 else value


def _each(value, dressed: Callable):
    """An argument with each number in it dressed."""
    if isinstance(value, list):
        return [_each(each, dressed) for each in value]
    if isinstance(value, dict):
        return {key: _each(each, dressed) for key, each in value.items()}
    return dressed(value)
