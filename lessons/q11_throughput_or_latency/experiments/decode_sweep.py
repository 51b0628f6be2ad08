"""One decode step of a GPT-2-shaped model with a KV cache, by batch and by tokens in the cache.

Predicted by `inference.decode_step`: the weights are read once for the whole batch, keys and values once for each
sequence. On a GPU the step is captured in a CUDA graph, because some 25 launches a layer would take longer than reading
the weights; one case shows that.
"""

from course_lib.accounting import hardware, inference, memory, precision, roofline
from course_lib.experiments.measurements.cuda_graphs import replayed
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Small and large batches with short and long caches; full has more of both."""
    dtype = main_dtype(device)
    if device.kind == "cpu":
        model = tiny_gpt.describe(layers=6, d_model=512, heads=8, vocab=8192, context=2049)
        batches, more_batches = (1, 8), (1, 2, 8)
    else:
        model = tiny_gpt.describe(layers=8, d_model=4096, heads=32, vocab=50257, context=4097)
        batches, more_batches = (1, 8, 64), (1, 8, 64, 256)
    contexts = (512, 2048)
    if not quick:
        batches, contexts = more_batches, (512, 1024, 2048) if device.kind == "cpu" else (512, 2048, 4096)
    nets = _Nets(model, dtype)
    found = [
        _case(f"batch {batch}, {context} tokens", nets, batch, context, graph=device.kind == "gpu")
        for context in contexts
        for batch in batches
    ]
    if device.kind == "gpu":
        found.append(_case(f"batch 1, {contexts[0]} tokens, launched", nets, 1, contexts[0], False, ", launched"))
    return tuple(found)


class _Nets:
    """The model of all cases, built once for the first of them."""

    def __init__(self, model, dtype: str):
        self.model, self.dtype, self._net = model, dtype, None

    def on(self, bench):
        if self._net is None:
            self._net = tiny_gpt.build(bench, self.model, "sdpa", dtype=self.dtype).eval()
        return self._net


def _case(name: str, nets: _Nets, batch: int, context: int, graph: bool, launched: str = "") -> Case:
    model, dtype = nets.model, nets.dtype
    weights = precision.nbytes(int(model.parameters()), dtype)
    kept = int(memory.kv_cache(model, batch=batch, tokens=context, dtype=dtype))
    ops = (
        roofline.Op("weights", 2 * batch * int(model.parameters()), weights, dtype),
        roofline.Op("keys and values", 0, kept, dtype),
    )

    def build(bench):
        net, tokens = nets.on(bench), tiny_gpt.tokens(bench, model, batch, 1)
        cache = tiny_gpt.KVCache(bench, model, batch, context + 1, dtype)

        def step():
            cache.length = context  # the new token takes the same place every time
            return net(tokens, cache=cache).logits

        return replayed(bench, step) if graph else step

    def expect(device: hardware.Device) -> float:
        return inference.decode_step(
            model,
            batch=batch,
            context=context,
            device=device,
            weight_dtype=dtype,
            kv_dtype=dtype,
            compute_dtype=dtype,
            reads="all",  # every position counts, as in the recordings
        ).seconds

    facts = {"batch": batch, "context": context, "line": f"batch {batch}{launched}"}
    call = say("calls", "many" if batch > 1 else "one", batch=batch)
    return Case(name, call, ops, build, expect=expect, facts=facts)


def plot(result):
    """Time of a step over the tokens in the cache, a line for each batch."""
    rows = {(row["batch"], row["context"]): row["measured"] for row in result.rows if "launched" not in row["line"]}
    (small, short), (large, _) = min(rows), max(rows)
    title = say("title", "plain")
    if (large, short) in rows and large > small:
        factor = quantity(rows[large, short] / rows[small, short], "×")
        title = say("title", "found", more=large // small, factor=factor, short=short)
    return curves(result, x="context", title=title, axis=say("axis"), by="line")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", batch="int", context="int", line="str", hidden=("batch", "line")),
    full_seconds=0.4,
)
