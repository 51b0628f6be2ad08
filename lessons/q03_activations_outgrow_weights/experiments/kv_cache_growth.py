"""One more token: the bytes of the KV cache, and the time of the token, while the context grows."""

from collections.abc import Mapping, Sequence

from course_lib.accounting import hardware, inference, memory
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

CACHE = ", cache"  # how the case that counts bytes is called, after the one that is timed


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Contexts of 128 to 2048 tokens in each of 8 sequences: the time of the next token, and the bytes of the cache.

    Full adds 4096.
    """
    if device.kind == "cpu":
        size, batch = {"layers": 4, "d_model": 256, "heads": 4, "vocab": 1024}, 8
    else:
        size, batch = {"layers": 12, "d_model": 768, "heads": 12, "vocab": 50257}, 64
    model = tiny_gpt.describe(context=4097, **size)
    contexts = (128, 512, 1024, 2048) if quick else (128, 256, 512, 1024, 2048, 4096)
    return tuple(case for context in contexts for case in _pair(model, batch, context, main_dtype(device)))


def _pair(model, batch: int, context: int, dtype: str) -> tuple[Case, Case]:
    expected_bytes = int(memory.kv_cache(model, batch=batch, tokens=context, dtype=dtype))

    def build(bench: Bench):
        net = tiny_gpt.build(bench, model, attention="sdpa", dtype=dtype).eval()
        cache = tiny_gpt.KVCache(bench, model, batch, context + 1, dtype)
        tokens = tiny_gpt.tokens(bench, model, batch, 1)

        def next_token():
            cache.length = context
            return net(tokens, cache=cache).logits

        return next_token

    def observe(bench: Bench, seconds: float) -> list[float]:
        return [allocation.rise(bench, lambda: tiny_gpt.KVCache(bench, model, batch, context, dtype))]

    def expect(device: hardware.Device) -> float:
        formats = dict.fromkeys(("weight_dtype", "kv_dtype", "compute_dtype"), dtype)
        formats["reads"] = "all"  # every position counts, as in the recordings
        return inference.decode_step(model, batch=batch, context=context, device=device, **formats).seconds

    name = f"{context} tokens"
    facts = {"context": context, "predicted_cache": expected_bytes}
    call = say("calls", "token", batch=batch)
    return (
        Case(name, call, build=build, expect=expect, facts=facts),
        Case(name + CACHE, call, observe=observe, expect=lambda device: float(expected_bytes), facts=facts),
    )


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each context of which both the time and the bytes were measured."""
    rows = {row["case"]: row for row in rows_of_quantity(cases, timings, device)}
    return [row | {"cache": int(rows[name + CACHE]["measured"])} for name, row in rows.items() if name + CACHE in rows]


def predict(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """case -> predicted seconds of the next token, of those cases that have a row."""
    known = {case.name: case for case in cases}
    return {name: case.predict(device) for name, case in known.items() if name + CACHE in known}


def plot(result):
    """Measured and predicted time of the next token by context."""
    first, last = result.rows[0], result.rows[-1]
    longer, larger = last["measured"] / first["measured"], last["cache"] / first["cache"]
    title = say("title", first=first["context"], last=last["context"], larger=larger, longer=longer)
    return curves(result, x="context", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (*quantity_columns(say, "s", context="int", predicted_cache="int B"), *fact_columns(say, cache="int B")),
    table=table,
    predict=predict,
    quick_seconds=0.1,
)
