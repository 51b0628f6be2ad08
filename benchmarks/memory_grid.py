"""The peak of a training step at full size: predicted by `memory.training_peak`, measured by the CPU's allocator.

Run `python benchmarks/memory_grid.py [--gigabytes 8]`. Each configuration runs two real steps on the CPU; those that
are predicted to need more than the limit are skipped. It takes minutes; the tests measure small models likewise.
"""

import argparse
import statistics
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "accounting"))

from test_memory_truth import allocator_peak, gpt2, inputs_for, llama, optimizer_for, prepare, vit

from course_lib.accounting import memory

GPT2 = {"layers": 12, "d": 768, "heads": 12, "f": 3072, "vocab": 50257, "context": 1024}
LLAMA = {"layers": 8, "d": 512, "heads": 8, "kv_heads": 4, "f": 1408, "vocab": 32000}
VIT = {"layers": 12, "d": 768, "heads": 12, "f": 3072, "image": 224, "patch": 16, "classes": 1000}
MODELS = {
    "gpt2": (gpt2, GPT2, ((1, 64), (2, 256), (8, 256), (1, 1024), (4, 1024), (8, 1024))),
    "llama-tiny": (llama, LLAMA, ((1, 64), (2, 256), (8, 256), (8, 512))),
    "vit-b-16": (vit, VIT, ((1, None), (8, None), (32, None))),
}
# precision, attention, dropout, recompute
SETTINGS = (
    ("fp32", "eager", 0.0, "none"),
    ("fp32", "sdpa", 0.0, "none"),
    ("fp32", "eager", 0.1, "full"),
    ("amp-bf16", "eager", 0.1, "none"),
    ("amp-bf16", "sdpa", 0.0, "full"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=4, help="skip what needs more (default: 4)")
    limit = parser.parse_args().gigabytes * 1e9
    warnings.simplefilter("ignore")

    errors = []
    print(f"{'configuration':50} {'predicted MB':>13} {'measured MB':>13} {'error':>9}  phase")
    for name, (family, shape, sizes) in MODELS.items():
        for batch, seq in sizes:
            for precision, attention, dropout, recompute in SETTINGS:
                build, ours = family(**shape, dropout=dropout)
                options = {"precision": precision, "attention": attention, "recompute": recompute}
                peak = memory.training_peak(ours, batch=batch, seq=seq, **options)
                size = f"B{batch} S{seq}" if seq else f"B{batch}"
                title = f"{name} {size} {precision} {attention} dropout {dropout} recompute {recompute}"
                line = f"{title:50} {int(peak) / 1e6:13.2f}"
                if int(peak) > limit:
                    print(f"{line} {'skipped':>13}", flush=True)
                    continue
                model = prepare(build, attention, precision, recompute)
                inputs = inputs_for(model, batch, seq)
                measured = allocator_peak(model, inputs, precision, optimizer_for(model, "adamw"))
                errors.append(abs(int(peak) / measured - 1))
                error = int(peak) / measured - 1
                print(f"{line} {measured / 1e6:13.2f} {error:+9.4%}  {peak.phase}", flush=True)
                del model
    print(f"{len(errors)} measured: worst {max(errors):.4%}, median {statistics.median(errors):.4%}")


if __name__ == "__main__":
    main()
