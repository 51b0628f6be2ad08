"""Explorers: controls over a pure function of `accounting`, drawn by one plot, with one line of numbers below.

`explore.roofline(device="h100-sxm", m=64)` shows one; `.state` reads it back and is what the call takes again. While a
notebook is built (`COURSE_STATIC=1`), and where widgets are missing, an explorer is a picture and a table of its first
state.
"""

import html
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.accounting import hardware, precision, units
from course_lib.accounting import roofline as _roofline
from course_lib.teaching import markup
from course_lib.teaching.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.static import is_static, notice

MAX_ROWS = 65536
MAX_SIDE = 1_048_576  # of k and n
# Exact whole numbers, two to an octave: 1, 2, 3, 4, 6, 8, 12 … 65536.
ROW_STEPS = tuple(sorted({1, *(2**e for e in range(1, 17)), *(3 * 2**e for e in range(15))}))
INTENSITIES = (0.01, 1e5)  # FLOP/B, the fixed x axis: from below one add of doubles to beyond any product here

NO_WIDGETS = "A package is missing here ({package}), so the controls do not move. Get it with: pip install {package}"


@dataclass(frozen=True)
class View:
    """What an explorer shows in one state: a figure, and numbers as label → value with its unit."""

    figure: Figure
    readout: Mapping[str, str]


# ---- The roofline ------------------------------------------------------------------------------------------------


def roofline(device="h100-sxm", dtype="bf16", m=1, k=4096, n=4096, ops: Iterable[_roofline.Op] | None = None):
    """Where a product [m, k] @ [k, n] stands under a device's roof, as its rows m move.

    device: an id of `hardware.names()`, "this-machine" (or "this-gpu") once `course doctor` has measured it, or a
    `hardware.Device`. dtype: one that the device has. ops: operations drawn as fixed points under the same roof.
    Returns something to display, with `.state` and `.reset()`; one line where this machine was not measured yet.
    Raises ValueError, naming the argument, for one out of range.
    """
    try:
        devices = _devices(device)
    except hardware.ProfileMissing as error:  # asked for this machine before it was measured
        return notice(str(error))
    start = {
        "device": device.id if isinstance(device, hardware.Device) else device,
        "dtype": precision.normalise(dtype),
        "m": _within(m, "m", MAX_ROWS),
        "k": _within(k, "k", MAX_SIDE),
        "n": _within(n, "n", MAX_SIDE),
    }
    fixed = tuple(ops or ())

    def view(state: Mapping[str, Any]) -> View:
        return roofline_view(**{**state, "device": devices[state["device"]]}, ops=fixed)

    first = view(start)
    if is_static():
        return StaticExplorer(start, first)
    try:
        return Explorer(*_roofline_controls(devices, start), view)
    except ImportError as error:
        return StaticExplorer(start, first, NO_WIDGETS.format(package=error.name))


def roofline_view(device, dtype: str, m: int, k: int, n: int, ops: Iterable[_roofline.Op] = ()) -> View:
    """The picture and the numbers of one state. The times are the roofline's: no framework call is in them."""
    device = hardware.resolve(device)
    peak, bandwidth = device.peak(dtype), device.memory_bandwidth
    op, one = (_roofline.matmul(rows, k, n, dtype=dtype) for rows in (m, 1))
    here, single = (_roofline.place(flops=o.flops, bytes=o.bytes, device=device, dtype=dtype) for o in (op, one))
    low, high = INTENSITIES
    ridge = here.ridge
    roof = Line((low, ridge, high), (low * bandwidth, peak, peak), units.format_si(peak, "FLOP/s"))
    bottom, top = _decades(low * bandwidth, peak * 3)
    drop = Line((ridge, ridge), (bottom, peak), dashed=True)
    fixed = [(o.name, o.intensity, min(peak, o.intensity * bandwidth)) for o in ops if o.flops]
    values = {
        "device": device.name,
        "dtype": dtype,
        "rows": m,
        "peak": units.format_si(peak, "FLOP/s"),
        "bandwidth": units.format_si(bandwidth, "B/s"),
        "ridge": units.format_si(ridge, "FLOP/B"),
        "intensity": units.format_si(here.intensity, "FLOP/B"),
        "attainable": units.format_si(here.attainable, "FLOP/s"),
        "share": markup.number(100 * here.attainable / peak),
    }
    figure = Figure(
        title=_TITLE[here.bound].format(**values),
        description=_DESCRIPTION[here.bound].format(**values),
        x=Axis("arithmetic intensity", "FLOP/B", low, high, "log"),
        y=Axis("attainable", "FLOP/s", bottom, top, "log"),
        marks=(
            roof,
            drop,
            Label((low * ridge) ** 0.5, bottom * 2.5, "memory-bound"),
            Label((ridge * high) ** 0.5, bottom * 2.5, "compute-bound"),
            *([Points(*zip(*((x, y, name) for name, x, y in fixed), strict=True))] if fixed else []),
            Points((here.intensity,), (here.attainable,), (f"m = {m:,}",), strong=True),
        ),
    )
    readout = {
        "FLOPs": units.format_si(op.flops, "FLOP"),
        "bytes": units.format_bytes(op.bytes),
        "intensity": values["intensity"],
        "ridge point": values["ridge"],
        "bound": f"{here.bound}-bound",
        "attainable": values["attainable"],
        "time": units.format_seconds(here.seconds),
        "time against m = 1": f"×{markup.number(here.seconds / single.seconds)}",
    }
    return View(figure, readout)


_TITLE = {
    "memory": "m = {rows:,}: memory-bound, {share} % of the peak within reach",
    "compute": "m = {rows:,}: compute-bound, the whole peak within reach",
}
_ROOF = (
    "The roof of {device} in {dtype} rises with {bandwidth} to the ridge point at {ridge}; "
    "from there it is flat at {peak}. "
)
_DESCRIPTION = {
    "memory": _ROOF + "With m = {rows:,} the product has an intensity of {intensity}, left of the ridge point: "
    "it is memory-bound and reaches at most {attainable}.",
    "compute": _ROOF + "With m = {rows:,} the product has an intensity of {intensity}, not left of the ridge point: "
    "it is compute-bound and reaches at most {attainable}.",
}


def _decades(low: float, high: float) -> tuple[float, float]:
    """The powers of ten around a span."""
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


_MEASURED = {"this-machine": "cpu", "this-gpu": "cuda"}  # ids of the profile's devices, and where each is measured


def _devices(asked) -> dict[str, hardware.Device]:
    """All that can be chosen, by id: the catalogue, what was measured on this machine, and the one asked for."""
    known = {id: hardware.load(id) for id in hardware.names()}
    for on in _MEASURED.values():
        try:
            measured = hardware.this_machine(on)
        except hardware.ProfileMissing:
            continue
        known[measured.id] = measured
    if isinstance(asked, hardware.Device):
        known[asked.id] = asked
    elif asked in _MEASURED and asked not in known:
        hardware.this_machine(_MEASURED[asked])  # raises ProfileMissing, which says what to do
    elif asked not in known:
        hardware.load(asked)  # raises ValueError, which names the nearest
    return known


def _within(value, name: str, most: int) -> int:
    value = units.count(value, name)
    if value > most:
        raise ValueError(f"{name}={value!r} is more than this explorer shows: at most {most:,}.")
    return value


def _roofline_controls(devices: Mapping[str, hardware.Device], start: Mapping[str, Any]) -> tuple[dict[str, Any], list]:
    """The controls by name, and all that stands in the bar: m has a slider beside its box."""
    import ipywidgets

    from course_lib.teaching.slider import Slider

    def dtypes(id: str) -> list[str]:
        return list(devices[id].peaks)

    device = ipywidgets.Dropdown(
        options=[(known.name, id) for id, known in devices.items()],
        value=start["device"],
        description="Device",
        layout={"width": "340px"},
    )
    dtype = ipywidgets.Dropdown(
        options=dtypes(start["device"]), value=start["dtype"], description="dtype", layout={"width": "220px"}
    )
    boxes = {
        name: ipywidgets.BoundedIntText(value=start[name], min=1, max=most, description=name, layout={"width": width})
        for name, most, width in (("m", MAX_ROWS, "140px"), ("k", MAX_SIDE, "190px"), ("n", MAX_SIDE, "140px"))
    }
    rows = boxes["m"]
    slider = Slider("Rows m", ROW_STEPS, [f"{step:,}" for step in ROW_STEPS], _stop(start["m"]))
    slider.add_class("course-boxed")

    for second in (dtype, rows, boxes["n"]):  # on its line of controls
        second.add_class("course-later")

    def slide(change):
        """Move the box to the slider's stop, unless the slider only came to the stop below the box."""
        if change.new != _stop(rows.value):
            rows.value = change.new

    slider.observe(slide, "value")
    rows.observe(lambda change: setattr(slider, "value", _stop(change.new)), "value")

    def follow(change):
        """Another device: keep the dtype where it has it, else take the first that it has."""
        here = dtypes(change.new)
        kept = dtype.value if dtype.value in here else here[0]
        dtype.options = here
        dtype.value = kept

    device.observe(follow, "value")
    controls = {"device": device, "dtype": dtype, **boxes}
    return controls, [device, dtype, slider, *boxes.values()]


def _stop(m: int) -> int:
    """The slider's stop at m, or the nearest below."""
    return ROW_STEPS[bisect_right(ROW_STEPS, m) - 1]


# ---- The frame ---------------------------------------------------------------------------------------------------


class Explorer:
    """Live controls, a plot and a line of numbers. `view` maps the controls' values, by name, to what is shown; `bar`
    are the widgets that stand above the plot.
    """

    def __init__(self, controls: Mapping[str, Any], bar: Iterable, view: Callable[[Mapping[str, Any]], View]):
        import ipywidgets

        self._controls = dict(controls)
        self._view = view
        self._start = self.state
        self._paused = False
        first = view(self._start)
        self.plot = first.figure.widget()
        self.numbers = ipywidgets.HTML()
        self.again = ipywidgets.Button(description="Reset")
        self.again.on_click(lambda _: self.reset())
        for control in self._controls.values():
            control.observe(lambda _: self._draw(), "value")
        top = ipywidgets.HBox([*bar, self.again], layout={"flex_flow": "row wrap"})
        self.widget = ipywidgets.VBox([top, self.plot, self.numbers])
        self.widget.add_class("course-explorer")
        self._show(first)

    @property
    def state(self) -> dict[str, Any]:
        """The controls' values by name, as the explorer's function takes them."""
        return {name: control.value for name, control in self._controls.items()}

    def reset(self) -> None:
        """Back to the first state."""
        self._paused = True
        for name, value in self._start.items():
            self._controls[name].value = value
        self._paused = False
        self._draw()

    def _draw(self) -> None:
        if not self._paused and None not in self.state.values():
            self._show(self._view(self.state))

    def _show(self, view: View) -> None:
        self.plot.spec = view.figure.spec()
        self.numbers.value = _line(view.readout)

    def __repr__(self) -> str:
        return f"explorer {self.state}"

    def _repr_mimebundle_(self, **kwargs):
        return {**self.widget._repr_mimebundle_(**kwargs), "text/plain": repr(self)}


class StaticExplorer:
    """The first state of an explorer as a picture and a table."""

    def __init__(self, state: Mapping[str, Any], view: View, line: str = ""):
        self.state = dict(state)
        self._shown = view
        self._line = line

    def reset(self) -> None:
        """Nothing to do: a static explorer is always in its first state."""

    def __repr__(self) -> str:
        rows = markup.text_table(("quantity", "value"), self._shown.readout.items())
        return "\n".join(part for part in (self._shown.figure.description, rows, self._line) if part)

    def _ipython_display_(self) -> None:
        """Two outputs, since a reader of a notebook file shows only the richest form of one."""
        from IPython.display import display

        figure = self._shown.figure
        try:
            metadata = {"image/png": {"alt": figure.description}}
            display({"image/png": figure.png(), "text/plain": figure.description}, raw=True, metadata=metadata)
        except ImportError:  # without matplotlib the description stands in the table's caption
            pass
        table = markup.table(("quantity", "value"), self._shown.readout.items(), figure.description)
        note = f"<p>{html.escape(self._line)}</p>" if self._line else ""
        display({"text/html": table + note, "text/plain": repr(self)}, raw=True)


def _line(readout: Mapping[str, str]) -> str:
    """The numbers in one line; each label stays with its value."""
    parts = (
        f'<span style="white-space: nowrap">{html.escape(label)} <strong>{html.escape(value)}</strong></span>'
        for label, value in readout.items()
    )
    return f'<div role="status" style="line-height: 1.6">{" · ".join(parts)}</div>'
