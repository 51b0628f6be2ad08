"""The frame of explorers: controls as data, what the page asks, what it gets, the call and the static form."""

import ast
import json
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import explore
from course_lib.figures.plots import Axis, Figure, Label
from course_lib.teaching.explore import Choice, Flag, Number, View, Whole

CONTROLS = {
    "shape": Choice("Shape", {"round": "A circle", "flat": "A line"}),
    "size": Choice("Size", lambda state: ["small", "large"] if state.get("shape") == "round" else ["large", "huge"]),
    "rows": Whole("Rows", start=4, high=100),
    "rate": Number("Rate", start=1e3, low=1, high=1e6, unit="B/s"),
    "on": Flag("On"),
}


def view(shape, size, rows, rate, on, extra=0) -> View:
    if rows == 13:
        raise ValueError("rows=13 brings bad luck.")
    if rows == 14:
        raise KeyError("fourteen")
    words = f"{shape} {size} {rows} {rate:g} {on} {extra}"
    figure = Figure(words, words, Axis("x"), Axis("y"), (Label(0.5, 0.5, words),))
    return View(figure, {"rows": str(rows)}, ("A note.",))


def build(state=None, **more):
    return explore.build(view, CONTROLS, state, "mine", **more)


@pytest.fixture
def live(learner):
    return build()


def ask(explorer, reset=False, **values):
    """What the page sends when a learner moves controls."""
    question = explorer.widget.asked.get("question", "") + "?"
    explorer.widget.asked = {"question": question, "values": values} | ({"reset": True} if reset else {})


START = {"shape": "round", "size": "small", "rows": 4, "rate": 1e3, "on": False}


def test_it_starts_where_the_controls_say_and_a_call_overrides(live):
    assert live.state == START
    assert build({"rows": 8.0, "size": "large", "on": None}).state == START | {"rows": 8, "size": "large"}
    assert build({"shape": "flat"}).state["size"] == "large"  # the first that this shape has


def test_one_question_moves_picture_numbers_and_call_together(live):
    ask(live, rows=8, on=True)
    assert live.state == START | {"rows": 8, "on": True}
    assert live.widget.drawing["title"] == "round small 8 1000 True 0"
    assert live.widget.numbers == [["rows", "8"]]
    assert live.widget.values == {"shape": "A circle", "size": "small", "rows": 8, "rate": 1e3, "on": True}
    assert live.call == live.widget.call == 'mine(shape="round", size="small", rows=8, rate=1000.0, on=True)'
    assert live.widget.answered == live.widget.asked["question"]


def test_one_question_is_answered_by_one_message_with_only_what_changed(live, monkeypatch):
    sent = []
    monkeypatch.setattr(live.widget, "_send", lambda message, buffers=None: sent.append(message["state"]))
    ask(live, rows=8)
    assert [sorted(state) for state in sent if "asked" not in state] == [
        ["answered", "call", "drawing", "numbers", "values"]
    ]


@pytest.mark.parametrize("state", [{}, {"rows": 99}, {"shape": "flat", "size": "huge", "on": True, "rate": 31.5}])
def test_the_call_gives_the_state_back(learner, state):
    shown = build(state)
    (call,) = [node for node in ast.walk(ast.parse(shown.call)) if isinstance(node, ast.Call)]
    again = build({argument.arg: ast.literal_eval(argument.value) for argument in call.keywords})
    assert again.state == shown.state == build(shown.state).state


def test_fixed_arguments_reach_the_view_and_stand_in_the_call(learner):
    shown = build(fixed={"extra": object})
    assert "class 'object'" in shown.widget.drawing["title"]
    assert shown.call.endswith("on=False, extra=my_extra)")
    assert shown.state["extra"] is object


def test_a_choice_follows_the_one_before_it(live):
    assert live.widget.options["size"] == ["small", "large"]
    ask(live, shape="A line")  # "small" does not exist there
    assert live.state["size"] == "large"
    assert live.widget.options["size"] == ["large", "huge"]
    ask(live, size="huge", shape="A circle")  # chosen in a list that has gone meanwhile
    assert live.state["size"] == "small"
    ask(live, size="large")
    ask(live, shape="A line")
    assert live.state["size"] == "large"  # kept, for both have it


def test_a_slider_follows_the_choice_before_it_and_what_is_typed_does_not(learner):
    most = {"short": 5, "long": 48}

    def shown(rows, context):
        if rows > most[context]:
            raise ValueError(f"{rows} rows do not fit.")
        return view("round", "small", rows, 1, False)

    rows = Whole("Rows", start=4, high=99, most=lambda state: most[state["context"]])
    live = explore.build(shown, {"context": Choice("Context", ["long", "short"]), "rows": rows})
    stops = lambda: [stop for stop, _ in live.widget.options["rows"]]  # noqa: E731
    assert stops() == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    ask(live, rows=48)
    ask(live, context="short")
    assert (live.state["rows"], live.widget.line, stops()) == (5, "", [1, 2, 3, 4, 5])
    ask(live, rows=6)
    assert live.widget.line.startswith("6 rows do not fit.")
    assert (live.state["rows"], live.widget.values["rows"]) == (5, 6)
    ask(live, context="long")
    assert (live.state, live.widget.line) == ({"context": "long", "rows": 6}, "")
    live.set(context="short")
    assert live.state["rows"] == 5
    with pytest.raises(ValueError, match="6 rows"):
        live.set(rows=6)


def test_a_refused_state_says_why_and_keeps_the_picture(live):
    before = live.widget.drawing
    ask(live, rows=13)
    assert live.widget.line.startswith("rows=13 brings bad luck. The picture and the call still show")
    assert (live.widget.drawing, live.state, live.widget.values["rows"]) == (before, START, 13)
    ask(live, on=True)  # the other control still stands at 13
    assert live.widget.line.startswith("rows=13")
    ask(live, rows=12)
    assert (live.widget.line, live.state) == ("", START | {"rows": 12, "on": True})


def test_a_fault_in_a_lessons_view_is_said_and_not_thrown(live):
    ask(live, rows=14)
    assert "KeyError: 'fourteen'" in live.widget.line
    assert live.widget.answered == live.widget.asked["question"]


@pytest.mark.parametrize("value", [0, 101, 2.5, "many", -3, 1e400, True])
def test_nonsense_in_a_box_gives_a_line_and_changes_nothing(live, value):
    ask(live, rows=value)
    assert f"rows={value!r} must be a whole number from 1 to 100 here." in live.widget.line
    assert live.state == START
    assert live.widget.values["rows"] == 4


def test_an_empty_box_is_called_empty(live):
    ask(live, rows=None)
    assert "rows is empty: give a number." in live.widget.line
    assert live.state == START


def test_reset_goes_back_to_the_call(learner):
    shown = build({"rows": 8})
    before = shown.widget.drawing
    ask(shown, rows=13)
    ask(shown, rows=77, shape="A line")
    ask(shown, reset=True)
    assert (shown.state["rows"], shown.widget.drawing, shown.widget.line) == (8, before, "")
    ask(shown, reset=True, on=True)  # moved before the answer came
    assert shown.state == START | {"rows": 8, "on": True}
    shown.reset()
    assert shown.state == START | {"rows": 8}


def test_controls_can_be_moved_from_python(live):
    live.set(rows=50, shape="flat")
    assert live.widget.values["rows"] == 50
    assert live.state["size"] == "large"
    with pytest.raises(ValueError, match="rows=101"):
        live.set(rows=101)
    assert live.state["rows"] == 50


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"row": 1}, "Did you mean 'rows'"),
        ({"rows": 101}, "from 1 to 100"),
        ({"rows": "4"}, "rows='4'"),
        ({"rate": 0}, "from 1 B/s to 1.00 MB/s"),
        ({"rate": "fast"}, "rate='fast'"),
        ({"on": 1}, "on=1"),
        ({"shape": "rond"}, "Did you mean 'round'"),
        ({"shape": "flat", "size": "small"}, "size='small'"),
        ({"rows": 13}, "bad luck"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(learner, wrong, word):
    with pytest.raises(ValueError, match=word):
        build(wrong)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Choice("Shape", []), "at least one option"),
        (lambda: Whole("Rows", start=0), "start=0"),
        (lambda: Whole("Rows", start=1, low=5, high=5), "low < high"),
        (lambda: Whole("Rows", start=1, high=9, stops=(1, 10)), "stops"),
        (lambda: Whole("Rows", start=1, high=9, stops=(4, 2)), "stops"),
        (lambda: Number("Rate", start=1, low=0, high=9), "low=0"),
    ],
)
def test_a_control_that_could_not_move_is_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()


@given(st.integers(1, 10**6), st.integers(1, 10**9))
def test_the_stops_of_a_whole_number_are_exact_and_lie_within(low, width):
    stops = Whole("Rows", start=low, low=low, high=low + width).stops
    assert stops[0] == low
    assert stops[-1] == low + width
    assert all(isinstance(stop, int) for stop in stops)
    assert all(second <= 2 * first for first, second in pairwise(stops))


@given(st.floats(1e-12, 1e12), st.floats(1.001, 1e9))
def test_the_stops_of_a_number_increase_evenly(low, factor):
    stops = Number("Rate", start=low, low=low, high=low * factor).stops
    assert (stops[0], stops[-1]) == (low, low * factor)
    assert all(1 < second / first <= 1.2500001 * 1.04 for first, second in pairwise(stops))


def test_the_specs_are_json(live):
    json.dumps(live.widget.controls, allow_nan=False)
    assert live.widget.controls["rows"]["stops"][:4] == [[1, "1"], [2, "2"], [3, "3"], [4, "4"]]
    assert live.widget.controls["rate"]["label"] == "Rate (B/s)"


def test_the_static_form_is_a_picture_with_words_a_table_and_the_call(learner, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **more: shown.append((data, more)))
    static = build({"rows": 8})
    static._ipython_display_()
    (picture, _), (table, _) = shown
    assert picture.png[:4] == b"\x89PNG"
    assert picture.alt == "round small 8 1000 False 0"
    for part in ("<td>8</td>", "<summary>What these numbers rest on", "<li>A note.</li>", 'shape="round"'):
        assert part in table["text/html"].replace("&quot;", '"')
    assert "A note." in table["text/plain"]
    assert static.state["rows"] == 8
    assert static.call in table["text/plain"]


@pytest.mark.parametrize("package", ["ipywidgets", "anywidget"])
def test_without_a_widget_package_the_explorer_is_static_with_one_line(learner, monkeypatch, package):
    from course_lib.teaching.explore import frame

    frame._widget_class.cache_clear()
    for name in [name for name in sys.modules if name.startswith("anywidget")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"({package})" in repr(build())
