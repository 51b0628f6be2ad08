"""Ranges and rounding of number formats against torch's own types and casts, numpy's, and the specifications' codes."""

import ctypes
import math
import struct
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.accounting import precision
from course_lib.accounting.precision import limits, quantized, rounded

TORCH = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp8-e4m3": torch.float8_e4m3fn,
    "fp8-e5m2": torch.float8_e5m2,
}
# Every positive number of the small element formats, from the OCP Microscaling Formats Specification v1.0 (2023),
# section 5.3: E2M1 in full, E3M2 by its fields.
E2M1 = (0, 0.5, 1, 1.5, 2, 3, 4, 6)
E3M2 = tuple((0, 1, 2, 3)[m] / 16 if e == 0 else (4 + m) * 2 ** (e - 3) / 4 for e in range(8) for m in range(4))


def cast(value: float, dtype: str) -> float:
    """What torch makes of a float32 value in `dtype`."""
    return torch.tensor(value, dtype=torch.float32).to(TORCH[dtype]).to(torch.float64).item()


def float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


def same(left: float, right: float) -> bool:
    """Equal, zeros with their sign; NaN equals NaN."""
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return (left, math.copysign(1, left)) == (right, math.copysign(1, right))


# ---------------------------------------------------------------- ranges


@pytest.mark.parametrize("dtype", TORCH)
def test_limits_are_those_of_torch(dtype):
    info = torch.finfo(TORCH[dtype])
    ours = limits(dtype)
    assert (ours.max, ours.min_normal, ours.eps) == (info.max, info.smallest_normal, info.eps)
    one_bit = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[info.bits]
    assert ours.min_subnormal == torch.tensor([1], dtype=one_bit).view(TORCH[dtype]).to(torch.float64).item()


def test_tf32_has_the_exponent_of_fp32_and_the_fraction_of_fp16():
    tf32, fp32, fp16 = limits("tf32"), limits("fp32"), limits("fp16")
    assert (tf32.min_normal, tf32.eps) == (fp32.min_normal, fp16.eps)
    assert tf32.max == struct.unpack("f", struct.pack("I", 0x7F7FE000))[0]  # fp32's largest without its 13 last bits
    assert tf32.min_subnormal == struct.unpack("f", struct.pack("I", 0x00002000))[0]


@pytest.mark.parametrize(("dtype", "codes"), [("mxfp4", E2M1), ("nvfp4", E2M1), ("mxfp6", E3M2)])
def test_limits_of_the_small_elements(dtype, codes):
    ours = limits(dtype)
    assert (ours.max, ours.min_subnormal) == (max(codes), min(code for code in codes if code))
    assert 1 + ours.eps == min(code for code in codes if code > 1)
    assert "shared scale" in ours.explain()


def test_integer_formats_have_no_limits_of_this_kind():
    with pytest.raises(ValueError, match=r"dtype='int8'.*from -128 to 127.*fp16"):
        limits("int8")
    with pytest.raises(ValueError, match=r"dtype='int4'.*from -8 to 7"):
        rounded(1.0, "int4")
    with pytest.raises(ValueError, match="Did you mean 'bf16'"):
        limits("bf17")


# ---------------------------------------------------------------- bytes of stored weights


def block(numbers, **fields):
    """(numbers of a block, its bytes as C lays out these fields)"""
    laid_out = type("Block", (ctypes.Structure,), {"_fields_": list(fields.items())})
    return numbers, ctypes.sizeof(laid_out)


HALF, BYTE = ctypes.c_uint16, ctypes.c_uint8
BLOCKS = {  # the structs of llama.cpp, ggml-common.h; d, dmin: fp16 scales
    "q4_0": block(32, d=HALF, qs=BYTE * 16),
    "q8_0": block(32, d=HALF, qs=ctypes.c_int8 * 32),
    "q4_k": block(256, d=HALF, dmin=HALF, scales=BYTE * 12, qs=BYTE * 128),
    "q5_k": block(256, d=HALF, dmin=HALF, scales=BYTE * 12, qh=BYTE * 32, qs=BYTE * 128),
    "q6_k": block(256, ql=BYTE * 128, qh=BYTE * 64, scales=ctypes.c_int8 * 16, d=HALF),
}


@pytest.mark.parametrize("dtype", BLOCKS)
def test_blocks_of_llama_cpp_take_the_bytes_of_their_structs(dtype):
    numbers, size = BLOCKS[dtype]
    assert precision.nbytes(1000 * numbers, dtype.upper()) == 1000 * size
    assert precision.nbytes(1000 * numbers + 1, dtype) == 1001 * size
    assert precision.bytes_per_element(dtype) == Fraction(size, numbers)


def test_groups_of_four_bit_weights_count_what_is_stored_beside_them():
    columns, rows = 4096, 1024
    codes = torch.empty(columns * rows // 2, dtype=torch.uint8)
    scale_and_zero = torch.empty(rows, columns // 32, 2, dtype=torch.bfloat16)  # gpt-fast
    assert precision.nbytes(columns * rows, "int4-g32") == codes.nbytes + scale_and_zero.nbytes
    scales = torch.empty(columns // 128, rows, dtype=torch.float16)  # AutoAWQ: scales, and zeros of 4 bits in int32
    zeros = torch.empty(columns // 128, rows // 8, dtype=torch.int32)
    assert precision.nbytes(columns * rows, "int4-g128") == codes.nbytes + scales.nbytes + zeros.nbytes
    assert precision.bytes_per_element("nf4") == 0.5 + 1 / 64 + 4 / (64 * 256)


def test_a_mean_of_bits_has_no_blocks():
    assert precision.bytes_per_element("4.85-bit") == Fraction("4.85") / 8
    assert [precision.nbytes(n, "2.5-bit") for n in (0, 1, 3, 4, 16)] == [0, 1, 1, 2, 5]
    assert precision.nbytes(7001, "4-bit") == precision.nbytes(7001, "int4")


@pytest.mark.parametrize("dtype", ["0-bit", "-4-bit", "65-bit", "four-bit", "1/0-bit", "nan-bit", "4.85"])
def test_what_is_no_number_of_bits(dtype):
    with pytest.raises(ValueError, match="is not known"):
        precision.nbytes(1, dtype)


@pytest.mark.parametrize("dtype", ["q4_0", "int4-g128", "4.85-bit"])
def test_stored_formats_have_no_range_of_their_own(dtype):
    with pytest.raises(ValueError, match=r"says how numbers are stored"):
        limits(dtype)


# ---------------------------------------------------------------- rounding

halves = st.integers(-(2**16), 2**16).map(lambda n: n / 64)  # many ties of the narrow formats


@pytest.mark.parametrize("dtype", [dtype for dtype in TORCH if dtype not in ("fp64", "fp32")])
@given(value=st.floats(width=32) | st.floats(-1024, 1024, width=32) | st.floats(-(2**-13), 2**-13, width=32) | halves)
@example(value=65520.0)  # a tie at fp16's edge: to infinity
@example(value=65519.996)
@example(value=61440.0)  # the same for e5m2
@example(value=464.0)  # between 448 and the NaN code of e4m3
@example(value=math.inf)
@example(value=-math.inf)
@example(value=2.0**-25)  # half of fp16's smallest number: to zero
@example(value=-(2.0**-25))
@example(value=3 * 2.0**-25)  # one and a half: to two
@example(value=2.0**-10)  # half of e4m3's smallest number
@example(value=2.0**-17)  # half of e5m2's smallest number
def test_rounding_is_torchs_cast(dtype, value):
    value = float32(value)  # torch's own casts from float64 round twice, by way of float32
    assert same(rounded(value, dtype), cast(value, dtype))


@given(st.floats())
@example(3.4028235677973366e38)  # a tie at fp32's edge
@example(2.0**-150)
@example(1.7976931348623157e308)
@example(5e-324)
def test_rounding_to_fp32_is_torchs_cast_and_to_fp64_changes_nothing(value):
    torchs = torch.tensor(value, dtype=torch.float64).to(torch.float32).to(torch.float64).item()
    assert same(rounded(value, "fp32"), torchs)
    assert same(rounded(value, "fp64"), value)


def test_rounding_is_one_rounding_of_the_value_given():
    above_a_tie = 1 + 2**-11 + 2**-40  # float32 cannot tell it from the tie at 1 + 2**-11
    assert rounded(above_a_tie, "fp16") == 1 + 2**-10
    assert rounded(float32(above_a_tie), "fp16") == 1


@given(st.floats(width=32, allow_nan=False))
@example(float32(1 + 2**-11))
@example(3.3e38)
@example(-(2.0**-137))
def test_rounding_to_tf32_keeps_the_upper_19_bits(value):
    bits = struct.unpack("I", struct.pack("f", value))[0]
    kept = bits if math.isinf(value) else (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000  # to nearest, ties to even
    assert same(rounded(value, "tf32"), struct.unpack("f", struct.pack("I", kept))[0])


@pytest.mark.parametrize(("dtype", "codes"), [("mxfp4", E2M1), ("nvfp4", E2M1), ("mxfp6", E3M2)])
@given(value=st.floats(-40, 40) | st.integers(-80 * 16, 80 * 16).map(lambda n: n / 16))
@example(value=2.5)
@example(value=-5.0)
@example(value=1e30)
def test_rounding_to_small_elements_takes_the_nearest_code(dtype, codes, value):
    size = min(abs(value), max(codes))  # saturates
    nearest = min(range(len(codes)), key=lambda code: (abs(codes[code] - size), code % 2))  # ties to the even code
    assert rounded(value, dtype) == math.copysign(codes[nearest], value)


@given(
    st.sampled_from([*TORCH, "tf32", "mxfp8", "mxfp6", "mxfp4", "nvfp4"]), st.floats(allow_nan=False), st.floats(0, 1e6)
)
def test_rounding_twice_changes_nothing_and_keeps_order(dtype, value, more):
    once = rounded(value, dtype)
    assert same(rounded(once, dtype), once)
    assert same(rounded(-value, dtype), -once)
    assert rounded(value + more, dtype) >= once


@pytest.mark.parametrize("value", ["1.5", True, None, [1.0], torch.ones(2), 10**400])
def test_rounded_takes_one_number(value):
    with pytest.raises(ValueError, match=r"value=.* must be one number"):
        rounded(value, "fp16")


# ---------------------------------------------------------------- NUMBERS.md


def test_x01_fp16():
    fp16 = limits("fp16")
    assert fp16.max == 65504
    assert fp16.min_normal == pytest.approx(6.104e-5, rel=1e-4)
    assert fp16.eps == pytest.approx(9.77e-4, rel=1e-3)
    assert rounded(1e-8, "fp16") == 0


def test_x02_fp8():
    assert limits("fp8-e4m3").max == 448
    assert limits("fp8-e5m2").max == 57344


@pytest.mark.parametrize(
    ("added", "kept", "printed"),
    [("fp32", "fp32", 10.0001), ("fp16", "fp16", 9.9531), ("fp16", "fp32", 10.0021)],
    ids=["fp32", "fp16", "fp16-in-fp32"],
)
def test_x03_a_thousand_hundredths(added, kept, printed):
    step, total = rounded(0.01, added), 0.0
    for _ in range(1000):
        total = rounded(total + step, kept)
    assert round(total, 4) == printed


# ---------------------------------------------------------------- whole numbers with a scale


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@given(values=st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=12), group=st.integers(1, 13))
def test_quantized_is_the_nearest_point_of_a_grid_that_is_searched(bits, values, group):
    """Every integer of the grid is tried, in exact fractions."""
    found, top = quantized(values, bits, group), 2 ** (bits - 1) - 1
    for place, value in enumerate(values):
        largest = max(abs(other) for other in values[place // group * group :][:group])
        scale = Fraction(largest, top)
        assert found.scales[place // group] == pytest.approx(float(scale))
        best = min(abs(value - scale * number) for number in range(-top, top + 1))
        assert abs(float(abs(value - scale * found.integers[place]) - best)) <= 1e-9 * (largest or 1)
        assert abs(found.integers[place]) <= top
        assert found.values[place] == pytest.approx(float(scale * found.integers[place]))


@pytest.mark.parametrize("bits", [4, 8])
def test_quantized_is_what_torch_makes_of_it(bits):
    x = torch.randn(96, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, top = quantized(x.tolist(), bits), 2 ** (bits - 1) - 1
    scale = x.abs().max().item() / top
    expected = torch.fake_quantize_per_tensor_affine(x.float(), scale, 0, -top, top)
    assert torch.tensor(found.values).float().allclose(expected, rtol=1e-6)


def test_quantized_of_zeros_is_zeros():
    found = quantized([0, 0, -2.0, 1.0], 4, 2)
    assert (found.scales, found.integers) == ((0.0, 2 / 7), (0, 0, -7, 4))
    assert found.values[:2] == (0.0, 0.0)


# ---------------------------------------------------------------- neighbours

CODES = {"fp8-e4m3": torch.uint8, "fp8-e5m2": torch.uint8, "fp16": torch.int16, "bf16": torch.int16}


def every_number(dtype: str) -> list[float]:
    """All finite numbers of a format, from torch's reading of every code."""
    codes = torch.arange(2 ** (8 if CODES[dtype] is torch.uint8 else 16), dtype=torch.int64)
    found = codes.to(CODES[dtype]).view(TORCH[dtype]).to(torch.float64)
    return sorted(set(found[found.isfinite()].tolist()))


@pytest.mark.parametrize("dtype", CODES)
def test_neighbours_are_those_among_all_numbers_of_a_format(dtype):
    numbers = every_number(dtype)
    picked = [*numbers[:50], *numbers[:: len(numbers) // 200 + 1], *numbers[-50:]]
    between = [(low + high) / 2 for low, high in pairwise(picked)]
    for value in [*picked, *between, 0.0, 2 * numbers[-1], 2 * numbers[0]]:
        place, after = bisect_left(numbers, value), bisect_right(numbers, value)
        below = numbers[place - 1] if place else -math.inf
        above = numbers[after] if after < len(numbers) else math.inf
        assert precision.neighbours(value, dtype) == (below, above), value


@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_neighbours_of_fp32_and_fp64_are_those_of_nextafter(value):
    low, high = (torch.nextafter(torch.tensor(value), torch.tensor(end)).item() for end in (-math.inf, math.inf))
    assert precision.neighbours(value, "fp32") == (low, high)
    assert precision.neighbours(value, "fp64") == tuple(math.nextafter(value, end) for end in (-math.inf, math.inf))


def test_the_numbers_below_a_power_of_two_lie_twice_as_close():
    assert precision.neighbours(1, "bf16") == (1 - 2**-8, 1 + 2**-7)
    assert precision.neighbours(-1, "bf16") == (-1 - 2**-7, -1 + 2**-8)
    assert precision.neighbours(1, "mxfp4") == (0.5, 1.5)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_neighbours_need_a_finite_number(value):
    with pytest.raises(ValueError, match="must be finite"):
        precision.neighbours(value, "bf16")
    with pytest.raises(ValueError, match="value='1'"):
        precision.neighbours("1", "bf16")


# ---------------------------------------------------------------- stochastic rounding


@given(value=st.floats(-1000, 1000, width=32), draw=st.integers(0, 2**16 - 1))
def test_stochastic_rounding_to_bf16_is_adding_random_bits_below_the_fraction(value, draw):
    """On fp32's bits: a draw of 16 bits is added to the 16 that bf16 lacks, and these are cut off."""
    bits = struct.unpack("I", struct.pack("f", abs(value)))[0]
    size = struct.unpack("f", struct.pack("I", (bits + draw) & 0xFFFF0000))[0]
    u = 1 - (draw + 1) / 2**16  # the larger the draw, the further away from zero
    expected = math.copysign(size, value)
    if value >= 0:
        assert precision.stochastic(value, "bf16", u) == expected
    else:  # away from zero is down
        assert precision.stochastic(value, "bf16", draw / 2**16) == expected


@pytest.mark.parametrize(("value", "dtype"), [(1.001, "bf16"), (-0.3, "fp16"), (3e-8, "fp16"), (2.7, "mxfp4")])
def test_the_mean_of_stochastic_rounding_is_the_value(value, dtype):
    draws = 10_000
    mean = math.fsum(precision.stochastic(value, dtype, k / draws) for k in range(draws)) / draws
    below, above = precision.neighbours(value, dtype)
    assert abs(mean - value) <= (above - below) / draws


def test_stochastic_rounding_keeps_what_fits_and_what_is_beyond():
    assert precision.stochastic(0.5, "bf16", 0.999) == 0.5
    assert precision.stochastic(70000.0, "fp16", 0.0) == math.inf
    assert math.isnan(precision.stochastic(math.nan, "bf16", 0.5))
    for wrong in (1, -0.1, True, "0.5", math.nan):
        with pytest.raises(ValueError, match="u="):
            precision.stochastic(0.1, "bf16", wrong)
