"""What a learner feels: explorers and cards in a real JupyterLab in headless Chromium, beside the bars of the course.

Run `python benchmarks/frontend.py` (about a minute; needs Chromium and the test extras). A step is painted at the
first animation frame after the last change of the page that it caused. Blank frames and height jumps are counted in
every frame of the steps. Bytes are those of the websocket, from the kernel, a step.
"""

import contextlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
STEPS = 50
DRAG = 30
CARDS = (
    "q05.linear-1-to-100",
    "q05.linear-100-to-10000",
    "q05.where-the-bound-changes",
    "q05.gemm-or-adds",
    "q05.zeros",
    "q05.s002-18",
    "q05.s002-14",
    "q05.s004-008",
    "q05.s004-009",
    "q05.wish-for-bandwidth",
)
IMPORTS = "from course_lib import explore\nfrom course_lib.units.q02_ten_billion_in_16gb import explorer"
EXPLORERS = {"explore.roofline": "Rows m", "explorer.memory": "Batch"}  # explorer → the slider that is moved

# In the page: `watch(root, act, done)` does `act`, waits until `done()`, and gives the ms to the paint after the last
# change of `root`, and what every frame on the way showed.
WATCH = """
window.bench = {
    frame: () => new Promise(requestAnimationFrame),
    seen(root) {
        const svg = root.querySelector('svg[role=img]');
        return [!svg || !svg.querySelector('.point.strong, .part') || !svg.querySelector('.title').textContent,
            root.getBoundingClientRect().height];
    },
    async watch(root, act, done) {
        let last = 0, blank = 0;
        const heights = new Set();
        const observer = new MutationObserver(() => (last = performance.now()));
        observer.observe(root, {subtree: true, childList: true, characterData: true, attributes: true});
        const start = performance.now();
        act();
        let painted = 0;
        for (let quiet = 0; quiet < 3;) {
            await this.frame();
            const now = performance.now(), [empty, height] = this.seen(root);
            blank += empty;
            heights.add(height);
            quiet = done() && last <= painted ? quiet + 1 : 0;
            if (!quiet) painted = now;
            if (now - start > 10000) throw new Error('no answer within 10 s');
        }
        observer.disconnect();
        return {ms: painted - start, blank, heights: [...heights]};
    },
    slide(slider, value) {
        slider.value = value;
        slider.dispatchEvent(new Event('input', {bubbles: true}));
    },
};
"""
STEPPING = """async (slider, steps) => {
    const root = slider.closest('.course-explorer'), found = [];
    const last = Number(slider.max);
    for (let step = 0; step < steps; step++) {
        const value = step % (2 * last) <= last ? step % (2 * last) : 2 * last - step % (2 * last);
        found.push(await bench.watch(root, () => bench.slide(slider, value + (step ? 0 : 1)), () => !root.ariaBusy));
    }
    return found;
}"""
DRAGGING = """async (slider, steps) => {
    const root = slider.closest('.course-explorer'), titles = new Set(), title = root.querySelector('svg > title');
    const watcher = new MutationObserver(() => titles.add(title.textContent));
    watcher.observe(title, {childList: true, characterData: true, subtree: true});
    const start = performance.now();
    for (let step = 0; step < steps - 1; step++) {
        bench.slide(slider, step % Number(slider.max));
        await new Promise((go) => setTimeout(go, start + (step + 1) * 1000 / 60 - performance.now()));
    }
    const end = await bench.watch(root, () => bench.slide(slider, slider.max), () => !root.ariaBusy);
    watcher.disconnect();
    return {...end, pictures: titles.size};
}"""
FIRST = """async () => {
    const start = performance.now();
    jupyterapp.commands.execute('notebook:run-all-cells');
    while (!document.querySelector('.course-explorer svg .title, .course-card button')) await bench.frame();
    await bench.frame();
    return performance.now() - start;
}"""
RUN = """() => jupyterapp.shell.currentWidget.content.widgets.every((cell) => cell.model.executionCount !== null)"""
REVEALING = """async (button) => {
    const root = button.closest('.course-card'), [, answer] = root.querySelectorAll('div[aria-live]');
    return await bench.watch(root, () => button.click(), () => answer.textContent !== '');
}"""


def browser_tools():
    """The module that the browser tests share: the server, the notebook, how to find Chromium."""
    spec = importlib.util.spec_from_file_location("browser_tools", ROOT / "tests" / "browser" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def lab_page():
    """(tools, a running JupyterLab on a fresh learner's copy, a browser page)."""
    from playwright.sync_api import sync_playwright

    from course_lib import units
    from course_lib.teaching.lab import my_course

    tools = browser_tools()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder, own = Path(scratch) / "my_course", Path(scratch) / "jupyter"
        own.mkdir()
        my_course.update(units.home(), folder)
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(executable_path=tools.find_chromium(), args=flags)
        with tools.serve(folder, own) as lab:
            page = chromium.new_page(viewport={"width": 1280, "height": 1100})
            page.add_init_script(WATCH)
            yield tools, lab, page
        chromium.close()


def plant(lab, name: str, *sources: str) -> str:
    """A notebook of these cells in the served folder."""
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [code | {"id": f"cell-{n}", "source": source} for n, source in enumerate(sources)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    (lab.folder / name).write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return name


def p95(values) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def row(name: str, values, bar: float | None, unit: str = "ms") -> None:
    """One line of the table; the bar is for the 95th percentile."""
    middle, high = statistics.median(values), p95(values) if len(values) > 1 else values[0]
    verdict = "" if bar is None else f"{bar:8g}  {'kept' if high <= bar else 'MISSED'}"
    print(f"{name:44}{middle:10.1f}{high:10.1f} {unit:3}{verdict}", flush=True)


def explorers(tools, lab, page) -> None:
    traffic = {"bytes": 0}
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: count(traffic, frame)))
    cells = (f"{name}()" for name in EXPLORERS)
    notebook = tools.Notebook(lab, page, plant(lab, "bench.ipynb", IMPORTS, *cells))
    row("first widget after run-all", [page.evaluate(FIRST) / 1000], 3, "s")
    notebook._kernel_idle()
    for name, label in EXPLORERS.items():
        explorer = notebook.show(f".jp-CodeCell:has-text('{name}(') .course-explorer")
        slider = explorer.get_by_role("slider", name=label).element_handle()
        slider.evaluate(f"(slider) => ({STEPPING})(slider, 5)")  # warm
        traffic["bytes"] = 0
        found = slider.evaluate(f"(slider) => ({STEPPING})(slider, {STEPS})")
        received = traffic["bytes"] / STEPS
        row(f"{name}: slider to painted picture", [step["ms"] for step in found], 60)
        row(f"{name}: bytes a step", [received / 1000], 5, "kB")
        heights = {height for step in found for height in step["heights"]}
        row(f"{name}: blank frames", [sum(step["blank"] for step in found)], 0, "")
        row(f"{name}: height jumps", [len(heights) - 1], 0, "")
        drags = [slider.evaluate(f"(slider) => ({DRAGGING})(slider, {DRAG})") for _ in range(5)]
        row(f"{name}: settle after a drag of {DRAG} steps", [drag["ms"] for drag in drags], 150)
        row(f"{name}: pictures during the drag", [drag["pictures"] for drag in drags], None, "")


def count(traffic: dict[str, int], frame) -> None:
    traffic["bytes"] += len(frame if isinstance(frame, bytes) else frame.encode())


def reveals(tools, lab, page) -> None:
    page.goto("about:blank")  # else the notebook of the explorers stays open
    sources = [f'card("{id}")' for id in CARDS]
    notebook = tools.Notebook(lab, page, plant(lab, "cards.ipynb", "from course_lib import card", *sources))
    row("first card after run-all", [page.evaluate(FIRST) / 1000], 3, "s")
    page.wait_for_function(RUN, timeout=60_000)
    times, ready = {}, {}
    for id in CARDS:
        card = notebook.card(id)
        box = card.get_by_role("textbox")
        if box.count():
            box.first.fill("100")
        else:
            card.get_by_role("radio").first.check()
        card.get_by_label("fairly sure").check()
        card.get_by_role("button", name="Commit").click()
        before = time.perf_counter()
        card.get_by_text("You can reveal the answer").wait_for()  # it is worked out from the commit on
        ready[id] = 1000 * (time.perf_counter() - before)
        button = card.get_by_role("button", name="Reveal")
        times[id] = button.element_handle().evaluate(REVEALING)["ms"]
    row(f"reveal of {len(times)} cards: click to painted answer", list(times.values()), 200)
    row(f"the slowest of them: {max(times, key=times.get)}", [max(times.values())], None)
    row("commit to the answer being there", list(ready.values()), None)
    row(f"the slowest of them: {max(ready, key=ready.get)}", [max(ready.values())], None)


def kernel() -> None:
    """What of a step is Python's: the view, and the whole answer but for the sending."""
    from course_lib import explore
    from course_lib.teaching.explore.roofline_explorer import roofline_view
    from course_lib.units.q02_ten_billion_in_16gb import explorer

    for name, view, show, moved in (
        ("roofline", roofline_view, explore.roofline, "m"),
        ("memory", explorer.memory_view, explorer.memory, "batch"),
    ):
        shown = show()
        states = [shown.state | {moved: number} for number in range(1, STEPS + 1)]
        row(f"{name}: the view function", [ms(view, state) for state in states], None)
        row(f"{name}: the whole answer in Python", [ms(shown.set, state) for state in states], None)


def ms(call, state) -> float:
    before = time.perf_counter()
    call(**state)
    return 1000 * (time.perf_counter() - before)


def main() -> None:
    print(f"{'':44}{'median':>10}{'p95':>10}    {'bar':>8}")
    os.environ.pop("COURSE_STATIC", None)
    with lab_page() as parts:
        explorers(*parts)
        reveals(*parts)
    kernel()


if __name__ == "__main__":
    main()
