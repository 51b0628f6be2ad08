"""An image that a notebook shows has words that say what it shows; one without them is refused, cell by cell."""

import nbformat
import pytest

from tools.build import BuildError, drift, execute
from tools.outputs import images_without_words

NOTEBOOK = "notebooks/q99_toy.ipynb"
PNG = "iVBORw0KGgo="


def shown(data, metadata=None):
    output = nbformat.v4.new_output("display_data", data, metadata=metadata or {})
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("a"), nbformat.v4.new_code_cell("b", outputs=[output])]
    )


@pytest.mark.parametrize(
    ("data", "metadata", "wordless"),
    [
        ({"image/png": PNG, "text/plain": "<Figure size 640x480 with 1 Axes>"}, {}, True),
        ({"image/png": PNG}, {"image/png": {"alt": " "}}, True),
        ({"image/png": PNG}, {"image/png": {"alt": "a circle"}}, False),
        ({"image/jpeg": PNG}, {}, True),
        ({"image/png": PNG, "text/html": '<img alt="a circle" src="a.png">'}, {}, False),
        ({"text/html": '<p>x</p><img src="a.png">'}, {}, True),
        ({"text/html": '<img src="a.png" alt="">'}, {}, True),
        ({"text/html": ["<img ", 'alt="a circle" src="a.png">']}, {}, False),
        ({"text/html": '<img alt="one" src="a.png"><img src="b.png">'}, {}, True),
        ({"image/svg+xml": "<svg><path d='M0 0'/></svg>"}, {}, True),
        ({"image/svg+xml": "<svg><title>a circle</title></svg>"}, {}, False),
        ({"text/html": '<svg aria-label="a circle"/>'}, {}, False),
        ({"text/html": '<button><svg aria-hidden="true"><path/></svg>Go</button>'}, {}, False),
        ({"text/html": "<title>of the page</title><svg></svg>"}, {}, True),
        ({"text/markdown": "see ![](a.png)"}, {}, True),
        ({"text/markdown": "see ![a circle](a.png)"}, {}, False),
        ({"text/plain": '<img src="a.png"> ![](a.png)'}, {}, False),
        ({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "a slider"}, {}, False),
    ],
)
def test_images_and_their_words(data, metadata, wordless):
    assert images_without_words(shown(data, metadata)) == [1] * wordless


def test_a_stream_is_no_image():
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", text="<img src='a.png'>")])
    assert images_without_words(nbformat.v4.new_notebook(cells=[cell])) == []


def test_the_check_names_the_unit_and_the_cell(built):
    path = built.root / NOTEBOOK
    nb = nbformat.read(path, as_version=4)
    number = next(n for n, cell in enumerate(nb.cells) if cell.source == "2 + 2")
    nb.cells[number].outputs = [nbformat.v4.new_output("display_data", {"image/png": PNG})]
    nbformat.write(nb, path)
    (problem,) = drift(built.root)
    assert problem.startswith(f"{NOTEBOOK}: cell {number + 1} (lessons/q99_toy/lesson.md:")
    assert "without a text alternative" in problem
    line = int(problem.split("lesson.md:")[1].split(")")[0])
    assert (built.root / "lessons/q99_toy/lesson.md").read_text().splitlines()[line - 1] == "2 + 2"


def test_the_build_refuses_a_bare_figure_of_matplotlib(built):
    nb = nbformat.read(built.root / NOTEBOOK, as_version=4)
    cell = next(cell for cell in nb.cells if cell.source == "2 + 2")
    cell.source = "from IPython.display import Image\nImage(data=b'\\x89PNG\\r\\n\\x1a\\n', format='png')"
    with pytest.raises(BuildError, match=r"lessons/q99_toy/lesson.md:\d+: the output shows an image without"):
        execute(nb, built.root, "q99_toy")


def test_the_figures_of_the_course_have_words():
    from course_lib import experiments

    bundle = experiments.load("same_flops").plot()._repr_mimebundle_()
    assert images_without_words(shown(bundle)) == []
    assert images_without_words(shown({"text/html": bundle["text/html"].replace(" alt=", " data-alt=")})) == [1]
