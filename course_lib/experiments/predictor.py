"""Seconds for an operation or a model on one thread of this processor: a roofline whose roofs were measured.

A plain roofline, max(FLOPs/peak, bytes/bandwidth), misses by a factor of up to 7 on a processor: small operands come
from caches, exponentials wait for arithmetic that is no multiplication, skinny products pack their operands, and fresh
memory has to be brought in by the system. So each kind of operation has a formula of its own, whose few coefficients
follow from the calibration (`calibration.OPERATIONS`, part of the profile that `course doctor` keeps):

* matrix product: c + F/P + a·mk + b·kn + d·mn, plus more for padding at the edges, for large results and for weights
  that come from memory; with few rows at most as many matrix-vector products;
* pass over tensors: c + max(elements · cost of the function, bytes / bandwidth of that working set);
* function of rows: c + max(rows·r + elements·e, bytes / bandwidth);
* gather: c + rows·r + b·bytes / bandwidth; attention: c + scores·(width·a + e) + b·loaded keys and values;
* a new result: more for each byte, from the size on at which the system hands out fresh memory; near that size it
  depends on what was allocated before, and the interval covers both.

The coefficients minimise the squared relative error over the calibration and are not negative. What they leave over
there is the stated uncertainty: `low` and `high` lie two standard deviations, and at least a factor of 1.25, from
`seconds`. It holds for times of an undisturbed thread, as the calibration measures them; for several threads nothing
is predicted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from course_lib.accounting import units
from course_lib.accounting.units import FrozenDict
from course_lib.experiments import calibration, workload
from course_lib.experiments.workload import (
    COSTLY,
    FP32,
    KINDS,
    Attention,
    Calls,
    Elementwise,
    Gather,
    Matmul,
    Operation,
    Rowwise,
)

FLOOR = 1.25  # the same call moves by up to a third between two runs on a shared machine
LINE = 64 // FP32  # numbers in a cache line: rows of another length do not start on one
TILE_ROWS = 8  # rows and LINE columns make a tile of a product: at the edges part of it is padding
FEW_ROWS = 8  # below this a product may run as matrix-vector products, and its time does not fit the others

# Which resource each term of the formulas stands for.
_BOUND = {"call": "overhead", "calls": "overhead"} | dict.fromkeys(
    ("arithmetic", "edges of tiles", "per element", "per row"), "compute"
)


@dataclass(frozen=True)
class Prediction:
    """Seconds of undisturbed processor time, with the interval in which about nine of ten measurements lie.

    bound: "compute", "memory" or "overhead", whichever takes most. why: the terms in words. parts: name -> seconds.
    undecided: a new result of a size that the system hands out fresh or not, depending on what was freed before:
    `seconds` is one of the two, the interval covers both.
    """

    seconds: float
    low: float
    high: float
    bound: str
    why: str
    parts: Mapping[str, float]
    undecided: bool = False

    def __str__(self) -> str:
        low, middle, high = (units.format_seconds(value) for value in (self.low, self.seconds, self.high))
        return f"{middle} ({low} to {high}), {self.bound}-bound: {self.why}"


class Predictor:
    """Predicts from the raw measurements of a profile; nothing is measured and torch is not needed.

    profile: the content of the profile file (`profile.read()`), or of `profile.measure()`. ValueError where it has no
    calibration.
    """

    def __init__(self, profile: Mapping):
        raw = profile.get("raw", {}).get("cpu", {})
        if "one_thread" not in raw:
            raise ValueError(
                "profile has no calibration of one thread, because it was measured quickly or by an older course: "
                "run `course doctor`."
            )
        self.cache = raw["last_level_cache"]
        records = [(_operation(record), record["seconds"]) for record in raw["one_thread"]["operations"]]
        missing = [operation for operation in calibration.OPERATIONS if operation not in dict(records)]
        if missing:
            raise ValueError(
                f"profile lacks {len(missing)} of the {len(calibration.OPERATIONS)} operations that calibrate the "
                f"predictor, such as {missing[0]}: run `course doctor`."
            )
        self._traffic = _Traffic(records)
        self._fits = {
            group: _Fit.of([(self._terms(operation), seconds - self._fresh(operation)) for operation, seconds in found])
            for group, found in _groups(records).items()
        }
        self.spread = FrozenDict(self._spread(records))

    def predict(self, operation: Operation) -> Prediction:
        """Seconds of one call of `operation`. ValueError where it is of no kind that was calibrated."""
        if type(operation) not in KINDS.values():
            raise ValueError(
                f"operation={operation!r} is of no kind that is predicted: "
                f"{', '.join(f'workload.{name}' for name in KINDS)}."
            )
        parts = self._parts(operation)
        seconds, factor = sum(parts.values()), self.spread[type(operation).__name__]
        fresh = self._fresh(operation)
        least, most = self._traffic.fresh_range(operation.result_bytes) if operation.new else (fresh, fresh)
        bounds: dict[str, float] = {}
        for name, part in parts.items():
            bound = _BOUND.get(name, "memory")
            bounds[bound] = bounds.get(bound, 0.0) + part
        return Prediction(
            seconds=seconds,
            low=(seconds - fresh + least) / factor,
            high=(seconds - fresh + most) * factor,
            bound=max(bounds, key=bounds.__getitem__),
            why=_in_words(parts),
            parts=FrozenDict(parts),
            undecided=most - least > seconds - fresh,
        )

    def predict_model(self, model, batch: int, seq: int, *, attention: str = "sdpa", step: bool = False) -> Prediction:
        """Seconds of a forward pass of a decoder, or of a training step, on one thread in fp32.

        model: `models.Transformer`, built as GPT-2 or Llama. attention: "sdpa" or "eager". The uncertainties of
        operations of one kind are added: they err in the same direction. ValueError, with the reason, for other models.
        """
        listed = (workload.step if step else workload.forward)(model, batch, seq, attention, self.cache)
        by_bound: dict[str, float] = {}
        by_part: dict[str, float] = {}
        low = high = 0.0
        for name, operation, times in listed:
            found = self.predict(operation)
            by_part[name] = by_part.get(name, 0.0) + times * found.seconds
            by_bound[found.bound] = by_bound.get(found.bound, 0.0) + times * found.seconds
            low, high = low + times * found.low, high + times * found.high
        return Prediction(
            seconds=sum(by_part.values()),
            low=low,
            high=high,
            bound=max(by_bound, key=by_bound.__getitem__),
            why=_in_words(by_part),
            parts=FrozenDict(by_part),
        )

    # ------------------------------------------------------------ formulas

    def _parts(self, operation: Operation) -> dict[str, float]:
        """Term -> seconds."""
        parts = self._formula(operation)
        fresh = self._fresh(operation)
        return {**parts, "fresh memory": fresh} if fresh else parts

    def _formula(self, operation: Operation) -> dict[str, float]:
        """Term -> seconds, but for fresh memory."""
        fit = self._fits.get(_group(operation))
        parts = fit.parts(self._terms(operation)) if fit else {"call": self._traffic.call}
        if isinstance(operation, Matmul) and 1 < operation.m < FEW_ROWS:
            return self._few_rows(operation)
        if isinstance(operation, Elementwise | Rowwise):
            return self._slower(operation, parts)
        return parts

    def _few_rows(self, operation: Matmul) -> dict[str, float]:
        """As many matrix-vector products, or a product of `FEW_ROWS` rows some of which are padding."""
        single, padded = (replace(operation, m=rows) for rows in (1, FEW_ROWS))
        one = self._fits["matrix-vector"].parts(self._terms(single))
        rows = {name: part if name == "cold weights" else operation.m * part for name, part in one.items()}
        return min(rows, self._fits["matrix product"].parts(self._terms(padded)), key=lambda terms: sum(terms.values()))

    def _slower(self, operation: Elementwise | Rowwise, parts: dict[str, float]) -> dict[str, float]:
        """Arithmetic and traffic overlap: the longer of the two, beside the call."""
        call = parts.pop("call", 0.0)
        traffic = self._traffic.seconds(operation.bytes)
        found = {"call": call, **(parts if sum(parts.values()) > traffic else {"traffic": traffic})}
        if operation.cold:
            found["cold operands"] = self._traffic.cold(operation)
        return found

    def _terms(self, operation: Operation) -> dict[str, float]:
        """What the coefficients of the operation's formula multiply."""
        match operation:
            case Matmul(m=m, n=n) if min(m, n) == 1:
                return {"call": 1, "weights": operation.weight_bytes, **self._cold_weights(operation)}
            case Matmul(m=m, k=k, n=n, batch=batch):
                large = batch * m * n if m * n * FP32 > self.cache / 4 else 0
                padded = -(-m // TILE_ROWS) * TILE_ROWS * -(-n // LINE) * LINE
                return {
                    "call": 1,
                    "arithmetic": operation.flops,
                    "edges of tiles": 2 * batch * k * (padded - m * n),
                    "left operand": batch * m * k,
                    "right operand": batch * k * n,
                    "result": batch * m * n,
                    "large result": large,
                    "rows off the cache lines": large if n % LINE else 0,
                    **self._cold_weights(operation),
                }
            case Elementwise(elements=elements):
                return {"call": 1, "per element": elements}
            case Rowwise(rows=rows, elements=elements):
                return {"call": 1, "per row": rows, "per element": elements}
            case Gather(rows=rows, result_bytes=nbytes, cold=cold):
                warm = {"call": 1, "per row": rows, "traffic": self._traffic.seconds(2 * nbytes)}
                return warm | {"per cold row": rows * cold, "cold rows' bytes": nbytes * cold}
            case Attention(scores=scores, width=width, loaded=loaded):
                return {"call": 1, "arithmetic": scores * width, "per element": scores, "keys and values": loaded}
            case Calls(calls=calls):
                return {"calls": calls}
        raise TypeError(f"no formula is fitted for the operation {operation!r}")

    def _cold_weights(self, operation: Matmul) -> dict[str, float]:
        """Bytes of the weights that come from memory: where the call says so, and where no cache holds them."""
        nbytes = operation.weight_bytes
        return {"cold weights": nbytes if operation.cold or nbytes > self.cache else 0}

    def _fresh(self, operation: Operation) -> float:
        return self._traffic.fresh(operation.result_bytes) if operation.new else 0.0

    # ------------------------------------------------------------ uncertainty

    def _spread(self, records: Sequence[tuple[Operation, float]]) -> dict[str, float]:
        """Kind -> factor: two standard deviations of log(predicted/measured) over the calibration, at least FLOOR."""
        misses: dict[str, list[float]] = {}
        for operation, seconds in records:
            miss = math.log(sum(self._parts(operation).values()) / seconds)
            misses.setdefault(type(operation).__name__, []).append(miss)
        return {
            kind: max(FLOOR, math.exp(2 * math.sqrt(sum(miss**2 for miss in found) / len(found))))
            for kind, found in misses.items()
        }


def _in_words(parts: Mapping[str, float]) -> str:
    """The terms that make up at least a twentieth, the largest first."""
    total = sum(parts.values())
    listed = sorted(parts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {part / total:.0%}" for name, part in listed if part >= total / 20)


def _operation(record: Mapping) -> Operation:
    sizes = {key: value for key, value in record.items() if key not in ("kind", "seconds")}
    return KINDS[record["kind"]](**sizes)


def _group(operation: Operation) -> str:
    """Operations with the same coefficients."""
    match operation:
        case Matmul(m=m, n=n):
            return "matrix-vector" if min(m, n) == 1 else "matrix product"
        case Elementwise(function=function) | Rowwise(function=function):
            return function
        case Attention(backward=backward):
            return "attention backward" if backward else "attention"
    return type(operation).__name__


def _groups(records: Sequence[tuple[Operation, float]]) -> dict[str, list[tuple[Operation, float]]]:
    """Group -> calibration operations that its coefficients follow from."""
    groups: dict[str, list[tuple[Operation, float]]] = {}
    for operation, seconds in records:
        few = isinstance(operation, Matmul) and 1 < operation.m < FEW_ROWS
        fitted = not isinstance(operation, Elementwise) or operation.function in COSTLY
        if fitted and not few:
            groups.setdefault(_group(operation), []).append((operation, seconds))
    return groups


# ---------------------------------------------------------------- traffic


class _Traffic:
    """What bytes cost on one thread: by working set, and in fresh memory."""

    def __init__(self, records: Sequence[tuple[Operation, float]]):
        passes = [(operation, seconds) for operation, seconds in records if isinstance(operation, Elementwise)]
        add = {operation.elements: seconds for operation, seconds in passes if operation.function == "add"}
        copies = {(op.elements, op.new): seconds for op, seconds in passes if op.function == "copy"}
        smallest = min(add)
        self.call = add[smallest]
        self._stairs = [
            (12 * elements, 12 * elements / max(seconds - self.call, 0.1 * seconds))
            for elements, seconds in sorted(add.items())
            if elements > smallest
        ]
        self._fresh = [
            (FP32 * elements, max(copies[elements, True] - copies[elements, False], 0.0) / (FP32 * elements))
            for elements in sorted({elements for elements, _ in copies})
        ]

    def bandwidth(self, nbytes: float) -> float:
        """B/s of a pass whose operands take `nbytes` together; between two steps interpolated by their logarithms."""
        return _interpolated(self._stairs, nbytes)

    def seconds(self, nbytes: int) -> float:
        return nbytes / self.bandwidth(nbytes)

    def cold(self, operation: Elementwise | Rowwise) -> float:
        """Extra seconds where the operands come from main memory and not from the cache that would hold them."""
        read = operation.bytes - operation.result_bytes
        return max(0.0, read / self._stairs[-1][1] - read / self.bandwidth(operation.bytes))

    def fresh(self, nbytes: int) -> float:
        """Extra seconds of a new result of `nbytes`: what the nearest measured size needed for each byte."""
        if not nbytes:
            return 0.0
        nearest = min(self._fresh, key=lambda step: abs(math.log(step[0] / nbytes)))
        return nbytes * nearest[1]

    def fresh_range(self, nbytes: int) -> tuple[float, float]:
        """The least and the most that it may be: what the measured sizes on both sides needed for each byte."""
        below = [cost for size, cost in self._fresh if size <= nbytes][-1:]
        above = [cost for size, cost in self._fresh if size >= nbytes][:1]
        return nbytes * min(below + above), nbytes * max(below + above)


def _interpolated(steps: Sequence[tuple[float, float]], x: float) -> float:
    if x <= steps[0][0]:
        return steps[0][1]
    for (left, low), (right, high) in pairwise(steps):
        if x <= right:
            share = math.log(x / left) / math.log(right / left)
            return math.exp((1 - share) * math.log(low) + share * math.log(high))
    return steps[-1][1]


# ---------------------------------------------------------------- fit


@dataclass(frozen=True)
class _Fit:
    """Coefficients in seconds for each unit of a term."""

    coefficients: Mapping[str, float]

    @classmethod
    def of(cls, points: Sequence[tuple[Mapping[str, float], float]]) -> "_Fit":
        """The coefficients, none negative, that minimise Σ (predicted/measured - 1)² over (terms, seconds) points."""
        names = [name for name in points[0][0] if any(terms[name] for terms, _ in points)]
        while True:
            rows = [[terms[name] / seconds for name in names] for terms, seconds in points]
            solution = dict(zip(names, _least_squares(rows), strict=True))
            worst = min(solution, key=lambda name: solution[name] * max(terms[name] / s for terms, s in points))
            if solution[worst] >= 0:
                return cls(FrozenDict(solution))
            names.remove(worst)

    def parts(self, terms: Mapping[str, float]) -> dict[str, float]:
        parts = {name: each * terms[name] for name, each in self.coefficients.items()}
        return {name: seconds for name, seconds in parts.items() if seconds}


def _least_squares(rows: Sequence[Sequence[float]]) -> list[float]:
    """x that minimises Σ (row·x - 1)², by the normal equations of the scaled columns and Gaussian elimination."""
    scale = [max(abs(row[j]) for row in rows) for j in range(len(rows[0]))]
    scaled = [[value / unit for value, unit in zip(row, scale, strict=True)] for row in rows]
    size = len(scale)
    system = [
        [sum(row[i] * row[j] for row in scaled) + (1e-9 if i == j else 0.0) for j in range(size)]
        + [sum(row[i] for row in scaled)]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(system[r][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for r in range(size):
            if r != i:
                factor = system[r][i] / system[i][i]
                system[r] = [a - factor * b for a, b in zip(system[r], system[i], strict=True)]
    return [system[i][size] / system[i][i] / scale[i] for i in range(size)]
