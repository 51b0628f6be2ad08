"""Every claim on trial is decided by running its code, and the ruling is the one that was derived by hand.

`ledger.toml` of each unit was derived on paper and by measurement, and knows nothing of `claims.py`, as that knows
nothing of it. A claim that is not in it fails here: nobody adds one without a derivation.
"""

import tomllib

import pytest

from course_lib import units
from course_lib.teaching.cards import answer_html, answers
from course_lib.teaching.cards.card_texts import read_card
from course_lib.teaching.cards.docket import verdicts

CLAIMS = [id for unit in units.names() for id, card in units.cards(unit).items() if card["kind"] == "claim"]
LEDGER = {
    id: ruling
    for unit in units.names()
    if (path := units.home() / "lessons" / unit / "ledger.toml").is_file()
    for name, ruling in tomllib.loads(path.read_text(encoding="utf-8")).items()
    if (id := f"{units.prefix(unit)}.{name}") in CLAIMS
}
SHOWN = {"holds": "✓ holds", "holds-if": "~ holds if …", "fails": "✗ fails"}


def test_every_claim_is_in_the_ledger():
    assert set(CLAIMS) == set(LEDGER)


SECONDS = {"case4.s004-045"}  # every tensor that a process holds is looked for


@pytest.mark.parametrize("id", [pytest.param(id, marks=[pytest.mark.slow] * (id in SECONDS)) for id in CLAIMS])
def test_the_code_decides_as_the_derivation_does(id):
    card = read_card(id)
    verdict = answers.answer(card).verdict
    assert verdict.ruling == LEDGER[id]
    assert answer_html.evidence(card, verdict), "a ruling without evidence persuades nobody"
    assert answer_html.because(card, verdict) or verdict.ruling != "holds-if", (
        "a condition is stated where there is one"
    )
    assert card.corrected


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(unit, marks=[pytest.mark.slow] * any(units.unit_of(id) == unit for id in SECONDS))
        for unit in units.names()
        if (units.home() / "lessons" / unit / "claims.py").is_file()
    ],
)
def test_the_docket_shows_every_ruling_of_the_unit(unit):
    text = repr(verdicts(units.prefix(unit)))
    mine = [id for id in CLAIMS if units.unit_of(id) == unit]
    rulings = [line.split(":")[0] for line in text.splitlines()[1:]]
    assert rulings == [SHOWN[LEDGER[id]] for id in mine]


def test_the_docket_of_an_unknown_unit_is_one_calm_line():
    assert len(repr(verdicts("q99")).splitlines()) == 1
