"""Claims on trial in Q1: each function decides one claim by computing it and returns the verdict with its evidence."""

from course_lib import experiments
from course_lib.accounting import hardware, models, precision, units
from course_lib.accounting.hardware import hierarchy
from course_lib.teaching.cards.verdict import Verdict

A100 = "a100-40-sxm"
RECORDED = "amd-epyc-2-cores"  # the processor that this project has recorded
KB = 1024  # caches are printed in KB of 1024 bytes
REGISTER_FILE = 256 * KB  # of one multiprocessor: NVIDIA A100 Architecture whitepaper, table 4
DEPENDENT_ADDITION = 4  # cycles: Abdelkhalik et al. 2022, arXiv 2208.11174


def _ruling(*tests: bool) -> str:
    return "holds" if all(tests) else "fails"


def _near(value: float, claimed: float, factor: float = 1.25) -> bool:
    return claimed / factor <= value <= claimed * factor


def _multiprocessors(device: str) -> int:
    return hardware.load(device).level("registers").capacity // REGISTER_FILE


def _cycles(level: str, device: str = "a100") -> list[float]:
    """What the studies found, the shortest first."""
    return sorted(study.cycles[level] for study in hierarchy.latencies(device))


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def s004_030() -> Verdict:
    claimed = {"memory": 200, "l2": 50, "l1": 5}
    evidence = {f"{level}, claimed {cycles} cycles": _listed(_cycles(level)) for level, cycles in claimed.items()}
    agree = [any(_near(found, cycles) for found in _cycles(level)) for level, cycles in claimed.items()]
    evidence["an addition that waits for the one before"] = f"{DEPENDENT_ADDITION} cycles"
    return Verdict(_ruling(*agree, DEPENDENT_ADDITION == 1), evidence)


def s003_73() -> Verdict:
    """Fetch every weight twice a step (forward, backward) from an NVMe drive; compute 6 FLOP a weight and token."""
    model, device, drive = models.load("llama2-7b"), hardware.load(A100), hardware.link("nvme-pcie4")
    weights = model.parameters().total
    fetching = 2 * precision.nbytes(weights, "bf16") / drive.bandwidth
    stalls, evidence = {}, {"fetching the weights twice": units.format_seconds(fetching)}
    for tokens in (200, 8 * 1024, 64 * 1024, 512 * 1024):
        computing = 6 * weights * tokens / device.peak("bf16")
        stalls[tokens] = fetching > computing
        evidence[f"computing, {tokens:,} tokens a step"] = units.format_seconds(computing)
    equal = fetching * device.peak("bf16") / (6 * weights)
    evidence["equal at"] = f"{equal:,.0f} tokens a step"
    ruling = "holds" if all(stalls.values()) else "holds-if" if any(stalls.values()) else "fails"
    because = (
        f"It holds while fewer than about {equal:,.0f} tokens share each fetched weight; gradients and optimizer "
        "states raise that number."
    )
    return Verdict(ruling, evidence, because)


def s004_041() -> Verdict:
    """A GPU's recording decides where there is one; else the model of two copies one after the other."""
    recorded = experiments.recorded("host_to_device")  # needs a GPU, so each of them is one
    if recorded:
        rates = experiments.load("host_to_device", recorded[0]).measured
        pageable, pinned = (rates[f"{kind}, to the GPU, 256 MiB"] for kind in ("pageable", "pinned"))
        evidence = {"pageable": f"{pageable / 1e9:.1f} GB/s", "pinned": f"{pinned / 1e9:.1f} GB/s"}
        return Verdict(_ruling(pinned >= 10 * pageable), {**evidence, "recorded on": recorded[0]})
    pinned = 12e9  # B/s, as the claim has it
    copy = experiments.load("disk_stream", RECORDED)["warm, from the page cache"]["measured"]
    pageable = 1 / (1 / pinned + 1 / copy)
    evidence = {
        "one copy within main memory, recorded": f"{copy / 1e9:.1f} GB/s",
        "pageable, if the two copies do not overlap": f"{pageable / 1e9:.1f} GB/s",
        "pinned ÷ pageable": f"{pinned / pageable:.1f}",
        "a developer's word, RAPIDS dask-cuda pull request 98": "5–6 and 11–12 GB/s",
        "one profile of torch.save, PyTorch pull request 138018": "1.4 and 12.6 GB/s",
    }
    published = 12.6 / 1.4
    return Verdict(_ruling(pinned >= 10 * pageable, published >= 10), evidence)


def s003_67() -> Verdict:
    multiply = hierarchy.energy("fp32-multiply").joules
    energies = {id: hierarchy.energy(id).of(4) for id in ("cache-8-kb", "cache-1-mb", "hbm2", "dram")}
    device = hardware.load(A100)
    in_the_time = device.peak("fp16") / (device.memory_bandwidth / 2)
    evidence = {"multiplying two fp32 numbers": f"{multiply * 1e12:.1f} pJ"}
    evidence |= {f"reading 32 bits, {id}": f"{joules * 1e12:.0f} pJ" for id, joules in energies.items()}
    evidence["FLOPs of an A100 in the time of one fp16 number"] = f"{in_the_time:.0f}"
    return Verdict(_ruling(energies["hbm2"] > multiply, energies["dram"] > multiply, in_the_time > 1), evidence)


def s000_13() -> Verdict:
    chip = hardware.load(A100).level("registers").capacity
    sizes = {"a thread, at most 255": 255 * 4, "a multiprocessor": REGISTER_FILE, "an A100": chip}
    evidence = {name: f"{size:,} B" if size < KB else f"{size // KB:,} KB of 1024 B" for name, size in sizes.items()}
    evidence["an addition that waits for the one before"] = f"{DEPENDENT_ADDITION} cycles"
    few = any(2 * KB <= size <= 10 * KB for size in sizes.values())
    return Verdict(_ruling(few, DEPENDENT_ADDITION == 1), evidence)


def s000_14() -> Verdict:
    device, multiprocessors = hardware.load(A100), _multiprocessors(A100)
    l1, l2 = device.level("shared").capacity // multiprocessors, device.level("l2").capacity
    evidence = {
        "L1 and shared memory of a multiprocessor": f"{l1 // KB} KB, {_listed(_cycles('l1'))} cycles",
        "L2": f"{l2 // KB**2} MB, {_listed(_cycles('l2'))} cycles, {device.bandwidth('l2') / 1e12:.1f} TB/s",
    }
    sizes = 32 * KB <= l1 <= 64 * KB, 256 * KB <= l2 <= KB**2
    return Verdict(_ruling(*sizes, _near(_cycles("l1")[0], 4, 2), _near(_cycles("l2")[0], 10, 2)), evidence)


def s000_15() -> Verdict:
    cards = {name: hardware.load(name) for name in ("a100-40-sxm", "a100-80-sxm", "v100-sxm2")}
    evidence = {
        card.name: f"{card.memory_capacity / 1e9:.0f} GB, {card.memory_bandwidth / 1e9:,.0f} GB/s"
        for card in cards.values()
    }
    evidence["cycles, A100"] = _listed(_cycles("memory"))
    fits = [40e9 <= card.memory_capacity <= 80e9 and _near(card.memory_bandwidth, 900e9) for card in cards.values()]
    return Verdict(_ruling(any(fits), _near(_cycles("memory")[0], 100, 2)), evidence)


def s000_16() -> Verdict:
    """Same order of magnitude: within a factor of 3. Cycles at 3 GHz, as the notes have them."""
    chase = experiments.load("pointer_chase", RECORDED)
    cycles = chase["64 MiB"]["measured"] * 3e9
    seen = {"a core": chase.device["memory_bandwidth"], "an A100, over PCIe 4.0": hardware.load(A100).link("pcie")}
    evidence = {f"seen from {place}": f"{rate / 1e9:.1f} GB/s" for place, rate in seen.items()}
    evidence["a dependent load, recorded processor"] = f"{cycles:,.0f} cycles of 3 GHz"
    core, gpu = (_near(rate, 100e9, 3) for rate in seen.values())
    core = core and _near(cycles, 300, 3)
    ruling = "holds" if core and gpu else "holds-if" if core else "fails"
    return Verdict(ruling, evidence, "It holds as seen from a processor core.")


def s000_17() -> Verdict:
    """Flash answers in tens of microseconds; the bus sets the rate."""
    seconds, bus = 100_000 / 3e9, hardware.link("nvme-pcie4").bandwidth
    evidence = {"100,000 cycles at 3 GHz": units.format_seconds(seconds), "PCIe 4.0 ×4": f"{bus / 1e9:.2f} GB/s"}
    return Verdict(_ruling(10e-6 <= seconds <= 100e-6, _near(bus, 7e9)), evidence)


def s004_029() -> Verdict:
    a100, v100 = hardware.load(A100), hardware.load("v100-sxm2")
    evidence = {
        "A100": f"{a100.level('l2').capacity // KB**2} MB, {a100.bandwidth('l2') / 1e12:.1f} TB/s at most",
        "V100": f"{v100.level('l2').capacity // KB**2} MB",
    }
    return Verdict(_ruling(_near(a100.level("l2").capacity, 6 * KB**2), a100.bandwidth("l2") >= 5e12), evidence)


def s004_097() -> Verdict:
    sizes = {name: hardware.load(name).level("l2").capacity // KB**2 for name in (A100, "v100-sxm2")}
    return Verdict(_ruling(sizes[A100] == 40, sizes["v100-sxm2"] == 6), {k: f"{v} MB" for k, v in sizes.items()})


def s004_031() -> Verdict:
    device = hardware.load(A100)
    shared = device.bandwidth("shared")
    registers = device.peak("fp32") / 2 * 3 * 4  # a multiply-add is 2 FLOP and reads three operands of 4 B
    evidence = {
        "L1 and shared memory": f"{shared / 1e12:.1f} TB/s",
        "operands of the fp32 peak": f"{registers / 1e12:.0f} TB/s",
    }
    return Verdict(_ruling(_near(shared, 20e12), _near(registers, 100e12)), evidence)


def s004_038() -> Verdict:
    claimed = {"pcie3-x16": 12e9, "pcie4-x16": 24e9}
    evidence, agree = {}, []
    for id, rate in claimed.items():
        bus, published = hardware.link(id), hierarchy.pinned_rate(id)
        evidence[bus.name] = f"{bus.bandwidth / 1e9:.1f} GB/s on the bus, {published / 1e9:g} published"
        agree += [_near(published, rate, 1.1), rate < bus.bandwidth]
    return Verdict(_ruling(*agree), evidence)


def s004_039() -> Verdict:
    best = 1e9 / 12e9
    shares = {ms: best / (ms * 1e-3) for ms in (90, 200)}
    evidence = {"1 GB at 12 GB/s": units.format_seconds(best)}
    evidence |= {f"{ms} ms": f"{share:.1%}" for ms, share in shares.items()}
    exact = round(best * 1e3) == 83, int(100 * shares[90]) == 92, int(100 * shares[200]) == 41
    return Verdict(_ruling(*exact), evidence)


def s004_103() -> Verdict:
    """The chip of the GA102 whitepaper is in the RTX 3090: has it the A100's cache and memory?"""
    a100, ga102 = hardware.load(A100), hardware.load("rtx-3090")
    evidence = {card.name: f"{card.level('l2').capacity // KB**2} MB of L2" for card in (a100, ga102)}
    return Verdict(_ruling(_near(ga102.level("l2").capacity, a100.level("l2").capacity)), evidence)
