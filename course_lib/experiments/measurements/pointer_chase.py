"""Latency: the time of one hop when each address is known only after the load before has come back.

On a processor torch itself chases. `index_select` copies table[index[k]] to out[k], one after another; here index and
out are the same memory, one element apart, so each result is the next index: index[k + 1] = table[index[k]]. torch
refuses such an overlap when it sees it; two storages made from one buffer hide it. Whether every load did wait for the
one before is checked: only then is the path right. On a GPU one thread of a Triton kernel chases.
"""

from course_lib.accounting import hardware
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.calls import binary_size
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

INT64 = 8  # bytes of an index
HOPS = 2**14  # in one call: the path takes 128 KiB, which an L2 cache holds, and the call about 0.2 ns of each hop
APART = {"cpu": 64, "gpu": 128}  # B from node to node: one cache line, so that no hop brings the next node along


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Working sets from 16 KiB to 256 MiB, four times larger each; full has those between, and 1 GiB."""
    sizes = [2**14 * 4**step for step in range(8)] if quick else [2**14 * 2**step for step in range(17)]
    return tuple(_case(size, APART["cpu" if device.kind == "cpu" else "gpu"]) for size in sizes)


def _case(working_set: int, apart: int) -> Case:
    nodes = working_set // apart

    def expect(device: hardware.Device) -> float | None:
        """None for a device that is known by its data sheet only, which states no latency."""
        return apart / device.memory_bandwidth if device.call_overhead else None

    return Case(
        binary_size(working_set),
        say("calls", "nodes", nodes=nodes, apart=apart),
        build=lambda bench: chaser(bench, nodes, apart)[0],
        share=HOPS,
        expect=expect,
        facts={"working_set": working_set},
    )


def chaser(bench: Bench, nodes: int, apart: int):
    """(function that makes `HOPS` hops further around a random cycle of `nodes`, function that gives the last node).

    The table stays as it is; every call goes on where the last one stopped, so that all nodes are met in turn. Raises
    Unavailable where this torch does not chase, or where a GPU has no Triton.
    """
    torch = bench.torch
    order = torch.randperm(nodes, generator=bench.generator, device=bench.on) * (apart // INT64)
    table = torch.zeros(nodes * apart // INT64, dtype=torch.int64, device=bench.on)
    table[order] = order.roll(-1)
    return _on_gpu(table, order[:1].clone()) if bench.on == "cuda" else _on_cpu(torch, table, order[0])


def _on_cpu(torch, table, start):
    buffer = bytearray(INT64 * (HOPS + 1))
    path, behind = (torch.frombuffer(buffer, dtype=torch.int64) for _ in range(2))
    index, out = path[:-1], behind[1:]

    def chase():
        path[0] = path[-1]
        torch.index_select(table, 0, index, out=out)

    path.zero_()  # no earlier path that a wrong order of loads could find right
    path[-1] = start
    chase()
    if not torch.equal(table[path[:-1]], path[1:]):
        raise Unavailable("This version of torch loads several values at once in index_select, so it cannot chase.")
    return chase, lambda: int(path[-1])


def _on_gpu(table, node):
    try:
        from course_lib.experiments.measurements._triton_hop import hop
    except ImportError:
        raise Unavailable("On a GPU the chase is a Triton kernel, and Triton is not installed here.") from None
    return lambda: hop[(1,)](table, node, HOPS, num_warps=1), lambda: int(node)


def plot(result):
    """Measured time of a hop by working set, and what a line would take at full bandwidth, on logarithmic axes."""
    first, last = result.rows[0], result.rows[-1]
    title = say(
        "title",
        near=quantity(first["measured"], "s"),
        small=first["case"],
        far=quantity(last["measured"], "s"),
        large=last["case"],
    )
    return curves(result, x="working_set", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", working_set="int B"), quick_seconds=0.06, full_seconds=0.4
)
