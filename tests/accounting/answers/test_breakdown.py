"""The Breakdown: reading, arithmetic, showing."""

import copy
import json
import pickle

import pytest

from course_lib.accounting import flops, models
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import of


@pytest.fixture
def small():
    inner = Breakdown.of("FLOP", {"qkv": 30, "out": 10}, multiply_adds=True)
    return Breakdown.of("FLOP", {"attention": inner, "mlp": 60}, multiply_adds=True, omitted=("Softmax.",))


def test_reading(small):
    assert int(small) == small.total == 100
    assert small["attention.qkv"] == 30
    assert int(small["attention"]) == 40
    assert list(small.flat()) == [("attention.qkv", 30), ("attention.out", 10), ("mlp", 60)]
    assert small.share("attention.qkv") == 0.3
    assert small.share() == {"attention": 0.4, "mlp": 0.6}
    assert small.macs == 50


def test_views_are_reached_but_not_summed():
    forward = flops.forward(models.load("gpt2"), seq=10)
    assert forward["layers.attention.scores"] == 12 * forward["layer.attention.scores"] == forward["attention.scores"]
    assert int(forward["layers"]) + forward["head"] == int(forward)
    assert "layer" not in forward.parts


def test_a_norm_outside_the_layers_is_in_the_sum_and_not_in_the_layers():
    parameters = models.load("gpt2").parameters()
    assert parameters["norm"] - parameters["layers.norm"] == 2 * 768


def test_equal_only_to_a_breakdown(small):
    assert small == copy.deepcopy(small)
    assert hash(small) == hash(copy.deepcopy(small))
    assert small != 100
    assert small != Breakdown.of("FLOP", {"attention": 40, "mlp": 60})
    assert small != Breakdown.of("B", {"attention": Breakdown.of("B", {"qkv": 30, "out": 10}), "mlp": 60})


def test_addition_and_scaling_keep_parts(small):
    double = small + small
    assert double == small * 2 == 2 * small == sum([small, small])
    assert double["attention.qkv"] == 60
    assert double.omitted == ("Softmax.",)
    other = Breakdown.of("FLOP", {"head": 7}, multiply_adds=True)
    assert (small + other)["head"] == 7
    assert (small + other).macs == 53
    assert int(small * 3.0) == 300


def test_addition_refuses_what_does_not_fit(small):
    with pytest.raises(ValueError, match="Cannot add B to FLOP"):
        small + Breakdown.of("B", {"x": 1})
    with pytest.raises(ValueError, match="'attention' is split into parts on one side only"):
        small + Breakdown.of("FLOP", {"attention": 1})
    with pytest.raises(TypeError):
        small + 1
    with pytest.raises(ValueError, match=r"factor=1\.5"):
        small * 1.5


def test_a_breakdown_over_a_number_or_its_like_is_a_plain_float(small):
    assert small / 8 == 12.5
    assert small / (2 * small) == 0.5
    with pytest.raises(ValueError, match="Cannot divide FLOP by B"):
        small / Breakdown.of("B", {"x": 1})
    with pytest.raises(ValueError, match="divisor=0"):
        small / 0


def test_bytes_fit_a_device_or_do_not():
    assert Breakdown.of("B", {"weights": 85_520_809_984}).fits("h100-sxm")
    assert not Breakdown.of("B", {"weights": 85_520_809_985}).fits("h100-sxm")
    with pytest.raises(ValueError, match="these are FLOP"):
        Breakdown.of("FLOP", {"x": 1}).fits("h100-sxm")


def test_a_name_is_a_part_or_holds_parts():
    with pytest.raises(ValueError, match="'mlp' is a part and holds parts, shared"):
        Breakdown.from_terms("B", {"mlp": of(5), "mlp.shared": of(7)})


def test_macs_only_of_multiply_adds(small):
    softmax = Breakdown.of("FLOP", {"softmax": 30})
    with pytest.raises(ValueError, match="no multiply-adds"):
        _ = (small + softmax).macs
    with pytest.raises(ValueError, match="no multiply-adds"):
        _ = Breakdown.of("FLOP", {"attention": small, "softmax": softmax}).macs
    with pytest.raises(ValueError, match="no multiply-adds"):
        _ = flops.forward(models.load("gpt2"), extras=True).macs
    with pytest.raises(ValueError, match="no multiply-adds"):
        _ = models.load("gpt2").parameters().macs
    assert Breakdown.of("FLOP", {"a": small, "b": small}).macs == 100


def test_a_breakdown_cannot_be_wrong_or_changed(small):
    with pytest.raises(ValueError, match=r"total=99 must be the sum of the parts, which is 100"):
        Breakdown(99, "FLOP", {"a": 40, "b": 60})
    with pytest.raises(ValueError, match="total=3"):
        Breakdown(3, "FLOP", {})
    with pytest.raises(ValueError, match=r"parts\['a'\] is in B"):
        Breakdown.of("FLOP", {"a": Breakdown.of("B", {"x": 1})})
    with pytest.raises(ValueError, match=r"'a\.b' must be a non-empty name without a dot"):
        Breakdown.of("FLOP", {"a.b": 1})
    with pytest.raises(AttributeError):
        small.total = 1
    with pytest.raises(TypeError, match="read-only"):
        small.parts["mlp"] = 1


def test_an_unknown_part_names_the_nearest(small):
    with pytest.raises(KeyError, match=r"attention\.qvk.*Did you mean 'attention\.qkv'.*attention, mlp"):
        small["attention.qvk"]
    with pytest.raises(KeyError, match=r"mlp\.up"):
        small["mlp.up"]


def test_pickle_and_json(small):
    assert pickle.loads(pickle.dumps(small)) == small
    told = json.loads(small.to_json())
    assert told["total"] == 100
    assert told["unit"] == "FLOP"
    assert told["parts"]["attention"]["parts"] == {"qkv": 30, "out": 10}
    assert told["omitted"] == ["Softmax."]


def test_explanation_says_what_the_symbols_mean_and_what_is_left_out():
    text = flops.forward(models.load("gpt2")).explain()
    assert "d: model width" in text
    assert "E: experts" not in text
    assert "Assumes: Two FLOP per multiply-add." in text
    assert "Leaves out: Softmax" in text


def test_text_table_and_html(small):
    assert str(small) == repr(small)
    lines = str(small).splitlines()
    assert lines[0].split() == ["attention", "40", "40.0%", "█" * 10]
    assert lines[1].startswith("  qkv")
    assert lines[-1].split() == ["total", "100", "100.0%", "100", "FLOP"]
    html = small._repr_html_()
    assert html.count('scope="row"') == 5
    assert html.count('aria-hidden="true"') == 4  # each bar's share also stands in words
    assert "40.0%" in html
    assert "Softmax." in html
    assert "currentColor" in html
    assert "&lt;x&gt;" in Breakdown.of("FLOP", {"<x>": 1})._repr_html_()


def test_an_all_zero_breakdown_shows_without_dividing():
    nothing = Breakdown.of("FLOP", {"a": 0})
    assert nothing.share() == {"a": 0.0}
    assert "0.0%" in repr(nothing)
    assert "0.0%" in nothing._repr_html_()
