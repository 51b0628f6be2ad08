"""A token on a phone and in a data centre: what it reads, how long that takes, and how many joules."""

from course_lib.accounting import economics, hardware, inference, models

MODEL, CONTEXT = "llama3-8b", 1024
PHONE, CLOUD = "apple-a17-pro-npu", "h100-sxm"
WATTS = 8.0  # W of the whole phone while it writes: an assumption of this unit
PUE = 1.1  # all energy of the data centre over that of its cards: an assumption, as in Q21
OFFERED = ("llama3.2-1b", "gemma2-2b", "phi-3-mini", "qwen3-8b", "qwen3-30b-a3b", "llama3-70b")


def phone(model=MODEL, weights="int4", cache="int8", device=PHONE, context=CONTEXT) -> inference.Decode:
    """One step for one reader, with 8-bit arithmetic."""
    how = {"weight_dtype": weights, "kv_dtype": cache, "compute_dtype": "int8"}
    return inference.decode_step(model, batch=1, context=context, device=device, **how)


def cloud(readers: int, model=MODEL, context=CONTEXT) -> inference.Decode:
    """One step for many readers, all in bf16."""
    return inference.decode_step(model, batch=readers, context=context, device=CLOUD)


def joules(readers: int | None = None, watts: float = WATTS) -> float:
    """Joules a token: of the phone, or of the card with so many readers, its data centre's losses included."""
    if readers is None:
        return economics.energy(power=watts, seconds=phone().seconds)
    return economics.energy(power=hardware.load(CLOUD).power, seconds=cloud(readers).seconds, pue=PUE) / readers


def readers_to_beat(allowed: float, most: int = 4096) -> int | None:
    """The fewest readers with which a token on the card takes at most `allowed` joules; None up to `most`."""
    return next((readers for readers in range(1, most + 1) if joules(readers) <= allowed), None)


def joules_a_byte() -> dict[str, float]:
    """Power over bandwidth: what a byte costs while nothing but bytes is waited for."""
    card = hardware.load(CLOUD)
    return {
        "phone": WATTS / hardware.load(PHONE).memory_bandwidth,
        "card": card.power * PUE / card.memory_bandwidth,
    }


def bytes_a_token(readers: int | None = None) -> float:
    """Of the phone's only reader, or of each of the card's readers."""
    step = phone() if readers is None else cloud(readers)
    return (step.weight_bytes + step.kv_bytes) / (readers or 1)


def weights_for(rate: float, bits: float, bandwidth: float) -> float:
    """Weights that can be read `rate` times a second, the cache forgotten."""
    return bandwidth / rate * 8 / bits


def offered(device=PHONE, weights="4.5-bit") -> dict[str, tuple[float, float, inference.Decode]]:
    """Model -> (GB to be held, GB read for a token, its step)."""
    found = {}
    for name in OFFERED:
        step = phone(name, weights, device=device)
        held = int(models.load(name).parameters()) * 4.5 / 8 if weights == "4.5-bit" else step.weight_bytes
        found[name] = (held / 1e9, (step.weight_bytes + step.kv_bytes) / 1e9, step)
    return found
