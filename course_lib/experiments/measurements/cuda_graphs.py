"""A chain of layers launched one by one, and the same chain captured in a CUDA graph and replayed with one launch."""

import time

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

LAYERS, WIDTH = 20, 1024


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Twenty layers x @ W, ReLU, for few and many rows; full has sizes between, and what the capture costs."""
    dtype = main_dtype(device)
    found = []
    for rows in (1, 16384) if quick else (1, 64, 1024, 4096, 16384):
        layer = (
            roofline.matmul(rows, WIDTH, WIDTH, dtype),
            roofline.elementwise(rows * WIDTH, reads=1, dtype=dtype, name="ReLU"),
        )
        ops, call = layer * LAYERS, say("calls", "chain", layers=LAYERS, width=WIDTH, rows=rows)
        for how, form in (("launched", lambda bench, call: call), ("graph", replayed)):
            found.append(
                Case(
                    f"{units.counted(rows, 'row')}, {how}",
                    call,
                    ops,
                    build=lambda bench, form=form, rows=rows: form(bench, _launched(bench, rows, dtype)),
                    expect=lambda device, ops=ops, how=how: _expected(device, ops, how),
                    facts={"rows": rows, "how": how},
                )
            )
    if not quick:
        found.append(
            Case(
                "capture, 1 row",
                say("calls", "capture", layers=LAYERS),
                observe=lambda bench, seconds: _captures(bench, seconds, dtype),
                facts={"rows": 1, "how": "capture"},
            )
        )
    return tuple(found)


def _expected(device: hardware.Device, ops, how: str) -> float | None:
    """Seconds of the chain: launching and running overlap, and a graph is launched once for all."""
    if not device.call_overhead:
        return None
    times = [roofline.place(flops=op.flops, bytes=op.bytes, device=device, dtype=op.dtype).seconds for op in ops]
    if how == "graph":
        return max(device.call_overhead, sum(times))
    return sum(max(device.call_overhead, seconds) for seconds in times)


def _launched(bench, rows: int, dtype: str):
    torch = bench.torch
    weights = [bench.random(WIDTH, WIDTH, dtype=dtype) for _ in range(LAYERS)]
    x, buffers = bench.random(rows, WIDTH, dtype=dtype), [bench.empty(rows, WIDTH, dtype=dtype) for _ in range(2)]

    def chain():
        y = x
        for number, weight in enumerate(weights):
            y = torch.mm(y, weight, out=buffers[number % 2]).relu_()

    return chain


def replayed(bench, call):
    """A function that replays a CUDA graph of `call()`, and keeps the memory that `call` works on."""
    graph = _captured(bench, call)

    def replay(kept=call):
        graph.replay()

    return replay


def _captured(bench, call):
    """A CUDA graph of `call`, which has run before on a stream of its own, as capturing demands."""
    torch = bench.torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def _captures(bench, seconds: float, dtype: str) -> list[float]:
    """Seconds of capturing and instantiating, warm-up included, several times."""
    kept, until = [], time.perf_counter() + seconds
    with bench.torch.inference_mode():
        call = _launched(bench, 1, dtype)
        _captured(bench, call)
        while len(kept) < 3 or time.perf_counter() < until:
            bench.torch.cuda.synchronize()
            before = time.perf_counter()
            _captured(bench, call)
            bench.torch.cuda.synchronize()
            kept.append(time.perf_counter() - before)
    return kept


def plot(result):
    times, title = result.measured, say("title", "plain")
    if {"1 row, launched", "1 row, graph"} <= set(times):
        title = say("title", "found", factor=times["1 row, launched"] / times["1 row, graph"])
    return curves(result, x="rows", title=title, axis=say("axis"), by="how")


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s", rows="int", how="str"), full_seconds=0.6)
