"""Two clocks against a queue followed event by event; the explorer; bytes of replicas and graphs; loaders; kernels."""

import heapq
from fractions import Fraction
from itertools import product

import pytest
import torch

from course_lib.units.case4_production_traps import elsewhere, explorer, keeping, loading, replicas, syncing
from tests.explorers import STEP, calls_of

START = {"host": 3.0, "device": 4.0, "every": 1}
FORKED = {"multiprocessing_context": "fork"}  # a class of a test cannot be sent to a process that starts anew


def by_events(host, device, steps, every):
    """Host and device as two actors with a queue between them; time is the next thing that happens."""
    events, queue, now, busy, done, launched = [(Fraction(host), "launch")], 0, Fraction(0), False, 0, 0
    while done < steps:
        now, what = heapq.heappop(events)
        if what == "launch":
            launched, queue = launched + 1, queue + 1
            waits = every and launched % every == 0
            if launched < steps and not waits:
                heapq.heappush(events, (now + Fraction(host), "launch"))
        else:
            done, busy = done + 1, False
            if every and done == launched and launched % every == 0 and launched < steps:
                heapq.heappush(events, (now + Fraction(host), "launch"))
        if queue and not busy:
            queue, busy = queue - 1, True
            heapq.heappush(events, (now + Fraction(device), "done"))
    return now


@pytest.mark.parametrize(("host", "device", "every"), list(product([1, 2, 5], [1, 3, 5], [0, 1, 2, 5])))
def test_two_clocks_are_a_queue(host, device, every):
    for steps in (1, 4, 20):
        assert syncing.pipeline(host, device, steps, every) == by_events(host, device, steps, every)


@pytest.mark.parametrize(("host", "device", "every"), list(product([1, 2, 5], [1, 3, 5], [1, 2, 5])))
def test_the_long_run(host, device, every):
    """Between one wait and the next all is the same: a difference of two long runs is the pace."""
    steps = every * 40
    pace = (by_events(host, device, 2 * steps, every) - by_events(host, device, steps, every)) / steps
    assert syncing.each_step(host, device, every) == pytest.approx(float(pace))
    assert 1 < syncing.slower(host, device, every) <= 2


def test_at_most_five_per_cent():
    for host, device in product([1, 2, 3, 4, 7], repeat=2):
        enough = explorer.rarely_enough(host, device)
        long, short = max(host, device), min(host, device)
        assert enough == -(-20 * short // long)  # (long + short/k)/long <= 21/20
    assert max(explorer.rarely_enough(a, b) for a, b in product([0.1, 1, 3, 10, 100], repeat=2)) == 20


def test_the_explorer_shows_the_clocks():
    for host, device, every in product([0.5, 3.0, 40.0], [4.0, 0.1], [1, 15, 200]):
        view = explorer.view(host, device, every)
        ratio = float(
            by_events(Fraction(host), Fraction(device), 50 * every, every)
            / by_events(Fraction(host), Fraction(device), 50 * every, 0)
        )
        assert syncing.slower(host, device, every) == pytest.approx(ratio, rel=3e-2)
        assert f"×{syncing.slower(host, device, every):.3f}" == view.readout[explorer.say("rows", "times")]


def test_a_step_of_a_slider_is_quick():
    explorer.view(**START)
    assert max(calls_of(lambda every=every: explorer.view(3.3, 4.7, every)) for every in (1, 50, 200)) < STEP


def test_a_wait_never_is_refused():
    with pytest.raises(ValueError, match="every"):
        syncing.each_step(1, 1, 0)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_data_parallel_step_moves_what_was_counted_and_learns_the_same(ranks):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    x, y = torch.randn(8, 6), torch.randn(8, 3)
    (net(x) - y).square().mean().backward()
    alone = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    flows, gradients = replicas.step(torch, net, x, y, ranks)
    weights = 4 * sum(parameter.numel() for parameter in net.parameters())
    assert flows == replicas.data_parallel(weights, x.nbytes, 4 * 8 * 3, ranks)
    for mine, whole in zip(gradients, alone, strict=True):
        assert torch.allclose(mine, whole, atol=1e-6)


def test_gpt2_by_hand():
    flows, ring = replicas.gpt2(16, 1024, 4)
    assert flows.gradients_in == 3 * 4 * 124_439_808
    assert flows.outputs_in == 3 * 16 * 1024 * 50257
    assert ring == 2 * 3 * 4 * 124_439_808 // 4


@pytest.mark.parametrize("habit", keeping.HABITS)
def test_what_a_graph_keeps_is_what_autograd_saves(habit):
    """Of one step: storages that saved-tensor hooks see, without weights and the input."""
    net, x = keeping.network(torch)
    known = {p.untyped_storage().data_ptr() for p in net.parameters()} | {x.untyped_storage().data_ptr()}
    seen = {}

    def pack(tensor):
        seen[tensor.untyped_storage().data_ptr()] = (tensor, tensor.untyped_storage().nbytes())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = net(x).square().mean()
    assert sum(nbytes for pointer, (_, nbytes) in seen.items() if pointer not in known) == keeping.saved()
    assert loss.requires_grad
    assert keeping.predicted(habit, 7) * 3 == keeping.predicted(habit, 21)


@pytest.mark.slow
def test_a_real_loader_delivers_what_was_counted():
    """IterableDataset, two workers: every item twice unless it is divided. Worker processes are forked here."""

    class Stream(torch.utils.data.IterableDataset):
        def __init__(self, divided):
            self.divided = divided

        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            return iter(range(6)[info.id :: info.num_workers] if self.divided else range(6))

    for divided in (False, True):
        found = list(torch.utils.data.DataLoader(Stream(divided), batch_size=None, num_workers=2, **FORKED))
        assert found == loading.delivered(range(6), 2, divided)


@pytest.mark.parametrize(("workers", "prefetch"), [(1, 2), (2, 3)])
def test_a_real_loader_fetches_so_far_ahead(workers, prefetch):
    """Batches that are asked for when an epoch begins: counted at the sampler."""
    asked = []

    class Sampler:
        def __iter__(self):
            for place in range(50):
                asked.append(place)
                yield [place]

        def __len__(self):
            return 50

    loader = torch.utils.data.DataLoader(
        list(range(50)), batch_sampler=Sampler(), num_workers=workers, prefetch_factor=prefetch, **FORKED
    )
    batches = iter(loader)
    assert len(asked) == loading.fetched_ahead(workers, prefetch, 50)
    del batches


@pytest.mark.parametrize(
    ("here", "binaries", "ptx", "found"),
    [
        ("8.6", ["8.0"], [], "binary 8.0"),
        ("8.0", ["8.6"], ["8.6"], None),
        ("9.0", ["8.0", "8.6"], ["7.0", "8.0"], "ptx 8.0"),
        ("10.0", ["9.0"], ["9.0"], "ptx 9.0"),
        ("12.10", ["12.2", "12.0"], [], "binary 12.2"),
        ("7.5", ["7.0", "8.0"], ["8.0"], "binary 7.0"),
    ],
)
def test_kernels_by_the_programming_guide(here, binaries, ptx, found):
    assert elsewhere.pick_kernel(here, binaries, ptx) == found


def test_a_tuned_choice_is_the_best_only_for_what_is_in_its_key():
    for key, stale in [(("rows",), False), ((), True)]:
        kernel = elsewhere.Autotuned(elsewhere.TILES, elsewhere.tiled, key)
        kernel(rows=4096)
        took = kernel(rows=32)
        assert (took > min(elsewhere.tiled(tile, rows=32) for tile in elsewhere.TILES)) == stale


def test_a_graph_replays_on_its_own_memory():
    graph, x, y = elsewhere.Graph(), [1.0, 2.0], [0.0, 0.0]
    graph.add(y, lambda value: value + 1, x)
    x[:] = [5.0, 6.0]
    graph.replay()
    assert y == [6.0, 7.0]


def test_a_trace_keeps_the_branch_of_its_example():
    frozen = elsewhere.traced(torch, lambda x: x + 1 if len(x) <= 2 else x - 1, torch.zeros(2))
    assert frozen(torch.zeros(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("copy", "reader"), [(2.0, 1.0), (2.0, 2.0), (2.0, 3.0)])
def test_a_buffer_that_waits_for_its_reader_is_never_new(copy, reader):
    assert elsewhere.reuse(True, copy, reader) == "old"
    assert elsewhere.reuse(False, copy, reader) == ("new" if reader > copy else "old")
