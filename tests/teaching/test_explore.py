"""The roofline explorer: its numbers against the definition, its state, its static form."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import explore
from course_lib.accounting import hardware
from course_lib.accounting import roofline as roof
from course_lib.teaching.explore import roofline_view
from course_lib.teaching.plots import Points
from course_lib.teaching.slider import Slider

PEAK, BANDWIDTH = 989e12, 3.35e12  # H100 SXM, bf16 dense: NVIDIA's data sheet


@pytest.fixture
def live(monkeypatch, learner):
    monkeypatch.delenv("COURSE_STATIC", raising=False)
    return explore.roofline(m=64)


def slider(explorer) -> Slider:
    (found,) = (widget for widget in explorer.widget.children[0].children if isinstance(widget, Slider))
    return found


def point(view) -> tuple[float, float]:
    (mark,) = (mark for mark in view.figure.marks if isinstance(mark, Points) and mark.strong)
    return mark.x[0], mark.y[0]


@given(st.integers(1, 65536), st.integers(1, 20000), st.integers(1, 20000))
def test_the_point_lies_where_the_definition_puts_it(m, k, n):
    intensity = 2 * m * k * n / (2 * (m * k + k * n + m * n))
    assert point(roofline_view("h100-sxm", "bf16", m, k, n)) == pytest.approx(
        (intensity, min(PEAK, BANDWIDTH * intensity))
    )


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


def test_the_axes_stay_while_the_rows_move():
    views = [roofline_view("h100-sxm", "bf16", m, 4096, 4096).figure for m in (1, 65536)]
    assert views[0].x == views[1].x
    assert views[0].y == views[1].y


@pytest.mark.parametrize("id", hardware.names())
def test_every_device_and_dtype_has_a_picture_that_holds_its_points(id):
    add = roof.elementwise(10**6, reads=2, dtype="fp32", name="add")
    for dtype in hardware.load(id).peaks:
        for m, side in ((1, 1), (1, 4096), (65536, 65536)):
            figure = roofline_view(id, dtype, m, side, side, ops=[add]).figure
            for mark in figure.marks:
                if isinstance(mark, Points):
                    assert all(figure.x.low <= x <= figure.x.high for x in mark.x)
                    assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_one_step_sends_little():
    assert len(json.dumps(roofline_view("h100-sxm", "bf16", 96, 4096, 4096).figure.spec())) < 4000


def test_the_state_is_read_in_python_and_follows_the_controls(live):
    assert live.state == {"device": "h100-sxm", "dtype": "bf16", "m": 64, "k": 4096, "n": 4096}
    slider(live).index += 1
    assert live.state["m"] == 96
    assert "m = 96" in json.dumps(live.plot.spec)
    # 96 / (1 + 96/2048)
    assert "91.7 FLOP/B" in live.numbers.value
    assert explore.roofline(**live.state).state == live.state


def test_the_slider_stands_at_the_stop_below_the_box(live):
    box = live._controls["m"]
    for m, stop, bound in (
        (344, 256, "memory"),
        (345, 256, "compute"),
        (384, 384, "compute"),
        (65536, 65536, "compute"),
    ):
        box.value = m
        assert (box.value, slider(live).value) == (m, stop)
        assert f"m = {m:,}: {bound}-bound" in live.plot.spec["title"]
    box.value = 345
    slider(live).index -= 1
    assert (box.value, slider(live).value) == (192, 192)
    box.value = 345
    slider(live).index += 1
    assert (box.value, slider(live).value) == (384, 384)


def test_a_device_without_the_dtype_takes_one_that_it_has(live):
    live._controls["dtype"].value = "fp8-e4m3"
    live._controls["device"].value = "v100-sxm2"
    assert live.state["dtype"] in hardware.load("v100-sxm2").peaks
    assert "V100" in live.plot.spec["description"]


def test_reset_goes_back_to_the_call(live):
    before = live.plot.spec
    live._controls["device"].value = "v100-sxm2"
    live._controls["m"].value = 1
    live._controls["k"].value = 17
    live.again.click()
    assert live.state == {"device": "h100-sxm", "dtype": "bf16", "m": 64, "k": 4096, "n": 4096}
    assert slider(live).value == 64
    assert live.plot.spec == before


def test_rows_off_the_grid_and_dtype_aliases_are_taken(learner):
    off = explore.roofline(m=100, dtype="bfloat16")
    assert (off.state["m"], slider(off).value) == (100, 96)


def test_a_device_of_ones_own_can_be_explored(learner):
    from dataclasses import replace

    mine = replace(hardware.load("h100-sxm"), id="mine", memory_bandwidth=6.7e12)
    assert "6.70 TB/s" in explore.roofline(device=mine).plot.spec["description"]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"device": "h100"}, "h100"),
        ({"dtype": "bf17"}, "bf17"),
        ({"device": "v100-sxm2", "dtype": "fp8-e4m3"}, "fp8"),
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
    profile = {"schema": 1, "cpu": cpu, "cuda": None, "conditions": {}, "raw": {}}
    hardware.profile_path().write_text(json.dumps(profile))
    shown = explore.roofline(device="this-machine", dtype="fp32")
    assert "A CPU in fp32 rises with 10.0 GB/s to the ridge point at 10 FLOP/B" in shown.plot.spec["description"]


def test_the_static_form_is_a_picture_with_words_and_a_table(learner, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **more: shown.append((data, more)))
    static = explore.roofline(m=100)
    static._ipython_display_()
    (picture, more), (table, _) = shown
    assert picture["image/png"][:4] == b"\x89PNG"
    assert "memory-bound" in more["metadata"]["image/png"]["alt"]
    assert "<td>3.36 GFLOP</td>" in table["text/html"]
    assert "10.5 µs" in table["text/plain"]
    assert static.state["m"] == 100


@pytest.mark.parametrize("package", ["ipywidgets", "anywidget"])
def test_without_a_widget_package_the_explorer_is_static_with_one_line(learner, monkeypatch, package):
    for name in [name for name in sys.modules if name == "course_lib.teaching.slider" or name.startswith("anywidget")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"({package})" in repr(explore.roofline())
