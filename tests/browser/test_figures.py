"""Figures in JupyterLab: paper is light on a light page and dark on a dark one, stored ones too; all have words."""

import io

import pytest

pytestmark = pytest.mark.browser

CELLS = (
    "import os\nos.environ['COURSE_STATIC'] = '1'\nfrom course_lib import experiments, explore, figures",
    'experiments.load("same_flops").plot()',
    'explore.roofline(device="h100-sxm")',
    'figures.draw("A line rises", alt="From 1 s to 2 s.", paint=lambda axes: axes.plot([1, 2], [1, 2]),\n'
    '             x=("batch", ""), y=("time", "s"))',
)
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
PAPER = (252, 252, 250)


def turned(colour):
    """invert(1) hue-rotate(180deg), as "Filter Effects" defines them."""
    r, g, b = (255 - c for c in colour)
    rows = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
    return tuple(min(max(x * r + y * g + z * b, 0), 255) for x, y, z in rows)


def corner(img):
    """The colour near the upper right corner of the picture as it is painted, where there is nothing but paper."""
    from PIL import Image

    picture = Image.open(io.BytesIO(img.screenshot())).convert("RGB")
    return picture.getpixel((picture.width - 8, 5))


def near(colour, other) -> bool:
    return all(abs(a - b) <= 4 for a, b in zip(colour, other, strict=True))


def images(notebook):
    """The picture of each cell that draws one, scrolled to in turn."""
    for cell in ("same_flops", "explore.roofline", "figures.draw"):
        yield notebook.show(f".jp-CodeCell:has-text('{cell}'):not(:has-text('import')) img.course-figure")


def check(notebook, theme):
    notebook.theme(theme)
    for img in images(notebook):
        img.evaluate("img => img.decode()")
        assert near(corner(img), PAPER if theme == LIGHT else turned(PAPER)), theme
        assert len(img.get_attribute("alt")) > 10


def test_figures_follow_the_theme_live_and_stored(open_cells):
    notebook = open_cells(*CELLS, toys=False)
    assert notebook.errors() == []
    check(notebook, DARK)
    check(notebook, LIGHT)
    named = notebook.page.get_by_role("img", name="The same FLOPs")
    assert "one large GEMM: predicted" in named.get_attribute("alt")
    notebook.save()
    notebook.load(notebook.name)
    check(notebook, DARK)
