"""A plan for training on H100s: what a card holds, what it sends in a step, and what the step waits for."""

from course_lib.accounting import flops, hardware, models, parallelism, units
from course_lib.figures.plots import Axis, Bars, Figure
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("llama3-8b", "llama3-70b", "llama3.1-405b")
SEQ, MFU, CARD, NETWORK = 4096, 0.4, "h100-sxm", "infiniband-ndr"
PLANS = {  # key → ranks of a data replica, and the rest of the plan
    "ddp": (1, {}),
    "zero1": (1, {"zero_stage": 1}),
    "zero3": (1, {"zero_stage": 3}),
    "tensor": (8, {"tensor": 8, "sequence_parallel": True, "zero_stage": 1}),
    "three": (16, {"tensor": 8, "sequence_parallel": True, "pipeline": 2, "microbatches": 8, "zero_stage": 1}),
}


def strategy_map(model="llama3-70b", plan="zero3", cards=16):
    """Memory, messages and time of a step under a plan.

    model: one of `MODELS`. plan: one of `PLANS`. cards: H100s, rounded up to whole replicas. Returns something to
    display, with `.state` and `.call`. ValueError for an argument that is not offered.
    """
    controls = {
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}),
        "plan": Choice(say("controls", "plan"), {key: say("plans", key) for key in PLANS}),
        "cards": Whole(say("controls", "cards"), start=16, low=1, high=1024),
    }
    return build(view, controls, {"model": model, "plan": plan, "cards": cards}, "explorer.strategy_map")


def view(model: str, plan: str, cards: int) -> View:
    """The picture and the numbers of one state."""
    each, rest = PLANS[plan]
    cards = -(-cards // each) * each
    layout = parallelism.Plan(data=cards // each, **rest)
    batch = layout.data * layout.microbatches
    how = {"batch": batch, "seq": SEQ, "recompute": "full"}
    held = int(parallelism.rank_memory(model, layout, **how))
    sent = parallelism.traffic(model, layout, **how)
    chip, network = hardware.load(CARD), hardware.link(NETWORK).bandwidth
    work = int(flops.training_step(model, batch=1, seq=SEQ)) * batch * 4 / 3 / cards  # a forward pass more
    seconds = {"compute": work / (MFU * chip.peak("bf16"))}
    for kind in ("data", "tensor", "pipeline"):
        rate = chip.link("nvlink") if kind == "tensor" or cards <= 8 else network
        seconds[kind] = int(sent.parts.get(kind, 0)) / rate
    waits = sum(seconds.values()) - seconds["compute"]
    numbers = {"held": held / 1e9, "part": seconds["compute"] / sum(seconds.values()), "cards": cards}
    fits = "fits" if held <= chip.memory_capacity else "full"
    names = tuple(say("bars", kind) for kind in seconds)
    told = {**{kind: units.format_seconds(value) for kind, value in seconds.items()}, **numbers}
    figure = Figure(
        title=say("title", fits, **numbers),
        description=say("description", model=models.load(model).name, plan=say("plans", plan), **told),
        x=Axis("", categories=names),
        y=Axis(say("axis"), "s", 0, 1.1 * max(seconds.values())),
        marks=(Bars(tuple(seconds.values())),),
    )
    readout = {
        "cards": f"{cards:,}",
        "memory": f"{held / 1e9:.1f} GB",
        "batch": say("sequences", "one" if batch == 1 else "many", count=batch),
        "sent": units.format_bytes(int(sent)),
        "compute": units.format_seconds(seconds["compute"]),
        "waits": units.format_seconds(waits),
    }
    return View(figure, say.rows(readout), say.all("notes"))
