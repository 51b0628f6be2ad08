"""Labels of points in a picture, against the boxes that matplotlib really draws."""

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course_lib.experiments.figure import label_points


def test_labels_of_crowded_points_do_not_cover_each_other():
    figure = Figure(figsize=(8, 5), dpi=130)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    points = [(20, 50, "first of three"), (24, 51, "second of three"), (22, 49, "third of three"), (80, 20, "alone")]
    label_points(axes, points)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == [text for _, _, text in points]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    beside = axes.transData.transform((80, 20))
    assert 0 < boxes[3].x0 - beside[0] < 20, "a free point has its label on the right"
