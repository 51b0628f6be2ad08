"""`explore.interact(ridge, rows=(1, 1000))`: a learner's own function under sliders."""

import inspect
import math
from collections.abc import Callable
from typing import Any

from course_lib.accounting import units
from course_lib.figures.tabular import paragraph
from course_lib.teaching import markup
from course_lib.teaching.checks.check_run import error_text, still_dots
from course_lib.teaching.checks.check_values import is_dots, is_number, plain, short
from course_lib.teaching.live import Live
from course_lib.teaching.static import Static, is_static, notice
from course_lib.words import words

say = words(__file__)


def interact(fn: Callable, **controls) -> Live | Static:
    """What `fn` returns, under a control for each of its arguments; a function that is not written yet says so.

    controls: argument -> `(lowest, highest)` or `(lowest, highest, step)` for a slider, which begins in the middle; a
    list of options, or a mapping label -> option; True or False; any other number or text stays as it is and has no
    control. An argument of `fn` with a default may be left out.
    """
    _check_arguments(fn, controls)
    start = {name: _start(name, control) for name, control in controls.items()}
    if is_static():
        return notice(_line(fn, start))
    try:
        import ipywidgets
    except ImportError as error:
        return notice(f"{_line(fn, start)} {say('no-widgets', package=error.name)}")
    given = {name: _control(ipywidgets, control, start[name]) for name, control in controls.items()}
    widget = ipywidgets.interactive(lambda **values: print(paragraph(_line(fn, values))), **given)
    _widen(widget.children[:-1])  # the last one shows what is printed
    return Live(widget, _call(fn, start), say("gone"))


def _line(fn: Callable, values: dict[str, Any]) -> str:
    """What the function gives for these arguments, in a sentence; never a traceback."""
    call = _call(fn, values)
    try:
        value = plain(fn(**values))
    except Exception as error:
        if still_dots(error):
            return say("unwritten", name=fn.__name__)
        return say("raised", call=call, error=error_text(error))
    if value is None or is_dots(value):
        return say("unwritten", name=fn.__name__)
    return say("value", call=call, value=markup.number(value) if is_number(value) else short(value))


def _call(fn: Callable, values: dict[str, Any]) -> str:
    return f"{fn.__name__}({', '.join(f'{name}={short(plain(value))}' for name, value in values.items())})"


def _check_arguments(fn: Callable, controls: dict[str, Any]) -> None:
    """Refuse what is no function, controls of arguments that it does not have, and arguments without a control."""
    if not inspect.isfunction(fn):
        shown = units.shortly(fn)
        raise ValueError(f"interact(fn, …) takes first the function itself, without parentheses, not {shown}.")
    parameters = inspect.signature(fn).parameters
    for name in controls:
        units.choice(name, f"argument of {fn.__name__}", parameters)
    missing = [name for name, each in parameters.items() if each.default is each.empty and name not in controls]
    if missing:
        raise ValueError(f"{missing[0]}=… is missing: {fn.__name__} needs it, for example {missing[0]}=(1, 100).")


def _start(name: str, control) -> Any:
    """The value with which a control begins."""
    if isinstance(control, tuple):
        return _middle(name, control)
    if not isinstance(control, (list, dict)):
        return control
    if not control:
        raise ValueError(f"{name}={control!r} has no option.")
    return next(iter(control.values() if isinstance(control, dict) else control))


def _control(ipywidgets, control, start):
    """A control as ipywidgets takes it: its own sliders of fractions move by tenths, whatever their range."""
    if not isinstance(control, (tuple, list, dict, bool)):
        return ipywidgets.fixed(control)
    if not isinstance(control, tuple) or _whole(control):
        return control
    low, high, step = (*control, (control[1] - control[0]) / 100)[:3]
    # What is read there is parsed again when a learner clicks into it: powers of ten, never the letters of SI.
    readout = ".2e" if max(abs(low), abs(high)) < 1e-3 else ".3g"
    return ipywidgets.FloatSlider(start, min=low, max=high, step=step, readout_format=readout)


def _widen(controls) -> None:
    """Room for the longest name of an argument before every control, which else are cut after some ten letters."""
    longest = max((len(control.description) for control in controls), default=0)
    for control in controls:
        control.style.description_width = f"{longest + 1}ch"
        control.layout.width = f"calc(var(--jp-widgets-inline-width) + {longest + 1}ch)"


def _middle(name: str, limits: tuple) -> float:
    """The middle of a slider, on one of its steps."""
    if len(limits) not in (2, 3) or not all(is_number(each) and math.isfinite(each) for each in limits):
        raise ValueError(f"{name}={limits!r} must be (lowest, highest) or (lowest, highest, step), in numbers.")
    low, high, *step = limits
    if not low < high or (step and not 0 < step[0] <= high - low):
        raise ValueError(f"{name}={limits!r}: a slider goes from the lowest to the highest, by steps that fit between.")
    middle = low + ((high - low) // 2 if _whole(limits) else (high - low) / 2)
    return low + int((middle - low) / step[0]) * step[0] if step else middle


def _whole(limits: tuple) -> bool:
    return all(isinstance(each, int) for each in limits)
