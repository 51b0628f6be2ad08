"""`check` on functions that misbehave: each gets one calm, right sentence, and the notebook goes on."""

import contextlib
import functools
import gc
import json
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from course_lib.teaching.checks.check import check
from course_lib.teaching.record import record
from tests.teaching.checks.toy_checks import a_check

pytestmark = pytest.mark.usefixtures("unit")
MODULE = sys.modules[check.__module__]


# ------------------------------------------------------------------------------------------ not the function asked for


@pytest.mark.parametrize("value", [2.5, None, "intensity", [1]])
def test_a_value_in_place_of_the_function(value):
    result = check("q99.intensity", value)
    assert result.outcome == "not-callable"
    assert "check('q99.intensity', intensity)" in result.message


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (lambda flops: flops, "too many positional arguments"),
        (lambda flops, nbytes, dtype: flops, "missing a required argument: 'dtype'"),
        (lambda: 2.5, "too many positional arguments"),
        (lambda flops, *, nbytes: flops, "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit(fn, says):
    result = check("q99.intensity", fn)
    assert result.outcome == "form"
    assert "is called as `intensity(flops=10, nbytes=4)`" in result.message
    assert says in result.message


def test_a_parameter_of_another_name():
    result = check("q99.mean", lambda values, axis: values)
    assert "missing a required argument: 'values'" in result.message


class Intensity:
    def __init__(self, flops=1, nbytes=1):
        self.value = flops / nbytes

    def method(self, flops, nbytes):
        return flops / nbytes

    __call__ = method


@pytest.mark.parametrize(
    "fn",
    [
        Intensity().method,
        Intensity(),
        functools.partial(lambda scale, flops, nbytes: scale * flops / nbytes, 1),
        functools.cache(lambda flops, nbytes: flops / nbytes),
        functools.wraps(max)(lambda *both: both[0] / both[1]),
        np.divide,
    ],
)
def test_what_can_be_called_like_the_function_is_checked(fn):
    assert check("q99.intensity", fn).passed, check("q99.intensity", fn)


def test_a_class_and_a_builtin():
    assert "`result` should be of type number, not Intensity." in check("q99.intensity", Intensity).message
    assert "returned 10;" in check("q99.intensity", max).message
    assert "raised TypeError: 'int' object is not iterable." in check("q99.zero", max).message


def test_the_function_of_another_check():
    def table(rows):
        return rows

    result = check("q99.intensity", table)
    assert (result.outcome, result.passed, result.score) == ("other-function", False, 0)
    assert result.message == (
        "Check 'q99.intensity' is about `intensity(flops, nbytes)`; `table` belongs to check 'q99.table'. "
        "Nothing was checked."
    )
    assert record.Record.open().events() == []


def test_id_and_function_the_wrong_way_round():
    result = check(lambda flops, nbytes: 1, "q99.intensity")
    assert result.message == ("The id comes first: write `check('q99.intensity', intensity)`. Nothing was checked.")


def test_an_async_function_and_no_warning_later(recwarn):
    async def intensity(flops, nbytes):
        return flops / nbytes

    result = check("q99.intensity", intensity)
    gc.collect()
    assert result.message.endswith("not coroutine: write `def` instead of `async def`.")
    assert [str(warning.message) for warning in recwarn] == []


# ----------------------------------------------------------------------------------------------------------- exceptions


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


def test_an_older_alarm_is_put_back(monkeypatch):
    rings = []
    old = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 600)
        monkeypatch.setattr(MODULE, "SECONDS", 0.05)
        assert check("q99.intensity", lambda flops, nbytes: endless()).outcome == "late"
        assert rings == []
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 600
        signal.raise_signal(signal.SIGALRM)
        assert rings == [1], "the older handler is back"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_another_thread_checks_without_a_limit():
    results = []
    thread = threading.Thread(target=lambda: results.append(check("q99.zero", lambda x: 0)))
    thread.start()
    thread.join()
    assert results[0].passed


def test_the_stub_of_a_library_is_no_stub():
    library = {}
    exec(compile("def missing():\n    raise NotImplementedError('no kernel')", "a library", "exec"), library)
    result = check("q99.intensity", lambda flops, nbytes: library["missing"]())
    assert result.outcome == "raised"
    assert "raised NotImplementedError: no kernel (line" in result.message


class MuteError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class StopAllError(BaseException):
    pass


def recursion(flops, nbytes):
    return recursion(flops, nbytes)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MuteError(), "raised MuteError (line"),
        (StopAllError("now"), "raised StopAllError: now (line"),
        (GeneratorExit(), "raised GeneratorExit (line"),
        (SystemExit(3), "raised SystemExit: 3 (line"),
        (ValueError("one\ntwo"), "raised ValueError: one (line"),
        (ValueError("x" * 10**6), "xxx… (line"),
    ],
)
def test_exceptions_that_are_hard_to_show(error, says):
    def intensity(flops, nbytes):
        raise error

    result = check("q99.intensity", intensity)
    assert says in result.message
    assert len(result.message) < 300
    assert "\n" not in result.message


def test_recursion_without_an_end():
    assert "raised RecursionError: maximum recursion depth exceeded" in check("q99.intensity", recursion).message


def test_an_exception_of_a_callable_object_names_its_line():
    class Fails:
        def __call__(self, flops, nbytes):
            return flops / 0

    line = Fails.__call__.__code__.co_firstlineno + 1
    for fn in (Fails(), functools.partial(Fails())):
        assert f"(line {line} of your code)" in check("q99.intensity", fn).message


# ------------------------------------------------------------------------------------------------- loops without an end


def endless():
    while True:
        pass


def swallow():
    while True:
        try:  # noqa: SIM105 (as learners write it)
            time.sleep(1)
        except:  # noqa: E722
            pass


def swallow_twice():
    while True:
        try:
            while True:
                with contextlib.suppress(BaseException):
                    endless()
        except BaseException:
            continue


def swallow_at_the_end():
    try:
        endless()
    except BaseException:
        return 2.5


def clean_up_for_ever():
    try:
        endless()
    finally:
        endless()


class Endless:
    def __repr__(self):
        endless()


@pytest.mark.parametrize(
    "loop",
    [endless, swallow, swallow_twice, swallow_at_the_end, clean_up_for_ever, lambda: time.sleep(60), Endless,
     lambda: all(True for _ in iter(int, 1))],
)  # fmt: skip
def test_a_loop_that_never_ends(loop, monkeypatch):
    trace = sys.gettrace()
    with monkeypatch.context() as short:
        short.setattr(MODULE, "SECONDS", 0.05)
        result = check("q99.intensity", lambda flops, nbytes: loop())
    assert result.outcome == "late", result
    assert result.message == (
        "Not yet: `intensity(flops=10, nbytes=4)` had not finished after 0.05 seconds. Look for a loop that never ends."
    )
    assert sys.gettrace() is trace
    assert sys.exc_info() == (None, None, None), "nothing is left that a later error would be blamed on"
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert check("q99.intensity", lambda flops, nbytes: flops / nbytes).passed, "the next check works"


def test_a_slow_function_is_not_called_twice_with_one_input(clock, monkeypatch):
    calls = []

    def intensity(flops, nbytes):
        calls.append(nbytes)
        clock.now += 60
        return flops / nbytes

    monkeypatch.setattr(MODULE, "SECONDS", 200.0)
    assert check("q99.intensity", intensity).passed
    assert calls == [4, 2]
    calls.clear()
    monkeypatch.setattr(MODULE, "SECONDS", 2000.0)
    assert check("q99.intensity", intensity).passed
    assert calls == [4, 2, 4]


def test_an_alarm_of_the_function_itself():
    def intensity(flops, nbytes):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.alarm(1)
        return flops / nbytes

    before = signal.getsignal(signal.SIGALRM)
    assert check("q99.intensity", intensity).passed
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize(("after", "outcome"), [(150, "right"), (250, "late")])
def test_an_import_is_waited_for(unit, clock, monkeypatch, tmp_path, after, outcome):
    """The alarm rings in the middle of the import, after more than the limit, and once more `after` seconds later."""
    (tmp_path / "slow_to_import.py").write_text(
        "import signal, sys\nsys.clock.now += 300\nsignal.raise_signal(signal.SIGALRM)\nFACTOR = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "clock", clock, raising=False)
    monkeypatch.setattr(MODULE, "SECONDS", 200.0)

    def intensity(flops, nbytes):
        import slow_to_import

        if clock.now == 300:
            clock.now += after
            signal.raise_signal(signal.SIGALRM)
        return slow_to_import.FACTOR * flops / nbytes

    result = check("q99.intensity", intensity)
    del sys.modules["slow_to_import"]
    assert result.outcome == outcome, result


def test_a_check_within_a_check():
    def intensity(flops, nbytes):
        assert check("q99.zero", lambda x: 0).passed
        return flops / nbytes

    assert check("q99.intensity", intensity).passed


def test_without_alarms_there_is_no_limit(monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.setattr(MODULE, "SECONDS", 0.001)
    assert check("q99.intensity", lambda flops, nbytes: time.sleep(0.01) or flops / nbytes).passed


def test_input_is_not_asked_for():
    result = check("q99.intensity", lambda flops, nbytes: float(input("flops? ")))
    assert result.message == (
        "Not yet: `intensity(flops=10, nbytes=4)` asked for `input()`. All that it needs comes as arguments."
    )


# ------------------------------------------------------------------------------------------------ answers that mislead


class Yes:
    """Equals everything, and says that it is a number."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __float__(self):
        return 2.5

    def tolist(self):
        return 2.5


class YesFloat(float):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __float__(self):
        return 2.5

    def __abs__(self):
        return 0.0

    def __sub__(self, other):
        return 0.0


class YesList(list):
    def __len__(self):
        return 2

    def __iter__(self):
        return iter(["a", "a"])

    def __getitem__(self, index):
        return "a"


class YesDict(dict):
    def items(self):
        return {"sum": 3, "each": [], "unit": None}.items()

    def __getitem__(self, key):
        return {"sum": 3, "each": [], "unit": None}[key]


class Silent:
    def __repr__(self):
        raise RuntimeError


class Array(np.ndarray):
    def tolist(self):
        return [1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("id", "value", "says"),
    [
        ("q99.intensity", Yes(), "should be of type number, not Yes."),
        ("q99.intensity", YesFloat(7.5), "`result` is too large by a factor of 3."),
        ("q99.names", YesList("b"), "should hold 2 values, not 1"),
        ("q99.names", [Yes(), Yes()], "`result[0]` should be of type str, not Yes."),
        ("q99.table", YesDict(a=1), "should have exactly the keys"),
        ("q99.table", {Yes: 1}, "should have exactly the keys"),
        ("q99.intensity", Silent(), "returned <Silent>. `result` should be of type number, not Silent."),
        ("q99.mean", np.zeros(3).view(Array), "`result[0]` is not right"),
        ("q99.mean", np.array([1, "x", object()], dtype=object), "`result[1]` should be of type number, not str"),
    ],
)
def test_objects_that_lie(id, value, says):
    result = check(id, lambda *args, **kwargs: value)
    assert not result.passed
    assert says in result.message, result.message


def holds_itself():
    answer = []
    answer.append(answer)
    return answer


def nested(levels):
    answer = 2.5
    for _ in range(levels):
        answer = [answer]
    return answer


@pytest.mark.parametrize(
    ("id", "value", "says"),
    [
        ("q99.intensity", holds_itself(), "should be of type number, not list"),
        ("q99.names", holds_itself(), "should hold 2 values, not 1"),
        ("q99.names", [*holds_itself(), "a"], "`result[0]` should be of type str, not list"),
        ("q99.intensity", nested(10**5), "should be of type number, not list"),
        ("q99.names", ["a"] * 10**7, "returned ['a', 'a', 'a', …]. `result` should hold 2 values, not 10000000."),
        ("q99.names", [["a"] * 10**6, "a"], "`result[0]` should be of type str, not list"),
        ("q99.mean", np.ones(10**7), "`result` should hold 3 values, not 10000000."),
        ("q99.mean", np.ones((3, 10**6)), "`result` holds far more than was asked for."),
        ("q99.mean", np.ones((3, 10**3)), "`result[0]` should be of type number, not list or tuple."),
        ("q99.table", dict.fromkeys(range(10**6)), "`result` holds far more than was asked for."),
        ("q99.names", "a" * 10**8, "should be of type list, not str"),
    ],
)
def test_answers_without_measure(id, value, says):
    result = check(id, lambda *args, **kwargs: value)
    assert result.outcome == "form"
    assert says in result.message, result.message[:400]
    assert len(result.message) < 700


@pytest.mark.parametrize(
    ("fn", "kind"),
    [
        (lambda n: (c for c in "aa"), "generator"),
        (lambda n: map(str, "aa"), "map"),
        (lambda n: range(n), "range"),
        (lambda n: dict.fromkeys("ab").keys(), "dict_keys"),
        (lambda n: set("a"), "set"),
    ],
)
def test_what_would_be_a_list(fn, kind):
    result = check("q99.names", fn)
    assert f"`result` should be a list, not {kind}: put `list(…)` around it." in result.message
    assert result.message.endswith("Asked for: `[str, …]`.")
    assert " at 0x" not in result.message


def test_a_tensor_without_data():
    torch = pytest.importorskip("torch")
    result = check("q99.intensity", lambda flops, nbytes: torch.ones((), device="meta"))
    assert "should be of type number, not Tensor." in result.message


# -------------------------------------------------------------------------------------- what is kept from call to call


def test_a_list_changed_in_place_and_not_returned():
    result = check("q99.sort", lambda values: values.sort())
    assert result.message == (
        "Not yet: `ordered(values=[3, 1])` changed its input and returned None. "
        "End it with `return` and the result.\nAsked for: `[number, …]`."
    )


KEEPS = "Does it change a variable outside it or a default argument, or draw random numbers?"


def test_a_default_argument_that_grows():
    def names(n, answer=[]):  # noqa: B006
        answer.extend(["a"] * n)
        return answer

    result = check("q99.names", names)
    assert (result.outcome, result.passed) == ("wrong", False)
    assert result.message == (
        "Not yet: `names(n=2)` returned ['a', 'a'] at first, and ['a', 'a', 'a', 'a'] when it was called again with "
        f"the same input.\n{KEEPS}"
    )


def test_a_variable_outside_that_the_function_changes():
    scale = {"flops": 1}

    def intensity(flops, nbytes):
        answer = scale["flops"] * flops / nbytes
        scale["flops"] *= 2
        return answer

    assert KEEPS in check("q99.intensity", intensity).message


def test_an_input_that_is_changed_and_returned_is_right():
    def ordered(values):
        values.sort()
        return values

    assert check("q99.sort", ordered).passed


def test_a_second_call_that_fails():
    answers = [["a", "a"]]
    result = check("q99.names", lambda n: answers.pop())
    assert "raised IndexError: pop from empty list (line" in result.message


# ----------------------------------------------------------------------------------------- prints, streams and settings


def test_prints_of_megabytes(capsys):
    def intensity(flops, nbytes):
        for _ in range(10**4):
            print("x" * 999)
        return 1

    check("q99.intensity", intensity)
    shown = capsys.readouterr().out
    assert len(shown) < 2200
    assert shown.rstrip().endswith("… (2000 of 10000000 characters of what your function printed)")


def test_what_goes_to_stderr_is_shown_on_stdout_if_the_answer_is_not_right(capsys):
    def intensity(flops, nbytes, factor):
        print("trouble", file=sys.stderr)
        return factor * flops / nbytes

    assert check("q99.intensity", functools.partial(intensity, factor=1)).passed
    assert capsys.readouterr() == ("", "")
    check("q99.intensity", functools.partial(intensity, factor=2))
    shown, err = capsys.readouterr()
    assert "trouble" in shown
    assert err == ""


def test_a_warning_is_no_print():
    def intensity(flops, nbytes):
        print("trouble", file=sys.stderr)

    assert "Does every path" in check("q99.intensity", intensity).message


def test_streams_folder_filters_and_figures_are_put_back(tmp_path, capsys):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    def intensity(flops, nbytes):
        sys.stdout.close()
        sys.stdout = sys.stderr = None
        os.chdir(away)
        warnings.simplefilter("error")
        pyplot.figure()
        return flops / nbytes

    away = tmp_path / "away"
    away.mkdir()
    (away / ".course").mkdir()
    mine = pyplot.figure()
    before = (sys.stdout, sys.stderr, os.getcwd(), warnings.filters[:], input)
    assert check("q99.intensity", intensity).passed
    assert (sys.stdout, sys.stderr, os.getcwd(), warnings.filters[:], input) == before
    assert pyplot.get_fignums() == [mine.number]
    pyplot.close(mine)
    assert not (away / ".course" / "record.json").exists(), "the attempt goes into the learner's own record"
    assert len(record.Record.open().events("q99.intensity")) == 1


def test_a_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        assert check("q99.intensity", lambda flops, nbytes: flops / nbytes).passed
    finally:
        os.chdir(tmp_path)


# -------------------------------------------------------------------------------------------- the right value is hidden


@pytest.mark.parametrize("power", [1, 1.0, 10, 1e-3])
def test_a_power_of_ten_does_not_fish_for_the_right_value(power):
    result = check("q99.intensity", lambda flops, nbytes: power)
    assert "`result` is too" in result.message
    assert "2.5" not in result.message


def test_that_none_is_right_is_not_told(unit):
    unit.hold(a_check(id="q99.never", signature="f(n)", public=[(1,)], reference=lambda n: [7, None], wrong={}))
    message = check("q99.never", lambda n: [7, 5]).message
    assert "`result[1]` is not right." in message
    assert "None" not in message
    asked = check("q99.never", lambda n: 7).message
    assert "Asked for: `[number, …]`." in asked
    assert "None" not in asked
