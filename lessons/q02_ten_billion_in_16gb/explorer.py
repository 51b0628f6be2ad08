"""The memory planner: what one rank holds in a training step, part by part, against the memory of a device."""

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from course_lib.accounting import hardware, units
from course_lib.accounting import memory as _memory
from course_lib.accounting import models as _models
from course_lib.figures.plots import Axis, Figure, Line, Stack
from course_lib.teaching import markup
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MAX_BATCH = 4096
MAX_SEQ = 1_048_576
MAX_RANKS = 65536

_WIDTH = {"fp32": 4, "amp-bf16": 4, "bf16": 2}  # precision → bytes of a weight
_STAGES = {int(stage): text for stage, text in say.table("stages").items()}
_OPTIMIZERS = {"fp32-adamw": "adamw", "fp32-sgd": "sgd", "fp32-sgd-momentum": "sgd-momentum"}  # that PyTorch has


def memory(
    model: str = "gpt2",
    batch=8,
    seq=1024,
    precision: str | None = None,
    attention: str | None = None,
    recompute: str | None = None,
    recipe: str | None = None,
    zero_stage: int = 0,
    ranks=1,
    device: str = "h100-sxm",
    convention: str | None = None,
):
    """What one rank holds when it trains `model`, and whether `device` has so much memory.

    The sum of `memory.model_state` and of what `memory.training_peak` (or, with convention="megatron",
    `memory.activations`) counts on top of it; arguments mean what they mean there. batch: sequences on this rank.
    precision: None is "amp-bf16". attention: None is "sdpa" where the convention has it. recipe: one whose weights are
    as wide as the precision's; None is the first. convention: None is "torch" where the model is described for it, else
    "megatron".
    Returns something to display, with `.state`, `.call` and `.reset()`. Raises ValueError, naming the argument.
    """
    state = {
        "model": model,
        "convention": convention,
        "precision": precision,
        "recipe": recipe,
        "attention": attention,
        "recompute": recompute,
        "zero_stage": zero_stage,
        "ranks": ranks,
        "device": device,
        "batch": batch,
        "seq": seq,
    }
    return build(memory_view, _controls(), state, "explorer.memory")


def _controls() -> dict[str, Any]:
    devices = {id: hardware.load(id).name for id in hardware.names()}
    return {
        "model": Choice(say("controls", "model"), _language_models()),
        "device": Choice(say("controls", "device"), devices),
        "convention": Choice(say("controls", "convention"), _conventions),
        "precision": Choice(say("controls", "precision"), _precisions, start="amp-bf16"),
        "recipe": Choice(say("controls", "recipe"), _recipes),
        "attention": Choice(say("controls", "attention"), _attentions, start="sdpa"),
        "recompute": Choice(say("controls", "recompute"), ("none", "selective", "full")),
        "zero_stage": Choice(say("controls", "zero_stage"), _STAGES),
        "ranks": Whole(say("controls", "ranks"), start=1, high=MAX_RANKS, slider=False),
        "batch": Whole(say("controls", "batch"), start=8, high=MAX_BATCH),
        "seq": Whole(
            say("controls", "seq"),
            start=1024,
            high=MAX_SEQ,
            most=lambda state: _models.load(state["model"]).context,
        ),
    }


# ---- What the choices leave ----


@cache
def _language_models() -> tuple[str, ...]:
    return tuple(name for name in _models.names() if isinstance(_models.load(name), _models.Transformer))


@cache
def _described(model: str) -> bool:
    """Whether it is known what autograd saves for this model."""
    try:
        _memory.activations(_models.load(model), batch=1, seq=1)
    except ValueError:
        return False
    return True


def _conventions(state: Mapping[str, Any]) -> dict[str, str]:
    known = not state or _described(state["model"])
    return {name: text for name, text in say.table("conventions").items() if known or name != "torch"}


def _precisions(state: Mapping[str, Any]) -> tuple[str, ...]:
    return ("fp32", "amp-bf16", "bf16") if state.get("convention") != "megatron" else ("amp-bf16", "bf16")


def _recipes(state: Mapping[str, Any]) -> tuple[str, ...]:
    """Recipes that train the weights, with weights as wide as the precision's."""
    width = _WIDTH[state.get("precision", "fp32")]
    known = ((name, _memory.recipe(name)) for name in _memory.recipes())
    return tuple(name for name, recipe in known if recipe.weights == width and recipe.total > recipe.weights)


def _attentions(state: Mapping[str, Any]) -> tuple[str, ...]:
    return ("eager", "sdpa") if state.get("convention") != "megatron" else ("eager",)


# ---- The view ----


def memory_view(
    model, device, convention, precision, recipe, attention, recompute, zero_stage, ranks, batch, seq
) -> View:
    """The picture and the numbers of one state; all bytes are those of `accounting.memory`."""
    chosen, target = _models.load(model), hardware.resolve(device)
    state = _memory.model_state(chosen.parameters(), recipe, zero_stage, ranks)
    work = (chosen, seq, convention, precision, attention, recompute, _OPTIMIZERS.get(recipe, "adamw"))
    parts = {name: int(part) for name, part in state.parts.items()} | _passing(batch, *work)
    total, capacity = sum(parts.values()), target.memory_capacity
    most = _largest_batch(capacity - int(state), *work)
    verdict = "fits" if total <= capacity else "batch" if most else "never"
    # as many digits as tell them apart: "16.0 of 16.0 GB does not fit" would be a riddle
    digits = next(
        (n for n in (3, 4, 5) if len({units.format_bytes(size, digits=n) for size in (total, capacity)}) > 1), 3
    )
    values = {
        "model": model,
        "batch": batch,
        "seq": seq,
        "device": target.name,
        "total": units.format_bytes(total, digits=digits),
        "capacity": units.format_bytes(capacity, digits=digits),
        "most": most,
        "share": markup.number(100 * total / capacity),
    }
    figure = Figure(
        title=say("title", verdict, **values),
        description=say("description", verdict, **values),
        x=Axis("", categories=(say("bar", **values),)),
        y=Axis(say("axes", "y"), "B", 0, _ceiling(total, capacity)),
        marks=(
            Stack({say("parts", name): (size,) for name, size in parts.items()}),
            _limit(capacity, values["capacity"]),
        ),
    )
    readout = {
        "verdict": say("verdict", verdict),
        "total": f"{values['total']} ({values['share']} %)",
        "state": units.format_bytes(int(state)),
        "rest": units.format_bytes(total - int(state)),
        "most": f"{most:,}" if most < MAX_BATCH else say("most", batch=MAX_BATCH),
    }
    known = convention == "torch" and not zero_stage and recipe in _OPTIMIZERS
    readout["freed"] = units.format_bytes(int(_peak(batch, *work))) if known else say("unknown")
    activations = _activations(batch, *work)
    notes = (
        *say.all("notes", convention),
        *state.assumptions,
        *activations.assumptions,
        *(say("notes", "state-omits", what=sentence) for sentence in state.omitted),
        *(say("notes", "activations-omit", what=sentence) for sentence in activations.omitted),
    )
    return View(figure, say.rows(readout), notes)


def _activations(batch, model, seq, convention, precision, attention, recompute, optimizer):
    return _memory.activations(model, batch, seq, None, precision, attention, recompute, convention)


def _peak(batch, model, seq, convention, precision, attention, recompute, optimizer):
    return _memory.training_peak(model, batch, seq, None, precision, attention, recompute, optimizer)


def _kept(batch, model, seq, convention, precision, attention, recompute, optimizer):
    """As `_peak`, where the gradients of the step before are still alive: the second of two equal parts of a step."""
    return _memory.accumulated_peak(model, 2 * batch, 2, seq, None, precision, attention, recompute, optimizer)


def _passing(batch: int, *work) -> dict[str, int]:
    """Part → bytes that a step holds on top of the model state, in the phase that holds most of them.

    By the formula: the activations. By autograd: also the logits with the inputs, and the temporaries, a new
    gradient among them until it is added to the one that is kept.
    """
    if "megatron" in work:
        return {"activations": int(_activations(batch, *work))}
    found = _kept(batch, *work).phases
    gradients = int(found["optimizer"]["gradients"])  # of all weights
    phases = {name: _beside_state(phase, gradients) for name, phase in found.items()}
    largest = max(phases, key=lambda name: sum(phases[name].values()))
    parts = phases[largest]
    saved = _activations(batch, *work) if largest == "loss_backward" else None
    if saved and parts["activations"] == int(saved):  # else what the loss had saved is freed already
        loss = int(saved["loss"])
        parts = {"activations": parts.pop("activations") - loss, "loss": loss, **parts}
    return {name: size for name, size in parts.items() if size}


def _beside_state(phase, gradients: int) -> dict[str, int]:
    names = ("activations", "logits", "inputs", "temporaries", "gradients")
    held = {name: int(phase.parts.get(name, 0)) for name in names}
    return {
        "activations": held["activations"],
        "logits": held["logits"] + held["inputs"],
        "temporaries": held["temporaries"] + held["gradients"] - gradients,  # a new one is added, and freed
    }


@lru_cache(maxsize=64)  # it does not change while the batch slider moves
def _largest_batch(room: int, *work) -> int:
    """The largest batch, up to MAX_BATCH, whose parts on top of the model state fit `room` B; 0 for none."""
    low, high = 0, MAX_BATCH + 1  # `low` fits, `high` does not, as far as anybody looks: more sequences never need less
    while high - low > 1 and room > 0:
        middle = (low + high) // 2
        low, high = (middle, high) if sum(_passing(middle, *work).values()) <= room else (low, middle)
    return low


def _ceiling(total: int, capacity: int) -> float:
    """The end of the axis: a quarter above the capacity, doubled until the bar has room, so that it rarely moves."""
    high = 1.25 * capacity
    while high < 1.05 * total:
        high *= 2
    return high


def _limit(capacity: int, text: str) -> Line:
    # as far as the bar reaches: the names of its parts stand to the right
    return Line((-0.5, 0.32), (capacity, capacity), say("limit", capacity=text), label_at=0, dashed=True)
