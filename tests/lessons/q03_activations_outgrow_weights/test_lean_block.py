"""The count that the lesson leaves to write, against the calculator, which is itself held against the allocator."""

from dataclasses import replace

import pytest

from course_lib.accounting import memory, models
from course_lib.units.q03_activations_outgrow_weights import checks


@pytest.mark.parametrize("name", ["gpt2", "gpt2-xl"])
@pytest.mark.parametrize(("batch", "seq"), [(1, 1024), (3, 128)])
def test_a_lean_block_keeps_what_the_calculator_counts(name, batch, seq):
    model = replace(models.load(name), activation="gelu")
    kept = memory.activations(model, batch=batch, seq=seq, attention="sdpa")["layer"]
    (check,) = (check for check in checks.CHECKS if check.id == "q03.turn-lean")
    assert int(kept) == 4 * check.reference(batch, seq, model.d_model, model.heads)
