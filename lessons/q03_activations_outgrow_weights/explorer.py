"""The timeline: memory through one training step, block by block, and what fills it at its highest."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from course_lib.accounting import hardware, memory, units
from course_lib.accounting import models as _models
from course_lib.accounting.layers import tape
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching import markup
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tinyllama-1.1b", "llama2-7b", "llama3-8b")
ROOMY = 0.9  # of a device's memory: the lesson leaves a tenth to driver, context and fragments
_WIDTH = {"fp32": 4, "amp-bf16": 4, "bf16": 2}  # precision -> bytes of a weight, and of its gradient


def timeline(
    model="gpt2", attention="eager", recompute="none", precision="fp32", batch=16, seq=1024, device="rtx-4090"
):
    """Allocated bytes through one training step with AdamW, against the memory of `device`.

    Arguments mean what they mean in `memory.training_peak`. Returns something to display, with `.state` and `.call`.
    """
    controls = {
        "model": Choice(say("controls", "model"), MODELS),
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in hardware.names()}),
        "attention": Choice(say("controls", "attention"), ("eager", "sdpa")),
        "recompute": Choice(say("controls", "recompute"), ("none", "selective", "full")),
        "precision": Choice(say("controls", "precision"), tuple(_WIDTH)),
        "batch": Whole(say("controls", "batch"), start=16, high=1024),
        "seq": Whole(
            say("controls", "seq"),
            start=1024,
            high=32768,
            most=lambda state: _models.load(state["model"]).context,
        ),
    }
    state = {"model": model, "attention": attention, "recompute": recompute, "precision": precision}
    state |= {"batch": batch, "seq": seq, "device": device}
    return build(view, controls, state, "explorer.timeline")


def levels(model, batch, seq, precision="fp32", attention="eager", recompute="none") -> dict[str, list[int]]:
    """Phase -> allocated bytes at its instants, in order; their largest is that of `memory.training_peak`.

    forward: before it, after every block, after the loss. backward: at the worst of the loss and head; then of every
    block, from the last, its worst instant and its end. optimizer: at the end of backward, and at its own worst.
    """
    arguments = {"batch": batch, "seq": seq, "precision": precision, "attention": attention, "recompute": recompute}
    peak, kept = memory.training_peak(model, **arguments), memory.activations(model, **arguments)
    step = tape.Step(model, model.inputs(batch, seq, precision=precision, attention=attention, recompute=recompute))
    parts = dict(peak.phases["optimizer"].flat())
    block, before = int(kept["layer"]), sum(map(_bytes, step.kept.values())) + _saved(step.embedding)
    held = sum(parts[name] for name in ("weights", "optimizer_state", "inputs"))
    logits, stream = parts["logits"], step.stream.value
    made = sum(op.grads.value for op in [*step.head, *step.final_norm])  # gradients of weights so far
    of_block = sum(op.grads.value for op in step.layer)

    forward = [held, *(held + before + block * done for done in range(1, model.layers + 1))]
    forward.append(held + logits + int(kept))
    backward = [int(peak.phases["loss_backward"])]
    for left in reversed(range(model.layers)):
        saved, gradients, others = (amount.value for amount in tape.largest_instant(step.layer))
        floor = held + logits + before + block * left + made + stream
        backward += [floor + saved + gradients + others, floor + of_block]
        made += of_block
    worst = int(peak.phases["block_backward"])
    if worst > max(backward[1::2]):  # while the last block begins: the final norm, or what its forward pass holds
        backward[1] = worst
    ends = [int(peak.phases[name]) for name in ("end_of_backward", "optimizer")]
    return {"forward": forward, "backward": backward, "optimizer": ends}


def view(model, device, attention, recompute, precision, batch, seq) -> View:
    """The picture and the numbers of one state."""
    chosen, target = _models.load(model), hardware.resolve(device)
    phases = levels(chosen, batch, seq, precision, attention, recompute)
    line = [level for phase in phases.values() for level in phase]
    highest, floor = max(line), phases["forward"][0]
    kept = int(memory.activations(chosen, batch, seq, None, precision, attention, recompute))
    weights = int(chosen.parameters()) * _WIDTH[precision]
    capacity = target.memory_capacity
    phase = next(name for name, found in phases.items() if highest in found)
    moment = "loss" if (phase, highest) == ("backward", phases["backward"][0]) else phase
    values = {
        "model": model,
        "highest": units.format_bytes(highest),
        "floor": units.format_bytes(floor),
        "kept": units.format_bytes(kept),
        "risen": units.format_bytes(phases["forward"][-1] - floor),
        "device": target.name,
        "capacity": units.format_bytes(capacity),
        "share": markup.number(highest / capacity),
    }
    ends = phases["backward"][2::2]
    blocks = "fall" if ends[-1] < ends[0] else "do-not-fall"
    room = "fits" if highest <= ROOMY * capacity else "tight" if highest <= capacity else "too-much"
    top = 1.15 * max(highest, capacity if capacity < 2 * highest else 0)
    figure = Figure(
        title=say("title", room, moment, **values),
        description=" ".join(
            (say("start", **values), say("highest", moment, **values), say("blocks", blocks), say("has", **values))
        ),
        x=Axis(say("axes", "x"), "", 0, len(line) - 1),
        y=Axis(say("axes", "y"), "B", 0, top),
        marks=tuple(_marks(phases, line, capacity, top, values)),
    )
    readout = {
        "highest": values["highest"],
        "where": say("moments", moment),
        "floor": values["floor"],
        "kept": values["kept"],
        "weights": f"×{markup.number(kept / weights)}",
        "tokens": f"{batch * seq:,}",
        "device": values["capacity"],
    }
    return View(figure, say.rows(readout), say.all("notes"))


def _marks(phases: Mapping[str, list[int]], line: list[int], capacity: int, top: float, values: Mapping[str, Any]):
    """The line, its highest point, the device's memory where it is near, and the names of the phases."""
    yield Line(range(len(line)), line)
    yield Points((line.index(max(line)),), (max(line),), (values["highest"],), strong=True)
    if capacity < top:
        yield Line((0, len(line) - 1), (capacity, capacity), values["capacity"], dashed=True)
    borders = [0, *(sum(len(p) for p in list(phases.values())[: n + 1]) for n in range(len(phases)))]
    for name, (left, right) in zip(phases, pairwise(borders), strict=True):
        if name != "optimizer":
            yield Label((left + right) / 2, 0.04 * top, say("phases", name))


def _bytes(amount) -> int:
    return amount.value


def _saved(ops) -> int:
    return sum(map(_bytes, tape.by_part(ops).values()))
