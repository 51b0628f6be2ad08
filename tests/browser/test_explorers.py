"""What a learner does with an explorer: controls, picture, values, call; by keyboard and by mouse, light and dark."""

import itertools
import re

import pytest

from tests.explorers import IMPORTS

pytestmark = pytest.mark.browser

PLACE = "(svg) => svg.querySelector('.point.strong').getAttribute('d')"
# Pairs of words in a picture that touch each other, and words that leave it.
CLASHES = """(svg) => {
    const outer = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll('text')].filter((text) => !text.closest('.tip') && text.textContent);
    const boxes = words.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
    const below = (a, b) => a.bottom <= b.top + 5 || b.bottom <= a.top + 5; // a line of text is higher than its letters
    const touch = (a, b) => !beside(a, b) && !below(a, b);
    const inside = (a) => a.left >= outer.left - 1 && a.right <= outer.right + 1 && a.top >= outer.top &&
        a.bottom <= outer.bottom;
    const pairs = boxes.flatMap(([one, a], i) =>
        boxes.slice(i + 1).filter(([, b]) => touch(a, b)).map(([two]) => `${one} / ${two}`));
    return [...pairs, ...boxes.filter(([, box]) => !inside(box)).map(([text]) => text)];
}"""


MEMORY, TIMELINE = IMPORTS["explorer.memory"], IMPORTS["explorer.timeline"]
OPS = """from course_lib import explore
from course_lib.units.q02_ten_billion_in_16gb import explorer
from course_lib.accounting import roofline
sizes = (64, 512, 600)
ops = [roofline.matmul(n, n, n, dtype="bf16", name=f"matmul {n}") for n in sizes]"""


def titled(explorer, words: str):
    explorer.locator("svg > title", has_text=words).wait_for(state="attached")


def test_by_keyboard(open_cells):
    call = 'explore.roofline(device="h100-sxm", dtype="bf16", m=1, k=4096, n=4096)'
    notebook = open_cells(f"from course_lib import explore\n{call}")
    page, explorer = notebook.page, notebook.show(".course-explorer")
    picture = explorer.locator("svg[role=img]")
    titled(explorer, "m = 1: memory-bound")
    before, height = picture.evaluate(PLACE), explorer.bounding_box()["height"]
    slider = explorer.get_by_role("slider", name="Rows m")
    slider.focus()
    page.keyboard.press("ArrowRight")
    titled(explorer, "m = 2: memory-bound")
    assert picture.evaluate(PLACE) != before
    page.keyboard.press("End")
    titled(explorer, "m = 65,536: compute-bound")
    assert slider.get_attribute("aria-valuetext") == "65,536"
    assert "compute-bound" in picture.locator("desc").text_content()
    page.keyboard.press("Tab")  # to the box with the exact number
    for rows, bound in (("344", "memory"), ("345", "compute")):
        page.keyboard.press("Control+A")
        page.keyboard.type(rows)
        page.keyboard.press("Enter")
        titled(explorer, f"m = {rows}: {bound}-bound")
    assert slider.get_attribute("aria-valuetext") == "256"
    slider.press("ArrowRight")
    titled(explorer, "m = 384: compute-bound")
    assert explorer.get_by_role("spinbutton", name="Rows m: exact value").input_value() == "384"
    picture.focus()
    page.keyboard.press("ArrowRight")
    assert "m = 384: " in explorer.locator(".course-plot .spoken").text_content()
    page.keyboard.press("Tab")  # past the call
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    titled(explorer, "m = 1: memory-bound")
    assert page.evaluate("document.activeElement.textContent") == "Reset"
    explorer.get_by_role("combobox", name="Device").focus()
    page.keyboard.press("ArrowUp")
    picture.locator("desc", has_not_text="H100 SXM5").wait_for(state="attached")
    assert explorer.bounding_box()["height"] == height


def test_by_mouse(open_cells):
    opened = open_cells("from course_lib import explore\nexplore.roofline()")
    page, explorer = opened.page, opened.show(".course-explorer")
    titled(explorer, "m = 1: ")
    slider = explorer.get_by_role("slider", name="Rows m")
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in range(1, 31):
        page.mouse.move(box["x"] + 8 + step * (box["width"] - 16) / 30, box["y"] + box["height"] / 2)
    page.mouse.up()
    titled(explorer, "m = 65,536: compute-bound")
    assert slider.get_attribute("aria-valuetext") == "65,536"
    explorer.get_by_role("combobox", name="Operation").select_option("addition of [m, n]")
    titled(explorer, "m = 65,536: memory-bound")
    point = explorer.locator(".point.strong")
    at = point.bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2 + 4, at["y"] + at["height"] / 2 + 3)
    tip = explorer.locator(".tip text")
    assert "m = 65,536: 0.167 FLOP/B, 558 GFLOP/s" in tip.text_content().replace("\xa0", " ")
    page.mouse.move(1, 1)
    assert explorer.locator(".tip").get_attribute("visibility") == "hidden"
    explorer.get_by_role("button", name="Copy this call").click()
    call = explorer.locator("code").text_content()
    assert page.evaluate("getSelection().toString()") == call
    explorer.get_by_role("button", name="Reset").click()
    titled(explorer, "m = 1: memory-bound")
    assert slider.get_attribute("aria-valuetext") == "1"
    assert explorer.get_by_role("combobox", name="Operation").input_value() == "[m, k] @ [k, n]"


def test_the_call_below_the_picture_gives_the_same_state(open_cells):
    opened = open_cells(f"{MEMORY}\nshown = explorer.memory()\nshown", "1 + 1", "print(shown.state)")
    explorer = opened.show(".course-explorer")
    titled(explorer, "gpt2 with batch 8 fits")
    explorer.get_by_role("combobox", name="Model").select_option("llama3-8b")
    explorer.get_by_role("combobox", name="ZeRO").select_option("3: and weights")
    box = explorer.get_by_role("spinbutton", name="Ranks: exact value")
    box.fill("16")
    box.press("Enter")
    titled(explorer, "llama3-8b with batch 8 does not fit")
    explorer.locator("code", has_text="ranks=16").wait_for()
    call = explorer.locator("code").text_content()
    source = "(call) => jupyterapp.shell.currentWidget.content.widgets[2].model.sharedModel.setSource(call)"
    opened.page.evaluate(source, call)
    opened.run_cells("ranks=16", "print(shown.state)")
    explorers = opened.page.locator(".course-explorer")
    explorers.nth(1).locator("svg > title").wait_for(state="attached")
    for part in ("svg > title", "code", "dl"):
        assert explorers.nth(1).locator(part).text_content() == explorers.nth(0).locator(part).text_content()
    (printed,) = [output["text"] for output in opened.outputs() if output["output_type"] == "stream"]
    assert all(text in "".join(printed) for text in ("'model': 'llama3-8b'", "'zero_stage': 3", "'ranks': 16"))


def test_a_refused_state_is_a_sentence_that_moves_nothing(open_cells):
    opened = open_cells(f"{MEMORY}\nexplorer.memory()")
    explorer = opened.show(".course-explorer")
    titled(explorer, "gpt2 with batch 8 fits")
    explorer.locator("summary").click()
    assert opened.pale(explorer) == []
    height, sentence = explorer.bounding_box()["height"], explorer.locator(".sentence")
    stale = [explorer.locator(part) for part in (".course-plot", "dl", "code")]
    dimmed = lambda: [float(part.evaluate("node => getComputedStyle(node).opacity")) < 0.8 for part in stale]  # noqa: E731
    assert sentence.get_attribute("role") == "status"  # a polite live region, there before it says anything
    assert sentence.evaluate("node => getComputedStyle(node).display") == "block"
    box = explorer.get_by_role("spinbutton", name="Tokens: exact value")
    for typed, words in (
        ("2048", "seq=2048 is longer than context=1024"),
        ("0", "seq=0 must be a whole number from 1 to"),
        ("1e30", "seq=1e+30 must be a whole number"),
        ("2.5", "seq=2.5 must be"),
        ("", "seq is empty: give a number"),
    ):
        box.fill(typed)
        box.press("Enter")
        explorer.locator(".sentence", has_text=words).wait_for()
        assert explorer.bounding_box()["height"] == height
        titled(explorer, "gpt2 with batch 8 fits")
        assert dimmed() == [True] * 3
        controls, said = explorer.locator(".bar").bounding_box(), sentence.bounding_box()
        assert 0 <= said["y"] - controls["y"] - controls["height"] < 12, "right below the controls"
        assert box.get_attribute("aria-invalid") or typed == "2048"
    assert opened.pale(explorer) == []
    box.fill("512")
    box.press("Enter")
    explorer.locator("code", has_text="seq=512").wait_for()
    assert sentence.text_content() == ""
    assert dimmed() == [False] * 3
    titled(explorer, "gpt2 with batch 8 fits")
    assert explorer.bounding_box()["height"] == height


def test_a_slider_ends_where_the_model_does(open_cells):
    opened = open_cells(f'{TIMELINE}\nexplorer.timeline(model="llama3-8b", batch=1)')
    explorer = opened.show(".course-explorer")
    slider = explorer.get_by_role("slider", name="Tokens")
    slider.press("End")
    explorer.locator("code", has_text="seq=8192").wait_for()
    explorer.get_by_role("combobox", name="Model").select_option("gpt2")
    explorer.locator("code", has_text='model="gpt2"').wait_for()
    assert "seq=1024" in explorer.locator("code").text_content()
    assert slider.get_attribute("aria-valuetext") == "1,024"
    assert explorer.get_by_role("spinbutton", name="Tokens: exact value").input_value() == "1024"
    for key, shown in (("End", "1,024"), ("ArrowLeft", "768"), ("ArrowRight", "1,024"), ("ArrowRight", "1,024")):
        slider.press(key)
        opened.page.wait_for_function("!document.querySelector('.course-explorer[aria-busy]')")
        assert slider.get_attribute("aria-valuetext") == shown
        assert explorer.locator(".sentence").text_content() == ""


def test_words_keep_apart_and_inside_at_the_first_drawing(open_cells):
    """Far below what is seen, where JupyterLab draws a cell before it puts it on the page, and words have no width."""
    above = "for n in range(60): print(n)"
    cells = ((above, above, f"{line}\n{call}()") for call, line in IMPORTS.items())
    opened = open_cells(above, above, *itertools.chain.from_iterable(cells))
    for call, line in IMPORTS.items():
        cell = f".jp-CodeCell:has-text('{line}'):has-text('{call}()')"
        picture = opened.show(f"{cell} .course-explorer svg[role=img]")
        picture.locator("text").first.wait_for()  # words of an axis: not every picture has labels
        opened.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        clashes = picture.evaluate(CLASHES)
        assert clashes == [], call
        ends = picture.evaluate(
            "svg => [...svg.querySelectorAll('.label, .note')].map(t => t.getBBox().x + t.getBBox().width)"
        )
        stacked = picture.locator(".part").count() > 0  # parts are named beside the last bar, outside the axes
        assert max(ends, default=0) <= (640 if stacked else 623), f"a label of {call} leaves the box of the axes"
        values = opened.page.locator(f"{cell} .course-explorer dd")
        wide = values.evaluate_all("all => all.filter(dd => dd.scrollWidth > dd.clientWidth).map(dd => dd.textContent)")
        assert wide == [], f"values of {call} run into their neighbours"


def test_words_keep_apart_and_inside_whatever_is_chosen(open_cells):
    opened = open_cells(OPS, "explore.roofline(l2_tile=128, ops=ops)", "explorer.memory()")
    for cell, control, choices in (
        ("explore.roofline", "Device", ("NVIDIA T4", "NVIDIA H200 SXM 141 GB", "AMD EPYC 9654")),
        ("explorer.memory", "Model", ("gpt2-xl", "llama3.1-405b", "mixtral-8x7b")),
    ):
        explorer = opened.show(f".jp-CodeCell:has-text('{cell}(') .course-explorer")
        picture, select = explorer.locator("svg[role=img]"), explorer.get_by_role("combobox", name=control)
        height, slider = explorer.bounding_box()["height"], explorer.get_by_role("slider").first
        options = select.locator("option").all_text_contents()
        for number in sorted({options.index(name) for name in choices if name in options} | {0, len(options) - 1}):
            select.select_option(index=number)
            for key in ("Home", *["PageUp"] * 5, "End"):
                slider.press(key)
                opened.page.wait_for_function("!document.querySelector('.course-explorer[aria-busy]')")
                assert picture.evaluate(CLASHES) == [], (options[number], slider.get_attribute("aria-valuetext"))
            assert explorer.bounding_box()["height"] == height


def test_a_long_title_is_read_whole(open_cells):
    opened = open_cells(f"{IMPORTS['explorer.waves']}\nexplorer.waves(m=8192, n=8192)")
    explorer = opened.show(".course-explorer")
    titled(explorer, "useful")
    assert explorer.locator("svg[role=img]").evaluate(CLASHES) == []


def test_long_names_of_parts_are_read_whole(open_cells):
    opened = open_cells(f"{IMPORTS['explorer.tensor_parallel']}\nexplorer.tensor_parallel(batch=1)")
    picture = opened.show(".course-explorer svg[role=img]")
    picture.locator(".label").first.wait_for()
    assert "bytes 0.0637 µs" in picture.locator(".label").all_text_contents()
    assert picture.evaluate(CLASHES) == []


def test_on_a_narrow_page_the_name_of_each_number_is_read_whole(open_cells):
    opened = open_cells(f"{IMPORTS['explorer.waves']}\nexplorer.waves()")
    explorer = opened.show(".course-explorer")
    names = explorer.locator("dt")
    names.first.wait_for()
    for width in (560, 780):
        explorer.evaluate("(explorer, width) => { explorer.style.width = `${width}px` }", width)
        cut = names.evaluate_all("all => all.filter(dt => dt.scrollWidth > dt.clientWidth).map(dt => dt.textContent)")
        assert cut == [], width


def test_the_names_of_arguments_are_read_whole(open_cells):
    cells = (
        "def seconds(bytes_of_all_weights, bandwidth, way): return bytes_of_all_weights / bandwidth",
        'explore.interact(seconds, bytes_of_all_weights=(1, 99), bandwidth=(0.5e-6, 1e-5), way=["one", "two"])',
    )
    opened = open_cells(f"from course_lib import explore\n{cells[0]}", cells[1])
    opened.show(".widget-interact .widget-label")
    labels = opened.page.locator(".widget-interact .widget-inline-hbox > .widget-label")
    labels.nth(2).wait_for()
    cut = "all => all.filter(label => label.scrollWidth > label.clientWidth).map(label => label.textContent)"
    assert labels.evaluate_all(cut) == []
    starts = labels.evaluate_all("all => all.map(label => Math.round(label.getBoundingClientRect().right))")
    assert len(set(starts)) == 1, "the controls stand below each other"
    readouts = opened.page.locator(".widget-interact .widget-readout")
    assert readouts.all_text_contents() == ["50", "5.25e-6"]
    assert readouts.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
    row = opened.page.locator(".widget-interact").first
    assert row.evaluate("row => row.scrollWidth <= row.clientWidth")


def test_after_a_reload_with_the_kernel_running_the_explorer_comes_back(open_cells):
    opened = open_cells("from course_lib import explore\nexplore.roofline(m=64)")
    titled(opened.show(".course-explorer"), "m = 64: ")
    opened.show(".course-explorer").get_by_role("slider", name="Rows m").press("ArrowRight")
    titled(opened.show(".course-explorer"), "m = 96: ")
    opened.save()
    opened.load(opened.name)
    explorer = opened.show(".course-explorer")
    titled(explorer, "m = 96: ")
    slider = explorer.get_by_role("slider", name="Rows m")
    assert slider.get_attribute("aria-valuetext") == "96"
    slider.press("ArrowRight")
    titled(explorer, "m = 128: ")
    explorer.get_by_role("button", name="Reset").click()
    titled(explorer, "m = 64: ")


def test_on_another_day_a_line_says_how_to_bring_it_back(open_cells, lab):
    opened = open_cells("from course_lib import explore\nexplore.roofline(m=64)")
    titled(opened.show(".course-explorer"), "m = 64: ")
    line = "To get the explorer back, run the first cell and then this one"
    assert not opened.page.get_by_text(line).is_visible()
    opened.save()
    for session in lab.api("sessions"):
        lab.api(f"sessions/{session['id']}", "DELETE")
    opened.load(opened.name)
    opened.page.get_by_text(line).wait_for()
    assert not opened.page.get_by_text("model not found").is_visible()
    opened.run_all()
    titled(opened.show(".course-explorer"), "m = 64: ")
    assert not opened.page.get_by_text(line).is_visible()


def test_after_a_kernel_restart_a_line_says_what_to_do(open_cells):
    opened = open_cells("from course_lib import explore\nexplore.roofline()")
    explorer = opened.show(".course-explorer")
    titled(explorer, "m = 1: ")
    opened.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    opened._kernel_idle()
    explorer.get_by_role("slider", name="Rows m").press("ArrowRight")
    explorer.locator(".sentence", has_text=re.compile("Python has not answered yet.*run this cell again")).wait_for()
    titled(explorer, "m = 1: ")


def test_a_drag_never_throws_the_slider_back_and_ends_where_it_ended(open_cells):
    opened = open_cells(f"{MEMORY}\nexplorer.memory()")
    explorer = opened.show(".course-explorer")
    titled(explorer, "gpt2 with batch 8 fits")
    thrown = explorer.get_by_role("slider", name="Batch").evaluate(
        """async (slider) => {
            let thrown = 0;
            for (let step = 0; step < 60; step++) {
                const wanted = step % 2 ? 20 - step % 20 : step % 20;
                slider.value = wanted;
                slider.dispatchEvent(new Event('input', {bubbles: true}));
                await new Promise(requestAnimationFrame);
                if (Number(slider.value) !== wanted) thrown++;
            }
            slider.value = 0;
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            return thrown;
        }"""
    )
    assert thrown == 0
    titled(explorer, "gpt2 with batch 1 fits")
    explorer.locator("code", has_text="batch=1,").wait_for()
    assert explorer.get_by_role("spinbutton", name="Batch: exact value").input_value() == "1"
