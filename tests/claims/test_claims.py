"""Every claim on trial is decided by running its code, and the ruling is the one that was derived by hand.

LEDGER was typed from the course's ledger of claims, which was derived on paper and by measurement before this code
existed and knows nothing of `claims.py`. A claim that is not in it fails here: nobody adds one without a derivation.
"""

import pytest

from course_lib.teaching import units
from course_lib.teaching.cards import answer_html, answers
from course_lib.teaching.cards.card_texts import read_card
from course_lib.teaching.cards.docket import RULINGS, verdicts

LEDGER = {
    "q01.s000-13": "fails",  # 256 KB a multiprocessor, 1 KB a thread; 4 cycles
    "q01.s000-14": "fails",  # a processor core's caches: 192 KB and 40 MB
    "q01.s000-15": "fails",  # 900 GB/s are a V100's
    "q01.s000-16": "holds-if",  # from a core; from a GPU behind PCIe
    "q01.s000-17": "holds",  # 33 µs, 7.88 GB/s on the bus
    "q01.s003-67": "holds",  # 125 to 650 pJ against 3.7; 401 FLOPs
    "q01.s003-73": "holds-if",  # up to (2/3)·312e12/7.877e9 = 26,400 tokens a step
    "q01.s004-029": "fails",  # 6 MB is a V100's
    "q01.s004-030": "fails",  # 290 to 550, 200 to 262, 33 to 39, 4
    "q01.s004-031": "holds",  # 19.5 and 117 TB/s
    "q01.s004-038": "holds",  # 11.5 and 25 GB/s
    "q01.s004-039": "holds",  # 83.3 ms, 92.6 %, 41.7 %
    "q01.s004-041": "fails",  # a factor of 1.4 to 9
    "q01.s004-097": "holds",  # 40 and 6 MB
    "q01.s004-103": "fails",  # GA102: 6 MB of L2
    "q02.s003-01": "holds",  # 10e9 · 2 B = 20 GB
    "q02.s003-02": "holds",  # 13, 54 and 10 GB beside 13 GB of weights
    "q02.s003-41": "holds-if",  # 8 B a parameter: all in 16 bits, no master copy
    "q02.s003-42": "holds",  # 28 + 56 + 14 + 14 = 112
    "q02.s003-43": "fails",  # the optimizer reads and writes the master copy at every step
    "q02.s003-44": "holds-if",  # 2 · 4 · 7e9 = 56 GB in FP32; 14 GB in 8 bits
    "q02.s003-47": "fails",  # (112e9 + 17.18e9)/2^30 = 120.3
    "q02.s003-49": "holds",  # AdamW, 16-bit gradients: 4 + 4 + 8 = 2 + 2 + 4 + 8 = 16
    "q02.s003-52": "holds-if",  # 56 GB the moments alone; with the master copy 84
    "q02.s003-53": "holds-if",  # activations only with sequence parallelism; not in a pipeline
    "q02.s003-55": "fails",  # 112 + 48 = 160, 112 + 48 + 40 = 200
    "q02.s003-56": "fails",  # 141 GB hold it, or eight shares of 14 GB
    "q02.s003-57": "fails",  # 120 GB offloaded, 40 more that do not fit 16 GB: 160 against 24
    "q02.s003-58": "fails",  # the same bytes at every restart
    "q02.s003-59": "fails",  # 112 GB + 1 GB … 1 TB
    "q03.s003-03": "fails",  # ResNet-50 at batch 32: 26 times its weights; GPT-2 with 128 tokens: 0.3 times
    "q03.s003-04": "holds-if",  # 34.4 GB against 13.5 at 32 × 2048 tokens, 0.3 at 1 × 512
    "q03.s003-45": "fails",  # b·s·h·2·L = 17.2 GB; 292 or 979 GB are saved
    "q03.s003-46": "fails",  # sbh(34 + 5as/h) = 30.6 GB a layer, 9.1 without scores, not 0.5
    "q03.s003-48": "fails",  # one layer's workspace and 34.4 GB of cache
    "q03.s003-51": "fails",  # 17.2 GB of inputs alone; −91 to −95 %; +33 % FLOPs
    "q03.s003-54": "fails",  # one block at work: 9.1 to 30.6 GB
    "q04.s002-10": "fails",  # 1365 FLOP/B against a ridge of 201: compute-bound
    "q04.s003-11": "holds",  # a correct list
    "q04.s003-12": "fails",  # 256 multiply-adds a clock each, and FP64 tensor cores twice the lanes
    "q04.s003-74": "holds-if",  # over 99 % of the FLOPs, much less of the time
    "q04.s004-013": "fails",  # ratios right; 280 above the best found, 271; 15 far above a truly naive kernel
    "q04.s004-014": "holds-if",  # plain GEMM; epilogues and odd shapes are the exception
    "q05.s001-28": "holds-if",  # left of the ridge point
    "q05.s002-01": "fails",  # batch 1: 25 tiles for 108 multiprocessors, 0.7 µs
    "q05.s002-02": "fails",  # intensity about 2,000 against a ridge of 201
    "q05.s002-03": "fails",  # intensity n/3 rises with n
    "q05.s002-05": "fails",  # 900 GB/s are a V100's
    "q05.s002-06": "fails",  # n/6 in fp32: 683 at n = 4096
    "q05.s002-07": "holds",  # 20e12 / 2 = 10e12
    "q05.s002-08": "fails",  # 900e9 / 10e13 = 0.9 %
    "q05.s002-09": "holds",  # fusing three passes: three times the intensity, a third of the time
    "q05.s002-11": "holds-if",  # 1 % with one column; 27 % of a V100 published with many (Gale et al. 2020)
    "q05.s002-14": "holds-if",  # forward only; 7 products for 6 in training
    "q05.s002-16": "holds-if",  # Dao 2023, abstract: against optimised baselines; 7.6 on GPT-2 in the first paper
    "q05.s002-17": "holds-if",  # decode and norms; not products of 8192
    "q05.s002-18": "fails",  # any ratio
    "q05.s002-20": "holds",  # loop orders
    "q05.s002-21": "fails",  # small models underfill it
    "q05.s002-22": "holds",  # the checklist
    "q05.s004-006": "holds-if",  # at 1.5 TB/s
    "q05.s004-007": "fails",  # 100.7 MB, 1365 FLOP/B
    "q05.s004-008": "holds",  # 1/12 FLOP/B, 125 GFLOP/s at 1.5 TB/s
    "q05.s004-009": "fails",  # 4.2 MB: 19 %, not 77 %
    "q05.s004-011": "fails",  # 100 MB is perfect reuse
    "q05.s004-012": "fails",  # a bound must fall with the cache
    "q05.s004-051": "fails",  # 34.36e9/576e6 = 59.7
    "q06.s003-30": "fails",  # it returns 169,244,160
    "q06.s003-32": "fails",  # 1e13 / 284.8e6 = 35,000 tokens/s
    "q06.s004-025": "holds-if",  # 89.7 and 48.1 %; a large product: 128 rows × 4096² have a roof of 187
    "q06.s003-35": "fails",  # 2 FLOPs a parameter at every factor; a convention of Vaswani et al. 2017
    "q06.s003-31": "fails",  # 8 FLOPs a number and two norms: 16d
    "q06.s002-19": "holds",  # t >= max(FLOPs/peak, bytes/bandwidth, launches)
    "q06.s003-23": "fails",  # 124,439,808
    "q06.s003-24": "fails",  # 6d² and 2d²
    "q06.s003-25": "fails",  # 2nd
    "q06.s003-26": "fails",  # 8d² + 4nd = 7.86M against 1.18M
    "q06.s003-27": "fails",  # 16d², GELU
    "q06.s003-28": "fails",  # 24d² + 4nd = 17,301,504
    "q06.s003-29": "fails",  # 6·N is a factor: 747M
    "q06.s003-34": "holds-if",  # training; batch-1 decode is below 1 %
    "q06.s003-40": "holds",  # bandwidth-bound operations, gaps, recomputation
    "q06.s004-005": "holds-if",  # 57.7 %; above 90 % only with full waves and clocks
    "q07.s000-01": "fails",  # 4n²d = 1.07 GFLOP a head, 256 times 2048²
    "q07.s000-02": "fails",  # 4nd² = 33.6 MFLOP a head
    "q07.s000-03": "holds-if",  # forward; 7 products for 6 in training, less traffic
    "q07.s002-12": "holds-if",  # 840 TFLOP/s, 85 %, of the third on an H100; 40, 73 and 71 % of the others
    "q07.s002-13": "holds-if",  # FP16, d = 64: 4n²d / 8n² B = 32 FLOP/B, 49.8 of 312 TFLOP/s
    "q07.s002-15": "holds-if",  # the traffic; the memory kept is O(n)
    "q07.s003-05": "holds-if",  # scores and values only; layers 6.18, all 5.59
    "q07.s003-06": "holds-if",  # 8nd² + 4n²d: for n far above 2d
    "q07.s003-14": "holds-if",  # exp as one, no maximum
    "q07.s003-15": "fails",  # 64 · 63 = 4,032
    "q07.s003-16": "fails",  # 5n²
    "q07.s003-17": "fails",  # 5/3 at every n
    "q07.s003-18": "fails",  # NaN above 88.7
    "q07.s003-19": "fails",  # AttributeError
    "q07.s003-20": "fails",  # a select; n(n + 1)/2 pairs
    "q07.s003-21": "holds-if",  # 3 · 4096² = 50.3e6 for one head
    "q07.s003-22": "fails",  # 5/(4d) at every n; the traffic costs the time
    "q07.s004-026": "fails",  # the same O(n²d), more in training
    "q07.s004-049": "fails",  # 134.2e6 numbers: 256 or 512 MiB a head
    "q07.s004-050": "fails",  # 544 + 1024 + 544 = 2112 MiB, or 1056
    "q07.s004-054": "holds-if",  # formula right; 33.6 MB in 16 bit, 67.1 in 32
    "q08.s002-04": "holds-if",  # mixed in 16 bit and TF32; in true fp32 with folded norms 99 % arithmetic
    "q08.s003-72": "holds",  # pixels to the first power against 8nd² … + 4n²d
    "q08.s004-070": "fails",  # C_out·(C_in·K²)·(H·W) either way; 9 times the memory for 3×3
    "q08.s004-071": "fails",  # (1/0.3)/(2/0.9) = 1.5, not 6
    "q08plus.own-33": "fails",  # 132 · 128 · 1.98e9 = 33.45e12 multiply-adds: 66.9 TFLOP/s, ×14.8
    "q08plus.s001-11": "fails",  # multiply-adds; FLOPs are twice that
    "q08plus.s003-07": "holds",  # k multiplications, k − 1 additions
    "q08plus.s003-08": "holds",  # 24 against 20: 4/20
    "q08plus.s003-09": "fails",  # 6912 · 1.41e9 · 2 = 19.5e12, and so on all sheets
    "q08plus.s003-10": "holds",  # by one half, against a peak in FLOP/s
    "q08plus.s003-13": "holds-if",  # only with a sparse format and kernel
    "q08plus.s003-36": "fails",  # multiply and add
}
CLAIMS = [id for unit in units.names() for id, card in units.cards(unit).items() if card["kind"] == "claim"]


def test_every_claim_is_in_the_ledger_and_the_other_way_round():
    assert set(CLAIMS) == set(LEDGER)


@pytest.mark.parametrize("id", CLAIMS)
def test_the_code_decides_as_the_derivation_does(id):
    card = read_card(id)
    verdict = answers.answer(card).verdict
    assert verdict.ruling == LEDGER[id]
    assert answer_html.evidence(card, verdict), "a ruling without evidence persuades nobody"
    assert answer_html.because(card, verdict) or verdict.ruling != "holds-if", (
        "a condition is stated where there is one"
    )
    assert card.corrected


@pytest.mark.parametrize("unit", [unit for unit in units.names() if (units.root() / unit / "claims.py").is_file()])
def test_the_docket_shows_every_ruling_of_the_unit(unit):
    text = repr(verdicts(units.prefix(unit)))
    mine = [id for id in CLAIMS if units.unit_of(id) == unit]
    rulings = [line.split(":")[0] for line in text.splitlines()[1:]]
    assert rulings == [RULINGS[LEDGER[id]] for id in mine]


def test_the_docket_of_an_unknown_unit_is_one_calm_line():
    assert len(repr(verdicts("q99")).splitlines()) == 1
