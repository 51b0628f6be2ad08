"""What is built is the same on every processor: other kernels of BLAS, numpy and torch write the same bytes."""

import json
import math
import os
import subprocess
import sys

import pytest

from course_lib.teaching.checks import check_form
from course_lib.teaching.checks.check_form import rounded
from tests.teaching.checks.toy_checks import a_check
from tools import mutants
from tools.build import ROOT

PRINT_CASES = """
import json
from course_lib.teaching.checks import check_form
from tools.build import ROOT
from tools.source import load_checks, units
from tools.trials import tried
folders = {folder: load_checks(folder, ROOT) for folder in units(ROOT)}
checks = [check for each in folders.values() for check in each]
drawn = {id: one.drawn for folder in folders for id, one in tried(folder, ROOT).items()}
built = [check_form.public_cases(check, drawn[check.id]) for check in checks]
check_form.rounded = lambda value: value
print(json.dumps([built, [check_form.public_cases(check) for check in checks]]))
"""
# On a processor of another family these change nothing, and numpy says so.
KERNELS = {
    "here": {},
    "no vector units": {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    "AVX2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
}


@pytest.fixture(scope="module")
def cases() -> list:
    """The public cases of all units with each set of kernels: as they are built, those that are drawn among them, and
    those that were chosen, before their floats are rounded.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PRINT_CASES],
            cwd=ROOT,
            env=os.environ | kernels,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kernels in KERNELS.values()
    ]
    return [json.loads(process.communicate()[0]) for process in processes]


@pytest.mark.slow
def test_other_kernels_write_the_same_cases(cases):
    here, *others = [built for built, _ in cases]
    assert others == [here] * len(others)


@pytest.mark.slow
def test_no_value_lies_where_another_processor_could_round_it_otherwise(cases):
    """A remedy for a value that does: another public input. (Drawn ones are chosen so.)"""
    unrounded = [chosen for _, chosen in cases]
    values = [seen for seen in zip(*map(leaves, unrounded), strict=True) if isinstance(seen[0], float)]
    assert len(values) > 100
    assert [seen for seen in values if not steady(seen)] == []


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        yield value
        return
    for each in value:
        yield from leaves(each)


def steady(seen: tuple[float, ...]) -> bool:
    """Whether a value still rounds alike where a further processor differs by twice as much as these do, and by four
    last places at least; a value that needs no rounding is exact everywhere.
    """
    low, high = min(seen), max(seen)
    if low == high == rounded(low):
        return True
    room = max(2 * (high - low), 4 * math.ulp(high))
    return rounded(low - room) == rounded(high + room)


@pytest.mark.parametrize(
    ("seen", "steadily"),
    [
        ((1 / 3, 1 / 3), True),
        ((0.5, 0.5), True),
        ((0.1234567890125, 0.1234567890125), False),
        ((0.12345678901241, 0.12345678901245), False),
    ],
)
def test_steady(seen, steadily):
    assert steady(seen) == steadily


def test_rounded():
    assert rounded({"a": [1 / 3, 2, True, None, "0.1234567890123456"]}) == {
        "a": [0.333333333333, 2, True, None, "0.1234567890123456"]
    }
    assert rounded(123456789.123456789) == 123456789.123


def test_chosen_draws_lie_where_all_processors_round_alike():
    edge = 0.1234567890125
    assert not check_form.steady({"a": [1, edge]})
    assert check_form.steady({"a": [1, 1 / 3, 0.5, "x", None, True]})
    check = a_check(generate=lambda rng: (rng.choice([edge, 1.5]), 1.0))
    assert len(check_form.drawn_inputs(check, 8)[""]) == 2
    assert mutants.tried(check).drawn == [("", {"args": [1.5, 1.0]})]
    with pytest.raises(ValueError, match="no drawn input has answers that all processors round alike"):
        mutants.tried(a_check(generate=lambda rng: (edge, 1.0)))
