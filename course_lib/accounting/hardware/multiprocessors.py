"""How a GPU deals work out to its multiprocessors (SMs): tiles in waves, blocks that fit, warps that take turns.

A small model of NVIDIA's execution model. A kernel's blocks are dealt to the SMs; each SM holds as many as its
registers, shared memory and warp slots allow; each of its four schedulers issues one instruction of one ready warp (32
threads) in a cycle. In a matrix product each block computes one tile of the result.
"""

from collections import deque
from dataclasses import dataclass, field

from course_lib.accounting import units
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import ceil, symbol
from course_lib.accounting.hardware.devices import resolve, table

WARP = 32  # threads that execute one instruction together
REGISTER_FILE = 256 * 1024  # B of one SM, on every device of the catalogue that states its registers


@dataclass(frozen=True)
class Multiprocessor:
    """What one SM has: slots for warps and blocks, 32-bit registers, bytes of shared memory for blocks, and the
    multiply-adds that it starts in a clock, on its fp32 lanes and (16-bit, dense) on its tensor cores.
    source: (title or url, date).
    """

    warps: int
    blocks: int
    registers: int
    shared: int
    fp32: int
    tensor: int
    source: tuple[str, str] = field(compare=False, repr=False)


def one(device) -> Multiprocessor:
    """The SM of a device (an id or a `hardware.Device`); ValueError where it is not described here."""
    known = {id: entry for entry in table("multiprocessor").values() for id in entry["devices"]}
    entry = dict(known[units.choice(resolve(device).id, "device", known)])
    del entry["devices"]
    return Multiprocessor(**entry | {"source": tuple(entry["source"])})


def count(device) -> int:
    """SMs of a device: its registers over those of one SM. ValueError where its registers are not known."""
    return resolve(device).level("registers").capacity // REGISTER_FILE


@dataclass(frozen=True, repr=False)
class Waves(Explained):
    """A result in tiles, dealt to the SMs; made by `waves`."""

    tiles: int
    slots: int  # tiles at a time
    waves: int
    last: int  # tiles in the last wave
    useful: float  # share of the arithmetic of all slots in all waves that is part of the m × n result


def waves(m, n, *, tile_m, tile_n, device, resident=1) -> Waves:
    """The m × n result of a matrix product in tiles of tile_m × tile_n, `resident` of them on each SM at a time.

    A tile takes as long at the edge of the result as inside it, and a wave as long as one tile, however few slots it
    fills. So the time is that of `waves` full waves, and `useful` is the share of the peak that is left at best.
    """
    m = symbol("m", units.count(m, "m"), "rows of the result")
    n = symbol("n", units.count(n, "n"), "columns of the result")
    r = symbol("r", units.count(tile_m, "tile_m"), "rows of a tile")
    c = symbol("c", units.count(tile_n, "tile_n"), "columns of a tile")
    S = symbol("S", units.count(resident, "resident") * count(device), "tiles that the device works on at a time")
    tiles = symbol("tiles", ceil(m, r) * ceil(n, c))
    rounds = symbol("waves", ceil(tiles, S))
    return Waves(
        tiles=tiles,
        slots=S.value,
        waves=rounds,
        last=tiles - (rounds - 1) * S,
        useful=m * n / (rounds * S * r * c),
        assumptions=("All tiles take the same time, and a wave starts when the one before has finished.",),
        omitted=("Kernels that split k or deal tiles out unevenly (split-k, stream-k) to fill the last wave.",),
    )


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps that one SM holds at a time, the share of its warp slots, and what runs out first."""

    blocks: int
    warps: int
    share: float
    limit: str  # "warps", "registers", "shared memory" or "blocks"


def occupancy(*, threads, registers, shared, device) -> Occupancy:
    """How many blocks of `threads` threads fit on one SM, with `registers` a thread and `shared` B a block.

    Registers are handed out to whole warps, 256 at a time. ValueError where not one block fits.
    """
    sm = one(device)
    warps = -(-units.count(threads, "threads") // WARP)
    per_warp = -(-units.count(registers, "registers") * WARP // 256) * 256
    shared = units.count(shared, "shared", minimum=0)
    fit = {
        "warps": sm.warps // warps,
        "registers": sm.registers // per_warp // warps,
        "blocks": sm.blocks,
    }
    if shared:
        fit["shared memory"] = sm.shared // shared
    limit = min(fit, key=fit.get)
    if not fit[limit]:
        raise ValueError(f"Not one block of {threads} threads fits on an SM of {device}: too little {limit}.")
    return Occupancy(fit[limit], fit[limit] * warps, fit[limit] * warps / sm.warps, limit)


def issue_share(warps, independent=1, *, latency, cycles=10_000) -> float:
    """Share of the cycles in which a scheduler finds an instruction to issue, simulated cycle by cycle.

    Each of its `warps` warps has `independent` chains of instructions; in a chain each waits for the result of the one
    before, `latency` cycles.
    """
    chains = units.count(warps, "warps") * units.count(independent, "independent")
    latency, cycles = units.count(latency, "latency"), units.count(cycles, "cycles")
    ready, issued = deque([0] * chains), 0  # the cycle from which each chain may go on, earliest first
    for cycle in range(cycles):
        if ready[0] <= cycle:
            ready.popleft()
            ready.append(cycle + latency)
            issued += 1
    return issued / cycles
