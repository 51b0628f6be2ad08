"""Every claim on trial is decided by running its code, and the ruling is the one that was derived by hand.

LEDGER was typed from the course's ledger of claims, which was derived on paper and by measurement before this code
existed and knows nothing of `claims.py`. A claim that is not in it fails here: nobody adds one without a derivation.
"""

import pytest

from course_lib.teaching import answers, units
from course_lib.teaching.card_texts import read_card
from course_lib.teaching.docket import RULINGS, verdicts

LEDGER = {
    "q05.s002-01": "fails",  # batch 1: 25 tiles for 108 multiprocessors, 0.7 µs
    "q05.s002-02": "fails",  # intensity about 2,000 against a ridge of 201
    "q05.s002-03": "fails",  # intensity n/3 rises with n
    "q05.s002-05": "fails",  # 900 GB/s are a V100's
    "q05.s002-06": "fails",  # n/6 in fp32: 683 at n = 4096
    "q05.s002-07": "holds",  # 20e12 / 2 = 10e12
    "q05.s002-08": "fails",  # 900e9 / 10e13 = 0.9 %
    "q05.s002-14": "holds-if",  # forward only; 7 products for 6 in training
    "q05.s002-18": "fails",  # any ratio
    "q05.s004-006": "holds-if",  # at 1.5 TB/s
    "q05.s004-007": "fails",  # 100.7 MB, 1365 FLOP/B
    "q05.s004-008": "holds",  # 1/12 FLOP/B, 125 GFLOP/s at 1.5 TB/s
    "q05.s004-009": "fails",  # 4.2 MB: 19 %, not 77 %
    "q05.s004-011": "fails",  # 100 MB is perfect reuse
    "q05.s004-012": "fails",  # a bound must fall with the cache
    "q05.s004-026": "fails",  # the same O(n²d)
}
CLAIMS = [id for unit in units.names() for id, card in units.cards(unit).items() if card["kind"] == "claim"]


def test_every_claim_is_in_the_ledger_and_the_other_way_round():
    assert set(CLAIMS) == set(LEDGER)


@pytest.mark.parametrize("id", CLAIMS)
def test_the_code_decides_as_the_derivation_does(id):
    card = read_card(id)
    verdict = answers.answer(card).verdict
    assert verdict.ruling == LEDGER[id]
    assert verdict.evidence, "a ruling without evidence persuades nobody"
    assert verdict.because or verdict.ruling != "holds-if", "a condition is stated where there is one"
    assert card.corrected


@pytest.mark.parametrize("unit", [unit for unit in units.names() if (units.root() / unit / "claims.py").is_file()])
def test_the_docket_shows_every_ruling_of_the_unit(unit):
    text = repr(verdicts(units.prefix(unit)))
    mine = [id for id in CLAIMS if units.unit_of(id) == unit]
    rulings = [line.split(":")[0] for line in text.splitlines()[1:]]
    assert rulings == [RULINGS[LEDGER[id]] for id in mine]


def test_the_docket_of_an_unknown_unit_is_one_calm_line():
    assert len(repr(verdicts("q99")).splitlines()) == 1
