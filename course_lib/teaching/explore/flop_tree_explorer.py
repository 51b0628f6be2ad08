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

MAX_TOKENS = 1_048_576
WORK = {"forward": "forward", "none": "training", "full": "training, all recomputed"}
RULE = {"forward": 2, "none": 6, "full": 8}  # FLOPs for each parameter and token
LEVELS = ("a token", "blocks, head", "attention, MLP", "products")
ATTENTION = ("qkv", "scores", "values", "out")
READABLE = 0.055  # of the whole: a thinner box has no room for its name


def flop_tree(model="gpt2", tokens=1024, work="forward", causal=False):
    """The FLOPs of a token of `model` in a sequence of `tokens`, as `flops.forward` and `flops.training_step` count.

    work: "forward", or the `recompute` of a training step: "none" or "full". Returns something to display, with
    `.state` and `.call`. Raises ValueError, naming the argument.
    """
    controls = {
        "model": Choice("Model", _language_models(), start="gpt2"),
        "work": Choice("Work", WORK),
        "tokens": Whole("Tokens", start=1024, high=MAX_TOKENS, most=lambda state: _models.load(state["model"]).context),
        "causal": Flag("Causal pairs only"),
    }
    state = {"model": model, "work": work, "tokens": tokens, "causal": causal}
    return build(view, controls, state, "explore.flop_tree")


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
    thin = [_shown(name) for name, part in leaves.items() if not _has_room(part, leaves)]
    words = {
        "model": model,
        "tokens": tokens,
        "work": WORK[work],
        "each": units.format_si(each, "FLOP"),
        "rule": f"{RULE[work]}·N",
        "said": units.format_si(rule, "FLOP"),
        "off": f"{rule / each:.3f}",
        "shares": ", ".join(
            _SHARE.format(name=_shown(name), share=100 * part / int(count)) for name, part in leaves.items()
        ),
    }
    figure = Figure(
        title=_TITLE.format(**words),
        description=_DESCRIPTION.format(**words),
        x=Axis("", categories=LEVELS),
        y=Axis("FLOPs of a token", "FLOP", 0, 1.02 * each),
        marks=tuple(_boxes(leaves, tokens)),
    )
    readout = {
        "a token": words["each"],
        "the whole sequence": units.format_si(int(count), "FLOP"),
        "parameters N": units.format_si(parameters, ""),
        **({"of which a token uses": units.format_si(active, "")} if active != parameters else {}),
        f"{words['rule']} says": words["said"],
        "the rule ÷ the count": f"×{words['off']}",
        "scores and values": f"{100 * pairs:.1f} %",
        "head": f"{100 * leaves['head'] / int(count):.1f} %",
    }
    nameless = [_THIN.format(names=", ".join(thin))] if thin else []
    left_out = [_LEFT_OUT.format(what=what) for what in count.omitted]
    return View(figure, readout, (*nameless, *count.assumptions, *left_out))


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
            {"attention": ATTENTION, "MLP": mlp, "head": ("head",)},
            {name: (name,) for name in leaves},
        )
    ):
        low, left, right = 0.0, level - 0.45, level + 0.45
        for name, parts in groups.items():
            part = sum(leaves[leaf] for leaf in parts)
            high = low + part / tokens
            yield Line((left, right, right, left, left), (low, low, high, high, low))
            if _has_room(part, leaves):
                yield Label(level, (low + high) / 2, _BOX.format(name=_shown(name), share=100 * part / total))
            low = high


def _shown(name: str) -> str:
    return {"mlp": "MLP"}.get(name, name)


_BOX, _SHARE = "{name} {share:.0f} %", "{name} {share:.1f} %"
_TITLE = "{model}: {each} a token; {rule} is {off} times that"  # the work is in the rule: 2, 6 or 8
_DESCRIPTION = (
    "One token of {model} among {tokens:,}, {work}: {each}. From the bottom of the tree to its top: {shares}. "
    "The rule {rule} says {said}, {off} times the count."
)
_LEFT_OUT = "Left out: {what}"
_THIN = "Boxes of the last column too thin for a name: {names}"
