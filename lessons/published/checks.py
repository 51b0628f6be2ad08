from statistics import mean, median

from course_lib.experiments import published
from course_lib.teaching.checks.check import Check, Close


def _impossible(runs):
    return [run["name"] for run in runs if run["flops"] > run["seconds"] * run["devices"] * run["peak"]]


def _one_device(runs):
    return [run["name"] for run in runs if run["flops"] > run["seconds"] * run["peak"]]


def _times_devices(runs):
    return [run["name"] for run in runs if run["flops"] * run["devices"] > run["seconds"] * run["peak"]]


def _strict(runs):
    return [run["name"] for run in runs if run["flops"] > 2 / 3 * run["seconds"] * run["devices"] * run["peak"]]


def _possible(runs):
    return [run["name"] for run in runs if run["flops"] <= run["seconds"] * run["devices"] * run["peak"]]


def _nine_tenths(runs):
    return [run["name"] for run in runs if run["flops"] > 0.9 * run["seconds"] * run["devices"] * run["peak"]]


def _exactly_too(runs):
    return [run["name"] for run in runs if run["flops"] >= run["seconds"] * run["devices"] * run["peak"]]


def _runs(rng):
    """No, some or many impossible runs, some of them only just, one at exactly the whole peak; names in any order. The
    first run is an impossible one, and so is the last, if there are so many.

    Seconds and devices are powers of two, so that the whole peak is exactly the whole peak in any order of arithmetic.
    """
    over = [
        rng.choice([rng.uniform(1.00002, 1.0008), rng.uniform(1.02, 5)]) for _ in range(rng.choice([0, 1, 2, 3, 5]))
    ]
    between = [1.0, rng.uniform(0.7, 0.95), rng.uniform(0.1, 0.6), *over[2:]]
    rng.shuffle(between)
    shares = [*over[:1], *between, *over[1:2]]
    runs = []
    for share, number in zip(shares, rng.sample(range(10, 99), len(shares)), strict=True):
        seconds, devices = 2.0 ** rng.randrange(-4, 3), 2 ** rng.randrange(2, 6)
        peak = rng.choice([125, 312, 459, 989]) * 1e12
        flops = share * seconds * devices * peak
        runs.append({"name": f"run {number}", "flops": flops, "seconds": seconds, "devices": devices, "peak": peak})
    return (runs,)


def _rates(shares, bound, low, middle, high):
    return {"bound": bound, "low": bound * low(shares), "middle": bound * middle(shares), "high": bound * high(shares)}


def _expected(weight_bytes, cache_bytes, bandwidth, shares):
    return _rates(shares, bandwidth / (weight_bytes + cache_bytes), min, median, max)


def _weights_alone(weight_bytes, cache_bytes, bandwidth, shares):
    return _rates(shares, bandwidth / weight_bytes, min, median, max)


def _mean(weight_bytes, cache_bytes, bandwidth, shares):
    return _rates(shares, bandwidth / (weight_bytes + cache_bytes), min, mean, max)


def _upside_down(weight_bytes, cache_bytes, bandwidth, shares):
    return _rates(shares, (weight_bytes + cache_bytes) / bandwidth, min, median, max)


def _each_once(weight_bytes, cache_bytes, bandwidth, shares):
    return _expected(weight_bytes, cache_bytes, bandwidth, sorted(set(shares)))


def _not_sorted(weight_bytes, cache_bytes, bandwidth, shares):
    bound = bandwidth / (weight_bytes + cache_bytes)
    return _rates(shares, bound, lambda s: s[0], lambda s: s[len(s) // 2], lambda s: s[-1])


def _request(rng):
    """Shares in an order that is none, an extreme neither first nor last; mostly an extreme comes more than once."""
    total = rng.randrange(4, 10)
    copies = min(rng.randrange(4), total - 4)
    lowest, *between, highest = sorted(share / 1000 for share in rng.sample(range(100, 950), total - copies))
    first, last, *others = rng.sample(between, len(between))
    others += [lowest, highest] + [rng.choice([lowest, highest])] * copies
    rng.shuffle(others)
    weights = rng.uniform(1, 150) * 1e9
    return weights, weights * rng.uniform(0.01, 0.5), rng.uniform(0.3, 8) * 1e12, [first, *others, last]


def _unseen():
    return published.get("xdai-8b-f16-l40s").published


def _bound():
    return published.get("xdai-8b-f16-l40s").prediction


def _one_byte():
    return 2 * _bound()


def _by_flops():
    return 362.05e12 / (2 * 8_030_261_248)


CHECKS = [
    Check(
        id="published.impossible-runs",
        points=3,
        signature="impossible(runs)",
        public=[
            (
                [
                    {"name": "a", "flops": 1e15, "seconds": 0.5, "devices": 8, "peak": 312e12},
                    {"name": "b", "flops": 1e15, "seconds": 0.25, "devices": 8, "peak": 312e12},
                    {"name": "c", "flops": 624e12, "seconds": 0.25, "devices": 8, "peak": 312e12},
                    {"name": "d", "flops": 7e15, "seconds": 2.0, "devices": 4, "peak": 989e12},
                    {"name": "e", "flops": 9e15, "seconds": 2.0, "devices": 4, "peak": 989e12},
                    {"name": "j", "flops": 1e14, "seconds": 0.5, "devices": 8, "peak": 312e12},
                    {"name": "i", "flops": 3e14, "seconds": 0.5, "devices": 8, "peak": 312e12},
                    {"name": "h", "flops": 7.5e15, "seconds": 2.0, "devices": 4, "peak": 989e12},
                    {"name": "g", "flops": 7.4e14, "seconds": 1.0, "devices": 1, "peak": 989e12},
                    {"name": "f", "flops": 1e12, "seconds": 2.0, "devices": 1, "peak": 989e12},
                ],
            ),
            ([{"name": "one", "flops": 3.3e14, "seconds": 1.0, "devices": 2, "peak": 125e12}],),
            ([{"name": "none", "flops": 2.2e14, "seconds": 1.0, "devices": 2, "peak": 125e12}],),
            (
                [
                    {"name": "z", "flops": 4.2e15, "seconds": 0.5, "devices": 8, "peak": 250e12},
                    {"name": "x", "flops": 1.00002e15, "seconds": 0.5, "devices": 8, "peak": 250e12},
                    {"name": "c", "flops": 1.3e15, "seconds": 0.5, "devices": 8, "peak": 250e12},
                    {"name": "a", "flops": 2.1e15, "seconds": 0.5, "devices": 8, "peak": 250e12},
                ],
            ),
        ],
        generate=_runs,
        reference=_impossible,
        wrong={
            "one device": _one_device,
            "each does all": _times_devices,
            "two thirds of the peak": _strict,
            "the possible ones": _possible,
            "nine tenths of the peak": _nine_tenths,
            "exactly the peak too": _exactly_too,
        },
    ),
    Check(
        id="published.expected-rate",
        points=4,
        signature="expected(weight_bytes, cache_bytes, bandwidth, shares)",
        public=[
            (13.5e9, 0.5e9, 2.04e12, [0.7, 0.52, 0.95, 0.33]),
            (140e9, 20e9, 4.8e12, [0.61, 0.69, 0.79, 0.55, 0.34]),
            (8e9, 1e9, 1.0e12, [0.8, 0.6, 0.5, 0.6]),
            (8e9, 1e9, 1.5e12, [0.4, 0.8, 0.4, 0.9, 0.4]),
            (8e9, 2e9, 1.0e12, [0.2, 0.4, 0.4, 0.6, 0.3, 0.5, 0.7]),
        ],
        generate=_request,
        reference=_expected,
        wrong={
            "weights alone": _weights_alone,
            "mean for median": _mean,
            "upside down": _upside_down,
            "not sorted": _not_sorted,
            "each once": _each_once,
        },
    ),
    Check(
        id="published.unseen",
        points=2,
        signature="tokens_per_second",
        unit="tokens/s",
        reference=_unseen,
        how_far=False,
        same=Close(rel=0.1),
        wrong={"bound": _bound, "one byte": _one_byte, "FLOPs": _by_flops},
    ),
]
