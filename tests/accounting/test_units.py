"""Text of numbers, and the names and sizes of number formats."""

import copy
import json
import pickle
from fractions import Fraction

import pytest

from course_lib.accounting import precision, units


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.07e9, "FLOP", "1.07 GFLOP"),
        (291_648_307_200, "FLOP", "292 GFLOP"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (0.025, "s", "25.0 ms"),
        (2.6e-6, "s", "2.60 µs"),
        (1e-13, "s", "0.100 ps"),
        (24, "FLOP", "24 FLOP"),
        (0, "FLOP", "0 FLOP"),
        (999, "FLOP", "999 FLOP"),
        (1000, "FLOP", "1.00 kFLOP"),
        (999.6e9, "FLOP", "1.00 TFLOP"),  # rounding carries into the next prefix
        (0.9999, "s", "1.00 s"),
        (1 / 12, "FLOP/B", "0.0833 FLOP/B"),
        (295.2, "FLOP/B", "295 FLOP/B"),
        (1365.3, "FLOP/B", "1,365 FLOP/B"),
        (9.999, "FLOP/B", "10.0 FLOP/B"),
        (1e-5, "FLOP/B", "1.00e-05 FLOP/B"),
        (124_439_808, "parameters", "124 million parameters"),
        (50_257, "tokens", "50.3 thousand tokens"),
        (174_604_259_328, "parameters", "175 billion parameters"),
        (15e12, "tokens", "15.0 trillion tokens"),
        (999_999, "tokens", "1.00 million tokens"),
        (1.5, "tokens/s", "1.50 tokens/s"),
        (24, "", "24"),
        (295.2, "", "295"),
        (12, "tokens", "12 tokens"),
        (3.79e25, "FLOP", "37.9 YFLOP"),
        (-1.5e9, "FLOP", "−1.50 GFLOP"),
    ],
)
def test_format_si(value, unit, text):
    assert units.format_si(value, unit) == text


def test_format_si_with_more_digits():
    assert units.format_si(1555e9, "B/s", digits=4) == "1.555 TB/s"
    assert units.format_seconds(8.016e-3, digits=4) == "8.016 ms"


@pytest.mark.parametrize(
    ("value", "decimal", "binary"),
    [
        (80 * 2**30, "85.9 GB", "80.0 GiB"),
        (80 * 10**9, "80.0 GB", "74.5 GiB"),
        (1023 * 2**20, "1.07 GB", "1,023 MiB"),
        (12, "12 B", "12 B"),
        (0, "0 B", "0 B"),
    ],
)
def test_gb_and_gib_are_spelled_apart(value, decimal, binary):
    assert units.format_bytes(value) == decimal
    assert units.format_bytes(value, binary=True) == binary


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.025, "25.0 ms"),
        (119, "119 s"),
        (150, "2.50 min"),
        (7200, "2.00 h"),
        (3.46 * 86400, "3.46 days"),  # NUMBERS.md T15
        (355.6 * 365.25 * 86400, "356 years"),  # NUMBERS.md X04
    ],
)
def test_format_seconds(seconds, text):
    assert units.format_seconds(seconds) == text


def test_format_exact():
    assert units.format_exact(124_439_808) == "124,439,808"


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (16384, "16384 rows")])
def test_a_number_and_its_noun(number, text):
    assert units.counted(number, "row") == text


def test_frozen_dict_refuses_every_change_and_stays_a_dict():
    frozen = units.FrozenDict({"a": 1})
    for change in (
        lambda: frozen.update(a=2),
        lambda: frozen.pop("a"),
        lambda: frozen.setdefault("b", 1),
        lambda: frozen.clear(),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.__ior__({"b": 2}),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert copy.deepcopy(frozen) == pickle.loads(pickle.dumps(frozen)) == frozen == {"a": 1}
    assert json.dumps(frozen) == '{"a": 1}'


# ---------------------------------------------------------------- number formats


def test_names_of_the_contract_are_known():
    contract = ["fp32", "tf32", "bf16", "fp16", "fp8-e4m3", "fp8-e5m2", "mxfp8", "mxfp6", "mxfp4", "int8", "int4"]
    assert set(contract) <= set(precision.names())


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("float32", "fp32"),
        ("FP32", "fp32"),
        ("half", "fp16"),
        ("bfloat16", "bf16"),
        ("torch.bfloat16", "bf16"),
        ("float8_e4m3fn", "fp8-e4m3"),
        ("torch.float8_e5m2", "fp8-e5m2"),
        ("fp8_e4m3", "fp8-e4m3"),
        ("double", "fp64"),
        ("int8", "int8"),
    ],
)
def test_aliases(alias, name):
    assert precision.normalise(alias) == name


def test_dtypes_of_torch_and_numpy():
    torch, numpy = pytest.importorskip("torch"), pytest.importorskip("numpy")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.int8, torch.int64):
        assert precision.bytes_per_element(dtype) == dtype.itemsize
    for dtype in (numpy.float32, numpy.dtype("float16"), numpy.int64):
        assert precision.bytes_per_element(dtype) == numpy.dtype(dtype).itemsize


@pytest.mark.parametrize(
    ("dtype", "elements", "expected"),
    [
        ("fp64", 3, 24),
        ("fp32", 3, 12),
        ("tf32", 3, 12),  # stored as fp32
        ("bf16", 3, 6),
        ("fp16", 3, 6),
        ("fp8-e4m3", 3, 3),
        ("fp8-e5m2", 3, 3),
        ("int64", 3, 24),
        ("int32", 3, 12),
        ("int16", 3, 6),
        ("int8", 3, 3),
        ("int4", 3, 2),  # one and a half bytes, rounded up
        ("mxfp8", 33, 66),  # two blocks of 32 numbers and a scale
        ("mxfp6", 32, 25),
        ("mxfp4", 32, 17),
        ("nvfp4", 16, 9),
        ("nvfp4", 160, 90),
        ("int4", 80, 40),
        ("int4", 0, 0),
    ],
)
def test_nbytes(dtype, elements, expected):
    assert precision.nbytes(elements, dtype) == expected


def test_bytes_per_element_is_an_int_where_it_is_whole_and_exact_where_not():
    whole = {
        dtype: precision.bytes_per_element(dtype) for dtype in ("fp64", "fp32", "tf32", "bf16", "fp8-e4m3", "int8")
    }
    assert whole == {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp8-e4m3": 1, "int8": 1}
    assert {type(size) for size in whole.values()} == {int}
    assert precision.bytes_per_element("int4") == Fraction(1, 2)
    assert precision.bytes_per_element("nvfp4") == Fraction(9, 16)
    assert 70_000_000_001 * precision.bytes_per_element("int4") == Fraction(70_000_000_001, 2)


def test_nbytes_stays_exact_where_floats_do_not():
    assert precision.nbytes(2**60 + 1, "mxfp8") == (2**60 // 32 + 1) * 33
