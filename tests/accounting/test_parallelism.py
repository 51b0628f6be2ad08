"""Plans of many ranks, against published formulas, simulated schedules and sums over all ranks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import models, parallelism
from course_lib.accounting.models import Transformer
from course_lib.accounting.parallelism import Plan

GPT3 = replace(models.load("gpt3-175b"), dropout=0.1)
DECODERS = [name for name in models.names() if isinstance(models.load(name), Transformer)]


# ---------------------------------------------------------------- the pipeline


def one_forward_one_backward(stages: int, microbatches: int):
    """Simulate 1F1B, forward 1 and backward 2 units: (idle share, microbatches that each stage keeps at most)."""
    orders = []
    for stage in range(stages):
        warmup = min(stages - 1 - stage, microbatches)
        order = [("F", i) for i in range(warmup)]
        for i in range(microbatches - warmup):
            order += [("F", warmup + i), ("B", i)]
        orders.append(order + [("B", i) for i in range(microbatches - warmup, microbatches)])
    done, clock, position = {}, [0] * stages, [0] * stages
    while any(position[s] < len(orders[s]) for s in range(stages)):
        for s in range(stages):
            while position[s] < len(orders[s]):
                kind, i = orders[s][position[s]]
                before = ("F", i, s - 1) if kind == "F" else ("B", i, s + 1)
                needs = [] if (kind, s) == ("F", 0) else [("F", i, s) if (kind, s) == ("B", stages - 1) else before]
                if any(need not in done for need in needs):
                    break
                start = max([clock[s], *(done[need] for need in needs)])
                clock[s] = done[kind, i, s] = start + (1 if kind == "F" else 2)
                position[s] += 1
    length = max(clock)
    kept = []
    for order in orders:
        here = most = 0
        for kind, _ in order:
            here += 1 if kind == "F" else -1
            most = max(most, here)
        kept.append(most)
    return 1 - 3 * microbatches / length, kept


@pytest.mark.parametrize(("stages", "microbatches"), [(1, 3), (2, 2), (4, 4), (4, 16), (5, 3), (8, 32)])
def test_bubble_and_microbatches_in_flight_equal_a_simulated_schedule(stages, microbatches):
    idle, kept = one_forward_one_backward(stages, microbatches)
    assert parallelism.pipeline_bubble(stages=stages, microbatches=microbatches) == pytest.approx(idle)
    model = replace(GPT3, layers=stages, vocab=51200)
    plan = Plan(pipeline=stages, microbatches=microbatches)
    alone = parallelism.rank_memory(replace(model, layers=1), Plan(), batch=1, seq=2048)["activations.layers"]
    first = parallelism.rank_memory(model, plan, batch=microbatches, seq=2048)
    if stages > 1 and "stage 0" in first.assumptions[0]:
        assert first["activations.layers"] == kept[0] * alone


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("name", DECODERS)
def test_one_rank_holds_the_whole_model(name):
    assert int(parallelism.rank_parameters(models.load(name), Plan())) == int(models.load(name).parameters())


@pytest.mark.parametrize("name", ["gpt2-xl", "llama3-70b", "mixtral-8x7b", "qwen2-0.5b", "llama2-7b"])
def test_the_stages_of_a_pipeline_hold_the_model_and_a_copy_of_a_tied_head(name):
    model = models.load(name)
    stages = model.layers // 2
    held = sum(int(parallelism.rank_parameters(model, Plan(pipeline=stages), stage)) for stage in range(stages))
    assert held == int(model.parameters()) + (model.vocab * model.d_model if model.tied_head else 0)


def test_tensor_ranks_hold_the_model_and_their_replicas():
    model = replace(models.load("gpt2"), vocab=50304)
    replicated = 12 * (4 * 768 + 2 * 768) + 2 * 768 + 1024 * 768  # norms, two biases a layer; final norm; positions
    for ranks in (2, 3, 4, 6, 12):
        held = int(parallelism.rank_parameters(model, Plan(tensor=ranks)))
        assert ranks * held - (ranks - 1) * replicated == int(model.parameters())


def test_a_tensor_rank_of_llama3_8b_equals_the_layers_that_it_would_build():
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        linear = [torch.nn.Linear(*shape, bias=False) for shape in layer_of_llama3_8b(tensor=8)]
    expected = 32 * (sum(part.weight.numel() for part in linear) + 2 * 4096) + 4096 + 2 * 128256 // 8 * 4096
    assert int(parallelism.rank_parameters(models.load("llama3-8b"), Plan(tensor=8))) == expected


def layer_of_llama3_8b(tensor: int):
    """(in, out) of the linear layers on one tensor rank: q, k, v, out, gate, up, down."""
    q, kv, f = 4096 // tensor, 1024 // tensor, 14336 // tensor
    return (4096, q), (4096, kv), (4096, kv), (q, 4096), (4096, f), (4096, f), (f, 4096)


def test_more_tensor_ranks_than_key_heads_keep_one_each():
    held = parallelism.rank_parameters(models.load("llama3-8b"), Plan(tensor=16))
    assert held["attention.qkv"] == 32 * 4096 * (256 + 2 * 128)


def test_experts_are_divided_and_the_router_is_not():
    whole = models.load("mixtral-8x7b").parameters()
    held = parallelism.rank_parameters(models.load("mixtral-8x7b"), Plan(data=8, expert=8))
    assert 8 * held["experts"] == whole["mlp"]
    assert held["router"] == whole["router"]


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("t", [1, 2, 8])
@pytest.mark.parametrize("sequence_parallel", [False, True])
@pytest.mark.parametrize(("attention", "recompute"), [("eager", "none"), ("eager", "selective"), ("eager", "full")])
def test_activations_of_a_layer_equal_korthikanti_table_2(t, sequence_parallel, attention, recompute):
    if sequence_parallel and t == 1:
        return
    s, b, h, a = 2048, 2, 12288, 96
    scores = 5 * a * s / h
    expected = {
        ("none", False): s * b * h * (10 + 24 / t + scores / t),
        ("none", True): s * b * h / t * (34 + scores),
        ("selective", False): s * b * h * (10 + 24 / t),
        ("selective", True): s * b * h * 34 / t,
        ("full", False): 2 * s * b * h,
        ("full", True): 2 * s * b * h / t,
    }[recompute, sequence_parallel]
    plan = Plan(tensor=t, sequence_parallel=sequence_parallel)
    held = parallelism.rank_memory(GPT3, plan, batch=b, seq=s, attention=attention, recompute=recompute)
    assert held["activations.layers"] == pytest.approx(96 * expected)


def test_the_ends_of_the_model_equal_korthikanti_equation_5():
    """Embedding dropout sbh·p (p stages, here with as many microbatches); last norm, head input, fp32 logits."""
    s, b, h, v, p = 2048, 1, 12288, 51200, 8
    model, plan = replace(GPT3, vocab=v), Plan(pipeline=p, microbatches=p)
    first = parallelism._activations(model, plan, 0, p * b, s, "none", "eager")
    last = parallelism._activations(model, plan, p - 1, p * b, s, "none", "eager")
    assert first["embedding"] + last["head"] == s * b * h * p + 4 * s * b * h * (1 + v / h)


@pytest.mark.parametrize(
    ("stage", "gigabytes"),
    [
        pytest.param(0, 120, id="M01-baseline"),
        pytest.param(1, 31.4, id="M01-os"),
        pytest.param(2, 16.6, id="M01-os+g"),
        pytest.param(3, 1.9, id="M01-os+g+p"),
    ],
)
def test_state_of_zero_figure_1(stage, gigabytes):
    """7.5 billion parameters on 64 ranks: a model of one layer and a narrow head has about that many."""
    model = Transformer("7.5b", layers=30, d_model=4096, heads=32, vocab=8, context=8, bias=False, d_ff=22320)
    scale = 7.5e9 / int(model.parameters())
    plan = Plan(data=64, zero_stage=stage)
    state = int(parallelism.rank_memory(model, plan, batch=64, seq=8)["state"])
    assert state * scale / 1e9 == pytest.approx(gigabytes, rel=0.02)


def test_a_plan_says_whether_it_fits():
    for plan, verdict in ((Plan(), "It does not fit"), (Plan(tensor=8), "It fits")):
        held = parallelism.rank_memory("llama3-8b", plan, batch=1, seq=2048, device="h100-sxm")
        assert held.assumptions[-1].startswith(verdict)
        assert held.fits("h100-sxm") == (verdict == "It fits")


# ---------------------------------------------------------------- traffic


def test_tensor_traffic_equals_narayanan_section_3_2():
    """8bsh(t − 1)/t numbers of 2 bytes a layer and microbatch, forward and backward."""
    b, s, h, t, m = 2, 2048, 12288, 8, 4
    middle = parallelism._stage_traffic(GPT3, Plan(tensor=t, pipeline=32, microbatches=m), 1, b * m, s, "none")
    assert middle["tensor"] == m * 3 * 2 * 8 * b * s * h * (t - 1) // t
    assert middle["pipeline"] == m * 2 * 2 * b * s * h  # one activation on, one gradient back


@pytest.mark.parametrize(("stage", "volume"), [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_data_traffic_equals_zero_section_7(stage, volume):
    model = models.load("gpt2")
    sent = parallelism.traffic(model, Plan(data=64, zero_stage=stage), batch=64, seq=128)["data"]
    parameters = 124_439_808
    assert sent == pytest.approx(volume * 2 * parameters * 63 / 64, rel=1e-6)


def test_sequence_parallelism_sends_as_much_and_gathers_inputs_again():
    """Korthikanti et al. 2022, section 4.2.2: reduce-scatter + all-gather = all-reduce; inputs are gathered again."""
    b, s, h, t = 1, 2048, 12288, 8
    plan = Plan(tensor=t, pipeline=96, microbatches=1)
    plain = parallelism._stage_traffic(GPT3, plan, 1, b, s, "none")["tensor"]
    sequence = parallelism._stage_traffic(GPT3, replace(plan, sequence_parallel=True), 1, b, s, "none")["tensor"]
    assert sequence - plain == 2 * 2 * b * s * h * (t - 1) // t


def test_expert_traffic_moves_every_chosen_copy_of_a_token_four_times():
    model = models.load("mixtral-8x7b")
    sent = parallelism.traffic(model, Plan(data=8, expert=8), batch=8, seq=512)["expert"]
    tokens, copies, moves = 512, 2, 4  # of one rank; top 2; dispatch and combine, forward and backward
    assert sent == 32 * moves * tokens * copies * 4096 * 2 * 7 // 8


def test_one_rank_sends_nothing():
    assert int(parallelism.traffic(models.load("gpt2"), Plan(), batch=1, seq=8)) == 0


@given(
    data=st.sampled_from([1, 2, 4]),
    tensor=st.sampled_from([1, 2, 4]),
    pipeline=st.sampled_from([1, 2, 4]),
    zero_stage=st.integers(0, 3),
    microbatches=st.sampled_from([1, 2, 8]),
    recompute=st.sampled_from(["none", "selective", "full"]),
)
def test_any_plan(data, tensor, pipeline, zero_stage, microbatches, recompute):
    model = models.load("gpt2")
    plan = Plan(data, tensor, pipeline, zero_stage=zero_stage, microbatches=microbatches)
    batch = data * microbatches
    held = parallelism.rank_memory(model, plan, batch=batch, seq=256, recompute=recompute)
    more = parallelism.rank_memory(model, replace(plan, zero_stage=0), batch=batch, seq=256, recompute=recompute)
    assert int(held) <= int(more)
    arguments = {"batch": batch, "seq": 256, "recompute": recompute}
    sent = parallelism.traffic(model, plan, **arguments)
    assert (int(sent) == 0) == (plan.ranks == 1)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("model", "plan", "message"),
    [
        ("gpt2", {"pipeline": 13}, "more stages than gpt2 has layers"),
        ("gpt2", {"pipeline": 5}, "pipeline=5 must divide layers=12"),
        ("gpt2", {"tensor": 5}, "tensor=5 must divide heads=12"),
        ("gpt2", {"data": 2, "expert": 2}, "expert=2 must divide experts=1"),
        ("gpt2", {"sequence_parallel": True}, "it needs tensor > 1"),
        ("vit-b16", {}, "must be a models.Transformer"),
    ],
)
def test_plans_that_do_not_fit_the_model(model, plan, message):
    with pytest.raises(ValueError, match=message):
        parallelism.rank_parameters(models.load(model), Plan(**plan))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"data": 0}, "data=0 must be at least 1"),
        ({"tensor": 2.5}, "tensor=2.5 must be a whole number"),
        ({"zero_stage": 4}, "zero_stage=4 must be 0, 1, 2 or 3"),
        ({"data": 4, "expert": 3}, "expert=3 must divide data=4"),
    ],
)
def test_impossible_plans(plan, message):
    with pytest.raises(ValueError, match=message):
        Plan(**plan)


def test_steps_that_cannot_be():
    model, plan = models.load("gpt2"), Plan(data=2, microbatches=4)
    good = {"batch": 8, "seq": 64}
    for change, message in (
        ({"batch": 12}, "batch=12 must be a multiple of data · microbatches = 8"),
        ({"seq": 2048}, "longer than context=1024"),
        ({"recompute": "some"}, "recompute='some' is not known"),
    ):
        for call in (parallelism.rank_memory, parallelism.traffic):
            with pytest.raises(ValueError, match=message):
                call(model, plan, **(good | change))
    with pytest.raises(ValueError, match="stage=2 must be less than pipeline=2"):
        parallelism.rank_parameters(model, Plan(pipeline=2), 2)
