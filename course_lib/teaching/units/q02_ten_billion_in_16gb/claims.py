"""Claims on trial in Q2: each function decides one claim by computing it and returns the verdict with its evidence."""

from course_lib.accounting import hardware, memory, models, parallelism, precision
from course_lib.experiments.nets import tiny_gpt
from course_lib.teaching.cards.verdict import Verdict

SEVEN = 7_000_000_000  # parameters of the notes' case; its shape is that of Llama-2 7B
TEN = 10_000_000_000
SHAPE = "llama2-7b"


def _ruling(*tests: bool) -> str:
    return "holds" if all(tests) else "fails"


def _gb(size) -> str:
    return f"{int(size) / 1e9:,.0f} GB"


def s003_43() -> Verdict:
    """Do without a resident master copy: make it from the 16-bit weight before each of a hundred small updates."""
    state = memory.model_state(SEVEN)
    resident, rebuilt = 1.0, 1.0
    for _ in range(100):
        resident += 1e-3
        rebuilt = precision.rounded(precision.rounded(rebuilt, "bf16") + 1e-3, "bf16")
    evidence = {
        "state with the master copy": _gb(state),
        "without it": _gb(int(state) - int(state["master"])),
        "100 updates of 0.001 from 1, master copy resident": f"{precision.rounded(resident, 'bf16'):.4f}",
        "made anew from bf16 at each step": f"{rebuilt:.4f}",
    }
    because = "The step reads and writes the master copy; what is rebuilt from 16 bits has lost the updates."
    return Verdict(_ruling(abs(rebuilt - resident) < 0.01), evidence, because)


def s003_49() -> Verdict:
    totals = {name: memory.model_state(SEVEN, name) for name in ("fp32-adamw", "mixed-adamw")}
    evidence = {name: f"{memory.recipe(name).total} B a parameter, {_gb(total)}" for name, total in totals.items()}
    wider = memory.recipe("mixed-adamw-4-byte-grads").total
    evidence["mixed, but gradients in fp32 (not what is claimed)"] = f"{wider} B a parameter, {_gb(wider * SEVEN)}"
    return Verdict(_ruling(all(int(total) == 112e9 for total in totals.values())), evidence)


def s003_53() -> Verdict:
    """Eight ways of model parallelism; small batches of one sequence, so that a pipeline has eight in flight."""
    model = models.load(SHAPE)
    plans = {
        "tensor 8": (1, parallelism.Plan(tensor=8)),
        "tensor 8 with sequence parallelism": (1, parallelism.Plan(tensor=8, sequence_parallel=True)),
        "pipeline 8": (8, parallelism.Plan(pipeline=8, microbatches=8)),
    }

    def parts(batch, plan):
        rank = parallelism.rank_memory(model, plan, batch=batch, seq=2048)
        return {name: int(rank[name]) for name in ("state", "activations")}

    alone = parts(1, parallelism.Plan())
    factors = {name: {part: alone[part] / size for part, size in parts(*plan).items()} for name, plan in plans.items()}
    evidence = {
        name: ", ".join(f"{part} ÷ {factor:.1f}" for part, factor in found.items()) for name, found in factors.items()
    }
    states = all(found["state"] > 6 for found in factors.values())
    activations = [found["activations"] > 6 for found in factors.values()]
    ruling = "fails" if not states or not any(activations) else "holds" if all(activations) else "holds-if"
    because = "It holds for the model state, and for activations only if the sequence is divided as well."
    return Verdict(ruling, evidence, because)


def s003_55() -> Verdict:
    base, full, checkpointed = 28 + 14 + 14 + 56, 48, 12  # GB, as the notes state them
    sums = {
        "minimum": (base + checkpointed, 124),
        "typical": (base + full, 172),
        "production": (base + checkpointed + 20, 144),
        "cloud": (base + full + 40, 212),
    }
    evidence = {name: f"{right} GB, stated {stated}" for name, (right, stated) in sums.items()}
    return Verdict(_ruling(all(right == stated for right, stated in sums.values())), evidence)


def s003_01() -> Verdict:
    weights = precision.nbytes(TEN, "fp16")
    evidence = {"weights": f"{weights / 1e9:.0f} GB, {weights / 2**30:.1f} GiB"}
    return Verdict(_ruling(weights == 20e9, weights > 16 * 2**30), evidence)


def s003_02() -> Verdict:
    model = models.load(SHAPE)
    state = memory.model_state(model.parameters())
    activations = parallelism.rank_memory(model, parallelism.Plan(), batch=1, seq=2048)["activations"]
    needed = {
        "gradients": int(state["grads"]),
        "optimizer states": int(state["moment1"]) + int(state["moment2"]),
        "activations, one sequence of 2048 tokens": int(activations),
    }
    evidence = {"weights": _gb(state["weights"]), **{name: _gb(size) for name, size in needed.items()}}
    return Verdict(_ruling(all(size > 0 for size in needed.values())), evidence)


def s003_41() -> Verdict:
    all_16_bit = memory.model_state(SEVEN, memory.Recipe(2, 2, moment1=2, moment2=2))
    mixed = memory.model_state(SEVEN, "mixed-adamw")
    evidence = {"all in 16 bits, no master copy": _gb(all_16_bit), "mixed AdamW": _gb(mixed)}
    ruling = "holds" if int(mixed) == 56e9 else "holds-if" if int(all_16_bit) == 56e9 else "fails"
    return Verdict(ruling, evidence, "It holds if the moments are 16-bit too and there is no master copy.")


def s003_42() -> Verdict:
    state = memory.model_state(SEVEN, "mixed-adamw")
    parts = {name: int(size) for name, size in state.parts.items()}
    moments = parts["moment1"] + parts["moment2"]
    stated = {"master": 28e9, "weights": 14e9, "grads": 14e9}
    evidence = {**{name: _gb(parts[name]) for name in stated}, "moments": _gb(moments), "total": _gb(state)}
    return Verdict(_ruling(moments == 56e9, *(parts[name] == size for name, size in stated.items())), evidence)


def s003_44() -> Verdict:
    def moments(recipe):
        state = memory.model_state(SEVEN, recipe)
        return int(state["moment1"]) + int(state["moment2"])

    wide, narrow = moments("mixed-adamw"), moments("mixed-adamw-8bit")
    evidence = {"in FP32": _gb(wide), "in 8 bits with a scale for 2048": _gb(narrow)}
    ruling = "fails" if wide != 56e9 else "holds" if narrow >= wide else "holds-if"
    return Verdict(ruling, evidence, "56 GB if they are FP32, which they need not be.")


def s003_47() -> Verdict:
    """Run the notes' function; then count what they meant to count."""
    batch, seq, width, layers = 32, 2048, 4096, 32
    one_tensor_a_layer = 2 * batch * seq * width * layers
    returned = (16 * SEVEN + one_tensor_a_layer) / 2**30
    kept = memory.activations(models.load(SHAPE), batch, seq, convention="megatron", recompute="selective")
    evidence = {
        "the function returns": f"{returned:.1f} (GiB)",
        "112 + 48": f"{112 + 48}",
        "activations, scores not kept (Korthikanti)": _gb(kept),
        "state and activations": _gb(16 * SEVEN + int(kept)),
    }
    return Verdict(_ruling(abs(returned / 160 - 1) < 0.1 or abs((16 * SEVEN + int(kept)) / 160e9 - 1) < 0.1), evidence)


def s003_52() -> Verdict:
    moments = memory.model_state(SEVEN, offload=("moment1", "moment2"))
    optimizer = memory.model_state(SEVEN, offload=("master", "moment1", "moment2"))
    travels = int(optimizer["grads"]) + int(optimizer["weights"])
    evidence = {
        "moments on the host": f"saves {_gb(moments.views['host'])}",
        "master copy too (ZeRO-Offload)": f"saves {_gb(optimizer.views['host'])}",
        "travels at each step": f"{_gb(travels)} of gradients and weights",
    }
    saved = int(moments.views["host"]), int(optimizer.views["host"])
    ruling = "fails" if 56e9 not in saved else "holds" if saved[0] == saved[1] else "holds-if"
    return Verdict(ruling, evidence, "56 GB if only the moments are moved; the usual recipe moves the master copy too.")


def s003_56() -> Verdict:
    """Is there a smaller device that holds batch 8, blocks recomputed, in nine tenths of it less 2 GB?"""
    model = models.load(SHAPE)
    need = parallelism.rank_memory(model, parallelism.Plan(), batch=8, seq=2048, recompute="full")
    size_needed = (int(need) + 2e9) / 0.9
    devices = {name: hardware.load(name).memory_capacity for name in hardware.names()}
    below = {
        name: size
        for name, size in devices.items()
        if size_needed <= size < 160e9 and hardware.load(name).kind == "gpu"
    }
    sharded = memory.model_state(SEVEN, zero_stage=3, ranks=8)
    evidence = {
        "one device, batch 8, recomputed, with reserve": _gb(size_needed),
        "devices below 160 GB that hold it": ", ".join(f"{name} ({_gb(size)})" for name, size in below.items()),
        "state on each of eight devices, ZeRO-3": _gb(sharded),
    }
    return Verdict(_ruling(not below), evidence)


def s003_57() -> Verdict:
    """A case that needs more than the rule says, and one that needs far less."""
    t4, h200 = (hardware.load(name).memory_capacity for name in ("t4", "h200-sxm"))
    state = memory.model_state(TEN, offload=("master", "moment1", "moment2"))
    offloaded, stays = int(state.views["host"]), int(state)
    on_host = offloaded if stays <= t4 else offloaded + stays  # what does not fit the card is streamed from the host
    gpt2 = precision.nbytes(int(models.load("gpt2").parameters()), "fp32")
    evidence = {
        "rule for a card of 16 GB": _gb(1.5 * t4),
        "ten billion parameters, optimizer offloaded from it": f"{_gb(offloaded)}, {_gb(stays)} stay",
        "so the host holds": f"{_gb(on_host)}, {on_host / (1.5 * t4):.1f} times the rule",
        "rule for a card of 141 GB": _gb(1.5 * h200),
        "GPT-2 small, while its weights are loaded": f"{gpt2 / 1e9:.1f} GB",
    }
    return Verdict(_ruling(on_host <= 1.5 * t4, gpt2 > 0.1 * 1.5 * h200), evidence)


def s003_58() -> Verdict:
    """A device between what two batches need: restart three times as it was, then once with half of the batch."""
    small = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=256)
    needs = {batch: int(memory.training_peak(small, batch, 128)) for batch in (8, 4)}
    capacity = sum(needs.values()) // 2
    unchanged = [int(memory.training_peak(small, 8, 128)) <= capacity for _ in range(3)]
    evidence = {
        "memory of the device": f"{capacity / 1e6:.0f} MB",
        "restarted as it was, three times": f"{needs[8] / 1e6:.0f} MB each time",
        "half of the batch, twice the accumulation": f"{needs[4] / 1e6:.0f} MB",
    }
    return Verdict(_ruling(any(unchanged)), evidence)


def s003_59() -> Verdict:
    """State and activations from one recomputed sequence to the notes' batch with nothing recomputed; and QLoRA."""
    model = models.load(SHAPE)

    def recomputed(batch):
        rank = parallelism.rank_memory(model, parallelism.Plan(), batch=batch, seq=2048, recompute="full")
        return 16 * SEVEN + int(rank["activations"])

    adapters = memory.lora_parameters(model, rank=16)
    qlora = memory.model_state(SEVEN, "frozen-nf4") + memory.model_state(adapters, "mixed-adamw")
    low = recomputed(1)
    high = 16 * SEVEN + int(memory.activations(model, 32, 2048, convention="megatron", recompute="none"))
    evidence = {
        "batch 1, recomputed": _gb(low),
        "batch 32, recomputed": _gb(recomputed(32)),
        "batch 32, nothing recomputed, scores kept (Korthikanti)": _gb(high),
        "QLoRA, state only": _gb(qlora),
    }
    return Verdict(_ruling(low >= 0.95 * 124e9, high <= 1.05 * 172e9), evidence)
