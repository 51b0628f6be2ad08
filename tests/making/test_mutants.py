"""Each family of mutants: an input that does not notice the slip, and one that does; and which drawn inputs the build
gives to learners.
"""

import importlib.util
import random

import pytest

from course_lib.teaching.checks.check import EXACT, Check, Close, public_cases
from course_lib.teaching.checks.check_form import drawn_inputs
from tools import edits, mutants

MODULE = """
import math
from math import ceil

LINE = 64


def scaled(x):
    return 10 * x


def share(part, whole):
    return {"share": part / whole, "whole": whole}


def either(x, doubled=False):
    return 2 * x if doubled else x


def listed(values):
    return [2 * value for value in values]


def weighed(values):
    return sum(at * value for at, value in enumerate(values, 1))


def bill(hours, prices):
    return sum(hour * price for hour, price in zip(hours, prices, strict=True))


def stay(hours, prices, days):
    return sum(hour * price * day for hour, price, day in zip(hours, prices, days, strict=True))


def billed(rows):
    return sum(hour * price for hour, price in rows)


def cheapest(prices):
    return min(prices, key=prices.get)


def first_word(prices):
    return next(iter(prices))


def lines(nbytes):
    return nbytes // LINE


def halved(x):
    return x / 4 + 1


def both(x, y):
    return [x / 4, y + x / 4]


def pages(x):
    return ceil(x / 4)


def parts(x):
    return math.ceil(x / 4)


def blocks(x):
    return -(-x // 4)


def left_over(x):
    return x % 100


def volume(side):
    return side**3


def limited(x, limit):
    return 1 if x < limit else 0


def is_five(x):
    return 1 if x == 5 else 0


def inside(x):
    return 1 if 3 < x and x < 8 else 0


def window(values, count):
    return sum(values[:count])


def whole(values):
    return sum(values)


def greatest(values):
    return max(values)


def nearest(values, x):
    return min(values, key=lambda value: abs(value - x))


def ordered(values):
    return sorted(values, key=abs)


def root(x):
    n = 0
    while n * n < x:
        n += 1
    return n


def divisor(x):
    for n in range(2, x + 1):
        if x % n == 0:
            return n
    return x


def until(values, stop):
    total = 0
    for value in values:
        if value == stop:
            break
        total += value
    return total


def rounded(x):
    return round(x * 10.0, ndigits=2)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutants") / "checks.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("toy_mutants", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_check(module, signature, public, generate=None, same=EXACT, reference=None):
    return Check(
        id="q99.toy",
        points=1,
        signature=signature,
        public=public,
        generate=generate or (lambda rng: public[0]),
        reference=reference or getattr(module, signature.partition("(")[0]),
        same=same,
    )


BY_NAME = ({"a": 1, "b": 2},)

# What is changed, an input that does not notice it, one that does.
ARGUMENTS = {
    "x without its fraction": ("scaled(x)", (3.0,), (2.5,), "x: without its fraction"),
    "x rounded": ("scaled(x)", (120.0,), (123.0,), "x: rounded to 2 digits"),
    "x upside down": ("scaled(x)", (1,), (2,), "x: upside down"),
    "a flag": ("either(x, doubled)", (0, True), (3, True), "doubled: not"),
    "a default": ("either(x, doubled=False)", (3, False), (3, True), "doubled left at its default"),
    "without the second": ("whole(values)", ([4, 0, 5],), ([4, 1, 5],), "values: without the second"),
    "the last only": ("greatest(values)", ([2, 7],), ([7, 2],), "values: the last only"),
    "first and last": ("greatest(values)", ([2, 1, 7],), ([2, 9, 7],), "values: the first and the last only"),
    "the first four": ("whole(values)", ([1, 2, 3, 4],), ([1, 2, 3, 4, 5],), "values: the first four only"),
    "the first five": ("whole(values)", ([1, 2, 3, 4, 5],), ([1] * 6,), "values: the first five only"),
    "the largest": ("whole(values)", ([0, 3],), ([1, 3],), "values: the largest only"),
    "a neighbour looked up": (
        "bill(hours, prices)",
        ([1, 2], [3, 4]),
        ([1, 1], [3, 4]),
        "prices at the place of the first such of hours",
    ),
    "a neighbour in a dictionary": (
        "bill(hours, prices)",
        ([1, 2], [3, 4]),
        ([1, 1], [3, 4]),
        "prices at the place of the last such of hours",
    ),
    "all neighbours looked up": (
        "stay(hours, prices, days)",
        ([1, 2], [3, 4], [5, 6]),
        ([1, 1], [3, 4], [5, 6]),
        "prices and days at the place of the first such of hours",
    ),
    "a record looked up": (
        "billed(rows)",
        ([[1, 3], [2, 4]],),
        ([[1, 3], [1, 4]],),
        "rows: each record the first with its part 0",
    ),
    "a record in a dictionary": (
        "billed(rows)",
        ([[3, 1], [4, 2]],),
        ([[3, 1], [4, 1]],),
        "rows: each record the last with its part 1",
    ),
    "a dictionary of records": (
        "billed(rows)",
        ([[1, 3], [2, 4]],),
        ([[1, 3], [1, 4]],),
        "rows: one record for each part 0",
    ),
    "sorted": ("weighed(values)", ([1, 2],), ([2, 1],), "values: sorted"),
    "sorted down": ("weighed(values)", ([2, 1],), ([1, 2],), "values: sorted, the largest first"),
    "twice": ("greatest(values)", ([2, 7],), None, "values: each value twice"),
    "twice in a sum": ("whole(values)", ([0, 0],), ([2, 7],), "values: each value twice"),
    "a dictionary backwards": ("cheapest(prices)", BY_NAME, ({"b": 1, "a": 1},), "prices: the last written first"),
    "a dictionary by name": ("cheapest(prices)", BY_NAME, ({"b": 1, "a": 1},), "prices: by name"),
    "a dictionary by value": ("first_word(prices)", ({"a": 1, "b": 2},), ({"a": 2, "b": 1},), "prices: by value"),
    "less the first": ("cheapest(prices)", ({"b": 2, "a": 1},), ({"a": 1, "b": 2},), "prices: without the first"),
    "less the last": ("cheapest(prices)", ({"a": 1, "b": 2},), ({"b": 2, "a": 1},), "prices: without the last"),
}
ANSWERS = {
    "cut": ("scaled(x)", (3,), (0.25,), "the answer without its fraction"),
    "up": ("scaled(x)", (3,), (0.25,), "the answer rounded up"),
    "down": ("scaled(x)", (3,), (-0.25,), "the answer rounded down"),
    "2 digits": ("scaled(x)", (12,), (12.5,), "the answer rounded to 2 digits"),
    "3 digits": ("scaled(x)", (12.3,), (12.34,), "the answer rounded to 3 digits"),
    "1 decimal": ("scaled(x)", (0.25,), (0.125,), "the answer rounded to 1 decimal"),
    "2 decimals": ("scaled(x)", (0.125,), (0.0125,), "the answer rounded to 2 decimals"),
    "4 digits": ("scaled(x)", (12.34,), (12.34567,), "the answer rounded to 4 digits"),
    "4 decimals": ("scaled(x)", (0.125,), (0.1234567,), "the answer rounded to 4 decimals"),
    "sign": ("scaled(x)", (1,), (-1,), "the answer without its sign"),
    "floor": ("scaled(x)", (1,), (-1,), "the answer at least 0"),
    "floor of 1": ("scaled(x)", (1,), (0.05,), "the answer at least 1"),
    "ceiling of 1": ("scaled(x)", (0.05,), (1,), "the answer at most 1"),
    "reciprocal": ("scaled(x)", (0.1,), (1,), "the answer upside down"),
    "percent": ("scaled(x)", (0,), (1,), "the answer in percent"),
    "sorted": ("listed(values)", ([1, 2],), ([2, 1],), "the answer sorted"),
    "backwards": ("listed(values)", ([1, 1],), ([1, 2],), "the answer backwards"),
    "one key": ("share(part, whole)", (1, 1), (1, 4), "the answer's 'share' rounded up"),
}
CODE = {
    "a constant": ("scaled(x)", (0,), (1,), "scaled: 10 → 1.1 * 10"),
    "a constant of the module": ("lines(nbytes)", (32,), (640,), "lines: LINE → 1.1 * LINE"),
    "a loop that ends": ("root(x)", (81,), (400,), "root: while n * n < x ends after 10 turns"),
    "a loop that ends late": ("root(x)", (90_000,), (4_000_000,), "root: while n * n < x ends after 1_000 turns"),
    "a search that ends": ("divisor(x)", (35,), (169,), "divisor: for n in range(2, x + 1) ends after 10 turns"),
    "a threshold of whole numbers": ("limited(x, limit)", (3, 5), (5, 5), "limited: x < limit → x < limit + 1"),
    "a threshold": ("limited(x, limit)", (30, 50), (51, 50), "limited: x < limit → x < 1.1 * limit"),
    "equal or less": ("is_five(x)", (6,), (4,), "is_five: x == 5 → x <= 5"),
    "a value on the way": ("halved(x)", (8,), (9,), "halved: x / 4 without its fraction"),
    "digits on the way": ("halved(x)", (8,), (1.2345,), "halved: x / 4 rounded to 3 digits"),
    "2 decimals on the way": ("halved(x)", (8,), (1.23,), "halved: x / 4 rounded to 2 decimals"),
    "4 decimals on the way": ("halved(x)", (1.24,), (1.2345,), "halved: x / 4 rounded to 4 decimals"),
    "a second place": ("both(x, y)", (8, 0.5), (9, 1), "both: x / 4 → x // 4, place 2"),
    "whole division": ("halved(x)", (8,), (9,), "halved: x / 4 → x // 4"),
    "a whole division moved by one": ("lines(nbytes)", (130,), (128,), "lines: nbytes // LINE → (nbytes - 1) // LINE"),
    "a quotient moved by one": ("pages(x)", (9,), (8,), "pages: ceil(x / 4) → ceil((x + 1) / 4)"),
    "rounded up by halves": ("pages(x)", (8,), (12,), "pages: ceil(x / 4) → round(x / 4 + 0.5)"),
    "rounded down, of math": ("parts(x)", (8,), (9,), "parts: math.ceil(x / 4) → __import__('math').floor(x / 4)"),
    "rounded up by halves, of math": ("parts(x)", (8,), (12,), "parts: math.ceil(x / 4) → round(x / 4 + 0.5)"),
    "rounded up whole by halves": ("blocks(x)", (8,), (12,), "blocks: -(-x // 4) → round(x / 4 + 0.5)"),
    "true division": ("lines(nbytes)", (128,), (100,), "lines: nbytes // LINE → nbytes / LINE"),
    "a remainder": ("left_over(x)", (7,), (107,), "left_over: x % 100 → x"),
    "an exponent": ("volume(side)", (1,), (2,), "volume: side ** 3 → side ** (3 + 1)"),
    "the largest for the sum": ("whole(values)", ([5],), ([5, 6],), "whole: sum(values) → max(values)"),
    "the last": ("greatest(values)", ([5, 6],), ([6, 5],), "greatest: max(values) → the last"),
    "a key": ("ordered(values)", ([1, 2],), ([1, -2],), "ordered: sorted(values, key=abs) → sorted(values)"),
    "ties": (
        "nearest(values, x)",
        ([1, 9], 2),
        ([1, 3], 2),
        "nearest: min(values, key=lambda value: abs(value - x)), ties the other way",
    ),
    "a jump": ("until(values, stop)", ([1, 2], 7), ([1, 7, 2], 7), "until: break dropped"),
    "a return in a loop": ("divisor(x)", (7,), (6,), "divisor: return n dropped"),
    "a keyword": ("rounded(x)", (3.0,), (0.123,), "rounded: round(x * 10.0, ndigits=2) → round(x * 10.0)"),
    "an operand": ("inside(x)", (5,), (2,), "inside: 3 < x and x < 8 → x < 8"),
    "counting from zero": (
        "weighed(values)",
        ([0, 0],),
        ([1, 2],),
        "weighed: enumerate(values, 1) → enumerate(values, 0)",
    ),
    "a slice": ("window(values, count)", ([1, 2, 0], 2), ([1, 2, 3], 2), "window: [:count] → [:count + 1]"),
}


@pytest.mark.parametrize(
    ("signature", "blind", "seeing", "name"), [*ARGUMENTS.values(), *ANSWERS.values(), *CODE.values()]
)
def test_an_input_notices_a_slip_or_does_not(module, signature, blind, seeing, name):
    inputs = [blind] if seeing is None else [blind, seeing]
    check = a_check(module, signature, inputs)
    (run,) = [mutant.run for mutant in mutants.mutants(check) if mutant.name == name]
    first, *second = [mutants._Inputs(check, [case]).notice(run) for _, case in check.inputs()]
    assert not first
    assert second == [True] * len(second)


@pytest.mark.parametrize(
    ("signature", "usual", "special", "name"),
    [
        ("scaled(x)", (3,), (0,), "x = 0 refused"),
        ("scaled(x)", (3,), (-4,), "x below 0 refused"),
        ("limited(x, limit)", (3, 5), (5, 5), "x = limit refused"),
        ("limited(x, limit)", (3, 5), (10, 5), "x a multiple of limit refused"),
        ("whole(values)", ([3, 4],), ([3],), "values of length 1 refused"),
        ("whole(values)", ([3, 4],), ([4, 4],), "values with a value twice refused"),
        ("limited(x, limit)", (3, 5), (7, 5), "the answer = 0 refused"),
    ],
)
def test_a_kind_of_input_is_met(module, none_drawn, signature, usual, special, name):
    """An answer that is not ready for a kind of input survives where only drawn inputs are of that kind."""

    def draw(rng):
        return special if rng.random() < 0.5 else usual

    check = a_check(module, signature, [usual], draw)
    assert mutants.Survivor(name, public=False, hidden=True) in mutants.tried(check).survivors
    assert name not in [
        each.name for each in mutants.tried(a_check(module, signature, [usual, special], draw)).survivors
    ]


@pytest.mark.parametrize(
    ("signature", "public", "asked"),
    [
        ("whole(values)", [([3, 4],), ([5, 6, 7],)], ["of length 1", "with a value twice"]),
        ("whole(values)", [([3, 4],), ([5],)], ["with a value twice"]),
        ("whole(values)", [([3, 3],), ([5, 6],)], []),
        ("weighed(values)", [([3, 4],), ([5, 6],)], ["with a value twice"]),
        ("first_word(prices)", [(["a", "b"],), (["c"],)], []),
        ("scaled(x)", [(3,), (4,)], []),
    ],
)
def test_a_list_is_asked_with_a_single_thing_and_with_two_equal_ones(module, signature, public, asked):
    """Though no input, drawn ones among them, is of that kind; not of two equal where things are told apart by name."""
    name = signature.partition("(")[2][:-1]
    found = [each.name for each in mutants.tried(a_check(module, signature, public)).survivors]
    kinds = [each for each in found if each in (f"{name} of length 1 refused", f"{name} with a value twice refused")]
    assert kinds == [f"{name} {kind} refused" for kind in asked]


@pytest.fixture
def none_drawn(monkeypatch):
    monkeypatch.setattr(mutants, "FEWEST", 0)
    monkeypatch.setattr(mutants, "MOST", 0)


def test_an_argument_and_an_answer_are_met_beyond_the_chosen_inputs(module, none_drawn):
    check = a_check(module, "scaled(x)", [(3,), (50,)], lambda rng: (rng.randrange(1, 100),))
    found = [each.name for each in mutants.tried(check).survivors]
    assert {"x: at most 50", "x: at least 3", "the answer at most 500"} < {*found}
    assert "x: at most 3" not in found


def test_a_difference_below_the_tolerance_is_none(module):
    check = a_check(module, "scaled(x)", [(12.34,)], lambda rng: (rng.uniform(1, 99),), Close(rel=0.1))
    names = [each.name for each in mutants.tried(check).survivors]
    assert "the answer rounded to 3 digits" not in names


def test_a_code_edit_keeps_the_rest_of_the_module(module):
    changed = {mutant.name: mutant.run for mutant in edits.of_code(module.lines)}
    assert changed["lines: nbytes // LINE → nbytes / LINE"](100) == 100 / 64
    assert module.lines(100) == 1


def rare(rng):
    """One draw of twenty is negative, which the reference does not tell from what is positive."""
    return (rng.randrange(1, 9) * rng.choice([1] * 19 + [-1]),)


def magnitude(x):
    return abs(x)


def test_a_drawn_input_that_notices_more_is_taken_for_one_of_the_first(module):
    check = a_check(module, "magnitude(x)", [(3,), (5,)], rare, reference=magnitude)
    pool = drawn_inputs(check, mutants.DRAWS)[""]
    drawn = [case for _, case in mutants.tried(check).drawn]
    assert mutants.FEWEST <= len(drawn) <= mutants.MOST
    assert any(case["args"][0] < 0 for case in drawn)
    assert all(case in pool for case in drawn)
    assert mutants.tried(check).drawn == mutants.tried(check).drawn


def test_the_choice_is_greedy_and_filled_up_with_the_first():
    groups, every = ["a"] * 8 + ["b"] * 8, {*range(16)}
    assert mutants._choose(groups, [], [], every) == [0, 1, 2, 3, 8, 9, 10, 11]
    noticing = [{5}, {5, 6}, {6, 7}, {14}]
    assert mutants._choose(groups, noticing, [], every) == [0, 1, 5, 6, 8, 9, 10, 14]
    assert mutants._choose(groups, noticing, [], every - {0, 6}) == [1, 2, 5, 7, 8, 9, 10, 14]
    one_each = [{at} for at in range(8)]
    assert mutants._choose(groups, one_each, [], every) == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    assert mutants._choose(groups, [{5}], [{6, 7}, {5, 3}, {14}], every) == [0, 1, 5, 6, 8, 9, 10, 14]
    assert mutants._choose(groups, one_each[:4], one_each[4:], every) == [0, 1, 2, 3, 8, 9, 10, 11]


def fee(pages, express):
    return pages * 3 + 10 if express else pages * 2


def test_a_slip_on_inputs_of_one_kind_is_met_where_there_is_room(module):
    """The chosen inputs vary the pages, but not of what is express: its pages may be taken for 4."""

    def draw(rng):
        return rng.randrange(3, 9), rng.random() < 0.2

    check = a_check(module, "fee(pages, express)", [(4, False), (7, False), (4, True)], draw, reference=fee)
    assert any(case["args"][1] and case["args"][0] != 4 for _, case in mutants.tried(check).drawn)


def test_chosen_draws_are_built_and_marked(module):
    check = a_check(module, "scaled(x)", [(3,)], lambda rng: (rng.randrange(1, 99),))
    cases = public_cases(check, mutants.tried(check).drawn)["cases"]
    assert [case.get("drawn", False) for case in cases] == [False] + [True] * (len(cases) - 1)


def test_drawn_inputs_differ(module):
    check = a_check(module, "scaled(x)", [(3,)], lambda rng: (rng.randrange(1, 9),))
    found = [case["args"][0] for case in drawn_inputs(check, 60)[""]]
    assert sorted(found) == list(range(1, 9))
    assert found == [case["args"][0] for case in drawn_inputs(check, 60)[""]]
    assert check.draw(random.Random(f"{check.id}  0"))["args"] == found[:1]
