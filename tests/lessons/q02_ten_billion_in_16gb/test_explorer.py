"""The memory planner: its bytes against the calculators and against sums by hand, its verdict against its numbers."""

import pytest

from course_lib.accounting import hardware, memory, models
from course_lib.figures.plots import Stack
from course_lib.units.q02_ten_billion_in_16gb import explorer
from course_lib.units.q02_ten_billion_in_16gb.explorer import MAX_BATCH, memory_view

GPT2 = 124_439_808  # parameters of the published checkpoint


@pytest.fixture
def static(learner, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")


def parts(shown) -> dict[str, int]:
    (stack,) = (mark for mark in shown._shown.figure.marks if isinstance(mark, Stack))
    return {name: values[0] for name, values in stack.parts.items()}


def test_the_model_state_is_that_of_the_recipe(static):
    found = parts(explorer.memory(precision="bf16", recipe="mixed-adamw"))
    bytes_of = {"weights": 2, "gradients": 2, "master weights": 4, "first moment": 4, "second moment": 4}
    assert {name: found[name] for name in bytes_of} == {name: each * GPT2 for name, each in bytes_of.items()}


@pytest.mark.parametrize(("stage", "sharded"), [(0, 0), (1, 12), (2, 14), (3, 16)])
def test_each_zero_stage_leaves_what_it_says(static, stage, sharded):
    """16 B a parameter, of which the stage shards so many among 8 ranks: the arithmetic of the ZeRO paper."""
    shown = explorer.memory(precision="bf16", recipe="mixed-adamw", zero_stage=stage, ranks=8)
    state = sum(size for name, size in parts(shown).items() if "moment" in name or name in ("weights", "gradients"))
    state += parts(shown)["master weights"]
    assert state == (16 - sharded) * GPT2 + sharded * (GPT2 // 8)


@pytest.mark.parametrize("model", ["gpt2", "llama2-7b", "qwen3-0.6b"])
@pytest.mark.parametrize("batch", [1, 2, 16])
@pytest.mark.parametrize("recompute", ["none", "full"])
def test_the_bar_is_the_peak_of_pytorch_but_for_the_gradients_that_it_keeps(static, model, batch, recompute):
    loaded = models.load(model)
    shown = explorer.memory(model, batch, 512, "amp-bf16", "sdpa", recompute, "fp32-adamw")
    peak = memory.training_peak(loaded, batch, 512, precision="amp-bf16", attention="sdpa", recompute=recompute)
    gradients = 4 * int(loaded.parameters())
    assert int(peak) <= sum(parts(shown).values()) <= int(peak) + gradients


def test_the_formula_stands_in_where_autograd_is_not_described(static):
    shown = explorer.memory("mixtral-8x7b", batch=2, seq=512)
    assert (shown.state["convention"], shown.state["attention"]) == ("megatron", "eager")
    # s·b·h·(34 + 5·a·s/h) a layer: Korthikanti et al., equation 1, with 32 layers, 32 heads, width 4096
    assert parts(shown)["activations"] == 32 * 512 * 2 * 4096 * (34 + 5 * 32 * 512 // 4096)
    assert "Korthikanti" in repr(shown)


@pytest.mark.parametrize("model", ["gpt2", "gpt2-xl", "mixtral-8x7b", "llama3-8b"])
@pytest.mark.parametrize("device", ["t4", "h100-sxm", "b200-sxm"])
def test_the_largest_batch_fits_and_one_more_does_not(static, model, device):
    def total(batch):
        return sum(parts(explorer.memory(model, batch, 1024, device=device)).values())

    readout = explorer.memory(model, 1, 1024, device=device)._shown.readout
    capacity = hardware.load(device).memory_capacity
    most = int(readout["largest batch that fits"].replace(",", ""))
    assert readout["verdict"] == ("fits" if most else "does not fit at all")
    assert most == 0 or total(most) <= capacity
    assert total(most + 1) > capacity
    titles = [
        explorer.memory(model, batch, 1024, device=device)._shown.figure.title for batch in (max(most, 1), most + 1)
    ]
    assert (" fits: " in titles[0]) == (most > 0)
    assert ("does not fit" if most else "not even a batch of 1 fits") in titles[1]


@pytest.mark.parametrize("model", ["gpt2", "gpt2-medium", "qwen2-0.5b"])
def test_the_largest_batch_is_never_more_than_that_of_the_calculator(static, model):
    shown = explorer.memory(model, 1, 512, "fp32", "eager", recipe="fp32-adamw", device="a10g")
    most = int(shown._shown.readout["largest batch that fits"])
    assert most > 0
    assert memory.training_peak(model, most, 512).fits("a10g")


def test_a_batch_beyond_the_slider_is_said_so(static):
    shown = explorer.memory("gpt2", 1, 8, device="b200-sxm")
    assert shown._shown.readout["largest batch that fits"] == f"{MAX_BATCH:,} or more"


@pytest.mark.parametrize(
    "model", [name for name in models.names() if isinstance(models.load(name), models.Transformer)]
)
def test_every_language_model_has_a_picture_on_every_device_and_in_every_precision(static, model):
    first = explorer.memory(model, batch=2, seq=256)
    for precision in ("amp-bf16", "bf16", *(["fp32"] if first.state["convention"] == "torch" else [])):
        for device in ("t4", "b200-sxm", "apple-m1"):
            shown = explorer.memory(model, batch=2, seq=256, precision=precision, device=device)
            assert all(size > 0 for size in parts(shown).values())
    if first.state["convention"] == "megatron":
        with pytest.raises(ValueError, match="precision='fp32' does not go with"):
            explorer.memory(model, precision="fp32")


def test_the_controls_leave_only_what_goes_together(learner):
    shown = explorer.memory()
    options = shown.widget.options
    assert options["recipe"][0] == "fp32-adamw"
    assert not [name for name in options["recipe"] if name.startswith(("mixed", "bf16", "frozen"))]
    shown.widget.asked = {"number": 1, "values": {"precision": "bf16"}}
    assert shown.state["recipe"] == "mixed-adamw"
    shown.widget.asked = {"number": 2, "values": {"model": "mixtral-8x7b"}}
    assert shown.widget.line == ""
    assert shown.widget.options["attention"] == ["eager"]
    assert shown.widget.options["convention"] == ["Korthikanti et al."]


def test_a_sequence_longer_than_the_context_is_a_line(learner):
    shown = explorer.memory()
    shown.widget.asked = {"number": 1, "values": {"seq": 2048}}
    assert "seq=2048 is longer than context=1024" in shown.widget.line
    assert shown.state["seq"] == 1024


def test_the_state_gives_the_explorer_back(learner):
    shown = explorer.memory("llama3-8b", batch=3, seq=333, zero_stage=3, ranks=16, recompute="full")
    assert explorer.memory(**shown.state).state == shown.state
    assert eval(shown.call, {"explorer": explorer}).state == shown.state
    assert memory_view(**shown.state).figure.title == shown.widget.drawing["title"]


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"model": "resnet-50"}, "model='resnet-50'"),
        ({"batch": 0}, "batch=0"),
        ({"batch": 2.5}, "batch=2.5"),
        ({"zero_stage": 4}, "zero_stage=4"),
        ({"ranks": 0}, "ranks=0"),
        ({"precision": "fp16"}, "precision='fp16'"),
        ({"recipe": "mixed-adamw"}, "recipe='mixed-adamw'"),
        ({"model": "mixtral-8x7b", "attention": "sdpa"}, "attention='sdpa'"),
        ({"seq": 2000}, "seq=2000 is longer"),
        ({"device": "h100"}, "h100-sxm"),
    ],
)
def test_what_does_not_go_together_is_named(learner, wrong, word):
    with pytest.raises(ValueError, match=word):
        explorer.memory(**wrong)
