"""Claims on trial in Q1: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib import experiments
from course_lib.accounting import hardware, models, precision, units
from course_lib.accounting.hardware import hierarchy
from course_lib.teaching.cards.verdict import Verdict, by_cases, if_all

A100 = "a100-40-sxm"
RECORDED = "amd-epyc-2-cores"  # the processor that this project has recorded
KB = 1024  # caches are printed in KB of 1024 bytes
REGISTER_FILE = 256 * KB  # of one multiprocessor: NVIDIA A100 Architecture whitepaper, table 4
DEPENDENT_ADDITION = 4  # cycles: Abdelkhalik et al. 2022, arXiv 2208.11174


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
    agree = [any(_near(found, cycles) for found in _cycles(level)) for level, cycles in claimed.items()]
    return Verdict(
        if_all(*agree, DEPENDENT_ADDITION == 1),
        cycles={level: _listed(_cycles(level)) for level in claimed},
        addition=DEPENDENT_ADDITION,
    )


def s003_73() -> Verdict:
    """Read every weight twice a step (forward, backward) from an NVMe drive and write it once; compute 6 FLOP a weight
    and token.
    """
    model, device, drive = models.load("llama2-7b"), hardware.load(A100), hardware.link("nvme-pcie4")
    weights = model.parameters().total
    once = precision.nbytes(weights, "bf16") / drive.bandwidth
    fetching, moving = 2 * once, 3 * once
    steps = (200, 8 * 1024, 64 * 1024, 512 * 1024)  # tokens
    computing = {tokens: 6 * weights * tokens / device.peak("bf16") for tokens in steps}
    stalls = [moving > seconds for seconds in computing.values()]
    ruling = by_cases(stalls)
    equal, written = (seconds * device.peak("bf16") / (6 * weights) for seconds in (fetching, moving))
    return Verdict(
        ruling,
        fetching=units.format_seconds(fetching),
        moving=units.format_seconds(moving),
        computing={tokens: units.format_seconds(seconds) for tokens, seconds in computing.items()},
        equal=equal,
        written=written,
    )


def s004_041() -> Verdict:
    """A GPU's recording decides where there is one; else the model of two copies one after the other, and what others
    have published.
    """
    recorded = experiments.recorded("host_to_device")  # needs a GPU, so each of them is one
    if recorded:
        rates = experiments.load("host_to_device", recorded[0]).measured
        pageable, pinned = (rates[f"{kind}, to the GPU, 256 MiB"] for kind in ("pageable", "pinned"))
        return Verdict(if_all(pinned >= 10 * pageable), slow=pageable / 1e9, fast=pinned / 1e9, recorded_on=recorded[0])
    pinned = 12e9  # B/s, as the claim has it
    copy = experiments.load("disk_stream", RECORDED)["warm, from the page cache"]["measured"]
    pageable = 1 / (1 / pinned + 1 / copy)
    published = {  # pinned ÷ pageable, GB/s or GiB/s; the sources stand in cards.toml
        "copy alone, RTX 4090": 23.9 / 12.88,
        "copy alone, RAPIDS": 11.5 / 5.5,
        "program, torch.save": 12.6 / 1.4,
        "program, laptop": 11.4 / 0.7,
    }
    large = [pinned >= 10 * pageable, *(factor >= 10 for factor in published.values())]
    ruling = by_cases(large)
    return Verdict(ruling, copy=copy / 1e9, pageable=pageable / 1e9, ratio=pinned / pageable, published=published)


def s003_67() -> Verdict:
    multiply = hierarchy.energy("fp32-multiply").joules
    energies = {id: hierarchy.energy(id).of(4) for id in ("cache-8-kb", "cache-1-mb", "hbm2", "dram")}
    device = hardware.load(A100)
    in_the_time = device.peak("fp16") / (device.memory_bandwidth / 2)
    return Verdict(
        if_all(energies["hbm2"] > multiply, energies["dram"] > multiply, in_the_time > 1),
        multiply=multiply * 1e12,
        read={id: joules * 1e12 for id, joules in energies.items()},
        in_the_time=in_the_time,
    )


def s000_13() -> Verdict:
    chip = hardware.load(A100).level("registers").capacity
    thread = 255 * 4  # at most 255 registers
    few = any(2 * KB <= size <= 10 * KB for size in (thread, REGISTER_FILE, chip))
    return Verdict(
        if_all(few, DEPENDENT_ADDITION == 1),
        thread=thread,
        sm=REGISTER_FILE // KB,
        chip=chip // KB,
        addition=DEPENDENT_ADDITION,
    )


def s000_14() -> Verdict:
    device, multiprocessors = hardware.load(A100), _multiprocessors(A100)
    l1, l2 = device.level("shared").capacity // multiprocessors, device.level("l2").capacity
    sizes = 32 * KB <= l1 <= 64 * KB, 256 * KB <= l2 <= KB**2
    return Verdict(
        if_all(*sizes, _near(_cycles("l1")[0], 4, 2), _near(_cycles("l2")[0], 10, 2)),
        l1=l1 // KB,
        l1_cycles=_listed(_cycles("l1")),
        l2=l2 // KB**2,
        l2_cycles=_listed(_cycles("l2")),
        l2_rate=device.bandwidth("l2") / 1e12,
    )


def s000_15() -> Verdict:
    cards = {name: hardware.load(name) for name in ("a100-40-sxm", "a100-80-sxm", "v100-sxm2")}
    fits = [40e9 <= card.nominal_memory <= 80e9 and _near(card.memory_bandwidth, 900e9) for card in cards.values()]
    return Verdict(
        if_all(any(fits), _near(_cycles("memory")[0], 100, 2)),
        size={id: card.nominal_memory / 1e9 for id, card in cards.items()},
        rate={id: card.memory_bandwidth / 1e9 for id, card in cards.items()},
        cycles=_listed(_cycles("memory")),
    )


def s000_16() -> Verdict:
    """Same order of magnitude: within a factor of 3. Cycles at 3 GHz."""
    chase = experiments.load("pointer_chase", RECORDED)
    cycles = chase["64 MiB"]["measured"] * 3e9
    from_core, from_gpu = chase.device["memory_bandwidth"], hardware.load(A100).link("pcie")
    core = _near(from_core, 100e9, 3) and _near(cycles, 300, 3)
    gpu = _near(from_gpu, 100e9, 3)
    ruling = "holds" if core and gpu else "holds-if" if core else "fails"
    return Verdict(ruling, core=from_core / 1e9, gpu=from_gpu / 1e9, cycles=cycles)


def s000_17() -> Verdict:
    """Flash answers in tens of microseconds; the bus sets the rate."""
    seconds, bus = 100_000 / 3e9, hardware.link("nvme-pcie4").bandwidth
    return Verdict(
        if_all(10e-6 <= seconds <= 100e-6, _near(bus, 7e9)), latency=units.format_seconds(seconds), bus=bus / 1e9
    )


def s004_029() -> Verdict:
    a100, v100 = hardware.load(A100), hardware.load("v100-sxm2")
    return Verdict(
        if_all(_near(a100.level("l2").capacity, 6 * KB**2), a100.bandwidth("l2") >= 5e12),
        a100=a100.level("l2").capacity // KB**2,
        rate=a100.bandwidth("l2") / 1e12,
        v100=v100.level("l2").capacity // KB**2,
    )


def s004_097() -> Verdict:
    sizes = {name: hardware.load(name).level("l2").capacity // KB**2 for name in (A100, "v100-sxm2")}
    return Verdict(if_all(sizes[A100] == 40, sizes["v100-sxm2"] == 6), sizes=sizes)


def s004_031() -> Verdict:
    device = hardware.load(A100)
    shared = device.bandwidth("shared")
    registers = device.peak("fp32") / 2 * 3 * 4  # a multiply-add is 2 FLOP and reads three operands of 4 B
    return Verdict(
        if_all(_near(shared, 20e12), _near(registers, 100e12)), shared=shared / 1e12, registers=registers / 1e12
    )


def s004_038() -> Verdict:
    claimed = {"pcie3-x16": 12, "pcie4-x16": 24}  # GB/s
    bus = {id: hardware.link(id).bandwidth / 1e9 for id in claimed}
    published = {id: hierarchy.pinned_rate(id) / 1e9 for id in claimed}
    agree = [_near(published[id], rate, 1.1) and rate < bus[id] for id, rate in claimed.items()]
    return Verdict(if_all(*agree), bus=bus, published=published)


def s004_039() -> Verdict:
    best = 1e9 / 12e9
    shares = {ms: best / (ms * 1e-3) for ms in (90, 200)}
    exact = round(best * 1e3) == 83, int(100 * shares[90]) == 92, int(100 * shares[200]) == 41
    return Verdict(if_all(*exact), best=units.format_seconds(best), shares=shares)


def s004_103() -> Verdict:
    """The chip of the GA102 whitepaper is in the RTX 3090: has it the A100's cache and memory?"""
    a100, ga102 = hardware.load(A100), hardware.load("rtx-3090")
    return Verdict(
        if_all(_near(ga102.level("l2").capacity, a100.level("l2").capacity)),
        a100=a100.level("l2").capacity // KB**2,
        ga102=ga102.level("l2").capacity // KB**2,
    )
