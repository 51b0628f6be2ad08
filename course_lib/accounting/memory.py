"""Memory of training and of serving, in bytes per rank: model state, activations, the peak of a step, the KV cache."""

from dataclasses import dataclass
from functools import cache

from course_lib.accounting import models, precision, units
from course_lib.accounting.activations import Peak as Peak
from course_lib.accounting.activations import accumulated_peak as accumulated_peak
from course_lib.accounting.activations import activations as activations
from course_lib.accounting.activations import training_peak as training_peak
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import Quantity, ceil, symbol
from course_lib.accounting.layers.base import PROJECTIONS

# ---------------------------------------------------------------- model state


@dataclass(frozen=True)
class Recipe:
    """Bytes that training keeps per parameter; a Fraction where blocks of numbers share a scale.

    weights, grads: what the forward and backward pass read and write. grads_fp32: the optimizer's copy of gradients in
    fp32. master: fp32 weights that the optimizer updates. moment1, moment2: the optimizer's averages. source: where the
    figures come from. omitted: sentences on what a number per parameter cannot hold.
    """

    weights: object
    grads: object
    grads_fp32: object = 0
    master: object = 0
    moment1: object = 0
    moment2: object = 0
    source: str = ""
    omitted: tuple[str, ...] = ()

    def __post_init__(self):
        for name in _STATE:
            value = getattr(self, name)
            if not 0 <= units.number(value, name) <= 8:
                raise ValueError(
                    f"{name}={value!r} must be bytes per parameter, from 0 to 8: fp32 takes 4, bf16 takes 2."
                )
            if isinstance(value, float) and value != int(value):
                raise ValueError(f"{name}={value!r} must be exact: an int, or a Fraction such as Fraction(1, 2).")
            object.__setattr__(self, name, int(value) if value == int(value) else value)
        if not self.total:
            raise ValueError("Recipe: every part takes 0 bytes per parameter; training keeps at least the weights.")

    @property
    def total(self):
        """Bytes per parameter, all together."""
        return sum(getattr(self, name) for name in _STATE)


_STATE = ("weights", "grads", "grads_fp32", "master", "moment1", "moment2")
_SHARDED = {0: (), 1: _STATE[2:], 2: _STATE[1:], 3: _STATE}  # ZeRO stage -> parts of which a rank holds a share


@cache
def _recipes() -> dict[str, Recipe]:
    from fractions import Fraction  # costs an import that most callers never need

    zero = "Rajbhandari et al., ZeRO, 2019, section 3.1"
    blocks = "Dettmers et al., 8-bit Optimizers via Block-wise Quantization, 2021"
    eight = 1 + Fraction(4, 2048)  # one fp32 scale for 2048 numbers of 8 bits, as in the paper
    small = ("Tensors of fewer than 4096 numbers, whose states stay in fp32, and the table of each 8-bit format.",)
    return {
        "fp32-adamw": Recipe(4, 4, 0, 0, 4, 4, "PyTorch, torch.optim.AdamW"),
        "mixed-adamw": Recipe(2, 2, 0, 4, 4, 4, zero),
        "mixed-adamw-fp32-grads": Recipe(2, 2, 4, 4, 4, 4, "Hugging Face, The Ultra-Scale Playbook, 2025"),
        "mixed-adamw-4-byte-grads": Recipe(2, 4, 0, 4, 4, 4, "Bekman, Machine Learning Engineering, 2023"),
        "bf16-weights-fp32-adam": Recipe(2, 0, 0, 0, 4, 4, "Austin et al., How to Scale Your Model, 2025"),
        "fp32-sgd": Recipe(4, 4, source="PyTorch, torch.optim.SGD"),
        "fp32-sgd-momentum": Recipe(4, 4, moment1=4, source="PyTorch, torch.optim.SGD"),
        "fp32-adamw-8bit": Recipe(4, 4, 0, 0, eight, eight, blocks, small),
        "mixed-adamw-8bit": Recipe(2, 2, 0, 4, eight, eight, blocks, small),
        "fp32-adafactor": Recipe(
            4,
            4,
            source="Shazeer and Stern, Adafactor, 2018",
            omitted=(
                "The second moment, kept as one row and one column for each matrix (n + m numbers in place of n·m) and "
                "in full for a vector: a number per parameter cannot say it.",
            ),
        ),
        "frozen-bf16": Recipe(2, 0, source="Hu et al., LoRA, 2021"),
        "frozen-nf4": Recipe(precision.bytes_per_element("nf4"), 0, source="Dettmers et al., QLoRA, 2023, section 3"),
    }


def recipes() -> tuple[str, ...]:
    """Names of the recipes that `model_state` knows."""
    return tuple(_recipes())


def recipe(name: str) -> Recipe:
    """The recipe `name`; an unknown name is a ValueError with the nearest."""
    return _recipes()[units.choice(name, "recipe", recipes())]


def model_state(params, recipe="mixed-adamw", zero_stage: int = 0, ranks=1, offload=()) -> Breakdown:
    """Bytes of weights, gradients and optimizer state that one rank holds.

    params: how many, or a Breakdown of parameters. recipe: a name of `recipes()` or a `Recipe`. zero_stage: 1 shards
    what is the optimizer's over `ranks` (fp32 gradients beside 16-bit ones, master weights, moments: Megatron-LM's
    distributed optimizer), 2 gradients too, 3 weights too; a share is ceil(params/ranks). offload: parts that stay in
    the host's memory; they leave the total, and the view "host" counts them. Parts that take nothing are left out.
    Source of the stages: Rajbhandari et al., ZeRO, 2019.
    """
    if hasattr(params, "parameters"):
        raise ValueError(f"params={units.shortly(params)} is a model; this takes a count: give model.parameters().")
    if isinstance(params, Breakdown) and params.unit != "parameters":
        raise ValueError(f"params is in {params.unit}; this takes a count of parameters, or model.parameters().")
    params = units.count(int(params) if isinstance(params, Breakdown) else params, "params")
    chosen = recipe if isinstance(recipe, Recipe) else _named(recipe)
    ranks = units.count(ranks, "ranks")
    if zero_stage not in tuple(_SHARDED) or isinstance(zero_stage, bool):
        raise ValueError(f"zero_stage={zero_stage!r} must be 0 (none), 1, 2 or 3.")
    if ranks > params:
        raise ValueError(f"ranks={ranks} is more than params={params}: some ranks would hold nothing.")
    offload = _names(offload, "offload", "('moment1', 'moment2')")

    N = symbol("N", params, "parameters")
    S = symbol("S", ceil(N, ranks), "parameters in the share of one rank")
    kept = {name: each for name in _STATE if (each := getattr(chosen, name))}
    terms = {name: _bytes(S if name in _SHARDED[zero_stage] else N, each) for name, each in kept.items()}
    for name in offload:
        if units.choice(name, "offload", _STATE) not in terms:
            raise ValueError(f"offload has {name!r}, and this recipe keeps none of it: it has {', '.join(terms)}.")
    host = {name: term for name, term in terms.items() if name in offload}
    device = {name: term for name, term in terms.items() if name not in offload}
    if not device:
        raise ValueError(f"offload={offload!r} leaves nothing on the device: keep at least one of {', '.join(terms)}.")
    said = (f"ZeRO stage {zero_stage}; ranks that share the state: {ranks}.",) if zero_stage else ()
    views = {}
    if host:
        views["host"] = Breakdown.from_terms("B", host, assumptions=said)
        said += (_offloaded(views["host"]),)
    omitted = ("Activations, temporary buffers and the allocator's rounding.", *chosen.omitted)
    return _State.from_terms("B", device, assumptions=said, omitted=omitted, views=views)


@dataclass(frozen=True, eq=False, repr=False)
class _State(Breakdown):
    """A Breakdown whose table names what lies in the host's memory."""

    def __repr__(self) -> str:
        table = super().__repr__()
        return f"{table}\n{_offloaded(self.views['host'])}" if "host" in self.views else table


def _offloaded(host: Breakdown) -> str:
    parts = ", ".join(f"{name} {units.format_exact(value)} B" for name, value in host.parts.items())
    return f"In the host's memory, not in the total: {parts}."


def _names(value, argument: str, example: str) -> tuple:
    """`value`, one name or several, as a tuple."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (tuple, list, set, frozenset)):
        return tuple(value)
    raise ValueError(f"{argument}={units.shortly(value)} must be a name or several, such as {example}.")


_named = recipe  # inside `model_state` the argument has that name


def _bytes(number: Quantity, each) -> Quantity:
    """4·N, or ⌈65·N/64⌉ where blocks of numbers share a scale."""
    return each * number if isinstance(each, int) else ceil(each.numerator * number, each.denominator)


def lora_parameters(model, rank, targets=("q", "k", "v", "out")) -> Breakdown:
    """Parameters of LoRA adapters: rank·(in + out) for each projection of `targets`, in every layer.

    targets: among q, k, v, out, gate (of a gated MLP), up and down; a projection that a model fuses with others
    (GPT-2's q, k and v) counts on its own. Training them takes `model_state(model.parameters(), "frozen-bf16") +
    model_state(lora_parameters(model, 8), "mixed-adamw")`; "frozen-nf4" makes it QLoRA. Source: Hu et al., LoRA, 2021.
    """
    model, rank = models.resolve(model, decodes=True), units.count(rank, "rank")
    targets = _names(targets, "targets", "('q', 'v')")
    if not targets:
        raise ValueError(f"targets={targets!r} must name at least one of {', '.join(PROJECTIONS)}.")
    r = symbol("r", rank, "rank of the adapters")

    def ask(layer) -> dict[str, Quantity]:
        found = {name: ends for each in getattr(layer, "layers", ()) for name, ends in each.projections().items()}
        parts = {}
        for name in targets:
            if units.choice(name, "targets", PROJECTIONS) not in found:
                has = f"it has {', '.join(found)}" if found else "it has none that is described"
                raise ValueError(f"targets has {name!r}, which the layers of {model.name} do not have: {has}.")
            width_in, width_out = found[name]
            if rank > min(width_in.value, width_out.value):
                most = min(width_in.value, width_out.value)
                raise ValueError(f"rank={rank} is more than {most}, the rank that {name!r} of {model.name} can have.")
            parts[f"{PROJECTIONS[name].partition('.')[0]}.{name}"] = r * (width_in + width_out)
        return parts

    return Breakdown.from_terms("parameters", model.over_blocks([ask(block) for block, _ in model.kinds]))


# ---------------------------------------------------------------- serving


def kv_cache(model, batch=1, tokens=None, dtype="bf16", page_tokens=None) -> Breakdown:
    """Bytes of what `batch` sequences of `tokens` tokens (None: the model's context) keep for their next tokens.

    Parts: keys and values, of each key head once; of latent attention latent and rotated; of a state-space mixer state
    and conv. page_tokens: keys and values come in pages of so many tokens, and the part "waste" is the rest of each
    sequence's last page (Kwon et al., PagedAttention, 2023). A layer with a sliding window keeps at most so many tokens
    (`transformers` keeps one less while it generates). A UserWarning says that `tokens` is beyond the context.
    """
    model = models.resolve(model, decodes=True)
    length = model.length(tokens, "tokens")
    if model.context is not None and length > model.context:
        import warnings  # only when there is something to say

        warnings.warn(f"tokens={length} is beyond the context of {model.name}, {model.context} tokens.", stacklevel=3)
    page = None if page_tokens is None else symbol("p", units.count(page_tokens, "page_tokens"), "tokens of a page")
    x = model.inputs(batch, length, page=page)
    dtype = precision.normalise(dtype)

    said = [f"Numbers in {dtype}."]
    said += [
        f"Layers with a sliding window of {layer.window.value} tokens keep no more of them: {count.value} of "
        f"{model.count.value}."
        for block, count in model.kinds
        for layer in getattr(block, "layers", ())
        if getattr(layer, "window", None) is not None and layer.window < length
    ]
    parts = model.collect(lambda layer: layer.cache(x))
    if not parts:
        raise ValueError(f"model={units.shortly(model)}: its layers keep nothing for the next token.")
    terms = {name: precision.stored(x.B * part, dtype) for name, part in parts.items()}
    return Breakdown.from_terms("B", terms, assumptions=said)


units.teach(globals())
