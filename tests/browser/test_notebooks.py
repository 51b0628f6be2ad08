"""Each notebook opens in JupyterLab and runs from top to bottom, and the course opens on its start page."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
MEASURED = "q05_flops_are_not_time.ipynb"
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks_to_open():
    assert "00_start_here.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_notebook_runs_from_top_to_bottom(open_notebook, name):
    """One measures here; the others replay, as in a kernel that cannot measure. nbval measures in each, alone."""
    notebook = open_notebook(f"notebooks/{name}")
    if name != MEASURED:
        notebook.tell("from course_lib import experiments\nexperiments._measurable = lambda found: False")
    notebook.page.evaluate(
        "window.jupyterapp.commands.execute('notebook:expand-all-headings')"
    )  # hidden ones show nothing
    notebook.run_all()
    assert notebook.errors() == []
    widgets = sum("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in notebook.outputs())
    notebook.page.wait_for_function(
        """(n) => [...document.querySelectorAll('.jp-OutputArea-output')].filter((output) =>
            output.querySelector('.course-card, .course-explorer, .course-claims, .jupyter-widgets')).length === n""",
        arg=widgets,
    )
    assert notebook.page.get_by_text("Error displaying widget").count() == 0


def test_the_course_opens_on_the_start_page_and_asks_no_question(open_notebook):
    page = open_notebook(None).page
    page.wait_for_function("window.jupyterapp.shell.currentWidget?.context?.path === 'notebooks/00_start_here.ipynb'")
    news = page.evaluate(
        """async () => {
            const plugin = '@jupyterlab/apputils-extension:notification';
            const settings = await jupyterapp.serviceManager.settings.fetch(plugin);
            return settings.schema.properties.fetchNews.default;
        }"""
    )
    assert news == "false"
