"""What attention keeps, against the tensors that its backward pass needs; and what new memory costs, on Linux."""

import platform

import pytest

torch = pytest.importorskip("torch")

from course_lib.units.q07_attention_is_quadratic import watching  # noqa: E402


@pytest.mark.parametrize("n", [256, 512])
def test_eager_keeps_the_weights_and_three_inputs(n):
    weights, inputs = 2 * n * n * 4, 3 * 2 * n * 64 * 4
    assert watching.kept_bytes(watching.written_out, n) == weights + inputs


def test_fused_attention_keeps_no_matrix():
    short, long = (watching.kept_bytes(torch.nn.functional.scaled_dot_product_attention, n) for n in (512, 1024))
    assert 4 * 2 * 512 * 64 * 4 <= short < 2 * 512 * 512 * 4  # q, k, v and the result, and less than one matrix
    assert long == 2 * short


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of glibc's allocator")
def test_two_matrices_of_32_mib_are_new_memory_at_each_call_unless_it_is_kept():
    usual, kept = watching.new_memory(keep=False)[-1], watching.new_memory(keep=True)[-1]
    assert usual[0] == kept[0] == 2048
    assert usual[1] >= 2 * 2**25 / 4096 > 100 > kept[1]
