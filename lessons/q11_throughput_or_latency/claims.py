"""Claims on trial in Q11: each function decides one claim by computing it and returns the verdict with its numbers."""

from functools import cache

from course_lib.accounting import inference
from course_lib.experiments import batchers
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q11_throughput_or_latency import serving


@cache
def _step(batch: int):
    return inference.decode_step("llama3-8b", batch=batch, context=1024, device="h100-sxm")


def s003_38() -> Verdict:
    """Two batches on each side of the knee, and one load on two servers."""

    def grown(small, large):
        before, after = _step(small), _step(large)
        return after.seconds / before.seconds, after.tokens_per_second / before.tokens_per_second

    knee = round(_step(1).weight_bytes / _step(1).kv_bytes)
    low, high = grown(1, 8), grown(knee, 2 * knee)
    times = serving.arrivals(0.8, 4000)
    alone, together = (
        serving.percentile(serving.generate(times, 256, lambda batch: _step(batch).seconds, slots)[1], 50)
        for slots in (1, 64)
    )
    nowhere = low[0] < 1.1 and low[1] > 5 and together < alone
    beyond = high[0] > high[1] > 1  # more for all, and each pays more than that for it
    ruling = {(True, True): "holds-if", (True, False): "fails"}.get((nowhere, beyond), "holds")
    numbers = {"low": low, "high": high, "free": low[0] - 1, "gain": low[1], "knee": knee, "beyond": 2 * knee}
    return Verdict(ruling, alone=alone, together=together, **numbers)


def s004_085() -> Verdict:
    """The recipe is run, with a model that copies its input; so are its repair and the worker loop."""
    sizes = (32, 64, 1, 32, 64)
    kinds = {"recipe": batchers.Impatient, "shielded": batchers.Shielded, "greedy": batchers.Greedy}
    answered = {name: batchers.beside(batchers.groups(kind, sizes)) for name, kind in kinds.items()}
    ruling = "holds" if answered["recipe"] == list(sizes) else "fails"
    shown = {name: ", ".join(map(str, counts)) for name, counts in answered.items()}
    return Verdict(ruling, sent=", ".join(map(str, sizes)), **shown)


def s003_33() -> Verdict:
    """Bounds by the data sheet: one sequence, a batch of them, and prompts."""
    claimed, batch = (50_000, 100_000), 64
    alone, together = (
        inference.decode_step("gpt2", batch=size, context=512, device="a100-40-sxm").tokens_per_second
        for size in (1, batch)
    )
    prompt = inference.prefill("gpt2", batch=1, tokens=1024, device="a100-40-sxm", mfu=1).tokens_per_second
    possible = [bound >= claimed[0] for bound in (alone, together, prompt)]
    ruling = by_cases(possible)
    return Verdict(ruling, alone=alone, together=together, prompt=prompt, batch=batch)


def s004_082() -> Verdict:
    """What a user waits is the whole batch: milliseconds a sample times its samples."""
    batches, shares = (1, 32, 64), (50, 5, 3)
    waits = [batch * share for batch, share in zip(batches, shares, strict=True)]
    rates = [1000 / share for share in shares]
    sooner = waits[-1] < waits[0]
    return Verdict(
        "holds" if sooner else "fails", waits=waits, rates=rates, later=waits[-1] / waits[0], rate=rates[-1] / rates[0]
    )


def s004_083() -> Verdict:
    """What sharing one launch saves, beside what was saved."""
    launch, alone, shared, batch = 10.0, 50_000.0, 5_000.0, 32  # µs
    saved, gap = launch * (1 - 1 / batch), alone - shared
    return Verdict(
        "holds" if saved >= gap / 2 else "fails", saved=saved, gap=gap, share=saved / alone, launches=gap / saved
    )
