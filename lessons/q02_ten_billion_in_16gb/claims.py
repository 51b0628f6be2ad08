"""Claims on trial in Q2: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import hardware, memory, models, parallelism, precision
from course_lib.experiments.nets import tiny_gpt
from course_lib.teaching.cards.verdict import Verdict, if_all

SEVEN = 7_000_000_000  # parameters of the worked case; its shape is that of Llama-2 7B
TEN = 10_000_000_000
SHAPE = "llama2-7b"


def _gb(size) -> float:
    return int(size) / 1e9


def s003_43() -> Verdict:
    """Do without a resident master copy: make it from the 16-bit weight before each of a hundred small updates."""
    state = memory.model_state(SEVEN)
    resident, rebuilt = 1.0, 1.0
    for _ in range(100):
        resident += 1e-3
        rebuilt = precision.rounded(precision.rounded(rebuilt, "bf16") + 1e-3, "bf16")
    return Verdict(
        if_all(abs(rebuilt - resident) < 0.01),
        state=_gb(state),
        without=_gb(int(state) - int(state["master"])),
        resident=precision.rounded(resident, "bf16"),
        rebuilt=rebuilt,
    )


def s003_49() -> Verdict:
    totals = {name: memory.model_state(SEVEN, name) for name in ("fp32-adamw", "mixed-adamw")}
    wider = memory.recipe("mixed-adamw-4-byte-grads").total
    return Verdict(
        if_all(all(int(total) == 112e9 for total in totals.values())),
        each={name: memory.recipe(name).total for name in totals},
        total={name: _gb(total) for name, total in totals.items()},
        wider=wider,
        wider_total=_gb(wider * SEVEN),
    )


def s003_53() -> Verdict:
    """Eight ways of model parallelism; small batches of one sequence, so that a pipeline has eight in flight."""
    model = models.load(SHAPE)
    plans = {
        "tensor": (1, parallelism.Plan(tensor=8)),
        "sequence": (1, parallelism.Plan(tensor=8, sequence_parallel=True)),
        "pipeline": (8, parallelism.Plan(pipeline=8, microbatches=8)),
    }

    def parts(batch, plan):
        rank = parallelism.rank_memory(model, plan, batch=batch, seq=2048)
        return {name: int(rank[name]) for name in ("state", "activations")}

    alone = parts(1, parallelism.Plan())
    factors = {name: {part: alone[part] / size for part, size in parts(*plan).items()} for name, plan in plans.items()}
    states = all(found["state"] > 6 for found in factors.values())
    activations = [found["activations"] > 6 for found in factors.values()]
    ruling = "fails" if not states or not any(activations) else "holds" if all(activations) else "holds-if"
    return Verdict(ruling, **factors)


def s003_55() -> Verdict:
    base, full, checkpointed = 28 + 14 + 14 + 56, 48, 12  # GB, as the claim states them
    sums = {
        "minimum": (base + checkpointed, 124),
        "typical": (base + full, 172),
        "production": (base + checkpointed + 20, 144),
        "cloud": (base + full + 40, 212),
    }
    return Verdict(
        if_all(all(right == stated for right, stated in sums.values())),
        sums={name: right for name, (right, _) in sums.items()},
        stated={name: stated for name, (_, stated) in sums.items()},
    )


def s003_01() -> Verdict:
    weights = precision.nbytes(TEN, "fp16")
    return Verdict(if_all(weights == 20e9, weights > 16 * 2**30), gb=weights / 1e9, gib=weights / 2**30)


def s003_02() -> Verdict:
    model = models.load(SHAPE)
    state = memory.model_state(model.parameters())
    activations = parallelism.rank_memory(model, parallelism.Plan(), batch=1, seq=2048)["activations"]
    needed = {
        "gradients": int(state["grads"]),
        "optimizer": int(state["moment1"]) + int(state["moment2"]),
        "activations": int(activations),
    }
    return Verdict(
        if_all(all(size > 0 for size in needed.values())),
        weights=_gb(state["weights"]),
        **{name: _gb(size) for name, size in needed.items()},
    )


def s003_41() -> Verdict:
    all_16_bit = memory.model_state(SEVEN, memory.Recipe(2, 2, moment1=2, moment2=2))
    mixed = memory.model_state(SEVEN, "mixed-adamw")
    ruling = "holds" if int(mixed) == 56e9 else "holds-if" if int(all_16_bit) == 56e9 else "fails"
    return Verdict(ruling, all_16_bit=_gb(all_16_bit), mixed=_gb(mixed))


def s003_42() -> Verdict:
    state = memory.model_state(SEVEN, "mixed-adamw")
    parts = {name: int(size) for name, size in state.parts.items()}
    moments = parts["moment1"] + parts["moment2"]
    stated = {"master": 28e9, "weights": 14e9, "grads": 14e9}
    return Verdict(
        if_all(moments == 56e9, *(parts[name] == size for name, size in stated.items())),
        **{name: _gb(parts[name]) for name in stated},
        moments=_gb(moments),
        total=_gb(state),
    )


def s003_44() -> Verdict:
    def moments(recipe):
        state = memory.model_state(SEVEN, recipe)
        return int(state["moment1"]) + int(state["moment2"])

    wide, narrow = moments("mixed-adamw"), moments("mixed-adamw-8bit")
    ruling = "fails" if wide != 56e9 else "holds" if narrow >= wide else "holds-if"
    return Verdict(ruling, wide=_gb(wide), narrow=_gb(narrow))


def s003_47() -> Verdict:
    """Run the calculator that the claim comes from; then count what it meant to count."""
    batch, seq, width, layers = 32, 2048, 4096, 32
    one_tensor_a_layer = 2 * batch * seq * width * layers
    returned = (16 * SEVEN + one_tensor_a_layer) / 2**30
    kept = memory.activations(models.load(SHAPE), batch, seq, convention="megatron", recompute="selective")
    return Verdict(
        if_all(abs(returned / 160 - 1) < 0.1 or abs((16 * SEVEN + int(kept)) / 160e9 - 1) < 0.1),
        returned=returned,
        sum=112 + 48,
        kept=_gb(kept),
        both=_gb(16 * SEVEN + int(kept)),
    )


def s003_52() -> Verdict:
    moments = memory.model_state(SEVEN, offload=("moment1", "moment2"))
    optimizer = memory.model_state(SEVEN, offload=("master", "moment1", "moment2"))
    travels = int(optimizer["grads"]) + int(optimizer["weights"])
    saved = int(moments.views["host"]), int(optimizer.views["host"])
    ruling = "fails" if 56e9 not in saved else "holds" if saved[0] == saved[1] else "holds-if"
    return Verdict(ruling, moments=_gb(saved[0]), optimizer=_gb(saved[1]), travels=_gb(travels))


def s003_56() -> Verdict:
    """Is there a smaller device that holds batch 8, blocks recomputed, in nine tenths of it less 2 GB?"""
    model = models.load(SHAPE)
    need = parallelism.rank_memory(model, parallelism.Plan(), batch=8, seq=2048, recompute="full")
    size_needed = (int(need) + 2e9) / 0.9
    one = [name for name in hardware.names() if name != "mi250x"]  # its dies are two devices
    devices = {name: hardware.load(name).memory_capacity for name in one}
    below = {
        name: size
        for name, size in devices.items()
        if size_needed <= size < 160e9 and hardware.load(name).kind == "gpu"
    }
    sharded = memory.model_state(SEVEN, zero_stage=3, ranks=8)
    return Verdict(
        if_all(not below),
        size_needed=_gb(size_needed),
        below=", ".join(f"{name} ({_gb(size):,.0f} GB)" for name, size in below.items()),
        sharded=_gb(sharded),
    )


def s003_57() -> Verdict:
    """A case that needs more than the rule says, and one that needs far less."""
    t4, h200 = (hardware.load(name).nominal_memory for name in ("t4", "h200-sxm"))
    state = memory.model_state(TEN, offload=("master", "moment1", "moment2"))
    offloaded, stays = int(state.views["host"]), int(state)
    on_host = offloaded if stays <= t4 else offloaded + stays  # what does not fit the card is streamed from the host
    gpt2 = precision.nbytes(int(models.load("gpt2").parameters()), "fp32")
    return Verdict(
        if_all(on_host <= 1.5 * t4, gpt2 > 0.1 * 1.5 * h200),
        rule_16=_gb(1.5 * t4),
        offloaded=_gb(offloaded),
        stays=_gb(stays),
        on_host=_gb(on_host),
        times=on_host / (1.5 * t4),
        rule_141=_gb(1.5 * h200),
        gpt2=gpt2 / 1e9,
    )


def s003_58() -> Verdict:
    """A device between what two batches need: restart three times as it was, then once with half of the batch."""
    small = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=256)
    needs = {batch: int(memory.training_peak(small, batch, 128)) for batch in (8, 4)}
    capacity = sum(needs.values()) // 2
    unchanged = [int(memory.training_peak(small, 8, 128)) <= capacity for _ in range(3)]
    return Verdict(if_all(any(unchanged)), capacity=capacity / 1e6, whole=needs[8] / 1e6, half=needs[4] / 1e6)


def s003_59() -> Verdict:
    """State and activations from one recomputed sequence to the worked case's batch with nothing recomputed; and QLoRA."""
    model = models.load(SHAPE)

    def recomputed(batch):
        rank = parallelism.rank_memory(model, parallelism.Plan(), batch=batch, seq=2048, recompute="full")
        return 16 * SEVEN + int(rank["activations"])

    adapters = memory.lora_parameters(model, rank=16)
    qlora = memory.model_state(SEVEN, "frozen-nf4") + memory.model_state(adapters, "mixed-adamw")
    low = recomputed(1)
    high = 16 * SEVEN + int(memory.activations(model, 32, 2048, convention="megatron", recompute="none"))
    return Verdict(
        if_all(low >= 0.95 * 124e9, high <= 1.05 * 172e9),
        low=_gb(low),
        recomputed=_gb(recomputed(32)),
        high=_gb(high),
        qlora=_gb(qlora),
    )
