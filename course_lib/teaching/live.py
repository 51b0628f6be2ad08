"""Showing a widget so that its cell still makes sense when the kernel is gone.

A notebook keeps only the id of a widget. Opened on another day, JupyterLab finds no such widget and says "Error
displaying widget: model not found". So a line that says what to do goes along in a second output, which stands in the
place of that error, and only then.
"""

import html
from pathlib import Path

# JupyterLab marks the output itself as a widget only where it could not make one; where it does not trust a notebook it
# drops the rules and shows no widget, and the line stands there alone.
_CHILD = ".jp-OutputArea-child"
_RULES = f"""<style>
{_CHILD}:has(> * > .course-gone) {{ display: none; }}
{_CHILD}:has(> .jupyter-widgets) + {_CHILD}:has(> * > .course-gone) {{ display: flex; }}
{_CHILD}:has(> .jupyter-widgets):has(+ {_CHILD} > * > .course-gone) {{ display: none; }}
</style>"""


def publish(widget, text: str, line: str) -> None:
    """Show a widget in the cell that runs, named by the stable `text`, and the `line` for later."""
    from IPython.display import display

    shown = widget._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    gone = f'<p class="course-gone">{html.escape(line)}</p>{_RULES}'
    display({**data, "text/plain": text}, raw=True)
    display({"text/html": gone, "text/plain": line}, raw=True)


class Live:
    """A `widget` to display, named by `text`, with the line `gone` for later."""

    def __init__(self, widget, text: str, gone: str):
        self.widget = widget
        self._text = text
        self._gone = gone

    def __repr__(self) -> str:
        return self._text

    def _ipython_display_(self) -> None:
        publish(self.widget, repr(self), self._gone)


def source(*names: str) -> str:
    """The JavaScript or the style of a widget: files of this storey, one after another."""
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)
