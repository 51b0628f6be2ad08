"""The gradient of 256 digits in parts against that of the same digits at once: where they agree, and what breaks it."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q14_gradient_accumulation import parts
from course_lib.words import words

say = words(__file__)

MANY = (4,) * 64
CLIP, DROP, TEMPERATURE, RATE = 0.5, 0.2, 0.1, 1e-2
CASES = {  # name → what its definition says in %, where it says something
    "equal parts, ÷ 4": 0.0,
    "unequal parts, by examples": 0.0,
    "dropout, the same seed": 0.0,
    "batch norm, fixed statistics": 0.0,
    "equal parts, not divided": 300.0,
    "the same, AdamW's first step": 0.0,
    "unequal parts, ÷ 4": None,
    "hard digits in short parts, ÷ 4": None,
    "two dropout layers, the same seed": None,
    "dropout, whole batch, another seed": None,
    "batch norm": None,
    "clipped in each part": None,
    "contrastive loss": None,
    "64 parts, added up in bf16": None,
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each suspect alone; full has no more, for the numbers do not depend on time."""
    return tuple(
        Case(
            name,
            say("calls", name),
            observe=partial(_observe, name=name),
            expect=lambda device, told=told: told,
            facts={"same": int(told == 0.0)},
        )
        for name, told in CASES.items()
    )


def _observe(bench, seconds: float, name: str) -> list[float]:
    with timing.single_thread(bench.torch):
        return [100 * _RUNS[name](bench.torch)]


def _gradients(torch, sizes, weight, net=None, order=None, **how) -> float:
    """How far the gradient of the parts is from that of the whole batch."""
    x, y = parts.batch(torch)
    if order is not None:
        x, y = x[order], y[order]
    net = net or parts.network(torch)
    with parts.seeded(torch, 1):
        whole = parts.accumulated(net, x, y, (parts.BATCH,), parts.by_parts, loss=how.get("loss"))
    with parts.seeded(torch, 1):
        return parts.off(parts.accumulated(net, x, y, sizes, weight, **how), whole)


def hard_last(torch):
    """The digits in the order of their loss under the fresh network, the largest last."""
    x, y = parts.batch(torch)
    with torch.no_grad():
        each = torch.nn.functional.cross_entropy(parts.network(torch)(x), y, reduction="none")
    return each.argsort()


def _clipped(torch) -> float:
    """Against the whole gradient, clipped once; the parts are clipped as their running sum is: after each."""
    x, y = parts.batch(torch)
    net = parts.network(torch)

    def clip():
        torch.nn.utils.clip_grad_norm_(net.parameters(), CLIP)

    whole = parts.accumulated(net, x, y, (parts.BATCH,), parts.by_parts, after=clip)
    return parts.off(parts.accumulated(net, x, y, parts.EQUAL, parts.by_parts, after=clip), whole)


def _dropping_twice(torch):
    """The network, with dropout of its pixels too."""
    return torch.nn.Sequential(torch.nn.Dropout(DROP), parts.network(torch, dropout=DROP))


def _other_masks(torch) -> float:
    """Two gradients of the whole batch, with other masks."""
    x, y = parts.batch(torch)
    net, found = parts.network(torch, dropout=DROP), []
    for seed in (1, 2):
        with parts.seeded(torch, seed):
            found.append(parts.accumulated(net, x, y, (parts.BATCH,), parts.by_parts))
    return parts.off(found[1], found[0])


def contrastive(torch):
    """A loss whose classes are the other examples of the part: each finds its own place among all of them."""

    def loss(outputs, targets):
        z = torch.nn.functional.normalize(outputs)
        return torch.nn.functional.cross_entropy(z @ z.T / TEMPERATURE, torch.arange(len(z)))

    return loss


def _added_in_bf16(torch) -> float:
    x, y = parts.batch(torch)
    net = parts.network(torch)
    whole = parts.accumulated(net, x, y, (parts.BATCH,), parts.by_parts)
    total = torch.zeros_like(whole, dtype=torch.bfloat16)
    for inputs, targets in zip(x.split(list(MANY)), y.split(list(MANY)), strict=True):
        total += (parts.accumulated(net, inputs, targets, (len(inputs),), parts.by_parts) / len(MANY)).bfloat16()
    return parts.off(total.float(), whole)


def _adamw(torch) -> float:
    """The first step of AdamW with the undivided gradient against that with the right one."""
    moved = {}
    for weight in (parts.by_parts, parts.undivided):
        x, y = parts.batch(torch)
        net = parts.network(torch)
        optimizer = torch.optim.AdamW(net.parameters(), lr=RATE)
        before = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
        parts.accumulated(net, x, y, parts.EQUAL, weight)
        optimizer.step()
        moved[weight] = torch.nn.utils.parameters_to_vector(net.parameters()).detach() - before
    return parts.off(moved[parts.undivided], moved[parts.by_parts])


_RUNS = {
    "equal parts, ÷ 4": lambda torch: _gradients(torch, parts.EQUAL, parts.by_parts),
    "unequal parts, by examples": lambda torch: _gradients(torch, parts.UNEQUAL, parts.by_examples),
    "dropout, the same seed": lambda torch: _gradients(
        torch, parts.EQUAL, parts.by_parts, net=parts.network(torch, dropout=DROP)
    ),
    "two dropout layers, the same seed": lambda torch: _gradients(
        torch, parts.EQUAL, parts.by_parts, net=_dropping_twice(torch)
    ),
    "equal parts, not divided": lambda torch: _gradients(torch, parts.EQUAL, parts.undivided),
    "the same, AdamW's first step": _adamw,
    "unequal parts, ÷ 4": lambda torch: _gradients(torch, parts.UNEQUAL, parts.by_parts),
    "hard digits in short parts, ÷ 4": lambda torch: _gradients(
        torch, parts.UNEQUAL, parts.by_parts, order=hard_last(torch)
    ),
    "batch norm": lambda torch: _gradients(torch, parts.EQUAL, parts.by_parts, net=parts.network(torch, norm=True)),
    "dropout, whole batch, another seed": _other_masks,
    "batch norm, fixed statistics": lambda torch: _gradients(
        torch, parts.EQUAL, parts.by_parts, net=parts.network(torch, norm=True).eval()
    ),
    "clipped in each part": _clipped,
    "contrastive loss": lambda torch: _gradients(torch, parts.EQUAL, parts.by_parts, loss=contrastive(torch)),
    "64 parts, added up in bf16": _added_in_bf16,
}


def plot(result):
    """How far each suspect is off."""
    broken = [value for name, value in result.measured.items() if value > 0.1]
    title = say("title", same=len(result.measured) - len(broken), all=len(result.measured), broken=len(broken))
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", same="int", hidden=("same",)),
    timed=False,
    method={"clip": CLIP, "drop": DROP, "temperature": TEMPERATURE},
)
