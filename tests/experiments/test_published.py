"""What others measured is the witness here: every published figure against what `accounting` predicts of it.

A prediction that misses has its reason in the ledger, and one that hits has none, so that no reason outlives its cause.
"""

import dataclasses
import html
import inspect
import re
import statistics
import tomllib
from pathlib import Path

import pytest

from course_lib import units
from course_lib.accounting import communication, hardware, models
from course_lib.experiments import published, registry
from course_lib.experiments.published import ledger, predictors
from tests.experiments.example import result

APART = tomllib.loads(Path(__file__).with_name("published_values.toml").read_text("utf-8"))
LEAST = {"s", "hours", "days", "GPU hours", "B", "MB", "GB", "MiB", "GiB"}  # a bound on these lies below
PLANNED = re.compile(r"q(0[1-9]|1\d|2[0-4]|08plus)|case[1-4]")  # the units of the course
FILE = re.compile(r"[\w./ -]+\.\w+(:\d+)? @[0-9a-f]{8,40}(, .+)?")  # file, line, commit
PART = re.compile(r"(section|table|appendix|tables) \w+( and [\w. ]+)?.*|issue \d+.*")
ALL = published.table()


def having(*roles: str, kind: str | None = None) -> list:
    """A case for each figure whose prediction has one of the roles."""
    return [
        pytest.param(figure, id=figure.id) for figure in ALL if figure.role in roles and kind in (None, figure.kind)
    ]


def shares(kind: str) -> list[float]:
    """Of each bound of a kind what was reached of it; published over bound for rates, bound over published else."""
    found = [figure for figure in ALL if (figure.kind, figure.role) == (kind, "bound")]
    return [f.prediction / f.published if f.unit in LEAST else f.published / f.prediction for f in found]


# ---------------------------------------------------------------- truth


def test_the_ledger_says_what_was_published():
    assert {figure.id: [figure.published, figure.unit] for figure in ALL} == APART
    assert {figure.role for figure in ALL} == {"exact", "bound", "estimate", "fits"}


@pytest.mark.parametrize("figure", having("exact"))
def test_definitions_agree_within_one_percent_or_say_why_not(figure):
    off = abs(figure.prediction - figure.published) / figure.published
    assert (off <= 0.01) == (not figure.reason), f"{off:.2%} off: {figure.reason or 'no reason'}"


@pytest.mark.parametrize("figure", having("bound"))
def test_no_bound_is_violated_unless_the_ledger_says_why(figure):
    bound, measured = figure.prediction, figure.published
    holds = bound <= measured if figure.unit in LEAST else bound >= measured
    assert holds == (not figure.reason), f"measured {measured} {figure.unit}, bound {bound}"
    if figure.impossible:
        assert not holds


def test_what_hits_has_no_reason_and_what_misses_has_one():
    assert [figure.id for figure in ALL if figure.hits == bool(figure.reason)] == []


def test_the_impossible_line_is_marked():
    assert [figure.id for figure in ALL if figure.impossible] == ["llmc-gpt3-125m-step"]
    bound = published.get("llmc-gpt3-125m-step")
    on_h100 = bound.prediction * 312 / 989  # what the bound would be on the card that was probably meant
    assert bound.prediction > bound.published > on_h100


@pytest.mark.parametrize("figure", having("estimate"))
def test_estimates_agree_within_ten_percent_or_say_why_not(figure):
    off = abs(figure.prediction - figure.published) / figure.published
    assert (off <= 0.10) == (not figure.reason), f"{off:.1%} off: {figure.reason or 'no reason'}"


def test_estimates_of_memory_are_within_ten_percent_in_the_middle():
    off = [abs(f.prediction - f.published) / f.published for f in ALL if (f.kind, f.role) == ("memory", "estimate")]
    assert len(off) >= 10
    assert statistics.median(off) <= 0.10


def test_fitted_links_are_within_a_seventh_in_the_middle():
    fitted = [f for f in ALL if (f.kind, f.role) == ("communication", "estimate")]
    assert len(fitted) >= 13
    assert statistics.median(max(f.prediction / f.published, f.published / f.prediction) for f in fitted) <= 1.15
    bounds = {f.id for f in ALL if (f.kind, f.role) == ("communication", "bound")}
    assert {f.id.removesuffix("-fitted") for f in fitted} <= bounds, "what is fitted has a bound too"


@pytest.mark.parametrize(
    ("name", "graph", "small", "small_graph"),
    [
        ("b200-8b-fwd-eager-launched", 155.8, 8.1, 1.9),
        ("b200-8b-fwdbwd-eager-launched", 629.2, 48.8, 8.1),
    ],
)
def test_launches_hide_behind_kernels(name, graph, small, small_graph):
    """Published milliseconds: twice the layers have twice the launches. Added to the kernels they would be over by a
    tenth and more; behind them they are not seen."""
    figure = published.get(name)
    measured = figure.published * 1e3
    assert figure.prediction * 1e3 == pytest.approx(max(graph, 2 * small), rel=1e-6)
    assert measured < graph, "eager is not even slower than the graph"
    added = graph + 2 * (small - small_graph)
    assert added / measured > 1.1 > figure.prediction * 1e3 / measured


def test_a_fit_to_the_other_rows_is_called_so():
    for figure in ALL:
        if sweep := figure.predict.get("sweep"):
            fit, nbytes = communication.fitted(sweep), figure.predict["nbytes"]
            ranks, points = fit.ranks, dict(fit.points)
            row = nbytes * 2 * (ranks - 1) / ranks / points[nbytes] if nbytes in points else None
            same = {"op", "ranks"}.isdisjoint(figure.predict) and row == pytest.approx(figure.value, rel=1e-6)
            assert ("fitted to the other rows of its sweep" in figure.note) == same, figure.id


@pytest.mark.parametrize("figure", having("fits"))
def test_what_fits_is_told(figure):
    assert figure.prediction is figure.published


@pytest.mark.parametrize(
    ("kind", "least"), {"decode": 0.55, "matmul": 0.7, "serving": 0.4, "communication": 0.6, "training": 0.4}.items()
)
def test_bounds_are_near_enough_to_say_something(kind, least):
    assert least <= statistics.median(shares(kind)) <= 1


def test_by_hand():
    """Predictions from numbers that stand nowhere in the library's catalogues."""
    layers, d, seq = 12, 768, 1024  # GPT-2 without biases, its embedding tied to the head, positions left out
    matrices = layers * 12 * d * d + 50257 * d
    per_token = 6 * matrices + 12 * layers * d * seq
    assert 1024 * per_token == 874_944_921_600  # printed by nanoGPT for one sequence
    mfu = 100 * per_token * 100 * 1024 / 0.755 / 312e12
    assert published.get("nanogpt-mfu").prediction == pytest.approx(mfu, rel=1e-6)

    assert published.get("zero-7.5B-1-64").prediction == pytest.approx(2 * 7.5 + 2 * 7.5 + 12 * 7.5 / 64, rel=1e-6)

    sent = 2 * 7 / 8 * 2**33  # of 8 ranks in a ring, at 450 GB/s one way
    assert published.get("h200-ring-8").prediction == pytest.approx(sent / (sent / 450e9) / 1e9, rel=1e-6)


@pytest.mark.parametrize(("id", "prompt", "answer"), [("1000-1000", 1000, 1000), ("20000-2000", 20000, 2000)])
def test_serving_by_hand(id, prompt, answer):
    """Llama 3 8B in FP8 on an H100, which reports 81559 MiB: 65,536 B of cache a token, 1979 TFLOP/s, 3.35 TB/s."""
    weights, table = 8_030_261_248, 128_256 * 4096
    tokens = prompt + answer // 2  # a request has half of its answer in the mean
    batch = ((81_559 << 20) - weights) // (65_536 * tokens)
    prefill = batch * (2 * (weights - table) * prompt + 32 * 4 * prompt**2 * 4096) / 1979e12
    reading, computing = (weights - table) / 3.35e12, 2 * batch * weights / 1979e12
    decode = answer * (batch * 65_536 * tokens / 3.35e12 + max(reading, computing))
    expected = batch * answer / max(prefill, decode)
    assert published.get(f"trt-8b-h100-{id}").prediction == pytest.approx(expected, rel=2e-3)


def test_bits_of_files_that_mix_formats():
    """llama.cpp's Q4_0 file of Llama 2 7B: 18 B for 32 numbers, its head 210 B for 256 (Q6_K), norms in fp32.

    The others are sizes that were printed (Dai, "Total VRAM requirements": 4.58 and 39.59 GiB) over parameters.
    """
    every, head, norms = 6_738_415_616, 32_000 * 4096, 65 * 4096
    mixed = 18 / 32 * (every - head - norms) + 210 / 256 * head + 4 * norms
    bits = {"llamacpp-7b-3090ti": 8 * mixed / every}
    small = [figure.id for figure in ALL if figure.id.startswith("xdai-8b-q4-")]
    bits |= dict.fromkeys(small, 8 * 4.58 * 2**30 / 8_030_261_248)
    bits |= dict.fromkeys(("fit-70b-q4-a6000", "fit-70b-q4-4090"), 8 * 39.59 * 2**30 / 70_553_706_496)
    for id, mean in bits.items():
        stated = published.get(id).dtype.removesuffix("-bit")
        assert stated == f"{mean:.{len(stated) - 2}f}".removesuffix("0")


@pytest.mark.parametrize(
    ("id", "share"), [("awq-mistral-64-vram", 18.41), ("awq-mistral-4k-vram", 23.48), ("awq-mistral-4k-b8-vram", 71.12)]
)
def test_the_printed_share_of_the_card_tells_the_unit(id, share):
    """Hansen prints "4.35 GB (18.41%)": of an RTX 4090's 24 GiB, of which torch sees 23.65, that is so in GiB."""
    figure = published.get(id)
    assert figure.value / (share / 100) == pytest.approx(23.65 * 2**30, rel=2e-3)
    assert figure.value / (share / 100) == pytest.approx(figure.hardware.memory_capacity, rel=0.02)


# ---------------------------------------------------------------- the ledger


@pytest.mark.parametrize("figure", [pytest.param(figure, id=figure.id) for figure in ALL])
def test_a_figure_names_its_place_and_its_units(figure):
    source = figure.source
    assert 2017 <= figure.year <= 2026
    assert all((source.title, source.publisher, source.where, figure.measures, figure.conditions))
    if re.fullmatch(r"[\w.-]+/[\w.-]+", source.where):
        assert FILE.fullmatch(figure.place) or PART.fullmatch(figure.place), figure.place
    elif source.where.startswith("arXiv:"):
        assert re.fullmatch(r"arXiv:\d{4}\.\d{5}", source.where)
        assert PART.fullmatch(figure.place), figure.place
    else:
        assert figure.place
    assert figure.units
    assert all(PLANNED.fullmatch(unit) for unit in figure.units)
    assert not figure.device or figure.device in hardware.names()
    assert all(text == "" or text.endswith(".") for text in (figure.reason, figure.note))
    assert not figure.impossible or figure.reason


@pytest.mark.parametrize(
    "figure", [figure for figure in ALL if figure.predict.get("devices", 1) > 1], ids=lambda f: f.id
)
def test_conditions_tell_how_many_devices_are_predicted(figure):
    numbers = re.findall(r"\d+", re.sub(r"(?<=\d),(?=\d)", "", figure.conditions))
    assert str(figure.predict["devices"]) in numbers


def test_existing_units_have_the_names_that_the_ledger_uses():
    lessons = {units.prefix(unit) for unit in units.names() if unit.startswith("q")}
    assert lessons
    assert all(PLANNED.fullmatch(prefix) for prefix in lessons)


def test_no_two_figures_have_one_id():
    files = sorted((Path(ledger.__file__).parent / "figures").glob("*.toml"))
    ids = [id for path in files for id in tomllib.loads(path.read_text("utf-8"))]
    assert len(ids) == len(set(ids)) == len(ALL)


def test_every_predictor_source_and_model_is_used():
    functions = inspect.getmembers(predictors, inspect.isfunction)
    public = {name for name, found in functions if next(iter(inspect.signature(found).parameters), "") == "figure"}
    public -= {name for name in public if name.startswith("_")}
    assert public == {figure.predict["by"] for figure in ALL}
    folder = Path(ledger.__file__).parent
    listed = tomllib.loads((folder / "sources.toml").read_text("utf-8"))
    assert {source["title"] for source in listed.values()} == {figure.source.title for figure in ALL}
    described = tomllib.loads((folder / "models.toml").read_text("utf-8"))
    asked = {figure.predict.get("model") for figure in ALL}
    assert set(described) <= asked
    assert all(model["origin"] for model in described.values())
    assert not set(described) & set(models.names()), "the catalogue has it by now"


# ---------------------------------------------------------------- asking


def test_names_by_unit_and_kind():
    assert len(published.names()) == len(ALL) == len(APART)
    assert "gptfast-mixtral-2" in published.names(unit="q11")
    assert published.names("q06_why_count_flops") == published.names("q06")
    both = published.names(unit="q10", kind="decode")
    assert both == tuple(id for id in published.names("q10") if id in published.names(kind="decode"))
    assert "exl2-70b-2.5bpw" in both
    assert "octocoder-4bit" not in both
    assert {published.get(id).kind for id in published.names("q11")} >= {"decode", "serving"}
    assert set(published.kinds()) == {figure.kind for figure in ALL}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: published.get("gptfast7b"), ["id='gptfast7b' is not known", "'gptfast-7b'"]),
        (lambda: published.names(unit="q8plus"), ["unit='q8plus' is not known", "'q08plus'"]),
        (lambda: published.names(unit="q111"), ["unit='q111' is not known", "'q11'"]),
        (lambda: published.table(kind="decoding"), ["kind='decoding' is not known", "'decode'"]),
        (lambda: published.get("mpt-70b-params").hardware, ["'mpt-70b-params'", "no device"]),
        (lambda: published.model("gpt-2"), ["name='gpt-2' is not known", "Did you mean 'gpt2'"]),
        (lambda: published.model("jz20b"), ["name='jz20b' is not known", "Did you mean 'jz-20b'"]),
        (lambda: published.model(["jz-20b"]), ["name=['jz-20b'] is not known", "Did you mean 'jz-20b'"]),
        (lambda: published.model({}), ["name={} is not known", "megatron-22b", "llama2-7b"]),
    ],
)
def test_errors_teach(refuses, call, says):
    refuses(call, says)


def test_models_of_the_ledger_and_of_the_catalogue():
    assert int(published.model("jz-20b").parameters()) == pytest.approx(12 * 8 * 14400**2 + 250880 * 14400, rel=1e-3)
    assert published.model("gpt2") == models.load("gpt2")


def test_ratio_and_efficiency():
    rate, time = published.get("gptfast-7b"), published.get("llmc-124m-step")
    assert rate.efficiency == rate.ratio == pytest.approx(rate.published / rate.prediction)
    assert time.efficiency == time.ratio == pytest.approx(time.prediction / time.published)
    mfu, state = published.get("nanogpt-mfu"), published.get("zero-7.5B-1-64")
    assert mfu.ratio == pytest.approx(mfu.prediction / mfu.published)
    assert mfu.efficiency == pytest.approx(0.3714)
    assert state.ratio == pytest.approx(state.prediction / state.published)
    assert state.efficiency is None
    assert published.get("fit-8b-3090").ratio is published.get("fit-8b-3090").efficiency is None
    assert [figure.hits for figure in (rate, time, mfu, published.get("llmc-gpt3-125m-step"))] == [True] * 3 + [False]


def test_a_figure_says_everything():
    figure = published.get("korthikanti-22b-hfu")
    text = figure.explain()
    assert text == repr(figure)
    assert str(figure.source) in text
    for part in (
        "43.7 %",
        "42.37 %",
        "exact",
        "Korthikanti et al., NVIDIA",
        "2022",
        "arXiv:2205.05198",
        "tables 3 and 5",
    ):
        assert part in text
    for part in (figure.conditions, figure.reason, "NVIDIA A100 SXM4 80 GB, bf16", "utilisation(model=megatron-22b"):
        assert part in text
    assert "llama.cpp splits by layers" in published.get("xdai-70b-f16-a100x4").explain()
    assert "does not fit" in repr(published.get("fit-8b-4070ti"))
    assert "$672" in repr(published.get("llmc-1558m-cost"))
    for shown in (figure, published.table(kind="memory")):
        page = shown._repr_html_()
        assert all(html.escape(cell) in page for row in shown._cells()[1] for cell in row)


def test_a_table_is_its_figures():
    table = published.table(kind="decode")
    assert [figure.id for figure in table] == list(published.names(kind="decode"))
    lines = repr(table).splitlines()
    assert len(lines) == 1 + len(table)
    row = next(line for line in lines if line.startswith("gptfast-8b "))
    for part in ("2024", "a100-80-sxm", "93.89 tokens/s", "bound", "PyTorch Labs"):
        assert part in row
    with pytest.raises(dataclasses.FrozenInstanceError):
        table[0].published = 1.0


def test_it_needs_the_standard_library_alone(python_without):
    code = "from course_lib.experiments import published; print(sum(f.hits for f in published.table()))"
    done = python_without(["torch", "numpy", "matplotlib", "psutil", "ipywidgets"], code)
    assert done.stdout == f"{sum(figure.hits for figure in ALL)}\n", done.stderr


# ---------------------------------------------------------------- beside an experiment


BESIDE = [pytest.param(figure, id=figure.id) for figure in ALL if figure.beside]


@pytest.mark.parametrize("figure", BESIDE)
def test_what_stands_beside_an_experiment_is_the_same_quantity(figure):
    """On the figure's own device the experiment predicts a bound of it, and of the same size."""
    experiment = registry.get(figure.beside["experiment"])
    cases = experiment.cases(figure.hardware, True)
    bound = experiment.predict(cases, figure.hardware)[figure.beside["case"]]
    assert 0.4 * bound < figure.value <= bound
    unit = next(column.unit for column in experiment.columns if column.key == experiment.quantity)
    assert figure.unit.endswith(unit)  # FLOP/s under TFLOP/s


def test_a_comparison_has_the_column_where_a_figure_fits(recordings):
    compared = result("gemm_ladder").compare()
    assert compared["library, out="]["published"] == 271.2e12
    assert [row["case"] for row in compared.rows if row["published"] is not None] == ["library, out="]
    assert compared._cells()[0][-1] == "published"
    assert compared.notes[-1] == (
        "Published by others, not measured in this project: library, out=, best matrix product found on NVIDIA A100 "
        "SXM4 80 GB, bf16, [1024, 5120] @ [5120, 10240] (Bekman, Machine Learning Engineering, 2026)."
    )
    assert "271 TFLOP/s" in str(compared)
    without = result("same_flops").compare()
    assert "published" not in without._cells()[0]
    assert not any("Published" in note for note in without.notes)
