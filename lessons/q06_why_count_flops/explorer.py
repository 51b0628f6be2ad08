"""The FLOP tree: what one token of a model costs, split from the whole into blocks and head, and down to each product.

Beside it stands what the rule of thumb says, 2 FLOPs a parameter (6 in training), and how far that is off.
"""

from collections.abc import Iterator
from functools import cache

from course_lib.accounting import flops, units
from course_lib.accounting import models as _models
from course_lib.figures.plots import Axis, Figure, Label, Line
from course_lib.teaching.explore.controls import Choice, Flag, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MAX_TOKENS = 1_048_576
WORK = say.table("work")
RULE = {"forward": 2, "none": 6, "full": 8}  # FLOPs for each parameter and token
ATTENTION = ("qkv", "scores", "values", "out")
READABLE = 0.055  # of the whole: a thinner box has no room for its name


def flop_tree(model="gpt2", tokens=1024, work="forward", causal=False):
    """The FLOPs of a token of `model` in a sequence of `tokens`, as `flops.forward` and `flops.training_step` count.

    work: "forward", or the `recompute` of a training step: "none" or "full". Returns something to display, with
    `.state` and `.call`. Raises ValueError, naming the argument.
    """
    controls = {
        "model": Choice(say("controls", "model"), _language_models(), start="gpt2"),
        "work": Choice(say("controls", "work"), WORK),
        "tokens": Whole(
            say("controls", "tokens"),
            start=1024,
            high=MAX_TOKENS,
            most=lambda state: _models.load(state["model"]).context,
        ),
        "causal": Flag(say("controls", "causal")),
    }
    state = {"model": model, "work": work, "tokens": tokens, "causal": causal}
    return build(view, controls, state, "explorer.flop_tree")


def view(model, work, tokens, causal) -> View:
    """The picture and the numbers of one state; all FLOPs are those of `accounting.flops`."""
    chosen = _models.load(model)
    if work == "forward":
        count = flops.forward(chosen, 1, tokens, causal)
    else:
        count = flops.training_step(chosen, 1, tokens, causal, recompute=work)
    leaves = dict(_leaves(count))
    each = int(count) / tokens
    parameters, active = int(chosen.parameters()), int(chosen.parameters(active=True))
    rule = RULE[work] * parameters
    pairs = (leaves["scores"] + leaves["values"]) / int(count)
    thin = [say("boxes", name) for name, part in leaves.items() if not _has_room(part, leaves)]
    values = {
        "model": model,
        "tokens": tokens,
        "work": WORK[work],
        "each": units.format_si(each, "FLOP"),
        "factor": RULE[work],
        "said": units.format_si(rule, "FLOP"),
        "off": rule / each,
        "shares": ", ".join(
            say("share", name=say("boxes", name), share=100 * part / int(count)) for name, part in leaves.items()
        ),
    }
    figure = Figure(
        title=say("title", **values),
        description=say("description", **values),
        x=Axis("", categories=say.all("levels")),
        y=Axis(say("axes", "y"), "FLOP", 0, 1.02 * each),
        marks=tuple(_boxes(leaves, tokens)),
    )
    readout = {
        "token": values["each"],
        "sequence": units.format_si(int(count), "FLOP"),
        "parameters": units.format_si(parameters, ""),
        **({"active": units.format_si(active, "")} if active != parameters else {}),
        "rule": values["said"],
        "off": f"×{rule / each:.3f}",
        "pairs": f"{100 * pairs:.1f} %",
        "head": f"{100 * leaves['head'] / int(count):.1f} %",
    }
    nameless = [say("thin", names=", ".join(thin))] if thin else []
    left_out = [say("left-out", what=what) for what in count.omitted]
    return View(figure, say.rows(readout, factor=RULE[work]), (*nameless, *count.assumptions, *left_out))


@cache
def _language_models() -> tuple[str, ...]:
    return tuple(name for name in _models.names() if isinstance(_models.load(name), _models.Transformer))


def _leaves(count) -> Iterator[tuple[str, int]]:
    """(name, FLOP) of each product, from the bottom of the tree to its top."""
    yield from ((name, int(count["layers.attention"][name])) for name in ATTENTION)
    if "router" in count.parts:
        yield "router", int(count["router"])
    yield "mlp", int(count["mlp"])
    yield "head", int(count["head"])


def _has_room(part: int, leaves: dict[str, int]) -> bool:
    return part > READABLE * sum(leaves.values())


def _boxes(leaves: dict[str, int], tokens: int):
    """A box for each part on each level, as high as its FLOPs, and its name where there is room."""
    total = sum(leaves.values())
    blocks = tuple(name for name in leaves if name != "head")
    mlp = tuple(name for name in blocks if name not in ATTENTION)
    for level, groups in enumerate(
        (
            {"all": tuple(leaves)},
            {"blocks": blocks, "head": ("head",)},
            {"attention": ATTENTION, "mlp": mlp, "head": ("head",)},
            {name: (name,) for name in leaves},
        )
    ):
        low, left, right = 0.0, level - 0.45, level + 0.45
        for name, parts in groups.items():
            part = sum(leaves[leaf] for leaf in parts)
            high = low + part / tokens
            yield Line((left, right, right, left, left), (low, low, high, high, low))
            if _has_room(part, leaves):
                yield Label(level, (low + high) / 2, say("box", name=say("boxes", name), share=100 * part / total))
            low = high
