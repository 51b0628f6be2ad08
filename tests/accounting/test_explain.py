"""What `explain()` prints is arithmetic: every line is evaluated here and must give the number that it ends with."""

import math
import re
from fractions import Fraction

import pytest

from course_lib.accounting import (
    communication,
    flops,
    hardware,
    inference,
    memory,
    models,
    parallelism,
    precision,
    roofline,
)
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.models import ConvNet, Transformer, VisionTransformer

FUNCTIONS = {"ceil": math.ceil, "min": min, "max": max, "log2": math.log2, "sqrt": math.sqrt}


def evaluate(text: str):
    """The value of a formula in numbers, exact where it has no function of the reals."""
    bracket = re.compile(r"\[(?:[^\[\]]*= )?([^\[\]=]*)\]")  # [symbols = numbers] keeps the numbers
    while bracket.search(text):
        text = bracket.sub(r"(\1)", text)
    text = re.sub(r"\((?:all_|reduce_|point_|broadcast)\w*\)", "", text)  # names of collectives are a remark
    text = text.replace("⌈", "ceil(").replace("⌉", ")")
    text = text.replace("·", "*").replace("−", "-").replace("²", "**2").replace("^", "**")
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?(?:e[+-]?\d+)?)", r'Fraction("\1")', text)
    return eval(text, {"Fraction": Fraction, "__builtins__": {}, **FUNCTIONS})


def derived(breakdown: Breakdown, prefix=""):
    """(name, value, formula in numbers) of every int part that has a derivation."""
    for name, value in breakdown.parts.items():
        if isinstance(value, Breakdown):
            yield from derived(value, f"{prefix}{name}.")
        else:
            assert name in breakdown.derivation, f"{prefix}{name} is not derived"
            yield (
                prefix + name,
                value,
                breakdown.derivation[name].rpartition(" = ")[2]
                if "[" not in (breakdown.derivation[name])
                else breakdown.derivation[name],
            )


def kind_of(name):
    return type(models.load(name))


LANGUAGE = [name for name in models.names() if kind_of(name) not in (VisionTransformer, ConvNet)]
DECODERS = [name for name in LANGUAGE if kind_of(name) is Transformer]
MEMORY_MODELS = ["gpt2", "llama3-8b", "qwen3-0.6b", "vit-b16"]


def breakdowns():
    for name in models.names():
        model = models.load(name)
        yield f"parameters-{name}", lambda model=model: model.parameters()
        sizes = {"seq": 64} if name in LANGUAGE else {}
        for extras in (False, True):
            yield (
                f"forward-{name}-{extras}",
                lambda model=model, sizes=sizes, extras=extras: flops.forward(model, 3, extras=extras, **sizes),
            )
        yield f"step-{name}", lambda model=model, sizes=sizes: flops.training_step(model, 3, **sizes)
    for name in DECODERS[:4]:
        model = models.load(name)
        yield f"causal-{name}", lambda model=model: flops.training_step(model, 2, 64, causal=True, recompute="full")
        yield f"layers-{name}", lambda model=model: model.parameters()["layers"]
        yield f"kv-{name}", lambda model=model: memory.kv_cache(model, batch=3, tokens=100)
        yield f"sum-{name}", lambda model=model: model.parameters() + 2 * model.parameters()
    for name in MEMORY_MODELS:
        model, sizes = models.load(name), {} if name == "vit-b16" else {"seq": 64}
        for precision_name in ("fp32", "amp-bf16"):
            for recompute in ("none", "full"):
                arguments = {"batch": 3, "precision": precision_name, "recompute": recompute, **sizes}
                yield (
                    f"activations-{name}-{precision_name}-{recompute}",
                    lambda model=model, arguments=arguments: memory.activations(model, **arguments),
                )
                yield (
                    f"peak-{name}-{precision_name}-{recompute}",
                    lambda model=model, arguments=arguments: memory.training_peak(model, **arguments),
                )
    yield "state", lambda: memory.model_state(7e9, "mixed-adamw-fp32-grads", zero_stage=2, ranks=3)
    yield "state-8bit", lambda: memory.model_state(7e9 + 1, "mixed-adamw-8bit", zero_stage=1, ranks=3)
    yield "pages", lambda: memory.kv_cache(models.load("gpt2"), batch=3, tokens=100, dtype="int4", page_tokens=16)
    yield "lora", lambda: memory.lora_parameters(models.load("llama2-7b"), 8, ("q", "gate", "down"))
    plan = parallelism.Plan(data=4, tensor=2, pipeline=2, expert=2, microbatches=2, zero_stage=2)
    mixture = models.load("mixtral-8x7b")
    yield "rank-parameters", lambda: parallelism.rank_parameters(mixture, plan, 1)
    for recompute in ("none", "selective", "full"):
        yield (
            f"rank-memory-{recompute}",
            lambda recompute=recompute: parallelism.rank_memory(mixture, plan, batch=8, seq=64, recompute=recompute),
        )
    yield "traffic", lambda: parallelism.traffic(mixture, plan, batch=8, seq=64)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in breakdowns()])
def test_every_line_of_a_breakdown_evaluates_to_its_part(make):
    breakdown = make()
    for name, value, formula in derived(breakdown):
        assert evaluate(formula) == value, f"{name} = {formula}"
    assert re.search(r"total = [\d,]+ ", breakdown.explain())


def results():
    gpt2, h100 = models.load("gpt2"), hardware.load("h100-sxm")
    yield "place", roofline.place(flops=10**9, bytes=10**6, device=h100, dtype="bf16")
    for algorithm in ("ring", "tree", "ring-full"):
        yield (
            f"all-reduce-{algorithm}",
            communication.all_reduce(nbytes=10**9 + 1, ranks=6, bandwidth=25e9, latency=1e-6, algorithm=algorithm),
        )
    for collective in (communication.all_gather, communication.all_to_all, communication.broadcast):
        yield collective.__name__, collective(nbytes=12345, ranks=5, bandwidth=25e9, latency=1e-6)
    yield (
        "hierarchical",
        communication.hierarchical_all_reduce(
            nbytes=10**9, ranks_per_node=8, nodes=3, bandwidth=450e9, network_bandwidth=50e9, latency=1e-6
        ),
    )
    yield "decode", inference.decode_step(gpt2, batch=8, context=512, device=h100)
    yield "prefill", inference.prefill(gpt2, batch=8, tokens=512, device=h100, mfu=0.4)
    yield (
        "step-time",
        parallelism.step_time(
            models.load("llama3-8b"),
            parallelism.Plan(data=2, tensor=2, pipeline=2, microbatches=4),
            batch=8,
            seq=512,
            device=h100,
            efficiency=0.5,
            bandwidths={"data": 25e9, "tensor": 450e9, "pipeline": 25e9},
            overlap=0.5,
        ),
    )
    yield "limits", precision.limits("fp16")


@pytest.mark.parametrize("result", [pytest.param(result, id=name) for name, result in results()])
def test_every_line_of_a_result_evaluates_to_its_figure(result):
    from course_lib.accounting import units

    assert result.derivation
    for name, formula, _ in result.derivation:
        if not formula:  # given, not derived
            continue
        unknown = units.symbols_in(formula) - set(result.values) - set(FUNCTIONS)
        assert not unknown, f"{name} = {formula} has symbols without a value"
        numbers = formula
        for symbol in sorted(units.symbols_in(formula) & set(result.values), key=len, reverse=True):
            numbers = re.sub(rf"(?<![\w.]){symbol}(?!\w)", f"({result.values[symbol]!r})", numbers)
        assert float(evaluate(numbers)) == pytest.approx(float(getattr(result, name))), f"{name} = {formula}"
        if not symbol_is_figure(result, formula):
            missing = units.symbols_in(formula) - set(FUNCTIONS) - set(result.symbols) - set(result.figures())
            assert not missing, f"{name} = {formula}: {missing} are not said in words"


def symbol_is_figure(result, formula) -> bool:
    return formula in result.figures()
