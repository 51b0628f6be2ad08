"""Checks of the exercises of Q2: what is asked, how inputs are drawn, the reference, and the wrong answers that people give."""

from math import ceil

from course_lib.teaching.checks.check import Check, Close

# ---- q02.bytes-per-parameter ---------------------------------------------------------------------


def _bytes(weight_bits, grad_bits, master_bits, moments, moment_bits):
    scale = 4 / 2048 if moment_bits == 8 else 0
    return (weight_bits + grad_bits + master_bits) / 8 + moments * (moment_bits / 8 + scale)


def _bytes_no_master(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, 0, moments, moment_bits)


def _bytes_master_always(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, 32, moments, moment_bits)


def _bytes_master_if_any(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, 32 if master_bits else 0, moments, moment_bits)


def _bytes_master_by_weight(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, 32 if weight_bits < 32 else 0, moments, moment_bits)


def _bytes_master_beside_16(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, master_bits if weight_bits < 32 else 0, moments, moment_bits)


def _bytes_always_two(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, master_bits, 2, moment_bits)


def _bytes_as_bits(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return 8 * _bytes(weight_bits, grad_bits, master_bits, moments, moment_bits)


def _bytes_one_moment(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, grad_bits, master_bits, min(moments, 1), moment_bits)


def _bytes_no_scales(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return (weight_bits + grad_bits + master_bits) / 8 + moments * moment_bits / 8


def _bytes_no_gradient(weight_bits, grad_bits, master_bits, moments, moment_bits):
    return _bytes(weight_bits, 0, master_bits, moments, moment_bits)


def _bytes_one_scale(weight_bits, grad_bits, master_bits, moments, moment_bits):
    scale = 4 / 2048 if moment_bits == 8 else 0
    return (weight_bits + grad_bits + master_bits) / 8 + moments * moment_bits / 8 + scale


def _draw_bytes(rng, group):
    """Mostly a master weight of neither 0 nor 32 bits, weights of any width, and several moments: what is
    forgotten, assumed or rounded shows.
    """
    moment_bits = 8 if group == _NARROW else rng.choice([16, 32])
    return (
        rng.choice([4, 8, 16, 32, 32, 32, 32]),
        rng.choice([4, 8, 16, 24, 32]),
        rng.choice([0, 8, 12, 16, 16, 24, 28, 32]),
        rng.choice([0, 1, 2, 2, 3]),
        moment_bits,
    )


_WIDE, _NARROW = "moments of 16 or 32 bits", "moments of 8 bits"


# ---- q02.state-of-8b -----------------------------------------------------------------------------


def _state():
    return 16 * 8.03


# ---- q02.largest-model ---------------------------------------------------------------------------

_PARTS = (12, 2, 2)  # bytes of optimizer, gradients, weights: what stages 1, 2 and 3 add to what is sharded


def _by_stage(card_gb, reserve, activations_gb, ranks, sharded=(0, 12, 14, 16), whole=16):
    room = card_gb * (1 - reserve) - activations_gb
    return [room / (whole - part + part / ranks) for part in sharded]


def _largest(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, reserve, activations_gb, ranks)


def _largest_all_sharded(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, reserve, activations_gb, ranks, sharded=(0, 16, 16, 16))


def _largest_one_part(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, reserve, activations_gb, ranks, sharded=(0, *_PARTS))


def _largest_no_master(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, reserve, activations_gb, ranks, sharded=(0, 8, 10, 12), whole=12)


def _largest_no_reserve(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, 0, activations_gb, ranks)


def _largest_activations_shared(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb, reserve, activations_gb / ranks, ranks)


def _largest_always_divided(card_gb, reserve, activations_gb, ranks):
    return [ranks * (card_gb * (1 - reserve) - activations_gb) / 16] * 4


def _largest_reserve_of_rest(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb - activations_gb, reserve, 0, ranks)


def _largest_reserve_of_contents(card_gb, reserve, activations_gb, ranks):
    return _by_stage(card_gb / (1 + reserve), 0, activations_gb, ranks)


def _draw_largest(rng):
    card = rng.choice([16, 24, 32, 40, 48, 80, 141])
    return card, rng.choice([0.05, 0.1, 0.15, 0.2]), card * rng.choice([0.1, 0.2, 0.25]), rng.choice([4, 8, 16, 64])


# ---- q02.offloaded-step --------------------------------------------------------------------------


def _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, travels=4, touched=28, waits=max):
    copies = params * travels / (bus_gb_per_s * 1e9)
    adam = [params * touched / (ram * 1e9) for ram in ram_gb_per_s]
    return {"copies": copies, "adam": adam, "step": [gpu_seconds + waits(copies, one) for one in adam]}


def _offloaded(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s)


def _offloaded_states_travel(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, travels=24)


def _offloaded_one_way(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, travels=2)


def _offloaded_whole_billions(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params // 10**9 * 10**9, gpu_seconds, bus_gb_per_s, ram_gb_per_s)


def _offloaded_adam_read_only(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, touched=14)


def _offloaded_sum(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, waits=lambda copies, adam: copies + adam)


def _offloaded_copies_only(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, waits=lambda copies, adam: copies)


def _offloaded_adam_only(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    return _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s, waits=lambda copies, adam: adam)


def _offloaded_all_overlap(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s):
    found = _step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s)
    return {**found, "step": [max(gpu_seconds, found["copies"], adam) for adam in found["adam"]]}


def _draw_offloaded(rng):
    """Three to five hosts: on some Adam takes longer than the copies, on some the copies do; some come twice; in any order."""
    params = rng.randrange(1000, 40_000) * 1_000_000
    bus, hosts = rng.choice([12, 24, 48]), [rng.choice([40, 60, 80]), rng.choice([400, 500])]
    hosts += rng.choices(hosts, k=rng.randrange(1, 4))
    rng.shuffle(hosts)
    return params, round(params * rng.uniform(0.1, 0.5) * 1e-9, 2), bus, hosts


# ---- q02.offload-plan ----------------------------------------------------------------------------


def _plan(params, ranks):
    return {"gpu_gb": 4 * params / ranks / 1e9, "host_gb": 12 * params / 1e9}


def _plan_as_given(params, ranks):
    return {"gpu_gb": 4 * params / ranks / 1e9, "host_gb": 8 * params / ranks / 1e9}


def _plan_one_share(params, ranks):
    return {"gpu_gb": 4 * params / ranks / 1e9, "host_gb": 12 * params / ranks / 1e9}


def _plan_master_on_gpu(params, ranks):
    return {"gpu_gb": 8 * params / ranks / 1e9, "host_gb": 8 * params / 1e9}


def _plan_a_copy_each(params, ranks):
    return {"gpu_gb": 4 * params / ranks / 1e9, "host_gb": 12 * params * ranks / 1e9}


def _draw_plan(rng):
    return rng.randrange(1, 80) * 1_000_000_000, rng.choice([2, 6, 8, 12, 16])


# ---- the lesson's own: one line each --------------------------------------------------------------


def _adapter(n_in, n_out, r, frozen):
    return frozen + 16 * r * (n_in + n_out) / (n_in * n_out)


def _draw_adapter(rng):
    n_in, n_out = rng.sample([512, 768, 1024, 2048, 4096, 5120, 8192, 14336], 2)
    return n_in, n_out, rng.choice([4, 8, 12, 16, 32]), rng.choice([0.5, 1, 2, 4])


def _cards(billions, card_gb, passing_gb):
    return ceil(16 * billions / (card_gb - passing_gb))


def _draw_cards(rng):
    """In half of the draws the state fills the cards to the last byte; else the last card is less than half full."""
    card_gb = rng.choice([16, 24, 32, 40, 48, 80, 96])
    room = rng.choice([each for each in (3, 5, 7, 9, 11, 13, 15, 22, 35, 60) if each < card_gb])
    if rng.random() < 0.5:
        return room * rng.randrange(2, 12), card_gb, card_gb - room
    sparse = [billions for billions in range(7, 200) if 0 < 16 * billions % room < room / 2]
    return rng.choice(sparse), card_gb, card_gb - room


def _worst_instant(batch, one, two):
    return one + (batch - 1) * (two - one)


def _draw_batch(rng):
    fixed, each = rng.uniform(5, 50), rng.uniform(1, 30)
    return rng.randrange(3, 65), round(fixed + each, 3), round(fixed + 2 * each, 3)


CHECKS = [
    Check(
        id="q02.turn-adapter",
        points=0,
        signature="bytes_with_adapter(n_in, n_out, r, frozen)",
        public=[(1024, 1024, 8, 2), (4096, 14336, 16, 0.5), (2048, 512, 32, 1), (768, 3072, 4, 4)],
        generate=_draw_adapter,
        reference=_adapter,
        wrong={
            "adapter in 16 bits": lambda n_in, n_out, r, frozen: frozen + 2 * r * (n_in + n_out) / (n_in * n_out),
            "twelve bytes": lambda n_in, n_out, r, frozen: frozen + 12 * r * (n_in + n_out) / (n_in * n_out),
            "adapter frozen too": lambda n_in, n_out, r, frozen: frozen * (1 + r * (n_in + n_out) / (n_in * n_out)),
            "state forgotten": lambda n_in, n_out, r, frozen: frozen + r * (n_in + n_out) / (n_in * n_out),
            "in all": lambda n_in, n_out, r, frozen: frozen * n_in * n_out + 16 * r * (n_in + n_out),
            "frozen in all": lambda n_in, n_out, r, frozen: frozen + 16 * r * (n_in + n_out),
            "matrix trained": lambda n_in, n_out, r, frozen: 16 + 16 * r * (n_in + n_out) / (n_in * n_out),
            "adapter alone": lambda n_in, n_out, r, frozen: 16 * r * (n_in + n_out) / (n_in * n_out),
        },
    ),
    Check(
        id="q02.turn-cards",
        points=0,
        signature="cards_needed(billions, card_gb, passing_gb)",
        public=[
            (10, 16, 2),
            (70, 80, 10),
            (7, 16, 13),
            (1, 24, 4),
            (9, 24, 8),
            (36, 48, 12),
            (6.74, 16, 13.5),
            (3.2032, 16, 3.2),
            (3.197, 16, 3.2),
        ],
        generate=_draw_cards,
        reference=_cards,
        wrong={
            "not rounded": lambda billions, card_gb, passing_gb: 16 * billions / (card_gb - passing_gb),
            "rounded down": lambda billions, card_gb, passing_gb: 16 * billions // (card_gb - passing_gb),
            "rounded": lambda billions, card_gb, passing_gb: round(16 * billions / (card_gb - passing_gb)),
            "one more": lambda billions, card_gb, passing_gb: 16 * billions // (card_gb - passing_gb) + 1,
            "nothing passes": lambda billions, card_gb, passing_gb: ceil(16 * billions / card_gb),
            "passing divided": lambda billions, card_gb, passing_gb: ceil((16 * billions + passing_gb) / card_gb),
            "twelve bytes": lambda billions, card_gb, passing_gb: ceil(12 * billions / (card_gb - passing_gb)),
            "weights alone": lambda billions, card_gb, passing_gb: ceil(2 * billions / (card_gb - passing_gb)),
        },
    ),
    Check(
        id="q02.turn-batch",
        points=0,
        signature="worst_instant(batch, one, two)",
        public=[
            (8, 22.1, 32.7),
            (1, 22.1, 32.7),
            (2, 5.0, 8.0),
            (16, 5.0, 9.0),
            (5, 31.0, 33.5),
            (5, 0.51237, 0.90218),
        ],
        generate=_draw_batch,
        reference=_worst_instant,
        wrong={
            "all grows": lambda batch, one, two: batch * one,
            "all of two grows": lambda batch, one, two: batch * two / 2,
            "one too many": lambda batch, one, two: one + batch * (two - one),
            "growth alone": lambda batch, one, two: batch * (two - one),
        },
    ),
    Check(
        id="q02.bytes-per-parameter",
        points=2,
        signature="bytes_per_parameter(weight_bits, grad_bits, master_bits, moments, moment_bits)",
        groups={_WIDE: 1, _NARROW: 1},
        public={
            _WIDE: [
                (16, 16, 32, 2, 32),
                (32, 32, 0, 2, 32),
                (32, 32, 0, 1, 32),
                (16, 16, 0, 2, 16),
                (16, 16, 16, 2, 32),
                (16, 32, 32, 2, 32),
                (32, 16, 32, 2, 32),
                (8, 8, 32, 2, 32),
                (4, 16, 32, 2, 32),
                (16, 16, 32, 3, 32),
                (16, 16, 32, 0, 32),
                (32, 8, 8, 1, 16),
                (8, 16, 16, 1, 16),
                (4, 4, 28, 1, 32),
                (16, 4, 28, 2, 16),
            ],
            _NARROW: [
                (16, 16, 32, 2, 8),
                (16, 16, 0, 2, 8),
                (16, 32, 16, 1, 8),
                (32, 32, 16, 3, 8),
                (16, 16, 32, 0, 8),
                (8, 16, 32, 2, 8),
                (4, 16, 16, 2, 8),
                (16, 8, 8, 2, 8),
                (4, 4, 28, 2, 8),
            ],
        },
        generate=_draw_bytes,
        reference=_bytes,
        wrong={
            "master missing": _bytes_no_master,
            "master always": _bytes_master_always,
            "master of 32 bits": _bytes_master_if_any,
            "master by the weight": _bytes_master_by_weight,
            "master beside 16 bits": _bytes_master_beside_16,
            "bits": _bytes_as_bits,
            "always two": _bytes_always_two,
            "one moment": _bytes_one_moment,
            "scales missing": _bytes_no_scales,
            "one scale": _bytes_one_scale,
            "gradient missing": _bytes_no_gradient,
        },
    ),
    Check(
        id="q02.state-of-8b",
        points=1,
        signature="state",
        unit="GB",
        reference=_state,
        same=Close(rel=0.01),
        wrong={
            "twelve bytes": lambda: 12 * 8.03,
            "weights only": lambda: 2 * 8.03,
            "all in 16 bits": lambda: 8 * 8.03,
            "fp32 gradients": lambda: 18 * 8.03,
            "gradients twice": lambda: 20 * 8.03,
            "GiB": lambda: 16 * 8.03e9 / 2**30,
        },
    ),
    Check(
        id="q02.largest-model",
        points=3,
        signature="largest_model(card_gb, reserve, activations_gb, ranks)",
        public=[(16, 0.1, 2, 8), (80, 0.1, 10, 8), (23.5, 0.2, 4, 4)],
        generate=_draw_largest,
        reference=_largest,
        wrong={
            "all sharded": _largest_all_sharded,
            "one part each": _largest_one_part,
            "master missing": _largest_no_master,
            "no reserve": _largest_no_reserve,
            "reserve of the rest": _largest_reserve_of_rest,
            "reserve of the contents": _largest_reserve_of_contents,
            "activations shared": _largest_activations_shared,
            "always divided": _largest_always_divided,
        },
    ),
    Check(
        id="q02.offloaded-step",
        points=3,
        signature="offloaded_step(params, gpu_seconds, bus_gb_per_s, ram_gb_per_s)",
        public=[
            (10e9, 4.0, 24, [100, 400]),
            (7e9, 1.5, 12.5, [400, 62.5]),
            (8_030_000_000, 2.0, 24, [50]),
            (3_200_000_000, 0.5, 48, [80, 500, 300, 80]),
        ],
        generate=_draw_offloaded,
        reference=_offloaded,
        wrong={
            "states travel": _offloaded_states_travel,
            "one way": _offloaded_one_way,
            "whole billions": _offloaded_whole_billions,
            "read only": _offloaded_adam_read_only,
            "sum for max": _offloaded_sum,
            "Adam forgotten": _offloaded_copies_only,
            "copies forgotten": _offloaded_adam_only,
            "all overlap": _offloaded_all_overlap,
        },
    ),
    Check(
        id="q02.offload-plan",
        points=3,
        signature="offload_plan(params, ranks)",
        public=[(7e9, 8), (13e9, 2), (3_300_000_000, 16), (8_030_000_000, 6)],
        generate=_draw_plan,
        reference=_plan,
        wrong={
            "as given": _plan_as_given,
            "master missing": lambda params, ranks: {"gpu_gb": 4 * params / ranks / 1e9, "host_gb": 8 * params / 1e9},
            "one share": _plan_one_share,
            "master on the GPU": _plan_master_on_gpu,
            "a copy each": _plan_a_copy_each,
        },
    ),
]
