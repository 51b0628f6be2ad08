"""The still twin of a plot has the same words and the same marks as the SVG."""

import struct
import zlib

import pytest

from course_lib.figures import picture
from course_lib.figures.plots import Axis, Bars, Figure, Label, Line, Points, Stack

LOG = Axis("size", "B", 1, 1e6, "log")
LINEAR = Axis("time", "s", 0, 10)
OPS = Axis("op", categories=("add", "matmul"))
MARKS = (
    Line((1, 10, 1e6), (0, 5, 5), "a line"),
    Line((10, 10), (0, 5), dashed=True),
    Points((5, 50), (1, 2), ("first", "second")),
    Points((500,), (3,), ("strong",), strong=True),
    Label(100, 9, "a note"),
)


@pytest.mark.parametrize(
    ("x", "marks"),
    [(LOG, MARKS), (OPS, (Bars((1, 2)),)), (OPS, (Stack({"read": (1, 2), "write": (0, 1)}),))],
)
def test_a_still_is_a_picture_with_ink_on_it(x, marks):
    still = picture.still(Figure("found", "what it shows", x, LINEAR, marks))
    assert (still.title, still.alt) == ("found", "what it shows")
    assert still.png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", still.png[16:24]) == (1040, 650)
    data, at = b"", 8
    while at < len(still.png):
        (length,) = struct.unpack(">I", still.png[at : at + 4])
        data += still.png[at + 8 : at + 8 + length] if still.png[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + length
    assert len(set(zlib.decompress(data))) > 10


def test_every_label_of_the_marks_is_written(monkeypatch):
    from matplotlib.figure import Figure as Canvas

    drawn = []
    monkeypatch.setattr(Canvas, "savefig", lambda self, *_, **__: drawn.append(self))
    picture.still(Figure("found", "what it shows", LOG, LINEAR, MARKS))
    (axes,) = drawn[0].axes
    texts = {text.get_text() for text in axes.texts}
    assert texts == {"a line", "first", "second", "strong", "a note"}
    assert [line.get_linestyle() for line in axes.get_lines()][:2] == ["-", "--"]
    assert axes.get_xlabel() == "size (B), logarithmic"
    assert axes.get_ylabel() == "time (s)"
    assert (axes.get_xlim(), axes.get_ylim()) == ((1, 1e6), (0, 10))


def test_the_axis_of_categories_is_named(monkeypatch):
    from matplotlib.figure import Figure as Canvas

    drawn = []
    monkeypatch.setattr(Canvas, "savefig", lambda self, *_, **__: drawn.append(self))
    named = Axis("operation", "kind", categories=("add", "matmul"))
    picture.still(Figure("found", "words", named, LINEAR, (Bars((1, 2)),)))
    assert drawn[0].axes[0].get_xlabel() == "operation (kind)"


def test_without_matplotlib_the_words_remain(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    still = picture.still(Figure("found", "what it shows", LOG, LINEAR, MARKS))
    assert "what it shows" in still._repr_mimebundle_()["text/plain"]
