"""The frame of every explorer: controls and a pure function, live as one widget or static as a picture and a table.

Live, the page sends the controls' values as one message and gets back one message with all that changed: picture,
numbers and call always belong together, and a step costs a few kB.
"""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_lib.accounting import units
from course_lib.figures.picture import still
from course_lib.figures.plots import Figure
from course_lib.figures.tabular import html_table, text_table
from course_lib.teaching import live
from course_lib.teaching.explore.controls import Control
from course_lib.teaching.static import is_static
from course_lib.words import words

say = words(__file__)


@dataclass(frozen=True)
class View:
    """What an explorer shows in one state: a figure, numbers as label → value with its unit, and `notes`, sentences on
    what the numbers rest on and leave out, folded below them.
    """

    figure: Figure
    readout: Mapping[str, str]
    notes: tuple[str, ...] = ()


def build(
    view: Callable[..., View],
    controls: Mapping[str, Control],
    state: Mapping[str, Any] | None = None,
    call: str = "",
    fixed: Mapping[str, Any] | None = None,
):
    """An explorer of `view`, a pure function that takes each control's value by its name and returns a `View`.

    controls: name → `Choice`, `Whole`, `Number` or `Flag`, in the order of the page. state: values to start with, by
    name; a control without one (or with None) starts where it says itself. call: the function whose call with the state
    shows it again, such as "explore.roofline"; "" shows none. fixed: arguments that `view` takes and no control moves.

    A whole explorer of a lesson:

        def view(rows, dtype):
            op = roofline.matmul(rows, 4096, 4096, dtype=dtype)
            figure = Figure("...", "...", Axis(...), Axis(...), (Points(...),))
            return explore.View(figure, {"FLOPs": units.format_si(op.flops, "FLOP")})

        explore.build(view, {
            "rows": explore.Whole("Rows", start=64),
            "dtype": explore.Choice("dtype", ["bf16", "fp32"]),
        })

    Where `view` raises ValueError in a state that the controls reach, its sentence stands below the controls.
    Raises ValueError for a name that is no control, for a value out of limits, and for a first state that `view`
    refuses.
    """
    frame = Frame(view, dict(controls), call, dict(fixed or {}))
    start = frame.state(state or {})
    first = frame.view(start)
    if is_static():
        return StaticExplorer(frame, start, first)
    try:
        return Explorer(frame, start, first)
    except ImportError as error:
        return StaticExplorer(frame, start, first, say("no-widgets", package=error.name))


@dataclass(frozen=True)
class Frame:
    """The description of an explorer: all of it but its present state."""

    function: Callable[..., View]
    controls: Mapping[str, Control]
    call: str
    fixed: Mapping[str, Any]

    def state(self, given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A whole state from what a call gives, in the controls' order; the others stay as `before`, or start.

        ValueError for what does not fit.
        """
        for name in given:
            units.choice(name, "argument", self.controls)
        state = {}
        for name, control in self.controls.items():
            if given.get(name) is None:
                state[name] = control.settle((before or {}).get(name), state)
            else:
                state[name] = control.read(given[name], name, state)
        return state

    def received(self, sent: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """The state that the page asks for: `sent` maps controls to JSON values, the others stay as they were `before`.
        A choice that the controls before it no longer leave gives way to one that they do, a number beyond its slider
        to the slider's end.
        """
        state: dict[str, Any] = {}
        for name, control in self.controls.items():
            asked = name in sent
            state[name] = control.receive(sent[name], name, state) if asked else control.settle(before[name], state)
        return state

    def view(self, state: Mapping[str, Any]) -> View:
        return self.function(**state, **self.fixed)

    def values(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state as JSON values."""
        return {name: control.send(state[name], state) for name, control in self.controls.items()}

    def options(self, state: Mapping[str, Any]) -> dict[str, list]:
        """What the page offers in this state: the texts of each choice's options, the stops of sliders that follow."""
        offers = {name: control.offers(state) for name, control in self.controls.items()}
        return {name: offer for name, offer in offers.items() if offer is not None}

    def code(self, state: Mapping[str, Any]) -> str:
        """The call that shows this state; a value that is no literal is named after its argument: `my_device`."""
        if not self.call:
            return ""
        given = {**state, **self.fixed}
        arguments = (f"{name}={_literal(name, value)}" for name, value in given.items())
        return f"{self.call}({', '.join(arguments)})"


def _literal(name: str, value) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value) if isinstance(value, bool | int | float) else f"my_{name}"


@cache
def _widget_class():
    """The widget's class, made on first use: the static form needs no anywidget."""
    import anywidget
    import traitlets

    class ExplorerWidget(anywidget.AnyWidget):
        """`asked` comes from a page, all others from Python; a page knows its own question, so no echo is sent."""

        _esm = live.source("make.js", "pointer.js", "../figures/plots.js", "explore/explorer.js")
        _css = live.source("range.css", "../figures/plots.css", "explore/explorer.css")
        words = traitlets.Dict().tag(sync=True)  # what the page says of itself
        controls = traitlets.Dict().tag(sync=True)
        asked = traitlets.Dict().tag(sync=True, echo_update=False)
        answered = traitlets.Unicode().tag(sync=True)  # the last question that was answered, of whatever page
        values = traitlets.Dict().tag(sync=True)
        options = traitlets.Dict().tag(sync=True)
        axes = traitlets.Dict().tag(sync=True)
        drawing = traitlets.Dict().tag(sync=True)
        numbers = traitlets.List().tag(sync=True)
        notes = traitlets.List().tag(sync=True)
        call = traitlets.Unicode().tag(sync=True)
        line = traitlets.Unicode().tag(sync=True)  # a sentence on a state that could not be shown

    return ExplorerWidget


class Explorer(live.Live):
    """A live explorer. `.state` is the state in the picture, `.call` its call, `.reset()` goes back to the first."""

    def __init__(self, frame: Frame, start: Mapping[str, Any], first: View):
        self._frame = frame
        self._start = dict(start)
        self._controls = dict(start)  # what the controls show: another state than the picture's while it is refused
        controls = {name: control.spec() for name, control in frame.controls.items()}
        super().__init__(_widget_class()(words=say.table("page"), controls=controls), "", say("gone"))
        self._show(start, first)
        self.widget.observe(self._answer, "asked")

    @property
    def state(self) -> dict[str, Any]:
        """Each control's value by name, as the explorer's function takes them."""
        return {**self._state, **self._frame.fixed}

    @property
    def call(self) -> str:
        """The call that shows this state again."""
        return self._frame.code(self._state)

    def set(self, **values) -> None:
        """Move controls from Python. ValueError for a value out of limits or a state that cannot be computed."""
        state = self._frame.state(values, self._state)
        self._show(state, self._frame.view(state))

    def reset(self) -> None:
        """Back to the first state."""
        self._show(self._start, self._frame.view(self._start))

    def _answer(self, change) -> None:
        """Answer the page's question: one message, whatever it asked for."""
        asked = change.new
        with self.widget.hold_sync():
            self.widget.answered = asked.get("question", "")
            try:
                before = self._start if asked.get("reset") else self._controls
                wanted = self._frame.received(asked.get("values", {}), before)
                self._keep(wanted)
                self._show(wanted, self._frame.view(wanted))
            except ValueError as error:
                self.widget.line = say("refused", reason=error)
            except Exception as error:  # an error in a lesson's own function: a traceback here would be seen by nobody
                self.widget.line = say("failed", error=f"{type(error).__name__}: {error}")

    def _keep(self, state: Mapping[str, Any]) -> None:
        self._controls = dict(state)
        self.widget.options = self._frame.options(state)
        self.widget.values = self._frame.values(state)

    def _show(self, state: Mapping[str, Any], view: View) -> None:
        spec = view.figure.spec()
        with self.widget.hold_sync():
            self._state = dict(state)
            self._keep(state)
            self.widget.axes = {name: spec.pop(name) for name in ("x", "y")}
            self.widget.drawing = spec
            self.widget.numbers = [[label, value] for label, value in view.readout.items()]
            self.widget.notes = list(view.notes)
            self.widget.call = self.call
            self.widget.line = ""

    def __repr__(self) -> str:
        return self.call or f"explorer {self.state}"


class StaticExplorer:
    """The first state of an explorer as a picture and a table."""

    def __init__(self, frame: Frame, state: Mapping[str, Any], view: View, line: str = ""):
        self.state = {**state, **frame.fixed}
        self.call = frame.code(state)
        self._shown = view
        self._line = line

    def reset(self) -> None:
        """Nothing to do: a static explorer is always in its first state."""

    def __repr__(self) -> str:
        rows = text_table(say.all("columns"), self._shown.readout.items(), words=True)
        parts = (self._shown.figure.description, rows, *self._shown.notes, self.call, self._line)
        return "\n".join(part for part in parts if part)

    def _ipython_display_(self) -> None:
        """Two outputs, since a reader of a notebook file shows only the richest form of one."""
        from IPython.display import display

        display(still(self._shown.figure))
        table = html_table(say.all("columns"), self._shown.readout.items(), self._shown.figure.description, side="")
        more = "".join(f"<li>{html.escape(note)}</li>" for note in self._shown.notes)
        notes = f"<details><summary>{say('page', 'notes')}</summary><ul>{more}</ul></details>" if more else ""
        call = f"<pre><code>{html.escape(self.call)}</code></pre>" if self.call else ""
        line = f"<p>{html.escape(self._line)}</p>" if self._line else ""
        display({"text/html": table + notes + call + line, "text/plain": repr(self)}, raw=True)
