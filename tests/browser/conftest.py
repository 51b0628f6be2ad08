"""JupyterLab on a fresh learner's copy, driven in headless Chromium.

One server for the session, with its own settings, workspace and IPython folders (a test that changed the theme of the
user's own would stay changed), and one page, in which tests open their notebooks in turn: to load JupyterLab takes
longer than most of them. A test begins with no notebook open, no kernel, no record and nothing stored by the page.
Nothing waits for a fixed time; a request to anywhere but the server is blocked and fails the test; what a failing test
saw is kept in `test-screenshots/`.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

from course_lib import units
from course_lib.teaching.lab import my_course

ROOT = Path(__file__).resolve().parents[2]
THEMES = ("JupyterLab Light", "JupyterLab Dark")
PATIENCE = 90
"""Seconds after which what a page does not show counts as missing: many, for the machine may be busy."""
SCREENSHOTS = ROOT / "test-screenshots"
HOW = "get Chromium (apt-get install chromium, or set CHROMIUM to its path) and playwright (pip install playwright)"


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, names), mac if Path(mac).exists() else None]
    return next(filter(None, found), None)


def missing(what: str):
    """Skip without a browser; where one is demanded (`.ci/run`), fail."""
    line = f"{what} is missing: {HOW}"
    if os.environ.get("COURSE_REQUIRE_BROWSER") == "1":
        pytest.fail(line)
    pytest.skip(line)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    executable = find_chromium()
    if executable is None:
        missing("Chromium")
    with sync_playwright() as playwright:
        # Root in a container has no user namespaces; only our own server's pages are opened.
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        # No name but this machine's is found. (A route that blocks requests would switch the browser's cache off.)
        flags.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        chromium = playwright.chromium.launch(executable_path=executable, args=flags)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def context(browser):
    """One profile of the browser for all pages, so that JupyterLab's own files are read and compiled once."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE * 1000)
    yield context
    context.close()


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


class Lab:
    """A running JupyterLab: `url`, `token`, `folder`, the learner's copy that it serves, and where it keeps layouts."""

    def __init__(self, url: str, token: str, folder: Path, layouts: Path):
        self.url, self.token, self.folder, self.layouts = url, token, folder, layouts

    def api(self, path: str, method: str = "GET"):
        request = urllib.request.Request(
            f"{self.url}api/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None


@pytest.fixture(scope="session")
def lab(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("learner") / "my_course"
    my_course.update(units.home(), folder)
    with serve(folder, tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@contextlib.contextmanager
def serve(folder: Path, own: Path):
    """Start JupyterLab as `course lab` does, with folders of its own for all that it would keep in the user's home."""
    token = secrets.token_hex(16)
    args = ["--no-browser", "--port=0", "--expose-app-in-browser", f"--IdentityProvider.token={token}"]
    command, environment = my_course.lab(folder, args)
    environment.pop("COURSE_STATIC", None)
    environment.pop("COURSE_HOME", None)
    names = (
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
    )
    environment |= {name: str(own / name.lower()) for name in names}
    log = own / "server.log"
    with open(log, "w") as output:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    try:
        failed = lambda: f"JupyterLab did not start:\n{log.read_text()[-3000:]}"  # noqa: E731
        port = wait(lambda: port_of(own, server), 60, failed)
        running = Lab(f"http://127.0.0.1:{port}/", token, folder, own / "jupyterlab_workspaces_dir")
        wait(lambda: answers(running), 60, failed)
        yield running
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def port_of(own: Path, server: subprocess.Popen) -> int | None:
    """The port that the server chose, from the file that it writes once it listens."""
    if server.poll() is not None:
        raise AssertionError(f"JupyterLab stopped while starting:\n{(own / 'server.log').read_text()[-3000:]}")
    for info in (own / "jupyter_runtime_dir").glob("jpserver-*.json"):
        with contextlib.suppress(ValueError):  # half written
            return json.loads(info.read_text())["port"]
    return None


def answers(lab: Lab) -> bool:
    try:
        return lab.api("status") is not None
    except OSError:
        return False


def wait(ready, seconds: float, otherwise):
    """Poll until `ready()` is true and return it."""
    end = time.monotonic() + seconds
    while not (found := ready()):
        if time.monotonic() > end:
            pytest.fail(otherwise())
        time.sleep(0.1)
    return found


class Notebook:
    """A notebook open in JupyterLab in one browser page, run through the app's own commands and read from its model."""

    def __init__(self, lab: Lab, page, name: str | None):
        """Open the notebook of this path, where JupyterLab is loaded already in its page; with None, load what the
        server opens by itself.
        """
        self.lab, self.page, self.at = lab, page, -1
        if name and page.url.startswith(lab.url):
            self.turn_to(name)
        else:
            self.load(name)

    def load(self, name: str | None):
        """Load the page with this notebook in it, as a learner does who comes back; kernels run on."""
        self.name = name
        shutil.rmtree(self.lab.layouts, ignore_errors=True)  # as `&reset` does, which loads the page twice
        path = f"lab/tree/{name}" if name else ""
        self.page.goto(f"{self.lab.url}{path}?token={self.lab.token}")
        self._arrive(name)

    def turn_to(self, name: str):
        """Open another notebook in the same page."""
        self.page.evaluate("(path) => { jupyterapp.commands.execute('docmanager:open', {path}) }", name)
        self.name = name
        self._arrive(name)

    def _arrive(self, name: str | None):
        """Wait until this notebook (with None, any) is in front: the page that was left may have stored its layout just
        now, and then another notebook, which it holds, is in front for a while.
        """
        self.page.wait_for_function(
            """(path) => {
                const context = window.jupyterapp?.shell.currentWidget?.context;
                return context?.isReady && (path === null || context.path === path);
            }""",
            arg=name,
        )
        self._kernel_idle()

    def _kernel_idle(self):
        self.page.wait_for_function(
            "window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
        )

    def tell(self, code: str):
        """Run this in the kernel, and in no cell."""
        kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        reply = self.page.evaluate(f"(code) => {kernel}.requestExecute({{code}}).done", code)
        assert reply["content"]["status"] == "ok", reply

    def run_all(self, timeout: float = 120):
        """Run all cells; wait until the kernel has run each."""
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.wait_for_function(
            """() => {
                const panel = window.jupyterapp.shell.currentWidget;
                const cells = panel.content.model.sharedModel.toJSON().cells;
                const run = (cell) => cell.cell_type !== 'code' || !cell.source.length || cell.execution_count;
                const failed = cells.some((c) => (c.outputs ?? []).some((o) => o.output_type === 'error'));
                return failed || (cells.every(run) && panel.sessionContext.session.kernel.status === 'idle');
            }""",
            timeout=timeout * 1000,
        )

    def run_cells(self, *words: str):
        """Run, in their order, the code cells whose source holds one of the words; wait for each."""
        sources = self.page.evaluate(
            "jupyterapp.shell.currentWidget.content.widgets.map(c => c.model.sharedModel.source)"
        )
        chosen = [n for n, source in enumerate(sources) if any(word in source for word in words)]
        assert chosen, f"{self.name} has no cell with any of {words}"
        for n in chosen:
            self.page.evaluate(
                """(n) => {
                    const notebook = jupyterapp.shell.currentWidget.content;
                    notebook.deselectAll();
                    notebook.activeCellIndex = n;
                    return jupyterapp.commands.execute('notebook:run-cell');
                }""",
                n,
            )
            self.page.wait_for_function(
                "(n) => jupyterapp.shell.currentWidget.content.widgets[n].model.executionCount !== null", arg=n
            )
        self._kernel_idle()

    def restart_kernel(self, clear: bool = True):
        self.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
        self._kernel_idle()
        if clear:
            self.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")

    def beside(self, copy: str) -> "Notebook":
        """A copy of this notebook in a window of its own, run by a kernel of its own."""
        shutil.copy(self.lab.folder / self.name, self.lab.folder / copy)
        other = Notebook(self.lab, self.page.context.new_page(), copy)
        other.run_all()
        return other

    def outputs(self) -> list[dict]:
        cells = self.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.sharedModel.toJSON().cells")
        return [output for cell in cells for output in cell.get("outputs", [])]

    def errors(self) -> list[str]:
        return [f"{o['ename']}: {o['evalue']}" for o in self.outputs() if o["output_type"] == "error"]

    def show(self, selector: str):
        """Scroll to the first element of the notebook that matches; JupyterLab draws only the cells in view."""
        found = self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) {selector}").first
        end = time.monotonic() + PATIENCE
        while not found.count():
            assert time.monotonic() < end, f"the notebook {self.name} shows nothing that matches {selector}"
            self.at += 1  # on from where the last one was found
            self.page.evaluate(
                "(n) => { const c = jupyterapp.shell.currentWidget.content; c.scrollToItem(n % c.widgets.length) }",
                self.at,
            )
            self.page.wait_for_timeout(50)
        found.scroll_into_view_if_needed()
        return found

    def card(self, id: str):
        """The card of this id. Two cards are drawn in no certain order, so each is found through its own cell."""
        return self.show(f""".jp-CodeCell:has-text('card("{id}")') .course-card""")

    def save(self):
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        self.page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")

    def focused(self) -> str:
        """The text, or else the label, of the element that has the focus."""
        return self.page.evaluate(
            "(document.activeElement.textContent || document.activeElement.labels?.[0].textContent || '').trim()"
        )

    def pale(self, *shown) -> list[tuple[str, str, float]]:
        """In which theme which texts of these elements have a contrast below 4.5, and that contrast."""
        found, now = [], self.page.evaluate("document.body.dataset.jpThemeName")
        for theme in sorted(THEMES, key=lambda theme: theme != now):  # to change it takes a second
            self.theme(theme)
            for one in shown:
                texts = one.evaluate(CONTRAST)
                assert len(texts) > 5
                found += [(theme, text, round(ratio, 2)) for text, ratio in texts if ratio < 4.5]
        return found

    def theme(self, name: str):
        self.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        self.page.wait_for_function("(n) => document.body.dataset.jpThemeName === n", arg=name)
        # Two changes within the splash's fading make JupyterLab remove it twice, which throws.
        self.page.wait_for_function("() => !document.getElementById('jupyterlab-splash')")


@pytest.fixture(scope="session")
def kept():
    """The page that tests hand on to each other, with JupyterLab loaded in it: a list of one, or of none."""
    return []


@pytest.fixture(scope="session")
def problems(lab, context) -> list[str]:
    """Page errors, widget errors and foreign requests that were seen in any page."""
    found: list[str] = []

    def watch(page):
        page.on("request", lambda sent: found.extend(foreign(sent.url, lab.url)))
        page.on("websocket", lambda opened: found.extend(foreign(opened.url, lab.url)))
        # "Disposed" is what JupyterLab throws when `CLEAR` closes a notebook that it is about to save or connect.
        page.on("pageerror", lambda error: error.message != "Disposed" and found.append(f"page error: {error}"))
        page.on(
            "console",
            lambda message: "Error displaying widget" in message.text and found.append(f"console: {message.text}"),
        )

    context.on("page", watch)
    return found


# Closes all notebooks, saving none, and forgets what the page has stored; whether nothing is left over. A launcher
# stays: JupyterLab opens one when nothing else is open, and that might come before the next notebook, or on top of it.
CLEAR = """async () => {
    const {commands, shell} = jupyterapp, panels = () => [...shell.widgets('main')];
    await commands.execute('filebrowser:go-to-path', {path: '/'});
    if (panels().every((panel) => panel.context)) await commands.execute('launcher:create', {cwd: ''});
    const open = panels().filter((panel) => panel.context);
    await Promise.all(open.flatMap((panel) => [panel.context.ready, panel.revealed, panel.sessionContext.ready]));
    await new Promise(requestIdleCallback); // all scrolling is over
    for (const panel of open) panel.dispose();
    await new Promise(requestIdleCallback);
    localStorage.clear();
    sessionStorage.clear();
    if (document.body.dataset.jpThemeName !== 'JupyterLab Light')
        await commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'});
    return !document.querySelector('.jp-Dialog');
}"""


@pytest.fixture
def open_notebook(lab, context, kept, problems, request):
    """Open notebooks by path; at the end no page error, no widget error and no foreign request may have been seen."""
    (lab.folder / ".course" / "record.json").unlink(missing_ok=True)  # each test begins as a new learner
    problems.clear()  # closing a notebook may throw
    page = kept.pop() if kept else context.new_page()
    yield lambda name: Notebook(lab, page, name)
    if "Error displaying widget" in page.content():
        problems.append("Error displaying widget")
    seen, failed = list(problems), problems or getattr(request.node, "failed", False)
    if failed:
        SCREENSHOTS.mkdir(exist_ok=True)
        name = re.sub(r"[^\w-]+", "_", request.node.name)
        page.screenshot(path=SCREENSHOTS / f"{name}.png")
    if not failed and page.url.startswith(lab.url) and page.evaluate(CLEAR):
        kept.append(page)
    for opened in context.pages:
        if opened not in kept:
            opened.close()
    for session in lab.api("sessions"):
        lab.api(f"sessions/{session['id']}", "DELETE")
    assert not seen, seen


def foreign(url: str, own: str) -> list[str]:
    """What is wrong with a request: it goes to another server than our own."""
    return [] if url.startswith((own, own.replace("http", "ws", 1), "data:", "blob:")) else [f"foreign request: {url}"]


TOYS = ROOT / "tests" / "teaching" / "toy_units"
TOY_UNITS = f"""from pathlib import Path
from course_lib import card, units
units.home = lambda: Path({str(TOYS)!r})
units.__path__.insert(0, {str(TOYS / "lessons")!r})"""


@pytest.fixture
def open_cells(open_notebook, lab):
    """Write a notebook of these code cells, open it and run it. With `toys` it sees the toy units, and no others."""

    def opened(*sources: str, name: str = "cells.ipynb", toys: bool = True) -> Notebook:
        cells = [nbformat.v4.new_code_cell(source) for source in ((TOY_UNITS,) if toys else ()) + sources]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        page = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(page, lab.folder / name)
        notebook = open_notebook(name)
        notebook.run_all()
        return notebook

    return opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed:
        item.failed = True
    return report
