"""What a learner does in JupyterLab: run each notebook, commit and reveal a card, move a slider."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
LESSON = "notebooks/q05_flops_are_not_time.ipynb"
CARD = 'card("q05.linear-1-to-100")'
DOCKET = 'verdicts("q05")'
IMPORTS = "from course_lib import"

# The contrast of every text in an element against what is behind it, as WCAG 2.2 defines it (disabled controls exempt).
CONTRAST = """(root) => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
    const context = canvas.getContext('2d', {willReadFrequently: true});
    const rgba = (colour) => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
    const behind = (node) => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
    };
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) =>
        0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    const found = [];
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
        if (!text || node.closest('style, title, desc, option, .spoken, .tip')) continue;
        if (node.closest(':disabled') || node.closest('label')?.querySelector(':disabled')) continue;
        const style = getComputedStyle(node);
        const ink = rgba(node.ownerSVGElement ? style.fill : style.color);
        for (let at = node; at; at = at.parentElement) ink[3] *= Number(getComputedStyle(at).opacity);
        const ground = behind(node.ownerSVGElement?.parentElement ?? node);
        const [light, dark] = [luminance(over(ink, ground)), luminance(ground)].sort((a, b) => b - a);
        found.push([text.slice(0, 40), (light + 0.05) / (dark + 0.05)]);
    }
    return found;
}"""


def test_there_are_notebooks_to_open():
    assert "00_start_here.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_notebook_runs_from_top_to_bottom(open_notebook, name):
    notebook = open_notebook(f"notebooks/{name}")
    notebook.run_all()
    assert notebook.errors() == []
    widgets = sum("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in notebook.outputs())
    notebook.page.wait_for_function(
        "(n) => document.querySelectorAll('.course-card, .course-explorer').length === n", arg=widgets
    )
    assert notebook.page.get_by_text("Error displaying widget").count() == 0


def test_the_course_opens_on_the_start_page_and_asks_no_question(open_notebook):
    page = open_notebook(None).page
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget?.context?.path === 'notebooks/00_start_here.ipynb'", timeout=90_000
    )
    news = page.evaluate(
        """async () => {
            const plugin = '@jupyterlab/apputils-extension:notification';
            const settings = await jupyterapp.serviceManager.settings.fetch(plugin);
            return settings.schema.properties.fetchNews.default;
        }"""
    )
    assert news == "false"


def test_a_card_is_committed_and_revealed_by_keyboard_and_comes_back(open_notebook):
    notebook = open_notebook(LESSON)
    page = notebook.page
    notebook.run_cells(IMPORTS, CARD)
    card = notebook.show(".course-card")
    assert card.get_by_role("button", name="Reveal").is_disabled()
    assert "You said" not in card.inner_text()

    card.get_by_label("Your guess:").focus()
    page.keyboard.type("100")
    slider = card.get_by_role("slider", name="or slide:")
    assert slider.get_attribute("aria-valuetext") == "100 ×"
    page.keyboard.press("Tab")  # the slider
    page.keyboard.press("Tab")  # how sure
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert card.get_by_role("group", name="How sure:").get_by_label("very sure").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Commit
    card.get_by_text("Committed: 100 ×, very sure.").wait_for()
    page.keyboard.press("Tab")  # Retry
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # Reveal
    card.get_by_text("You said 100 ×; it is 1.05 ×.").wait_for()
    card.get_by_role("img", name="your first guess, 100 ×, and the answer, 1.05 ×").wait_for()

    notebook.restart_kernel()
    assert notebook.page.locator(".course-card").count() == 0
    notebook.run_cells(IMPORTS, CARD)
    again = notebook.show(".course-card")
    again.get_by_text("You said 100 ×; it is 1.05 ×.").wait_for()
    assert again.get_by_label("Your guess:").input_value() == "100"
    assert again.get_by_label("very sure").is_checked()
    assert again.get_by_role("button", name="Commit").is_disabled()


def test_the_slider_of_a_card_never_contradicts_its_box(open_notebook):
    notebook = open_notebook(LESSON)
    notebook.run_cells(IMPORTS, CARD)
    card = notebook.show(".course-card")
    box, slider = card.get_by_label("Your guess:"), card.get_by_role("slider", name="or slide:")
    for typed, said, shown in [
        ("100", "100 ×", "100 ×"),
        ("123.4", "123.4 ×", ""),
        ("1e9", "1e9 ×", ""),
        ("1/3", "not set", "–"),
        ("0,250", "not set", "–"),
        ("0", "not set", "–"),
        ("", "not set", "–"),
        ("0,25", "not set", "–"),
    ]:
        box.fill(typed)
        assert (slider.get_attribute("aria-valuetext"), card.locator(".shown").text_content()) == (said, shown)
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Write 0.25 with a point.").wait_for()
    assert (box.input_value(), slider.get_attribute("aria-valuetext")) == ("0,25", "not set")
    slider.press("End")
    assert card.locator(".shown").text_content() == slider.get_attribute("aria-valuetext") != "not set"


def test_a_guess_typed_while_the_kernel_works_is_committed_whole(open_notebook):
    notebook = open_notebook(LESSON)
    notebook.run_cells(IMPORTS, CARD)
    card = notebook.show(".course-card")
    card.get_by_label("Your guess:").wait_for()
    notebook.page.evaluate(
        """() => {
            const code = 'import time; time.sleep(3)';
            jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code});
        }"""
    )
    card.get_by_label("Your guess:").press_sequentially("1000")
    card.get_by_label("fairly sure").click()
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Sent. The kernel answers when it is free.").wait_for()
    card.get_by_text("Committed: 1,000 ×, very sure.").wait_for()


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


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_texts_stand_out_in_both_themes(open_notebook, theme):
    notebook = open_notebook(LESSON)
    notebook.theme(theme)
    notebook.run_cells(IMPORTS, 'card("q05.zeros")', "explore.roofline", CARD, DOCKET)
    notebook.show(".course-card").get_by_role("button", name="Hint 1").click()
    notebook.show(".course-card").locator("strong", has_text="Hint 1 of 3: the idea").wait_for()
    for selector in (".course-card", ".course-explorer"):
        shown = notebook.show(selector)
        shown.get_by_role("button").first.wait_for()
        texts = shown.evaluate(CONTRAST)
        assert len(texts) > 5
        assert [(text, round(ratio, 2)) for text, ratio in texts if ratio < 4.5] == []
    docket = notebook.show("details:has(table)")
    docket.locator("summary").click()
    assert [(text, round(ratio, 2)) for text, ratio in docket.evaluate(CONTRAST) if ratio < 4.5] == []
    aligned = "cells => [...new Set(cells.map(getComputedStyle).map(s => `${s.textAlign} ${s.verticalAlign}`))]"
    assert docket.locator("th, td").evaluate_all(aligned) == ["left top"]
