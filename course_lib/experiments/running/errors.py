"""What goes wrong in the measuring half, each in one line."""

import re

LONGEST = 300  # characters of a reason


class Unavailable(ValueError):  # noqa: N818 (a state, as hardware.ProfileMissing is)
    """Something that this machine, kernel or checkout does not have: CUDA, torch, a recording, a valid file.

    The message says what to do.
    """

    def _render_traceback_(self) -> list[str]:
        """IPython shows this instead of a traceback: the message is all that a learner needs."""
        return [str(self)]


def in_one_line(problem: BaseException) -> str:
    """Why something failed, in one line without the paths of this machine: what a recording may keep."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    text = " ".join(lines[:3])
    if not isinstance(problem, Unavailable):
        text = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    text = re.sub(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\:'\"]+){2,}", lambda path: re.split(r"[/\\]", path[0])[-1], text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
