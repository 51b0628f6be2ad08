"""The two real ranks: what they hand over, and that nothing of them is left behind when one of them fails."""

import subprocess

import pytest

torch = pytest.importorskip("torch")

from course_lib.experiments.running.errors import Unavailable  # noqa: E402
from course_lib.units.q14_gradient_accumulation import plans, ranks  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no distributed package")


@pytest.fixture
def started(monkeypatch):
    """Every process that is started meanwhile."""
    kept, start = [], subprocess.Popen

    def noted(*args, **kwargs):
        kept.append(start(*args, **kwargs))
        return kept[-1]

    monkeypatch.setattr(ranks.subprocess, "Popen", noted)
    return kept


@pytest.mark.slow
def test_bytes_are_those_of_the_formula_and_the_gradient_is_the_same(started):
    found = ranks.measure()
    for mode, no_sync in zip(ranks.MODES, (False, True, False), strict=True):
        formula = plans.sent(ranks.PARAMS, parts=ranks.PARTS, cards=ranks.WORLD, no_sync=no_sync)
        assert found[mode]["bytes"] == formula
        assert found[mode]["off"] < 1e-6
    assert found["no_sync"]["calls"] * ranks.PARTS == found["a sync after each part"]["calls"]
    assert [process.poll() for process in started] == [0, 0]


def test_a_rank_that_fails_ends_the_other(started, monkeypatch):
    child = "import sys, time; sys.exit('no such interface') if sys.argv[1] == '1' else time.sleep(60)"
    monkeypatch.setattr(ranks, "CHILD", child)
    with pytest.raises(Unavailable, match="no such interface"):
        ranks.measure()
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_ranks_that_hang_are_ended(started, monkeypatch):
    monkeypatch.setattr(ranks, "CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(ranks, "LIMIT", 0.3)
    with pytest.raises(Unavailable, match=r"within 0\.3 s"):
        ranks.measure()
    assert all(process.poll() is not None for process in started)


def test_an_interrupt_ends_them(started, monkeypatch):
    def stopped(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(ranks, "CHILD", "import time; time.sleep(60)")
    monkeypatch.setattr(ranks.time, "sleep", stopped)
    with pytest.raises(KeyboardInterrupt):
        ranks.measure()
    assert all(process.poll() is not None for process in started)


def test_parameters_are_counted_right():
    layers = [torch.nn.Linear(ranks.WIDTH, ranks.HIDDEN), torch.nn.Linear(ranks.HIDDEN, ranks.WIDTH)]
    assert sum(each.numel() for layer in layers for each in layer.parameters()) == ranks.PARAMS
