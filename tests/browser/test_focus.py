"""The keyboard reaches all that a mouse does, and where it is can be seen, in the light and in the dark theme."""

import pytest

from .conftest import CONTRAST, THEMES

pytestmark = pytest.mark.browser

# Of the focused element: its name, whether an outline of two pixels or more is drawn, and the outline's contrast with
# what is behind it. A mark needs 3:1 (WCAG 2.2, 1.4.11).
LINE = """(contrast) => {
    const node = document.activeElement, style = getComputedStyle(node);
    const probe = document.createElement('div');
    probe.append(document.createElement('span'));
    probe.firstChild.textContent = 'the line';
    probe.style.color = style.outlineColor;
    (node.ownerSVGElement ?? node).parentElement.append(probe);
    const [[, ratio]] = eval(contrast)(probe);
    probe.remove();
    const name = node.getAttribute('aria-label') ?? node.labels?.[0]?.textContent ?? node.textContent;
    return {name: name.trim(), drawn: style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2, ratio};
}"""


def walk(notebook, inside, end: str) -> list[dict]:
    """Press Tab from the first control of an element until `end` has the focus; what was focused on the way."""
    found = []
    inside.locator("input, select, textarea, button").first.focus()
    notebook.page.keyboard.press("Shift+Tab")
    for _ in range(40):
        notebook.page.keyboard.press("Tab")
        if inside.evaluate("node => node.contains(document.activeElement)"):
            found.append(notebook.page.evaluate(LINE, CONTRAST))
        if found and found[-1]["name"].startswith(end):
            return found
    raise AssertionError(f"Tab never reaches {end}: {[one['name'] for one in found]}")


def test_the_focus_is_seen_on_everything(open_cells):
    source = "from course_lib.units.q03_activations_outgrow_weights import explorer\nexplorer.timeline()"
    notebook = open_cells('card("t1.rows")', 'card("t1.pick")', 'card("t1.why")', source)
    for theme in THEMES:
        notebook.theme(theme)
        reached = {}
        for id, end in (("t1.rows", "Hint 1"), ("t1.pick", "Same question"), ("t1.why", "Hint")):
            reached[id] = walk(notebook, notebook.card(id), end)
        explorer = notebook.show(".course-explorer")
        reached["explorer"] = walk(notebook, explorer, "What these numbers rest on")
        for found in reached.values():
            assert [one for one in found if not one["drawn"] or one["ratio"] < 3] == [], theme
        names = {id: [one["name"] for one in found] for id, found in reached.items()}
        assert {"Commit", "Retry", "Reveal"} <= set(names["t1.rows"]) & set(names["t1.why"])
        controls = ["Model", "Device", "Attention", "Recompute", "Precision", "Batch", "Tokens"]
        assert [name for name in names["explorer"] if name in controls] == controls
        assert {"Batch: exact value", "Tokens: exact value", "Reset", "Copy this call"} <= set(names["explorer"])
