"""How each part of the profile is measured; `steps` says which parts there are, in which order.

Each function times for about its `budget` in seconds and writes what it found to `raw`.
"""

from course_lib.experiments.running import calls, timing
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable

LONGEST = 0.5  # s; a matrix product that would take longer is left out
MB = 10**6


def record(repeats: timing.Repeats, amount: float | None = None) -> dict:
    """A measurement as it is kept: median, quartiles, repeats, and the rate at which `amount` (FLOP, B, elements, rows)
    was done.
    """
    first, third = repeats.quartiles
    kept = {"median": repeats.median, "q1": first, "q3": third, "seconds": list(repeats.values)}
    return kept if amount is None else {**kept, "rate": amount / repeats.median}


# ---------------------------------------------------------------- arithmetic


def gemm(bench: Bench, dtype: str, sides: tuple[int, ...], budget: float, raw: dict) -> None:
    """2·n³ FLOP in `dtype` for each n, as far as they take no more than about `LONGEST`."""
    kept = raw["gemm"].setdefault(dtype, {})
    with timing.fp32_products(bench.torch, dtype):
        for n in sides:
            if str(n // 2) in kept and 8 * min(kept[str(n // 2)]["seconds"]) > LONGEST:
                return
            try:
                build = calls.fp8_product(n) if dtype.startswith("fp8") else calls.product(n, n, n, dtype)
                call = build(bench)
            except Unavailable:  # fp8 needs a torch built for it
                del raw["gemm"][dtype]
                return
            repeats = timing.measure_whole(call, seconds=budget / len(sides), at_least=3)
            # the better of two rounds: it is a ceiling
            if str(n) not in kept or repeats.median < kept[str(n)]["median"]:
                kept[str(n)] = record(repeats, 2 * n**3)


def functions(bench: Bench, budget: float, raw: dict) -> None:
    """Elements per second of functions that wait for arithmetic, beside a copy: a megabyte, which caches hold.

    On a processor by one thread.
    """
    torch, rows, width = bench.torch, 512, 512
    x, out = bench.random(rows, width), bench.empty(rows, width)
    forms = {
        "copy": lambda: out.copy_(x),
        "exp": lambda: torch.exp(x, out=out),
        "erf": lambda: torch.erf(x, out=out),
        "tanh": lambda: torch.tanh(x, out=out),
        "gelu": lambda: torch.nn.functional.gelu(x),
        "softmax": lambda: torch.softmax(x, -1),
        "layer norm": lambda: torch.nn.functional.layer_norm(x, (width,)),
    }
    seconds = budget / len(forms)
    with timing.single_thread(torch):
        raw["functions"] = {
            name: record(timing.measure_whole(call, seconds=seconds, at_least=3), rows * width)
            for name, call in forms.items()
        }


# ---------------------------------------------------------------- bytes


def add(bench: Bench, elements: int, seconds: float) -> timing.Repeats:
    """Repeats of a + b into c, arrays of `elements` numbers."""
    return timing.measure_whole(calls.addition(elements, "fp32")(bench), seconds=seconds)


def memory_bandwidth(bench: Bench, elements: int, budget: float, raw: dict) -> None:
    """Rate of the addition on large arrays; several rounds are pooled."""
    repeats = add(bench, elements, budget)
    rounds = [*raw["bandwidth"].get("rounds", []), list(repeats.values)]
    pooled = timing.Repeats(tuple(s for round_ in rounds for s in round_))
    raw["bandwidth"] = {"array_bytes": 4 * elements, **record(pooled, 12 * elements), "rounds": rounds}


def staircase(bench: Bench, largest: int, budget: float, raw: dict) -> None:
    """Rate of the same addition by working set (all three arrays together, in bytes), doubling from 24 KiB on."""
    working_sets = [24 * 1024]
    while 2 * working_sets[-1] <= largest:
        working_sets.append(2 * working_sets[-1])
    raw["staircase"] = {
        str(size): record(add(bench, size // 12, budget / len(working_sets)), size) for size in working_sets
    }


def latency(bench: Bench, budget: float, raw: dict) -> None:
    """Seconds of a hop in a random cycle, by working set; what cannot be chased is left out with the reason."""
    from course_lib.experiments.measurements import pointer_chase  # experiments read the profile, so they come later

    sizes = tuple(2**power for power in (15, 18, 21, 24, 27))
    apart = pointer_chase.APART["cpu" if bench.on == "cpu" else "gpu"]
    raw["latency"] = {}
    for size in sizes:
        try:
            chase, _ = pointer_chase.chaser(bench, size // apart, apart)
        except Unavailable as reason:
            raw["latency"] = {"unavailable": str(reason)}
            return
        with timing.single_thread(bench.torch):
            repeats = timing.measure_whole(chase, seconds=budget / len(sizes), at_least=3)
        raw["latency"][str(size)] = record(repeats.scaled(1 / pointer_chase.HOPS))


def fresh_allocation(bench: Bench, budget: float, raw: dict) -> None:
    """A copy into a new result each time, and into one that is there: the difference is what fresh memory costs.

    By size, because the C library hands small blocks out again and torch's allocator on a GPU all of them; on a
    processor by one thread.
    """
    raw["fresh_allocation"] = {}
    sizes = tuple(mebibytes * 2**20 for mebibytes in (1, 16, 64, 128))
    for size in sizes:
        x, out = bench.random(size // 4), bench.empty(size // 4)
        seconds = budget / len(sizes) / 2
        with timing.single_thread(bench.torch):
            raw["fresh_allocation"][str(size)] = {
                "new result": record(timing.measure_whole(x.clone, seconds=seconds, at_least=3), size),
                "out=": record(
                    timing.measure_whole(lambda x=x, out=out: out.copy_(x), seconds=seconds, at_least=3), size
                ),
            }


# ---------------------------------------------------------------- calls, copies, disk


def call_overhead(bench: Bench, budget: float, raw: dict) -> None:
    raw["call_overhead"]["add of 16 numbers"] = record(add(bench, 16, budget / 2))
    product = calls.product(8, 8, 8, "fp32")(bench)
    raw["call_overhead"]["matrix product 8×8×8"] = record(timing.measure_whole(product, seconds=budget / 2))


def launch(bench: Bench, budget: float, raw: dict) -> None:
    """A tiny kernel alone, from its launch until the processor knows that it is done, and one of a hundred in a row.

    The second is what a launch costs while the GPU has enough to do.
    """
    torch = bench.torch
    x = bench.empty(16)

    def alone():
        x.add_(1.0)
        torch.cuda.synchronize()

    def in_a_row():
        for _ in range(100):
            x.add_(1.0)

    raw["launch"] = {
        "alone": record(timing.measure_whole(alone, seconds=budget / 2)),
        "in a row": record(timing.measure_whole(in_a_row, seconds=budget / 2).scaled(1 / 100)),
    }


def pcie(bench: Bench, budget: float, raw: dict) -> None:
    """B/s of copies of 64 MiB between pageable and pinned memory and the GPU."""
    from course_lib.experiments.measurements import host_to_device  # experiments read the profile, so they come later

    size, ways = 64 * 2**20, host_to_device.WAYS
    raw["pcie"] = {
        way: record(timing.measure_whole(host_to_device.copy(bench, way, size), seconds=budget / len(ways)), size)
        for way in ways
    }


def disk(bench: Bench, budget: float, raw: dict) -> None:
    """B/s of reading a file of 64 MB, which the system was asked to drop from its page cache; where it cannot drop it,
    from that cache. Left out, with the reason, where there is no room for the file.
    """
    from course_lib.experiments.measurements import disk_stream  # experiments read the profile, so they come later

    size, cold = 64 * MB, hasattr(disk_stream.os, "posix_fadvise")
    try:
        with disk_stream.temporary_file(size) as file:
            rates = disk_stream.rates(file, size, disk_stream.PIECE, cold, budget)
    except (Unavailable, OSError) as problem:
        raw["disk"] = {"unavailable": str(problem) if isinstance(problem, Unavailable) else type(problem).__name__}
        return
    repeats = timing.Repeats(tuple(size / rate for rate in rates))
    raw["disk"] = {"file_bytes": size, "cold": cold, **record(repeats, size)}
