"""Times of a served model with its weights and cache in other formats: what several files of this unit ask."""

from course_lib.accounting import inference, models, precision, roofline

MODEL, DEVICE = "llama3-8b", "h100-sxm"


def step(readers, context, weights="bf16", cache="bf16", device=DEVICE) -> inference.Decode:
    """One token for each reader; arithmetic in bf16."""
    return inference.decode_step(
        MODEL, batch=readers, context=context, device=device, weight_dtype=weights, kv_dtype=cache
    )


def faster(readers, context, weights, cache="bf16") -> float:
    """How many times as fast a step is as with all in bf16."""
    return step(readers, context).seconds / step(readers, context, weights, cache).seconds


def prompt_seconds(tokens, weights="bf16", device=DEVICE) -> float:
    """A prompt's pass: the weights once, or the arithmetic in bf16, whichever takes longer."""
    work = inference.prefill(MODEL, batch=1, tokens=tokens, device=device, mfu=1.0).flops
    read = precision.nbytes(int(models.load(MODEL).parameters()), weights)
    return roofline.place(flops=work, bytes=read, device=device, dtype="bf16").seconds
