"""A figure is checked data that both drawings share."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.figures.plots import Axis, Bars, Figure, Label, Line, Points, Stack
from course_lib.figures.ticks import few_ticks, tick_text

LOG = Axis("size", "B", 1, 1e6, "log")
LINEAR = Axis("time", "s", 0, 10)
OPS = Axis("op", categories=("add", "matmul"))
ALL = (
    Line((1, 10, 1e6), (0, 5, 5), "a line"),
    Line((10, 10), (0, 5), dashed=True),
    Points((5, 50), (1, 2), ("first", "second")),
    Points((500,), (3,), ("strong",), strong=True),
    Label(100, 9, "a note"),
)


def test_the_spec_is_json_with_every_mark():
    spec = json.loads(json.dumps(Figure("found", "what it shows", LOG, LINEAR, ALL).spec()))
    assert [mark["kind"] for mark in spec["marks"]] == ["line", "line", "points", "points", "label"]
    assert spec["marks"][0] | {"x": [1, 10, 1e6], "label": "a line"} == spec["marks"][0]
    assert spec["marks"][2]["texts"] == ["first: 5 B, 1 s", "second: 50 B, 2 s"]
    assert spec["x"]["title"] == "size (B)"
    assert [text for _, text in spec["x"]["ticks"]] == ["1 B", "10 B", "100 B", "1 kB", "10 kB", "100 kB", "1 MB"]


def test_points_may_say_more_than_their_name_and_values():
    points = Points((5, 50), (1, 2), ("", ""), texts=("whose it is", "and whose that is"))
    (mark,) = Figure("found", "", LOG, LINEAR, (points,)).spec()["marks"]
    assert mark["texts"] == ["whose it is", "and whose that is"]
    assert mark["labels"] == ["", ""]


def test_bars_take_their_place_from_the_categories():
    spec = Figure("found", "", OPS, LINEAR, (Bars((1, 2)),)).spec()
    assert spec["x"]["ticks"] == [[0.0, "add"], [1.0, "matmul"]]
    assert spec["marks"][0]["texts"] == ["add: 1 s", "matmul: 2 s"]
    assert (spec["x"]["low"], spec["x"]["high"]) == (-0.5, 1.5)


def test_a_stack_names_each_part_beside_the_last_bar_and_says_each_value():
    (mark,) = (spec := Figure("found", "", OPS, LINEAR, (Stack({"read": (1, 2), "write": (3, 4.5)}),)).spec())["marks"]
    assert mark == {
        "kind": "stack",
        "parts": [
            ["read 2 s", [1, 2], ["add, read: 1 s", "matmul, read: 2 s"]],
            ["write 4.50 s", [3, 4.5], ["add, write: 3 s", "matmul, write: 4.50 s"]],
        ],
    }
    assert spec["x"]["high"] > 1.5  # room for the names
    json.dumps(spec)


def test_numbers_are_sent_no_longer_than_a_picture_shows():
    spec = Figure("found", "", LINEAR, LINEAR, (Line((0, 10 / 3), (0, 2 / 3)),)).spec()
    assert spec["marks"][0]["x"] == [0, 3.333333]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Axis("size", "B", 0, 10, "log"), "low=0"),
        (lambda: Axis("size", "B", 10, 1), "low < high"),
        (lambda: Axis("size", "B", 1, 10, "cubic"), "cubic"),
        (lambda: Figure("f", "", LOG, LINEAR, (Line((1, 2), (1,)),)), "2 x and 1 y"),
        (lambda: Figure("f", "", LOG, LINEAR, (Points((1,), (1,), ()),)), "one label"),
        (lambda: Figure("f", "", LOG, LINEAR, (Points((1,), (1,), ("x",), texts=("a", "b")),)), "one text each"),
        (lambda: Figure("f", "", LOG, LINEAR, (Bars((1,)),)), "category"),
        (lambda: Figure("f", "", OPS, LINEAR, (Stack({"read": (1,)}),)), "category"),
        (lambda: Figure("f", "", OPS, LINEAR, (Stack({"read": (1, -1)}),)), "below zero"),
        (lambda: Figure("f", "", OPS, LOG, (Stack({"read": (1, 1)}),)), "linear y axis"),
        (lambda: Figure("f", "", LOG, LINEAR, (Line((0, 2), (1, 1)),)), "above zero"),
        (lambda: Figure("f", "", LOG, LINEAR, (Points((10,), (11,), ("x",)),)), "off the axes"),
        (lambda: Figure("f", "", LOG, LINEAR, (Label(1, float("nan"), "x"),)), "finite"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()


@given(st.floats(1e-9, 1e12), st.floats(0.1, 12), st.sampled_from(["log", "linear"]), st.sampled_from(["s", "B", ""]))
def test_ticks_are_those_of_every_other_picture(low, decades, scale, unit):
    axis = Axis("size", unit, low, low * 10**decades, scale)
    found = Figure("f", "", axis, LINEAR, ()).spec()["x"]["ticks"]
    assert found == [[value, tick_text(value, unit)] for value in few_ticks(axis.low, axis.high, scale == "log")]


def test_a_time_has_its_unit_and_a_count_its_commas():
    axes = (Axis("time", "s", 1e-6, 1e-3, "log"), Axis("rows", "", 0, 8192))
    texts = [[text for _, text in Figure("f", "", axis, LINEAR, ()).spec()["x"]["ticks"]] for axis in axes]
    assert {"1 µs", "10 µs", "1 ms"} <= set(texts[0])
    assert {"0", "2,000", "8,000"} <= set(texts[1])
