"""The closing line of Q10, and what its test on a second model cannot tell."""

import pytest

from course_lib import experiments
from course_lib.accounting import inference

HOW = {"bf16": "bf16", "int8": "int8", "int4": "4.5-bit"}


def _seconds_and_bytes(size: str, model: str) -> tuple[dict, dict]:
    seconds = {how: 1 / experiments.published.get(f"torchao-{size}-{how}").value for how in HOW}
    step = {"batch": 1, "context": 1024, "device": "a100-80-sxm"}
    sizes = {how: inference.decode_step(model, weight_dtype=dtype, **step).weight_bytes for how, dtype in HOW.items()}
    return seconds, sizes


@pytest.mark.parametrize("extra", [0, 0.35e-3, 0.7e-3])  # seconds that int8 costs beyond its bytes, in Llama-3 8B
def test_the_second_model_fits_whatever_int8_costs_beyond_its_bytes(extra):
    seconds, sizes = _seconds_and_bytes("8b", "llama3-8b")
    others, other_sizes = _seconds_and_bytes("7b", "llama2-7b")
    of_a_byte = (seconds["bf16"] - seconds["int8"] + extra) / (sizes["bf16"] - sizes["int8"])
    fixed = seconds["bf16"] - of_a_byte * sizes["bf16"]
    beyond = seconds["int4"] - fixed - of_a_byte * sizes["int4"]
    # by hand: b16/(b16 - b8) = 16/8, and (b16 - b4)/(b16 - b8) = 11.5/8
    assert (fixed, beyond) == pytest.approx((2.606e-3 - 2 * extra, 0.711e-3 + 11.5 / 8 * extra), rel=0.01)
    unpacking = extra / sizes["int8"]
    assert fixed + of_a_byte * other_sizes["bf16"] == pytest.approx(others["bf16"], rel=0.04)
    assert fixed + (of_a_byte + unpacking) * other_sizes["int8"] == pytest.approx(others["int8"], rel=0.04)
