"""`explore.interact`: what it shows with and without a kernel's widgets, and what it says of wrong arguments."""

import ipywidgets
import nbformat
import pytest
from nbclient import NotebookClient

from course_lib import explore


@pytest.fixture
def live(monkeypatch):
    monkeypatch.delenv("COURSE_STATIC", raising=False)


def ridge(rows, width=4096):
    return rows * width / 2


def unwritten(rows):
    return ...


def computes_with_dots(rows):
    return 2 * ...


def returns_nothing(rows):
    pass


def divides(rows):
    return 1 / (rows - rows)


def text(shown) -> str:
    return shown._repr_mimebundle_()["text/plain"]


@pytest.mark.parametrize(
    ("fn", "controls", "says"),
    [
        (ridge, {"rows": (1, 1000)}, "ridge(rows=500) gives 1,024,000"),
        (ridge, {"rows": (1, 9), "width": 2}, "ridge(rows=5, width=2) gives 5"),
        (ridge, {"rows": [3, 4]}, "ridge(rows=3) gives 6,144"),
        (ridge, {"rows": {"few": 7, "many": 9}}, "ridge(rows=7) gives 14,336"),
        (ridge, {"rows": (0.0, 1.0), "width": 1}, "ridge(rows=0.5, width=1) gives 0.25"),
        (unwritten, {"rows": (1, 9)}, "Write unwritten(…) first, in the cell above: it returns nothing yet."),
        (
            computes_with_dots,
            {"rows": (1, 9)},
            "Write computes_with_dots(…) first, in the cell above: it returns nothing yet.",
        ),
        (
            returns_nothing,
            {"rows": (1, 9)},
            "Write returns_nothing(…) first, in the cell above: it returns nothing yet.",
        ),
        (divides, {"rows": (1, 9)}, "divides(rows=5) raised ZeroDivisionError: division by zero"),
    ],
)
def test_one_line_where_nothing_moves(fn, controls, says):
    assert text(explore.interact(fn, **controls)) == says


@pytest.mark.parametrize(
    "limits", [(1, 1000), (2, 32), (0, 7), (1, 9, 4), (0.5, 8.0), (0.0, 1.0, 0.3), (-5, 4), (2, 32, 2)]
)
def test_the_still_line_stands_where_the_slider_begins(live, limits):
    """Where that is, ipywidgets decides by itself."""
    shown = explore.interact(ridge, rows=limits)
    (slider, _) = shown.widget.children
    assert isinstance(slider, ipywidgets.IntSlider | ipywidgets.FloatSlider)
    assert repr(shown) == f"ridge(rows={slider.value!r})"


def test_a_slider_of_fractions_moves_by_a_hundredth_of_its_range(live):
    (slider, _) = explore.interact(ridge, rows=(0.001, 0.002)).widget.children
    assert (slider.min, slider.max, slider.step) == (0.001, 0.002, pytest.approx(1e-5))
    (slider, _) = explore.interact(ridge, rows=(0.0, 1.0, 0.25)).widget.children
    assert slider.step == 0.25


def test_every_control_has_room_for_the_longest_name(live):
    def f(bytes_per_number, k, way, both):
        return k

    shown = explore.interact(f, bytes_per_number=(1, 9), k=7, way=["a", "b"], both=True)
    *controls, _ = shown.widget.children
    assert [control.style.description_width for control in controls] == ["17ch"] * 3


def test_a_number_and_a_text_have_no_control(live):
    shown = explore.interact(ridge, rows=(1, 9), width=64)
    assert [type(child).__name__ for child in shown.widget.children] == ["IntSlider", "Output"]
    assert repr(shown) == "ridge(rows=5, width=64)"


@pytest.mark.parametrize(
    ("fn", "controls", "says"),
    [
        (ridge, {"row": (1, 9)}, ["row", "is not known", "'rows'"]),
        (ridge, {"width": (1, 9)}, ["rows=… is missing", "ridge needs it"]),
        (ridge, {"rows": (9, 1)}, ["rows=(9, 1)"]),
        (ridge, {"rows": (1, 9, 20)}, ["rows=(1, 9, 20)"]),
        (ridge, {"rows": (1,)}, ["rows=(1,)", "(lowest, highest)"]),
        (ridge, {"rows": ("a", "b")}, ["rows=('a', 'b')", "in numbers"]),
        (ridge, {"rows": []}, ["rows=[] has no option"]),
        (12.5, {"rows": (1, 9)}, ["the function itself", "12.5"]),
    ],
)
def test_a_wrong_argument_is_named(refuses, fn, controls, says):
    refuses(lambda: explore.interact(fn, **controls), says)


LINES = [
    "from course_lib import explore",
    "def ridge(rows):\n    return ...",
    "explore.interact(ridge, rows=(1, 1000))",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "says"),
    [("...", "Write ridge(…) first"), ("rows / 2", "ridge(rows=500) gives 250"), ("1 / 0", "raised Zero")],
)
def test_in_a_kernel_nothing_stops_and_the_line_stands_below_the_slider(monkeypatch, tmp_path, body, says):
    monkeypatch.setenv("COURSE_STATIC", "0")
    sources = [line.replace("...", body) for line in LINES]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(nb, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = nb.cells[-1].outputs
    assert "application/vnd.jupyter.widget-view+json" in shown[0].data
    assert shown[0].data["text/plain"] == "ridge(rows=500)"
    states = nb.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    below = [output for state in states for output in state["state"].get("outputs", [])]
    assert len(below) == 1, below
    assert says in below[0]["text"]
