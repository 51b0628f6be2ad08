"""`check` on small checks of its own: right answers of every type, wrong ones, ids, the record, what is shown."""

import decimal
import fractions
import json
import math
import os
import re

import numpy as np
import pytest

from course_lib import units
from course_lib.teaching.checks.check import check, public_cases
from course_lib.teaching.checks.check_values import plain
from course_lib.teaching.record import record
from tests.teaching.checks.toy_checks import CHECKS, a_check

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("unit")


# ------------------------------------------------------------------------------------------------------ right answers


def with_torch(flops, nbytes):
    return torch.tensor(flops / nbytes, dtype=torch.float64, requires_grad=True)


RIGHT = {
    "float": lambda flops, nbytes: flops / nbytes,
    "numpy scalar": lambda flops, nbytes: np.float64(flops / nbytes),
    "numpy array of no dimension": lambda flops, nbytes: np.array(flops / nbytes),
    "single precision": lambda flops, nbytes: np.float32(flops / nbytes),
    "torch": with_torch,
    "nearly": lambda flops, nbytes: flops / nbytes * (1 + 9e-7),
    "with defaults": lambda flops, nbytes=1, more=0: flops / nbytes + more,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    result = check("q99.intensity", RIGHT[name])
    assert (result.passed, result.outcome, result.score, result.points) == (True, "right", 2, 2), result
    assert repr(result) == result.message == "Right on every example. Score: 2 of 2."


def test_an_insight_follows_a_right_answer_only(unit):
    one = a_check(insight="Intensity belongs to a *shape*.")
    unit.hold(one)
    assert check(one.id, RIGHT["float"]).message == (
        "Right on every example. Score: 2 of 2.\nIntensity belongs to a *shape*."
    )
    assert "shape" not in check(one.id, lambda flops, nbytes: 1).message


def test_data_built_before_there_were_insights(unit):
    one = public_cases(CHECKS[0])
    del one["insight"]
    unit.write({"q99.intensity": one})
    assert check("q99.intensity", RIGHT["float"]).message == "Right on every example. Score: 2 of 2."


def table(rows):
    each = tuple({"row": np.int64(r), "even": np.bool_(r % 2 == 0)} for r in rows)
    return {"sum": float(sum(rows)), "each": each, "unit": None}


@pytest.mark.parametrize(
    ("id", "fn"),
    [
        ("q99.table", table),
        ("q99.names", lambda n: np.array(["a"] * n)),
        ("q99.mean", lambda x, axis: x.mean(axis)),
        ("q99.count", lambda n: n),
        ("q99.zero", lambda x: -1e-9),
    ],
)
def test_right_answers_of_other_forms(id, fn):
    assert check(id, fn).passed, check(id, fn)


def test_an_input_changed_in_place_does_not_reach_the_next_call():
    def ordered(values):
        values.sort()
        kept.append(values)
        assert len(kept) < 2 or kept[0] is not kept[1]
        return values

    kept = []
    assert check("q99.sort", ordered).passed


def test_an_answer_changed_afterwards_counts_as_it_was_returned():
    answer = []

    def ordered(values):
        answer[:] = sorted(values) if not answer else [0, 0]
        return answer

    assert not check("q99.sort", ordered).passed
    assert "[0, 0]" in check("q99.sort", lambda values: [0, 0]).message


# ------------------------------------------------------------------------------------------------------ wrong answers


def test_a_known_wrong_answer_gets_its_message():
    result = check("q99.intensity", lambda flops, nbytes: nbytes / flops)
    assert (result.outcome, result.diagnosis, result.score) == ("wrong", "upside down", 0)
    assert result.message == ("Not yet: `intensity(flops=10, nbytes=4)` returned 0.4. You divided bytes by FLOPs.")


def test_a_diagnosis_needs_every_example():
    result = check("q99.intensity", lambda flops, nbytes: nbytes / flops if nbytes == 4 else 1.0)
    assert result.diagnosis is None
    assert "You divided" not in result.message


@pytest.mark.parametrize(("raises_at", "diagnosis"), [(5, "upside down"), (4, "upside down"), (3, None)])
def test_three_answers_before_an_error_are_enough_for_a_diagnosis(unit, raises_at, diagnosis):
    unit.hold(a_check(public=[(10, 4), (9, 2), (8, 3), (7, 5)]))
    calls = []

    def upside_down(flops, nbytes):
        calls.append(nbytes)
        return nbytes / flops if len(calls) < raises_at else 1 / 0

    assert check("q99.intensity", upside_down).diagnosis == diagnosis


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda flops, nbytes: 3 * flops / nbytes, "returned 7.5; `result` is too large by a factor of 3."),
        (lambda flops, nbytes: flops / nbytes / 8, "is too small by a factor of 8."),
        (lambda flops, nbytes: flops / nbytes * 1.01, "is too large by 1 %."),
        (lambda flops, nbytes: flops / nbytes * (1 - 2e-6), "is too small by 0.0002 %."),
        (lambda flops, nbytes: -flops / nbytes, "returned -2.5; `result` is not right."),
        (lambda flops, nbytes: 0, "returned 0; `result` is not right."),
        (lambda flops, nbytes: 10**400, "`result` is not right."),
        (lambda flops, nbytes: 10**5000, "`result` is not right."),
        (lambda flops, nbytes: 5e-324, "is too small by a factor of "),
    ],
)  # fmt: skip
def test_a_wrong_number_is_compared_without_giving_the_right_one(fn, says):
    result = check("q99.intensity", fn)
    assert result.outcome == "wrong"
    assert says in result.message, result.message
    assert not re.search(r"(?<![-\d])2\.5(?!\d)", result.message), "the right value stays hidden"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (989e12, "9.89e14"),
        (3.35e12, "3.35e12"),
        (-2e6, "-2e6"),
        (1e22, "1e22"),
        (1234567.891, "1234567.891"),
        (1 / 3 * 1e30, "3.333333333333333e29"),
        (100.0, "100.0"),
        (1e-7, "1e-07"),
        (10**15, "1000000000000000"),
    ],
)
def test_large_floats_of_a_call_are_short_and_exact(unit, value, text):
    one = a_check(id="q99.same", signature="same(x)", public=[(value,)], reference=lambda x: x, wrong={})
    unit.hold(one)
    assert f"`same(x={text})` returned 0;" in check("q99.same", lambda x: 0).message
    assert eval(text) == value


ROUNDED = "Did you round, or use `//` where `/` is meant?"


@pytest.mark.parametrize(
    ("public", "fn", "asks"),
    [
        ([(1001, 2), (2001, 4)], lambda flops, nbytes: flops // nbytes, True),
        ([(1001, 2), (2001, 4)], lambda flops, nbytes: float(round(flops / nbytes)), True),
        ([(1001, 2), (2000, 4)], lambda flops, nbytes: flops // nbytes, True),  # one right value is whole
        ([(1001, 2), (2001, 4)], lambda flops, nbytes: flops / nbytes * 1.001, False),
        ([(1001, 2), (9, 2)], lambda flops, nbytes: flops // nbytes, False),  # the second is 11 % off
        ([(1000, 2), (2000, 4)], lambda flops, nbytes: flops // nbytes + 1, False),  # all right values are whole
    ],
)
def test_rounded_answers(unit, public, fn, asks):
    one = a_check(public=public, wrong={})
    unit.hold(one)
    result = check(one.id, fn)
    assert result.outcome == "wrong"
    assert (ROUNDED in result.message) == asks, result.message


def test_the_first_example_that_fails_is_named():
    result = check("q99.intensity", lambda flops, nbytes: 2.5)
    assert "`intensity(flops=9.0, nbytes=2)` returned 2.5; `result` is too small by a factor of 1.8." in result.message
    assert "Examples that agree: 1 of 2." in result.message


@pytest.mark.parametrize(
    ("id", "fn", "says"),
    [
        ("q99.table", lambda rows: {"sum": 1}, "should have exactly the keys"),
        ("q99.table", lambda rows: [1], "should be of type dict, not list"),
        ("q99.table", lambda rows: table(rows) | {"each": []}, "`result['each']` should hold 2 values, not 0"),
        ("q99.table", lambda rows: table(rows) | {"unit": "s"}, "`result['unit']` is not right"),
        ("q99.table", lambda rows: table(rows) | {"unit": math.inf}, "`result['unit']` is inf, and no answer here is"),
        ("q99.table", lambda rows: table(rows) | {"sum": 4.5}, "`result['sum']` is too large by a factor of 1.5"),
        ("q99.table", lambda rows: table(rows) | {"sum": math.inf}, "`result['sum']` should be a finite number"),
        ("q99.table", lambda rows: {1: 2}, "not [1]"),
        ("q99.names", lambda n: "aa", "should be of type list, not str"),
        ("q99.names", lambda n: ["a", "b"], "`result[1]` is not right"),
        ("q99.names", lambda n: {"a"}, "not set"),
        ("q99.mean", lambda x, axis: x, "`result` should hold 3 values, not 2"),
        ("q99.mean", lambda x, axis: x[:1], "`result` should hold 3 values, not 1"),
        ("q99.mean", lambda x, axis: x.mean(), "should be of type list, not number"),
        ("q99.mean", lambda x, axis: x.mean(0) * [1, math.nan, 1], "`result[1]` should be a finite number, not nan"),
        ("q99.count", lambda n: n + 1, "is too large by 1e-13 %."),
        ("q99.zero", lambda x: 2e-9, "is not right"),
    ],
)
def test_the_place_of_a_fault_in_a_structure(id, fn, says):
    result = check(id, fn)
    assert not result.passed
    assert says in result.message, result.message


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (math.nan, "should be a finite number, not nan"),
        (math.inf, "should be a finite number, not inf"),
        (True, "should be of type number, not bool"),
        (np.bool_(True), "should be of type number, not bool"),
        ("2.5", "should be a number, not text: leave out the quotes"),
        ("2.5 s", "should be of type number, not str."),
        (decimal.Decimal("NaN"), "should be a plain number, not Decimal: put `float(…)`"),
        (decimal.Decimal("1e999999999"), "should be a plain number, not Decimal: put `float(…)`"),
        (fractions.Fraction(10**400, 3), "should be a plain number, not Fraction: put `float(…)`"),
        ([2.5], "should be of type number, not list"),
        ((2.5, 1.0), "should be of type number, not list or tuple"),
        (2.5 + 0j, "should be of type number, not complex"),
        (object, "should be of type number, not type: did you leave out the parentheses"),
        (len, "not builtin_function_or_method: did you leave out the parentheses of a call?"),
        (None, "returned None. Does every path through the function end in `return`?"),
    ],
)
def test_values_of_another_form(value, says):
    result = check("q99.intensity", lambda flops, nbytes: value)
    assert (result.outcome, result.passed) == ("form", False)
    assert says in result.message


@pytest.mark.parametrize("kind", [fractions.Fraction, decimal.Decimal])
def test_fractions_and_decimals_are_numbers(kind):
    assert check("q99.intensity", lambda flops, nbytes: kind(flops) / kind(nbytes)).passed
    assert check("q99.count", lambda n: kind(n)).passed
    assert not check("q99.intensity", lambda flops, nbytes: kind(nbytes) / kind(flops)).passed


def test_a_fraction_of_something_else_is_no_number():
    class Two(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    false = fractions.Fraction(1, 3)
    false._numerator = Two(2)
    assert type(plain(false)) in (int, float)
    assert not check("q99.count", lambda n: false).passed


def test_a_wrong_none_where_none_can_be_right(unit):
    unit.hold(a_check(id="q99.some", public=[(6, 2), (6, 0)], reference=lambda f, n: f / n if n else None, wrong={}))
    said = check("q99.some", lambda flops, nbytes: None).message
    assert "`intensity(flops=6, nbytes=2)` returned None, but here there is an answer." in said


def test_a_bool_is_not_the_number_that_it_equals(unit):
    one = a_check(id="q99.one", public=[(1, 1)], wrong={})
    unit.hold(one)
    assert check("q99.one", lambda flops, nbytes: 1).passed
    assert not check("q99.one", lambda flops, nbytes: True).passed


def test_printing_in_place_of_returning(capsys):
    result = check("q99.intensity", lambda flops, nbytes: print(flops / nbytes))
    assert "Did you print the answer instead of returning it?" in result.message
    assert capsys.readouterr().out.strip() == "2.5", "what the learner printed is shown"


def test_prints_of_a_right_answer_are_not_repeated_for_every_example(capsys):
    assert check("q99.intensity", lambda flops, nbytes: [print("here"), flops / nbytes][1]).passed
    assert capsys.readouterr().out == ""


# ----------------------------------------------------------------------------------------- ids, record, what is shown


def test_an_unknown_id_names_the_nearest():
    result = check("q99.intensty", RIGHT["float"])
    assert (result.outcome, result.passed, result.score) == ("unknown", False, 0)
    assert result.message == "There is no check 'q99.intensty'; did you mean 'q99.intensity'? Nothing was checked."
    assert "\n" not in result.message


@pytest.mark.parametrize("id", ["zzz", "", None, 3, [], lambda x: x])
def test_ids_that_are_near_nothing(id):
    assert check(id, RIGHT["float"]).message.startswith("There is no check ")


def test_no_unit_data_at_all(monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(units, "home", lambda: tmp_path / "empty")
    assert check("q99.intensity", RIGHT["float"]).outcome == "unknown"


def test_attempts_are_recorded():
    check("q99.intensity", lambda flops, nbytes: 2 * flops / nbytes)
    check("q99.intensity", RIGHT["float"])
    events = [event for event in record.Record.open().events("q99.intensity")]
    assert ["doubled" in json.dumps(event) for event in events] == [True, False]


def test_a_record_that_cannot_be_written_breaks_nothing(monkeypatch):
    def refuse():
        raise OSError("read-only")

    monkeypatch.setattr(record.Record, "open", refuse)
    assert check("q99.intensity", RIGHT["float"]).passed


def test_what_a_notebook_shows():
    bundle = check("q99.intensity", lambda flops, nbytes: 2 * flops / nbytes)._repr_mimebundle_()
    assert bundle["text/plain"].startswith("Not yet: ")
    assert "A <code>FLOP</code> counts once." in bundle["text/html"]
    assert "Not yet" in bundle["text/html"], "colour is not the only signal"
    assert "var(--jp-" in bundle["text/html"], "JupyterLab's colours, so light and dark"


def test_html_in_an_answer_is_text():
    html = check("q99.names", lambda n: "<script>")._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("variable", ["NBGRADER_EXECUTION", "NBGRADER_VALIDATING"])
def test_under_nbgrader_the_text_is_the_score(variable, monkeypatch):
    monkeypatch.setenv(variable, "1")
    assert check("q99.intensity", RIGHT["float"])._repr_mimebundle_()["text/plain"] == "2"
    assert check("q99.intensity", lambda flops, nbytes: 1)._repr_mimebundle_()["text/plain"] == "0"
    assert check("q99.none", RIGHT["float"])._repr_mimebundle_()["text/plain"] == "0"
    assert "text/html" in check("q99.none", RIGHT["float"])._repr_mimebundle_()
    assert record.Record.open().events() == [], "a graded run is no attempt of a learner"


def test_ipython_takes_the_number():
    """What nbgrader reads is what IPython's formatter makes of the bundle."""
    from IPython.core.formatters import DisplayFormatter

    os.environ["NBGRADER_EXECUTION"] = "autograde"
    try:
        data, _ = DisplayFormatter().format(check("q99.intensity", RIGHT["float"]))
    finally:
        del os.environ["NBGRADER_EXECUTION"]
    assert float(data["text/plain"]) == 2
