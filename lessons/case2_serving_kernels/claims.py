"""Claims on trial in case 2: each function decides one claim by computing it and returns the verdict with its numbers."""

from math import exp, prod

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.case2_serving_kernels import counted, roundings, sampling, splitting

LAYERS = [(4096, 768), (4096, 16_384), (4096, 4096), (16_384, 4096)]


def s001_04() -> Verdict:
    """Right forms in two formats, right sums, and a kernel that gives zeros: does passing go with being right?"""
    share = {name: roundings.share_close(name) for name in roundings.FORMATS}
    small = [once for _, once, _ in roundings.pairs(roundings.fp32, scale=1e-9)]
    zeros = sum(roundings.close(0.0, value, atol=1e-8) for value in small) / len(small)
    assert sum(roundings.close(0.0, value) for value in small) == 0  # without atol the zeros are noticed
    sums = roundings.share_of_sums()
    right = [share["fp32"] == 1, share["bf16"] == 1, sums == 1]
    return Verdict(by_cases([*right, zeros < 0.5]), share=share, zeros=zeros, sums=sums)


def s001_12() -> Verdict:
    """The rule on four layers and three batches: does its answer depend on anything but the inputs?"""
    chosen = [splitting.selector(*layer, 32) for layer in LAYERS]
    others = [splitting.selector(*layer, batch) for batch in (1, 4096) for layer in LAYERS]
    adapts = len(set(chosen + others)) > 1
    return Verdict("holds" if adapts else "fails", choices=", ".join(chosen), others=", ".join(sorted(set(others))))


# ---- on the docket ---------------------------------------------------------------------------------------------------


def s001_01() -> Verdict:
    """Both sides of the identity on numbers from −30 to 30, in fp64."""
    points = [(a / 10, b) for a in range(-300, 301) for b in (-2.5, 0.3, 7.0)]
    worst = max(abs(a / (1 + exp(-a)) * b - a * (1 / (1 + exp(-a))) * b) / max(abs(a * b), 1e-300) for a, b in points)
    return Verdict("holds" if worst < 1e-14 else "fails", worst=worst)


def s001_02() -> Verdict:
    """Calls after which ten seconds of compiling are paid by the bytes that are saved, on an H100, by rows."""
    each = {rows: counted.saved_seconds(rows) / counted.LAYERS for rows in (8, 8192)}
    calls = {rows: 10 / seconds for rows, seconds in each.items()}
    return Verdict(by_cases(number < 1e6 for number in calls.values()), calls=calls)


def s001_03() -> Verdict:
    """Tensors that move: sigmoid, times a, times b; and silu, times b."""
    long, short = (1 + 1) + (2 + 1) + (2 + 1), (1 + 1) + (2 + 1)
    return Verdict("holds" if long < short else "fails", long=long, short=short)


def s001_05() -> Verdict:
    """A hundred timed calls of 0.1 ms, after a warm-up and without one, where the first of them compiles."""
    times = {compiling: (compiling + 100 * 1e-4) / (100 * 1e-4) for compiling in (0, 1, 7)}
    return Verdict(by_cases(factor < 1.1 for factor in times.values()), times=times)


def s001_06() -> Verdict:
    """What the GPU's counter says of tensors on the processor, and what is right on a GPU."""
    counter = {"eager": 0, "fused": 0}
    eager, fused = 2 + 1 + 1, 2 + 1  # input, SiLU's output, result
    return Verdict("holds" if counter["eager"] else "fails", saved=1 - fused / eager, eager=eager, fused=fused)


def s001_07() -> Verdict:
    """Intermediates of the two forms: results of calls but the last."""
    made = {"silu": 2 - 1, "sigmoid": 3 - 1}
    return Verdict(by_cases(count > 1 for count in made.values()), made=made)


def s001_08() -> Verdict:
    """Layers in which the claim's choice sends no more than the other, by how inputs come and outputs are wanted."""
    right = {}
    for sharded in (False, True):
        held = []
        for inputs, outputs in LAYERS:
            for whole in (False, True):
                column, row = (
                    splitting.numbers_sent(inputs, outputs, 32, 8, by, sharded, whole) for by in ("column", "row")
                )
                held.append(row <= column if outputs < inputs else column <= row)
        right[sharded] = held
    told = {sharded: f"{sum(held)} of {len(held)}" for sharded, held in right.items()}
    return Verdict(by_cases(all(held) for held in right.values()), whole=told[False], shares=told[True])


def s001_09() -> Verdict:
    """Numbers that each of 8 ranks sends: outputs stay in shares, are gathered, and the gradient of the inputs."""
    stays, gathered = (splitting.numbers_sent(4096, 16_384, 32, 8, "column", False, whole) for whole in (False, True))
    backward = 2 * 7 / 8 * 32 * 4096
    return Verdict(by_cases(not sent for sent in (stays, gathered, backward)), gathered=gathered, backward=backward)


def s001_10() -> Verdict:
    """The all-reduce of a row-parallel layer: is it of batch · outputs, whatever the inputs and the ranks?"""
    sent = [splitting.numbers_sent(inputs, 4096, 32, 8, "row", True, True) for inputs in (768, 4096, 16_384)]
    return Verdict("holds" if len(set(sent)) == 1 else "fails", numbers=32 * 4096, sent=sent[0])


def s001_13() -> Verdict:
    """The table's answers beside those of the rule that stands next to it."""
    table = {(4096, 768): "row", (4096, 16_384): "column", (4096, 4096): "hybrid"}
    same = [splitting.selector(*layer, 32) == told for layer, told in table.items()]
    return Verdict("holds" if all(same) else "fails", same=sum(same), rows=len(same))


def s001_14() -> Verdict:
    """Numbers that each of four ranks sends for 4096 → 4096, batch 32: by rows, and two by two."""
    rows = splitting.numbers_sent(4096, 4096, 32, 4, "row", True, True)
    both = splitting.numbers_sent(4096, 2048, 32, 2, "row", True, True)
    gathered = both + splitting.numbers_sent(4096, 4096, 32, 2, "column", False, True)
    third, usual = both not in (0, rows), False  # what the word means elsewhere: data, tensor, pipeline
    return Verdict(by_cases([third, usual]), rows=rows, both=both, gathered=gathered)


def s001_17() -> Verdict:
    """The formula with the payload in bytes and in kilobytes: an efficiency has no unit."""

    def told(payload):
        work, ranks = 4096 * 4096 * 32, 8
        return work / (ranks * (work / ranks + payload))

    payload = 1.75 * 32 * 4096 * 4
    one, eight = (splitting.pair(32, 4096, 4096, ranks).seconds for ranks in (1, 8))
    same = abs(told(payload) / told(payload / 1e3) - 1) < 0.01
    return Verdict(
        "holds" if same else "fails", nbytes=told(payload), kilobytes=told(payload / 1e3), seconds=one / (8 * eight)
    )


def s001_18() -> Verdict:
    """Bytes of the same activations in three formats."""
    sent = {bits: splitting.numbers_sent(4096, 4096, 32, 8, "row", True, True) * bits / 8 for bits in (32, 16)}
    return Verdict(by_cases(bits == 32 for bits in sent), sent=sent)


def s001_19() -> Verdict:
    """The probability that each token's sum is the largest, by the integral over its own noise."""
    steps, right = 4000, sampling.softmax(sampling.LOGITS)
    shares = [
        sum(
            prod(((k + 0.5) / steps) ** exp(other - z) for other in (*sampling.LOGITS[:i], *sampling.LOGITS[i + 1 :]))
            for k in range(steps)
        )
        / steps
        for i, z in enumerate(sampling.LOGITS)
    ]
    worst = max(abs(share - p) for share, p in zip(shares, right, strict=True))
    return Verdict("holds" if worst < 1e-5 else "fails", worst=worst)


def s001_20() -> Verdict:
    """Recorded times of a token for each of 64 sequences, over those of torch.multinomial."""
    took = experiments.load("sampler_times", "amd-epyc-2-cores").measured
    over = {name: took["multinomial"] / took[name] for name in ("Gumbel noise by two logs", "race", "inverse CDF")}
    gumbel, inverse = [over["Gumbel noise by two logs"], over["race"]], over["inverse CDF"]
    return Verdict(by_cases(times > 1.25 for times in gumbel), two=gumbel[0], race=gumbel[1], inverse=inverse)


def s001_21() -> Verdict:
    """Most tensors of the size of the logits that are alive beside them: each step fresh, and each in place."""
    fresh, alive = 1, 1
    for _ in range(4):  # log, negate, log, subtract: a result beside its input, then the input goes
        fresh = max(fresh, alive + 1)
    return Verdict("holds" if fresh > 1 else "fails", fresh=fresh, place=1)


def s001_22() -> Verdict:
    """The formula on an A100, for texts of 128 and of 131,072 tokens."""
    a100 = hardware.load("a100-40-sxm")

    def block(tokens):
        return max(16, min(40 * 2**20 // 8, int(a100.memory_bandwidth // 100)))

    tile = 192 * 1024 // 2 // (4 * 128)
    depends = block(128) != block(131_072)
    return Verdict("holds" if depends else "fails", block=block(128), tile=tile)


def s001_23() -> Verdict:
    """Warps that the registers of a multiprocessor hold, by registers a thread."""
    warps = {registers: 65_536 // (-(-registers // 8) * 8 * 32) for registers in (32, 255)}
    return Verdict(by_cases([True, warps[255] >= warps[32]]), warps=warps, share=warps[255] / 64)


def s001_24() -> Verdict:
    """Shares of the time saved by an algorithm and by fusion, in two profiles."""
    profiles = {
        "attention": {"algorithm": (0.6, 3), "fusion": (0.1, 2)},
        "launches": {"algorithm": (0.05, 3), "fusion": (0.7, 2)},
    }
    saved = {
        name: {step: share * (1 - 1 / times) for step, (share, times) in profile.items()}
        for name, profile in profiles.items()
    }
    return Verdict(by_cases(steps["algorithm"] > steps["fusion"] for steps in saved.values()), saved=saved)


def s001_27() -> Verdict:
    """Twelve candidates, ten calls of a millisecond each; the best is a tenth faster: is it paid?"""
    calls = 12 * 10 * 1e-3 / (0.1 * 1e-3)
    return Verdict(by_cases(uses > calls for uses in (100, 1_000_000)), calls=calls)
