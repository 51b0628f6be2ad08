"""Results as values and as JSON; comparisons; figures."""

import dataclasses
import json
import sys
from html.parser import HTMLParser

import pytest

from course_lib import experiments
from course_lib.accounting import hardware, units
from course_lib.experiments import Result, Unavailable, registry
from course_lib.experiments.recordings import loading, taking
from course_lib.experiments.running.result import canonical, sign
from course_lib.figures.tabular import DASH, WIDTH, html_table, quantity, text_table, without_dashes
from tests.experiments.example import CPU, GPU, keep, result

# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize("name", registry.names())
def test_json_gives_an_equal_result_back(name):
    there = result(name)
    back = Result.from_json(there.to_json())
    assert back == there
    assert back.to_json() == there.to_json()
    assert {type(value) for row in back.rows for value in row.values()} <= {str, int, float, type(None)}


def test_a_changed_number_is_refused():
    data = json.loads(result().to_json())
    data["rows"][0]["measured"] *= 0.5
    with pytest.raises(Unavailable, match="damaged or edited"):
        Result.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(schema=2), "schema 2 and this course reads up to 1; update"),
        (lambda d: d.update(schema="1"), "schema '1' is not 1"),
        (lambda d: d["rows"][0].update(flops=2.5), "does not fit the columns"),
        (lambda d: d["rows"][0].pop("flops"), "KeyError"),
        (lambda d: d.pop("provenance"), "KeyError"),
    ],
)
def test_another_form_is_refused_even_with_a_fitting_digest(change, reason):
    data = json.loads(result().to_json())
    change(data)
    with pytest.raises(Unavailable, match=reason):
        Result.from_json(json.dumps(sign(data)))


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', result().to_json()[:-20]])
def test_a_damaged_text_is_refused_in_one_line(text):
    with pytest.raises(Unavailable, match="refused") as refusal:
        Result.from_json(text)
    assert "\n" not in str(refusal.value)


def test_columns_describe_the_rows():
    for name in registry.names():
        r = result(name)
        assert all(set(row) == {column.key for column in r.columns} for row in r.rows)
        # ms: Q19 models in whole ones
        assert r.unit in {"s", "×", "B", "B/s", "FLOP/s", "FLOP", "tokens/s", "%", "nat", "ms", ""}, r.unit


def test_a_row_by_its_case():
    r = result()
    assert r["additions"]["measured"] == r.measured["additions"] == pytest.approx(2 * r.prediction["additions"])
    with pytest.raises(ValueError, match="Did you mean 'additions'"):
        r["addition"]


def test_a_result_cannot_be_changed():
    r = result()
    with pytest.raises(TypeError):
        r.rows[0]["measured"] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.rows = ()


def test_disturbed():
    assert not result().disturbed
    assert not result(used_by_others=None).disturbed
    assert result(used_by_others=0.4).disturbed


def test_what_a_lesson_expects_is_judged_only_on_a_quiet_machine(capsys):
    quiet = result()
    quiet.judge(True, "adding is slow")
    assert capsys.readouterr().out == "It holds in this run: adding is slow.\n"
    with pytest.raises(AssertionError, match=r"^It does not hold in this run: adding is slow\.$"):
        quiet.judge(False, "adding is slow")
    busy = result(used_by_others=0.4)
    busy.judge(True, "adding is slow")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= WIDTH
    whole = " ".join(out.split())
    assert whole == "It holds in this run, although other programs used the processor meanwhile: adding is slow."
    busy.judge(False, "adding is slow")
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Too noisy to judge whether adding is slow: other programs used")
    wide = dataclasses.replace(quiet, raw={**quiet.raw, "additions": (1.0, 2.0, 3.0)})
    wide.judge(False, "adding is slow")
    assert "the repeats of additions spread widely." in " ".join(capsys.readouterr().out.split())


# ---------------------------------------------------------------- comparison


def test_without_a_recording(recordings):
    compared = result().compare()
    keys = {"case", "predicted", "measured", "recorded", "data_centre", "published", "ratio"}
    assert [set(row) for row in compared.rows] == [keys] * 4
    assert all(
        row["ratio"] == pytest.approx(row["measured"] / row["predicted"]) == pytest.approx(2) for row in compared.rows
    )
    assert all(row["recorded"] is None for row in compared.rows)
    text = " ".join(str(compared).split())
    assert "Measured here: Example CPU, 4 cores, 4 threads, fp32, PyTorch 2.13.0, 2026-01-03." in text
    assert "Recorded: none yet." in text
    last = compared.notes[-1]
    assert last.startswith("data-centre GPU: predicted from the data sheet of an NVIDIA H100")
    assert "not recorded yet" in last
    h100 = hardware.load("h100-sxm")
    promised = {row["case"]: row["data_centre"] for row in compared.rows}
    assert promised["one large GEMM"] == pytest.approx(2 * 4096**3 / h100.peak("bf16"))  # the GPU's own size
    assert promised["additions"] == pytest.approx(512 * 3 * 2**28 * 2 / h100.memory_bandwidth)  # three streams
    assert promised["tiny GEMMs"] is None
    assert "H100, data sheet" in text
    assert "What runs there: bf16, 2·4096³ = 137 GFLOP each." in last
    assert "A dash stands" in last


def test_a_recorded_processor_fills_the_column(recordings):
    keep(
        recordings,
        result(entry={**CPU, "id": "other-cpu", "name": "Other CPU, 2 cores"}, slower=3.0, date="2026-02-03"),
    )
    compared = result().compare()
    assert all(row["recorded"] == pytest.approx(1.5 * row["measured"]) for row in compared.rows)
    machine = "Other CPU, 2 cores, 4 threads, fp32, PyTorch 2.13.0, 2026-02-03"
    assert f"Recorded: {machine} (this project's recording, measured with `course record`)." in compared.notes
    assert "not recorded yet" in compared.notes[-1]


def test_a_recorded_gpu_replaces_the_data_sheet(recordings):
    keep(recordings, result(entry={**CPU, "id": "other-cpu", "name": "Other CPU, 2 cores"}))
    gpu = result(entry=GPU, slower=1.5)
    keep(recordings, gpu)
    compared = result().compare()
    assert {row["case"]: row["recorded"] for row in compared.rows} == gpu.measured
    assert {row["case"]: row["data_centre"] for row in compared.rows} == gpu.measured
    assert "recorded on NVIDIA H200, bf16" in compared.notes[-1]
    assert "not recorded" not in str(compared)
    headings = compared._cells()[0]
    assert headings == ["case", "predicted", "measured here", "measured / predicted", "NVIDIA H200, recorded"], (
        "one column, not the same values twice"
    )


def test_a_recorded_gpu_stands_beside_a_recorded_processor(recordings):
    keep(recordings, result(entry={**CPU, "id": "other-cpu", "name": "Other CPU, 2 cores"}))
    gpu = result(entry=GPU, slower=1.5)
    keep(recordings, gpu)
    compared = result().compare("other-cpu")
    assert {row["case"]: row["data_centre"] for row in compared.rows} == gpu.measured
    assert compared._cells()[0][-2:] == ["recorded", "NVIDIA H200, recorded"]


def test_cases_of_other_names_on_a_gpu_are_not_shown(recordings):
    compared = result("roofline_points").compare()
    assert compared["linear, 4 rows"]["data_centre"] is None, "a GPU runs 1, 16, 64 and 256 rows"
    assert compared["linear, 16 rows"]["data_centre"] > 0
    assert "256 rows" not in str(compared)


def test_a_recording_by_name_or_object(recordings):
    keep(recordings, result(entry={**CPU, "id": "other-cpu"}, slower=4.0))
    by_name, by_object = result().compare("other-cpu"), result().compare(result(slower=4.0))
    assert by_name["additions"]["recorded"] == by_object["additions"]["recorded"]
    with pytest.raises(ValueError, match="same experiment"):
        result().compare(result("roofline_points"))
    with pytest.raises(ValueError, match="no recording on device='h200-sxm'"):
        result().compare("h200-sxm")


def test_an_edited_recording_is_named_and_left_out(recordings):
    path = keep(recordings, result(entry=GPU))
    path.write_text(path.read_text("utf-8").replace("2026-01-03", "2026-01-04"), "utf-8")
    compared = result().compare()
    assert all(row["recorded"] is None for row in compared.rows)
    assert any("h200-sxm.json is refused" in note and "edited" in note for note in compared.notes)


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_compares_and_draws(name, recordings):
    r = result(name)
    assert [row["case"] for row in r.compare().rows] == [row["case"] for row in r.rows]
    figure = r.plot()
    assert figure.png.startswith(b"\x89PNG")
    for row in r.rows:
        sentence = figure.alt.removeprefix(figure.title).split(f"{row['case']}: ", 1)[1].split(". ")[0]
        values = {quantity(row[r.quantity], r.unit), quantity(row.get("attained"), "FLOP/s")}
        assert any(value in sentence for value in values), "the words have every case and its value"
    bundle = figure._repr_mimebundle_()
    assert figure.title.split(":")[0] in bundle["text/plain"].replace("\n  ", " ")
    assert 'alt="' in bundle["text/html"]


def test_figures_are_the_same_at_every_drawing():
    assert result().plot().png == result().plot().png


def test_without_matplotlib_the_words_remain(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    bundle = result().plot()._repr_mimebundle_()
    assert set(bundle) == {"text/plain"}
    assert "matplotlib is not installed" in bundle["text/plain"]
    assert "additions" in bundle["text/plain"]


# ---------------------------------------------------------------- tables


class Cells(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.rows, self.colours = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.colours += [value for key, value in attrs if key == "style" and "#" in value]

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_html_has_the_same_cells_as_the_text_and_no_colour_of_its_own(recordings):
    compared = result().compare()
    page = Cells(compared._repr_html_())
    assert page.rows[1][0] == "one large GEMM"
    text = " ".join(str(compared).split())
    assert all(cell in text for row in page.rows[:5] for cell in row[:5])
    assert not page.colours
    assert not Cells(result()._repr_html_()).colours


def test_a_unit_stands_below_its_number_only_in_a_table_of_many_columns():
    for columns, whole in ((6, True), (7, False)):
        page = html_table(["case"] * columns, [["a", *["1 s"] * (columns - 1)]])
        assert ("nowrap" in page) == whole


def test_html_escapes():
    assert "<b>" not in html_table(["<b>"], [["<b>"]], "<b>", ["<b>"])


def test_text_columns_are_aligned():
    lines = text_table(["case", "value"], [["a", "1"], ["long name", "22.5 ms"]]).split("\n")
    assert lines == ["case         value", "---------  -------", "a                1", "long name  22.5 ms"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", "–"),
        ("memory", "", "memory"),
        (0.00133, "s", "1.33 ms"),
        (0.178, "×", "0.18×"),
        (0.0042, "×", "0.0042×"),
        (9.999, "×", "10×"),
        (10.54, "×", "10.5×"),
        (174.2, "×", "174×"),
        (268_435_456, "FLOP", "268 MFLOP"),
        (3.2e9, "B", "3.20 GB"),
    ],
)
def test_quantity(value, unit, text):
    assert quantity(value, unit) == text


def test_a_column_without_any_value_is_left_out_with_its_footnote(recordings):
    """Nothing promises a latency, so a pointer chase has no data sheet to stand beside."""
    compared = result("pointer_chase").compare()
    assert "data sheet" not in compared._repr_html_()
    assert "data sheet" in result("same_flops").compare()._repr_html_()


def test_what_is_counted_and_hangs_on_no_device_has_no_column_of_another_device():
    compared = experiments.load("ddp_no_sync", "amd-epyc-2-cores").compare()
    assert all(row["data_centre"] is None for row in compared.rows)
    assert "data sheet" not in str(compared)
    assert "data-centre" not in str(compared)


@pytest.mark.parametrize("replayed", [False, True])
@pytest.mark.parametrize("predicts", [False, True])
def test_a_profile_is_named_where_something_is_predicted(replayed, predicts):
    here = dataclasses.replace(result(), replayed=replayed)
    if not predicts:
        here = dataclasses.replace(here, prediction=units.FrozenDict(dict.fromkeys(here.prediction)))
    assert ("profile" in " ".join(here.compare().notes)) == predicts


@pytest.mark.parametrize("replayed", [False, True])
def test_no_column_is_nothing_but_dashes(replayed, recordings):
    """`data_hunger` predicts nothing, and no recording stands beside it."""
    here = dataclasses.replace(result("data_hunger"), replayed=replayed)
    for compared in (here.compare(), result().compare(), result("pointer_chase").compare()):
        for column in zip(*compared._cells()[1], strict=True):
            assert set(column) != {DASH}
    live, recorded = "measured here", "recorded"
    assert here.compare()._cells()[0] == ["case", recorded if replayed else live]
    assert "Recorded: none yet." in str(result("data_hunger").compare()), "the sentence says what no column shows"


def test_a_result_leaves_out_what_was_not_measured():
    there = result("training_ladder")
    peak = next(column for column in there.columns if column.key == "peak")
    rows = [{**row, "peak": None} for row in there.rows]
    nowhere = dataclasses.replace(there, rows=rows)
    once = dataclasses.replace(there, rows=[*rows[1:], {**rows[0], "peak": 1e9}])
    assert peak.heading not in nowhere._cells()[0]
    assert peak.heading in once._cells()[0]


def test_only_columns_of_dashes_are_left_out():
    rows = [["a", DASH, "1", DASH], ["b", DASH, DASH, "2"]]
    assert without_dashes(["case", "p", "q", "r"], rows) == (["case", "q", "r"], [["a", "1", DASH], ["b", DASH, "2"]])
    assert without_dashes(["case", "p"], []) == (["case", "p"], [])


def test_code_in_a_note_is_shown_as_code():
    page = html_table(["case"], [["a"]], "a caption", notes=["`course record` makes one, of <any> kind"])
    assert "<code>course record</code> makes one, of &lt;any&gt; kind" in page


# ---------------------------------------------------------------- recordings


def test_nothing_recorded(recordings):
    assert experiments.recorded("same_flops") == ()
    with pytest.raises(Unavailable, match=r"no recording\. Nothing is recorded yet\. `course record`"):
        experiments.load("same_flops")


def test_a_missing_folder_is_nothing_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "folder", lambda: tmp_path / "nowhere")
    assert experiments.recorded("same_flops") == ()


def test_load_prefers_the_data_centre_gpu(recordings):
    cpu, gpu = result(entry={**CPU, "id": "a-cpu"}), result(entry=GPU)
    keep(recordings, cpu)
    keep(recordings, gpu)
    assert experiments.recorded("same_flops") == ("h200-sxm", "a-cpu")
    assert experiments.load("same_flops") == gpu
    assert experiments.load("same_flops", "a-cpu") == cpu
    assert experiments.recorded("roofline_points") == ()
    with pytest.raises(ValueError, match="Did you mean 'h200-sxm'"):
        experiments.load("same_flops", "h200")
    with pytest.raises(ValueError, match="Did you mean 'same_flops'"):
        experiments.load("same_flop")


def test_a_recording_replaced_on_disk_is_read_again(recordings):
    import os

    path = keep(recordings, result(entry=GPU, slower=1.0))
    os.utime(path, ns=(1, 1))
    before = experiments.load("same_flops").measured
    keep(recordings, result(entry=GPU, slower=2.0))
    assert experiments.load("same_flops").measured != before


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[: len(text) // 2], "damaged or cut short"),
        (lambda text: text.replace("NVIDIA H200", "NVIDIA H300"), "does not fit its digest"),
        (lambda text: canonical(sign({**json.loads(text), "schema": 7})), "schema 7"),
        (lambda text: canonical(sign({**json.loads(text), "device": {"id": "h200-sxm"}})), "refused"),
        (
            lambda text: canonical(
                sign({**json.loads(text), "results": {"other": json.loads(text)["results"]["same_flops"]}})
            ),
            "belong",
        ),
    ],
)
def test_damaged_recordings_are_refused_with_the_reason(recordings, damage, reason):
    path = keep(recordings, result(entry=GPU))
    path.write_text(damage(path.read_text("utf-8")), "utf-8")
    with pytest.raises(Unavailable, match=reason):
        taking.check(path)
    assert experiments.recorded("same_flops") == ()
    with pytest.raises(Unavailable, match=reason):
        experiments.load("same_flops", "h200-sxm")


def test_check_says_what_a_recording_holds(recordings):
    path = keep(recordings, result(entry=GPU), result("roofline_points", entry=GPU))
    assert taking.check(path) == (
        "h200-sxm.json is valid: NVIDIA H200 (h200-sxm), roofline_points, same_flops, PyTorch 2.13.0, 2026-01-03."
    )


def test_committed_recordings_are_valid():
    for path in loading.folder().glob("*.json"):
        assert taking.check(path).startswith(path.name)


@pytest.mark.parametrize(
    ("kind", "name", "id"),
    [
        ("gpu", "NVIDIA H200", "h200-sxm"),
        ("gpu", "NVIDIA H200 NVL", "nvidia-h200-nvl"),
        ("gpu", "NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("gpu", "NVIDIA H100 PCIe", "nvidia-h100-pcie"),
        ("gpu", "NVIDIA A100-SXM4-80GB", "a100-80-sxm"),
        ("gpu", "NVIDIA A100-SXM4-40GB", "a100-40-sxm"),
        ("gpu", "NVIDIA L4", "l4"),
        ("gpu", "NVIDIA L40S", "nvidia-l40s"),
        ("gpu", "Tesla T4", "t4"),
        ("gpu", "Tesla V100-SXM2-16GB", "v100-sxm2"),
        ("gpu", "NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("gpu", "NVIDIA GeForce RTX 4090 Laptop GPU", "nvidia-geforce-rtx-4090-laptop-gpu"),
        ("cpu", "AMD EPYC, 2 cores", "amd-epyc-2-cores"),
        ("cpu", "Intel(R) Core(TM) i7-1185G7 @ 3.00GHz, 8 cores", "intel-r-core-tm-i7-1185g7-3-00ghz-8-cores"),
    ],
)
def test_device_ids(kind, name, id):
    assert loading.device_id(kind, name) == id


def test_ids_of_gpus_are_those_of_the_catalogue():
    assert {id for _, id in loading._GPU_IDS} <= set(hardware.names())
    assert set(loading.DATA_CENTRE) <= set(hardware.names())


def test_a_recording_is_never_called_measured_here(recordings):
    keep(recordings, result(entry=GPU))
    replay = experiments.load("same_flops")
    comparison = replay.compare()
    assert [row["measured"] for row in comparison.rows] == [None] * len(replay.rows)
    assert [row["recorded"] for row in comparison.rows] == list(replay.measured.values())
    assert "Measured here: nothing. This is a recording" in str(comparison)
    assert "recorded / predicted" in str(comparison)
    live = experiments.Result.from_json(replay.to_json())
    assert not live.replayed, "what is stored says nothing about how it was loaded"
    assert live.compare().rows[0]["measured"] == next(iter(live.measured.values()))
