"""Checkpoints with one fault: who notices it when they are loaded?"""

import io
import random
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q13_training_loop import loop
from course_lib.words import words

say = words(__file__)

FAULTS = ("end missing", "one bit flipped")
READERS = ("torch.load", "digest")
FILES = 50


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Two faults and two readers; full damages ten times as many files."""
    return tuple(
        Case(
            f"{fault}: {reader}",
            say("calls", reader),
            observe=partial(_observe, fault=fault, reader=reader, files=FILES if quick else 10 * FILES),
            expect=lambda device, reader=reader: 100.0 if reader == "digest" else None,
            facts={"fault": fault, "reader": reader},
        )
        for fault in FAULTS
        for reader in READERS
    )


def _observe(bench, seconds: float, fault: str, reader: str, files: int) -> list[float]:
    """% of the damaged files that are refused."""
    torch, draw = bench.torch, random.Random(13)
    layer = torch.nn.Linear(64, loop.HIDDEN)
    whole = loop.pack(torch, {"weights": layer.state_dict(), "position": 50})
    start = len(whole) - len(loop.unpack_payload(whole))
    refused = 0
    for _ in range(files):
        place = draw.randrange(start, len(whole))
        content = whole[:place] if fault == FAULTS[0] else _flipped(whole, place, draw.randrange(8))
        try:
            if reader == "digest":
                loop.unpack(torch, content)
            else:
                torch.load(io.BytesIO(loop.unpack_payload(content)), weights_only=True)
        except Exception:  # a reader of damaged bytes may raise anything
            refused += 1
    return [100 * refused / files]


def _flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", fault="str", reader="str", hidden=("fault", "reader")),
    timed=False,
    method={"files": FILES},
)
