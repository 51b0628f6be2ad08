"""Claims on trial in Q20: each function decides one claim by computing it and returns the verdict with its numbers."""

from math import isqrt

from course_lib.accounting import communication, flops, hardware, parallelism
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q20_design_a_framework import buckets, scaling


def s000_33() -> Verdict:
    """Dollars for the work of an hour of one A100, at list prices and with old cards at a third of a new one's price."""
    new, old = hardware.load("a100-40-sxm"), hardware.load("v100-sxm2")
    speeds = [new.peak("fp16")] * 4 + [old.peak("fp16")] * 4

    def dollars(rate, old_price):
        return (4 * new.price_per_hour + 4 * old_price) / (rate / new.peak("fp16"))

    alone = 4 * new.price_per_hour / 4
    rates = {"equal": parallelism.synchronous_rate(speeds), "by speed": parallelism.synchronous_rate(speeds, speeds)}
    prices = {"list": old.price_per_hour, "third": new.price_per_hour / 3}
    found = {f"{rate}, {price}": dollars(rates[rate], prices[price]) for rate in rates for price in prices}
    share = old.peak("fp16") / new.peak("fp16")
    return Verdict(
        by_cases(cost < alone for cost in found.values()), alone=alone, cost=found, share=share, old=prices["list"]
    )


def s004_092() -> Verdict:
    """When the first bucket leaves: in a small network, and in eight layers of 4 MiB by default and with a large cap."""
    layers = [size for _ in range(8) for size in (4096, 4 * 2**20)]
    tiny = [4 * 10, 4 * 10 * 128, 4 * 128, 4 * 128 * 64]
    cap = {"cap": 100 * buckets.MIB, "first": 100 * buckets.MIB}
    left = {
        "tiny": buckets.first_leaves_at(tiny),
        "layers": buckets.first_leaves_at(layers),
        "capped": buckets.first_leaves_at(layers, **cap),
    }
    return Verdict(by_cases(share == 1 for share in left.values()), left=left)


def s000_32() -> Verdict:
    """State and activations of the fullest rank of a dense model, and of a larger one with ever longer sequences."""

    def held(model, seq, data, pipeline, **more):
        plan = parallelism.Plan(data=data, tensor=8, pipeline=pipeline, zero_stage=1, **more)
        return int(parallelism.rank_memory(model, plan, batch=data, seq=seq, recompute="full")) / 1e9

    gb = {
        "dense": held("llama3-70b", 8192, 2, 2),
        "long": held("llama3.1-405b", 2**17, 16, 9, sequence_parallel=True),
        "longer": held("llama3.1-405b", 2**20, 16, 9, sequence_parallel=True),
        "context": held("llama3.1-405b", 2**20, 2, 9, sequence_parallel=True, context=8),
    }
    room = hardware.load("h100-sxm").memory_capacity / 1e9
    return Verdict(by_cases(gb[name] < room for name in ("dense", "long", "longer")), gb=gb, room=room)


def s000_34() -> Verdict:
    """Pixels that four A100s at 40 % of their peak want for ResNet-50, against two networks; and prices."""
    new, old = hardware.load("a100-40-sxm"), hardware.load("v100-sxm2")
    images = 4 * 0.4 * new.peak("fp16") / int(flops.training_step("resnet-50", batch=1))
    wanted = images * 3 * 224 * 224
    lines = {name: hardware.link(f"ethernet-{name}").bandwidth for name in ("10g", "100g")}
    cases = [line > wanted for line in lines.values()]
    return Verdict(by_cases(cases), images=images, wanted=wanted / 1e9, old=old.price_per_hour, new=new.price_per_hour)


def s000_35() -> Verdict:
    """Seconds of messages and of arithmetic in a step of 7B parameters and 2^20 tokens on 64 H100s at 40 %."""
    compute = scaling.compute_seconds(64)
    link = hardware.link("ethernet-10g").bandwidth
    wait = communication.all_reduce(nbytes=14 * 10**9, ranks=64, bandwidth=link).seconds
    return Verdict("holds" if wait < compute / 10 else "fails", wait=wait, compute=compute, slower=1 + wait / compute)


def s000_36() -> Verdict:
    """Share of the time that goes into arithmetic, on 64 and 1,000 cards, with the same batch and with a larger one."""
    part = {
        "few": scaling.efficiency(64),
        "many": scaling.efficiency(1000),
        "hidden": scaling.efficiency(1000, overlap=True),
        "larger": scaling.efficiency(1000, tokens=scaling.TOKENS * 1000 // 64),
    }
    return Verdict(by_cases(value > 0.9 for value in part.values()), part=part)


def s001_15() -> Verdict:
    """Buffers that a rank sends in a ring all-reduce."""
    sent = {
        n: communication.all_reduce(nbytes=64 * 1000, ranks=n, bandwidth=1e9).bytes_per_rank / 64000 for n in (4, 8, 64)
    }
    return Verdict(by_cases(abs(value / (n / 2) - 1) < 0.05 for n, value in sent.items()), sent=sent)


def s001_16() -> Verdict:
    """The same against 2(√p − 1)."""
    sent = {
        n: communication.all_reduce(nbytes=64 * 1000, ranks=n, bandwidth=1e9).bytes_per_rank / 64000 for n in (16, 64)
    }
    said = {n: 2 * (isqrt(n) - 1) for n in sent}
    return Verdict(by_cases(abs(sent[n] / said[n] - 1) < 0.05 for n in sent), sent=sent, said=said)


def spot() -> Verdict:
    """Work and money of a job whose machines are taken away every 1 to 8 hours, at a third of the price and at 80 %."""
    factor = {hours: 1 + scaling.spot_waste(3600 * hours) for hours in (1, 8)}
    cases = [price * value < 1 for price in (1 / 3, 0.8) for value in factor.values()]
    return Verdict(by_cases(cases), factor=factor)
