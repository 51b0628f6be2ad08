"""The explorer of waves: its saw against the calculator, and its static form."""

import pytest

from course_lib.accounting.hardware import multiprocessors
from course_lib.units.q04_why_matmul import explorer as module
from tests.explorers import STEP, calls_of


@pytest.mark.parametrize("tile", module.TILES)
def test_the_saw_is_what_the_calculator_says(tile):
    shown = module.view("a100-40-sxm", tile, 1000, 3000).figure.marks[0]
    rows, columns = module.TILES[tile]
    for m, share in list(zip(shown.x, shown.y, strict=True))[::7]:
        found = multiprocessors.waves(m, 3000, tile_m=rows, tile_n=columns, device="a100-40-sxm")
        assert share == pytest.approx(100 * found.useful)


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.waves(m=1409))
    assert "2 waves" in text
    assert "144" in text
    assert module.waves(tile="64 × 64").state["tile"] == "64 × 64"
    assert 'explorer.waves(device="h100-sxm", tile="128 × 256", m=1409, n=3072)' in text


def test_a_step_of_the_slider_is_little_work():
    module.view("h100-sxm", "64 × 64", 1, 8192)
    assert calls_of(lambda: module.view("h100-sxm", "64 × 64", 2, 8192)) < STEP
