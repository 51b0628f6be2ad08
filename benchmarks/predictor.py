"""How far the predictor is off, on operations and models that it was never calibrated on.

Run `python benchmarks/predictor.py [--seed 1]`. 40 operations are listed here, 40 more are drawn at random, so that a
formula cannot be fitted to them. Everything runs on one thread and is timed by the processor time of
that thread, the minimum of its repeats; other programs still take caches and memory bandwidth away, so run it on a
quiet machine. A factor off is max(predicted/measured, measured/predicted). Bars: median 1.15, 80th percentile 1.35,
worst 2.0; forward passes within 20 %. Operations that the predictor calls undecided (a new result between the sizes
that are certainly reused and certainly fresh) are shown and not scored. Takes about two minutes and 3 GB.
"""

import argparse
import dataclasses
import random
import statistics
import sys
import warnings

import torch
from real_models import llama_like, transformers_model
from transformers.utils import logging

from course_lib.accounting import models
from course_lib.experiments import calibration, machine
from course_lib.experiments.bench import Bench
from course_lib.experiments.predictor import Predictor
from course_lib.experiments.workload import ROWWISE, Attention, Elementwise, Gather, Matmul, Operation, Rowwise

BARS = {"median": 1.15, "80th percentile": 1.35, "worst": 2.0}
FORWARD_BAR = 1.20

HELD_OUT: tuple[Operation, ...] = (
    Matmul(96, 96, 96),
    Matmul(384, 384, 384),
    Matmul(768, 768, 768),
    Matmul(1536, 1536, 1536),
    Matmul(256, 768, 3072),
    Matmul(300, 500, 700),
    Matmul(2048, 64, 2048),
    Matmul(2000, 1000, 24),
    Matmul(5, 1024, 1024),
    Matmul(1, 768, 768),
    Matmul(1, 4096, 4096),
    Matmul(1, 2048, 2048, cold=True),
    Matmul(16, 1024, 4096, cold=True),
    Matmul(128, 512, 2048, cold=True),
    Matmul(256, 256, 50257, new=True),
    Matmul(256, 64, 256, batch=12),
    Matmul(100, 100, 32, batch=40, new=True),
    Elementwise(100_000, "add"),
    Elementwise(6_000_000, "add"),
    Elementwise(700_000, "relu", new=True),
    Elementwise(3_000_000, "multiply", new=True),
    Elementwise(12_000_000, "cube"),
    Elementwise(1_000_000, "scale", cold=True),
    Elementwise(20_000_000, "copy", new=True),
    Elementwise(256 * 3072, "gelu", new=True),
    Elementwise(5_000_000, "exp"),
    Elementwise(60_000, "tanh"),
    Elementwise(8192 * 300, "silu", new=True),
    Rowwise(2048, 768, "layer_norm", new=True),
    Rowwise(64, 4096, "layer_norm", new=True),
    Rowwise(3072, 256, "softmax", new=True),
    Rowwise(256, 50257, "softmax", new=True),
    Rowwise(20_000, 50, "softmax", new=True),
    Gather(1024, 768, new=True),
    Gather(500, 300, new=True, cold=True),
    Gather(6000, 256, new=True, cold=True),
    Attention(12, 512, 512, 64, causal=False, new=True),
    Attention(16, 128, 128, 64, new=True),
    Attention(4, 1024, 1024, 128, new=True),
    Attention(6, 256, 256, 96, new=True),
)


def drawn(seed: int, number: int = 40) -> list[Operation]:
    """Operations of every kind, their sizes uniform in the logarithm, none of more than about 50 ms or 400 MB."""
    rng = random.Random(seed)

    def size(low: int, high: int) -> int:
        return round(low * (high / low) ** rng.random())

    def coin() -> bool:
        return rng.random() < 0.5

    def matmul():
        return Matmul(size(1, 1000), size(32, 1500), size(32, 1500), new=coin(), cold=coin())

    def batched():
        return Matmul(size(16, 300), size(16, 128), size(16, 300), batch=size(2, 48), new=coin())

    def elementwise():
        function = rng.choice(["add", "multiply", "copy", "square", "exp", "tanh", "gelu", "silu", "gelu-tanh", "sqrt"])
        return Elementwise(size(1000, 10**7), function, new=True, cold=coin())

    def rowwise():
        return Rowwise(size(10, 3000), size(16, 3000), rng.choice(list(ROWWISE)), new=True, cold=coin())

    def gather():
        return Gather(size(50, 10_000), size(16, 1024), new=True, cold=coin())

    def attention():
        length = size(32, 1024)
        return Attention(
            size(1, 16), length, length, rng.choice([32, 48, 64, 80, 128]), causal=coin(), backward=coin(), new=True
        )

    return [rng.choice((matmul, batched, elementwise, rowwise, gather, attention))() for _ in range(number)]


GPT2_SMALL = models.load("gpt2")
GPT2_TINY = dataclasses.replace(GPT2_SMALL, name="gpt2-tiny", layers=4, d_model=256, heads=4, vocab=8000, context=512)
LLAMA_SMALL = llama_like(
    "llama-small", layers=8, d_model=512, heads=8, kv_heads=4, d_ff=1408, vocab=32000, context=2048
)
# title, shape, batch, seq, attention, whether a training step
MODELS = (
    ("GPT-2 small 1×256, eager", GPT2_SMALL, 1, 256, "eager", False),
    ("GPT-2 small 1×256, SDPA", GPT2_SMALL, 1, 256, "sdpa", False),
    ("Llama of 8 layers 2×128, SDPA", LLAMA_SMALL, 2, 128, "sdpa", False),
    ("GPT-2 of 4 layers 4×100, eager", GPT2_TINY, 4, 100, "eager", False),
    ("GPT-2 of 4 layers 1×8, SDPA", GPT2_TINY, 1, 8, "sdpa", False),
    ("GPT-2 of 4 layers 4×100, step", GPT2_TINY, 4, 100, "sdpa", True),
    ("GPT-2 small 1×256, step", GPT2_SMALL, 1, 256, "sdpa", True),
)


def calibrated(bench: Bench, budget: float) -> Predictor:
    with torch.inference_mode():
        operations = list(calibration.run(bench, budget))
    raw = {
        "last_level_cache": machine.last_level_cache(),
        "one_thread": {"clock": calibration.CLOCK, "operations": operations},
    }
    return Predictor({"raw": {"cpu": raw}})


def forward_or_step(shape, batch, seq, attention, step):
    """What a model runs, as a call."""
    model, tokens = transformers_model(shape, attention), torch.randint(shape.vocab, (batch, seq))
    if not step:
        model.eval()
        return lambda: model(tokens, use_cache=False)
    optimizer = torch.optim.AdamW(model.parameters())

    def one():
        optimizer.zero_grad(set_to_none=True)
        model(tokens, labels=tokens, use_cache=False).loss.backward()
        optimizer.step()

    return one


def line(title: str, found, measured: float) -> float:
    """Print one comparison; the factor off."""
    ratio = found.seconds / measured
    inside = "undecided" if found.undecided else "" if found.low <= measured <= found.high else "outside"
    times = f"{1e6 * found.seconds:11.1f} {1e6 * measured:11.1f}"
    print(f"{title:44} {times} {ratio:7.2f}  {inside:10}{found.why}", flush=True)
    return max(ratio, 1 / ratio)


def title_of(operation: Operation) -> str:
    sizes = [str(value) for value in vars(operation).values() if not isinstance(value, bool)]
    marks = [name for name in ("new", "cold") if getattr(operation, name)]
    return " ".join([type(operation).__name__, *sizes, *marks])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=6, help="seconds of calibration (default: 6)")
    parser.add_argument("--each", type=float, default=0.3, help="seconds for one measurement (default: 0.3)")
    parser.add_argument("--seed", type=int, default=1, help="of the operations that are drawn (default: 1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    bench = Bench.on_device(torch, "cpu")
    held_out = (*HELD_OUT, *drawn(options.seed))
    if shared := set(held_out) & set(calibration.OPERATIONS):
        sys.exit(f"not held out: {shared}")
    start = machine.Clock.now()
    predictor = calibrated(bench, options.budget)

    print(f"{'':44} {'predicted µs':>11} {'measured':>10} {'ratio':>7}")
    off, inside, undecided = [], 0, 0
    for operation in held_out:
        with torch.inference_mode():
            measured = calibration.thread_seconds(calibration.build(bench, operation), options.each, at_least=5)
        found = predictor.predict(operation)
        factor = line(title_of(operation), found, measured)
        inside += found.low <= measured <= found.high
        if found.undecided:
            undecided += 1
        else:
            off.append(factor)
    forwards = []
    for title, shape, batch, seq, attention, step in MODELS:
        found = predictor.predict_model(shape, batch, seq, attention=attention, step=step)
        with torch.inference_mode(not step):
            call = forward_or_step(shape, batch, seq, attention, step)
            measured = calibration.thread_seconds(call, 3 * options.each)
        factor = line(title, found, measured)
        if not step:
            forwards.append(factor)

    others = start.used_by_others()
    print(f"\n{len(held_out)} operations, {inside} inside the stated interval, {undecided} undecided and not scored")
    print(f"others used {others or 0:.0%} of the processor")
    reached = {
        "median": statistics.median(off),
        "80th percentile": statistics.quantiles(off, n=5, method="inclusive")[3],
        "worst": max(off),
    }
    missed = [name for name, bar in BARS.items() if reached[name] > bar]
    for name, bar in BARS.items():
        print(f"{name:16} {reached[name]:.2f}, bar {bar:.2f}")
    print(f"{'worst forward':16} {max(forwards):.2f}, bar {FORWARD_BAR:.2f}")
    if missed or max(forwards) > FORWARD_BAR:
        sys.exit(1)


if __name__ == "__main__":
    main()
