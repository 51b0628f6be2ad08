"""The text whose entropy is known: its floor against counting, its models against counting letter by letter."""

from collections import Counter
from math import exp, log

import numpy as np
import pytest

from course_lib.units.q24_infinite_compute import text
from course_lib.units.q24_infinite_compute.experiments import loss_floor


@pytest.fixture(scope="module")
def source():
    return text.Source()


@pytest.fixture(scope="module")
def long(source):
    return source.text(60_000, seed=3)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_floor_is_that_of_a_long_text(source, long, order):
    """Conditional entropy of the empirical counts of a text, which lies a little below the law's."""
    seen, pairs = Counter(), Counter()
    for place in range(order, len(long)):
        context = tuple(long[place - order : place])
        seen[context] += 1
        pairs[context, long[place]] += 1
    found = -sum(times * log(times / seen[context]) for (context, _), times in pairs.items()) / (len(long) - order)
    assert source.floor(order) == pytest.approx(found, abs=0.02)


def test_the_law_itself_comes_to_its_entropy(source, long):
    assert text.perfect(source, long) == pytest.approx(source.floor(), abs=0.015)


def test_seeing_more_letters_than_the_law_does_not_help(source):
    assert source.floor(0) > source.floor(1) > source.floor(2) == source.floor(3)


@pytest.mark.parametrize("order", text.ORDERS)
def test_evidence_is_the_chance_letter_by_letter(source, order):
    letters = source.text(300, seed=5)
    seen, total = {}, 0.0
    for place in range(max(text.ORDERS), len(letters)):
        row = seen.setdefault(tuple(letters[place - order : place]), [text.BEFORE] * text.SYMBOLS)
        total += log(row[letters[place]] / sum(row))
        row[letters[place]] += 1
    model = text.Counts(order, letters)
    assert model.evidence == pytest.approx(total)
    other = source.text(50, seed=6)
    chances = []
    for place in range(max(text.ORDERS), len(other)):
        row = seen.get(tuple(other[place - order : place]), [1] * text.SYMBOLS)
        chances.append(row[other[place]] / sum(row))
    assert model.chances(other) == pytest.approx(chances)
    assert text.loss([model], [1.0], other) == pytest.approx(-np.mean(np.log(chances)))


def test_the_mean_loses_at_most_ln_5_on_what_it_learned(source):
    for letters in (20, 200, 2000):
        models = [text.Counts(order, source.text(letters, seed=1)) for order in text.ORDERS]
        mixed = log(sum(exp(model.evidence) / 5 for model in models)) if letters < 300 else None
        best = max(model.evidence for model in models)
        assert mixed is None or best - log(5) <= mixed <= best
        assert sum(text.trusted(models)) == pytest.approx(1)


def test_a_model_writes_what_it_has_counted(source):
    model = text.Counts(2, source.text(20_000, seed=1))
    again = text.Counts(2, model.write(60_000, seed=2))
    assert text.loss([again], [1.0], source.text(5_000, seed=4)) == pytest.approx(
        text.loss([model], [1.0], source.text(5_000, seed=4)), abs=0.02
    )


def test_half_a_nat_for_each_free_number(source):
    assert text.excess(2, 100_000, source) == pytest.approx(64 * 7 / 200_000)
    assert text.excess(2, 4_000, source) is None
    cases = {case.name: case for case in loss_floor.cases(None, True)}
    found = cases["order 2, 10,000 letters"].observe(None, 0)[0]
    assert found == pytest.approx(text.excess(2, 10_000, source), rel=0.4)
