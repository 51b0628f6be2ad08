"""A token on a phone and in a data centre: what it reads, how long that takes, and how many joules."""

from course_lib.accounting import economics, hardware, inference, models, precision

MODEL, CONTEXT = "llama3-8b", 1024
PHONE, CLOUD = "apple-a17-pro-npu", "h100-sxm"
WATTS = 8.0  # W of the whole phone while it writes: an assumption of this unit
PUE = 1.1  # cooling and losses: all energy over that of the machines (Q21), here of the cards alone; an assumption
FLASH = 2.0e9  # B/s that the phone's flash hands out: an assumption
WAY = 0.070  # s to the data centre and back, and into a batch: an assumption
PROMPT_SHARE = 0.5  # of the peak that reading a prompt reaches: an assumption
OFFERED = ("llama3.2-1b", "gemma2-2b", "phi-3-mini", "qwen3-8b", "qwen3-30b-a3b", "llama3-70b")


def phone(model=MODEL, weights="int4", cache="int8", device=PHONE, context=CONTEXT) -> inference.Decode:
    """One step for one reader, with 8-bit arithmetic."""
    how = {"weight_dtype": weights, "kv_dtype": cache, "compute_dtype": "int8"}
    return inference.decode_step(model, batch=1, context=context, device=device, **how)


def cloud(readers: int, weights="bf16", cache="bf16") -> inference.Decode:
    """One step for many readers, with 16-bit arithmetic."""
    how = {"weight_dtype": weights, "kv_dtype": cache}
    return inference.decode_step(MODEL, batch=readers, context=CONTEXT, device=CLOUD, **how)


def joules(readers: int | None = None, watts: float = WATTS, **formats) -> float:
    """Joules a token: of the phone, or of the card with so many readers, its data centre's losses included."""
    if readers is None:
        return economics.energy(power=watts, seconds=phone().seconds)
    step = cloud(readers, **formats)
    return economics.energy(power=hardware.load(CLOUD).power, seconds=step.seconds, pue=PUE) / readers


def readers_to_beat(allowed: float, most: int = 4096, **formats) -> int | None:
    """The fewest readers with which a token on the card takes at most `allowed` joules; None up to `most`."""
    return next((readers for readers in range(1, most + 1) if joules(readers, **formats) <= allowed), None)


def first_tokens(prompt: int) -> tuple[float, float]:
    """Seconds until the first token, on the phone and over the network: a prompt's arithmetic, or one reading at least."""
    found = []
    for device, dtype, step in ((PHONE, "int8", phone()), (CLOUD, "bf16", cloud(64))):
        how = {"mfu": PROMPT_SHARE, "compute_dtype": dtype}
        read = inference.prefill(MODEL, batch=1, tokens=prompt, device=device, **how)
        found.append(max(read.seconds, step.seconds))
    return found[0], WAY + found[1]


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
    """Model -> (GB to be held, GB read for a token, its step): weights and KV cache, of the weights all or those met."""
    found = {}
    for name in OFFERED:
        step = phone(name, weights, device=device)
        held = precision.nbytes(int(models.load(name).parameters()), weights) + step.kv_bytes
        found[name] = (held / 1e9, (step.weight_bytes + step.kv_bytes) / 1e9, step)
    return found
