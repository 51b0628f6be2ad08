"""The waterfall of a training step: its shares are the whole peak, and what the model needs is what `flops` counts."""

from dataclasses import replace

import pytest

from course_lib import experiments
from course_lib.accounting import flops
from course_lib.experiments.running.errors import Unavailable
from course_lib.units.q06_why_count_flops import waterfall
from course_lib.units.q06_why_count_flops.experiments.train_step_waterfall import (
    CLASSES,
    LARGE,
    SMALL,
    Step,
    gpt,
    step_ops,
)
from tests.experiments.measurements.test_arithmetic import CPU


@pytest.fixture(scope="module")
def recorded():
    return experiments.load("train_step_waterfall", "amd-epyc-2-cores")


@pytest.mark.parametrize(("batch", "seq"), [(4, 128), (1, 32)])
def test_the_models_flops_are_those_of_a_training_step(batch, seq):
    step = Step(gpt(CPU), batch, seq, "fp32")
    rows = {name: {"flops": sum(op.flops for op in ops)} for name, ops in step_ops(step).items()}
    needed = waterfall.model_flops(rows)
    assert sum(needed.values()) == step.flops == int(flops.training_step(gpt(CPU), batch, seq))


@pytest.mark.parametrize("batch", [LARGE, SMALL])
def test_the_shares_are_the_whole_peak(recorded, batch):
    shares = waterfall.shares(recorded, batch)
    assert sum(shares.values()) == pytest.approx(100)
    seconds = sum(row["measured"] for row in recorded.rows if row["batch"] == batch)
    sizes = (4, 128) if batch == LARGE else (1, 32)
    used = int(flops.training_step(gpt(CPU), *sizes)) / recorded.device["peaks"]["fp32"] / seconds
    assert shares[waterfall.USED] == pytest.approx(100 * used)
    of_time = {row["class"]: row["share"] for row in recorded.rows if row["batch"] == batch}
    assert shares["optimizer"] == pytest.approx(of_time["optimizer"])  # it needs none of the model's FLOPs


def test_every_class_of_the_profile_is_in_one_bar():
    assert sorted(name for names in waterfall.LOST.values() for name in names) == sorted(CLASSES)


def test_a_run_that_was_stopped_is_refused(recorded):
    with pytest.raises(Unavailable, match="interrupted"):
        waterfall.shares(replace(recorded, rows=recorded.rows[:-1]), SMALL)


def test_the_title_of_a_disturbed_run_says_so(recorded):
    disturbed = replace(recorded, provenance={**recorded.provenance, "used_by_others": 0.4})
    assert disturbed.disturbed
    assert waterfall.draw(disturbed).alt.startswith("Disturbed run: The model uses ")
    assert waterfall.draw(recorded).alt.startswith("The model uses ")


def test_the_picture_says_in_words_what_it_shows(recorded):
    figure = waterfall.draw(recorded, beside=recorded)
    shares = waterfall.shares(recorded)
    assert len(figure.png) > 10_000
    assert f"{shares['optimizer']:.3g} % (recorded " in figure.alt
    assert all(kind in figure.alt for kind in waterfall.LOST)
