"""SiLU(x)·y as a Triton kernel, run by Triton's interpreter on a processor, where Triton is installed."""

import importlib.util

from course_lib.words import words

say = words(__file__)


def report(torch) -> str:
    """One sentence: what the interpreted kernel's numbers are, or why it did not run."""
    if importlib.util.find_spec("triton") is None:
        return say("absent")
    import os
    from unittest import mock

    try:
        with mock.patch.dict(os.environ, {"TRITON_INTERPRET": "1"}):
            from course_lib.units.q18_operator_fusion import triton_gate

            x, y = torch.randn(1000), torch.randn(1000)
            error = (triton_gate.gate(torch, x, y) - torch.nn.functional.silu(x) * y).abs().max().item()
    except Exception as problem:  # an interpreter of another version, or a system that it does not know
        return say("failed", kind=type(problem).__name__)
    return say("ran", error=error)
