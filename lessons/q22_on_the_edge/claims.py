"""Claims on trial in Q22: each function decides one claim by computing it and returns the verdict with its numbers."""

from dataclasses import replace

from course_lib.accounting import hardware, inference, models, precision, roofline
from course_lib.accounting.models import operations
from course_lib.experiments import published
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q22_on_the_edge import edge, heat, paging


def tops() -> Verdict:
    """A phone with twice the arithmetic, and one with twice the bandwidth: writing, for each format of the weights."""
    chip = hardware.load(edge.PHONE)
    twice = replace(chip, peaks={"int8": 2 * chip.peak("int8")})
    wide = replace(chip, memory_bandwidth=2 * chip.memory_bandwidth)
    formats = ("int4", "int8", "bf16")

    def gain(device):
        return {
            w: edge.phone(weights=w, device=device).tokens_per_second / edge.phone(weights=w).tokens_per_second
            for w in formats
        }

    by_tops, by_bytes = gain(twice), gain(wide)
    how = {"batch": 1, "tokens": 1024, "mfu": 1, "compute_dtype": "int8"}
    prompt = (
        inference.prefill(edge.MODEL, device=chip, **how).seconds
        / inference.prefill(edge.MODEL, device=twice, **how).seconds
    )
    used = edge.phone().tokens_per_second * 2 * int(models.load(edge.MODEL).parameters()) / chip.peak("int8")
    ruling = by_cases(times > 1.9 for times in by_tops.values())
    return Verdict(ruling, writing=by_tops["int4"], bandwidth=by_bytes["int4"], prompt=prompt, used=used)


def saves_energy() -> Verdict:
    """Joules of a token on the phone, and on the card with 1 to 256 readers."""
    phone, readers = edge.joules(), (1, 2, 4, 6, 7, 16, 64, 256)
    card = {count: edge.joules(count) for count in readers}
    ruling = by_cases(phone < joules for joules in card.values())
    return Verdict(
        ruling,
        phone=phone,
        card=card,
        first=edge.readers_to_beat(phone),
        half=edge.readers_to_beat(edge.joules(watts=4)),
        narrow=edge.readers_to_beat(phone, weights="int4", cache="int8"),
    )


def s003_68() -> Verdict:
    """Is there a case in which each of the three is the limit?"""
    step, wide, case = edge.phone(), edge.phone(weights="bf16"), heat.Case()
    chip = hardware.load(edge.PHONE)
    of_prompt = 2 * 1024 / 0.5  # operations for each byte of a weight in 4 bits, 1,024 tokens at a time
    ridge = roofline.ridge_point(chip, "int8")
    limits = (case.sustained < edge.WATTS, step.bound == "memory", not wide.fits, of_prompt > ridge)
    return Verdict(
        "holds" if all(limits) else "fails",
        rate=step.tokens_per_second,
        held=2 * int(models.load(edge.MODEL).parameters()) / 1e9,
        room=chip.memory_capacity / 1e9,
        watts=case.sustained,
        prompt=of_prompt,
        ridge=ridge,
    )


def four_twice() -> Verdict:
    """Weights in 8 bits and in 4, by bytes and as published: A100 of torchao, three kinds of scales."""
    bits = {name: 8 * precision.nbytes(2**20, name) / 2**20 for name in ("q4_0", "int4-g32", "int4-g128")}
    rate = {name: published.get(f"torchao-8b-{name}").published for name in ("int8", "int4")}
    found = [8 / each for each in bits.values()] + [rate["int4"] / rate["int8"]]
    return Verdict(
        by_cases(times >= 1.98 for times in found), best=max(found[:-1]), published=found[-1], **{"bits": bits}
    )


def mapped() -> Verdict:
    """Share of a mapped file that a token fetches, by the share of it that memory holds."""
    found = {room: paging.misses(pages=100, room=room, passes=3)[-1] for room in (0, 50, 90, 100)}
    pinned = paging.misses(pages=100, room=90, passes=3, policy="pinned")[-1]
    return Verdict("holds" if found[0] == 0 else "holds-if" if found[50] == 0 else "fails", found=found, pinned=pinned)


def weights_sram() -> Verdict:
    """MobileNetV2 in int8: its weights, and the activations of its worst layer."""
    net = models.load("mobilenet-v2")
    weights, peak = int(net.parameters()), int(operations.peak_activations(net))
    large = int(operations.peak_activations(net, 448))
    return Verdict(
        by_cases([abs(peak / weights - 1) < 0.1, abs(large / weights - 1) < 0.1]),
        weights=weights / 1e6,
        peak=peak / 1e6,
        large=large / 1e6,
    )
