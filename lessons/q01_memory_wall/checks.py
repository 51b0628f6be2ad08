"""Checks of Q1, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import ceil

from course_lib.teaching.checks.check import EXACT, Check

# ---- q01.turn-used -------------------------------------------------------------------------------


def _used(stride, bytes_per_number, line):
    return bytes_per_number / min(stride * bytes_per_number, line)


def _used_farthest(stride, bytes_per_number, line):
    return bytes_per_number / max(stride * bytes_per_number, line)


def _used_upside_down(stride, bytes_per_number, line):
    return 1 / _used(stride, bytes_per_number, line)


def _draw_used(rng):
    """Numbers that lie nearer together than a line is long, or farther apart."""
    size, line = rng.choice([2, 4, 8]), rng.choice([32, 64, 128])
    stride = rng.choice([rng.randrange(2, line // size), rng.randrange(line // size + 1, 40 * line // size)])
    return stride, size, line


# ---- q01.turn-tokens -----------------------------------------------------------------------------


def _tokens(fetched, used_weights, bytes_per_weight, rate, peak):
    return fetched * bytes_per_weight / rate / (2 * used_weights / peak)


def _tokens_upside_down(fetched, used_weights, bytes_per_weight, rate, peak):
    return 1 / _tokens(fetched, used_weights, bytes_per_weight, rate, peak)


def _tokens_difference(fetched, used_weights, bytes_per_weight, rate, peak):
    return fetched * bytes_per_weight / rate - 2 * used_weights / peak


def _draw_tokens(rng):
    fetched = rng.randrange(10, 400) * 1e9
    peak, rate = rng.randrange(50, 2500) * 1e12, rng.randrange(4, 4000) * 1e9
    return fetched, fetched / rng.randrange(3, 20), rng.choice([0.5, 1, 4]), rate, peak


# ---- q01.turn-rate -------------------------------------------------------------------------------


def _arriving(under_way, latency, line, bandwidth):
    return min(under_way * line / latency, bandwidth)


def _arriving_lines(under_way, latency, line, bandwidth):
    return min(under_way / latency, bandwidth)


def _arriving_one(under_way, latency, line, bandwidth):
    return min(line / latency, bandwidth)


def _arriving_no_roof(under_way, latency, line, bandwidth):
    return under_way * line / latency


def _arriving_larger(under_way, latency, line, bandwidth):
    return max(under_way * line / latency, bandwidth)


def _draw_arriving(rng):
    """Lines under way that are too few for the bandwidth, or more than enough."""
    latency, line, bandwidth = rng.randrange(50, 900) * 1e-9, rng.choice([32, 64, 128]), rng.randrange(20, 2000) * 1e9
    enough = bandwidth * latency / line
    times = rng.uniform(0.1, 0.8) if rng.random() < 0.6 else rng.uniform(1.2, 9)
    return ceil(enough * times) + 1, latency, line, bandwidth


# ---- q01.checkpoint ------------------------------------------------------------------------------


def _checkpoint(params, bytes_per_parameter, rates):
    nbytes = params * bytes_per_parameter
    return {"one after another": sum(nbytes / rate for rate in rates), "in pieces": nbytes / min(rates)}


def _checkpoint_bits(params, bytes_per_parameter, rates):
    return {how: 8 * seconds for how, seconds in _checkpoint(params, bytes_per_parameter, rates).items()}


def _checkpoint_fastest(params, bytes_per_parameter, rates):
    return _checkpoint(params, bytes_per_parameter, rates) | {"in pieces": params * bytes_per_parameter / max(rates)}


def _checkpoint_mean(params, bytes_per_parameter, rates):
    mean = sum(rates) / len(rates)
    return _checkpoint(params, bytes_per_parameter, rates) | {"in pieces": params * bytes_per_parameter / mean}


def _checkpoint_summed_rates(params, bytes_per_parameter, rates):
    return _checkpoint(params, bytes_per_parameter, rates) | {"in pieces": params * bytes_per_parameter / sum(rates)}


def _checkpoint_all_at_once(params, bytes_per_parameter, rates):
    return _checkpoint(params, bytes_per_parameter, rates) | {
        "one after another": params * bytes_per_parameter / sum(rates)
    }


def _checkpoint_each_rate_once(params, bytes_per_parameter, rates):
    once = _checkpoint(params, bytes_per_parameter, sorted(set(rates)))["one after another"]
    return _checkpoint(params, bytes_per_parameter, rates) | {"one after another": once}


def _checkpoint_swapped(params, bytes_per_parameter, rates):
    right = _checkpoint(params, bytes_per_parameter, rates)
    return {"one after another": right["in pieces"], "in pieces": right["one after another"]}


def _draw_checkpoint(rng):
    """Three rates; mostly a fourth place has one of them as well."""
    rates = [rng.randrange(1, 9) * 1e9, rng.randrange(12, 60) * 1e9, rng.randrange(300, 3000) * 1e9]
    if rng.random() < 0.7:
        rates.append(rng.choice(rates))
    rng.shuffle(rates)
    return rng.randrange(1, 400) * 10**9, rng.choice([1, 2, 4]), rates


# ---- q01.knees -----------------------------------------------------------------------------------


def _longest(caches, arrays, bytes_per_number, kib_bytes=1024):
    return [kib * kib_bytes * copies // (arrays * bytes_per_number) for kib, copies in caches]


def _longest_one_copy(caches, arrays, bytes_per_number):
    return _longest([[kib, 1] for kib, _ in caches], arrays, bytes_per_number)


def _longest_thousand(caches, arrays, bytes_per_number):
    return _longest(caches, arrays, bytes_per_number, kib_bytes=1000)


def _longest_rounded_up(caches, arrays, bytes_per_number):
    return [ceil(kib * 1024 * copies / (arrays * bytes_per_number)) for kib, copies in caches]


def _longest_rounded_early(caches, arrays, bytes_per_number):
    return [copies * (kib * 1024 // (arrays * bytes_per_number)) for kib, copies in caches]


def _longest_not_whole(caches, arrays, bytes_per_number):
    return [kib * 1024 * copies / (arrays * bytes_per_number) for kib, copies in caches]


def _longest_all_levels(caches, arrays, bytes_per_number):
    sums = [sum(kib * copies for kib, copies in caches[: n + 1]) for n in range(len(caches))]
    return [kib * 1024 // (arrays * bytes_per_number) for kib in sums]


def _longest_last_once(caches, arrays, bytes_per_number):
    *nearer, [kib, _] = caches
    return _longest([*nearer, [kib, 1]], arrays, bytes_per_number)


def _draw_knees(rng):
    """A second cache for each core or for two, and one last cache or several.

    Whatever is divided first, float32 rounds the lengths down rightly: they are short, and none that has a third, a
    fifth or a seventh left over is near a whole number.
    """
    while True:
        cores, share, last = rng.choice([4, 6, 8, 12]), rng.choice([1, 2]), rng.choice([1, 2, 4])
        l1, l2, l3 = rng.choice([32, 48]), rng.choice([256, 512, 1024, 1280]), 1024 * rng.choice([2, 4, 8, 16, 20])
        caches = [[l1, cores], [l2, cores // share], [l3, last]]
        arrays, size = rng.choice([2, 3, 5, 7]), rng.choice([2, 4, 8])
        whole = arrays > 2 and any(kib * copies % arrays == 0 for kib, copies in caches)
        if max(_longest(caches, arrays, size)) < 2**20 and not whole:
            return caches, arrays, size


# ---- q01.sectors ---------------------------------------------------------------------------------


def _sectors(stride, bytes_per_number, offset, sector=32):
    return len({(offset + lane * stride * bytes_per_number) // sector for lane in range(32)})


def _sectors_of_128(stride, bytes_per_number, offset):
    return _sectors(stride, bytes_per_number, offset, sector=128)


def _sectors_no_offset(stride, bytes_per_number, offset):
    return _sectors(stride, bytes_per_number, 0)


def _sectors_no_stride(stride, bytes_per_number, offset):
    return _sectors(1, bytes_per_number, offset)


def _sectors_of_numbers(stride, bytes_per_number, offset):
    return _sectors(stride, 1, offset)


def _sectors_excess(stride, bytes_per_number, offset):
    return _sectors(stride, bytes_per_number, offset) / bytes_per_number


def _sectors_formula(stride, bytes_per_number, offset):
    return min(32, stride * bytes_per_number)


def _sectors_of_the_stretch(stride, bytes_per_number, offset):
    return stride * bytes_per_number


def _sectors_and_a_carry(stride, bytes_per_number, offset):
    """Right for a narrow stride: the sectors without an offset, and one more if it carries the last number over."""
    reach = 31 * stride * bytes_per_number
    return min(32, reach // 32 + 1) + (offset % 32 + reach % 32 >= 32)


def _sectors_from_zero(stride, bytes_per_number, offset):
    return min(32, ceil((offset + (31 * stride + 1) * bytes_per_number) / 32))


_SECTORS_WRONG = (
    _sectors_of_128,
    _sectors_no_offset,
    _sectors_no_stride,
    _sectors_of_numbers,
    _sectors_excess,
    _sectors_formula,
    _sectors_of_the_stretch,
    _sectors_from_zero,
)


def _draw_sectors(rng):
    """A draw in which each of those slips shows; now and then a stride so wide that each number has its own sector."""
    wide = rng.random() < 0.4
    while True:
        size = rng.choice([2, 4, 8])
        if wide:
            stride, offset = rng.randrange(32 // size + 1, 40), size * rng.randrange(1, 128 // size)
            if _sectors_and_a_carry(stride, size, offset) > 32:
                return stride, size, offset
            continue
        stride, offset = rng.randrange(2, 16), size * rng.randrange(32 // size, 128 // size)
        right = _sectors(stride, size, offset)
        if all(wrong(stride, size, offset) != right for wrong in _SECTORS_WRONG):
            return stride, size, offset


# ---- q01.transpose -------------------------------------------------------------------------------


def _gain(bytes_per_number, line, tile):
    return (bytes_per_number / line + 1) * tile / (2 * ceil(tile * bytes_per_number / line))


def _gain_any_tile(bytes_per_number, line, tile):
    return (bytes_per_number / line + 1) * line / (2 * bytes_per_number)


def _gain_reading_unharmed(bytes_per_number, line, tile):
    share = bytes_per_number / line
    return (share + 1) / (share + ceil(tile * bytes_per_number / line) / tile)


def _draw_transpose(rng):
    size, line = rng.choice([1, 2, 4]), rng.choice([64, 128])
    if rng.random() < 0.25:  # a tile of one line, or of several
        return size, line, line // size * rng.choice([1, 2, 4])
    return size, line, rng.choice([2, 4, 8])


# ---- q01.report ----------------------------------------------------------------------------------


def _report(numbers, bytes_per_number, seconds, cache_bytes, arrays=3, giga=1e9, of=3):
    """arrays: counted as moved. giga: bytes of a GB. of: arrays that have to fit into the cache."""
    size = numbers * bytes_per_number
    level = "memory" if of * size > cache_bytes else "cache"
    return {"bytes": arrays * size, "gb_per_s": arrays * size / seconds / giga, "level": level}


def _report_as_given(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, arrays=2, giga=2**30, of=1)


def _report_two_arrays(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, arrays=2)


def _report_two_arrays_fit(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, of=2)


def _report_gib(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, giga=2**30)


def _report_one_array_fits(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, of=1)


def _report_four_arrays(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, arrays=4)


def _report_four_arrays_fit(numbers, bytes_per_number, seconds, cache_bytes):
    return _report(numbers, bytes_per_number, seconds, cache_bytes, arrays=4, of=4)


def _draw_report(rng):
    """Mostly the cache holds two of the arrays and not three; else it holds all three, now and then exactly."""
    numbers, size = rng.randrange(100_000, 9_000_000), rng.choice([2, 4, 8])
    arrays = rng.uniform(2.1, 2.99) if rng.random() < 0.75 else rng.choice([3, rng.uniform(3.1, 3.9)])
    cache = int(numbers * size * arrays)
    return numbers, size, 3 * numbers * size / (rng.randrange(20, 300) * 1e9), cache


CHECKS = [
    Check(
        id="q01.turn-used",
        points=0,
        signature="wanted_share(stride, bytes_per_number, line)",
        public=[
            (2, 4, 64),
            (12, 4, 64),
            (16, 4, 64),
            (50, 4, 64),
            (5, 8, 128),
            (100, 2, 32),
            (20, 4, 128),  # a line of 128 bytes: more than 64 of them apart, or 16 numbers, and still one line
            (5, 8, 32),  # a line of 32: less than 64 bytes apart, or 16 numbers, and no longer one line
            (1, 8, 64),
        ],
        generate=_draw_used,
        reference=_used,
        wrong={
            "one in stride": lambda stride, bytes_per_number, line: 1 / stride,
            "always a line": lambda stride, bytes_per_number, line: bytes_per_number / line,
            "farthest": _used_farthest,
            "numbers for bytes": lambda stride, bytes_per_number, line: 1 / min(stride * bytes_per_number, line),
            "upside down": _used_upside_down,
        },
    ),
    Check(
        id="q01.turn-tokens",
        points=0,
        signature="enough_tokens(fetched, used_weights, bytes_per_weight, rate, peak)",
        public=[
            (8e9, 8e9, 2, 63e9, 989e12),
            (47e9, 13e9, 2, 63e9, 989e12),
            (70e9, 70e9, 0.5, 1555e9, 312e12),
            (8e9, 8e9, 2, 4e12, 1e12),
        ],
        generate=_draw_tokens,
        reference=_tokens,
        wrong={
            "one FLOP": lambda *asked: 2 * _tokens(*asked),
            "all weights compute": lambda fetched, used_weights, *rest: _tokens(fetched, fetched, *rest),
            "upside down": _tokens_upside_down,
            "difference": _tokens_difference,
        },
    ),
    Check(
        id="q01.turn-rate",
        points=0,
        signature="arriving(under_way, latency, line, bandwidth)",
        public=[
            (1, 175e-9, 64, 44e9),
            (12, 100e-9, 64, 44e9),
            (100, 175e-9, 64, 44e9),
            (500, 175e-9, 64, 44e9),
            (9000, 4e-7, 32, 1.5e12),
        ],
        generate=_draw_arriving,
        reference=_arriving,
        wrong={
            "no roof": _arriving_no_roof,
            "one at a time": _arriving_one,
            "lines": _arriving_lines,
            "always the bandwidth": lambda under_way, latency, line, bandwidth: bandwidth,
            "larger": _arriving_larger,
        },
    ),
    Check(
        id="q01.checkpoint",
        points=2,
        signature="load_seconds(params, bytes_per_parameter, rates)",
        public=[
            (70_000_000_000, 2, [7e9, 24e9, 1555e9]),
            (7_000_000_000, 4, [3.35e12, 63e9, 2.5e9]),
            (8_000_000_000, 1, [63e9, 12e9, 3.35e12, 5e9]),
            (13_000_000_000, 2, [25e9, 7e9, 25e9]),
            (30_000_000_000, 2, [40e9, 25e9, 1555e9, 12e9, 3e9]),
            (13_000_000_000, 2, [6e9, 6e9, 25e9]),  # two slowest places, one behind the other
            (2_000_000_000, 4, [16e9]),
        ],
        generate=_draw_checkpoint,
        reference=_checkpoint,
        wrong={
            "bits": _checkpoint_bits,
            "the fastest": _checkpoint_fastest,
            "the mean rate": _checkpoint_mean,
            "the sum of the rates": _checkpoint_summed_rates,
            "the sum of the rates, as a whole": _checkpoint_all_at_once,
            "each rate once": _checkpoint_each_rate_once,
            "bytes forgotten": lambda params, bytes_per_parameter, rates: _checkpoint(params, 1, rates),
            "swapped": _checkpoint_swapped,
        },
    ),
    Check(
        id="q01.knees",
        points=3,
        signature="longest_arrays(caches, arrays, bytes_per_number)",
        public=[
            ([[48, 2], [1024, 2], [32768, 1]], 3, 4),
            ([[32, 8], [512, 4], [16384, 2]], 3, 8),
            ([[64, 4], [4096, 1]], 5, 2),
            ([[32, 12], [1280, 6], [4096, 2]], 7, 2),
            ([[32, 4], [1280, 4], [2048, 2]], 2, 4),  # the last level holds less than the one before
            ([[32, 8], [512, 8], [4096, 1]], 7, 8),  # two levels hold as much
            ([[2048, 4]], 3, 8),
        ],
        generate=_draw_knees,
        reference=_longest,
        same=EXACT,
        wrong={
            "one copy": _longest_one_copy,
            "one array": lambda caches, arrays, bytes_per_number: _longest(caches, 1, bytes_per_number),
            "KB for KiB": _longest_thousand,
            "in bytes": lambda caches, arrays, bytes_per_number: _longest(caches, arrays, 1),
            "rounded up": _longest_rounded_up,
            "rounded early": _longest_rounded_early,
            "not whole": _longest_not_whole,
            "levels added up": _longest_all_levels,
            "the last level once": _longest_last_once,
        },
    ),
    Check(
        id="q01.sectors",
        points=3,
        signature="sectors_per_request(stride, bytes_per_number, offset)",
        public=[
            (1, 4, 0),
            (1, 4, 16),
            (2, 4, 0),
            (32, 4, 0),
            (0, 4, 8),
            (3, 8, 8),
            (5, 2, 30),
            (1, 4, 64),
            (20, 1, 3),
            (1, 4, 4),  # the last number begins a sector
            (5, 8, 8),  # each number in a sector of its own, and an offset
        ],
        generate=_draw_sectors,
        reference=_sectors,
        same=EXACT,
        wrong={
            "lines of 128": _sectors_of_128,
            "no offset": _sectors_no_offset,
            "no stride": _sectors_no_stride,
            "numbers for bytes": _sectors_of_numbers,
            "the short formula": _sectors_formula,
            "the whole stretch": _sectors_of_the_stretch,
            "from the first sector": _sectors_from_zero,
            "one more than threads": _sectors_and_a_carry,
            "relative to the ideal": _sectors_excess,
        },
    ),
    Check(
        id="q01.transpose",
        points=4,
        signature="transpose_gain(bytes_per_number, line, tile)",
        public=[(4, 64, 16), (4, 64, 4), (4, 64, 64), (8, 64, 32), (2, 128, 8), (4, 64, 512), (1, 64, 1)],
        generate=_draw_transpose,
        reference=_gain,
        wrong={
            "writes only": lambda bytes_per_number, line, tile: tile / ceil(tile * bytes_per_number / line),
            "any tile": _gain_any_tile,
            "reading unharmed": _gain_reading_unharmed,
            "numbers of a line": lambda bytes_per_number, line, tile: line / bytes_per_number,
            "one matrix in tiles": lambda bytes_per_number, line, tile: 2 * _gain(bytes_per_number, line, tile),
            "upside down": lambda bytes_per_number, line, tile: 1 / _gain(bytes_per_number, line, tile),
        },
    ),
    Check(
        id="q01.report",
        points=3,
        signature="bandwidth_report(numbers, bytes_per_number, seconds, cache_bytes)",
        public=[
            (4_000_000, 4, 1e-3, 32 * 2**20),
            (67_108_864, 4, 22e-3, 32 * 2**20),
            (4_000_000, 4, 1e-3, 20 * 2**20),
            (100_000, 2, 4e-6, 2**20),
            (1_048_576, 4, 1e-4, 12 * 2**20),
            (1_048_576, 4, 1e-4, 12 * 2**20 - 64),
            (2_000_000, 4, 1e-3, 20 * 2**20),
            (2_000_000, 4, 1e-3, 32 * 2**20),
            (1_000_000, 4, 1e-3, 3 * 4_000_000 - 1),  # one byte too few
            (1_000_000, 4, 7e-3, 2**20),  # not whole in any decimal
        ],
        generate=_draw_report,
        reference=_report,
        wrong={
            "as given": _report_as_given,
            "two arrays": _report_two_arrays,
            "four arrays": _report_four_arrays,
            "four arrays, four fit": _report_four_arrays_fit,
            "GiB": _report_gib,
            "one array fits": _report_one_array_fits,
            "two arrays fit": _report_two_arrays_fit,
        },
    ),
]
