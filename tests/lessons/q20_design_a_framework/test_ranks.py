"""Real gloo ranks, as threads and as processes: what they send, what they compute, and that nobody waits for ever."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from course_lib.accounting import communication  # noqa: E402
from course_lib.experiments.running.errors import Unavailable  # noqa: E402
from course_lib.units.q20_design_a_framework import cluster, ranks, splits  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="this torch has no gloo"
)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---------------------------------------------------------------- collectives


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_collectives_do_what_they_say(size):
    numbers = [torch.arange(12.0) * (place + 1) for place in range(size)]
    total = sum(numbers)

    def job(rank):
        mine = numbers[rank.place].clone()
        return (
            rank.all_reduce(mine.clone()),
            rank.reduce_scatter(mine),
            rank.all_gather(mine[: 12 // size]),
            rank.all_to_all(mine),
            rank.all_reduce(mine.clone(), largest=True),
        )

    for place, (summed, scattered, gathered, exchanged, most) in enumerate(ranks.run(size, job)):
        each = 12 // size
        own = slice(place * each, (place + 1) * each)
        assert torch.equal(summed, total)
        assert torch.equal(scattered, total[own])
        assert torch.equal(gathered, torch.cat([each_[:each] for each_ in numbers]))
        assert torch.equal(exchanged, torch.cat([each_[own] for each_ in numbers]))
        assert torch.equal(most, numbers[-1])


def test_payload_is_what_the_calculator_says_of_each_collective():
    def job(rank):
        x = torch.zeros(1200)
        for name in ("all_reduce", "reduce_scatter", "all_to_all"):
            getattr(rank, name)(x, name)
        rank.all_gather(x[:300], "all_gather")
        return dict(rank.payload)

    for payload in ranks.run(4, job):
        for name, sent in payload.items():
            assert sent == getattr(communication, name)(nbytes=4800, ranks=4, bandwidth=1e9).bytes_per_rank


@pytest.mark.skipif(ranks.socket_bytes() is None, reason="this system does not tell what a socket has sent")
def test_the_sockets_send_the_payload_and_gloos_own_reduce_scatter_twice_as_much():
    def job(rank):
        x = torch.ones(2**18)
        calls = (rank.all_reduce, rank.all_to_all, rank.reduce_scatter, rank.gloos_reduce_scatter)
        return [ranks.measured(rank, lambda call=call: call(x))[1] for call in calls]

    buffers = [sent / 2**20 for sent in ranks.run(4, job)[0]]
    assert buffers == pytest.approx([6, 3, 3, 6], rel=0.02)


def test_bytes_under_way_are_waited_for(monkeypatch):
    """An acknowledgement that comes after 100 ms is counted, though the bytes stood still."""
    answers = [{"a": (10, 3)}] * 20 + [{"a": (40, 0)}]
    monkeypatch.setattr(ranks, "_sockets", lambda: answers.pop(0) if len(answers) > 1 else answers[0])
    assert ranks._settled() == {"a": 40}


# ---------------------------------------------------------------- the decoder


@pytest.mark.parametrize("name", cluster.PLANS)
def test_a_step_is_that_of_one_rank_and_its_bytes_are_those_of_the_calculator(name):
    plan = cluster.PLANS[name]
    step = cluster.step(plan)
    assert step.off < 1e-3
    assert step.payload == cluster.predicted(plan)
    if step.sockets is not None:
        assert step.sockets == pytest.approx(step.total, rel=0.02)


def test_a_wrong_gradient_would_be_noticed():
    """A rank that forgets the mean over the data ranks is far off."""
    start, tokens = cluster.weights(torch), cluster.batch(torch)
    right, other = cluster.alone(torch, start, tokens), cluster.alone(torch, start, tokens[:4])
    moved = max((right[name] - start[name]).abs().max().item() for name in start)
    assert max((right[name] - other[name]).abs().max().item() for name in start) / moved > 0.1


def test_the_decoder_has_the_parameters_of_its_description():
    from course_lib.units.q20_design_a_framework.cluster import MODEL

    assert sum(weight.numel() for weight in cluster.weights(torch).values()) == int(MODEL.parameters())


CHILD = """
import json, sys
from datetime import timedelta
import torch
from course_lib.units.q20_design_a_framework import cluster, ranks
torch.set_num_threads(1)
place, size, meeting, plan = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
rank = ranks.Rank(torch.distributed.FileStore(meeting, size), place, size, 60)
try:
    start, tokens = cluster.weights(torch), cluster.batch(torch)
    payload, _, off = cluster.on_rank(rank, cluster.PLANS[plan], start, tokens, cluster.alone(torch, start, tokens))
finally:
    rank.close()
print(json.dumps({"sent": sum(sent for kind, sent in payload.items() if kind != "loss"), "off": off}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ZeRO-3, data 4", "tensor 4", "pipeline 4, 4 microbatches"])
def test_ranks_that_are_processes_hand_over_the_same_bytes(name, tmp_path):
    size = cluster.PLANS[name].ranks
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    if sys.platform.startswith("linux"):
        env["GLOO_SOCKET_IFNAME"] = "lo"
    started = []
    try:
        for place in range(size):
            command = [sys.executable, "-c", CHILD, str(place), str(size), str(tmp_path / "meeting"), name]
            started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        told = [json.loads(process.communicate(timeout=150)[0].splitlines()[-1]) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert max(each["sent"] for each in told) == cluster.predicted(cluster.PLANS[name])
    assert max(each["off"] for each in told) < 1e-4


# ---------------------------------------------------------------- nobody waits for ever


def test_a_rank_that_raises_ends_the_others_and_its_error_is_raised():
    def job(rank):
        if rank.place == 1:
            raise KeyError("mine")
        rank.all_reduce(torch.ones(4))

    begin, before = time.monotonic(), threading.active_count()
    with pytest.raises(KeyError, match="mine"):
        ranks.run(3, job)
    assert time.monotonic() - begin < 15
    assert threading.active_count() <= before + 1


@pytest.mark.slow
def test_a_rank_that_never_calls_is_waited_for_until_the_timeout():
    def job(rank):
        if rank.place == 0:
            rank.all_reduce(torch.ones(4))
        else:
            released.wait(10)

    released = threading.Event()
    begin = time.monotonic()
    threading.Timer(3, released.set).start()
    with pytest.raises(RuntimeError):
        ranks.run(2, job, timeout=1)
    assert time.monotonic() - begin < 10


def test_groups_are_gone_afterwards_also_when_a_rank_raised():
    def job(rank):
        kept.append((rank, rank.split("half", range(rank.size))))
        if rank.place == 0:
            raise ValueError("no")

    kept = []
    with pytest.raises(ValueError, match="no"):
        ranks.run(2, job)
    assert all(group._group is None for pair in kept for group in pair)


def test_without_gloo_it_says_so(monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_gloo_available", lambda: False)
    with pytest.raises(Unavailable, match="no gloo"):
        ranks.run(2, lambda rank: None)


# ---------------------------------------------------------------- folded splits


def test_tokens_that_travel_are_counted_and_none_is_lost():
    for skew in (1.0, 8.0):
        got, sent, most = splits.experts(skew)
        assert sum(got) == splits.RANKS * splits.TOKENS
        assert sent % (4 * splits.WIDTH) == 0
        assert max(got) - splits.TOKENS < most <= max(got)
    assert max(splits.experts(8.0)[0]) > 2.5 * splits.TOKENS


def test_sequence_and_context_parallelism_give_the_result_of_one_rank():
    plain, divided = splits.sequence(False), splits.sequence(True)
    assert plain[0] == divided[0] == 2 * 3 * splits.TOKENS * splits.WIDTH * 4 // 4
    assert plain[1] == 4 * divided[1]
    sent, off = splits.context()
    assert sent == 3 * 2 * splits.TOKENS // 4 * splits.WIDTH * 4
    assert max(plain[2], divided[2], off) < 1e-5
