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

Where each pair of ranks has a link of its own (AMD's Infinity Fabric), a rank's bandwidth is (n - 1) · that of a pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from course_lib.accounting import catalogue, hardware, units
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import Quantity, ceil, doublings, largest, of, smallest, symbol, total

_ASSUMPTIONS = (
    "Links are full duplex and no two messages share one.",
    "Buffers are cut into equal chunks, the last one padded.",
)
_PIPELINED = "The message flows in pieces so small that filling the pipeline costs latency only."
_QUEUED = "The phases follow each other: an estimate, and no lower bound."
_OVERLAPPED = "The phases overlap in small pieces; what takes longest alone takes the time: a lower bound."
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

    The switch adds up in the last two, so that their bus bandwidth, nbytes/seconds · 2(n - 1)/n, may exceed the link's.
    "in-network" (InfiniBand SHARP; Graham et al., COM-HPC 2016): each rank sends its buffer and receives the sum.
    "nvls" (NVLink SHARP): of each chunk the switch hands the sum to one rank, which sends it on to all: (n + 1)/n. A
    reduce-scatter or all-gather gains nothing: one direction then carries the whole buffer, more than in a ring.
    """
    N, n = _sizes(nbytes, ranks)
    plans = {
        "ring": (2 * (n - 1), 2 * (n - 1) * ceil(N, n)),
        "tree": (2 * doublings(n), smallest(n, 4) * ceil(N, 2)),
        "ring-full": (n - 1, (n - 1) * N),
        "in-network": (of(2), N),
        "nvls": (of(2), (n + 1) * ceil(N, n)),
    }
    return _collective(plans, algorithm, N, n, bandwidth, latency, pipelined=("tree",))


def reduce_scatter(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank ends with one chunk of the sum of all buffers. nbytes: the assembled buffer, which each rank holds."""
    return all_gather(nbytes=nbytes, ranks=ranks, bandwidth=bandwidth, latency=latency, algorithm=algorithm)


def all_gather(*, nbytes, ranks, bandwidth, latency=0.0, algorithm="ring") -> Collective:
    """Every rank holds one chunk and ends with all of them. nbytes: the assembled buffer (n times the chunk)."""
    N, n = _sizes(nbytes, ranks)
    sent = (n - 1) * ceil(N, n)
    return _collective({"ring": (n - 1, sent), "tree": (doublings(n), sent)}, algorithm, N, n, bandwidth, latency)


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
    *, nbytes, ranks_per_node, nodes, bandwidth, network_bandwidth, latency=0.0, network_latency=0.0, overlap=False
) -> Collective:
    """An all-reduce in three phases: reduce-scatter in each node, all-reduce across nodes, all-gather in each node.

    Each phase is a ring, and in the middle one every rank sends its own chunk through its own share of the network:
    bandwidth: of one rank inside its node; network_bandwidth: of one rank out of its node (8 adapters of 50e9 B/s on
    8 ranks are 50e9). nbytes: the buffer on each rank.

    overlap=False: one phase after the other, an estimate: measured runs are slower (no link reaches its rate) and
    faster (phases may overlap). overlap=True: the buffer flows through all phases in small pieces, and whatever takes
    longest alone (links in the node, network, chain of latencies) takes the time: no run of this algorithm is faster.
    """
    N = symbol("N", units.count(nbytes, "nbytes"), "nbytes")
    g = symbol("g", units.count(ranks_per_node, "ranks_per_node"), "ranks in a node")
    m = symbol("m", units.count(nodes, "nodes"), "nodes")
    (W, a), (V, b) = _link(bandwidth, latency), _link(network_bandwidth, network_latency, network=True)
    inside, across = ceil(N, g), ceil(ceil(N, g), m)
    alone = 2 * (g - 1) * a + 2 * (m - 1) * b, 2 * (g - 1) * inside / W, 2 * (m - 1) * across / V
    return Collective(
        steps=2 * (g - 1) + 2 * (m - 1),
        bytes_per_rank=2 * (g - 1) * inside + 2 * (m - 1) * across,
        seconds=largest(*alone) if units.flag(overlap, "overlap") else total(alone),
        assumptions=(*_ASSUMPTIONS, _OVERLAPPED if overlap else _QUEUED),
        omitted=_OMITTED,
    )


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


def _sizes(nbytes, ranks) -> tuple[Quantity, Quantity]:
    return symbol("N", units.count(nbytes, "nbytes"), "nbytes"), symbol("n", units.count(ranks, "ranks"), "ranks")


def _link(bandwidth, latency, network=False) -> tuple[Quantity, Quantity]:
    names = ("V", "b", "network_", " into the network", " through the network")
    W, a, own, into, through = names if network else ("W", "a", "", "", "")
    W = symbol(W, units.bandwidth(bandwidth, f"{own}bandwidth"), f"bandwidth of one rank{into}, one way, in B/s")
    return W, symbol(a, units.latency(latency, f"{own}latency"), f"latency of one step{through} in seconds")


def _ones_below(n: int) -> int:
    """Ones among the binary digits of 0 to n − 1, summed over the places: 0, 1, 0, 1 … then 0, 0, 1, 1 … and so on."""
    places = ((1 << i, n % (2 << i)) for i in range(n.bit_length()))
    return sum((n - rest) // 2 + max(0, rest - half) for half, rest in places)


# ---------------------------------------------------------------- links as they were measured

_ANOTHER = 0.02  # squared relative error that one more segment must save: 14 % on one row


@dataclass(frozen=True)
class Fit:
    """All-reduces of a group of ranks as they were measured: an α-β model for each range of sizes; made by `fit`.

    segments: from this many bytes on -> `latency` of a step in seconds, one-way `bandwidth` of a rank in B/s. points:
    the (nbytes, seconds) that they were fitted to; beyond these the first and the last segment are a guess.
    """

    ranks: int
    algorithm: str
    segments: Mapping[int, Mapping[str, float]]
    points: tuple[tuple[int, float], ...] = field(repr=False)
    source: tuple[str, str] = ()  # (title or url, date)

    def link(self, nbytes) -> dict[str, float]:
        """`latency` and `bandwidth` for a message of nbytes: of these ranks, or of others on the same links."""
        started = [start for start in self.segments if start <= units.count(nbytes, "nbytes")]
        return dict(self.segments[max(started, default=min(self.segments))])

    def all_reduce(self, nbytes) -> Collective:
        """What the fit makes of an all-reduce of nbytes among its ranks."""
        return all_reduce(nbytes=nbytes, ranks=self.ranks, algorithm=self.algorithm, **self.link(nbytes))


def fit(points, *, ranks, bandwidth, algorithm="ring", source=()) -> Fit:
    """The Fit of measured all-reduces. points: (nbytes, seconds) each; bandwidth: the link's own, which none exceeds.

    One latency and one bandwidth do not hold for all sizes, as NCCL changes protocol: LL (half of the bytes are flags)
    for small messages, LL128 (a sixteenth is) for middle ones, Simple (no flags, but waits) for large ones, and perhaps
    the algorithm. A segment has the least squared relative error to three points or more, and there are as many as pay
    for themselves. It says where the measured times bend, not which protocol ran: that is told by the log of a run
    (NCCL_DEBUG=INFO). One point alone is all bandwidth.
    """
    try:
        points = [(size, seconds) for size, seconds in points]
    except (TypeError, ValueError):
        raise ValueError(f"points={units.shortly(points)} must be pairs (nbytes, seconds).") from None
    points = tuple(sorted((units.count(size, "nbytes"), units.number(seconds, "seconds")) for size, seconds in points))
    if units.count(ranks, "ranks") < 2 or not all(seconds for _, seconds in points or [(0, 0)]):
        raise ValueError(f"points={units.shortly(points)}, ranks={ranks!r}: times above 0, of two ranks at least.")
    top = units.bandwidth(bandwidth)
    costs = [all_reduce(nbytes=size, ranks=ranks, bandwidth=top, algorithm=algorithm) for size, _ in points]
    rows = [(cost.steps / t, cost.bytes_per_rank / t) for cost, (_, t) in zip(costs, points, strict=True)]
    best = [(0.0, {})]  # of the first points: squared error and the price of the segments, segments
    for end in range(1, len(rows) + 1):
        options = [(float("inf"), {})]
        for start in range(max(end - min(3, len(rows)) + 1, 0)):
            error, latency, slope = _alpha_beta(rows[start:end], 1 / top)
            link = {"latency": latency, "bandwidth": 1 / slope}
            options.append((best[start][0] + error + _ANOTHER, {**best[start][1], points[start][0]: link}))
        best.append(min(options, key=lambda option: option[0]))
    return Fit(units.count(ranks, "ranks"), algorithm, units.FrozenDict(best[-1][1]), points, tuple(source))


def _alpha_beta(rows, least: float) -> tuple[float, float, float]:
    """(error, a ≥ 0, b ≥ least) with the least error Σ (a·x + b·y - 1)² over rows (x, y)."""
    x, y = (sum(row[i] for row in rows) for i in (0, 1))
    xx, xy, yy = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    determinant = max(xx * yy - xy * xy, 1e-9 * xx * yy)
    free = (x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant
    edges = (0.0, max(y / yy, least)), (max((x - least * xy) / xx, 0.0), least)
    inside = [(a, b) for a, b in (*edges, free) if a >= 0 and b >= least]
    errors = [(sum((a * u + b * v - 1) ** 2 for u, v in rows), a, b) for a, b in inside]
    return min(errors, key=lambda option: round(option[0], 12))


def fits() -> tuple[str, ...]:
    """Names of the published sweeps that `fitted` knows: device, ranks, and the algorithm where the run told it."""
    return tuple(catalogue.read("communication.toml")["sweep"])


def fitted(name: str, without: int | None = None) -> Fit:
    """The Fit of the rows of a published sweep, such as "h200-8-nvls"; an unknown name is a ValueError.

    without: a size in bytes whose row is left out, so that it can be predicted.
    """
    return _fitted(units.choice(name, "name", fits()), None if without is None else units.count(without, "without"))


@cache
def _fitted(name: str, without: int | None) -> Fit:
    sweep = catalogue.read("communication.toml")["sweep"][name]
    n, link = sweep["ranks"], hardware.load(sweep["device"]).link(sweep["link"])
    points = [(size, size * 2 * (n - 1) / n / rate) for size, rate in sweep["bus_bandwidth"] if size != without]
    return fit(points, ranks=n, bandwidth=link, algorithm=sweep["algorithm"], source=sweep["source"])


units.teach(globals())
