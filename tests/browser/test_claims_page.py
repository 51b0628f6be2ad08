"""The page of all claims: words, lesson and ruling; links that lead to a unit; hovers of terms in the text."""

import nbformat
import pytest

from course_lib import units

pytestmark = pytest.mark.browser

CLAIMS = {
    units.prefix(unit): [table for table in units.cards(unit).values() if table["kind"] == "claim"]
    for unit in units.names()
}
ALL = sum(map(len, CLAIMS.values()))
SHOWN = """() => {
    const rows = [...document.querySelectorAll('details.course-docket tbody tr')];
    return rows.filter((row) => row.checkVisibility()).map((row) => row.querySelector('th strong').textContent);
}"""
OPEN = "() => [...document.querySelectorAll('details.course-docket')].filter((table) => table.open).length"


def test_words_lesson_and_ruling(open_notebook):
    notebook = open_notebook("notebooks/claims.ipynb")
    page = notebook.page
    page.evaluate("jupyterapp.shell.currentWidget.content.setFragment('#q07')")  # a link, before anything was run
    in_view = """() => {
        const anchor = document.querySelector('[data-jupyter-id="q07"], #q07').getBoundingClientRect();
        return anchor.top >= 0 && anchor.bottom <= innerHeight;
    }"""
    page.wait_for_function(in_view)
    notebook.run_all()
    controls = notebook.show(".course-claims")
    status, words = controls.get_by_role("status"), controls.get_by_role("searchbox", name="Search")
    lesson, ruling = (controls.get_by_role("combobox", name=name) for name in ("Lesson", "Ruling"))
    status.filter(has_text=f"{len(CLAIMS['q07'])} of {ALL} claims.").wait_for()  # of the unit to which the link led
    assert lesson.input_value() == "q07"
    controls.get_by_role("button", name="Show all").click()
    status.filter(has_text=f"{ALL} of {ALL} claims.").wait_for()
    assert page.evaluate(OPEN) == 0, "folded, so that nothing is given away"

    words.focus()
    page.keyboard.type("Softmax")
    page.wait_for_function(
        """() => {
            const [yes, no] = [true, false].map((visible) => [...document.querySelectorAll('.course-docket tbody tr')]
                .filter((row) => row.checkVisibility() === visible));
            const says = (row) => /softmax/i.test(row.textContent);
            return yes.length >= 9 && yes.every(says) && !no.some(says);
        }"""
    )
    assert status.text_content() == f"{len(page.evaluate(SHOWN))} of {ALL} claims."
    page.keyboard.press("Control+A")
    page.keyboard.type("no claim says this")
    status.filter(has_text="No claim fits").wait_for()
    words.fill("")

    lesson.select_option("q05")
    ruling.select_option("to-vote")
    votes = sum(not claim.get("docket") for claim in CLAIMS["q05"])
    status.filter(has_text=f"{votes} of {ALL} claims.").wait_for()
    to_vote = page.evaluate(SHOWN)
    row = page.locator("details.course-of-q05 tr", has_text=to_vote[0])
    assert "to be voted on" in row.text_content()
    ruling.select_option("fails")
    status.filter(has_not_text=f"{votes} of {ALL}").wait_for()
    fails = page.evaluate(SHOWN)
    assert fails
    assert not set(fails) & set(to_vote)
    assert all("✗ fails" in text for text in page.locator("tr.course-fails:visible").all_text_contents())

    page.evaluate("jupyterapp.shell.currentWidget.content.setFragment('#q02')")  # and once the cell has run
    page.wait_for_function("(select) => select.value === 'q02'", arg=lesson.element_handle())
    assert notebook.pale(page.locator(".jp-Cell-outputArea:has(.course-claims)")) == []
    ruling.select_option("to-vote")  # those that the lesson votes on, the last of them in a folded section
    link = page.locator("details.course-of-q02 tr:visible a[href*='#cell-id=']").last
    cell = link.get_attribute("href").partition("#cell-id=")[2]
    link.click()
    page.wait_for_function(
        """(id) => {
            const panel = jupyterapp.shell.currentWidget;
            const opened = panel?.context?.path === 'notebooks/q02_ten_billion_in_16gb.ipynb';
            return opened && panel.content.activeCell?.model.id === id;
        }""",
        arg=cell,
    )


def test_the_hover_of_a_term_survives(open_notebook, lab):
    """JupyterLab cleans the HTML of a text that it does not trust."""
    text = 'Low <abbr title="FLOPs &#124; bytes">intensity</abbr> here.'
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    page.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(page, lab.folder / "hover.ipynb")
    hover = open_notebook("hover.ipynb").show("abbr")
    assert (hover.text_content(), hover.get_attribute("title")) == ("intensity", "FLOPs | bytes")
