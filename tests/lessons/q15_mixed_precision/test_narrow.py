"""Q15's own rounding, errors, scaler and window, against torch's casts, its GradScaler, and samples."""

import math
import random
import statistics

import pytest
import torch

from course_lib.accounting import precision
from course_lib.units.q15_mixed_precision import explorer, narrow, scaling
from course_lib.units.q15_mixed_precision.experiments import accumulate


def test_rounding_a_tensor_is_rounding_its_numbers():
    values = torch.randn(500, generator=torch.Generator().manual_seed(0)) * 10.0 ** torch.arange(-5, 5).repeat(50)
    assert narrow.nearest(torch, values, 10).tolist() == [precision.rounded(v, "tf32") for v in values.tolist()]
    assert torch.equal(narrow.nearest(torch, values, 7), values.bfloat16().float())


def test_stochastic_rounding_of_a_tensor_goes_to_a_neighbour_and_keeps_the_mean():
    value = -1.0013
    found = narrow.stochastic(torch, torch.full((20_000,), value), torch.Generator().manual_seed(0))
    assert set(found.tolist()) == set(precision.neighbours(value, "bf16"))
    assert found.double().mean().item() == pytest.approx(value, abs=4 * 2**-7 / 20_000**0.5)
    assert torch.equal(found.bfloat16().float(), found)


def test_the_error_of_one_rounding_is_that_of_sizes_even_over_the_octaves():
    draw = random.Random(0)
    values = [2 ** draw.uniform(0, 8) for _ in range(20_000)]
    errors = [precision.rounded(v, "bf16") - v for v in values]
    octaves = [
        math.sqrt(sum(e * e for v, e in zip(values, errors, strict=True) if low <= v < 2 * low)) for low in (1, 64)
    ]
    sizes = [math.sqrt(sum(v * v for v in values if low <= v < 2 * low)) for low in (1, 64)]
    for error, size in zip(octaves, sizes, strict=True):
        assert 2**7 * error / size == pytest.approx(narrow.ONE_ROUNDING, rel=0.04)


def test_one_rounding_of_normal_numbers_is_what_the_lesson_says():
    values = torch.randn(1_000_000, generator=torch.Generator().manual_seed(0))
    error = (values.bfloat16().double() - values.double()).norm() / values.double().norm()
    assert 2**7 * error.item() == pytest.approx(0.213, abs=0.001)


@pytest.mark.parametrize(("factors", "sums"), [("bf16", "fp32"), ("fp16", "fp16"), ("bf16", "bf16")])
def test_the_formula_of_the_error_against_products(factors, sums):
    found = accumulate.error(torch, factors, sums, 1024, seed=3) / 100
    assert found == pytest.approx(narrow.product_error(factors, 1024, sums), rel=0.2)


def test_the_scale_moves_as_that_of_torch():
    overflows = [False, False, True, False, False, False, False, True, True, False, False, False]
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3)
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer, scale, good = torch.optim.SGD([weight], lr=0.0), 2.0**10, 0
    for overflow in overflows:
        optimizer.zero_grad()
        scaler.scale((weight * (math.inf if overflow else 1.0)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scale, good = scaling.after(scale, good, overflow, 3)
        assert scale == scaler.get_scale()


@pytest.mark.parametrize("exponent", [0, 8, 22])
def test_the_shares_of_the_window_are_those_of_sampled_gradients(exponent):
    generator = torch.Generator().manual_seed(0)
    sizes = 2.0 ** (math.log2(1e-7) + exponent + 4.0 * torch.randn(200_000, generator=generator, dtype=torch.float64))
    half, found = sizes.half(), explorer.shares("fp16", 1e-7, 4.0, exponent)
    for share, counted in [
        (found.zero, half == 0),
        (found.subnormal, (half > 0) & (half < 2**-14)),
        (found.over, half.isinf()),
    ]:
        assert counted.double().mean().item() == pytest.approx(share, abs=0.004)


def test_blocks_of_fp8_against_torch():
    values = torch.randn(256, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    values[0] = 1e5
    blocks = values.view(-1, 32)
    scale = blocks.abs().amax(1, keepdim=True) / 448
    held = (blocks / scale).float().to(torch.float8_e4m3fn).double() * scale
    error = ((held - blocks)[1:].norm() / blocks[1:].norm()).item()
    assert narrow.block_error(values.tolist(), "fp8-e4m3", 32) == pytest.approx(error, rel=0.01)
    whole = [narrow.block_error(values.tolist(), dtype, 256) for dtype in ("int8", "mxfp4")]
    assert statistics.mean(whole) == pytest.approx(1.0, abs=0.05)
