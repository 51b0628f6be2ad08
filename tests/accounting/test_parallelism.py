"""Plans of many ranks, against published formulas, simulated schedules and sums over all ranks."""

from dataclasses import replace
from itertools import accumulate

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


def interleaved(stages: int, microbatches: int, chunks: int):
    """Simulate Megatron-LM's interleaved 1F1B: (idle share, chunks in flight of each stage, of its first chunk alone).

    A chunk's forward takes 1/chunks of a unit, its backward twice that. Microbatches go in groups of as many as there
    are stages: the group through chunk 0, then through chunk 1 … (Narayanan et al. 2021, section 2.2).
    """
    work = [
        (group + i, chunk) for group in range(0, microbatches, stages) for chunk in range(chunks) for i in range(stages)
    ]
    orders = []
    for stage in range(stages):
        warmup = min(2 * (stages - stage - 1) + (chunks - 1) * stages, len(work))
        forward = [("F", i, chunk) for i, chunk in work]
        backward = [("B", i, chunks - 1 - chunk) for i, chunk in work]
        pairs = zip(forward[warmup:], backward, strict=False)
        orders.append(forward[:warmup] + [one for pair in pairs for one in pair] + backward[len(work) - warmup :])
    done, clock, position = {}, [0.0] * stages, [0] * stages
    while any(position[s] < len(orders[s]) for s in range(stages)):
        moved = False
        for s in range(stages):
            while position[s] < len(orders[s]):
                kind, i, chunk = orders[s][position[s]]
                place, step = chunk * stages + s, 1 if kind == "F" else -1  # of the chunks · stages pieces of the model
                before = (kind, i, place - step) if 0 <= place - step < chunks * stages else ("F", i, place)
                if before not in done and (kind, place) != ("F", 0):
                    break
                clock[s] = max(clock[s], done.get(before, 0)) + (1 if kind == "F" else 2) / chunks
                done[kind, i, place] = clock[s]
                position[s] += 1
                moved = True
        assert moved, "the schedule is stuck"
    change = {"F": 1, "B": -1}
    flight = [max(accumulate(change[kind] for kind, *_ in order)) for order in orders]
    first = [max(accumulate(change[kind] for kind, _, chunk in order if chunk == 0)) for order in orders]
    return 1 - 3 * microbatches / max(clock), flight, first


@pytest.mark.parametrize(
    ("stages", "microbatches", "chunks"), [(2, 2, 2), (2, 8, 3), (4, 4, 2), (4, 16, 2), (8, 64, 3), (3, 6, 4)]
)
def test_an_interleaved_pipeline_equals_a_simulated_schedule(stages, microbatches, chunks):
    idle, flight, first = interleaved(stages, microbatches, chunks)
    shape = {"stages": stages, "microbatches": microbatches, "virtual": chunks}
    assert parallelism.pipeline_bubble(**shape) == pytest.approx(idle)
    assert idle / (1 - idle) == pytest.approx((stages - 1) / (chunks * microbatches))  # Narayanan et al., section 2.2.2
    model = replace(GPT3, layers=2 * stages * chunks)
    plan = Plan(pipeline=stages, virtual=chunks, microbatches=microbatches)
    alone = int(parallelism._activations(replace(GPT3, layers=2), Plan(), 0, 1, 2048, "none", "sdpa")["layers"])
    for stage in range(stages):
        held = parallelism._activations(model, plan, stage, microbatches, 2048, "none", "sdpa")
        assert held["layers"] == flight[stage] * alone
    held = parallelism._activations(model, plan, 0, microbatches, 2048, "none", "sdpa")
    assert held["embedding"] == first[0] * 2048 * 12288


def test_interleaved_activations_equal_korthikanti_section_4_2_3():
    """The first stage keeps L·(1 + (p - 1)/(p·m)) layers; their 175B (p = 8) and 530B (p = 35) runs had m = 3."""
    for layers, h, a, p in ((96, 12288, 96, 8), (105, 20480, 128, 35)):
        model = replace(GPT3, layers=layers, d_model=h, heads=a, d_ff=4 * h, head_dim=h // a, vocab=51200)
        plan = Plan(tensor=8, pipeline=p, virtual=3, microbatches=8 * p, sequence_parallel=True)
        held = parallelism.rank_memory(model, plan, batch=8 * p, seq=2048, recompute="selective")
        assert held["activations.layers"] == pytest.approx(34 * 2048 * h * layers / 8 * (1 + (p - 1) / (p * 3)))


KORTHIKANTI = {  # tables 3 and 5: layers, width, heads, stages, chunks of a stage, batch, microbatch, s an iteration
    "22B": (48, 6144, 64, 1, 1, 4, 4, 1.10),
    "175B": (96, 12288, 96, 8, 3, 64, 1, 13.75),
    "530B": (105, 20480, 128, 35, 3, 280, 1, 37.83),
    "1T": (128, 25600, 160, 64, 1, 512, 1, 71.49),
}


@pytest.mark.parametrize("size", KORTHIKANTI)
def test_korthikanti_runs_fit_80_gb_by_their_method_alone_and_beat_no_bound(size):
    """Figure 1 of Korthikanti et al. 2022: on A100s of 80 GB, without sequence parallelism and recomputation none fits.

    Time: FLOPs of their equation 7 at the peak of 8·p A100 (312 TFLOP/s), while the pipeline is busy.
    """
    layers, h, a, p, chunks, batch, micro, seconds = KORTHIKANTI[size]
    model = replace(GPT3, layers=layers, d_model=h, heads=a, d_ff=4 * h, head_dim=h // a, vocab=51200)
    m = batch // micro
    plan = Plan(tensor=8, pipeline=p, virtual=chunks, microbatches=m, sequence_parallel=True)
    arguments = {"batch": batch, "seq": 2048, "recipe": "mixed-adamw-4-byte-grads", "attention": "eager"}
    assert parallelism.rank_memory(model, plan, **arguments, recompute="selective").fits("a100-80-sxm")
    assert not parallelism.rank_memory(model, replace(plan, sequence_parallel=False), **arguments).fits("a100-80-sxm")
    flops = 72 * batch * layers * 2048 * h**2 * (1 + 2048 / (6 * h) + 51200 / (12 * h * layers))
    busy = 1 - parallelism.pipeline_bubble(stages=p, microbatches=m, virtual=chunks)
    assert 0.4 < flops / (8 * p * 312e12) / busy / seconds < 0.65


def test_interleaving_gains_what_torchtitan_measured():
    """Llama 3.1 405B on 512 H100, 8 stages: 100 tokens/s and GPU by 1F1B, 128 interleaved (torchtitan, benchmarks/
    llama3_h100_202412_torchtitan.md, table 5). Its microbatches are not told; one a stage was its default then.
    """
    busy = [1 - parallelism.pipeline_bubble(stages=8, microbatches=8, virtual=v) for v in (1, 2)]
    assert busy[1] / busy[0] == pytest.approx(128 / 100, rel=0.03)


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


@pytest.mark.parametrize("name", ["llama3-70b", "gpt2-xl"])
def test_the_chunks_of_an_interleaved_pipeline_hold_the_model_and_a_copy_of_a_tied_head(name):
    model, plan = models.load(name), Plan(pipeline=2, virtual=4, microbatches=2)
    held = [int(parallelism.rank_parameters(model, plan, stage)) for stage in range(2)]
    assert sum(held) == int(model.parameters()) + model.tied_head * model.vocab * model.d_model


def test_chunks_are_dealt_round():
    """Stage s of p holds chunks s, s + p, s + 2p …: of two dense layers and 58 mixtures each stage has 1 and 29."""
    model = models.load("deepseek-v3")
    model = replace(model, layers=model.layers[1:])  # 61 layers divide by nothing
    plan = Plan(pipeline=2, virtual=30, microbatches=2)
    assert [parallelism.rank_parameters(model, plan, s)["router"] for s in (0, 1)] == [29 * 256 * 7168] * 2
    blocks = parallelism.rank_parameters(model, replace(plan, virtual=1), 0)
    assert blocks["router"] == 28 * 256 * 7168  # without interleaving both dense layers are on the first


def test_a_fused_loss_keeps_its_logits_in_16_bits():
    """2 bytes in place of 4 for each of the 4 · 1024 tokens and the 50257 words, half of them on each rank."""
    plan, step = Plan(data=2, tensor=2), {"batch": 8, "seq": 1024}
    plain, fused = (parallelism.rank_memory("gpt2", plan, **step, fused_loss=each) for each in (False, True))
    assert int(plain) - int(fused) == 2 * 4 * 1024 * 25129


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


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_activations_of_llama3_8b_on_a_rank_are_those_of_its_tensors(attention):
    """2 bytes a number, no masks: inputs of norms and of what follows them, q, k, v and output, four widths of the MLP.

    Of each of 32 heads softmax keeps a row of 2 bytes a number, or a log-sum-exp in fp32.
    """
    tokens, whole = 8192, 2 * 4 * 4096
    divided = 2 * (2 * 32 * 128 + 2 * 8 * 128 + 4 * 14336) + 32 * (2 * tokens if attention == "eager" else 4)
    for tensor in (1, 4):
        step = {"batch": 1, "seq": tokens, "attention": attention}
        held = parallelism.rank_memory(models.load("llama3-8b"), Plan(tensor=tensor), **step)
        assert held["activations.layers"] == 32 * tokens * (whole + divided // tensor)


def test_a_plan_says_whether_it_fits():
    for plan, verdict in ((Plan(), "It does not fit"), (Plan(tensor=8), "It fits")):
        held = parallelism.rank_memory("llama3-8b", plan, batch=1, seq=2048, device="h100-sxm")
        assert held.assumptions[-1].startswith(verdict)
        assert held.fits("h100-sxm") == (verdict == "It fits")


@pytest.mark.parametrize("context", [1, 2, 4, 8])
def test_context_ranks_keep_as_much_of_a_longer_sequence(context):
    """Llama 3.1 8B on 8 H100, T = 32768 · context, 1 sequence a data rank, full recomputation: 83.9 to 84.5 GiB were
    measured (torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, table 2), of which state and logits explain 31.
    """
    model = replace(models.load("llama3-8b"), context=262144)
    plan = Plan(data=8 // context, context=context, zero_stage=3)
    arguments = {"batch": 8 // context, "seq": 32768 * context, "recipe": "fp32-adamw"}
    held = parallelism.rank_memory(model, plan, **arguments, recompute="full")
    eight = 8_030_261_248
    assert int(held["state"]) == 16 * (eight // 8)  # over all 8 ranks, however many of them share a sequence
    hidden = 32768 * 4096
    logits = 4 * 32768 * 128256
    kept = 32 * 2 * hidden + 4 * hidden + logits  # inputs of layers, of last norm and head
    assert int(held["activations"]) - held["activations.recomputed"] == kept
    assert (int(held["state"]) + logits) / 2**30 == pytest.approx(31, abs=0.5)
    assert int(held) / 2**30 < 83.9


def test_context_ranks_divide_every_activation():
    whole = parallelism.rank_memory(GPT3, Plan(tensor=8, pipeline=4, microbatches=4), batch=4, seq=2048)
    shared = parallelism.rank_memory(GPT3, Plan(tensor=8, pipeline=4, microbatches=4, context=4), batch=4, seq=2048)
    assert 4 * shared["activations"] == whole["activations"]
    assert shared["state"] == whole["state"]
    assert Plan(data=2, tensor=8, pipeline=4, context=4).ranks == 256


# ---------------------------------------------------------------- traffic


def ring_attention(context: int):
    """(blocks of keys and values, of their gradients) that a rank sends for one layer, forward and backward."""
    holds = {rank: rank for rank in range(context)}  # whose keys and values a rank has before it
    seen, blocks, gradients = {rank: {rank} for rank in range(context)}, 0, 0
    for _forward_and_backward in range(2):
        seen = {rank: {rank} for rank in range(context)}
        while any(len(owners) < context for owners in seen.values()):
            holds = {(rank + 1) % context: owner for rank, owner in holds.items()}
            blocks += 1
            for rank, owner in holds.items():
                seen[rank].add(owner)
        holds = {rank: rank for rank in range(context)}
    summed = {owner: {(owner + 1) % context} for owner in range(context)}  # whose share a travelling gradient has
    place = {owner: (owner + 1) % context for owner in range(context)}
    while any(place[owner] != owner for owner in place):
        place = {owner: (rank + 1) % context for owner, rank in place.items()}
        gradients += 1
        for owner, rank in place.items():
            summed[owner].add(rank)
    assert all(len(ranks) == context for ranks in summed.values())
    return blocks, gradients


@pytest.mark.parametrize("context", [2, 3, 8])
def test_context_traffic_equals_a_ring_played_through(context):
    """A block of c tokens and width d is 4·c·d bytes (Liu, Zaharia, Abbeel 2023, section 3: 2 matrices of 2 bytes)."""
    blocks, gradients = ring_attention(context)
    seq, batch, m = 24 * context, 6, 3
    model, plan = replace(GPT3, layers=2, context=4096), Plan(context=context, microbatches=m)
    sent = parallelism.traffic(model, plan, batch=batch, seq=seq)
    block = 4 * (24 * batch // m) * 12288
    assert sent["context"] == 2 * m * (blocks + gradients) * block
    again = parallelism.traffic(model, plan, batch=batch, seq=seq, recompute="full")
    assert again["context"] - sent["context"] == 2 * m * (context - 1) * block
    grouped = models.load("llama3-8b")  # 8 of 32 heads, two of them on each of four tensor ranks: 256 wide
    arguments = {"batch": 1, "seq": 48}
    sent = parallelism.traffic(grouped, Plan(context=context, tensor=4), **arguments)["context"]
    assert sent == 32 * 3 * (context - 1) * 4 * 48 // context * 256


def test_gradients_are_summed_over_data_and_context():
    for zero_stage in range(4):
        arguments = {"batch": 4, "seq": 1024}
        model, plan = models.load("gpt2"), Plan(data=4, zero_stage=zero_stage)
        shared = parallelism.traffic(model, replace(plan, context=2), **arguments)
        assert shared["data"] == parallelism.traffic(model, replace(plan, data=8), batch=8, seq=1024)["data"]


def test_experts_have_as_many_replicas_as_groups_of_ranks_that_share_them():
    """8 data ranks share the experts, 2 ranks share a sequence: 16 copies of attention, 2 of each expert."""
    model, plan = models.load("mixtral-8x7b"), Plan(data=8, expert=8, context=2, zero_stage=1)
    held = parallelism.rank_memory(model, plan, batch=8, seq=64)
    whole = model.parameters()
    experts, rest = whole["mlp"] // 8, int(whole) - whole["mlp"]
    assert int(held["state"]) == 4 * (experts + rest) + 12 * (experts // 2) + 12 * (rest // 16)
    sent = parallelism.traffic(model, plan, batch=8, seq=64)["data"]
    assert sent == pytest.approx(2 * 2 * (experts * 1 / 2 + rest * 15 / 16), rel=1e-6)


def test_an_interleaved_pipeline_sends_once_for_each_chunk():
    """Narayanan et al. 2021, section 2.2.2: v times as much. The ends of the model have nobody to send to once."""
    plain, chunks = Plan(pipeline=8, microbatches=8), Plan(pipeline=8, microbatches=8, virtual=3)
    message = 2 * 2048 * 12288
    for stage, ends in ((0, 1), (3, 0), (7, 1)):
        for plan in (plain, chunks):
            sent = parallelism._stage_traffic(GPT3, plan, stage, 8, 2048, "none")["pipeline"]
            tied = 2 * 50257 * 12288 * bool(ends)
            assert sent == 8 * (2 * plan.virtual - ends) * message + tied


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


def test_chunks_of_a_pipeline_hold_layers_that_keep_equally_much():
    sizes = {"layers": 4, "d_model": 32, "heads": 4, "vocab": 64, "context": 64}
    plan, step = Plan(pipeline=2, virtual=2, microbatches=2), {"batch": 2, "seq": 64}
    windowed = Transformer("windowed", window=8, window_layers=2, **sizes)
    alike = parallelism.rank_memory(Transformer("alike", **sizes), plan, **step)
    assert int(parallelism.rank_memory(windowed, plan, **step)) == int(alike)
    more = dict.fromkeys(("query_latent", "latent", "rotary_dim", "head_dim", "value_dim", "d_ff", "expert_d_ff"), 8)
    more |= {"dense_layers": 1, "experts": 4, "active_experts": 2, "shared_experts": 1}
    with pytest.raises(ValueError, match="the chunks of mixed hold layers of several kinds"):
        parallelism.rank_memory(models.deepseek("mixed", **sizes, **more), plan, **step)


def test_one_rank_sends_nothing():
    assert int(parallelism.traffic(models.load("gpt2"), Plan(), batch=1, seq=8)) == 0


@given(
    data=st.sampled_from([1, 2, 4]),
    tensor=st.sampled_from([1, 2, 4]),
    pipeline=st.sampled_from([1, 2, 4]),
    zero_stage=st.integers(0, 3),
    microbatches=st.sampled_from([1, 2, 8]),
    context=st.sampled_from([1, 2, 4]),
    recompute=st.sampled_from(["none", "selective", "full"]),
)
def test_any_plan(data, tensor, pipeline, zero_stage, microbatches, context, recompute):
    model = models.load("gpt2")
    virtual = 3 if pipeline > 1 and microbatches % pipeline == 0 else 1
    plan = Plan(
        data, tensor, pipeline, zero_stage=zero_stage, microbatches=microbatches, context=context, virtual=virtual
    )
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
        ("gpt2", {"pipeline": 4, "virtual": 2, "microbatches": 4}, "pipeline=4 · virtual=2 must divide layers=12"),
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
        ({"context": 0}, "context=0 must be at least 1"),
        ({"virtual": 2}, r"virtual=2 needs stages \(pipeline=1\)"),
        ({"virtual": 2, "pipeline": 4, "microbatches": 6}, "a multiple of their number as microbatches=6"),
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
    for call in (parallelism.rank_memory, parallelism.traffic):
        with pytest.raises(ValueError, match="context=3 must divide seq=64"):
            call(model, Plan(context=3), batch=1, seq=64)
    with pytest.raises(ValueError, match="attention='eager' with context=2: ring attention keeps no scores"):
        parallelism.rank_memory(model, Plan(context=2), batch=1, seq=64, attention="eager")
    with pytest.raises(ValueError, match="virtual=3 needs"):
        parallelism.pipeline_bubble(stages=4, microbatches=6, virtual=3)
    with pytest.raises(ValueError, match="stage=2 must be less than pipeline=2"):
        parallelism.rank_parameters(model, Plan(pipeline=2), 2)


# ---------------------------------------------------------------- ranks of unlike speed


def test_the_rate_of_ranks_that_wait_is_that_of_a_step_followed_rank_by_rank():
    speeds, shares = [312, 125, 60], [9, 4, 1]
    ready = [share / speed for share, speed in zip(shares, speeds, strict=True)]
    assert parallelism.synchronous_rate(speeds, shares) == pytest.approx(14 / max(ready))
    assert parallelism.synchronous_rate([312] * 4 + [125] * 4) == 1000
    assert parallelism.synchronous_rate(speeds, speeds) == pytest.approx(sum(speeds))
    assert parallelism.synchronous_rate([5, 7], [1, 0]) == 5


@pytest.mark.parametrize(
    ("speeds", "shares", "said"),
    [([], None, "every rank"), ([1, 2], [1], "1 share"), ([0, 1], None, "speeds"), (3, None, "lists"), ([1], [0], "0")],
)
def test_a_rate_without_speeds_or_shares_is_refused(speeds, shares, said):
    with pytest.raises(ValueError, match=said):
        parallelism.synchronous_rate(speeds, shares)
