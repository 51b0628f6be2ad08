"""The roofline explorer: its numbers against the definition, its roofs, its devices."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import explore
from course_lib.accounting import hardware
from course_lib.accounting import roofline as roof
from course_lib.figures.plots import Points
from course_lib.teaching.explore.roofline_explorer import OPS, TILES, roofline_view

PEAK, BANDWIDTH = 989e12, 3.35e12  # H100 SXM, bf16 dense: NVIDIA's data sheet
START = {"device": "h100-sxm", "dtype": "bf16", "op": "matmul", "l2_tile": 0, "m": 64, "k": 4096, "n": 4096}


def point(view, strong=True) -> tuple[float, float]:
    (mark,) = (mark for mark in view.figure.marks if isinstance(mark, Points) and mark.strong == strong)
    return mark.x[0], mark.y[0]


@given(st.integers(1, 65536), st.integers(1, 20000), st.integers(1, 20000))
def test_the_point_lies_where_the_definition_puts_it(m, k, n):
    intensity = 2 * m * k * n / (2 * (m * k + k * n + m * n))
    assert point(roofline_view("h100-sxm", "bf16", m, k, n)) == pytest.approx(
        (intensity, min(PEAK, BANDWIDTH * intensity))
    )


@given(st.integers(1, 65536))
def test_only_a_shared_matrix_makes_the_rows_count(m):
    """m products that have a matrix each do 2 FLOP for each of its numbers, however many there are; so does an add."""
    each = 2 * 4096 * 4096 / (2 * (4096 + 4096 * 4096 + 4096))
    assert point(roofline_view("h100-sxm", "bf16", m, 4096, 4096, "matvecs"))[0] == pytest.approx(each)
    assert point(roofline_view("h100-sxm", "bf16", m, 4096, 4096, "add"))[0] == pytest.approx(1 / 6)
    assert point(roofline_view("h100-sxm", "bf16", m, 4096, 4096, "softmax"))[0] == pytest.approx(5 / 4)


def test_the_numbers_of_a_known_case():
    view = roofline_view("h100-sxm", "bf16", 100, 4096, 4096)
    assert view.readout == {
        "FLOPs": "3.36 GFLOP",
        "bytes": "35.2 MB",
        "intensity": "95.3 FLOP/B",
        "ridge point": "295 FLOP/B",
        "bound": "memory-bound",
        "attainable": "319 TFLOP/s",
        "time": "10.5 µs",
        "time against m = 1": "×1.05",
    }
    assert "memory-bound" in view.figure.title
    assert "95.3 FLOP/B" in view.figure.description


def test_the_bound_changes_where_the_intensity_passes_the_ridge():
    bounds = [roofline_view("h100-sxm", "bf16", m, 4096, 4096).readout["bound"] for m in (344, 345)]
    assert bounds == ["memory-bound", "compute-bound"]  # m / (1 + m/2048) = 295.2 at m = 344.96


@pytest.mark.parametrize("tile", TILES)
def test_the_l2_roof_has_the_traffic_of_tiles(tile):
    """A tile of t × t reads 2·t numbers for each of k steps: t/2 FLOP/B in bf16, but for the result's own bytes."""
    view = roofline_view("h100-sxm", "bf16", 4096, 4096, 4096, l2_tile=tile)
    intensity = 1 / (2 / tile + 1 / 4096)  # 2·m·n·k / (2·(2·m·n·k/t + m·n))
    assert point(view, strong=False) == pytest.approx((intensity, min(PEAK, 5.5e12 * intensity)))
    assert view.readout["bound"] == "bound by the L2 cache"
    assert float(view.readout["attainable"].split()[0]) == pytest.approx(5.5 * intensity, rel=5e-3)


def test_a_device_whose_l2_nobody_states_is_a_line_and_not_a_fault(learner):
    shown = explore.roofline(l2_tile=128)
    shown.widget.asked = {"number": 1, "values": {"device": hardware.load("t4").name}}
    assert "no adequate source states its bandwidth" in shown.widget.line
    assert shown.state["device"] == "h100-sxm"
    shown.widget.asked = {"number": 2, "values": {"l2_tile": "not drawn"}}
    assert (shown.widget.line, shown.state["device"], shown.state["dtype"]) == ("", "t4", "fp32")


def test_the_axes_stay_while_the_rows_move(learner):
    shown = explore.roofline()
    before = shown.widget.axes
    shown.set(m=65536)
    assert shown.widget.axes == before


@pytest.mark.parametrize("id", hardware.names())
def test_every_device_and_dtype_has_a_picture_that_holds_its_points(id):
    """A `Figure` refuses a point off its axes."""
    add = roof.elementwise(10**6, reads=2, dtype="fp32", name="add")
    for dtype in hardware.load(id).peaks:
        for op in OPS:
            for m, side in ((1, 1), (1, 4096), (65536, 65536), (65536, 1048576)):
                assert roofline_view(id, dtype, m, side, side, op, ops=[add]).figure.marks


def test_one_step_sends_little(learner):
    shown = explore.roofline(m=64, ops=[roof.matmul(64, 64, 64)])
    widget = shown.widget
    step = [widget.drawing, widget.numbers, widget.call, widget.values, widget.answered]
    assert len(json.dumps(step)) < 2600


def test_the_state_is_read_in_python_and_gives_the_explorer_back(learner):
    shown = explore.roofline(m=64)
    assert shown.state == START
    shown.set(m=96)
    assert "m = 96" in shown.widget.drawing["title"]
    assert ["intensity", "91.7 FLOP/B"] in shown.widget.numbers  # 96 / (1 + 96/2048)
    assert explore.roofline(**shown.state).state == shown.state == START | {"m": 96}
    assert eval(shown.call, {"explore": explore}).state == shown.state


def test_dtype_aliases_are_taken_and_the_default_follows_the_device(learner):
    assert explore.roofline(m=100, dtype="bfloat16").state["dtype"] == "bf16"
    assert explore.roofline(device="v100-sxm2").state["dtype"] == "fp32"


def test_a_device_of_ones_own_can_be_explored(learner):
    mine = replace(hardware.load("h100-sxm"), memory_bandwidth=6.7e12)  # the same id as the catalogue's
    shown = explore.roofline(device=mine)
    assert "6.70 TB/s" in shown.widget.drawing["description"]
    assert shown.call.startswith("explore.roofline(device=my_device, ")
    assert explore.roofline(**shown.state).state == shown.state


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"device": "h100"}, "h100-sxm"),
        ({"dtype": "bf17"}, "bf17"),
        ({"device": "v100-sxm2", "dtype": "fp8-e4m3"}, "fp8"),
        ({"op": "mul"}, "op='mul'"),
        ({"l2_tile": 100}, "l2_tile=100"),
        ({"m": 0}, "m=0"),
        ({"m": 2.5}, "2.5"),
        ({"m": 65537}, "65,536"),
        ({"k": -1}, "k=-1"),
    ],
)
def test_what_is_out_of_range_is_named(learner, wrong, word):
    with pytest.raises(ValueError, match=word):
        explore.roofline(**wrong)


def test_a_machine_that_was_not_measured_gives_one_line(learner, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "no-profile"))
    assert "course doctor" in repr(explore.roofline(device="this-machine", dtype="fp32"))


def test_a_measured_machine_can_be_chosen(learner, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    cpu = {"id": "this-machine", "name": "A CPU", "kind": "cpu", "peaks": {"fp32": 1e11}, "memory_bandwidth": 1e10}
    cpu |= {"memory_capacity": 8_000_000_000, "call_overhead": 1e-5, "measured_at": "2026-01-01"}
    profile = {"schema": hardware.PROFILE_SCHEMA, "cpu": cpu, "cuda": None, "conditions": {}, "raw": {}}
    hardware.profile_path().write_text(json.dumps(profile))
    shown = explore.roofline(device="this-machine", dtype="fp32")
    assert "A CPU in fp32 rises with 10.0 GB/s to the ridge point at 10 FLOP/B" in shown.widget.drawing["description"]
