"""The trials of a check find the slips that its inputs cannot notice, and right answers that its tolerance refuses."""

import importlib.util
import math
from fractions import Fraction

import pytest

from course_lib.teaching.checks.check import EXACT, Check, Close
from tools import dress, edits, mutants, trials

MODULE = """
from math import ceil


def area(m, n):
    return m * n


def pages(tokens, page, spare):
    return ceil(tokens / page) + spare


def largest(values):
    return max(values)


def total(values):
    return sum(values)


def waits(n):
    while n > 1:
        n = n - 1
    return n


def never(n, wide=False):
    return n * n * n if wide else n
"""


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "checks.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("toy_references", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda name: getattr(module, name)


def a_check(reference, signature, public, generate, same=EXACT):
    return Check(
        id="q99.toy",
        points=1,
        signature=signature,
        public=public,
        generate=generate,
        reference=reference(signature.partition("(")[0]),
        same=same,
    )


def draw_pages(rng):
    return rng.randrange(1, 999), rng.choice([8, 16]), rng.randrange(4)


@pytest.fixture
def none_drawn(monkeypatch):
    """No drawn input is given to learners: what the chosen ones do not notice survives."""
    monkeypatch.setattr(mutants, "FEWEST", 0)
    monkeypatch.setattr(mutants, "MOST", 0)


def names(check):
    return [survivor.name for survivor in mutants.tried(check).survivors]


def test_an_argument_that_public_inputs_never_vary_is_found(reference, none_drawn):
    check = a_check(reference, "pages(tokens, page, spare)", [(5, 16, 1), (37, 16, 3), (32, 16, 2)], draw_pages)
    assert "page frozen at 16" in names(check)
    check = a_check(reference, "pages(tokens, page, spare)", [(5, 16, 1), (37, 16, 3), (32, 8, 0)], draw_pages)
    assert not [name for name in names(check) if "frozen" in name]


def test_a_whole_quotient_tells_ceil_from_the_next_number(reference, none_drawn):
    def never_whole(rng):
        return 16 * rng.randrange(1, 99) + rng.randrange(1, 16), 16, rng.randrange(4)

    name, public = (
        "pages: ceil(tokens / page) → int(tokens / page) + 1",
        [(5, 16, 1), (37, 8, 3), (40, 16, 0), (32, 16, 2)],
    )
    found = mutants.tried(a_check(reference, "pages(tokens, page, spare)", public[:3], draw_pages)).survivors
    assert mutants.Survivor(name, public=False, hidden=True) in found
    found = mutants.tried(a_check(reference, "pages(tokens, page, spare)", public, never_whole)).survivors
    assert mutants.Survivor(name, public=True, hidden=False) in found


def test_a_symmetric_reference_may_have_its_arguments_swapped(reference):
    assert names(a_check(reference, "area(m, n)", [(3, 5), (4, 7)], lambda rng: (rng.random(), rng.random()))) == []


def test_code_that_the_reference_never_reaches_is_not_tried(reference):
    assert names(a_check(reference, "never(n)", [(3,), (5,)], lambda rng: (rng.randrange(2, 9),))) == []


def test_one_element_hides_the_smallest_and_the_largest(reference, none_drawn):
    check = a_check(reference, "largest(values)", [([3],)], lambda rng: ([rng.random(), rng.random()],))
    assert "largest: max(values) → min(values)" in names(check)


def test_a_part_of_a_list_is_not_the_list(reference, none_drawn):
    """Public lists of three without a repeated value: answers that stop there, or count each value once, pass."""

    def draw(rng):
        return (rng.choices(range(1, 9), k=5),)

    check = a_check(reference, "total(values)", [([3, 1, 2],), ([5, 4],)], draw)
    short = {"values: the first three only", "values: each value once"}
    assert short < {*names(check)}
    assert short.isdisjoint(names(a_check(reference, "total(values)", [([3, 1, 2, 2],), ([5, 4],)], draw)))


def test_a_mutant_that_never_ends_is_noticed(reference, monkeypatch):
    monkeypatch.setattr(mutants, "SECONDS", 0.05)
    check = a_check(reference, "waits(n)", [(3,), (7,)], lambda rng: (rng.randrange(2, 9),))
    found = {mutant.name: mutant.run for mutant in mutants.mutants(check)}
    assert mutants._Inputs(check, [{"args": [3]}]).notice(found["waits: n - 1 → n"])


def softmax(scores, values):
    weights = [math.exp(score) for score in scores]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def draw_softmax(rng):
    return [rng.uniform(-3, 3) for _ in range(5)], [rng.uniform(-1, 1) for _ in range(5)]


@pytest.mark.parametrize(("same", "refused"), [(Close(rel=1e-9), True), (Close(rel=1e-4, abs=1e-5), False)])
def test_a_tolerance_that_refuses_float32(same, refused):
    check = Check(
        id="q99.softmax",
        points=1,
        signature="softmax(scores, values)",
        public=[([0.1, 0.7], [1.0, -1.0])],
        generate=draw_softmax,
        reference=softmax,
        same=same,
    )
    assert bool(dress.faults(check)) == refused


def whole_quotient(peak, bandwidth):
    return math.ceil(3 * peak / bandwidth)


def in_fractions(peak, bandwidth):
    return math.ceil(3 * Fraction(peak) / Fraction(bandwidth))


def product(one, other):
    return one * other // 2


@pytest.mark.parametrize(
    ("reference", "given", "refused"),
    [
        (whole_quotient, (1.3e12, 0.1e12), "float32"),  # where 39 is a little more
        (whole_quotient, (2.0**43, 2.0**39), None),
        (in_fractions, (1.3e12, 0.1e12), None),
        (product, (2**40, 2**30), "whole numbers of numpy"),
        (product, (2**30, 2**30), None),
    ],
)
def test_what_is_counted_is_right_in_float32_and_in_whole_numbers_of_numpy(reference, given, refused):
    check = Check(
        id="q99.count",
        points=1,
        signature=f"{reference.__name__}(one, other)" if reference is product else "count(peak, bandwidth)",
        public=[given],
        generate=lambda rng: given,
        reference=reference,
        same=EXACT,
    )
    found = dress.faults(check)
    assert [refused in fault for fault in found] == [True] if refused else found == []


def rank(m, n):
    return math.ceil(m * n / (m + n)) - 1


def rate(m, n):
    return m * n / (m + n)


def fits(m, n):
    return m + n <= 0.7


def below(m, n):
    return m <= n


@pytest.mark.parametrize(
    ("reference", "given", "same", "refused"),
    [
        (rank, (630, 990), EXACT, ["rank: m * n / (m + n) → m * (n / (m + n))"]),  # where 385 is a little more
        (rank, (5, 10), EXACT, []),
        (rate, (630, 990), EXACT, ["rate: m * n / (m + n) → m * (n / (m + n))"]),
        (rate, (630, 990), Close(), []),
    ],
)
def test_a_right_answer_in_another_order(reference, given, same, refused):
    found = dress.refused_orders(_order(reference, given, same))
    assert [name for name in found if "(n / (m + n))" in name] == refused
    assert set(found.values()) <= {f"{reference.__name__}(m=630, n=990)"}


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ((0.2, 0.5), ["fits: m + n <= 0.7 → m <= 0.7 - n"]),  # 0.7 - 0.5 is a little less than 0.2
        ((0.25, 0.5), []),
        ((0.2, 0.4), []),
    ],
)
def test_a_right_comparison_with_a_part_on_the_other_side(given, refused):
    assert list(dress.refused_orders(_order(fits, given))) == refused


def _order(reference, given, same=EXACT):
    return Check(
        id="q99.order",
        points=1,
        signature=f"{reference.__name__}(m, n)",
        public=[given],
        generate=lambda rng: given,
        reference=reference,
        same=same,
    )


def test_both_sides_of_a_comparison_in_another_unit():
    names = [each.name for each in edits.reordered(below)]
    units = ("0.001", "1000.0", "1000000.0", "1000000000.0")
    assert names == [f"below: m <= n → m * {unit} <= n * {unit}" for unit in units]


def test_single_precision_rounds_every_step():
    small, one = dress.Single(2**-24), dress.Single(1.0)
    assert one + small == 1
    assert small + 1.0 == 1
    assert float(one) + float(small) > 1
    assert dress.Single(0.1) * 1.0 != 0.1


@pytest.fixture
def asked(monkeypatch):
    """The ids of the checks that were tried, one by one; `asked.meanwhile` is called in the middle of each."""

    def faults(check):
        asked.append(check.id)
        asked.meanwhile()
        return []

    class Asked(list):
        meanwhile = staticmethod(lambda: None)

    asked = Asked()
    monkeypatch.setattr(trials, "faults", faults)
    return asked


def test_trials_are_kept_until_the_unit_changes(toy, asked):
    first = trials.tried(toy.unit, toy.root)
    assert first["q99.twice"].faults == []
    assert len(first["q99.twice"].drawn) == mutants.FEWEST
    assert trials.tried(toy.unit, toy.root) == first
    assert asked == ["q99.twice"]
    (toy.root / trials.KEPT / "q99_toy.json").write_text("{")
    assert trials.tried(toy.unit, toy.root) == first
    assert asked == ["q99.twice"] * 2
    toy.edit("checks.py", "return x * x", "return x * x * x")
    trials.tried(toy.unit, toy.root)
    assert asked == ["q99.twice"] * 3


def test_trials_are_not_kept_when_the_unit_changes_meanwhile(toy, asked):
    asked.meanwhile = lambda: toy.edit("checks.py", "return x * x", "return x * x * x")
    trials.tried(toy.unit, toy.root)
    asked.meanwhile = lambda: None
    trials.tried(toy.unit, toy.root)
    assert asked == ["q99.twice"] * 2


def test_trials_are_not_kept_by_a_process_with_another_library(toy, asked, monkeypatch):
    monkeypatch.setattr(trials, "AS_IMPORTED", "of a library that was changed since")
    trials.tried(toy.unit, toy.root)
    trials.tried(toy.unit, toy.root)
    assert asked == ["q99.twice"] * 2
