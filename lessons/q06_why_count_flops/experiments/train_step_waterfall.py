"""Where the time of a training step goes: a small GPT-2, profiled, its operations sorted into classes that sum to the
step.

Two batches: a large one, whose step is mostly matrix products, and one of 32 tokens, in which the optimizer, whose work
does not depend on the batch, weighs much more. The predictions are the roofline's: products by their FLOPs; attention
by its FLOPs (SDPA computes the half below the diagonal, and the scores once more in the backward pass); norms,
activations and residual sums by the bytes of their calls, doubled for the backward pass; the optimizer as one fused
pass that reads weight, gradient and two moments and writes all but the gradient. torch.optim.AdamW takes eight calls
for each tensor instead, which move 80 B for each parameter, not 28. Nothing predicts what lies between the operations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from course_lib.accounting import flops, hardware, models, precision, roofline
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import torch_events
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import Repeats
from course_lib.figures import style
from course_lib.figures.figure import draw
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

CLASSES = (
    "forward, products",
    "forward, attention",
    "forward, norms and activations",
    "forward, copies and look-ups",
    "loss",
    "backward, products",
    "backward, attention",
    "backward, norms and activations",
    "backward, copies and sums",
    "optimizer",
    "between the operations",
)
LARGE, SMALL = "large batch", "32 tokens"
WARM_UP = 2  # steps: the first one makes the optimizer's moments
FEWEST, MOST = 3, 12  # steps that are profiled; to read the events of one takes longer than the step


@dataclass(frozen=True)
class Step:
    """A training step: a GPT-2, and `batch` sequences of `seq` tokens."""

    model: models.Transformer
    batch: int
    seq: int
    dtype: str

    @property
    def tokens(self) -> int:
        return self.batch * self.seq

    @property
    def flops(self) -> int:
        """FLOP of the model, forward and backward; all T² pairs of attention count, as is usual for utilisation."""
        return flops.training_step(self.model, self.batch, self.seq).total

    def build(self, bench):
        """The function that takes one step, with AdamW as torch sets it up and tokens that stay the same."""
        net = tiny_gpt.build(bench, self.model, attention="sdpa", dtype=self.dtype)
        optimizer = bench.torch.optim.AdamW(net.parameters(), lr=1e-4)
        batch = tiny_gpt.tokens(bench, self.model, self.batch, self.seq)
        return lambda: tiny_gpt.training_step(net, optimizer, batch)


def gpt(device: hardware.Device) -> models.Transformer:
    """Two layers of width 256 on a processor (2.2 million parameters), GPT-2 small on a GPU."""
    if device.kind == "cpu":
        return tiny_gpt.describe(layers=2, d_model=256, heads=4, vocab=2048, context=256)
    return tiny_gpt.describe(layers=12, d_model=768, heads=12, vocab=50257, context=1024)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Every class of operations in two steps; full profiles more steps."""
    model, dtype = gpt(device), main_dtype(device)
    batch, seq = (4, 128) if device.kind == "cpu" else (16, 1024)
    found = []
    for name, step in ((LARGE, Step(model, batch, seq, dtype)), (SMALL, Step(model, 1, 32, dtype))):
        # once for each bench: all classes of a run come from the same steps and sum to them
        profiled = cache(lambda bench, seconds, step=step: profile_steps(bench, step.build(bench), seconds))
        ops = step_ops(step)
        found += [_case(name, class_, step, profiled, ops.get(class_, ())) for class_ in CLASSES]
    return tuple(found)


def _case(batch: str, class_: str, step: Step, profiled, ops: tuple[roofline.Op, ...]) -> Case:
    return Case(
        f"{batch}: {class_}",
        say("calls", "step", batch=step.batch, seq=step.seq, layers=step.model.layers, d_model=step.model.d_model),
        ops,
        observe=lambda bench, seconds: profiled(bench, seconds)[class_],
        facts={"batch": batch, "class": class_, "flops": sum(op.flops for op in ops)},
    )


# ---------------------------------------------------------------- what a step does


def step_ops(step: Step) -> dict[str, tuple[roofline.Op, ...]]:
    """class -> its operations in one step; classes of which nothing is predicted are left out."""
    model, rows, dtype = step.model, step.tokens, step.dtype
    d, wide, layers = model.d_model, model.mlp_width, model.layers
    shapes = [(d, 3 * d), (d, d), (d, wide), (wide, d)] * layers + [(d, model.vocab)]
    forward = tuple(roofline.matmul(rows, inputs, outputs, dtype) for inputs, outputs in shapes)
    backward = tuple(
        op
        for inputs, outputs in shapes
        for op in (roofline.matmul(rows, outputs, inputs, dtype), roofline.matmul(inputs, rows, outputs, dtype))
    )
    below = model.heads * step.batch * flops.matmul(step.seq, model.head_width, step.seq) // 2
    attention = roofline.Op("SDPA", 2 * below, precision.nbytes(4 * rows * d, dtype), dtype)
    attention_back = roofline.Op("SDPA, backward", 5 * below, precision.nbytes(8 * rows * d, dtype), dtype)
    norms = [roofline.Op("norm", flops.layer_norm(rows, d), precision.nbytes(2 * rows * d, dtype), dtype)]
    norms *= 2 * layers + 1
    # GELU by its formula with tanh: x³, · 0.044715, + x, · √(2/π), tanh, + 1, · ½x (its ½x is a call of its own)
    gelu = [roofline.elementwise(rows * wide, reads=reads, dtype=dtype) for reads in (1, 1, 2, 1, 1, 1, 1, 2)]
    residuals = [roofline.elementwise(rows * d, reads=2, dtype=dtype)] * (2 * layers + 1)  # and the positions
    others = (*norms, *gelu * layers, *residuals)
    doubled = tuple(roofline.Op(op.name, 2 * op.flops, 2 * op.bytes, op.dtype, 2 * op.calls) for op in others)
    logits = roofline.elementwise(rows * model.vocab, flops_per_element=5, dtype="fp32")
    parameters = model.parameters().total
    tensors = 12 * layers + 4
    adamw = roofline.Op("AdamW", 12 * parameters, precision.nbytes(7 * parameters, dtype), dtype, calls=tensors)
    return {
        "forward, products": forward,
        "forward, attention": (attention,) * layers,
        "forward, norms and activations": others,
        "loss": (logits, logits),  # log-softmax forward and backward
        "backward, products": backward,
        "backward, attention": (attention_back,) * layers,
        "backward, norms and activations": doubled,
        "optimizer": (adamw,),
    }


# ---------------------------------------------------------------- the profile

_PRODUCTS = frozenset(f"aten::{name}" for name in ("addmm", "mm", "bmm", "matmul", "linear", "addmm_", "baddbmm"))
_ATTENTION = ("scaled_dot_product", "flash_attention", "efficient_attention", "cudnn_attention")
_LOSS = ("cross_entropy", "log_softmax", "nll_loss")
_NORMS = ("layer_norm", "tanh", "aten::mul", "aten::add", "aten::pow")


def profile_steps(bench, take_step, seconds: float) -> dict[str, list[float]]:
    """class -> seconds in each of several steps, as many as fit into about `seconds`, by torch.profiler.

    On a processor an operation counts the time of its own, without that of the operations it calls. On a GPU it counts
    that of the kernels it launched, and what lies between the operations is the time in which the GPU waited.
    """
    from torch.utils.benchmark import timer as clock

    for _ in range(WARM_UP):
        start = clock()
        take_step()
        taken = clock() - start
    steps, on_gpu = min(max(FEWEST, round(seconds / taken)), MOST), bench.on == "cuda"
    return by_class(torch_events.profiled(bench.torch, take_step, steps, on_gpu), on_gpu)


def by_class(events: Sequence, on_gpu: bool) -> dict[str, list[float]]:
    """class -> seconds in each step, from the host's events of a profile; the classes of a step sum to its time."""

    def class_of(event):
        return classify([event.name, *torch_events.ancestors(event)])

    return torch_events.by_kind(events, CLASSES, class_of, "between the operations", on_gpu)


def classify(names: Sequence[str]) -> str:
    """The class of an event from its name and those it ran in, the nearest first."""
    if any(name.startswith("Optimizer.step") for name in names):
        return "optimizer"
    name = names[0]
    if not name.startswith("aten::"):
        return "between the operations"
    if any(part in name for name in names for part in _LOSS):
        return "loss"
    phase = "backward" if any(name.startswith("autograd::engine") for name in names) else "forward"
    if any(part in name for name in names for part in _ATTENTION):
        return f"{phase}, attention"
    if name in _PRODUCTS:
        return f"{phase}, products"
    if any(part in name for part in _NORMS):
        return f"{phase}, norms and activations"
    return "forward, copies and look-ups" if phase == "forward" else "backward, copies and sums"


# ---------------------------------------------------------------- table and figure


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each class, with its share of the step: of what was measured of it, if the run was interrupted."""
    rows = rows_of_quantity(cases, timings, device)
    whole = {row["batch"]: 0.0 for row in rows}
    for row in rows:
        whole[row["batch"]] += row["measured"]
    return [{**row, "share": 100 * row["measured"] / whole[row["batch"]]} for row in rows]


def plot(result):
    """The share of each class in the step, for both batches."""
    shares = {(row["batch"], row["class"]): row["share"] for row in result.rows}
    batches = list(dict.fromkeys(row["batch"] for row in result.rows))
    title = say("title", "plain")
    if {(LARGE, "optimizer"), (SMALL, "optimizer")} <= set(shares):
        of_large, of_small = (quantity(shares[batch, "optimizer"], "%") for batch in (LARGE, SMALL))
        title = say("title", "found", of_large=of_large, of_small=of_small, small=SMALL)

    words = " ".join(
        say("bar", case=row["case"], share=quantity(row["share"], "%"), time=quantity(row["measured"], "s"))
        for row in result.rows
    )

    def paint(axes):
        labels = []
        for row in result.rows:
            number, place = batches.index(row["batch"]), CLASSES.index(row["class"])
            y = place + (number - 0.5) * 0.38
            face = (style.MEASURED, style.PAPER)[number]
            line = style.size().line
            axes.barh(y, row["share"], height=0.34, facecolor=face, edgecolor=style.MEASURED, linewidth=line)
            labels.append((max(row["share"], 0), y, quantity(row["share"], "%")))
        axes.set_yticks(range(len(CLASSES)), CLASSES)
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
        axes.set_xlim(0, max(shares.values()))
        return labels

    return draw(
        title,
        f"{title}. {words}",
        paint,
        x=(say("axis"), "%"),
        y=None,
        note=say("key", device=result.device["name"], date=result.provenance["date"]),
        height=6.6,
        labels="beside",
    )


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *quantity_columns(say, "s", batch="str", **{"class": "str"}, flops="int FLOP", hidden=("batch", "class")),
        *fact_columns(say, share="float %"),
    ),
    table=table,
    quick_seconds=0.04,
    full_seconds=2.0,
)
