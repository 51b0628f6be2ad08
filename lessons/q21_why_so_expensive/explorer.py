"""The bill of a training, line by line: from the peak of the data sheet to what the famous number leaves out."""

from itertools import accumulate

from course_lib.accounting import economics, hardware
from course_lib.figures.plots import Axis, Figure, Stack
from course_lib.teaching.explore.controls import Choice, Number
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q21_why_so_expensive import bill
from course_lib.words import words

say = words(__file__)
DEVICES = ("v100-sxm2", "a100-40-sxm", "h100-sxm", "b200-sxm")
HOURS = ("rented", "reserved", "own")
LINES = (
    "at the peak",
    "below the peak",
    "stops",
    "failed tries",
    "trials",
    "idle hours",
    "people",
    "judged data",
)


def cost_waterfall(
    device="v100-sxm2", mfu=0.224, hours="reserved", price=1.5, bought=bill.BOUGHT, used=0.8, success=0.5, years=20
):
    """Where the dollars of GPT-3's FLOP go, on another device, at another price, with other luck.

    device: an id of `hardware`. mfu: share of its 16-bit peak. hours: "rented" (only hours of use are paid), "reserved"
    (all hours are), "own". price: dollars an hour, rented or reserved; bought: dollars for a device of one's own. used:
    share of the hours paid for that are used. success: probability of a try. years: of people. Returns something to
    display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}, "v100-sxm2"),
        "mfu": Number(say("controls", "mfu"), 0.224, 0.05, 1),
        "hours": Choice(say("controls", "hours"), say.table("hours"), "reserved"),
        "price": Number(say("controls", "price"), 1.5, 0.1, 20, "$"),
        "bought": Number(say("controls", "bought"), bill.BOUGHT, 1000, 200_000, "$"),
        "used": Number(say("controls", "used"), 0.8, 0.05, 1),
        "success": Number(say("controls", "success"), 0.5, 0.05, 1),
        "years": Number(say("controls", "years"), 20, 0.1, 1000),
    }
    state = {
        "device": device,
        "mfu": mfu,
        "hours": hours,
        "price": price,
        "bought": bought,
        "used": used,
        "success": success,
        "years": years,
    }
    return build(view, controls, state, "explorer.cost_waterfall")


def own_hour(device: str, bought: float, used: float) -> float:
    """Dollars for an hour of use of a device that was bought."""
    return economics.own_price_per_hour(
        price=bought,
        years=bill.LIFE,
        used_fraction=used,
        power=bill.power(device),
        price_per_kwh=bill.KWH,
        pue=bill.PUE,
        energy_in="all hours",
    )


def plan(device, mfu, hours, price, bought, used, success, years) -> bill.Plan:
    """The state as a `bill.Plan`. Rented hours that nobody needs are not paid."""
    return bill.Plan(
        device=device,
        rate=mfu * hardware.load(device).peak("fp16"),
        price=own_hour(device, bought, 1) if hours == "own" else price,
        used=1 if hours == "rented" else used,
        success=success,
        years=years,
    )


def view(device, mfu, hours, price, bought, used, success, years) -> View:
    """The picture and the numbers of one state."""
    chosen = plan(device, mfu, hours, price, bought, used, success, years)
    lines = chosen.lines()
    total, before = sum(lines.values()), [0.0, *accumulate(lines.values())][:-1]
    shares = {
        "before": [each / 1e6 for each in (*before, total)],
        "line": [each / 1e6 for each in (*lines.values(), 0)],
    }
    most = max(lines, key=lines.get)
    values = {"total": total / 1e6, "times": total / chosen.run, "most": say("lines", most)}
    parts = "; ".join(say("part", name=say("lines", name), dollars=dollars / 1e6) for name, dollars in lines.items())
    figure = Figure(
        title=say("title", **values),
        description=say("description", parts=parts, **values),
        x=Axis("", categories=tuple(say("short", name) for name in (*LINES, "all of it"))),
        y=Axis(say("axes", "y"), "", 0, 1.12 * total / 1e6),
        marks=(Stack({say("parts", name): values for name, values in shares.items()}),),
    )
    draws = bill.electricity(device)
    readout = {
        "run": say("million", value=chosen.run / 1e6),
        "total": say("million", value=total / 1e6),
        "hour": say("an-hour", value=chosen.price / chosen.used),
        "own": say("an-hour", value=own_hour(device, bought, used)),
        "power": say("share", value=draws / (price if hours != "own" else chosen.price)),
        **{name: say("million", value=lines[name] / 1e6) for name in LINES},
    }
    return View(figure, say.rows(readout), say.all("notes", **_assumed(chosen)))


def _assumed(chosen: bill.Plan) -> dict[str, float]:
    """What the notes name of what cannot be moved."""
    return {
        "devices": chosen.devices,
        "each": bill.EACH,
        "fraction": chosen.fraction,
        "trials": chosen.trials,
        "salary": bill.SALARY,
        "years": bill.LIFE,
        "server": bill.SERVER,
        "kwh": bill.KWH,
        "pue": bill.PUE,
    }
