from course_lib.accounting import flops, hardware
from course_lib.experiments import published


def one_token():
    return published.get("gptfast-7b").published


def impossible():
    """MFU in percent of the step that the script's comment promises."""
    return 100 * published.get("llmc-gpt3-125m-step").efficiency


def two_digits():
    return 0.6405 * hardware.load("tpu-v5p").peak("bf16") / 1e12


def three_times():
    """What the hardware's equation adds for the core, over one forward pass of it; Megatron-LM's 22 B model."""
    layers, batch, tokens, width = 48, 4, 2048, 6144
    common = 72 * batch * layers * tokens * width**2
    added = common * tokens / (3 * width) - common * tokens / (6 * width)
    forward = 2 * flops.matmul(tokens, width, tokens) * batch * layers  # scores, and their product with the values
    return added / forward


def left_out():
    """Which part of the test model's step the early formula lacks most of."""
    model = published.model("jz-20b")
    step = flops.training_step(model, 1, 2048, recompute="full")
    parts = {"head": step["head"], "scores": step["attention.scores"] + step["attention.values"], "recomputation": 0}
    return max(parts, key=parts.get)


def masks():
    checkpoint = published.get("nanogpt-checkpoint")
    return (checkpoint.published - checkpoint.prediction) / (4 * 1024**2)
