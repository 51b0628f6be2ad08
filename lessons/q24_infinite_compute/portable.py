"""One program for a matrix product on several cards: what it computes is the same, how it is cut into tiles is not."""

from course_lib.accounting import hardware, roofline
from course_lib.accounting.hardware import multiprocessors

CARDS = ("v100-sxm2", "a100-40-sxm", "h100-sxm")
SIDES = (32, 64, 128, 256)  # of a tile
DEPTH, STAGES, SIZE = 64, 2, 2  # columns of the operands at a time, such pieces held at once, bytes of a number


def fits(tile, card: str) -> bool:
    """Whether a multiprocessor holds the sums of a tile (fp32, in half of its registers) and pieces of both operands."""
    rows, columns = tile
    one = multiprocessors.one(card)
    sums, pieces = rows * columns * 4, (rows + columns) * DEPTH * STAGES * SIZE
    return sums <= one.registers * 4 / 2 and pieces <= one.shared


def tiles(card: str) -> list[tuple[int, int]]:
    """The tiles that fit: the space that a search is given."""
    return [(rows, columns) for rows in SIDES for columns in SIDES if fits((rows, columns), card)]


def seconds(tile, card: str, m: int, k: int, n: int) -> float:
    """s of [m, k] @ [k, n], 16 bits, in such tiles: the longest of three times that overlap.

    Arithmetic at the peak, in full waves of tiles; what the tiles read and write through the L2 cache; and each matrix
    once from main memory.
    """
    device, (rows, columns) = hardware.load(card), tile
    useful = multiprocessors.waves(m, n, tile_m=rows, tile_n=columns, device=card).useful
    through = int(roofline.tiled_matmul_bytes(m, k, n, tile_m=rows, tile_n=columns, dtype="fp16"))
    once = roofline.matmul(m, k, n, dtype="fp16")
    computing = once.flops / useful / device.peak("fp16")
    return max(computing, through / device.bandwidth("l2"), once.bytes / device.memory_bandwidth)


def best(card: str, m: int, k: int, n: int) -> tuple[int, int]:
    """The tile that takes least time, found by trying all of them."""
    return min(tiles(card), key=lambda tile: seconds(tile, card, m, k, n))


def efficiency(tile, card: str, *shape: int) -> float:
    """Time of the best tile over that of this one; 0 where it does not fit."""
    return seconds(best(card, *shape), card, *shape) / seconds(tile, card, *shape) if fits(tile, card) else 0.0


def portability(tile, shape, cards=CARDS) -> float:
    """Harmonic mean of the efficiency over the cards; 0 if it does not run on one (Pennycook, Sewall, Lee 2016)."""
    found = [efficiency(tile, card, *shape) for card in cards]
    return len(found) / sum(1 / each for each in found) if all(found) else 0.0


def split_seconds(parts: int, tile, card: str, m: int, k: int, n: int) -> float:
    """As `seconds`, with the k products of each sum shared among so many tiles, whose sums are then added (fp32)."""
    device, (rows, columns) = hardware.load(card), tile
    useful = multiprocessors.waves(m, n * parts, tile_m=rows, tile_n=columns, device=card).useful
    through = parts * int(roofline.tiled_matmul_bytes(m, k // parts, n, tile_m=rows, tile_n=columns, dtype="fp16"))
    once = roofline.matmul(m, k, n, dtype="fp16")
    computing = once.flops / useful / device.peak("fp16")
    adding = (parts > 1) * (2 * parts * m * n * 4) / device.bandwidth("l2")
    return max(computing, through / device.bandwidth("l2"), once.bytes / device.memory_bandwidth) + adding


def product(torch, a, b, tile):
    """a @ b, tile by tile: the program that all cards share."""
    rows, columns = tile
    result = a.new_empty(len(a), b.shape[1])
    for top in range(0, len(a), rows):
        for left in range(0, b.shape[1], columns):
            result[top : top + rows, left : left + columns] = a[top : top + rows] @ b[:, left : left + columns]
    return result
