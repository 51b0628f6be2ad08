"""Claims on trial in Q3: each function decides one claim by computing it and returns the verdict with its evidence."""

from course_lib.accounting import flops, hardware, inference, memory, models
from course_lib.teaching.cards.verdict import Verdict

BATCH, SEQ = 32, 2048  # the notes' case, on a model of their sizes
NOTES = models.Transformer("7B of the notes", layers=32, d_model=4096, heads=32, vocab=32000, context=2048)
STATE = 16 * 7 * 10**9  # bytes: the notes' 112 GB, 16 for each of 7e9 parameters


def _ruling(*tests: bool) -> str:
    return "holds" if all(tests) else "fails"


def _gb(number) -> str:
    return f"{int(number) / 1e9:,.1f} GB"


def _formula() -> int:
    """Bytes of one layer by the formula on trial."""
    return BATCH * SEQ * NOTES.d_model * 2


def _korthikanti(recompute: str = "none"):
    """All layers; "selective" keeps what fused attention keeps."""
    return memory.activations(NOTES, batch=BATCH, seq=SEQ, recompute=recompute, convention="megatron")


def s003_46() -> Verdict:
    layers = {
        "written out, with dropout": _korthikanti()["layer"],
        "scores not kept": _korthikanti("selective")["layer"],
        "full checkpointing": _korthikanti("full")["layer"],
    }
    evidence = {"the formula": _gb(_formula())} | {f"a layer, {name}": _gb(value) for name, value in layers.items()}
    nearest_kept = min(int(layers["written out, with dropout"]), int(layers["scores not kept"]))
    return Verdict(_ruling(abs(_formula() / nearest_kept - 1) < 0.1), evidence)


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
    evidence = {
        "it would hold if": "32 images kept less than the weights, and 1 × 128 tokens already more",
    }
    evidence |= {f"ResNet-50, {n} × 224² pixels: saved ÷ weights": f"{ratio:.1f}" for n, ratio in of_resnet.items()}
    evidence |= {f"GPT-2, {b} × {s} tokens: saved ÷ weights": f"{ratio:.1f}" for (b, s), ratio in of_gpt2.items()}
    return Verdict(_ruling(of_resnet[32] < 1, of_gpt2[1, 128] > 1), evidence)


def s003_51() -> Verdict:
    inputs, evidence, cuts = int(_korthikanti("full")), {}, []
    evidence["inputs of all layers"] = _gb(inputs)
    for name, how in {"fused attention": "selective", "written out": "none"}.items():
        before = _korthikanti(how)
        after = inputs + int(before["layer"])
        cuts.append(1 - after / int(before))
        evidence[name] = f"{_gb(before)} → {_gb(after)}, a cut of {cuts[-1]:.0%}"
    plain, full = (int(flops.training_step(NOTES, BATCH, SEQ, recompute=how)) for how in ("none", "full"))
    evidence["FLOPs"] = f"×{full / plain:.2f}"
    return Verdict(
        _ruling(inputs <= 12e9, all(0.5 <= cut <= 0.8 for cut in cuts), 1.2 <= full / plain <= 1.3), evidence
    )


def s003_04() -> Verdict:
    """How much of a decode step's time the cache takes, on an H100 by its data sheet."""
    model, shares, evidence = models.load("llama2-7b"), [], {}
    bandwidth = hardware.load("h100-sxm").memory_bandwidth
    for batch, context in ((1, 512), (32, 2048)):
        step = inference.decode_step(model, batch=batch, context=context, device="h100-sxm")
        shares.append(step.kv_bytes / bandwidth / step.seconds)
        sizes = f"cache {_gb(step.kv_bytes)}, weights {_gb(step.weight_bytes)}"
        evidence[f"{batch} × {context} tokens"] = f"{sizes}: the cache takes {shares[-1]:.0%} of the time of a token"
    each, weights = int(memory.kv_cache(model, batch=1, tokens=1)), 2 * int(model.parameters())
    evidence["cache as large as the weights from"] = f"{weights // each + 1:,} tokens in all sequences together"
    few, many = (share > 0.5 for share in shares)
    ruling = "holds" if few and many else "holds-if" if many else "fails"
    return Verdict(ruling, evidence, "It holds if many tokens are in the cache: many sequences, or long ones.")


def s003_45() -> Verdict:
    """Without checkpointing, as the notes mean it: with it they expect 12 GB."""
    by_formula = NOTES.layers * _formula()
    evidence = {
        "the notes' formula": f"{_gb(by_formula)}, or {by_formula / 2**30:.1f} GiB",
        "scores not kept": _gb(_korthikanti("selective")),
        "written out, with dropout": _gb(_korthikanti()),
        "inputs of all layers and one written-out layer at work": _gb(by_formula + int(_korthikanti()["layer"])),
    }
    candidates = (by_formula, int(_korthikanti()), int(_korthikanti("selective")))
    return Verdict(_ruling(any(abs(value / 48e9 - 1) < 0.1 for value in candidates)), evidence)


def s003_48() -> Verdict:
    """Whether a forward pass without gradients needs more memory with more layers: measured, where torch is."""
    weights, activations = 14e9, NOTES.layers * _formula()
    cache = int(memory.kv_cache(NOTES, batch=BATCH, tokens=SEQ))
    evidence = {
        "the notes: weights and all layers": f"{(weights + activations) / 2**30:.1f} GiB",
        "one tensor of the stream": _gb(_formula()),
        "KV cache, which the notes leave out": _gb(cache),
    }
    two, eight = (_forward_only(layers) for layers in (2, 8))
    evidence["forward pass without gradients, 2 → 8 layers, here"] = f"{two / 1e6:.1f} → {eight / 1e6:.1f} MB"
    return Verdict(_ruling(eight > 2 * two), evidence)


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
    working = {"fused attention": _korthikanti("selective")["layer"], "written out": _korthikanti()["layer"]}
    evidence = {f"one block at work, {name}": _gb(value) for name, value in working.items()}
    return Verdict(_ruling(all(int(value) == 0 for value in working.values())), evidence)
