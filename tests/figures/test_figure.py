"""Figures against what matplotlib really draws: texts that stand clear, contrast in light and dark, grey, words."""

import re
from itertools import combinations

import matplotlib as mpl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure as Canvas

from course_lib import experiments, figures
from course_lib.experiments import registry
from course_lib.experiments.recordings import loading
from course_lib.figures import charts, labels, style
from course_lib.figures.figure import draw, image
from tests.experiments.example import result

SIZES = {"page": False, "projector": True}
TIME = {"x": ("batch", "sequences"), "y": ("time", "s")}


def shown(name):
    """The recorded result of an experiment, else one of made-up numbers."""
    return experiments.load(name) if loading.recorded(name) else result(name)


@pytest.fixture
def canvases(monkeypatch):
    """What is drawn, before it becomes a picture; nothing is written, which takes the longest."""
    drawn = []
    monkeypatch.setattr(Canvas, "savefig", lambda self, *_, **__: drawn.append(self))
    return drawn


@pytest.fixture(params=["page", pytest.param("projector", marks=pytest.mark.slow)])
def sized(request):
    figures.projector(SIZES[request.param])
    yield request.param
    style._projected = None


@pytest.fixture(autouse=True)
def no_projector(monkeypatch):
    monkeypatch.delenv("COURSE_PROJECTOR", raising=False)
    monkeypatch.setattr(style, "_projected", None)


def texts(canvas):
    """All words of a picture as matplotlib's texts: title, note, names of the axes, ticks, direct labels."""
    canvas.draw_without_rendering()  # ticks come to their places
    (axes,) = canvas.axes
    ticks = [label for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()]
    found = [*canvas.texts, axes.title, axes.xaxis.label, axes.yaxis.label, *ticks, *axes.texts]
    return [text for text in found if text.get_text().strip() and text.get_visible()]


# ---------------------------------------------------------------- texts stand clear


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("name", registry.names())
def test_no_two_texts_of_a_figure_touch_and_none_leaves_it(name, sized, canvases):
    shown(name).plot()
    (canvas,) = canvases
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(canvas)]
    assert len(boxes) > 6
    touching = [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if a.padded(-1).overlaps(b.padded(-1))]
    assert not touching
    frame = canvas.bbox.padded(1)
    assert [text for text, box in boxes if box.x0 < frame.x0 or box.x1 > frame.x1 or box.y1 > frame.y1] == []


@pytest.mark.parametrize("name", ["ten_times_flops", "fusion_chain", "elementwise_vs_matmul"])
def test_a_value_stands_right_of_the_quartiles_and_of_both_marks(name, sized, canvases):
    r = shown(name)
    r.plot()
    (axes,) = canvases[0].axes
    for note, row in zip(axes.texts, r.rows, strict=True):
        rightmost = max(row["q3"], row[r.quantity], r.prediction[row["case"]])
        assert note.get_window_extent().x0 > axes.transData.transform((rightmost, 0))[0]


def test_labels_of_crowded_points_do_not_cover_each_other():
    canvas = Canvas(figsize=(8, 5), dpi=130)
    axes = canvas.add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    points = [(20, 50, "first of three"), (24, 51, "second of three"), (22, 49, "third of three"), (80, 20, "alone")]
    labels.label_points(axes, points)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == [text for _, _, text in points]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    marks = [axes.transData.transform((x, y)) for x, y, _ in points]
    assert not any(box.contains(*mark) for box in boxes for mark in marks)
    assert 0 < boxes[3].x0 - marks[3][0] < 25, "a free point has its label on the right"


def test_a_label_at_the_edge_stays_inside():
    canvas = Canvas(figsize=(8, 5), dpi=130)
    axes = canvas.add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    labels.label_points(axes, [(99, 99, "at the right, at the top"), (1, 1, "at the left")])
    frame = axes.get_window_extent()
    for text in axes.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1


# ---------------------------------------------------------------- colours


def luminance(colour) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def turned(colour) -> tuple[float, ...]:
    """invert(1) hue-rotate(180deg), as "Filter Effects" defines them: on sRGB values, clipped after each step."""
    r, g, b = (1 - c for c in to_rgb(colour))
    rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
    return tuple(min(max(x * r + y * g + z * b, 0), 1) for x, y, z in rows)


@pytest.mark.parametrize("seen", [lambda colour: colour, turned], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["roofline_points", "bandwidth_staircase", "train_step_waterfall", "same_flops"])
def test_every_text_stands_out_from_the_paper(name, seen, canvases):
    shown(name).plot()
    paper = canvases[0].get_facecolor()
    for text in texts(canvases[0]):
        assert contrast(seen(text.get_color()), seen(paper)) >= 4.5, text.get_text()
    for colour in style.COLOURS.values():
        assert contrast(seen(colour), seen(paper)) >= 4.5


def test_the_dark_theme_has_dark_paper_and_light_ink():
    assert luminance(turned(style.PAPER)) < 0.01
    assert luminance(turned(style.INK)) > 0.7


def test_without_colour_the_kinds_still_differ():
    def in_grey(kind):
        mark = style.mark(kind)
        grey = round(luminance(mark["markerfacecolor"]), 1)
        return mark["marker"], grey > 0.5, style.LINES[kind]

    looks = [in_grey(kind) for kind in style.COLOURS]
    for one, other in combinations(looks, 2):
        assert one[2] != other[2], "a line tells them apart"
        assert one[:2] != other[:2], "so does a mark, by its shape or by being open"


# ---------------------------------------------------------------- drawing one's own


def line(axes):
    axes.plot([1, 2, 4], [1e-3, 2e-3, 4e-3])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": " "}, "title=' ': a figure needs a title"),
        ({"alt": ""}, "alt='': a figure needs"),
        ({"alt": None}, "alt=None"),
        ({"x": "batch"}, r"x='batch' must be \(label, unit\)"),
        ({"y": ("", "s")}, r"y=\('', 's'\) must be"),
        ({"y": ("time", 1)}, "the unit is '' for pure numbers"),
    ],
)
def test_a_figure_without_words_is_refused(change, reason):
    with pytest.raises(ValueError, match=reason):
        draw(**({"title": "found", "alt": "what it shows", "paint": line} | TIME | change))


def test_an_axis_says_its_unit_its_scale_and_plain_numbers(canvases):
    def paint(axes):
        line(axes)
        axes.set_yscale("log")

    draw("found", "what it shows", paint, **TIME)
    (axes,) = canvases[0].axes
    assert axes.get_xlabel() == "batch (sequences)"
    assert axes.get_ylabel() == "time (s), logarithmic"
    ticks = [label.get_text() for label in axes.yaxis.get_ticklabels()]
    assert "1 ms" in ticks
    assert not any("^" in tick or "$" in tick or "e" in tick for tick in ticks)


def test_a_direct_label_of_a_lesson_is_written(canvases):
    def paint(axes):
        line(axes)
        return [(4, 4e-3, "costs $5 and $6")]

    draw("found", "what it shows", paint, **TIME)
    assert [text.get_text() for text in canvases[0].axes[0].texts] == ["costs $5 and $6"]


def test_a_long_title_is_wrapped_to_the_width(canvases):
    draw("A finding that takes very many words to say, " * 4, "what it shows", line, **TIME)
    title = canvases[0]._suptitle
    assert title.get_text().count("\n") >= 1
    assert title.get_window_extent().x1 <= canvases[0].bbox.x1


def test_the_style_is_the_course_s_and_nobody_else_s_changes(canvases):
    before = dict(mpl.rcParams)
    draw("found", "what it shows", line, **TIME)
    (axes,) = canvases[0].axes
    assert axes.get_lines()[0].get_color() == style.MEASURED
    assert not axes.spines["top"].get_visible()
    assert dict(mpl.rcParams) == before


def test_the_projector_size_has_larger_text_and_thicker_lines(canvases, monkeypatch):
    def looks():
        draw("found", "what it shows", line, **TIME)
        (axes,) = (canvas := canvases[-1]).axes
        return axes.xaxis.label.get_fontsize() / canvas.get_figwidth(), axes.get_lines()[0].get_linewidth()

    page = looks()
    monkeypatch.setenv("COURSE_PROJECTOR", "1")
    by_environment = looks()
    figures.projector(False)
    assert looks() == page, "the call counts more than the environment"
    figures.projector()
    assert looks() == by_environment
    assert by_environment[0] >= 1.15 * page[0]
    assert by_environment[1] >= 1.5 * page[1]
    drawn = draw("found", "what it shows", line, **TIME)
    assert drawn.pixels > style.PAGE.pixels


def test_figures_is_where_a_lesson_looks():
    assert figures.draw is draw
    assert figures.projector is style.projector


def test_the_html_has_words_and_turns_dark_with_the_page():
    page = image(b"png", 'a "circle" <b>', 760)
    assert 'alt="a &quot;circle&quot; &lt;b&gt;"' in page
    assert '<img class="course-figure"' in page
    (selector,) = re.findall(r"<style>(.*?)\{", page)
    assert selector == '[data-jp-theme-light="false"] img.course-figure', "no other image of the page is touched"
    assert "filter:invert(1) hue-rotate(180deg)" in page


def test_a_row_may_have_one_value_alone():
    picture = charts.dot_rows([{"case": "one", "recorded": 2.0}], "Title", "Words.", "time", "s", "marks")
    assert picture.png
