"""Where the weights live: the crossing is the device's peak over the rate of the place, whatever the model."""

import pytest

from course_lib.units.q01_memory_wall import explorer


def number(text: str) -> float:
    return float(text.split()[0].replace(",", ""))


def readout(**changed):
    state = {"model": "llama3-8b", "device": "h100-sxm", "place": "memory", "weight_dtype": "bf16", "tokens": 1}
    return explorer.streaming_view(**state | changed).readout


@pytest.mark.parametrize(
    ("place", "tokens"), [("memory", 989 / 3.35), ("host", 989e3 / 63.015), ("nvme-pcie4", 989e3 / 7.8769)]
)
@pytest.mark.parametrize("model", ["gpt2", "llama3-8b", "llama3-70b"])
def test_the_crossing_of_a_dense_model_depends_on_device_and_place_only(place, tokens, model):
    assert number(readout(place=place, model=model)["equal at"]) == pytest.approx(tokens, rel=2e-3, abs=0.5)


def test_fewer_bytes_a_weight_move_the_crossing_down_and_idle_experts_move_it_up():
    dense = number(readout()["equal at"])
    assert number(readout(weight_dtype="int8")["equal at"]) == pytest.approx(dense / 2, rel=5e-3)
    assert number(readout(model="mixtral-8x7b")["equal at"]) > 3 * dense


def test_below_the_crossing_time_stands_still_and_above_it_grows():
    steps = {tokens: readout(place="host", tokens=tokens)["step"] for tokens in (1, 1000, 2**20)}
    assert steps[1] == steps[1000] != steps[2**20]
    assert readout(place="host", tokens=2**20)["arithmetic idle"] == "0.0%"


def test_weights_that_do_not_fit_are_named():
    assert readout()["weights fit into the device"] == "yes"
    assert readout(model="llama3-70b")["weights fit into the device"] == "no"


@pytest.mark.parametrize("place", explorer.PLACES)
@pytest.mark.parametrize("model", explorer.MODELS)
@pytest.mark.parametrize("tokens", [1, explorer.MOST])
def test_every_state_can_be_drawn(place, model, tokens):
    view = explorer.streaming_view(model, "h200-sxm", place, "int4", tokens)
    assert view.figure.spec()
    assert view.figure.description


def test_an_unknown_place_is_refused():
    with pytest.raises(ValueError, match="place"):
        explorer.streaming(place="tape")


def test_a_drive_behind_a_slow_bus_is_as_slow_as_the_bus():
    assert explorer.rate("v100-sxm2", "nvme-pcie5") == pytest.approx(15.754e9)
