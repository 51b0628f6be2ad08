"""Buckets against PyTorch's own assignment, compression and scaling by hand, the explorer's task, torchrun."""

import pytest

from course_lib.accounting import economics
from course_lib.units.q20_design_a_framework import buckets, compressing, explorer, scaling
from tests.explorers import STEP, calls_of


@pytest.mark.parametrize(
    "sizes", [[4096, 2**22] * 8, [100] * 5, [2**20, 2**20, 2**24, 2**24, 2**10], [2**26, 8], [3 * 2**18] * 40]
)
@pytest.mark.parametrize("limits", [(2**20, 25 * 2**20), (5 * 2**20, 5 * 2**20)])
def test_buckets_are_those_of_pytorch(sizes, limits):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.distributed")
    tensors = [torch.empty(size // 4, device="meta") for size in sizes]
    assign = torch.distributed._compute_bucket_assignment_by_size
    theirs, _ = assign(tensors, list(limits), [False] * len(sizes), list(range(len(sizes))))
    assert buckets.filled(sizes, first=limits[0], cap=limits[1]) == theirs


def test_the_first_bucket_and_what_cannot_hide_by_hand():
    sizes = [10, 10, 20]
    assert buckets.first_leaves_at(sizes, cap=20, first=10) == 0.25
    # full at 1, 4 s (10 and 30 bytes of 40 in 4 s): 10 B at 10 B/s until 2 s, 30 B from 4 s until 7 s
    assert buckets.exposed(sizes, seconds=4, bandwidth=10, cap=30, first=10) == 3
    assert buckets.filled([]) == []


def test_compression_by_hand():
    torch = pytest.importorskip("torch")
    gradient = torch.tensor([[1.0, -4.0], [2.0, 0.5]])
    assert compressing.compressed(gradient, "largest").tolist() == [[0, -4], [0, 0]]
    mean = 7.5 / 4
    assert compressing.compressed(gradient, "signs").tolist() == [[mean, -mean], [mean, mean]]
    assert [compressing.nbytes(what, 640) for what in ("all", "largest", "signs")] == [2560, 48, 84]


def test_scaling_by_hand():
    assert scaling.compute_seconds(64) == pytest.approx(6 * 7e9 * 2**20 / (64 * 0.4 * 989e12))
    inside = 2 * 7 * 14e9 / 8 / 450e9
    across = 2 * 124 * 14e9 / 8 / 125 / 50e9
    assert scaling.message_seconds(1000) == pytest.approx(inside + across, rel=1e-6)
    assert scaling.efficiency(8) > 0.99


def test_lost_machines_as_a_run_that_is_followed():
    each = economics.young_interval(checkpoint_seconds=60, mtbf_seconds=7200)
    run = economics.failing_run(
        work_seconds=4e6, interval_seconds=each, checkpoint_seconds=60, mtbf_seconds=7200, restart_seconds=600
    )
    assert scaling.spot_waste(7200) == pytest.approx(run.waste, rel=0.1)


# ---------------------------------------------------------------- explorer


def test_the_task_has_the_answer_of_the_lesson():
    def held(cards):
        return float(explorer.view("llama3-70b", "zero3", cards).readout["a card holds"].split()[0])

    assert held(17) > 72 >= held(18)
    three, zero = (explorer.view("llama3-70b", plan, 16).readout for plan in ("three", "zero3"))
    assert float(three["a card holds"].split()[0]) < held(16)
    waits = "messages, nothing hidden"
    assert (three[waits], zero[waits]) == ("589 ms", "7.94 s")  # for 8 sequences and for 16
    assert (three["batch of a step"], zero["batch of a step"]) == ("8 sequences", "16 sequences")


def test_cards_are_rounded_up_to_whole_replicas():
    for plan, each in (("ddp", 1), ("tensor", 8), ("three", 16)):
        assert explorer.view("llama3-8b", plan, 1).readout["cards"] == str(each)
        assert explorer.view("llama3-8b", plan, 17).readout["cards"] == str(-(-17 // each) * each)


def test_a_step_of_the_slider_is_little_work():
    explorer.view("llama3-70b", "three", 32)
    assert calls_of(lambda: explorer.view("llama3-70b", "three", 48)) < STEP


# ---------------------------------------------------------------- torchrun, DDP


@pytest.mark.slow
def test_torchrun_starts_two_ranks_that_end_with_the_same_weights():
    pytest.importorskip("torch")
    from course_lib.units.q20_design_a_framework.experiments import torchrun_two

    assert torchrun_two.torchrun() == {"ranks": 2, "bytes": 4 * torchrun_two.PARAMS, "apart": 0.0}


@pytest.mark.slow
def test_a_group_of_one_is_gone_afterwards_also_when_something_raised():
    torch = pytest.importorskip("torch")
    from course_lib.units.q20_design_a_framework.experiments import ddp_ready

    with pytest.raises(KeyError), ddp_ready.group_of_one(torch):
        raise KeyError
    assert not torch.distributed.is_initialized()


def test_torchrun_says_what_was_wrong(monkeypatch):
    from course_lib.experiments.running.errors import Unavailable
    from course_lib.units.q20_design_a_framework.experiments import torchrun_two

    monkeypatch.setattr(torchrun_two, "_run", lambda: (0, 'note\n{"ranks": 2}\n', ""))
    assert torchrun_two.torchrun() == {"ranks": 2}
    monkeypatch.setattr(torchrun_two, "_run", lambda: (1, "", "RuntimeError: port taken\nat the end"))
    with pytest.raises(Unavailable, match="port taken"):
        torchrun_two.torchrun()
