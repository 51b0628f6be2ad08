"""Checks of Q22, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import ceil, exp, floor, log

from course_lib.teaching.checks.check import Check, Close

# ---- the lines of the lesson ---------------------------------------------------------------------


def _rate(weights, bits, cache_bytes, bandwidth):
    return bandwidth / (weights * bits / 8 + cache_bytes)


def _joules(watts, bandwidth, weight_bytes, cache_bytes, readers):
    return watts / bandwidth * (weight_bytes / readers + cache_bytes)


def _rise(seconds, watts, resistance, capacity):
    return watts * resistance * (1 - exp(-seconds / (resistance * capacity)))


# ---- q22.weight-bytes ----------------------------------------------------------------------------


def _weight_bytes(params, bits, group, extra_bits):
    return (params * bits + ceil(params / group) * extra_bits) / 8


def _draw_weights(rng):
    """Two draws of three have a last group that is not full: of one weight, or half full."""
    group = rng.choice([16, 32, 64, 128, 256])
    params = group * rng.randrange(1, 40) + rng.choice([0, 1, group // 2])
    return params, rng.choice([2, 3, 4, 5, 6, 8]), group, rng.choice([8, 16, 20, 32])


# ---- q22.peak-sram -------------------------------------------------------------------------------


def _sram(layers):
    return max(
        read + (0 if in_place and written <= read else written) + kept for read, written, kept, in_place in layers
    )


def _sram_of(rule):
    return lambda layers: max(rule(*layer) for layer in layers)


def _always_room(read, written, kept, in_place):
    return read + written + kept


def _grows_free(read, written, kept, in_place):
    return read + (0 if in_place else written) + kept


SRAM_WRONG = {
    "sum of all": lambda layers: sum(read + written + kept for read, written, kept, _ in layers),
    "largest tensor": _sram_of(lambda read, written, kept, in_place: max(read, written, kept)),
    "nothing kept": _sram_of(
        lambda read, written, kept, in_place: read + (0 if in_place and written <= read else written)
    ),
    "never in place": _sram_of(_always_room),
    "grows in place": _sram_of(_grows_free),
    "always in place": _sram_of(
        lambda read, written, kept, in_place: read + (0 if written <= read else written) + kept
    ),
}


def _draw_layers(rng):
    """Three to six layers, and one of them often again, drawn until the slips differ from the right answer: in half of
    the draws the worst layer grows and may not overwrite for that reason, in the others it shrinks and may not because
    it is not allowed to.
    """
    spared = rng.choice(["grows in place", "always in place"])
    while True:
        layers = []
        for _ in range(rng.randrange(3, 7)):
            read = rng.randrange(1, 64) * 1024
            written = read if rng.random() < 0.3 else rng.randrange(1, 64) * 1024
            layers.append([read, written, rng.choice([0, 0, rng.randrange(1, 40) * 1024]), rng.random() < 0.5])
        layers += rng.sample(layers, rng.randrange(2))
        right = _sram(layers)
        if all(slip(layers) != right for name, slip in SRAM_WRONG.items() if name != spared):
            return (layers,)


# ---- q22.throttle-seconds ------------------------------------------------------------------------


def _throttle(watts, resistance, capacity, allowed):
    settles = watts * resistance
    return -resistance * capacity * log(1 - allowed / settles) if settles > allowed else None


def _at_the_limit(watts, resistance, capacity, allowed):
    """Counts as slowed what settles exactly at the limit; after a very long time."""
    settles = watts * resistance
    return (
        None if settles < allowed else 1e12 if settles == allowed else _throttle(watts, resistance, capacity, allowed)
    )


def _five_constants(watts, resistance, capacity, allowed):
    """Takes for settled what has had five time constants."""
    found = _throttle(watts, resistance, capacity, allowed)
    return found if found is not None and found < 5 * resistance * capacity else None


WARM, EDGE = "it gets too warm", "at the limit, near it, or never there"


def _draw_throttle(rng, group):
    """Whole numbers of halves. At the limit or near it half get too warm, after more than six time constants."""
    watts, resistance, capacity = rng.randrange(2, 40) / 2, rng.randrange(2, 30) / 2, rng.randrange(20, 400)
    shares = [0.125, 0.25, 0.375, 0.625, 0.75, 0.875, 0.96875] if group == WARM else [511 / 512, 1]
    return watts, resistance, capacity, watts * resistance * rng.choice(shares)


# ---- q22.tokens-written --------------------------------------------------------------------------


def _written(seconds, watts, sustained, limit, joules):
    fast = min(seconds, seconds if limit is None else limit)
    return (watts * fast + sustained * (seconds - fast)) / joules


def _unlimited(seconds, watts, sustained, limit, joules):
    return watts * seconds / joules


def _zero_is_never(seconds, watts, sustained, limit, joules):
    return _written(seconds, watts, sustained, limit or None, joules)


def _limit_always(seconds, watts, sustained, limit, joules):
    """As if it were always written beyond the limit."""
    fast = seconds if limit is None else limit
    return (watts * fast + sustained * max(seconds - fast, 0)) / joules


def _stops(seconds, watts, sustained, limit, joules):
    return watts * (seconds if limit is None else min(seconds, limit)) / joules


def _slow_all(seconds, watts, sustained, limit, joules):
    slow = limit is not None and seconds > limit
    return (sustained if slow else watts) * seconds / joules


def _times_joules(seconds, watts, sustained, limit, joules):
    return _written(seconds, watts, sustained, limit, joules) * joules * joules


ON_THE_WAY, HOT, NEVER = "slowed on the way", "hot from the beginning", "not slowed before the end"


def _draw_written(rng, group):
    """Limits before, at and after the end, none, and from the beginning on; always a part of a token, and not too many
    tokens for it to be seen.
    """
    while True:
        seconds, watts = rng.randrange(4, 400), rng.randrange(8, 40) / 2
        limits = {
            ON_THE_WAY: [seconds / 4, seconds / 2, seconds * 0.75, seconds / 8],
            HOT: [0],
            NEVER: [None] * 4 + [seconds] + [seconds * times for times in (1.25, 1.5, 2, 3, 4, 8)],
        }
        drawn = seconds, watts, rng.randrange(1, 7) / 2, rng.choice(limits[group]), rng.randrange(3, 60) / 32
        tokens = _written(*drawn)
        if abs(tokens - round(tokens)) > 5e-5 * tokens:
            return drawn


# ---- q22.readers-for-energy ----------------------------------------------------------------------


def _room(allowed, watts, cache_bytes, bandwidth):
    return allowed * bandwidth / watts - cache_bytes


def _readers(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    room = _room(allowed, watts, cache_bytes, bandwidth)
    return ceil(weight_bytes / room) if room > 0 else None


def _readers_down(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    room = _room(allowed, watts, cache_bytes, bandwidth)
    return max(floor(weight_bytes / room), 1) if room > 0 else None


def _readers_next(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    room = _room(allowed, watts, cache_bytes, bandwidth)
    return floor(weight_bytes / room) + 1 if room > 0 else None


def _readers_any(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    return ceil(weight_bytes / (allowed * bandwidth / watts))


def _readers_once(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    """As if the KV cache were shared too."""
    return ceil((weight_bytes + cache_bytes) / (allowed * bandwidth / watts))


def _readers_some(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    """Tries no more than a thousand."""
    found = _readers(allowed, watts, weight_bytes, cache_bytes, bandwidth)
    return found if found is not None and found <= 1000 else None


def _readers_negative(allowed, watts, weight_bytes, cache_bytes, bandwidth):
    room = _room(allowed, watts, cache_bytes, bandwidth)
    return ceil(weight_bytes / room) if room else None


ENOUGH, NONE = "some number of readers is enough", "no number is enough, or none seems to be"


def _draw_readers(rng, group):
    """MiB. In half of the draws with an answer a whole number of readers is met exactly, and all are powers of two, the
    cache as large as the room: then no unit and no order of the arithmetic misses it. In most draws many readers.
    """
    cache, watts, bandwidth = rng.randrange(4, 300), rng.choice([128, 256, 512, 1024]), 2 ** rng.randrange(38, 43)
    if group == NONE:  # nearly half have an answer, or whoever returns nothing at all would be right
        weights = rng.randrange(2_000, 20_000) + 1 / 16
        kind = rng.random()
        if kind < 0.05:  # exactly nothing is left
            return _in_mib(2 ** rng.randrange(2, 9), 0, weights, watts, bandwidth)
        room = -rng.randrange(1, cache) if kind < 0.48 else rng.choice([1 / 8, 1 / 4, 1 / 2, 1])
        return _in_mib(cache, room, weights, watts, bandwidth)
    many = rng.random() < 0.6
    if rng.random() < 0.46:
        room = 2.0 ** rng.randrange(-3, 0) if many else 2 ** rng.randrange(3, 9)
        readers = 2 ** (rng.randrange(13, 17) if many else rng.randrange(0, 6))
        return _in_mib(room, room, readers * room, watts, bandwidth)
    room, readers = 4 * rng.randrange(2, 100), rng.choice([1, 1, *range(2, 40)])
    if many:
        readers, room, cache = rng.randrange(5_000, 50_000), rng.choice([1 / 8, 1 / 2]), rng.choice([1 / 8, 1 / 2])
    return _in_mib(cache, room, (readers - 3 / 4) * room, watts, bandwidth)


def _in_mib(cache, room, weights, watts=512, bandwidth=2**41):
    """Inputs from MiB: room is what is allowed for each reader's share of the weights."""
    unit = 2**20
    return (cache + room) * unit * watts / bandwidth, watts, int(weights * unit), int(cache * unit), bandwidth


CHECKS = [
    Check(
        id="q22.turn-rate",
        points=0,
        signature="tokens_per_second(weights, bits, cache_bytes, bandwidth)",
        public=[
            (7.5e9, 4, 6.7e7, 51.2e9),
            (1.03e9, 8, 5e8, 17.1e9),
            (7.5e9, 16, 1.3e8, 3.35e12),
            (3e9, 4.5, 0, 136e9),
            (3, 2.5, 1, 9),
        ],
        generate=lambda rng: (
            rng.randrange(5, 700) * 1e8,
            rng.choice([2, 3, 4.5, 6, 8, 16]),
            rng.randrange(5, 60) * 1e7,
            rng.randrange(10, 900) * 1e9,
        ),
        reference=_rate,
        same=Close(rel=1e-5),
        wrong={
            "bits as bytes": lambda weights, bits, cache_bytes, bandwidth: bandwidth / (weights * bits + cache_bytes),
            "no cache": lambda weights, bits, cache_bytes, bandwidth: bandwidth / (weights * bits / 8),
            "seconds": lambda weights, bits, cache_bytes, bandwidth: (weights * bits / 8 + cache_bytes) / bandwidth,
            "cache in bits": lambda weights, bits, cache_bytes, bandwidth: (
                bandwidth / ((weights * bits + cache_bytes) / 8)
            ),
            "two for each": lambda weights, bits, cache_bytes, bandwidth: (
                bandwidth / (2 * weights * bits / 8 + cache_bytes)
            ),
        },
    ),
    Check(
        id="q22.turn-joules",
        points=0,
        signature="joules_a_token(watts, bandwidth, weight_bytes, cache_bytes, readers)",
        public=[
            (8, 51.2e9, 3.75e9, 6.7e7, 1),
            (770, 3.35e12, 15e9, 1.34e8, 64),
            (770, 3.35e12, 15e9, 1.34e8, 1),
            (30, 2e11, 4e9, 1e9, 4),
            (10, 5, 7, 2, 2),
        ],
        generate=lambda rng: (
            rng.randrange(2, 900),
            rng.randrange(2, 300) * 1e10,
            rng.randrange(5, 400) * 1e8,
            rng.randrange(20, 90) * 1e7,
            rng.randrange(2, 100),
        ),
        reference=_joules,
        same=Close(rel=1e-5),
        wrong={
            "the whole step": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                watts / bandwidth * (weight_bytes + readers * cache_bytes)
            ),
            "no cache": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                watts / bandwidth * weight_bytes / readers
            ),
            "cache shared": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                watts / bandwidth * (weight_bytes + cache_bytes) / readers
            ),
            "nobody shares": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                watts / bandwidth * (weight_bytes + cache_bytes)
            ),
            "seconds": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                (weight_bytes / readers + cache_bytes) / bandwidth
            ),
            "upside down": lambda watts, bandwidth, weight_bytes, cache_bytes, readers: (
                bandwidth / watts / (weight_bytes / readers + cache_bytes)
            ),
        },
    ),
    Check(
        id="q22.turn-rise",
        points=0,
        signature="rise(seconds, watts, resistance, capacity)",
        public=[(180, 8, 8, 60), (480, 8, 8, 60), (60, 4, 10, 30), (3000, 2.5, 8, 60), (0, 8, 8, 60)],
        generate=lambda rng: (
            rng.randrange(20, 1500),
            rng.randrange(4, 40) / 2,
            rng.randrange(4, 24) / 2,
            rng.randrange(30, 200),
        ),
        reference=_rise,
        same=Close(rel=1e-4, abs=1e-6),
        wrong={
            "where it settles": lambda seconds, watts, resistance, capacity: watts * resistance,
            "what is left": lambda seconds, watts, resistance, capacity: (
                watts * resistance * exp(-seconds / (resistance * capacity))
            ),
            "nothing lost": lambda seconds, watts, resistance, capacity: watts * seconds / capacity,
            "no resistance": lambda seconds, watts, resistance, capacity: (
                watts * (1 - exp(-seconds / (resistance * capacity)))
            ),
        },
    ),
    Check(
        id="q22.weight-bytes",
        points=1,
        signature="weight_bytes(params, bits, group, extra_bits)",
        public=[
            (1024, 4, 32, 16),
            (8_000_000_000, 4, 128, 20),
            (8193, 8, 4096, 32),
            (48, 3, 16, 8),
            (17, 3, 16, 20),
            (5, 4, 32, 20),
            (31, 5, 16, 20),
        ],
        generate=_draw_weights,
        reference=_weight_bytes,
        same=Close(rel=1e-6),
        wrong={
            "no scales": lambda params, bits, group, extra_bits: params * bits / 8,
            "a scale each": lambda params, bits, group, extra_bits: params * (bits + extra_bits) / 8,
            "bits": lambda params, bits, group, extra_bits: params * bits + ceil(params / group) * extra_bits,
            "scales as bytes": lambda params, bits, group, extra_bits: (
                params * bits / 8 + ceil(params / group) * extra_bits
            ),
            "one scale": lambda params, bits, group, extra_bits: (params * bits + extra_bits) / 8,
            "full groups only": lambda params, bits, group, extra_bits: (
                (params * bits + params // group * extra_bits) / 8
            ),
            "shares of a group": lambda params, bits, group, extra_bits: params * (bits + extra_bits / group) / 8,
        },
    ),
    Check(
        id="q22.peak-sram",
        points=2,
        signature="peak_sram(layers)",
        public=[
            ([[200_704, 1_204_224, 0, False], [1_204_224, 301_056, 0, True], [301_056, 75_264, 0, False]],),
            ([[60, 60, 0, False], [60, 60, 60, False], [120, 10, 0, False]],),
            ([[40, 90, 0, True], [90, 90, 0, True], [30, 20, 10, False]],),
            ([[80, 80, 30, True], [70, 20, 0, False], [10, 60, 10, False]],),
            ([[7, 5, 0, False]],),
            ([[10, 20, 0, False], [20, 20, 15, True], [20, 30, 0, False]],),
            ([[50, 20, 45, True], [60, 20, 0, False]],),
            ([[40, 41, 0, True], [50, 20, 0, False]],),
            ([[20, 6, 0, False], [8, 4, 0, False], [10, 12, 15, True]],),
            ([[20, 12, 5, False], [12, 12, 20, False], [12, 12, 20, False], [30, 4, 0, True]],),
        ],
        generate=_draw_layers,
        reference=_sram,
        wrong=SRAM_WRONG,
    ),
    Check(
        id="q22.throttle-seconds",
        points=2,
        signature="throttle_seconds(watts, resistance, capacity, allowed)",
        groups={WARM: 1, EDGE: 1},
        public={
            WARM: [(8, 8, 60, 20), (4, 8, 60, 20), (6, 9, 50, 25), (0.5, 0.5, 20.5, 0.125)],
            EDGE: [
                (2, 8, 60, 20),
                (2.5, 8, 60, 20),
                (8, 8, 60, 62),
                (3, 5, 100, 16),
                (8, 8, 3000, 63.998046875),
                (1.5, 5.5, 100.5, 8.125),
                (2.5, 3.5, 100, 8.875),
            ],
        },
        generate=_draw_throttle,
        reference=_throttle,
        same=Close(rel=1e-4),
        wrong={
            "nothing lost": lambda watts, resistance, capacity, allowed: capacity * allowed / watts,
            "as good as settled": _five_constants,
            "time constant": lambda watts, resistance, capacity, allowed: (
                resistance * capacity if watts * resistance > allowed else None
            ),
            "at the limit": _at_the_limit,
            "upside down": lambda watts, resistance, capacity, allowed: (
                -resistance * capacity * log(allowed / (watts * resistance)) if watts * resistance > allowed else None
            ),
            "power against kelvin": lambda watts, resistance, capacity, allowed: (
                -resistance * capacity * log(1 - allowed / watts) if watts > allowed else None
            ),
        },
    ),
    Check(
        id="q22.tokens-written",
        points=3,
        signature="tokens_written(seconds, watts, sustained, limit, joules)",
        groups={ON_THE_WAY: 1, HOT: 1, NEVER: 1},
        public={
            ON_THE_WAY: [(600, 8, 2.5, 180, 0.5), (0.75, 6, 0.5, 0.25, 2)],
            HOT: [(600, 8, 2.5, 0, 0.5), (90.25, 4, 1, 0, 1.25)],
            NEVER: [
                (120, 8, 2.5, 180, 0.5),
                (180, 8, 2.5, 180, 0.25),
                (600, 2, 2.5, None, 0.5),
                (100.25, 4, 1, None, 1.5),
            ],
        },
        generate=_draw_written,
        reference=_written,
        same=Close(rel=1e-5),
        wrong={
            "never slowed": _unlimited,
            "none from the beginning": _zero_is_never,
            "beyond the end": _limit_always,
            "stops": _stops,
            "slow from the start": _slow_all,
            "times joules": _times_joules,
        },
    ),
    Check(
        id="q22.readers-for-energy",
        points=3,
        groups={ENOUGH: 2, NONE: 1},
        signature="readers_for_energy(allowed, watts, weight_bytes, cache_bytes, bandwidth)",
        public={
            ENOUGH: [
                _in_mib(cache=128, room=512, weights=14_000),
                _in_mib(cache=64, room=256, weights=7 * 256),
                _in_mib(cache=300, room=8, weights=300, watts=256, bandwidth=2**40),
                _in_mib(cache=600, room=900, weights=500),
                _in_mib(cache=20, room=20_000, weights=20_001),
                _in_mib(cache=1 / 8, room=1 / 8, weights=56_000),
                (1, 0.5, 100, 2, 1.375),
            ],
            NONE: [
                _in_mib(cache=128, room=-64, weights=14_000),
                _in_mib(cache=128, room=0, weights=14_000),
                _in_mib(cache=127.75, room=1 / 4, weights=14_000 + 1 / 16),
                _in_mib(cache=128 - 1 / 32, room=1 / 32, weights=14_000 + 1 / 64),
                (1, 8, 200, 3, 27),
            ],
        },
        generate=_draw_readers,
        reference=_readers,
        wrong={
            "rounded down": _readers_down,
            "one too many": _readers_next,
            "no cache": _readers_any,
            "cache shared": _readers_once,
            "stops early": _readers_some,
            "negative": _readers_negative,
        },
    ),
]
