"""What an answer waits for: five prices, each of which can be set to zero, and the one that binds next."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from course_lib.accounting import communication, hardware, inference, models, roofline

PRICES = ("arithmetic", "bytes", "calls", "messages", "distance")
CARD, LINK = "h100-sxm", 5e-6  # s of an all-reduce among eight cards: assumed
KERNELS, CALL = 10, 5e-6  # kernels a layer, and s to launch one: both assumed
TOKENS, CONTEXT, PROMPT = 500, 1024, 8192  # tokens of an answer, in the cache, of a long prompt
AWAY, LIGHT = 10_000e3, 299_792_458.0  # m from the reader to the machine, m/s in vacuum
SIDE = 8192  # of a square matrix product


@dataclass(frozen=True)
class Work:
    """An answer: `step` says, of a device, the s of a step on it; `layers` launch kernels, `devices` exchange messages.

    steps: in the answer. asked: whether a reader far away waits for it.
    """

    step: Callable[[hardware.Device], float]
    layers: float
    steps: int = 1
    devices: int = 1
    asked: bool = True


def decode(model: str, batch: int, devices: int = 1, dtype: str = "bf16") -> Work:
    """An answer of `TOKENS` tokens for each of `batch` readers, token by token."""

    def step(device: hardware.Device) -> float:
        how = {"batch": batch, "context": CONTEXT, "devices": devices, "weight_dtype": dtype}
        return inference.decode_step(model, device=device, **how).seconds

    return Work(step, models.load(model).layers, TOKENS, devices)


def _prompt(device: hardware.Device) -> float:
    """s of a long prompt: its arithmetic, or the weights that are read once meanwhile."""
    read = inference.decode_step("llama3-8b", batch=1, context=1, device=device).weight_bytes / device.memory_bandwidth
    return max(inference.prefill("llama3-8b", batch=1, tokens=PROMPT, device=device, mfu=1).seconds, read)


def _product(device: hardware.Device) -> float:
    return roofline.matmul(SIDE, SIDE, SIDE, dtype="bf16").on(device).seconds


WORKS = {
    "one": decode("llama3-8b", 1),
    "many": decode("llama3-8b", 256),
    "crowd": decode("llama3-8b", 512),
    "eight": decode("llama3.1-405b", 1, devices=8, dtype="fp8-e4m3"),  # in 16 bits it does not fit eight cards
    "prompt": Work(_prompt, models.load("llama3-8b").layers),
    "product": Work(_product, 1 / KERNELS, asked=False),
}


def seconds(name: str, free=(), *, link: float = LINK) -> float:
    """s of an answer with the prices `free` at zero; link: s of an all-reduce.

    A step takes as long as its launches, which run ahead, or as the card with its messages, whichever is longer; the
    way to the reader and back is paid once.
    """
    work = WORKS[name]
    launched = 0 if "calls" in free else KERNELS * work.layers * CALL
    sent = 0 if work.devices == 1 or "messages" in free else 2 * work.layers * link
    away = 0 if not work.asked or "distance" in free else 2 * AWAY / LIGHT
    return work.steps * max(launched, _step(name, *(price for price in PRICES[:2] if price in free)) + sent) + away


@cache
def _step(name: str, *free: str) -> float:
    """s of a step on a card on which these prices of its own are zero."""
    return WORKS[name].step(hardware.set_free(CARD, *free))


def alone(name: str, price: str, *, link: float = LINK) -> float:
    """s of an answer in which everything but `price` is free; 0 where it has no share in it."""
    found = seconds(name, [other for other in PRICES if other != price], link=link)
    return found if found > 1e-9 else 0.0


def binds(name: str, free=(), *, link: float = LINK) -> str:
    """The price that saves most if it too is set to zero; of equal ones that which alone takes longest."""

    def saves(price: str) -> tuple[float, float]:
        saved = seconds(name, free, link=link) - seconds(name, [*free, price], link=link)
        return round(saved, 12), alone(name, price, link=link)

    return max((price for price in PRICES if price not in free), key=saves)


def published_message() -> float:
    """s of an all-reduce of what a layer of Llama 3.1 405B sends for one reader, from a published sweep of NCCL."""
    width = models.load("llama3.1-405b").d_model
    return dict(communication.fitted("h200-8-ring").points)[2 * width]
