"""The roofline: a device needs at least max(FLOPs / peak, bytes / bandwidth) seconds.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009. The bytes
are those that cross the device's main memory (HBM, DRAM); compulsory traffic, as counted by `matmul` and `elementwise`
here, moves each operand once. `place_by_level` draws one roof for each level of the memory hierarchy (Ilic, Pratas,
Sousa, IEEE CAL 13(1), 2014; Yang, Kurth, Williams, CCPE 32(20), 2020).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from course_lib.accounting import flops as _flops
from course_lib.accounting import hardware, precision, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import ceil, largest, smallest, symbol
from course_lib.accounting.units import FrozenDict


@dataclass(frozen=True)
class Op:
    """Work for a device: `flops` FLOP in arithmetic of `dtype` and `bytes` B of main-memory traffic, in `calls` calls.

    `flops` and `bytes` are totals over all `calls` framework calls. A copy has flops=0.
    """

    name: str
    flops: int
    bytes: int
    dtype: str = "fp32"
    calls: int = 1

    def __post_init__(self):
        object.__setattr__(self, "flops", units.count(self.flops, "flops", minimum=0))
        object.__setattr__(self, "bytes", units.count(self.bytes, "bytes"))
        object.__setattr__(self, "dtype", precision.normalise(self.dtype))
        object.__setattr__(self, "calls", units.count(self.calls, "calls"))

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in FLOP/B."""
        return self.flops / self.bytes

    def on(self, device) -> "Place":
        """Where this work stands under the roof of `device` (an id or a `hardware.Device`), in its own dtype."""
        return place(flops=self.flops, bytes=self.bytes, device=device, dtype=self.dtype)


@dataclass(frozen=True, repr=False)
class Place(Explained):
    """Where work stands under a device's roof; made by `place`."""

    intensity: float  # FLOP/B of the work
    ridge: float  # FLOP/B at which the device's two times are equal
    bound: str  # "compute" (intensity >= ridge) or "memory"
    attainable: float  # FLOP/s: min(peak, intensity · bandwidth)
    seconds: float  # the larger of the two times


def ridge_point(device, dtype) -> float:
    """Peak FLOP/s of `dtype` over memory bandwidth, in FLOP/B: work of a lower intensity waits for memory.

    `device`: an id or a `hardware.Device`. H100, bf16: 989e12 / 3.35e12 = 295 FLOP/B.
    """
    device = hardware.resolve(device)
    return device.peak(dtype) / device.memory_bandwidth


def place(*, flops, bytes, device, dtype) -> Place:
    """Place work of `flops` FLOP that moves `bytes` B under the roof of `device` in `dtype` arithmetic.

    `seconds` is the larger of flops/peak and bytes/bandwidth: compute and traffic overlap perfectly and both run at
    data-sheet rate, so a real run takes longer. The framework call itself is not in it (see `predict_seconds`).
    """
    device = hardware.resolve(device)
    F, P = _work(flops, device, dtype)
    M = symbol("M", units.count(bytes, "bytes"), "bytes it moves")
    W = symbol("W", device.memory_bandwidth, "memory bandwidth in B/s")
    intensity, ridge = F / M, P / W
    return Place(
        intensity=intensity,
        ridge=ridge,
        bound="compute" if intensity >= ridge else "memory",
        attainable=smallest(P, intensity * W),
        seconds=largest(F / P, M / W),
        assumptions=("Compute and traffic overlap perfectly, both at the rates of the device.",),
        omitted=("The framework call itself.",),
    )


def _work(flops, device, dtype):
    """The symbols of work and of the peak that it meets."""
    F = symbol("F", units.count(flops, "flops", minimum=0), "FLOP of the work")
    return F, symbol("P", device.peak(dtype), "peak in FLOP/s")


@dataclass(frozen=True, repr=False)
class LevelPlace(Explained):
    """Where work stands under the roofs of a device's memory levels; made by `place_by_level`."""

    bound: str  # "compute" or the level that takes longest
    seconds: float  # the largest of the times
    times: Mapping[str, float] = field(hash=False)  # "compute" and each level -> seconds
    intensities: Mapping[str, float] = field(hash=False)  # level -> FLOP per byte that crosses it

    def _rows(self):
        """One line a level instead of two mappings."""
        rows = [("bound", self.bound), ("seconds", units.format_seconds(self.seconds))]
        for name, seconds in self.times.items():
            text = units.format_seconds(seconds)
            if name in self.intensities:
                text += f" at {units.format_si(self.intensities[name], 'FLOP/B')}"
            rows.append((name, text))
        return rows


def place_by_level(*, flops, bytes, device, dtype) -> LevelPlace:
    """Place work of `flops` FLOP under one roof for each memory level that it loads.

    bytes: level -> bytes that cross it, such as {"shared": 8e9, "l2": 2e9, "memory": 1e9}; "memory" is main memory, the
    others are levels that the device has. A level that is left out is not looked at. seconds is the largest of
    flops/peak and each level's bytes/bandwidth: all overlap perfectly.
    """
    device = hardware.resolve(device)
    F, P = _work(flops, device, dtype)
    if not isinstance(bytes, Mapping) or not bytes:
        raise ValueError(
            f"bytes={bytes!r} must map memory levels to bytes, such as {{'memory': 1e9}}; `place` takes one number."
        )
    times, intensities = {"compute": F / P}, {}
    for level, crossing in bytes.items():
        label = level.replace("-", "_")
        M = symbol(f"M_{label}", units.count(crossing, f"bytes[{level!r}]"), f"bytes that cross {level}")
        times[level] = M / symbol(f"W_{label}", device.bandwidth(level), f"bandwidth of {level} in B/s")
        intensities[level] = F.value / M.value
    return LevelPlace(
        bound=max(times, key=times.get),  # of equal times the first: compute, as in `place`
        seconds=largest(*times.values()),
        times=FrozenDict({level: seconds.value for level, seconds in times.items()}),
        intensities=FrozenDict(intensities),
        assumptions=("Compute and the traffic of every level overlap perfectly, all at their full rates.",),
        omitted=("The framework call itself.", "Levels that `bytes` does not name."),
    )


LAUNCHES = {"in turn": lambda launching, running: launching + running, "ahead": max}
"""How the starting of calls and their running go together: one after the other, or side by side."""


def predict_seconds(ops, *, device, launches: str | None = None) -> float:
    """Seconds for `ops` (one `Op` or an iterable), which run one after another: each takes the larger of flops/peak and
    bytes/bandwidth, and each of its calls costs `device.call_overhead` to start.

    launches: "in turn" adds Σ starts and Σ running times: a processor that starts a call runs it before the next.
    "ahead" takes the larger of the two sums: the host of a GPU queues calls while earlier ones run, so that starting
    costs nothing while the GPU has work, and decides where it has none. None takes what the kind of `device` does.
    Waiting for a result after each call (`.item()`, `synchronize()`) makes it "in turn" on a GPU too.
    `device.call_overhead` is 0 where it is not known, as of all data sheets; small calls then take too little.
    "ahead" is the least that a queue needs: a stretch of small calls before a long one may end later than the sum says.
    """
    device = hardware.resolve(device)
    listed = (ops,) if isinstance(ops, Op) else tuple(ops) if isinstance(ops, (list, tuple, Iterator)) else None
    if listed is None or not all(isinstance(op, Op) for op in listed):
        raise ValueError(
            f"ops={units.shortly(ops)} must be a roofline.Op or a list of them, such as [roofline.matmul(64, 64, 64)]."
        )
    if launches is None:
        launches = "in turn" if device.kind == "cpu" else "ahead"
    units.choice(launches, "launches", LAUNCHES)
    starting = sum(op.calls for op in listed) * device.call_overhead
    running = sum(max(op.flops / device.peak(op.dtype), op.bytes / device.memory_bandwidth) for op in listed)
    return float(LAUNCHES[launches](starting, running))


def matmul(m, k, n, dtype="fp32", batch=1, name: str | None = None) -> Op:
    """[m, k] @ [k, n], `batch` of them in one call: 2·m·k·n FLOP each, all three tensors of `dtype`.

    Compulsory traffic: both operands are read once, the result is written once.
    """
    m, k, n, batch = (units.count(v, label) for v, label in ((m, "m"), (k, "k"), (n, "n"), (batch, "batch")))
    traffic = sum(precision.nbytes(batch * rows * columns, dtype) for rows, columns in ((m, k), (k, n), (m, n)))
    title = f"matmul {m}×{k}×{n}" if batch == 1 else f"matmul {batch}×[{m}×{k}×{n}]"
    return Op(name or title, batch * _flops.matmul(m, k, n), traffic, dtype)


def tiled_matmul_bytes(m, k, n, *, tile_m, tile_n, dtype="fp32") -> Breakdown:
    """Traffic of [m, k] @ [k, n] computed tile by tile: bytes between the level that holds the tiles and the next.

    Each tile of the result, tile_m × tile_n, stays near until it is finished; for it a panel of tile_m rows of the left
    operand and one of tile_n columns of the right operand stream by. So the left operand is read once for each column
    of tiles and the right operand once for each row of tiles; every result is written once. Parts: left, right, result.
    Tiles as large as the result leave the compulsory traffic that `matmul` counts.
    """
    m = symbol("m", units.count(m, "m"), "rows of the left operand and of the result")
    k = symbol("k", units.count(k, "k"), "columns of the left operand, rows of the right one")
    n = symbol("n", units.count(n, "n"), "columns of the right operand and of the result")
    r = symbol("r", units.count(tile_m, "tile_m"), "rows of a tile of the result")
    c = symbol("c", units.count(tile_n, "tile_n"), "columns of a tile of the result")
    dtype, size = precision.normalise(dtype), precision.bytes_per_element(dtype)
    terms = {
        "left": ceil(n, c) * precision.stored(m * k, dtype),
        "right": ceil(m, r) * precision.stored(k * n, dtype),
        "result": precision.stored(m * n, dtype),
    }
    return Breakdown.from_terms(
        "B",
        terms,
        assumptions=(
            "A tile of the result and what it needs at a time fit into the near level.",
            f"A number of {dtype} takes {size} bytes.",
        ),
        omitted=("Panels that a cache still holds when the next tile reads them.",),
    )


def elementwise(elements, reads=1, writes=1, flops_per_element=1, dtype="fp32", name: str | None = None) -> Op:
    """One pass, in one call, over tensors of `elements` numbers each: `reads` tensors read, `writes` written.

    An addition of two tensors is `elementwise(n, reads=2)`: n FLOP, 3 tensors of traffic, 1/12 FLOP/B in fp32.
    """
    elements = units.count(elements, "elements")
    tensors = units.count(reads, "reads", minimum=0) + units.count(writes, "writes", minimum=0)
    work = elements * units.count(flops_per_element, "flops_per_element", minimum=0)
    return Op(name or f"elementwise {elements}", work, tensors * precision.nbytes(elements, dtype), dtype)


def fuse(ops, *, intermediates=(), reread=0, name: str | None = None) -> Op:
    """One call that does the work of `ops`, a list of `Op`s that would run one after another.

    intermediates: bytes of each result that only the others of `ops` read; it stays in registers, so one write and one
    read of it fall away. reread: bytes of reads of a tensor that another of `ops` has read before. FLOPs add up; each
    intermediate is read by one op (a further read counts in `reread`). The ops have one dtype. SiLU(x)·y of tensors of
    S bytes: fuse([silu, times], intermediates=[S]) moves 3S of 5S. ValueError where more falls away than was moved.
    """
    listed = (ops,) if isinstance(ops, Op) else tuple(ops) if isinstance(ops, (list, tuple, Iterator)) else ()
    if not listed or not all(isinstance(op, Op) for op in listed):
        raise ValueError(
            f"ops={units.shortly(ops)} must be a list of roofline.Op, such as [roofline.elementwise(1000)]."
        )
    dtypes = sorted({op.dtype for op in listed})
    if len(dtypes) > 1:
        raise ValueError(f"ops compute in {' and '.join(dtypes)}: a fused call has one dtype.")
    if isinstance(intermediates, (str, Mapping)) or not isinstance(intermediates, Iterable):
        raise ValueError(
            f"intermediates={units.shortly(intermediates)} must be a list of sizes in bytes, such as [4000]."
        )
    kept = sum(units.count(size, "intermediates") for size in intermediates)
    moved = sum(op.bytes for op in listed)
    left = moved - 2 * kept - units.count(reread, "reread", minimum=0)
    if left <= 0:
        raise ValueError(f"ops move {moved} B in all; taking away {moved - left} B leaves nothing to read or write.")
    return Op(name or "fused", sum(op.flops for op in listed), left, dtypes[0])


def recompute_limit(device, dtype) -> float:
    """FLOPs in `dtype` that take as long on `device` as writing a number and reading it again: 2 · size · ridge.

    A number that costs fewer is computed again faster than it is stored and reloaded once, where its inputs are
    at hand, nothing else hides the traffic, and arithmetic runs at its peak.
    """
    return 2 * precision.bytes_per_element(dtype) * ridge_point(device, dtype)


units.teach(globals())
