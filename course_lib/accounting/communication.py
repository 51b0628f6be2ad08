"""Collectives: how long it takes a group of ranks to exchange bytes, and how many bytes the busiest rank sends.

seconds = steps · latency + bytes_per_rank / bandwidth: the α-β model (Hockney, Parallel Computing 20, 1994).
`bandwidth` is what one rank can send in one direction, in B/s (200 Gbit/s is 25e9); `latency` is what one step costs
before its first byte arrives, in seconds. Links are full duplex, no two messages share one, and the arithmetic is free.
A buffer is cut into equal chunks, the last one padded. A rank alone pays nothing.

algorithm="ring": each rank sends to its neighbour (all_to_all: to each of the others in turn, directly).
algorithm="tree" needs fewer steps. all_reduce: NCCL's two mirrored binary trees, each of which reduces and broadcasts
one half of the buffer (Sanders, Speck, Träff, Parallel Computing 35, 2009). broadcast: a binomial tree, in which every
rank that has the message passes all of it on in every step. all_gather, all_to_all: the algorithms of Bruck et al.
(IEEE TPDS 8(11), 1997), where each chunk travels a binomial tree; reduce_scatter is that all_gather run backwards.
"""

from dataclasses import dataclass

from course_lib.accounting import units
from course_lib.accounting.explained import Explained

_SYMBOLS = {
    "N": "nbytes",
    "n": "ranks",
    "W": "bandwidth of one rank, one way, in B/s",
    "a": "latency of one step in seconds",
    "h": "chunks that a rank sends in all: the ones among the binary digits of 0 to n - 1",
    "g": "ranks in a node",
    "m": "nodes",
    "V": "bandwidth of one rank into the network, one way, in B/s",
    "b": "latency of one step through the network in seconds",
}
_ASSUMPTIONS = (
    "Links are full duplex and no two messages share one.",
    "Buffers are cut into equal chunks, the last one padded.",
)
_PIPELINED = "The message flows in pieces so small that filling the pipeline costs latency only."
_ALONE = "One rank has nobody to send to."
_OMITTED = ("The arithmetic of a reduction, packet headers, and the start of the call itself.",)


@dataclass(frozen=True, repr=False)
class Collective(Explained):
    """What a collective costs; made by the functions of this module."""

    seconds: float
    bytes_per_rank: int  # sent by the busiest rank
    steps: int  # messages that follow one another


def all_reduce(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank ends with the sum of all buffers. nbytes: the buffer on each rank.

    "ring" is a reduce-scatter and an all-gather. "ring-full" is the naive ring that passes whole buffers round: fewer
    steps, n/2 times the bytes.
    """
    N, n = _sizes(nbytes, ranks)
    plans = {
        "ring": (2 * (n - 1), "2·(n - 1)", 2 * (n - 1) * _chunk(N, n), "2·(n - 1)·ceil(N/n)"),
        "tree": (2 * _doublings(n), "2·ceil(log2(n))", min(n, 4) * _chunk(N, 2), "min(n, 4)·ceil(N/2)"),
        "ring-full": (n - 1, "n - 1", (n - 1) * N, "(n - 1)·N"),
    }
    return _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=("tree",))


def reduce_scatter(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank ends with one chunk of the sum of all buffers. nbytes: the assembled buffer, which each rank holds."""
    return _scattered_or_gathered(nbytes, ranks, bandwidth, latency, algorithm)


def all_gather(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank holds one chunk and ends with all of them. nbytes: the assembled buffer (n times the chunk)."""
    return _scattered_or_gathered(nbytes, ranks, bandwidth, latency, algorithm)


def all_to_all(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank sends a different chunk to every other. nbytes: each rank's send buffer, the chunk to itself included.

    "ring" sends each chunk directly: in step i to the rank i places on, which takes a switch or a full mesh.
    """
    N, n = _sizes(nbytes, ranks)
    chunk, hops = _chunk(N, n), _ones_below(n)
    plans = {
        "ring": (n - 1, "n - 1", (n - 1) * chunk, "(n - 1)·ceil(N/n)"),
        "tree": (_doublings(n), "ceil(log2(n))", hops * chunk, "h·ceil(N/n)"),
    }
    return _collective(plans, algorithm, N, n, bandwidth, latency, h=hops)


def broadcast(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank ends with the message of one. nbytes: the message. "ring" hands it on piece by piece, in a chain."""
    N, n = _sizes(nbytes, ranks)
    plans = {
        "ring": (n - 1, "n - 1", N, "N"),
        "tree": (_doublings(n), "ceil(log2(n))", _doublings(n) * N, "ceil(log2(n))·N"),
    }
    return _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=("ring",))


def point_to_point(*, nbytes, bandwidth, latency=0.0, ranks=2) -> Collective:
    """One rank sends a message to another. nbytes: the message."""
    N, n = _sizes(nbytes, ranks)
    if n != 2:
        raise ValueError(f"ranks={ranks!r} must be 2: one rank sends and one receives. `broadcast` reaches more.")
    return _collective({"ring": (1, "1", N, "N")}, "ring", N, n, bandwidth, latency)


def hierarchical_all_reduce(
    *, nbytes, ranks_per_node, nodes, bandwidth, network_bandwidth, latency=0.0, network_latency=0.0
) -> Collective:
    """An all-reduce in three phases: reduce-scatter in each node, all-reduce across nodes, all-gather in each node.

    Each phase is a ring, and in the middle one every rank sends its own chunk through its own share of the network:
    bandwidth: of one rank inside its node; network_bandwidth: of one rank out of its node (8 adapters of 50e9 B/s on
    8 ranks are 50e9). The phases follow each other; nbytes: the buffer on each rank.
    """
    N, g = _sizes(nbytes, ranks_per_node, "ranks_per_node")
    m = units.count(nodes, "nodes")
    W, V = units.bandwidth(bandwidth), units.bandwidth(network_bandwidth, "network_bandwidth")
    a, b = units.latency(latency), units.latency(network_latency, "network_latency")
    chunk = _chunk(N, g)
    inside, across = (g - 1) * chunk, 2 * (m - 1) * _chunk(chunk, m)
    return Collective(
        seconds=2 * ((g - 1) * a + inside / W) + 2 * (m - 1) * b + across / V,
        bytes_per_rank=2 * inside + across,
        steps=2 * (g - 1) + 2 * (m - 1),
        derivation=(
            ("steps", "2·(g - 1) + 2·(m - 1)", ""),
            ("bytes_per_rank", "2·(g - 1)·ceil(N/g) + 2·(m - 1)·ceil(ceil(N/g)/m)", "B"),
            ("seconds", "2·(g - 1)·(a + ceil(N/g)/W) + 2·(m - 1)·(b + ceil(ceil(N/g)/m)/V)", "s"),
        ),
        values={"N": N, "g": g, "m": m, "W": W, "V": V, "a": a, "b": b},
        symbols=_SYMBOLS,
        assumptions=_ASSUMPTIONS,
        omitted=_OMITTED,
    )


def _scattered_or_gathered(nbytes, ranks, bandwidth, latency, algorithm) -> Collective:
    """A reduce-scatter or an all-gather: the same messages, in opposite order."""
    N, n = _sizes(nbytes, ranks)
    sent = (n - 1) * _chunk(N, n), "(n - 1)·ceil(N/n)"
    plans = {"ring": (n - 1, "n - 1", *sent), "tree": (_doublings(n), "ceil(log2(n))", *sent)}
    return _collective(plans, algorithm, N, n, bandwidth, latency)


def _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=(), **values) -> Collective:
    """The Collective of one plan: (steps, their formula, bytes that the busiest rank sends, their formula)."""
    steps, steps_text, sent, sent_text = plans[units.choice(algorithm, "algorithm", plans)]
    assumptions = (*_ASSUMPTIONS, _PIPELINED) if algorithm in pipelined else _ASSUMPTIONS
    if n == 1:
        steps, steps_text, sent, sent_text, assumptions = 0, "0", 0, "0", (_ALONE,)
    W, a = units.bandwidth(bandwidth), units.latency(latency)
    return Collective(
        seconds=steps * a + sent / W,
        bytes_per_rank=sent,
        steps=steps,
        derivation=(
            ("steps", steps_text, ""),
            ("bytes_per_rank", sent_text, "B"),
            ("seconds", "steps·a + bytes_per_rank/W", "s"),
        ),
        values={"N": N, "n": n, "W": W, "a": a, "steps": steps, "bytes_per_rank": sent, **values},
        symbols=_SYMBOLS,
        assumptions=assumptions,
        omitted=_OMITTED,
    )


def _sizes(nbytes, ranks, name: str = "ranks") -> tuple[int, int]:
    return units.count(nbytes, "nbytes"), units.count(ranks, name)


def _chunk(nbytes: int, pieces: int) -> int:
    return -(-nbytes // pieces)


def _ones_below(n: int) -> int:
    """Ones among the binary digits of 0 to n − 1, summed over the places: 0, 1, 0, 1 … then 0, 0, 1, 1 … and so on."""
    places = ((1 << i, n % (2 << i)) for i in range(n.bit_length()))
    return sum((n - rest) // 2 + max(0, rest - half) for half, rest in places)


def _doublings(n: int) -> int:
    """ceil(log2(n)): how often 1 must double to reach n."""
    return (n - 1).bit_length()
