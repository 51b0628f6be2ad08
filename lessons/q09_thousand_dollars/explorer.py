"""The price of a loss: what models of one loss cost over their size, to train, and to train and serve."""

from functools import lru_cache

from course_lib.accounting import economics, hardware, units
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.explore.controls import Choice, Number
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q09_thousand_dollars import plans
from course_lib.words import words

say = words(__file__)
DEVICES = ("h100-sxm", "a100-40-sxm", "b200-sxm", "t4", "l40s", "tpu-v6e")
SHARES = tuple(0.2 * 2 ** (step / 9) for step in range(40))  # sizes, over that of the plan
NEARER = tuple(2 ** (-step / 2) for step in range(1, 17))  # below them, ever closer to the wall: shown where it pays


def price_of_a_loss(budget=1000, device="h100-sxm", mfu=0.4, served=1, serving=0.4):
    """Dollars of a model of one loss, over its size. The loss is that of the plan: 20 tokens a parameter for `budget`.

    budget: dollars for the plan's training. mfu: of training; serving: the share of the peak that serving reaches.
    served: tokens in use, in billions. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError
    for an argument out of range.
    """
    controls = {
        "budget": Number(say("controls", "budget"), 1000, 10, 1e7, "$"),
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}),
        "mfu": Number(say("controls", "mfu"), 0.4, 0.01, 1),
        "served": Number(say("controls", "served"), 1, 0.01, 1e5),
        "serving": Number(say("controls", "serving"), 0.4, 0.0001, 1),
    }
    state = {"budget": budget, "device": device, "mfu": mfu, "served": served, "serving": serving}
    return build(view, controls, state, "explorer.price_of_a_loss")


@lru_cache(maxsize=64)  # it does not change while the served tokens move
def trained(budget: float, device: str, mfu: float) -> tuple[plans.Plan, tuple[tuple[int, int], ...]]:
    """The plan, and (parameters, tokens) of every size at the plan's loss, smallest first; half of it is among them."""
    plan = plans.plan(budget, device, mfu)
    sizes = {round(plan.params * share) for share in SHARES} | {plan.params, plan.params // 2}
    wall = plans.wall(plan)
    sizes = sorted(sizes | {wall + round((min(sizes) - wall) * share) for share in NEARER})
    return plan, tuple((params, plans.longer(plan, params).tokens) for params in sizes)


def view(budget, device, mfu, served, serving) -> View:
    """The picture and the numbers of one state."""
    plan, models = trained(budget, device, mfu)
    learning, using = (plans.flop_per_dollar(device, share) for share in (mfu, serving))
    train, life = {}, {}
    for params, tokens in models:
        flops = economics.lifetime_flops(params, tokens, round(served * 1e9))
        train[params] = flops["training"] / learning
        life[params] = train[params] + flops["serving"] / using
    best, half = min(life, key=life.get), plan.params // 2
    first = max(0, min(list(life).index(best) - 1, len(NEARER)))  # one size left of the cheapest: there it is dearer
    shown = list(life)[first:]
    train, life = ({params: dollars[params] for params in shown} for dollars in (train, life))
    values = {
        "best": units.format_si(best, "parameters"),
        "served": units.format_si(served * 1e9, "tokens"),
        "plan": units.format_si(plan.params, "parameters"),
        "half": units.format_si(half, "parameters"),
        "life_plan": life[plan.params],
        "life_half": life[half],
        "life_best": life[best],
        "loss": plan.loss,
    }
    low, high = min(train.values()), max(life.values())
    figure = Figure(
        title=say("title", "half" if life[half] < life[plan.params] else "plan", **values),
        description=say("description", **values),
        x=Axis(say("axes", "x"), "", shown[0] / 1.1, models[-1][0] * 2, "log"),
        y=Axis(say("axes", "y"), "$", low / 1.5, high * 1.5, "log"),
        marks=(
            Line(list(train), list(train.values()), dashed=True),
            Line(list(life), list(life.values())),
            Label(models[-1][0] * 1.35, train[models[-1][0]] / 1.1, say("lines", "train")),
            Label(models[-1][0] * 1.35, life[models[-1][0]] * 1.1, say("lines", "life")),
            Points((plan.params, half), (life[plan.params], life[half]), (say("lines", "plan"), say("lines", "half"))),
            Points((best,), (life[best],), (say("lines", "best"),), strong=True),
        ),
    )
    readout = {
        "plan": values["plan"],
        "train_plan": say("dollars", cost=train[plan.params]),
        "life_plan": say("dollars", cost=life[plan.params]),
        "loss": say("nats", loss=plan.loss),
        "best": values["best"],
        "life_best": say("dollars", cost=life[best]),
        "train_half": say("dollars", cost=train[half]),
        "life_half": say("dollars", cost=life[half]),
    }
    return View(figure, say.rows(readout), say.all("notes"))
