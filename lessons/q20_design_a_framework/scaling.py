"""From one card to a thousand: a step of 7 billion parameters on H100s, its messages, and machines that are taken away."""

from course_lib.accounting import communication, economics, hardware

PARAMS, TOKENS, MFU, NODE = 7 * 10**9, 2**20, 0.4, 8  # tokens of a step; share of the peak; cards in a machine
CARD = "h100-sxm"
CHECKPOINT, RESTART = 60, 600  # s


def compute_seconds(cards: int, tokens: int = TOKENS) -> float:
    """6 FLOPs a parameter and token, at 40 % of the peak."""
    return 6 * PARAMS * tokens / (cards * MFU * hardware.load(CARD).peak("bf16"))


def message_seconds(cards: int) -> float:
    """An all-reduce of 16-bit gradients: in each machine over NVLink, between machines 50 GB/s a card."""
    inside, across = hardware.load(CARD).link("nvlink"), hardware.link("infiniband-ndr").bandwidth
    if cards <= NODE:
        return communication.all_reduce(nbytes=2 * PARAMS, ranks=cards, bandwidth=inside).seconds
    return communication.hierarchical_all_reduce(
        nbytes=2 * PARAMS, ranks_per_node=NODE, nodes=cards // NODE, bandwidth=inside, network_bandwidth=across
    ).seconds


def efficiency(cards: int, tokens: int = TOKENS, overlap: bool = False) -> float:
    """Share of a step that is arithmetic. overlap: messages hide behind the backward pass, two thirds of it."""
    compute, message = compute_seconds(cards, tokens), message_seconds(cards)
    exposed = max(0.0, message - compute * 2 / 3) if overlap else message
    return compute / (compute + exposed)


def spot_waste(mtbf: float) -> float:
    """Time lost over useful time, of a job that loses a machine every `mtbf` seconds and saves as often as pays best."""
    each = economics.young_interval(checkpoint_seconds=CHECKPOINT, mtbf_seconds=mtbf)
    return economics.expected_waste(
        interval_seconds=each, checkpoint_seconds=CHECKPOINT, mtbf_seconds=mtbf, restart_seconds=RESTART
    )
