"""Rates and ratios against arithmetic by hand, and the rows of recordings against their raw repeats."""

import pytest

from course_lib import experiments
from course_lib.accounting import hardware, roofline
from course_lib.experiments import registry
from course_lib.experiments.recordings import loading
from course_lib.experiments.running.experiment import Case
from course_lib.experiments.running.rows import RATIO_COLUMNS, measured_ratio, predicted_ratio, quantity_columns, rates
from course_lib.experiments.running.timing import Repeats
from tests.experiments.example import CPU

MACHINE = hardware.measured(CPU)  # 40 GB/s, 1 µs a call
UNSTATED = hardware.load("h100-sxm")  # whose data sheet does not say what a call costs
ADDITION = roofline.elementwise(10**7, reads=2)  # 120 MB
TIMES = Repeats((2e-3, 3e-3, 4e-3, 8e-3))  # median 3.5 ms, quartiles 2.75 and 5 ms


def case(name="addition", op=ADDITION, **facts):
    return Case(name, "a + b", (op,), build=lambda bench: None, facts=facts)


def test_a_rate_is_an_amount_over_the_time():
    table, predict = rates(lambda case, device: case.bytes)
    one = case(size=7)
    (row,) = table([one], {"addition": TIMES}, MACHINE)
    assert row["measured"] == pytest.approx(120e6 / 3.5e-3)
    assert (row["q1"], row["q3"]) == (pytest.approx(120e6 / 5e-3), pytest.approx(120e6 / 2.75e-3)), "low, then high"
    assert row["predicted"] == pytest.approx(120e6 / (120e6 / 40e9 + 1e-6))
    assert predict([one], MACHINE) == {"addition": row["predicted"]}
    assert row["repeats"] == 4
    assert row["size"] == 7
    assert {column.key for column in quantity_columns(lambda *keys: keys[-1], "B/s", size="int")} == set(row)


def test_the_amount_may_depend_on_the_device():
    """A share of the peak: what a second would do, over the peak."""
    table, _ = rates(lambda case, device: 100 * case.bytes / device.memory_bandwidth)
    (row,) = table([case()], {"addition": TIMES}, MACHINE)
    assert row["measured"] == pytest.approx(100 * 120e6 / 3.5e-3 / 40e9)


def test_several_cases_keep_their_own_amounts():
    table, predict = rates(lambda case, device: case.flops)
    cases = [case(), case("smaller", roofline.elementwise(10, reads=2))]
    rows = table(cases, {"addition": TIMES, "smaller": TIMES}, MACHINE)
    assert [row["measured"] for row in rows] == [pytest.approx(1e7 / 3.5e-3), pytest.approx(10 / 3.5e-3)]
    assert list(predict(cases, MACHINE)) == ["addition", "smaller"]


def test_what_the_data_sheet_cannot_tell_is_not_predicted():
    table, predict = rates(lambda case, device: case.bytes)
    tiny = case("tiny", roofline.elementwise(16, reads=2))
    assert predict([tiny], UNSTATED) == {"tiny": None}
    assert table([tiny], {"tiny": TIMES}, UNSTATED)[0]["predicted"] is None
    assert predicted_ratio(case(), tiny, UNSTATED) is None
    assert predicted_ratio(tiny, case(), UNSTATED) is None


def test_a_ratio_of_times():
    before, after = Repeats((1.0, 2.0, 3.0)), Repeats((10.0, 20.0, 60.0))
    assert measured_ratio(before, after) == {"measured": 10.0, "q1": 15 / 2.5, "q3": 40 / 1.5}
    larger = case("larger", roofline.elementwise(10**8, reads=2))
    expected = (1.2e9 / 40e9 + 1e-6) / (120e6 / 40e9 + 1e-6)
    assert predicted_ratio(case(), larger, MACHINE) == pytest.approx(expected)
    assert [column.key for column in RATIO_COLUMNS] == ["predicted", "measured", "q1", "q3"]


def about(value):
    """The same but for the rounding of the last digits; text and whole numbers exactly."""
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value


ASIDE = {
    "training_ladder": {"peak"},
    "cluster_step": {"sockets", "off"},
    "batching_server": {"p50", "p99", "batch", "in_flight", "seen"},
    "speculative_decoding": {"acceptance", "overlap", "predicted"},
    "engine_tokens": {"equal", "preempted", "found", "peak", "left", "needed", "predicted"},
    "tokens_by_format": {"tokens"},
}
"""Columns that no repeat holds, since they are seen beside the quantity; a prediction may follow from one of them."""


@pytest.mark.parametrize("name", registry.names())
def test_recorded_rows_follow_from_their_raw_repeats(name):
    aside = ASIDE.get(name, set())
    for id in loading.recorded(name):
        recorded, experiment = experiments.load(name, id), registry.get(name)
        device = hardware.measured(recorded.device)
        cases = [case for case in experiment.cases(device, recorded.provenance["quick"]) if case.name in recorded.raw]
        rows = experiment.table(cases, {name: Repeats(values) for name, values in recorded.raw.items()}, device)
        assert len(rows) == len(recorded.rows)
        for row, stored in zip(rows, recorded.rows, strict=True):
            keys = set(row) - aside
            assert {key: row[key] for key in keys} == {key: about(stored[key]) for key in keys}
        if "predicted" not in aside:
            told = {case: about(value) for case, value in recorded.prediction.items()}
            assert experiment.predict(cases, device) == told
