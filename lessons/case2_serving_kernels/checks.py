"""Checks of the exercises and your-turns of this unit: inputs, references, and the wrong answers that people give."""

from course_lib.teaching.checks.check import Check


def _read_seconds(nbytes, bandwidth):
    return nbytes / bandwidth


def _upside_down(nbytes, bandwidth):
    return bandwidth / nbytes


def _draw_read(rng):
    return rng.randrange(1, 200) * 1e9, rng.randrange(300, 5000) * 1e9


def _weight_bytes(parameters, bits):
    return parameters * bits / 8


def _in_bits(parameters, bits):
    return parameters * bits


def _reads_per_second(nbytes, bandwidth):
    return bandwidth / nbytes


def _seconds(nbytes, bandwidth):
    return nbytes / bandwidth


def _share_left(used, size):
    return 1 - used / size


def _share_used(used, size):
    return used / size


CHECKS = [
    Check(
        id="case2.turn-bytes",
        points=0,
        signature="weight_bytes(parameters, bits)",
        public=[(8e9, 16), (125e6, 4)],
        generate=lambda rng: (rng.randrange(1, 200) * 1e9, rng.choice([2, 4, 6, 16, 32])),
        reference=_weight_bytes,
        wrong={"bits": _in_bits},
    ),
    Check(
        id="case2.turn-reads",
        points=0,
        signature="reads_per_second(nbytes, bandwidth)",
        public=[(16e9, 3.35e12), (1e9, 50e9)],
        generate=_draw_read,
        reference=_reads_per_second,
        wrong={"seconds": _seconds},
    ),
    Check(
        id="case2.turn-room",
        points=0,
        signature="share_left(used, size)",
        public=[(16e9, 80e9), (5e9, 8e9)],
        generate=lambda rng: (rng.randrange(1, 30) * 1e9, rng.randrange(80, 200) * 1e9),
        reference=_share_left,
        wrong={"used": _share_used},
    ),
    Check(
        id="case2.read-seconds",
        points=2,
        signature="read_seconds(nbytes, bandwidth)",
        public=[(16e9, 3.35e12), (1e9, 50e9)],
        generate=_draw_read,
        reference=_read_seconds,
        wrong={"upside down": _upside_down},
    ),
]
