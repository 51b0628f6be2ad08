"""The truth of the practice card, computed when a learner reveals it."""

from course_lib.accounting import models


def practice() -> float:
    """Gigabytes of GPT-2 small's weights in fp32 (4 bytes a parameter)."""
    return 4 * models.load("gpt2").parameters().total / 1e9
