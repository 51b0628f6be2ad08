"""The small GPT is GPT-2; the allocator is read rightly; peaks, saved bytes and cache are what `accounting` says."""

import math

import pytest

from course_lib.accounting import hardware, memory
from course_lib.experiments import Result, Unavailable, load
from course_lib.experiments.measurements import training_memory
from course_lib.experiments.measurements.training_memory import Setting
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation, experiment, timing
from course_lib.experiments.running.bench import Bench
from course_lib.units.q03_activations_outgrow_weights.experiments import checkpointing, kv_cache_growth, saved_tensors

torch = pytest.importorskip("torch")

MODULES = (training_memory, checkpointing, saved_tensors, kv_cache_growth)
MODEL = tiny_gpt.describe(layers=3, d_model=48, heads=4, vocab=300, context=128)


@pytest.fixture
def bench():
    return Bench.on_device(torch, "cpu")


@pytest.fixture
def cpu(kept_profile):
    return hardware.measured(kept_profile["cpu"])


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_quick_run(module, kept_profile, timed_once, capfd):
    state = torch.get_rng_state()
    r = experiment.run(module.EXPERIMENT, "cpu")
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", ""), "not even the profiler's own words"
    assert torch.equal(state, torch.get_rng_state())
    assert Result.from_json(r.to_json()) == r
    assert set(r.measured) == set(r.prediction)
    assert module.EXPERIMENT.plot(r).alt
    if r.unit == "B":
        for case, size in r.measured.items():
            assert r.prediction[case] == pytest.approx(size, rel=0 if module is saved_tensors else 0.01), case


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("id", ["h100-sxm", "h200-sxm", "a100-40-sxm", "t4"])
def test_cases_for_a_gpu(module, id, cpu):
    device = hardware.load(id)
    quick, full = (module.EXPERIMENT.cases(device, quick) for quick in (True, False))
    assert {case.name for case in quick} <= {case.name for case in full}
    assert {case.name for case in quick} == {case.name for case in module.EXPERIMENT.cases(cpu, True)}
    predicted = module.EXPERIMENT.predict(full, device)
    assert all(0 < value < math.inf for value in predicted.values())
    if module in (training_memory, checkpointing) and id != "t4":
        assert max(predicted.values()) < 0.8 * device.memory_capacity, "it fits, so that nothing is left out"


# ---------------------------------------------------------------- the small GPT


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("recompute", ["none", "full"])
@pytest.mark.filterwarnings("ignore")
def test_it_computes_what_transformers_computes(bench, attention, recompute):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=3, n_embd=48, n_head=4, vocab_size=300, n_positions=128, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        use_cache=False, attn_implementation=attention, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    theirs = transformers.GPT2LMHeadModel(config).train()
    if recompute == "full":
        theirs.gradient_checkpointing_enable({"use_reentrant": False})
    weights = {name.removeprefix("transformer."): value for name, value in theirs.state_dict().items()}
    weights.pop("lm_head.weight")
    ours = tiny_gpt.build(bench, MODEL, attention, recompute)
    ours.load_state_dict(weights)
    assert [name for name, _ in ours.named_parameters()] == list(weights), "the optimizer meets them in this order"
    assert sum(parameter.numel() for parameter in ours.parameters()) == int(MODEL.parameters())

    tokens = tiny_gpt.tokens(bench, MODEL, 3, 40)
    mine, real = ours(tokens, labels=tokens), theirs(tokens, labels=tokens)
    assert torch.equal(mine.loss, real.loss)
    assert torch.equal(mine.logits, real.logits)
    mine.loss.backward()
    real.loss.backward()
    for here, there in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(here.grad, there.grad)


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16", "bf16"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("recompute", ["none", "full"])
def test_autograd_saves_what_accounting_says(bench, precision, attention, recompute):
    net = tiny_gpt.build(bench, MODEL, attention, recompute, "bf16" if precision == "bf16" else "fp32")
    tokens = tiny_gpt.tokens(bench, MODEL, 3, 40)
    kept = []
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t),
        torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp-bf16"),
    ):
        output = net(tokens, labels=tokens)
    own = {t.untyped_storage().data_ptr() for t in (*net.parameters(), tokens)}
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    saved = sum(size for place, size in storages.items() if place not in own)
    counted = memory.activations(MODEL, batch=3, seq=40, precision=precision, attention=attention, recompute=recompute)
    assert saved == int(counted)
    assert output.loss.requires_grad


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_decoding_with_the_cache_is_the_forward_pass(bench, attention):
    net = tiny_gpt.build(bench, MODEL, attention).eval()
    tokens = tiny_gpt.tokens(bench, MODEL, 2, 30)
    with torch.no_grad():
        whole = net(tokens).logits
        cache = tiny_gpt.KVCache(bench, MODEL, 2, 30)
        parts = [net(tokens[:, :20], cache=cache).logits]
        parts += [net(tokens[:, at : at + 1], cache=cache).logits for at in range(20, 30)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    assert cache.length == 30
    assert cache.nbytes == int(memory.kv_cache(MODEL, batch=2, tokens=30, dtype="fp32"))
    with pytest.raises(ValueError, match="room for 30 tokens"):
        net(tokens[:, :1], cache=cache)


def test_what_cannot_be_built_is_refused(bench):
    from dataclasses import replace

    for change in ({"activation": "relu"}, {"dropout": 0.1}, {"tied_head": False}, {"kv_heads": 2}):
        with pytest.raises(ValueError, match="is not a GPT-2 without dropout"):
            tiny_gpt.build(bench, replace(MODEL, **change))
    with pytest.raises(ValueError, match="attention='flash'"):
        tiny_gpt.build(bench, MODEL, attention="flash")
    cache = tiny_gpt.KVCache(bench, MODEL, 2, 30)
    cache.length = 5
    with pytest.raises(ValueError, match="one at a time"):
        tiny_gpt.build(bench, MODEL)(tiny_gpt.tokens(bench, MODEL, 2, 3), cache=cache)


# ---------------------------------------------------------------- the allocator


def test_known_allocations_come_out_right(bench):
    def in_turn():
        for size in (1000, 3000, 2000):
            torch.empty(size, dtype=torch.uint8)

    def together():
        first = torch.empty(1000, dtype=torch.uint8)
        second = torch.empty(3000, dtype=torch.uint8)
        del first
        return second, torch.empty(500, dtype=torch.uint8)

    existing = torch.empty(10_000)
    assert allocation.rise(bench, lambda: None) == 0
    assert allocation.rise(bench, lambda: existing[5:]) == 0, "a view"
    assert allocation.rise(bench, in_turn) == 3000
    assert allocation.rise(bench, together) == 4000
    assert allocation.rise(bench, lambda: torch.empty(2000, dtype=torch.uint8)) == 2000, "held until the end"


def test_a_failing_call_leaves_no_profiler_running(bench):
    with pytest.raises(ZeroDivisionError):
        allocation.rise(bench, lambda: 1 / 0)
    assert allocation.rise(bench, lambda: torch.empty(10)) == 40


@pytest.mark.parametrize(("changes", "highest"), [([], 0), ([-5], 0), ([10, -10, 7, 7, -14], 14)])
def test_the_rise_is_the_largest_sum_of_the_first_changes(bench, monkeypatch, changes, highest):
    monkeypatch.setattr(allocation, "changes", lambda torch, call: changes)
    assert allocation.rise(bench, lambda: None) == highest


def test_shared_storage_counts_once():
    x = torch.empty(100)
    assert allocation.bytes_of([x, x[3:], x.view(10, 10), torch.empty(5)]) == 420


def test_the_state_between_steps(bench):
    net = tiny_gpt.build(bench, MODEL)
    optimizer = torch.optim.AdamW(net.parameters())
    weights = 4 * int(MODEL.parameters())
    assert allocation.bytes_of(allocation.state_of(net, optimizer)) == weights
    tiny_gpt.training_step(net, optimizer, tiny_gpt.tokens(bench, MODEL, 1, 8))
    steps = 4 * len(list(net.parameters()))  # AdamW counts the steps of each tensor
    assert allocation.bytes_of(allocation.state_of(net, optimizer)) == 4 * weights + steps


def test_a_gpu_is_asked_for_its_own_maximum():
    """The order of the calls, on a stand-in: the maximum is reset before the call and read after it."""
    did = []

    class Cuda:
        allocated = 100

        def synchronize(self):
            did.append("wait")

        def reset_peak_memory_stats(self):
            did.append("reset")

        def memory_allocated(self):
            return self.allocated

        def max_memory_allocated(self):
            return 175

    stand_in = type("Torch", (), {"cuda": Cuda()})
    bench = Bench(stand_in, "cuda", None, None)
    assert allocation.rise(bench, lambda: did.append("call")) == 75
    assert did == ["wait", "reset", "call", "wait"]


# ---------------------------------------------------------------- peaks


@pytest.mark.parametrize(
    "setting",
    [
        Setting(2, 64),
        Setting(1, 16, optimizer="sgd"),
        Setting(2, 64, attention="sdpa", recompute="full"),
        Setting(4, 64, precision="bf16"),
    ],
    ids=str,
)
def test_the_peak_is_the_predicted_one(bench, setting, cpu):
    measured = training_memory.peak(bench, MODEL, setting)
    assert int(training_memory.predicted_peak(MODEL, setting, cpu)) == pytest.approx(measured, rel=0.01)


def test_a_leak_would_be_seen(bench, monkeypatch):
    """A step that holds one more tensor has a peak that is larger by it."""
    setting = Setting(2, 64)
    before = training_memory.peak(bench, MODEL, setting)
    step = tiny_gpt.training_step

    def leaking(*arguments):
        extra = torch.empty(1_000_000, dtype=torch.uint8)
        return step(*arguments), extra

    monkeypatch.setattr(tiny_gpt, "training_step", leaking)
    assert training_memory.peak(bench, MODEL, setting) == before + 1_000_000


def test_checkpointing_has_a_row_for_both_halves(cpu):
    cases = checkpointing.cases(cpu, True)
    timings = {case.name: timing.Repeats((float(number),)) for number, case in enumerate(cases, 1)}
    rows = checkpointing.table(cases, timings, cpu)
    assert [(row["case"], row["measured"], row["step"]) for row in rows][:2] == [
        ("2 layers, kept", 1.0, 2.0),
        ("2 layers, recomputed", 3.0, 4.0),
    ]
    assert set(checkpointing.predict(cases, cpu)) == {row["case"] for row in rows}
    assert checkpointing.table(cases[:3], timings, cpu) == rows[:1], "interrupted between the halves"
    kept, recomputed = rows[-2:]
    assert recomputed["predicted"] < kept["predicted"]
    assert 1.2 < recomputed["predicted_step"] / kept["predicted_step"] < 4 / 3, "one more forward pass of the blocks"


def test_a_picture_of_memory_alone_speaks_of_no_time():
    recorded = load("checkpointing", "amd-epyc-2-cores")
    assert "0.54 times the memory" in recorded.plot().title
    assert "time" not in recorded.plot().title.replace("times", "")


def test_the_traced_steps_peak_is_in_its_picture():
    """It lies between two of the points, so the highest point is not the highest instant."""
    recorded = load("allocator_trace", "amd-epyc-2-cores")
    points = [row["measured"] for row in recorded.rows if row["point"]]
    assert max(points) < 0.95 * recorded["peak"]["measured"]
    assert "rises to 53.8 MB" in recorded.plot().title


def test_the_traced_steps_picture_does_not_call_its_lowest_point_the_lowest_level():
    """The step starts below every point: at weights, two moments and tokens, which no point shows."""
    recorded = load("allocator_trace", "amd-epyc-2-cores")
    points = [row["measured"] for row in recorded.rows if row["point"]]
    model = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=128)
    start = 12 * int(model.parameters()) + 8 * 4 * 128
    assert start < 0.7 * min(points)
    title = recorded.plot().title
    assert title.endswith(f"ends at {recorded['optimizer, 100 %']['measured'] / 1e6:.1f} MB")
    assert "between" not in title


def test_the_step_that_is_timed_recomputes(bench, cpu):
    """Counted by torch: the forward pass of every block runs once more."""
    from torch.utils.flop_counter import FlopCounterMode

    from course_lib.accounting import flops

    for case in checkpointing.cases(cpu, True)[1:4:2]:
        step = case.build(bench)
        with FlopCounterMode(display=False) as counter:
            step()
        layers, word = case.facts["layers"], case.facts["activations"]
        model = tiny_gpt.describe(layers=layers, d_model=128, heads=4, vocab=512, context=1024)
        recompute = {"kept": "none", "recomputed": "full"}[word]
        counted = int(flops.training_step(model, batch=2, seq=128, recompute=recompute))
        early = (
            int(flops.forward(model, batch=2, seq=128)["layer"]["mlp"]) // 2 * layers
        )  # stops before the last matmul
        assert counter.get_total_flops() == counted - (early if word == "recomputed" else 0)


# ---------------------------------------------------------------- saved tensors


def test_the_hand_count_is_that_of_accounting():
    for batch, seq, d, heads in ((4, 128, 128, 4), (3, 40, 48, 4), (8, 1024, 768, 12)):
        model = tiny_gpt.describe(layers=1, d_model=d, heads=heads, vocab=16, context=seq)
        ops = saved_tensors.gpt2_ops(batch, seq, d, heads)
        layer = memory.activations(model, batch=batch, seq=seq)["layer"]
        assert 4 * sum(op.numbers for op in ops) == int(layer)
        fused = memory.activations(model, batch=batch, seq=seq, attention="sdpa")["layer"]
        replaced = sum(op.numbers for op in ops if op.label in ("scores", "softmax", "values", "output projection"))
        assert int(layer) - int(fused) == 4 * (replaced - saved_tensors.sdpa_op(batch, seq, d, heads).numbers)


def test_every_op_that_keeps_something_has_its_row(bench):
    """What the recorder finds is, in order, what is counted by hand: nothing is left over."""
    model = tiny_gpt.describe(layers=1, d_model=48, heads=4, vocab=16, context=40)
    found = saved_tensors.saved(bench, *saved_tensors.gpt2_block(bench, model, 3, 40, "eager"))
    assert found == [(op.function, 4 * op.numbers) for op in saved_tensors.gpt2_ops(3, 40, 48, 4)]
    found = saved_tensors.saved(bench, *saved_tensors.resnet_block(bench, 2, 8, 14))
    assert found == [(op.function, 4 * op.numbers) for op in saved_tensors.resnet_ops(2, 8, 14)]


def test_known_ops_keep_what_is_known_of_them(bench):
    x, weight = bench.random(100).requires_grad_(), bench.random(100).requires_grad_()

    def forward():
        y = torch.exp(x)  # keeps its output
        z = y * weight  # keeps y, which is kept already, and the weight
        return torch.sin(z) + 1  # keeps its input; the addition keeps nothing

    assert saved_tensors.saved(bench, forward, [weight]) == [("exp", 400), ("sin", 400)]


def test_a_torch_that_keeps_less_is_named(bench):
    op = saved_tensors.Kept("softmax", "softmax", 1, "output", 100)
    case = saved_tensors._case("toy", lambda bench: (lambda: bench.random(3).requires_grad_() * 2, []), op)
    with pytest.raises(Unavailable, match="softmax of toy"):
        case.observe(bench, 0.1)


# ---------------------------------------------------------------- the cache


def test_cache_and_time_stand_in_one_row(cpu):
    cases = kv_cache_growth.cases(cpu, True)
    timings = {case.name: timing.Repeats((float(number),)) for number, case in enumerate(cases, 1)}
    rows = kv_cache_growth.table(cases, timings, cpu)
    assert [(row["measured"], row["cache"]) for row in rows] == [(1.0, 2), (3.0, 4), (5.0, 6), (7.0, 8)]
    assert kv_cache_growth.table(cases[:3], timings, cpu) == rows[:1]
    assert rows[-1]["predicted_cache"] == 16 * rows[0]["predicted_cache"]


def test_the_allocator_gives_the_cache_its_bytes(bench, cpu):
    for case in kv_cache_growth.cases(cpu, True)[1:4:2]:
        assert case.observe(bench, 0.1) == [case.facts["predicted_cache"]]


def test_each_repeat_meets_the_same_context(bench, cpu, monkeypatch):
    """Every layer's attention sees the context and the token itself, in every repeat."""
    attention, seen = torch.nn.functional.scaled_dot_product_attention, []

    def watched(query, key, value, **options):
        seen.append((query.shape[2], key.shape[2], value.shape[2]))
        return attention(query, key, value, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
    case = kv_cache_growth.cases(cpu, True)[0]
    with torch.inference_mode():
        next_token = case.build(bench)
        logits = [next_token() for _ in range(2)]
    length = case.facts["context"] + 1
    assert seen == 2 * 4 * [(1, length, length)]
    assert torch.equal(*logits)
