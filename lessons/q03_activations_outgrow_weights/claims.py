"""Claims on trial in Q3: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import flops, hardware, inference, memory, models
from course_lib.teaching.cards.verdict import Verdict, if_all

BATCH, SEQ = 32, 2048  # the case of the claims, on a model of their sizes
SEVEN = models.Transformer("7B", layers=32, d_model=4096, heads=32, vocab=32000, context=2048)


def _gb(number) -> float:
    return int(number) / 1e9


def _formula() -> int:
    """Bytes of one layer by the formula on trial."""
    return BATCH * SEQ * SEVEN.d_model * 2


def _korthikanti(recompute: str = "none"):
    """All layers; "selective" keeps what fused attention keeps."""
    return memory.activations(SEVEN, batch=BATCH, seq=SEQ, recompute=recompute, convention="megatron")


def s003_46() -> Verdict:
    layers = {
        "written_out": _korthikanti()["layer"],
        "without_scores": _korthikanti("selective")["layer"],
        "llama": memory.activations(models.load("llama2-7b"), batch=BATCH, seq=SEQ, precision="bf16", attention="sdpa")[
            "layer"
        ],
        "checkpointed": _korthikanti("full")["layer"],
    }
    nearest_kept = min(int(layers["written_out"]), int(layers["without_scores"]))
    return Verdict(
        if_all(abs(_formula() / nearest_kept - 1) < 0.1),
        formula=_gb(_formula()),
        **{name: _gb(size) for name, size in layers.items()},
    )


def s003_03() -> Verdict:
    """The claim holds if a usual batch leaves a ResNet's activations below its weights, and even one short sequence
    lifts a transformer's above."""
    resnet, gpt2 = models.load("resnet-50"), models.load("gpt2")
    an_image = 4 * sum(step.work for step in resnet.steps() if step.op in ("batchnorm", "relu"))
    of_resnet = {images: images * an_image / (4 * int(resnet.parameters())) for images in (1, 32)}
    of_gpt2 = {
        (batch, seq): int(memory.activations(gpt2, batch=batch, seq=seq)) / (4 * int(gpt2.parameters()))
        for batch, seq in ((1, 128), (16, 1024))
    }
    return Verdict(
        if_all(of_resnet[32] < 1, of_gpt2[1, 128] > 1),
        resnet_1=of_resnet[1],
        resnet_32=of_resnet[32],
        gpt2_short=of_gpt2[1, 128],
        gpt2_long=of_gpt2[16, 1024],
    )


def s003_51() -> Verdict:
    inputs = int(_korthikanti("full"))
    kept = {how: _korthikanti(how) for how in ("selective", "none")}
    before = {how: _gb(all_layers) for how, all_layers in kept.items()}
    after = {how: _gb(inputs + int(all_layers["layer"])) for how, all_layers in kept.items()}
    cuts = {how: 1 - after[how] / before[how] for how in kept}
    plain, full = (int(flops.training_step(SEVEN, BATCH, SEQ, recompute=how)) for how in ("none", "full"))
    return Verdict(
        if_all(inputs <= 12e9, all(0.5 <= cut <= 0.8 for cut in cuts.values()), 1.2 <= full / plain <= 1.3),
        inputs=_gb(inputs),
        before=before,
        after=after,
        cuts=cuts,
        factor=full / plain,
    )


def s003_04() -> Verdict:
    """How much of a decode step's time the cache takes, on an H100 by its data sheet."""
    model, steps = models.load("llama2-7b"), []
    bandwidth = hardware.load("h100-sxm").memory_bandwidth
    weights = 2 * int(model.parameters())
    for batch, context in ((1, 512), (32, 2048)):
        step = inference.decode_step(model, batch=batch, context=context, device="h100-sxm")
        share = step.kv_bytes / bandwidth / step.seconds
        steps.append({"cache": _gb(step.kv_bytes), "weights": _gb(weights), "share": share})
    each = int(memory.kv_cache(model, batch=1, tokens=1))
    few, many = (step["share"] > 0.5 for step in steps)
    ruling = "holds" if few and many else "holds-if" if many else "fails"
    return Verdict(ruling, few=steps[0], many=steps[1], equal=weights // each + 1)


def s003_45() -> Verdict:
    """Without checkpointing, as the claim means it: with it, another one expects 12 GB."""
    by_formula = SEVEN.layers * _formula()
    candidates = (by_formula, int(_korthikanti()), int(_korthikanti("selective")))
    return Verdict(
        if_all(any(abs(value / 48e9 - 1) < 0.1 for value in candidates)),
        gb=_gb(by_formula),
        gib=by_formula / 2**30,
        without_scores=_gb(_korthikanti("selective")),
        written_out=_gb(_korthikanti()),
        at_work=_gb(by_formula + int(_korthikanti()["layer"])),
    )


def s003_48() -> Verdict:
    """Whether a forward pass without gradients needs more memory with more layers: measured, where torch is."""
    weights, activations = 14e9, SEVEN.layers * _formula()
    cache = int(memory.kv_cache(SEVEN, batch=BATCH, tokens=SEQ))
    two, eight = (_forward_only(layers) for layers in (2, 8))
    return Verdict(
        if_all(eight > 2 * two),
        planned=(weights + activations) / 2**30,
        tensor=_gb(_formula()),
        cache=_gb(cache),
        two=two / 1e6,
        eight=eight / 1e6,
    )


def _forward_only(layers: int) -> int:
    """Bytes that the forward pass of a small GPT-2 allocates at most, without gradients."""
    import torch

    from course_lib.experiments.nets import tiny_gpt
    from course_lib.experiments.running import allocation
    from course_lib.experiments.running.bench import Bench

    bench = Bench.on_device(torch, "cpu")
    model = tiny_gpt.describe(layers=layers, d_model=64, heads=4, vocab=128, context=64)
    net, tokens = tiny_gpt.build(bench, model), tiny_gpt.tokens(bench, model, 2, 64)
    with torch.no_grad():
        return allocation.rise(bench, lambda: net(tokens))


def s003_54() -> Verdict:
    working = {"fused": _korthikanti("selective")["layer"], "written_out": _korthikanti()["layer"]}
    return Verdict(
        if_all(all(int(value) == 0 for value in working.values())),
        fused=_gb(working["fused"]),
        written_out=_gb(working["written_out"]),
    )
