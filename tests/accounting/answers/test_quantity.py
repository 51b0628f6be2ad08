"""A quantity: its value is that of plain arithmetic, and its text evaluates to its value, whatever the expression."""

import copy
import math
import pickle
import re
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.accounting.answers import quantity
from course_lib.accounting.answers.quantity import ceil, formula, largest, numbers, product, smallest, symbol, total


def evaluate(text: str, values=None):
    """The value of a formula of whole numbers, or of symbols with `values`."""
    text = text.replace("⌈", "ceil(").replace("⌉", ")").replace("·", "*")
    text = re.sub(r"(?<![\w.])(\d+)", r"Fraction(\1)", text)
    functions = {"Fraction": Fraction, "__builtins__": {}, "ceil": math.ceil, "min": min, "max": max}
    return eval(text, functions | (values or {}))


VALUES = {"a": 0, "b": 1, "c": 2, "d": 7, "e": 12, "f": -3}
LEAVES = [(symbol(name, value, f"meaning of {name}"), value) for name, value in VALUES.items()]
leaves = st.one_of(st.sampled_from(LEAVES), st.integers(-2, 9).map(lambda n: (quantity.of(n), n)))


def joined(pairs):
    """Pairs (quantity, the same by plain integers) from pairs of them."""

    def whole(one, other):  # an exact division: of a product by one of its factors
        (a, x), (b, y) = one, other
        return ((a * b) // b, x) if y else (a, x)

    def rounded(one, other):
        (a, x), (b, y) = one, other
        return (ceil(a, b), -(-x // y)) if y > 0 else (a, x)

    two = st.tuples(pairs, pairs)
    return st.one_of(
        two.map(lambda p: (p[0][0] + p[1][0], p[0][1] + p[1][1])),
        two.map(lambda p: (p[0][0] - p[1][0], p[0][1] - p[1][1])),
        two.map(lambda p: (p[0][0] * p[1][0], p[0][1] * p[1][1])),
        two.map(lambda p: (largest(p[0][0], p[1][0]), max(p[0][1], p[1][1]))),
        two.map(lambda p: (smallest(p[0][0], p[1][0]), min(p[0][1], p[1][1]))),
        two.map(lambda p: whole(*p)),
        two.map(lambda p: rounded(*p)),
        st.lists(pairs, min_size=1, max_size=4).map(lambda p: (total(q for q, _ in p), sum(n for _, n in p))),
        st.lists(pairs, min_size=1, max_size=4).map(
            lambda p: (product(*(q for q, _ in p)), math.prod(n for _, n in p))
        ),
    )


@given(st.recursive(leaves, joined, max_leaves=12))
@example((LEAVES[3][0] - (LEAVES[4][0] - LEAVES[2][0]), -3))
@example((LEAVES[3][0] * (LEAVES[4][0] // 4), 21))
@example(((LEAVES[4][0] * 4) // (LEAVES[2][0] + LEAVES[2][0]), 12))  # the divisor prints as a product
@example((-(LEAVES[2][0] + LEAVES[3][0]) * LEAVES[1][0] // LEAVES[1][0], -9))  # as does a dividend of several terms
@settings(max_examples=1000)
def test_value_and_both_texts_are_those_of_plain_arithmetic(pair):
    made, expected = pair
    assert made.value == made == expected
    assert evaluate(numbers(made)) == expected, formula(made)
    assert evaluate(formula(made), VALUES) == expected, formula(made)


d, f, L, B = (
    symbol(name, value, name)
    for name, value in (
        (
            "d",
            8,
        ),
        ("f", 32),
        ("L", 4),
        ("B", 3),
    )
)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (2 * d * f + f, "2·d·f + f"),
        (4 * B * d + 8 * d * B, "12·B·d"),  # equal terms meet
        (L - L, "0"),
        (d - (B - L), "d - B + L"),
        ((d + True) * (f + False), "(d + 1)·f"),  # a bias that is there, and one that is not
        (L * (2 * d) + d, "L·2·d + d"),
        (B * (d * (d + 1) // 2) * f, "B·f·d·(d + 1)/2"),  # a quotient stands last
        (d / (B * f), "d/(B·f)"),
        (ceil(d * f, B), "⌈d·f/B⌉"),
        (total([product(64, 3, 7, 7)] * 2 + [product(64, 3, 5, 5)]), "2·64·3·7·7 + 64·3·5·5"),  # bare numbers stay
        (B * product(2, 64, 1, 1) - B * product(2, 64, 1, 1) + product(5, 1), "5·1"),  # a 1 of a product is shown
        (2 * d - d, "d"),
        (2.0**-d, "2^(-d)"),
        (quantity.root(d / (6 * B)), "√(d/(6·B))"),
        (quantity.doublings(d) * B, "⌈log2(d)⌉·B"),
    ],
)
def test_formulas_read_as_one_would_write_them(made, text):
    assert formula(made) == text


def test_an_exact_division_refuses_a_rest():
    with pytest.raises(ValueError, match=r"d = 8 = 8 is no multiple of B = 3"):
        d // B


def test_two_symbols_of_one_name_get_an_index_and_a_definition_stands_behind_its_meaning():
    dense, expert = symbol("f", 32, "width of the MLP"), symbol("f", 4 * d, "width of an expert")
    lines, meanings = quantity.explain({"mlp": d * dense + d * expert}, lambda name, value: f"{value} B")
    assert lines == ["mlp = d·f₁ + d·f₂ = 8·32 + 8·32 = 512 B"]
    assert meanings == ["d: d", "f₁: width of the MLP", "f₂: width of an expert = 4·d = 4·8 = 32"]


def test_a_quantity_is_copied_and_pickled_and_hashes_as_its_value():
    made = L * (2 * d + f)
    for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (twin, formula(twin), hash(twin)) == (made, formula(made), hash(192))


def test_a_sum_of_thousands_and_a_product_of_hundreds_do_not_recurse():
    made = sum([d + i for i in range(3000)], start=quantity.NOTHING)
    assert made == 8 * 3000 + 2999 * 1500
    assert formula(made).startswith("3000·d + 1 + 2 + 3")
    deep = d
    for _ in range(1500):
        deep = deep * symbol("x", 1, "one")
    assert deep == 8
    assert formula(deep).startswith("d·x·x")
