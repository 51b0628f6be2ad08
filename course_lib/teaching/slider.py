"""A slider over a list of exact values, as a native range input. Needs anywidget.

The sliders of ipywidgets have no accessible name and snap a logarithm to their own grid; this one is labelled, says
its value in words, and holds exactly the values that it is given.
"""

from importlib.resources import files

import anywidget
import traitlets

_FOLDER = files(__package__)


class Slider(anywidget.AnyWidget):
    """`value` is always one of `values`; `texts` are what the slider shows for each."""

    _esm = (_FOLDER / "slider.js").read_text(encoding="utf-8")
    _css = (_FOLDER / "range.css").read_text(encoding="utf-8") + (_FOLDER / "slider.css").read_text(encoding="utf-8")
    label = traitlets.Unicode().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    index = traitlets.Int().tag(sync=True)
    value = traitlets.Any()

    def __init__(self, label: str, values, texts, value, **kwargs):
        self.values = tuple(values)
        super().__init__(label=label, texts=list(texts), index=self.values.index(value), value=value, **kwargs)

    @traitlets.observe("index")
    def _from_index(self, change):
        self.value = self.values[change.new]

    @traitlets.observe("value")
    def _from_value(self, change):
        self.index = self.values.index(change.new)
