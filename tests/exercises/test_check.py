"""`check` on small checks of its own: right answers of every type, wrong ones, and functions that misbehave."""

import contextlib
import json
import math
import os
import re
import signal
import sys
import threading

import numpy as np
import pytest

from course_lib.teaching import record
from course_lib.teaching.check import EXACT, Check, Close, check, faults, public_cases

MODULE = sys.modules[Check.__module__]


def a_check(**changes) -> Check:
    values = {
        "id": "q99.intensity",
        "points": 2,
        "signature": "intensity(flops, nbytes)",
        "public": [(10, 4), (9.0, 2)],
        "generate": lambda rng: (rng.randint(100, 999), rng.randint(2, 9)),
        "reference": lambda flops, nbytes: flops / nbytes,
        "wrong": {
            "upside down": (lambda flops, nbytes: nbytes / flops, "You divided bytes by FLOPs."),
            "doubled": (lambda flops, nbytes: 2 * flops / nbytes, "A `FLOP` counts once."),
        },
    }
    return Check(**(values | changes))


CHECKS = (
    a_check(),
    a_check(
        id="q99.table",
        signature="table(rows)",
        public=[([1, 2],), ([5],)],
        reference=lambda rows: {"sum": sum(rows), "each": [{"row": r, "even": r % 2 == 0} for r in rows], "unit": None},
        wrong={},
    ),
    a_check(id="q99.names", signature="names(n)", public=[(2,)], reference=lambda n: ["a"] * n, wrong={}, same=EXACT),
    a_check(id="q99.mean", signature="mean(x, axis)", public=[{"x": np.arange(6.0).reshape(2, 3), "axis": 0}],
            reference=lambda x, axis: x.mean(axis), wrong={}),
    a_check(id="q99.count", signature="count(n)", public=[(10**15,)], reference=lambda n: n, wrong={}, same=EXACT),
    a_check(id="q99.sort", signature="ordered(values)", public=[([3, 1],), ([3, 1],)], reference=sorted, wrong={}),
    a_check(id="q99.zero", signature="zero(x)", public=[(1,)], reference=lambda x: 0.0, wrong={}, same=Close(abs=1e-9)),
)  # fmt: skip


@pytest.fixture(autouse=True)
def units(tmp_path, monkeypatch):
    """The checks above as package data, and a record of their own."""
    folder = tmp_path / "units" / "q99_toy"
    folder.mkdir(parents=True)
    (folder / "checks.json").write_text(json.dumps({check.id: public_cases(check) for check in CHECKS}))
    monkeypatch.setattr(MODULE, "files", lambda package: tmp_path)
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.delenv("COURSE_STATIC")
    monkeypatch.chdir(tmp_path)
    return folder


# ------------------------------------------------------------------------------------------------------ right answers


def with_torch(flops, nbytes):
    torch = pytest.importorskip("torch")
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


def test_an_insight_follows_a_right_answer_only(units):
    one = a_check(insight="Intensity belongs to a *shape*.")
    (units / "checks.json").write_text(json.dumps({one.id: public_cases(one)}))
    assert check(one.id, RIGHT["float"]).message == (
        "Right on every example. Score: 2 of 2.\nIntensity belongs to a *shape*."
    )
    assert "shape" not in check(one.id, lambda flops, nbytes: 1).message


def test_data_built_before_there_were_insights(units):
    one = public_cases(CHECKS[0])
    del one["insight"]
    (units / "checks.json").write_text(json.dumps({"q99.intensity": one}))
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
def test_large_floats_of_a_call_are_short_and_exact(units, value, text):
    one = a_check(id="q99.same", signature="same(x)", public=[(value,)], reference=lambda x: x, wrong={})
    (units / "checks.json").write_text(json.dumps({one.id: public_cases(one)}))
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
def test_rounded_answers(units, public, fn, asks):
    one = a_check(public=public, wrong={})
    (units / "checks.json").write_text(json.dumps({one.id: public_cases(one)}))
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
        ("q99.table", lambda rows: table(rows) | {"unit": "s"}, "`result['unit']` should be of type None, not str"),
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
        ("2.5", "should be of type number, not str"),
        ([2.5], "should be of type number, not list"),
        (2.5 + 0j, "should be of type number, not complex"),
        (object, "should be of type number, not type"),
        (None, "returned None. Does every path through the function end in `return`?"),
    ],
)
def test_values_of_another_form(value, says):
    result = check("q99.intensity", lambda flops, nbytes: value)
    assert (result.outcome, result.passed) == ("form", False)
    assert says in result.message


def test_a_bool_is_not_the_number_that_it_equals(units):
    one = a_check(id="q99.one", public=[(1, 1)], wrong={})
    (units / "checks.json").write_text(json.dumps({one.id: public_cases(one)}))
    assert check("q99.one", lambda flops, nbytes: 1).passed
    assert not check("q99.one", lambda flops, nbytes: True).passed


def test_printing_in_place_of_returning(capsys):
    result = check("q99.intensity", lambda flops, nbytes: print(flops / nbytes))
    assert "Did you print the answer instead of returning it?" in result.message
    assert capsys.readouterr().out.strip() == "2.5", "what the learner printed is shown"


def test_prints_of_a_right_answer_are_not_repeated_for_every_example(capsys):
    assert check("q99.intensity", lambda flops, nbytes: [print("here"), flops / nbytes][1]).passed
    assert capsys.readouterr().out == ""


# --------------------------------------------------------------------------------------------------------- misbehaving


def test_the_stub_is_not_done_yet():
    def intensity(flops, nbytes):
        raise NotImplementedError()

    result = check("q99.intensity", intensity)
    assert (result.outcome, result.score) == ("stub", 0)
    assert result.message.startswith("Not done yet: complete `intensity(flops, nbytes)`")


def test_an_exception_is_one_line_with_the_learners_line():
    def helper(x):
        return x["bytes"]

    def intensity(flops, nbytes):
        return flops / helper({})

    result = check("q99.intensity", intensity)
    line = helper.__code__.co_firstlineno + 1
    expected = f"Not yet: `intensity(flops=10, nbytes=4)` raised KeyError: 'bytes' (line {line} of your code)."
    assert (result.outcome, result.message) == ("raised", expected)


def test_an_exception_deep_in_a_library_names_the_learners_line():
    def intensity(flops, nbytes):
        return json.loads("{")

    line = intensity.__code__.co_firstlineno + 1
    assert f"(line {line} of your code)" in check("q99.intensity", intensity).message


def test_a_later_exception_after_a_wrong_value_is_not_reported_first():
    result = check("q99.intensity", lambda flops, nbytes: 7.5 if nbytes == 4 else 1 / 0)
    assert "too large by a factor of 3" in result.message


@pytest.mark.parametrize("error", [SystemExit, MemoryError, RecursionError, StopIteration, AssertionError])
def test_other_exceptions(error):
    def intensity(flops, nbytes):
        raise error

    result = check("q99.intensity", intensity)
    assert result.outcome == "raised"
    assert f"raised {error.__name__} (line" in result.message


def test_an_interrupt_passes():
    def intensity(flops, nbytes):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check("q99.intensity", intensity)


def test_an_answer_that_holds_itself():
    answer = []
    answer.append(answer)
    assert check("q99.intensity", lambda flops, nbytes: answer).outcome == "raised"


def test_arguments_that_do_not_fit():
    result = check("q99.intensity", lambda flops: flops)
    assert "is called as `intensity(flops=10, nbytes=4)`" in result.message
    assert "too many positional arguments" in result.message


@pytest.mark.parametrize("value", [2.5, None, "intensity", [1]])
def test_a_value_in_place_of_the_function(value):
    result = check("q99.intensity", value)
    assert result.outcome == "not-callable"
    assert "check('q99.intensity', intensity)" in result.message


def endless(flops, nbytes):
    while True:
        with contextlib.suppress(Exception):  # as learners write it: except Exception: pass
            flops += 1


def test_a_loop_that_never_ends(monkeypatch):
    monkeypatch.setattr(MODULE, "SECONDS", 0.05)
    result = check("q99.intensity", endless)
    assert result.outcome == "late"
    assert "had not finished after 0.05 seconds" in result.message


def test_an_older_alarm_is_put_back(monkeypatch):
    rings = []
    old = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 60)
        monkeypatch.setattr(MODULE, "SECONDS", 0.05)
        assert check("q99.intensity", endless).outcome == "late"
        assert rings == []
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        signal.raise_signal(signal.SIGALRM)
        assert rings == [1], "the older handler is back"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_another_thread_checks_without_a_limit():
    results = []
    thread = threading.Thread(target=lambda: results.append(check("q99.intensity", RIGHT["float"])))
    thread.start()
    thread.join()
    assert results[0].passed


def test_nothing_reaches_stderr(capsys):
    def intensity(flops, nbytes):
        print("trouble", file=sys.stderr)
        return flops / nbytes

    assert check("q99.intensity", intensity).passed
    assert capsys.readouterr().err == ""


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
    monkeypatch.setattr(MODULE, "files", lambda package: tmp_path / "nothing")
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


# ------------------------------------------------------------------------------------------------- the form of a check


def test_a_good_check_has_no_fault():
    assert [faults(check) for check in CHECKS if check.id == "q99.intensity"] == [[]]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"wrong": {"same": (lambda f, b: f / b, "x")}}, "wrong['same'] is within three tolerances"),
        ({"wrong": {"near": (lambda f, b: f / b * (1 + 2e-6), "x")}}, "wrong['near'] is within three tolerances"),
        (
            {"wrong": {"a": (lambda f, b: 3 * f / b, "x"), "b": (lambda f, b: 3.0 * f / b, "y")}},
            "no public input tells wrong['b'] from wrong['a']",
        ),
        ({"public": [(1, 1)]}, "no public input tells wrong['upside down'] from the right answer"),
        ({"generate": lambda rng: (1, rng.choice([1, 5]))}, "wrong['upside down'] is within three tolerances"),
        ({"generate": lambda rng: (1, 0)}, "the reference gives no finite JSON value on intensity(flops=1, nbytes=0)"),
        ({"generate": lambda rng: 3}, "a tuple or a mapping"),
        ({"public": [(object(), 1)]}, "must hold JSON values"),
        ({"public": [(math.inf, 1)]}, "must hold JSON values"),
        ({"reference": lambda f, b: math.nan}, "no finite JSON value"),
        ({"reference": lambda f, b: {f}}, "no finite JSON value"),
        ({"wrong": {"fails": (lambda f, b: f / 0, "x")}}, "wrong['fails'] gives no finite JSON value"),
    ],
)
def test_faults_of_a_check(changes, says):
    found = faults(a_check(**changes))
    assert any(says in fault for fault in found), found


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": "intensity"}, "id is <unit prefix>.<kebab-name>"),
        ({"id": "q99.Same_Flops"}, "id is <unit prefix>.<kebab-name>"),
        ({"points": 0}, "points must be a positive number"),
        ({"points": True}, "points must be a positive number"),
        ({"public": []}, "at least one input"),
        ({"signature": "intensity"}, "signature must look like"),
    ],
)
def test_a_check_that_cannot_be(changes, says):
    with pytest.raises(ValueError, match=says):
        a_check(**changes)


@pytest.mark.parametrize("tolerance", [-1, math.nan, math.inf, "small"])
def test_a_tolerance_that_cannot_be(tolerance):
    with pytest.raises(ValueError, match="rel must be a finite number"):
        Close(rel=tolerance)


@pytest.mark.parametrize(
    ("same", "got", "expected", "tolerances"),
    [
        (Close(rel=0.01), 103, 100, 3),
        (Close(rel=0.01, abs=2), 103, 100, 1.5),
        (Close(abs=0.5), 1, 0, 2),
        (EXACT, 5, 5.0, 0),
        (EXACT, 5 + 1e-12, 5, math.inf),
        (Close(rel=0.1), [100, 130], [100, 100], 3),
        (Close(rel=0.1), {"a": [1]}, {"a": [1, 1]}, math.inf),
        (Close(), "a", "b", math.inf),
        (Close(), True, 1, math.inf),
        (Close(), [], [], 0),
        (Close(), 10**400, 1.5, math.inf),
    ],
)
def test_distance(same, got, expected, tolerances):
    assert same.distance(got, expected) == pytest.approx(tolerances)


def test_the_data_of_a_check_is_json_without_code():
    data = public_cases(CHECKS[3])
    assert json.loads(json.dumps(data)) == data
    assert data["cases"] == [
        {
            "input": {"kwargs": {"x": {"array": [[0, 1, 2], [3, 4, 5]], "dtype": "float64"}, "axis": 0}},
            "expected": [1.5, 2.5, 3.5],
        }
    ]
