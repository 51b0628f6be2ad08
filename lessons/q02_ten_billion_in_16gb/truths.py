"""The truth of each prediction card of Q2, computed when a learner reveals it."""

from dataclasses import replace
from math import ceil

from course_lib.accounting import memory, models

PARAMETERS = 10_000_000_000
CARD = 16e9  # bytes


def how_many_cards(
    billions: int, gigabytes: int, weights: int, grads: int, eight: int, twelve: int, eighteen: int, twenty: int
) -> int:
    """From `weights` on they are wrong answers that the card's slips name."""
    return ceil(int(memory.model_state(billions * 1e9, "mixed-adamw")) / (gigabytes * 1e9))


def one_trick() -> str:
    """The choice whose model state fits the card: there must be exactly one."""
    adapters = memory.lora_parameters(replace(models.load("llama2-7b"), layers=48), rank=16)
    states = {
        "8-bit": memory.model_state(PARAMETERS, "mixed-adamw-8bit"),
        "sgd": memory.model_state(PARAMETERS, memory.Recipe(weights=2, grads=2)),
        "offload": memory.model_state(PARAMETERS, offload=("master", "moment1", "moment2")),
        "qlora": memory.model_state(PARAMETERS, "frozen-nf4") + memory.model_state(adapters, "mixed-adamw"),
    }
    (fits,) = (name for name, state in states.items() if int(state) <= CARD)
    return fits


def offloaded_step(bus: int, ram: int, shorter: str, which: str, added: str, states: str, one_way: str) -> float:
    """From `shorter` on they are wrong answers that the card's slips name."""
    copies = (2 + 2) * PARAMETERS / (bus * 1e9)  # gradients down, weights up
    adam = 28 * PARAMETERS / (ram * 1e9)
    return max(copies, adam)


def mixtral_on_l40s() -> int:
    """All experts are kept; 40 GB of each card are left for its share."""
    state = memory.model_state(models.load("mixtral-8x7b").parameters(), "mixed-adamw")
    return ceil(int(state) / 40e9)


def how_large_a_card() -> float:
    share = int(memory.model_state(PARAMETERS, "mixed-adamw", zero_stage=3, ranks=8)) / 1e9
    return (share + 4) / 0.9
