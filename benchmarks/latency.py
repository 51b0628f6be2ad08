"""How long one answer of each calculator takes, and of each way to show it. The budget is 1 ms an answer.

Run `python benchmarks/latency.py`. Wall time of a call in a warm interpreter, catalogues read: median, and the slowest
model of the catalogue that the calculator serves.
"""

import statistics
import time

from course_lib.accounting import (
    communication,
    economics,
    flops,
    hardware,
    inference,
    memory,
    models,
    parallelism,
    precision,
    roofline,
)

CALLS = 200
H100 = hardware.load("h100-sxm")
PLAN = parallelism.Plan(data=8, tensor=2, pipeline=2, zero_stage=1, microbatches=4)

# name -> a call for one model; a ValueError says that the calculator does not serve this kind of model
BY_MODEL = {
    "models.load": lambda m, sizes: models.load(m.name),
    "model.parameters": lambda m, sizes: m.parameters(),
    "flops.forward": lambda m, sizes: flops.forward(m, 2, extras=True, **sizes),
    "flops.training_step": lambda m, sizes: flops.training_step(m, 2, **sizes),
    "memory.activations": lambda m, sizes: memory.activations(m, batch=2, **sizes),
    "memory.training_peak": lambda m, sizes: memory.training_peak(m, batch=2, precision="amp-bf16", **sizes),
    "memory.kv_cache": lambda m, sizes: memory.kv_cache(m, batch=2, tokens=512),
    "inference.decode_step": lambda m, sizes: inference.decode_step(m, batch=2, context=512, device=H100),
    "parallelism.rank_memory": lambda m, sizes: parallelism.rank_memory(m, PLAN, batch=32, seq=512),
}
ALONE = {
    "hardware.load": lambda: hardware.load("h100-sxm"),
    "roofline.place": lambda: roofline.place(flops=1e12, bytes=1e9, device=H100, dtype="bf16"),
    "communication.all_reduce": lambda: communication.all_reduce(nbytes=1e9, ranks=8, bandwidth=450e9),
    "memory.model_state": lambda: memory.model_state(7e9, zero_stage=3, ranks=8),
    "economics.compute_optimal": lambda: economics.compute_optimal(1e24),
    "precision.rounded": lambda: precision.rounded(0.1, "bf16"),
}
SHOWN = {
    "explain": lambda b: b.explain(),
    "text": repr,
    "HTML": lambda b: b._repr_html_(),
    "JSON": lambda b: b.to_json(),
}


def median_ms(call) -> float:
    """Median wall milliseconds of a call, after one that is not counted."""
    call()
    times = []
    for _ in range(CALLS):
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return 1000 * statistics.median(times)


def by_model(call) -> dict[str, float]:
    """Model -> median ms, for the models that the calculator serves."""
    found = {}
    for name in models.names():
        model = models.load(name)
        sizes = {} if hasattr(model, "image") else {"seq": 512}
        try:
            call(model, sizes)
        except ValueError:
            continue
        found[name] = median_ms(lambda model=model, sizes=sizes: call(model, sizes))
    return found


def main() -> None:
    print(f"{'':30}{'median ms':>10}{'slowest':>9}")
    for name, call in BY_MODEL.items():
        found = by_model(call)
        slowest = max(found, key=found.get)
        print(f"{name:30}{statistics.median(found.values()):10.3f}{found[slowest]:9.3f}  {slowest}, of {len(found)}")
    for name, call in ALONE.items():
        print(f"{name:30}{median_ms(call):10.3f}")
    count = flops.forward(models.load("gpt2"))
    for name, call in SHOWN.items():
        print(f"{'Breakdown: ' + name:30}{median_ms(lambda call=call: call(count)):10.3f}")


if __name__ == "__main__":
    main()
