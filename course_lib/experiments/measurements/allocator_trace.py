"""Bytes that torch's allocator has handed out, all through a training step; on a GPU also what it keeps reserved."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from itertools import accumulate

from course_lib.accounting import hardware, memory
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures import style
from course_lib.figures.charts import in_words, key
from course_lib.figures.figure import draw
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

PHASES = ("forward", "backward", "optimizer")
POINTS = 5  # of each phase, by its allocations and releases: 20 %, 40 % … of them
STEPS = 2  # that are traced
ENTRIES = 200_000  # of the GPU allocator's history; a traced step makes some thousands


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Fifteen points of the second step and its peak; a GPU adds reserved bytes, and twelve steps of varying length.

    Full differs from quick in nothing: bytes do not vary.
    """
    if device.kind == "cpu":
        model, batch = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=128), 4
    else:
        model, batch = tiny_gpt.describe(layers=12, d_model=768, heads=12, vocab=50257, context=1024), 4
    trace, peak = cache(partial(_observe, model, batch)), _predicted(model, batch, device)
    call = say("calls", "step", layers=model.layers, d_model=model.d_model, batch=batch, context=model.context)
    names = [f"{phase}, {100 * point // POINTS} %" for phase in PHASES for point in range(1, POINTS + 1)]
    found = [_case(name, call, number, trace, peak.get(name)) for number, name in enumerate(names, 1)]
    found.append(_case("peak", call, 0, trace, peak["peak"]))
    if device.kind == "gpu":
        found.append(_case("reserved", call, 0, trace, None))
        found += [_case(f"varying lengths: {what}", call, 0, trace, None) for what in ("peak", "reserved")]
    return tuple(found)


def _case(name: str, call: str, point: int, trace: Callable, expected: int | None) -> Case:
    """trace: bench -> the observations of all cases, which are made once."""
    return Case(
        name,
        call,
        observe=lambda bench, seconds: trace(bench)[name],
        expect=lambda device: None if expected is None else float(expected),
        facts={"point": point},
    )


def _predicted(model, batch: int, device: hardware.Device) -> dict[str, int]:
    """Point -> bytes that `accounting.memory` predicts: the ends of the phases, and the peak of the step."""
    peak = memory.training_peak(model, batch, model.context, foreach=device.kind == "gpu")
    parts = dict(peak.phases["optimizer"].flat())
    lasting = sum(parts[name] for name in ("weights", "optimizer_state", "inputs", "logits"))
    return {
        "forward, 100 %": lasting + int(memory.activations(model, batch, model.context)),
        "backward, 100 %": lasting + parts["gradients"],
        "optimizer, 100 %": lasting + parts["gradients"],
        "peak": int(peak),
    }


def _observe(model, batch: int, bench) -> dict[str, list[float]]:
    """Case -> repeats, in bytes."""
    gpu = bench.on == "cuda"
    if gpu:
        bench.torch.cuda.empty_cache()
        foreign = bench.torch.cuda.memory_reserved()
    net = tiny_gpt.build(bench, model)
    optimizer = bench.torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=gpu)
    tokens = tiny_gpt.tokens(bench, model, batch, model.context)
    tiny_gpt.training_step(net, optimizer, tokens)
    found = defaultdict(list)
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        now = highest = allocation.bytes_of([*allocation.state_of(net, optimizer), tokens])
        for phase, moved in zip(PHASES, _of_phases(bench, net, optimizer, tokens), strict=True):
            level = list(accumulate(moved, initial=now))[1:] or [now]
            for point in range(1, POINTS + 1):
                place = max(point * len(level) // POINTS - 1, 0)
                found[f"{phase}, {100 * point // POINTS} %"].append(float(level[place]))
            now, highest = level[-1], max(highest, *level)
        found["peak"].append(float(highest))
        if gpu:
            found["reserved"].append(float(bench.torch.cuda.memory_reserved() - foreign))
    return found | (_varying(bench, net, optimizer, model, batch) if gpu else {})


def _varying(bench, net, optimizer, model, batch: int) -> dict[str, list[float]]:
    """Peak of allocated bytes, and reserved bytes, after steps of as many lengths: blocks that fit no more stay."""
    cuda = bench.torch.cuda
    optimizer.zero_grad(set_to_none=True)
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    for step in range(12):
        length = model.context * (12 - step * 5 % 12) // 12
        tiny_gpt.training_step(net, optimizer, tiny_gpt.tokens(bench, model, batch, length))
    cuda.synchronize()
    return {
        "varying lengths: peak": [float(cuda.max_memory_allocated())],
        "varying lengths: reserved": [float(cuda.max_memory_reserved())],
    }


def _of_phases(bench, net, optimizer, tokens) -> list[list[int]]:
    """Of each phase of a step, the bytes handed out (positive) and taken back (negative), in order of time."""
    held = []

    def forward():
        held.append(net(tokens, labels=tokens))

    phases = (forward, lambda: held[0].loss.backward(), optimizer.step)
    return _on_gpu(bench.torch, phases) if bench.on == "cuda" else [allocation.changes(bench.torch, p) for p in phases]


def _on_gpu(torch, phases) -> list[list[int]]:
    """From the history that the caching allocator keeps when it is asked to."""
    history = torch.cuda.memory
    signs = {"alloc": 1, "free_completed": -1}

    def so_far() -> list[dict]:
        return history._snapshot()["device_traces"][torch.cuda.current_device()]

    history._record_memory_history(context=None, max_entries=ENTRIES)
    try:
        found, before = [], len(so_far())
        for phase in phases:
            phase()
            torch.cuda.synchronize()
            entries = so_far()
            found.append([signs[e["action"]] * e["size"] for e in entries[before:] if e["action"] in signs])
            before = len(entries)
        return found
    finally:
        history._record_memory_history(enabled=None)


def plot(result):
    """Allocated bytes over the points of the step, its peak, and what was predicted for the ends of its phases.

    The peak is a line from side to side: it lies between two points. Where the step starts is no point, and is lower
    than all of them; so the title says where it ends.
    """
    rows = [row for row in result.rows if row["point"]]
    peak = result.measured.get("peak")
    highest = max(peak or 0, *(row["measured"] for row in rows))
    title = say("title", highest=quantity(highest, "B"), end=quantity(rows[-1]["measured"], "B"))

    def paint(axes):
        told = [(row["point"], result.prediction[row["case"]]) for row in rows]
        axes.plot(*zip(*[(x, y) for x, y in told if y is not None], strict=True), **style.mark("predicted"))
        axes.plot([row["point"] for row in rows], [row["measured"] for row in rows], **style.mark("measured", "-"))
        for number in range(1, len(PHASES)):
            axes.axvline(number * POINTS + 0.5, color=style.FAINT, linestyle=":", marker="")
        middles = [(number + 0.5) * POINTS + 0.5 for number in range(len(PHASES))]
        axes.set_xticks(middles, PHASES)
        axes.tick_params(axis="x", length=0)
        axes.grid(visible=False, axis="x")
        axes.set_ylim(0, 1.15 * highest)
        if peak is None:
            return []
        axes.axhline(peak, color=style.MEASURED, linestyle="--", marker="")
        return [(2 * POINTS + 0.5, peak, say("peak", peak=quantity(peak, "B")))]

    return draw(
        title,
        f"{title}. {in_words(result)}",
        paint,
        x=None,
        y=(say("axis"), "B"),
        note=key(result),
        height=4,
    )


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "B", point="int", hidden=("point",)), timed=False)
