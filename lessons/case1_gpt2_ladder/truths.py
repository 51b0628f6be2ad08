"""The truth of each prediction card of case 1, computed when a learner reveals it."""

from course_lib.accounting import flops, hardware
from course_lib.experiments.nets import tiny_gpt
from course_lib.units.case1_gpt2_ladder import diary


def fp32_ceiling(card, forward, peak, passes, backward, tensor) -> float:
    """Samples a second at the peak."""
    return peak * 1e12 / (3 * forward * 1e9)


def two_times_batch(forward, head, equal) -> float:
    """Work of a sample before, over its work when all but the head is computed again."""
    return 3 * forward / (3 * forward + forward - head)


def which_rung() -> str:
    """The change whose best case is below a twentieth of the step, at 10 GB/s and 100 GFLOP/s."""
    model, seq = tiny_gpt.describe(2, 128, 4, 2048, 1024), 1024
    square = model.layers * model.heads * seq**2 * 4  # B of all scores
    work = flops.training_step(model, 1, seq).total
    saved = {
        "flash": 12 * square / 10e9,  # six passes forward, each read and written
        "adamw": (80 - 28) * model.parameters().total / 10e9,
        "bf16": work / 100e9 / 2,
    }
    whole = work / 100e9 + saved["flash"] + saved["adamw"]
    (ruled_out,) = (name for name, seconds in saved.items() if seconds < whole / 20)
    return ruled_out


def forum() -> float:
    """Per cent of the peak of one RTX 4090."""
    work = 20 * diary.sample_flops("llama3.2-1b", 2048)
    return 100 * work / hardware.load("rtx-4090").peak("bf16")
