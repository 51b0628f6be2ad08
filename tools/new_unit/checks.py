"""Checks of the exercises of this unit: inputs, references, and the wrong answers that people give."""

from course_lib.teaching.checks.check import Check


def _read_seconds(nbytes, bandwidth):
    return nbytes / bandwidth


def _upside_down(nbytes, bandwidth):
    return bandwidth / nbytes


def _draw_read(rng):
    return rng.randrange(1, 200) * 1e9, rng.randrange(300, 5000) * 1e9


CHECKS = [
    Check(
        id="q00.read-seconds",
        points=2,
        signature="read_seconds(nbytes, bandwidth)",
        public=[(16e9, 3.35e12), (1e9, 50e9)],
        generate=_draw_read,
        reference=_read_seconds,
        wrong={"upside down": _upside_down},
    ),
]
