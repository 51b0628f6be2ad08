"""Whatever is chosen in an explorer of the library or of a unit, no stop of a slider is refused."""

import inspect

import pytest

from course_lib.teaching.explore.controls import Choice, Number, Whole
from tests.explorers import IMPORTS


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("call", IMPORTS)
def test_no_choice_and_no_end_of_a_slider_is_refused(learner, call):
    names = {}
    exec(IMPORTS[call], names)
    live = eval(f"{call}()", names)
    first, controls = live.state, live._frame.controls
    questions = 0

    def ask(**values):
        nonlocal questions
        questions += 1
        live.widget.asked = {"question": str(questions), "values": values}
        assert live.widget.line == "", (values, live.widget.values)

    def to_the_ends():
        for slider in (name for name, control in controls.items() if isinstance(control, Whole)):
            stops = live.widget.options.get(slider) or live.widget.controls[slider]["stops"]
            for stop, _ in [*stops[:1], *stops[-1:]]:  # a box without a slider has none
                ask(**{slider: stop})

    to_the_ends()
    for choice, control in controls.items():
        if isinstance(control, Choice) and choice != "l2_tile":  # few devices state the bandwidth of their L2 cache
            for option in live.widget.options[choice]:
                ask(**{choice: option})
                to_the_ends()
        live.set(**{key: value for key, value in first.items() if key in controls})


@pytest.mark.parametrize("call", IMPORTS)
def test_a_text_in_place_of_a_number_is_refused_with_a_sentence(learner, call):
    names = {}
    exec(IMPORTS[call], names)
    explorer = eval(call, names)
    controls = explorer()._frame.controls
    for name in inspect.signature(explorer).parameters.keys() & controls.keys():
        if isinstance(controls[name], (Whole, Number)):
            with pytest.raises(ValueError, match="'many'"):
                explorer(**{name: "many"})
