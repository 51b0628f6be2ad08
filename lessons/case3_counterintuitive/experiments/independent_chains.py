"""Latency hidden by one thread: a walk along a chain of addresses, or along several chains by turns.

As in `pointer_chase`, torch's own `index_select` walks: index and out are one buffer, and the result is the index again,
here `chains` elements further on. So element i + chains depends on element i, and `chains` walks are under way at a
time. Whether each did go along its chain is checked.
"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.calls import binary_size
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

INT64, LINE = 8, 64  # bytes of an index; bytes from node to node, so that no hop brings the next node along
HOPS = 2**14  # in one call, over all chains
NEAR, FAR = 2**18, 2**27  # B: in a cache, and far beyond the caches of most processors
CHAINS = {NEAR: (1, 8), FAR: (1, 2, 4, 8, 16, 32, 64)}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """One and eight chains near by, one to 64 far away; full has more rounds."""
    heats = {size: Heat(partial(walks, working_set=size), 5 if quick else 25) for size in CHAINS}
    return tuple(
        Case(
            say("case", "one" if chains == 1 else "many", size=binary_size(working_set), chains=chains),
            say("calls", chains=chains),
            observe=partial(_hop, heat=heats[working_set], chains=chains),
            facts={"where": binary_size(working_set), "chains": chains},
        )
        for working_set, counts in CHAINS.items()
        for chains in counts
    )


def walker(torch, table, order, chains: int):
    """(function that goes `HOPS` hops on, in turn along `chains` chains; function that says where it has been)."""
    buffer = bytearray(INT64 * (HOPS + chains))
    path, behind = (torch.frombuffer(buffer, dtype=torch.int64) for _ in range(2))
    index, out = path[:HOPS], behind[chains : chains + HOPS]
    path.zero_()  # no earlier path that a wrong order of loads could find right
    path[-chains:] = order[torch.arange(chains) * (len(order) // chains)]

    def walk():
        path[:chains] = path[-chains:].clone()
        torch.index_select(table, 0, index, out=out)

    walk()
    if not torch.equal(table[path[:HOPS]], path[chains:]):
        raise Unavailable(say("unavailable"))
    return walk, lambda: path.tolist()


def ring(torch, nodes: int):
    """(table in which each node holds the next, nodes in their order): one random cycle through all of them."""
    step = LINE // INT64
    order = torch.randperm(nodes, generator=torch.Generator().manual_seed(0)) * step
    table = torch.zeros(nodes * step, dtype=torch.int64)
    table[order] = order.roll(-1)
    return table, order


def walks(bench, working_set: int):
    """Chains -> a walk along so many in one working set."""
    table, order = ring(bench.torch, working_set // LINE)
    return {count: walker(bench.torch, table, order, count)[0] for count in CHAINS[working_set]}


def _hop(bench, seconds: float, heat: Heat, chains: int) -> list[float]:
    return [taken / HOPS for taken in heat.seconds(bench, seconds, chains)]


def plot(result):
    """Time of a hop over the number of chains, near by and far away."""
    taken = {(row["where"], row["chains"]): row["measured"] for row in result.rows}
    near, far = binary_size(NEAR), binary_size(FAR)
    title = say("title", near=taken[near, 1] / taken[near, 8], far=taken[far, 1] / taken[far, 8])
    return curves(result, x="chains", by="where", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", where="str", chains="int", hidden=("where", "chains"))
)
