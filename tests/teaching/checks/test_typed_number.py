"""Reading what a learner types as a number."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.teaching import markup
from course_lib.teaching.checks.typed_number import parse_number


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("3e9", "", 3e9),
        ("1/3", "", 1 / 3),
        ("1,000", "", 1000),
        ("1,234,567.5", "", 1234567.5),
        ("  .5 ", "", 0.5),
        ("2.", "", 2),
        ("+7", "", 7),
        ("3k", "", 3000),
        ("3 GB", "GB", 3),
        ("3 GB", "B", 3e9),
        ("3000 MB", "GB", 3),
        ("3GiB", "GB", 3 * 1024**3 / 1e9),
        ("2 TB/s", "TB/s", 2),
        ("900 GB/s", "TB/s", 0.9),
        ("989 TFLOP/s", "FLOP/s", 989e12),
        ("10 ms", "s", 0.01),
        ("10 µs", "ms", 0.01),
        ("100x", "×", 100),
        ("100 ×", "×", 100),
        ("×1.05", "×", 1.05),
        ("x 2", "×", 2),
        ("345 rows", "rows", 345),
        ("1 row", "rows", 1),
        ("50 %", "%", 50),
        ("295 FLOP/B", "FLOP/B", 295),
        ("$5", "$", 5),
        ("３ｅ９", "", 3e9),
        ("１，０００．５", "", 1000.5),
        ("１／３", "", 1 / 3),
        ("1÷4", "", 0.25),
        ("3。5", "", 3.5),
        ("５０％", "%", 50),
        ("　７　", "", 7),
        ("３ＧＢ", "GB", 3),
        ("10 μs", "ms", 0.01),
        ("3 million", "", 3e6),
        ("1.5 billion rows", "rows", 1.5e9),
        ("2thousand", "", 2000),
        ("3 million", "FLOP", 3e6),
        ("3e9 bytes", "GB", 3),
        ("100 FLOPs", "FLOP", 100),
        ("5 GFLOPs", "MFLOP", 5000),
        ("312 TFLOPS", "TFLOP/s", 312),
        ("312 TFLOPs/s", "FLOP/s", 312e12),
        ("20 minutes", "min", 20),
        ("1 hour", "h", 1),
        ("2.5 days", "d", 2.5),
        ("2 seconds", "ms", 2000),
        ("4 KB", "B", 4000),
        ("4 KiB", "B", 4096),
        ("50 %", "", 0.5),
    ],
)
def test_a_typed_number_is_read(typed, unit, value):
    assert parse_number(typed, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("typed", "unit"),
    [
        *((typed, "") for typed in ["twelve", "3 apples", "-3", "−3", "0", "1e400", "1e-400", "1/0", "1/", "1/x"]),
        *((typed, "") for typed in ["1 00", "1 0000", "1.234,5", "1,2,3", "1,234,5", ",", "twelve, 3", "3 GB,5"]),
        *((typed, "") for typed in ["10²", "½", "3 millions", "million", "三"]),
        *((typed, "") for typed in ["10^", "2^10", "10^9^2", "1e", "e9", ".", "", "nan", "inf", "1_000"]),
        *((typed, "") for typed in ["__import__('os')", "1" * 500]),
        *((typed, "FLOP") for typed in ["100 FLOPS", "100 FLOPs/s", "100 flops"]),
        *((typed, "GB") for typed in ["3 apples", "3 Gb", "3 s", "3 GB GB", "50 %", "3 million apples", "3 GB/s"]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_with_one_line(typed, unit):
    with pytest.raises(ValueError, match=r"^“") as error:
        parse_number(typed, unit)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("typed", "pointed"),
    [("0,25", "0.25"), ("0,250", "0.250"), ("1,5", "1.5"), ("-0,5", "-0.5"), ("1,00", "1.00"), ("1/0,5", "1/0.5")],
)
def test_a_decimal_comma_has_a_line_of_its_own(typed, pointed):
    with pytest.raises(ValueError, match=r"^Write ") as error:
        parse_number(typed)
    assert str(error.value) == f"Write {pointed} with a point."


def test_a_decimal_comma_before_a_unit_is_told_with_the_unit():
    with pytest.raises(ValueError, match=r"^Write 0\.25 GB with a point\.$"):
        parse_number("0,25 GB", "GB")


def test_a_linear_card_takes_zero_and_negative_numbers():
    assert parse_number("-3", "%", "linear") == -3
    assert parse_number("0", "%", "linear") == 0


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_every_number_as_python_writes_it_is_read_back(value):
    assert parse_number(repr(value)) == value


@given(st.text(max_size=12))
def test_no_text_breaks_the_reader(text):
    with contextlib.suppress(ValueError):
        assert math.isfinite(parse_number(text, "GB"))


@given(st.floats(min_value=1e-30, max_value=1e30))
def test_a_shown_number_reads_back_within_its_three_digits(value):
    assert parse_number(markup.number(value)) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("124 439 808", 124_439_808),
        ("124\u00a0439\u202f808", 124_439_808),  # as many books print it
        ("1 000 000.5", 1_000_000.5),
        ("10^9", 1e9),
        ("2*10^9", 2e9),
        ("2.5 × 10^-3", 2.5e-3),
        ("-10 ^ 2", -100.0),
        ("10^3/10^6", 1e-3),
    ],
)
def test_spaces_between_thousands_and_powers_of_ten(typed, value):
    assert parse_number(typed, scale="linear") == pytest.approx(value, rel=1e-12)
