"""Collectives against a network simulated message by message: real numbers, rounds, a clock and every byte counted."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import communication

BANDWIDTH, LATENCY = 2e5, 0.25  # so slow that a handful of one-byte numbers takes a visible time
RANKS = [1, 2, 3, 4, 5, 6, 7, 8, 13, 16]


class Network:
    """Ranks that send one message and receive one message a round. One number is one byte."""

    def __init__(self, ranks):
        self.sent, self.rounds, self.seconds = [0] * ranks, 0, 0.0

    def round(self, messages):
        """Deliver {sender: (receiver, [numbers])}; the round lasts as long as its longest message."""
        receivers = [receiver for receiver, _ in messages.values()]
        assert len(set(receivers)) == len(receivers)
        for sender, (_, numbers) in messages.items():
            self.sent[sender] += len(numbers)
        self.rounds += 1
        self.seconds += LATENCY + max(len(numbers) for _, numbers in messages.values()) / BANDWIDTH
        return {receiver: numbers for receiver, numbers in messages.values()}


def added(left, right):
    return [a + b for a, b in zip(left, right, strict=True)]


def random_buffers(ranks, length):
    draw = random.Random(ranks * 1000 + length)
    return [[draw.randrange(100) for _ in range(length)] for _ in range(ranks)]


def padded_chunks(buffer, n):
    size = -(-len(buffer) // n)
    buffer = buffer + [0] * (size * n - len(buffer))
    return [buffer[i * size : (i + 1) * size] for i in range(n)]


def joined(chunks, length):
    return [number for chunk in chunks for number in chunk][:length]


# ---------------------------------------------------------------- the algorithms, as programs


def ring_reduce_scatter(net, buffers):
    """rank -> {chunk index: its sum}: partial sums travel round until each arrives at its owner."""
    n = len(buffers)
    mine = [padded_chunks(buffer, n) for buffer in buffers]
    for step in range(n - 1):
        got = net.round({r: ((r + 1) % n, mine[r][(r - step - 1) % n]) for r in range(n)})
        for r in range(n):
            mine[r][(r - step - 2) % n] = added(mine[r][(r - step - 2) % n], got[r])
    return [{r: mine[r][r]} for r in range(n)]


def ring_all_gather(net, owned):
    n = len(owned)
    have = [dict(chunks) for chunks in owned]
    for step in range(n - 1):
        got = net.round({r: ((r + 1) % n, have[r][(r - step) % n]) for r in range(n)})
        for r in range(n):
            have[r][(r - step - 1) % n] = got[r]
    return have


def bruck_all_gather(net, owned):
    """Every round each rank passes all it has (or all that is still missing) to the rank that lies 1, 2, 4 … before."""
    n = len(owned)
    have = [[owned[r][r]] for r in range(n)]  # in the order r, r + 1, ...
    distance = 1
    while distance < n:
        part = min(distance, n - distance)
        got = net.round({r: ((r - distance) % n, joined(have[r][:part], 10**9)) for r in range(n)})
        for r in range(n):
            have[r] += padded_chunks(got[r], part)
        distance *= 2
    return [{(r + i) % n: chunk for i, chunk in enumerate(have[r])} for r in range(n)]


def bruck_reduce_scatter(net, buffers):
    """The all-gather run backwards: where it copied chunks to a rank, their partial sums come back from it."""
    n = len(buffers)
    chunks = [padded_chunks(buffer, n) for buffer in buffers]
    have = [[chunks[r][(r + i) % n] for i in range(n)] for r in range(n)]
    distance = 1
    while 2 * distance < n:
        distance *= 2
    while distance and n > 1:
        part = min(distance, n - distance)
        got = net.round({r: ((r + distance) % n, joined(have[r][distance:], 10**9)) for r in range(n)})
        for r in range(n):
            have[r] = [added(a, b) for a, b in zip(have[r], padded_chunks(got[r], part), strict=False)] + have[r][
                part:distance
            ]
        distance //= 2
    return [{r: have[r][0]} for r in range(n)]


def direct_all_to_all(net, buffers):
    n = len(buffers)
    chunks = [padded_chunks(buffer, n) for buffer in buffers]
    result = [{r: chunks[r][r]} for r in range(n)]
    for step in range(1, n):
        got = net.round({r: ((r + step) % n, chunks[r][(r + step) % n]) for r in range(n)})
        for r in range(n):
            result[r][(r - step) % n] = got[r]
    return result


def bruck_all_to_all(net, buffers):
    """A chunk that must travel i ranks hops by the binary digits of i."""
    n = len(buffers)
    chunks = [padded_chunks(buffer, n) for buffer in buffers]
    travelling = [{i: chunks[r][(r + i) % n] for i in range(n)} for r in range(n)]
    distance = 1
    while distance < n:
        moving = [i for i in range(n) if i & distance]
        message = {
            r: ((r + distance) % n, joined([travelling[r][i] for i in moving], 10**9)) for r in range(n)
        }  # one message: its chunks one after another
        got = net.round(message)
        for r in range(n):
            travelling[r] |= dict(zip(moving, padded_chunks(got[r], len(moving)), strict=True))
        distance *= 2
    return [{(r - i) % n: travelling[r][i] for i in range(n)} for r in range(n)]


def binomial_broadcast(net, message, n):
    have = {0: message}
    distance = 1
    while distance < n:
        have |= net.round({r: (r + distance, have[r]) for r in have if r + distance < n})
        distance *= 2
    return have


def full_ring_all_reduce(net, buffers):
    """Stanford CS336's alternate ring: pass on whole what came from the neighbour, add it to the sum."""
    n = len(buffers)
    total, travelling = list(buffers), list(buffers)
    for _ in range(n - 1):
        got = net.round({r: ((r + 1) % n, travelling[r]) for r in range(n)})
        travelling = [got[r] for r in range(n)]
        total = [added(total[r], got[r]) for r in range(n)]
    return total


def tree_parent(rank, n):
    """NCCL's binary tree over 0 … n − 1 with odd ranks as leaves; the root 0 has one child."""
    low = rank & -rank
    up = (rank ^ low) | (low << 1)
    return up if up < n else rank ^ low


def double_trees(n):
    """Two trees, each a map from a rank to its parent (None: the root). Even n mirrors the first, odd n shifts it."""
    first = {rank: tree_parent(rank, n) if rank else None for rank in range(n)}
    move = (lambda rank: n - 1 - rank) if n % 2 == 0 else (lambda rank: (rank + 1) % n)
    return first, {move(rank): None if up is None else move(up) for rank, up in first.items()}


def depth(tree, rank):
    return 0 if tree[rank] is None else 1 + depth(tree, tree[rank])


def double_tree_all_reduce(buffers):
    """(result of each rank, bytes sent by each rank, edges on the longest way up and down)."""
    n, length = len(buffers), len(buffers[0])
    sent, result, longest = [0] * n, [[] for _ in range(n)], 0
    halves = [padded_chunks(buffer, 2) for buffer in buffers]
    for which, tree in enumerate(double_trees(n)):
        total = {r: halves[r][which] for r in range(n)}
        for rank in sorted(tree, key=lambda r: -depth(tree, r)):  # the deepest first: up
            if tree[rank] is not None:
                sent[rank] += len(total[rank])
                total[tree[rank]] = added(total[tree[rank]], total[rank])
        for rank in sorted(tree, key=lambda r: depth(tree, r)):  # the root first: down
            if tree[rank] is not None:
                sent[tree[rank]] += len(total[tree[rank]])
                total[rank] = total[tree[rank]]
            result[rank] += total[rank]
        longest = max(longest, 2 * max(depth(tree, r) for r in tree))
    return [numbers[:length] for numbers in result], sent, longest


# ---------------------------------------------------------------- the calculator against the programs


def agrees(claim, net):
    assert claim.steps == net.rounds
    assert claim.bytes_per_rank == max(net.sent)
    assert claim.seconds == pytest.approx(net.seconds)


def claimed(collective, ranks, length, **more):
    return collective(nbytes=length, ranks=ranks, bandwidth=BANDWIDTH, latency=LATENCY, **more)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("length", [1, 7, 48])
@pytest.mark.parametrize(("algorithm", "program"), [("ring", ring_reduce_scatter), ("tree", bruck_reduce_scatter)])
def test_reduce_scatter(ranks, length, algorithm, program):
    net, buffers = Network(ranks), random_buffers(ranks, length)
    owned = program(net, buffers)
    sums = padded_chunks([sum(column) for column in zip(*buffers, strict=True)], ranks)
    assert owned == [{rank: sums[rank]} for rank in range(ranks)]
    agrees(claimed(communication.reduce_scatter, ranks, length, algorithm=algorithm), net)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("length", [1, 7, 48])
@pytest.mark.parametrize(("algorithm", "program"), [("ring", ring_all_gather), ("tree", bruck_all_gather)])
def test_all_gather(ranks, length, algorithm, program):
    net = Network(ranks)
    chunks = padded_chunks(random_buffers(1, length)[0], ranks)
    gathered = program(net, [{rank: chunks[rank]} for rank in range(ranks)])
    assert gathered == [dict(enumerate(chunks))] * ranks
    agrees(claimed(communication.all_gather, ranks, length, algorithm=algorithm), net)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("length", [1, 7, 48])
def test_ring_all_reduce(ranks, length):
    net, buffers = Network(ranks), random_buffers(ranks, length)
    gathered = ring_all_gather(net, ring_reduce_scatter(net, buffers))
    sums = [sum(column) for column in zip(*buffers, strict=True)]
    for chunks in gathered:
        assert joined([chunks[i] for i in range(ranks)], length) == sums
    agrees(claimed(communication.all_reduce, ranks, length), net)


@pytest.mark.parametrize("ranks", RANKS)
def test_ring_full_all_reduce(ranks):
    net, buffers = Network(ranks), random_buffers(ranks, 10)
    sums = [sum(column) for column in zip(*buffers, strict=True)]
    assert full_ring_all_reduce(net, buffers) == [sums] * ranks
    agrees(claimed(communication.all_reduce, ranks, 10, algorithm="ring-full"), net)


def switched_all_reduce(buffers, multicast):
    """(result of each rank, bytes that each sends, that each receives) where the switch adds up.

    multicast (NVLink SHARP): rank i reads the sum of chunk i through the switch, and writes it to all through it.
    Otherwise (InfiniBand SHARP) everything goes up to the switch, and the sum comes down to everyone.
    """
    n, length = len(buffers), len(buffers[0])
    chunks = [padded_chunks(buffer, n) for buffer in buffers] if multicast else [[buffer] for buffer in buffers]
    sent, received, result = [0] * n, [0] * n, [[] for _ in range(n)]
    for index in range(len(chunks[0])):
        summed = [0] * len(chunks[0][index])
        for rank in range(n):
            summed = added(summed, chunks[rank][index])
            sent[rank] += len(summed)
        if multicast:
            received[index] += len(summed)
            sent[index] += len(summed)
        for rank in range(n):
            received[rank] += len(summed)
            result[rank] += summed
    return [numbers[:length] for numbers in result], sent, received


@pytest.mark.parametrize("ranks", RANKS[1:])
@pytest.mark.parametrize("length", [1, 7, 48])
@pytest.mark.parametrize("algorithm", ["nvls", "in-network"])
def test_all_reduce_in_the_switch(ranks, length, algorithm):
    buffers = random_buffers(ranks, length)
    result, sent, received = switched_all_reduce(buffers, algorithm == "nvls")
    assert result == [[sum(column) for column in zip(*buffers, strict=True)]] * ranks
    claim = claimed(communication.all_reduce, ranks, length, algorithm=algorithm)
    assert claim.bytes_per_rank == max(sent) == max(received)  # so that neither direction takes longer
    assert claim.seconds == pytest.approx(2 * LATENCY + max(sent) / BANDWIDTH)  # to the switch, and from it


@pytest.mark.parametrize("ranks", [*RANKS, 17, 31, 32, 33])
@pytest.mark.parametrize("length", [1, 10])
def test_tree_all_reduce(ranks, length):
    buffers = random_buffers(ranks, length)
    result, sent, longest = double_tree_all_reduce(buffers)
    assert result == [[sum(column) for column in zip(*buffers, strict=True)]] * ranks
    claim = claimed(communication.all_reduce, ranks, length, algorithm="tree")
    assert (claim.bytes_per_rank, claim.steps) == (max(sent), longest)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("length", [1, 7, 48])
@pytest.mark.parametrize(("algorithm", "program"), [("ring", direct_all_to_all), ("tree", bruck_all_to_all)])
def test_all_to_all(ranks, length, algorithm, program):
    net, buffers = Network(ranks), random_buffers(ranks, length)
    chunks = [padded_chunks(buffer, ranks) for buffer in buffers]
    expected = [{sender: chunks[sender][rank] for sender in range(ranks)} for rank in range(ranks)]
    assert program(net, buffers) == expected
    agrees(claimed(communication.all_to_all, ranks, length, algorithm=algorithm), net)


@pytest.mark.parametrize("ranks", RANKS)
def test_tree_broadcast(ranks):
    net = Network(ranks)
    assert binomial_broadcast(net, [1, 2, 3], ranks) == {rank: [1, 2, 3] for rank in range(ranks)}
    agrees(claimed(communication.broadcast, ranks, 3, algorithm="tree"), net)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_ring_broadcast_is_the_limit_of_small_pieces(ranks):
    pieces = 5000
    sent, have, rounds = [0] * ranks, [pieces] + [0] * (ranks - 1), 0
    first_arrival = None
    while have[-1] < pieces:
        can_send = [r for r in range(ranks - 1) if have[r] > have[r + 1]]
        for r in reversed(can_send):  # what arrives in this round leaves in the next
            have[r + 1] += 1
            sent[r] += 1
        rounds += 1
        first_arrival = first_arrival or (rounds if have[-1] else None)
    claim = communication.broadcast(nbytes=pieces, ranks=ranks, bandwidth=BANDWIDTH)
    assert claim.bytes_per_rank == max(sent)
    assert claim.steps == first_arrival
    assert claim.seconds == pytest.approx(rounds / BANDWIDTH, rel=2 * ranks / pieces)


def test_point_to_point_is_one_message():
    net = Network(2)
    assert net.round({0: (1, [1, 2, 3])}) == {1: [1, 2, 3]}
    agrees(communication.point_to_point(nbytes=3, bandwidth=BANDWIDTH, latency=LATENCY), net)


@pytest.mark.parametrize(("ranks_per_node", "nodes"), [(1, 1), (1, 5), (4, 1), (2, 3), (4, 3), (8, 4)])
def test_hierarchical_all_reduce(ranks_per_node, nodes):
    """Every node and every group across nodes is a ring of its own; they all work at the same time."""
    length, g = 96, ranks_per_node
    buffers = random_buffers(g * nodes, length)
    sent, rounds = [0] * (g * nodes), 0

    def in_groups(program, groups, per_rank):
        """Run `program` in each group of ranks at once; its result for each rank."""
        nonlocal rounds
        longest, result = 0, {}
        for group in groups:
            net = Network(len(group))
            for place, outcome in enumerate(program(net, [per_rank[rank] for rank in group])):
                result[group[place]] = outcome
                sent[group[place]] += net.sent[place]
            longest = max(longest, net.rounds)
        rounds += longest
        return result

    inside = [[node * g + i for i in range(g)] for node in range(nodes)]
    across = [[node * g + i for node in range(nodes)] for i in range(g)]
    owned = in_groups(ring_reduce_scatter, inside, buffers)
    mine = {rank: owned[rank][rank % g] for rank in owned}
    summed = in_groups(lambda net, part: ring_all_gather(net, ring_reduce_scatter(net, part)), across, mine)
    chunks = {
        rank: {rank % g: joined([summed[rank][i] for i in range(nodes)], len(mine[rank]))} for rank in range(g * nodes)
    }
    gathered = in_groups(ring_all_gather, inside, chunks)
    sums = [sum(column) for column in zip(*buffers, strict=True)]
    for rank in range(g * nodes):
        assert joined([gathered[rank][i] for i in range(g)], length) == sums

    links = {"bandwidth": 4e5, "network_bandwidth": 1e5, "latency": 0.1, "network_latency": 0.3}
    claim = communication.hierarchical_all_reduce(nbytes=length, ranks_per_node=g, nodes=nodes, **links)
    assert (claim.bytes_per_rank, claim.steps) == (max(sent), rounds)
    # the same three phases, priced one by one
    fast = {"ranks": g, "bandwidth": 4e5, "latency": 0.1}
    scatter = communication.reduce_scatter(nbytes=length, **fast)
    middle = communication.all_reduce(nbytes=length / g, ranks=nodes, bandwidth=1e5, latency=0.3)
    assert claim.seconds == pytest.approx(2 * scatter.seconds + middle.seconds)
    # in small pieces at once: each resource works through its own share, or the first piece is on its way all the time
    overlapped = communication.hierarchical_all_reduce(
        nbytes=length, ranks_per_node=g, nodes=nodes, overlap=True, **links
    )
    shares = 2 * (scatter.bytes_per_rank / 4e5), middle.bytes_per_rank / 1e5, 0.2 * (g - 1) + 0.6 * (nodes - 1)
    assert overlapped.seconds == pytest.approx(max(shares))
    assert (overlapped.bytes_per_rank, overlapped.steps) == (claim.bytes_per_rank, claim.steps)


# ---------------------------------------------------------------- properties

SIZES = {"nbytes": st.integers(1, 10**12), "ranks": st.integers(2, 4096)}
ALL = [
    communication.all_reduce,
    communication.reduce_scatter,
    communication.all_gather,
    communication.all_to_all,
    communication.broadcast,
]


@given(**SIZES, collective=st.sampled_from(ALL))
def test_a_tree_takes_no_more_steps_than_a_ring_and_sends_no_less(nbytes, ranks, collective):
    size = nbytes * ranks  # no padding
    ring, tree = (collective(nbytes=size, ranks=ranks, bandwidth=1e9, algorithm=a) for a in ("ring", "tree"))
    assert tree.steps <= ring.steps
    assert tree.bytes_per_rank >= ring.bytes_per_rank


@given(**SIZES)
def test_no_all_reduce_beats_the_lower_bound_and_the_ring_meets_it(nbytes, ranks):
    """Some rank must send at least 2·(n − 1)/n of the buffer (Patarasuk and Yuan, JPDC 69, 2009)."""
    for algorithm in ("ring", "tree", "ring-full"):  # in a switch it can: see "nvls"
        claim = communication.all_reduce(nbytes=nbytes, ranks=ranks, bandwidth=1e9, algorithm=algorithm)
        assert claim.bytes_per_rank * ranks >= 2 * (ranks - 1) * nbytes
    ring = communication.all_reduce(nbytes=nbytes * ranks, ranks=ranks, bandwidth=1e9)
    assert ring.bytes_per_rank == 2 * (ranks - 1) * nbytes


@pytest.mark.parametrize("collective", [*ALL, communication.point_to_point])
def test_latency_is_left_out_unless_given(collective):
    message = {"nbytes": 10**9, "ranks": 2, "bandwidth": 1e9}
    assert collective(**message) == collective(**message, latency=0)


def test_latencies_of_the_hierarchy_are_left_out_unless_given():
    message = {"nbytes": 1e9, "ranks_per_node": 2, "nodes": 2, "bandwidth": 1e9, "network_bandwidth": 1e9}
    quick = communication.hierarchical_all_reduce(**message)
    assert quick == communication.hierarchical_all_reduce(**message, latency=0, network_latency=0)


@pytest.mark.parametrize("collective", ALL)
@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_one_rank_pays_nothing(collective, algorithm):
    claim = collective(nbytes=10**9, ranks=1, bandwidth=1e9, latency=1e-5, algorithm=algorithm)
    assert (claim.seconds, claim.bytes_per_rank, claim.steps) == (0, 0, 0)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"nbytes": 0}, ["nbytes=0", "at least 1"]),
        ({"nbytes": 1.5}, ["nbytes=1.5", "whole number"]),
        ({"ranks": 0}, ["ranks=0", "at least 1"]),
        ({"ranks": 2.5}, ["ranks=2.5", "whole number"]),
        ({"bandwidth": 450}, ["bandwidth=450", "looks like GB/s"]),
        ({"bandwidth": 0}, ["bandwidth=0"]),
        ({"latency": 1.5}, ["latency=1.5", "looks like µs", "5e-6"]),
        ({"latency": -1e-6}, ["latency=-1e-06", "zero or more"]),
        ({"algorithm": "rings"}, ["algorithm='rings'", "Did you mean 'ring'", "tree"]),
        ({"algorithm": "ring-full"}, ["algorithm='ring-full'", "ring, tree"]),
    ],
)
def test_bad_input(changes, says, refuses):
    refuses(lambda: communication.all_gather(**{"nbytes": 1e9, "ranks": 8, "bandwidth": 450e9, **changes}), says)


def test_bad_input_of_the_others():
    with pytest.raises(ValueError, match=r"ranks=8 must be 2.*broadcast"):
        communication.point_to_point(nbytes=1e9, bandwidth=1e9, ranks=8)
    with pytest.raises(ValueError, match=r"network_bandwidth=50 looks like GB/s"):
        communication.hierarchical_all_reduce(
            nbytes=1e9, ranks_per_node=8, nodes=2, bandwidth=450e9, network_bandwidth=50
        )
    with pytest.raises(ValueError, match=r"overlap='yes' must be True or False"):
        communication.hierarchical_all_reduce(
            nbytes=1e9, ranks_per_node=8, nodes=2, bandwidth=450e9, network_bandwidth=50e9, overlap="yes"
        )
