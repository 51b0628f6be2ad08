"""What goes wrong in the measuring half, each in one line."""


class Unavailable(ValueError):  # noqa: N818 (a state, as hardware.ProfileMissing is)
    """Something that this machine, kernel or checkout does not have: CUDA, torch, a recording, a valid file.

    The message says what to do.
    """

    def _render_traceback_(self) -> list[str]:
        """IPython shows this instead of a traceback: the message is all that a learner needs."""
        return [str(self)]
