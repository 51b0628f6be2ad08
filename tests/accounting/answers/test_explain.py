"""What `explain()` prints is arithmetic: every line is evaluated here and must give the number that it ends with."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest

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
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.hardware import multiprocessors
from course_lib.accounting.layers import MLP, Attention, Block, Embedding, Head, Norm
from course_lib.accounting.queues import launch, pipeline

FUNCTIONS = {"ceil": math.ceil, "min": min, "max": max, "log2": math.log2, "sqrt": math.sqrt, "round": round}


def evaluate(text: str):
    """The value of a formula in numbers, exact where it has no function of the reals."""
    text = text.replace("⌈", "ceil(").replace("⌉", ")").replace("√", "sqrt").replace("·", "*").replace("^", "**")
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?(?:e[+-]?\d+)?)", r'Fraction("\1")', text)
    return eval(text, {"Fraction": Fraction, "__builtins__": {}, **FUNCTIONS})


def test_the_evaluation_is_that_of_arithmetic():
    assert evaluate("2·(3 + 4)/7 - ⌈7/2⌉·2^3") == 2 - 32
    assert evaluate("max(√(16), 1e+01)") == 10


def lines_of(result) -> dict[str, list[str]]:
    """Name -> the steps of its line, for every line that is no sentence."""
    sentences = ("Assumes: ", "Leaves out: ")
    found = [line.split(" = ") for line in result.explain().splitlines() if not line.startswith(sentences)]
    return {name: steps for name, *steps in found}


# ---------------------------------------------------------------- breakdowns

DECODERS = [name for name in models.names() if models.load(name).decodes]
PLANS = {
    "pipeline": parallelism.Plan(data=4, tensor=2, pipeline=2, expert=2, microbatches=2, zero_stage=2),
    "sequence": parallelism.Plan(tensor=16, sequence_parallel=True),
}


def all_different():
    """A model of twelve blocks, no two alike."""
    norm = Norm(d=64, rms=True)
    blocks = [Block(norm, Attention(d=64, h=4, g=2, w=16), norm, MLP(d=64, f=100 + i)) for i in range(12)]
    return models.Model("all different", [Embedding(d=64, V=50)], blocks, [norm, Head(d=64, V=50)], 100)


def breakdowns():
    for name in models.names():
        model = models.load(name)
        yield f"parameters-{name}", model.parameters
        sizes = {} if model.reads_images else {"seq": 64}
        yield f"forward-{name}", lambda model=model, sizes=sizes: flops.forward(model, 3, **sizes)
        yield f"step-{name}", lambda model=model, sizes=sizes: flops.training_step(model, 3, **sizes)
        if hasattr(model, "block_norms") or model.reads_images:
            yield f"extras-{name}", lambda model=model, sizes=sizes: flops.forward(model, 3, extras=True, **sizes)
    for name in DECODERS:
        model = models.load(name)  # 600 tokens are more than the window of Gemma 3
        again = "none" if "mamba" in name else "selective"
        yield f"active-{name}", lambda model=model: model.parameters(active=True)
        yield (
            f"causal-{name}",
            lambda model=model, again=again: flops.training_step(model, 2, 600, causal=True, recompute=again),
        )
        yield f"cache-{name}", lambda model=model: memory.kv_cache(model, batch=3, tokens=600, dtype="mxfp8")
        yield f"layers-{name}", lambda model=model: model.parameters()["layers"]
    for name in ("gpt2", "gemma3-1b", "mixtral-8x7b"):
        how = {"lora": {"rank": 4, "targets": ("q", "v")}}, {"frozen": 2}, {"documents": [3, 700, 700, 17]}
        for options in how:
            step = f"{next(iter(options))}-{name}"
            yield step, lambda name=name, how=options: flops.training_step(name, 2, 710, causal=True, **how)
    yield "fused", lambda: memory.activations("gpt2", 2, 65, precision="bf16", fused_loss=True)
    for name in ("gpt2", "llama3-8b", "qwen3-0.6b", "vit-b16"):
        for dropout in (0.0, 0.1):
            model = replace(models.load(name), dropout=dropout)
            sizes = {"image": None} if name == "vit-b16" else {"seq": 65}
            for batch in (1, 3):
                for number in ("fp32", "amp-bf16", "bf16"):
                    for attention in ("eager", "sdpa"):
                        for again in ("none", "selective", "full"):
                            how = {"precision": number, "attention": attention, "recompute": again, **sizes}
                            yield (
                                f"activations-{name}-{dropout}-{batch}-{number}-{attention}-{again}",
                                lambda model=model, batch=batch, how=how: memory.activations(model, batch, **how),
                            )
                            yield (
                                f"peak-{name}-{dropout}-{batch}-{number}-{attention}-{again}",
                                lambda model=model, batch=batch, how=how: memory.training_peak(model, batch, **how),
                            )
                            yield (
                                f"in-parts-{name}-{dropout}-{batch}-{number}-{attention}-{again}",
                                lambda model=model, batch=batch, how=how: memory.accumulated_peak(
                                    model, 2 * batch, 2, **how
                                ),
                            )
    gpt2, llama, mixtral = (models.load(name) for name in ("gpt2", "llama3-8b", "mixtral-8x7b"))
    for again in ("none", "selective", "full"):
        yield (
            f"megatron-{again}",
            lambda again=again: memory.activations(gpt2, 2, 128, recompute=again, convention="megatron"),
        )
    for recipe in memory.recipes():
        yield f"state-{recipe}", lambda recipe=recipe: memory.model_state(7e9 + 1, recipe, zero_stage=2, ranks=3)
    yield "state-host", lambda: memory.model_state(7e9, offload="moment1")["host"]
    yield "pages", lambda: memory.kv_cache(gpt2, batch=3, tokens=100, dtype="int4", page_tokens=16)
    windowed = replace(llama, window=100, window_layers=5)
    yield "window-pages", lambda: memory.kv_cache(windowed, batch=3, tokens=1000, page_tokens=16)
    yield "lora", lambda: memory.lora_parameters(models.load("llama2-7b"), 8, ("q", "gate", "down"))
    yield "sum", lambda: flops.forward(gpt2, seq=5) + 2 * flops.forward(llama, seq=6)
    yield "sum-with-given", lambda: gpt2.parameters() + Breakdown.of("parameters", {"norm": 7})
    yield "all-different", lambda: all_different().parameters()
    yield "tiles", lambda: roofline.tiled_matmul_bytes(100, 90, 80, tile_m=30, tile_n=7, dtype="mxfp6")
    odd = models.Transformer("odd", 2, 1004, 16, 100, 64, head_dim=64, bias=False, norm="rmsnorm", positions="rotary")
    for key, plan in PLANS.items():
        model, batch, seq = (mixtral, 8, 64) if plan.data > 1 else (odd, 1, 1)
        yield f"rank-parameters-{key}", lambda m=model, plan=plan: parallelism.rank_parameters(m, plan)
        yield f"traffic-{key}", lambda m=model, p=plan, b=batch, s=seq: parallelism.traffic(m, p, batch=b, seq=s)
        for again in ("none", "selective", "full"):
            for attention in ("eager", "sdpa"):
                how = {"batch": batch, "seq": seq, "recompute": again, "attention": attention}
                for at in (model, replace(model, dropout=0.1)):
                    yield (
                        f"rank-memory-{key}-{again}-{attention}-{at.dropout}",
                        lambda at=at, plan=plan, how=how: parallelism.rank_memory(at, plan, **how),
                    )


BREAKDOWNS = dict(breakdowns())


@pytest.mark.parametrize("case", BREAKDOWNS)
def test_every_line_of_a_breakdown_evaluates_to_its_number(case):
    made = BREAKDOWNS[case]()
    results = (made, *getattr(made, "phases", {}).values())
    for result in results:
        parts, lines = dict(result.flat()), lines_of(result)
        assert list(lines)[: len(parts) + 1] == [*parts, "total"]
        for name, steps in lines.items():
            if not steps:  # a symbol that is given
                continue
            *formulas, shown = steps
            value = int(shown.split(" ")[0].replace(",", ""))
            if ":" not in name:
                assert value == parts.get(name, result.total)
            if formulas and formulas != ["given"]:
                assert evaluate(formulas[-1]) == value, f"{name} = {' = '.join(steps)}"


@pytest.mark.parametrize("case", ["forward-gpt2", "parameters-deepseek-v3", "rank-memory-pipeline-full-eager-0.0"])
def test_every_symbol_of_a_formula_is_said_in_words(case):
    result = BREAKDOWNS[case]()
    lines = lines_of(result)
    meant = {name.partition(":")[0] for name in lines if ":" in name}
    word = re.compile("[A-Za-zΑ-ω][A-Za-zΑ-ω_]*[₀-₉]*")
    used = {found for steps in lines.values() if len(steps) > 1 for found in word.findall(steps[0])}
    assert used - {"given", "min", "max"} <= meant
    assert len(meant) == sum(":" in name for name in lines)  # no two letters alike


# ---------------------------------------------------------------- results


def results():
    gpt2, h100 = models.load("gpt2"), hardware.load("h100-sxm")
    yield "place", roofline.place(flops=10**9, bytes=10**6, device=h100, dtype="bf16")
    levels = {"memory": 10**6, "l2": 10**7}
    yield "levels", roofline.place_by_level(flops=10**9, bytes=levels, device=h100, dtype="bf16")
    link = {"bandwidth": 25e9, "latency": 1e-6}
    for algorithm in ("ring", "tree", "ring-full", "in-network", "nvls"):
        yield (
            f"all-reduce-{algorithm}",
            communication.all_reduce(nbytes=10**9 + 1, ranks=6, algorithm=algorithm, **link),
        )
    yield "alone", communication.all_reduce(nbytes=10**9 + 1, ranks=1, **link)
    for collective in ("reduce_scatter", "all_gather", "all_to_all", "broadcast"):
        for algorithm in ("ring", "tree"):
            call = getattr(communication, collective)
            yield f"{collective}-{algorithm}", call(nbytes=12345, ranks=5, algorithm=algorithm, **link)
    yield "point-to-point", communication.point_to_point(nbytes=12345, **link)
    hierarchy = {"nbytes": 10**9, "ranks_per_node": 8, "nodes": 3, "bandwidth": 450e9, "network_bandwidth": 50e9}
    for overlap in (False, True):
        name = f"hierarchical-{overlap}"
        yield name, communication.hierarchical_all_reduce(**hierarchy, latency=1e-6, overlap=overlap)
    yield "decode", inference.decode_step(gpt2, batch=8, context=512, device=h100, devices=2, weight_dtype="int4")
    yield "decode-window", inference.decode_step("gemma3-1b", batch=8, context=5120, device=h100, kv_dtype="mxfp8")
    yield "decode-latent", inference.decode_step("deepseek-v3", batch=8, context=512, device=h100, devices=16)
    yield (
        "decode-touched",
        inference.decode_step("mixtral-8x7b", batch=3, context=512, device=h100, devices=2, link=4e11),
    )
    for split in ("tensor", "layers"):
        sent = {"link": 4e11, "link_latency": 3e-6, "split": split}
        yield f"decode-{split}", inference.decode_step("phi-2", batch=3, context=512, device=h100, devices=4, **sent)
    yield "prefill", inference.prefill(gpt2, batch=8, tokens=512, device=h100, devices=2, mfu=0.4)
    for law in ("chinchilla", "besiroglu"):
        yield f"fit-{law}", economics.compute_optimal_fit(5.76e23, law)
    yield "optimal", economics.compute_optimal(5.76e23, 25)
    yield "waves", multiprocessors.waves(1000, 5000, tile_m=128, tile_n=96, device=h100, resident=2)
    for name in ("fp16", "fp64", "fp8-e4m3", "mxfp4"):
        yield f"limits-{name}", precision.limits(name)
    for graph in (False, True):
        yield f"queue-{graph}", launch.launch_time(100, issue=7e-6, run=5e-6, gap=1e-6, graph=graph)
    for overlapped in (False, True):
        yield f"pace-{overlapped}", pipeline.rate({"load": (0.03, 4), "compute": 0.01}, overlapped=overlapped)
    yield "pace-with-a-pause", pipeline.rate({"load": (0.03, 4), "compute": 0.01}, pause=0.005)


RESULTS = dict(results())


@pytest.mark.parametrize("case", RESULTS)
def test_every_line_of_a_result_evaluates_to_its_figure(case):
    result = RESULTS[case]
    lines = lines_of(result)
    computed = {name: figure for name, figure in result.figures().items() if isinstance(figure, (int, float))}
    given = {"flops", "slots", "fits"}
    assert {name for name in lines if ":" not in name} == set(computed) - given
    for name, steps in lines.items():
        if name in computed and steps[:-1] != ["given"]:
            # the last step in numbers, whose floats have four significant digits, and which a plain number leaves out
            numbers = steps[-2] if len(steps) > 2 else str(computed[name])
            assert float(evaluate(numbers)) == pytest.approx(float(computed[name]), rel=2e-3), f"{name} = {steps}"


def test_every_result_class_is_covered():
    def below(kind):
        return {kind, *(each for child in kind.__subclasses__() for each in below(child))}

    ours = {kind for kind in below(Explained) if kind.__module__.startswith("course_lib.accounting")} - {Explained}
    assert ours == {type(result) for result in RESULTS.values()}
