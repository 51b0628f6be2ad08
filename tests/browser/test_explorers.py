"""What a learner does with an explorer: sliders, boxes, the picture and its values, by keyboard and by mouse."""

import pytest

pytestmark = pytest.mark.browser

LESSON = "notebooks/q05_flops_are_not_time.ipynb"
IMPORTS = "from course_lib import"


def test_the_explorers_slider_moves_the_picture_by_keyboard(open_notebook):
    notebook = open_notebook(LESSON)
    page = notebook.page
    notebook.run_cells(IMPORTS, "explore.roofline")
    explorer = notebook.show(".course-explorer")
    picture = explorer.locator("svg[role=img]")
    picture.wait_for()
    place = "(svg) => svg.querySelector('.point.strong').getAttribute('d')"
    before, height = picture.evaluate(place), explorer.bounding_box()["height"]
    assert picture.locator("title").text_content().startswith("m = 1: memory-bound")
    slider = explorer.get_by_role("slider", name="Rows m")
    slider.focus()
    page.keyboard.press("ArrowRight")
    picture.locator("title", has_text="m = 2: memory-bound").wait_for(state="attached")
    assert picture.evaluate(place) != before
    page.keyboard.press("End")
    picture.locator("title", has_text="m = 65,536: compute-bound").wait_for(state="attached")
    assert slider.get_attribute("aria-valuetext") == "65,536"
    assert "compute-bound" in picture.locator("desc").text_content()
    assert explorer.bounding_box()["height"] == height
    box = explorer.get_by_role("spinbutton", name="m", exact=True)
    for rows, bound in (("344", "memory"), ("345", "compute")):
        box.fill(rows)
        page.keyboard.press("Enter")
        picture.locator("title", has_text=f"m = {rows}: {bound}-bound").wait_for(state="attached")
    assert slider.get_attribute("aria-valuetext") == "256"
    slider.press("ArrowRight")
    picture.locator("title", has_text="m = 384: compute-bound").wait_for(state="attached")
    assert box.input_value() == "384"
    slider.press("End")
    picture.locator("title", has_text="m = 65,536: compute-bound").wait_for(state="attached")
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert "m = 65,536: 1\xa0986 FLOP/B, 989 TFLOP/s" in explorer.locator(".spoken").text_content()
    explorer.get_by_role("button", name="Reset").click()
    picture.locator("title", has_text="m = 1: memory-bound").wait_for(state="attached")
