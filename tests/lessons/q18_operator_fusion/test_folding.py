"""Folding against torch, and what is shown of experiments against the calls themselves."""

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from course_lib.experiments.profile import machine
from course_lib.units.q18_operator_fusion import explorer, folding, generated, interpreted, saving
from course_lib.units.q18_operator_fusion.experiments import compile_report, pointwise_chain


def test_the_fold_behind_is_that_of_torch():
    conv, norm, _ = folding.nets(torch)
    expected = torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)
    with torch.no_grad():
        weight, bias = folding.folded_behind(torch, conv, norm)
    assert torch.allclose(weight, expected.weight, atol=1e-6)
    assert torch.allclose(bias, expected.bias, atol=1e-6)


def test_the_fold_before_is_right_without_padding_and_wrong_at_a_padded_border():
    conv, norm, x = folding.nets(torch)
    with torch.no_grad():
        weight, bias = folding.folded_before(torch, norm, conv)
        assert torch.allclose(torch.conv2d(x, weight, bias), torch.conv2d(norm(x), conv.weight, conv.bias), atol=1e-4)
        inside, border = folding.edges(torch.conv2d(x, weight, bias, padding=1) - conv(norm(x)))
    assert inside < 1e-4 < 0.5 < border


def test_one_dimension_against_torch():
    x = torch.tensor([[folding.INPUT]], dtype=torch.float64)
    taps = torch.tensor([[folding.TAPS]], dtype=torch.float64)
    assert torch.conv1d(x, taps, padding=1)[0, 0].tolist() == pytest.approx(folding.convolved(folding.INPUT))
    assert folding.error_behind() < 1e-12


def test_the_share_by_hand():
    """64 channels: 1,152 FLOP at 312 TFLOP/s are 3.69 ps; 8 bytes at 1.555 TB/s 5.14 ps."""
    assert saving.saved(64, 3) == pytest.approx(5.1447 / (3.6923 + 5.1447), rel=1e-4)
    assert saving.saved(1, 1) == pytest.approx(2 / 3)
    assert (saving.saved(89, 3) > 0.5, saving.saved(90, 3) > 0.5) == (True, False)


@pytest.mark.parametrize("kernel", explorer.KERNELS)
@pytest.mark.parametrize("channels", [8, 2048])
def test_the_ends_of_the_sliders(kernel, channels):
    for device in explorer.DEVICES:
        assert 0 < explorer.view(device, kernel, channels).figure.marks[2].y[0] < 67


@pytest.mark.parametrize("kernel", explorer.KERNELS)
@pytest.mark.parametrize("device", explorer.DEVICES)
def test_the_curve_is_flat_as_long_as_the_share_is(kernel, device):
    """A point between two of the curve lies on it, in the corner too."""
    for channels in (9, 45, 100, 401, 700):
        curve, _, point = explorer.view(device, kernel, channels).figure.marks
        (before, low), (after, high) = next(
            (a, b) for a, b in pairwise(zip(curve.x, curve.y, strict=True)) if a[0] <= channels <= b[0]
        )
        drawn = low + (high - low) * math.log(channels / before) / math.log(after / before)
        assert drawn == pytest.approx(point.y[0], abs=0.2)


def test_every_form_of_a_chain_gives_the_same_numbers():
    bench, x = SimpleNamespace(torch=torch), torch.rand(3 * pointwise_chain.BLOCK)
    expected = x.double()
    for place in range(8):
        expected = expected + 0.1 if place % 2 else expected * 1.01
    for form in (pointwise_chain._calls, pointwise_chain._in_place, pointwise_chain._blocks):
        out, between = torch.empty_like(x), torch.empty_like(x)
        form(bench, x, x, out, between, 8)()
        assert torch.allclose(out.double(), expected)
    assert torch.allclose(pointwise_chain._fresh(bench, x, x, out, between, 8)().double(), expected)
    for form in (pointwise_chain._three, pointwise_chain._two):
        form(bench, x, x, out, between)()
        assert out[5].item() == pytest.approx(x[5].item() ** 2 / (1 + math.exp(-x[5].item())), rel=1e-5)


def test_kernels_are_counted_where_they_are_defined():
    code = "cpp_fused_mul_0 = async_compile.cpp('')\n    cpp_fused_mul_0(a)\ntriton_poi_1 = async_compile.triton('')\n"
    assert compile_report.kernels(code) == ["cpp_fused_mul_0", "triton_poi_1"]


def test_vectors_alive_by_hand():
    """Counted between the lines: a vector counts from where it is made to where it is read last."""
    assert generated.alive({"a": (), "b": (), "c": ("a", "b"), "d": ("c", "a")}) == 2
    assert generated.alive({"a": (), "b": (), "c": ("a",), "d": ("c", "a", "b")}) == 3
    assert generated.alive(generated.LOOP) == 4


@pytest.mark.slow
def test_what_the_compiler_writes_is_what_the_claims_say():
    if machine.compiler() is None:
        pytest.skip("no C++ compiler")
    bench = SimpleNamespace(torch=torch, on="cpu")
    assert generated.loop(compile_report.generated(bench, "SiLU(x)·y")) == generated.LOOP
    assert generated.calls(compile_report.generated(bench, "Linear(LayerNorm(x))")) == generated.CALLS
    for form, (_, left, readings) in generated.WRITTEN.items():
        code = compile_report.generated(bench, form)
        assert (generated.left(code), generated.readings(code)) == (left, readings)
    softmax, norm = (compile_report.generated(bench, form) for form in ("softmax(2x)", "Linear(LayerNorm(x))"))
    assert (generated.buffers(softmax), generated.buffers(norm)) == ([generated.BUFFER], [])
    rows = "for(int64_t x0="
    assert (softmax.count(rows), norm.count(rows)) == (1, 4)  # the fourth divides the sums of rows, one number each


def test_the_triton_kernel_interpreted():
    pytest.importorskip("triton")
    assert "1,000" in interpreted.report(torch)
