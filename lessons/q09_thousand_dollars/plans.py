"""The plan that this unit talks about: what a budget trains on one kind of device, and how good it becomes."""

from dataclasses import dataclass

from course_lib.accounting import economics, hardware

BUDGET, MFU, LAW = 1000, 0.4, "besiroglu"


@dataclass(frozen=True)
class Plan:
    """dollars; hours on one device; flops; the model and its tokens; the loss that `LAW` predicts, in nats a token."""

    dollars: float
    hours: float
    flops: float
    params: int
    tokens: int
    loss: float


def flop_per_dollar(device, mfu=MFU) -> float:
    """FLOP that a dollar buys at the listed price of an hour, at dense 16-bit peak × mfu."""
    device = hardware.resolve(device)
    return device.peak(sixteen_bit(device)) * mfu * 3600 / device.price_per_hour


def sixteen_bit(device) -> str:
    """The 16-bit format that the device multiplies: bf16, on older ones fp16."""
    return "bf16" if "bf16" in hardware.resolve(device).peaks else "fp16"


def plan(dollars=BUDGET, device="h100-sxm", mfu=MFU, tokens_per_param=20) -> Plan:
    """What the dollars train if the final run gets all of them."""
    flops = dollars * flop_per_dollar(device, mfu)
    split = economics.compute_optimal(round(flops), tokens_per_param)
    return Plan(
        dollars,
        dollars / hardware.resolve(device).price_per_hour,
        flops,
        split.params,
        split.tokens,
        economics.besiroglu_loss(split.params, split.tokens),
    )


def longer(chosen: Plan, params) -> economics.Allocation:
    """The training with which a model of another size reaches the plan's loss."""
    return economics.tokens_for_loss(params, chosen.loss, LAW)


def served_until_cheaper(chosen: Plan, params) -> float:
    """Served tokens from which a smaller model of the same loss is cheaper, training and serving together."""
    small = longer(chosen, params)
    extra = 6 * small.params * small.tokens - 6 * chosen.params * chosen.tokens
    return extra / (2 * (chosen.params - small.params))


def wall(chosen: Plan) -> int:
    """The fewest parameters that reach the plan's loss with any number of tokens, found by halving an interval."""
    below, reaches = 1, chosen.params
    while reaches - below > 1:
        middle = (below + reaches) // 2
        try:
            longer(chosen, middle)
        except ValueError:
            below = middle
        else:
            reaches = middle
    return reaches


def lowest(flops) -> tuple[int, int]:
    """(parameters, tokens) of the lowest loss for so many FLOP, by `LAW`."""
    fit = economics.compute_optimal_fit(round(flops), law=LAW)
    return fit.params, fit.tokens
