"""The truth of each prediction card of Q7, computed when a learner reveals it."""

from dataclasses import replace
from math import isqrt, log
from time import process_time

from course_lib.accounting import flops, hardware, inference, models, roofline
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.timing import single_thread

H100 = "h100-sxm"
NAMES = {"GPT-2 small": "gpt2", "Llama-3 8B": "llama3-8b", "GPT-2 XL": "gpt2-xl"}


def _forward(name: str, tokens: int):
    """One sequence, of a model taken as if its positions reached so far."""
    return flops.forward(replace(models.load(NAMES[name]), context=2**24), seq=tokens)


def four_times_the_context(name, sizes, before, after, longer, square) -> float:
    """sizes, longer and square belong to the card's texts; they are not used."""
    return _forward(name, after).total / _forward(name, before).total


def next_token(before, after, factor, square) -> float:
    """factor and square are slips of the card; they are not used."""
    model = replace(models.load("llama3-8b"), context=2**24)
    times = [inference.decode_step(model, batch=1, context=many, device=H100).seconds for many in (before, after)]
    return times[1] / times[0]


def window_mask() -> str:
    """Times attention to all pairs and with a window given as a mask; the choice nearest to the ratio of the times.

    One thread, by processor time: what else runs here hardly disturbs it.
    """
    import torch

    bench, n = Bench.on_device(torch, "cpu"), 4096
    q, k, v = (bench.random(1, 2, n, 64) for _ in range(3))
    ago = torch.arange(n)[:, None] - torch.arange(n)[None, :]
    attend, masks = torch.nn.functional.scaled_dot_product_attention, (None, (ago >= 0) & (ago < 128))
    plain, masked = [], []
    with single_thread(torch):
        for _ in range(3):  # in turns, and the best of each
            for times, mask in zip((plain, masked), masks, strict=True):
                before = process_time()
                attend(q, k, v, attn_mask=mask)
                times.append(process_time() - before)
    ratio = {"thirty": 1 / 32, "half": 1 / 2, "same": 1, "longer": 1.44}  # √1.44 is 1.2: "a fifth longer"
    return min(ratio, key=lambda choice: abs(log(min(masked) / min(plain) / ratio[choice])))


def eager_bytes(n, d, once, twice, thrice) -> float:
    """once, twice and thrice are slips of the card; they are not used."""
    eager = (
        roofline.matmul(n, d, n, dtype="bf16"),
        roofline.elementwise(n * n, dtype="bf16"),
        roofline.matmul(n, n, d, dtype="bf16"),
    )
    return sum(op.bytes for op in eager) / roofline.elementwise(n * d, reads=3, dtype="bf16").bytes


def softmax_calls() -> float:
    array = 10**8
    naive = (
        roofline.elementwise(array),
        roofline.elementwise(array, writes=0),
        roofline.elementwise(array),
    )
    return sum(op.bytes for op in naive) / roofline.elementwise(array).bytes


def longest_prompt(seconds, linear, square) -> int:
    """The largest n with b·n + a·n² within the budget; linear and square are slips of the card, not used."""
    budget = int(seconds * 0.4 * hardware.load(H100).peak("bf16"))
    one, two = (_forward("Llama-3 8B", tokens).total for tokens in (1, 2))
    a = (two - 2 * one) // 2  # of each pair
    b = one - a
    return (isqrt(b * b + 4 * a * budget) - b) // (2 * a)


def protein() -> float:
    """Of the layers of ESM-2 3B alone: d = 2,560 makes any number of heads and words the same."""
    layer = models.Transformer("esm-2 3b", layers=36, d_model=2560, heads=40, vocab=33, context=4096)
    before, after = (int(flops.forward(layer, seq=tokens)["layers"]) for tokens in (512, 4096))
    return after / before
