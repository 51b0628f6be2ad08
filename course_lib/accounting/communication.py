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
from course_lib.accounting.quantity import Quantity, ceil, doublings, of, smallest, symbol

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
        "ring": (2 * (n - 1), 2 * (n - 1) * ceil(N, n)),
        "tree": (2 * doublings(n), smallest(n, 4) * ceil(N, 2)),
        "ring-full": (n - 1, (n - 1) * N),
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
    hops = symbol(
        "h", _ones_below(n.value), "chunks that a rank sends in all: the ones among the binary digits of 0 to n - 1"
    )
    plans = {"ring": (n - 1, (n - 1) * ceil(N, n)), "tree": (doublings(n), hops * ceil(N, n))}
    return _collective(plans, algorithm, N, n, bandwidth, latency)


def broadcast(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank ends with the message of one. nbytes: the message. "ring" hands it on piece by piece, in a chain."""
    N, n = _sizes(nbytes, ranks)
    plans = {"ring": (n - 1, N), "tree": (doublings(n), doublings(n) * N)}
    return _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=("ring",))


def point_to_point(*, nbytes, bandwidth, latency=0.0, ranks=2) -> Collective:
    """One rank sends a message to another. nbytes: the message."""
    N, n = _sizes(nbytes, ranks)
    if n.value != 2:
        raise ValueError(f"ranks={ranks!r} must be 2: one rank sends and one receives. `broadcast` reaches more.")
    return _collective({"ring": (of(1), N)}, "ring", N, n, bandwidth, latency)


def hierarchical_all_reduce(
    *, nbytes, ranks_per_node, nodes, bandwidth, network_bandwidth, latency=0.0, network_latency=0.0
) -> Collective:
    """An all-reduce in three phases: reduce-scatter in each node, all-reduce across nodes, all-gather in each node.

    Each phase is a ring, and in the middle one every rank sends its own chunk through its own share of the network:
    bandwidth: of one rank inside its node; network_bandwidth: of one rank out of its node (8 adapters of 50e9 B/s on
    8 ranks are 50e9). The phases follow each other; nbytes: the buffer on each rank.
    """
    N, g = _sizes(nbytes, ranks_per_node, "ranks_per_node", ("g", "ranks in a node"))
    m = symbol("m", units.count(nodes, "nodes"), "nodes")
    W, a = _link(bandwidth, latency)
    V = symbol(
        "V",
        units.bandwidth(network_bandwidth, "network_bandwidth"),
        "bandwidth of one rank into the network, one way, in B/s",
    )
    b = symbol(
        "b", units.latency(network_latency, "network_latency"), "latency of one step through the network in seconds"
    )
    inside, across = ceil(N, g), ceil(ceil(N, g), m)
    return Collective(
        steps=2 * (g - 1) + 2 * (m - 1),
        bytes_per_rank=2 * (g - 1) * inside + 2 * (m - 1) * across,
        seconds=2 * (g - 1) * (a + inside / W) + 2 * (m - 1) * (b + across / V),
        assumptions=_ASSUMPTIONS,
        omitted=_OMITTED,
    )


def _scattered_or_gathered(nbytes, ranks, bandwidth, latency, algorithm) -> Collective:
    """A reduce-scatter or an all-gather: the same messages, in opposite order."""
    N, n = _sizes(nbytes, ranks)
    sent = (n - 1) * ceil(N, n)
    return _collective({"ring": (n - 1, sent), "tree": (doublings(n), sent)}, algorithm, N, n, bandwidth, latency)


def _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=()) -> Collective:
    """The Collective of one plan: (steps, bytes that the busiest rank sends)."""
    steps, sent = plans[units.choice(algorithm, "algorithm", plans)]
    assumptions = (*_ASSUMPTIONS, _PIPELINED) if algorithm in pipelined else _ASSUMPTIONS
    if n.value == 1:
        steps, sent, assumptions = of(0), of(0), (_ALONE,)
    W, a = _link(bandwidth, latency)
    steps, sent = symbol("steps", steps), symbol("bytes_per_rank", sent)
    return Collective(
        steps=steps, bytes_per_rank=sent, seconds=steps * a + sent / W, assumptions=assumptions, omitted=_OMITTED
    )


def _sizes(nbytes, ranks, argument: str = "ranks", named=("n", "ranks")) -> tuple[Quantity, Quantity]:
    return symbol("N", units.count(nbytes, "nbytes"), "nbytes"), symbol(
        named[0], units.count(ranks, argument), named[1]
    )


def _link(bandwidth, latency) -> tuple[Quantity, Quantity]:
    W = symbol("W", units.bandwidth(bandwidth), "bandwidth of one rank, one way, in B/s")
    return W, symbol("a", units.latency(latency), "latency of one step in seconds")


def _ones_below(n: int) -> int:
    """Ones among the binary digits of 0 to n − 1, summed over the places: 0, 1, 0, 1 … then 0, 0, 1, 1 … and so on."""
    places = ((1 << i, n % (2 << i)) for i in range(n.bit_length()))
    return sum((n - rest) // 2 + max(0, rest - half) for half, rest in places)


units.teach(globals())
