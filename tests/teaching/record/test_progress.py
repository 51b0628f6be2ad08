"""What `progress()` says of a record, and how it says it."""

import math
import re
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course_lib import units
from course_lib.teaching.cards.card import card
from course_lib.teaching.checks.check import check
from course_lib.teaching.record import progress_view
from course_lib.teaching.record.progress import REVISIT, progress
from course_lib.teaching.record.record import Record

TOY = Path(__file__).parents[1] / "toy_units" / "lessons" / "t1_toy"


def reveal(id: str, sure: str, right: bool | None, decades: float | None = None, value=1.0, **more):
    """A first guess and its reveal, as a card records them."""
    Record.open().add("guess", id, {"value": value, "text": str(value), "sure": sure, **more})
    Record.open().add("reveal", id, {"truth": 2.0, "right": right, "decades": decades, **more})


def the_unit(prefix: str):
    (unit,) = (unit for unit in progress().units if units.prefix(unit.unit) == prefix)
    return unit


def test_cards_decades_calibration_and_checks_are_counted(toys):
    reveal("t1.speed-up", "very", False, -2.0)
    reveal("t1.bytes", "very", True, 0.1)
    reveal("t1.zeros", "guess", True)
    Record.open().add("guess", "t1.share", {"value": 1.0, "sure": "fairly"})
    for id, outcome in [("t1.e1", "wrong"), ("t1.e1", "right"), ("t1.e2", "raised"), ("t1.e3", "stub")]:
        Record.open().add("check", id, {"outcome": outcome})
    found, unit = progress(), the_unit("t1")
    assert (unit.unit, unit.title, unit.part) == ("t1_toy", "T1. A toy: how long does it take?", "A. Toys")
    assert (unit.committed, unit.revealed) == (4, 3)
    assert unit.decades == pytest.approx((2.0 + 0.1) / 2)  # off by two decades and by a tenth: the median is in between
    assert (unit.solved, unit.tried) == (1, 2)
    assert found.off == {"t1.speed-up": -2.0, "t1.bytes": 0.1}
    assert found.calibration == {"guess": (1, 1), "fairly": (0, 0), "very": (1, 2)}


def test_a_real_card_reaches_progress(toys):
    live = card("t1.speed-up")
    live.act({"do": "commit", "guess": "10000", "sure": "very"})
    live.act({"do": "reveal"})
    found, (item,) = progress(), progress().revisit
    assert found.calibration["very"] == (0, 1)
    assert (the_unit("t1").committed, the_unit("t1").revealed) == (1, 1)
    times = re.fullmatch(r"Your first guess, 10,000 ×, was ([\d,]+) times too high\.", item.why)
    assert float(times[1].replace(",", "")) == pytest.approx(10 ** found.off["t1.speed-up"], rel=0.01)
    assert item.title.startswith("A layer gets 100 rows in place of one, 100 times the FLOPs.")


# ---- Exercises ---------------------------------------------------------------------------------------------------


def arithmetic_intensity(m, k, n, bytes_per_element):
    return 2 * m * k * n / ((m * k + k * n + m * n) * bytes_per_element)


def stub(m, k, n, bytes_per_element):
    raise NotImplementedError


def forgets_the_product(m, k, n, bytes_per_element):
    return 2 * m * k * n / ((m * k + k * n) * bytes_per_element)


@pytest.mark.parametrize(
    ("tries", "counted", "again"),
    [
        ([stub], (0, 0), False),
        ([stub, forgets_the_product], (0, 1), True),
        ([forgets_the_product, arithmetic_intensity], (1, 1), False),
        ([arithmetic_intensity, stub], (1, 1), False),
        ([arithmetic_intensity, forgets_the_product], (1, 1), False),
    ],
)
def test_what_check_found_reaches_progress(learner, tries, counted, again):
    for function in tries:
        check("q05.intensity", function)
    unit = the_unit("q05")
    assert (unit.solved, unit.tried) == counted
    assert unit.exercises == sum(each["points"] > 0 for each in units.checks(unit.unit).values())
    assert f"{counted[0]} of {unit.exercises}" in str(progress())
    assert ["arithmetic_intensity" in item.title for item in progress().revisit] == [True] * again


# ---- What does not count -----------------------------------------------------------------------------------------


def test_claims_that_stand_only_on_the_docket_are_no_cards(toys):
    stated = (TOY / "cards.toml").read_text()
    tables, docket = len(re.findall(r"^kind = ", stated, re.MULTILINE)), stated.count("docket = true")
    assert docket == 1
    reveal("t1.s000-02", "very", True)
    unit = the_unit("t1")
    assert (unit.cards, unit.committed, unit.revealed) == (tables - docket, 0, 0)
    assert progress().calibration["very"] == (1, 1)


def test_your_turns_are_neither_exercises_nor_worth_a_second_look(toys, monkeypatch):
    """A record keeps them, with their points, which are none."""
    monkeypatch.setattr(units, "checks", lambda unit: {"t1.e1": {"points": 2}, "t1.turn": {"points": 0}})
    for id, points in [("t1.turn", 0), ("t1.e1", 2)]:
        Record.open().add("check", id, {"outcome": "wrong", "points": points})
    unit = the_unit("t1")
    assert (unit.exercises, unit.tried, unit.solved) == (1, 1, 0)
    assert [item.id for item in progress().revisit] == ["t1.e1"]


def test_calibration_goes_by_the_first_guess(toys):
    Record.open().add("guess", "t1.speed-up", {"value": 9.0, "sure": "very"})
    reveal("t1.speed-up", "guess", False)
    assert progress().calibration["very"] == (0, 1)
    assert progress().calibration["guess"] == (0, 0)


def test_a_reflection_is_done_and_not_judged(toys):
    reveal("t1.why", "", None, value="because the weights travel once")
    assert (the_unit("t1").committed, the_unit("t1").revealed) == (1, 1)
    assert set(progress().calibration.values()) == {(0, 0)}
    assert progress().off == {}
    assert progress().revisit == ()


def test_later_rounds_are_practice_and_change_no_number(toys):
    reveal("t1.speed-up", "very", False, 2.0)
    before = progress()
    reveal("t1.speed-up", "guess", False, -3.0, round=1)
    reveal("t1.bytes", "very", False, 3.0, round=1)
    assert progress() == before


def test_a_card_that_came_out_right_with_new_numbers_needs_no_second_look(toys):
    reveal("t1.speed-up", "very", False, 2.0)
    assert len(progress().revisit) == 1
    reveal("t1.speed-up", "very", True, 0.0, round=1)
    assert progress().revisit == ()
    assert progress().off == {"t1.speed-up": 2.0}  # the first guess stays what it was


def test_a_card_that_the_unit_no_longer_has_is_not_counted_as_one_of_its_cards(toys):
    reveal("t1.bytes", "very", True)
    reveal("t1.long-gone", "very", False, 2.0)
    assert (the_unit("t1").committed, the_unit("t1").revealed) == (1, 1)
    assert [item.title for item in progress().revisit] == ["t1.long-gone"]


# ---- Transfer and review -----------------------------------------------------------------------------------------


def transfer(id: str, guess: float, bound: float, truth: float):
    """A transfer card as its widget records it."""
    Record.open().add("guess", id, {"value": guess, "text": str(guess), "bound": bound})
    off, inside = math.log10(guess / truth), truth / bound <= guess <= truth * bound
    Record.open().add("reveal", id, {"truth": truth, "right": False, "decades": off, "within": inside})


def test_the_bounds_of_transfer_cards_are_held_against_what_came(toys):
    transfer("t1.a", 30.0, 2.0, 10.0)
    assert "the answer lay outside your own bound." in str(progress())
    assert "off by a factor of 2, as you said; you were off by a factor of 3." in str(progress())
    transfer("t1.b", 40.0, 5.0, 10.0)
    transfer("t1.c", 2.0, 9.0, 10.0)
    for said in (str(progress()), progress()._repr_html_()):
        assert "inside your own bound 2 of 3 times (67 %)." in said
        assert "off by a factor of 5 (median); you were off by a factor of 4 (median)." in said
    assert progress().off.keys() == {"t1.a", "t1.b", "t1.c"}
    assert set(progress().calibration.values()) == {(0, 0)}


def test_a_transfer_card_reaches_progress(toys):
    live = card("t1.new-device")
    live.act({"do": "commit", "guess": "10", "sure": "2"})
    live.act({"do": "reveal"})
    (found,) = progress().transfer.values()
    assert (found.own, found.actual, found.inside) == (2.0, pytest.approx(1.5), True)
    assert "Transfer question: the answer lay inside your own bound." in str(progress())


def test_without_a_transfer_card_nothing_is_said_of_one(toys):
    reveal("t1.speed-up", "very", True, 0.0)
    assert progress().transfer == {}
    assert "Transfer" not in str(progress())


def test_it_says_how_many_questions_are_due(toys):
    today = date.today()
    Record.open().add("guess", "t1.bytes", {"value": 1.0, "text": "1", "sure": "very"})  # nothing is revealed yet
    assert "Review" not in str(progress())
    reveal("t1.speed-up", "very", False, 2.0)
    reveal("t1.why", "", None)
    assert progress_view.say("due", "none") in str(progress(today=today))
    tomorrow = progress(today=today + timedelta(days=1))
    assert tomorrow.due == 1
    assert progress_view.say("due", "one") in str(tomorrow)
    reveal("t1.zeros", "guess", True)
    tomorrow = progress(today=today + timedelta(days=1))
    for said in (str(tomorrow), tomorrow._repr_html_()):
        assert "Review: 2 questions are due." in said


# ---- What to revisit ---------------------------------------------------------------------------------------------


def test_the_most_surprising_comes_first(toys):
    reveal("t1.bytes", "guess", False, 1.2, value=7.0)
    reveal("t1.speed-up", "guess", False, -2.5, value=0.5)
    reveal("t1.zeros", "very", False, value="faster")
    reveal("t1.share", "very", False, 0.9)  # wrong, but within a decade
    reveal("t1.s000-01", "fairly", False, value="holds")  # wrong, but not very sure
    Record.open().add("check", "t1.e1", {"outcome": "wrong"})
    assert [(item.id, item.why) for item in progress().revisit] == [
        ("t1.speed-up", "Your first guess, 0.5 ×, was 316 times too low."),
        ("t1.zeros", "You were very sure of an answer that is not right."),
        ("t1.bytes", "Your first guess, 7 GB, was 15.8 times too high."),
        ("t1.e1", "You have tried this exercise; it is not right yet."),
    ]


def test_the_list_is_short(learner):
    for id in [id for unit in units.names() for id in units.cards(unit)]:
        reveal(id, "very", False, 3.0)
    assert sum(len(units.cards(unit)) for unit in units.names()) > REVISIT
    assert len(progress().revisit) == REVISIT


def test_links_lead_to_the_notebooks_from_where_one_is(learner, monkeypatch):
    reveal("q05.linear-1-to-100", "very", False, 2.0)
    Record.open().add("check", "q05.intensity", {"outcome": "wrong"})
    assert [item.notebook for item in progress().revisit] == ["", ""]  # no such files in this folder
    for path in ("notebooks", "exercises/q05_flops_are_not_time"):
        (learner / path).mkdir(parents=True)
        (learner / path / "q05_flops_are_not_time.ipynb").write_text("")
    for folder in ("notebooks", "exercises/q05_flops_are_not_time", "."):
        monkeypatch.chdir(learner / folder)
        found = [item.notebook for item in progress().revisit]
        assert all(not Path(link).is_absolute() for link in found)
        assert [Path(link).resolve() for link in found] == [
            learner / "notebooks/q05_flops_are_not_time.ipynb",
            learner / "exercises/q05_flops_are_not_time/q05_flops_are_not_time.ipynb",
        ]
        assert all(f'<a href="{link}' in progress()._repr_html_() for link in found)


def test_a_link_leads_to_the_cell_of_the_card(toys, monkeypatch):
    (toys / "notebooks").mkdir()
    (toys / "notebooks" / "t1_toy.ipynb").write_text("")
    reveal("t1.speed-up", "very", False, 2.0)
    monkeypatch.setattr(units, "about", lambda unit: {"cells": {"t1.speed-up": "abc123"}})
    assert '<a href="notebooks/t1_toy.ipynb#cell-id=abc123">A layer gets' in progress()._repr_html_()
    monkeypatch.setattr(units, "about", lambda unit: {})
    assert '<a href="notebooks/t1_toy.ipynb">A layer gets' in progress()._repr_html_()


# ---- How it is said ----------------------------------------------------------------------------------------------


def test_an_empty_record_says_how_to_begin(toys):
    found = progress()
    assert [(u.unit, u.committed) for u in found.units] == [("t1_toy", 0)]
    for said in (str(found), found._repr_html_()):
        assert progress_view.say("empty") in said
        assert "Worth a second look" not in said
        assert "very sure" not in said
        assert "T1. A toy" in said
    assert "<svg" not in found._repr_html_()


def test_parts_carry_the_sums_of_their_units(learner):
    reveal("q05.linear-1-to-100", "very", False, 2.0)
    reveal("00.practice", "very", True, 0.2)
    lines = str(progress()).splitlines()
    part = [unit for unit in units.names() if units.about(unit).get("part") == "A. Memory and compute"]
    cards = {unit: sum(table.get("docket") is not True for table in units.cards(unit).values()) for unit in part}
    for title, total in (("A. Memory", sum(cards.values())), ("Q5. ", cards["q05_flops_are_not_time"])):
        (line,) = (line for line in lines if line.startswith(title))
        assert f"1 of {total}" in line
        assert "× 100 (2.00 decades)" in line
    (line,) = (line for line in lines if line.startswith("Where did the FLOPs go?"))
    assert "× 1.58 (0.20 decades)" in line
    assert "Half of your first guesses at a number were within a factor of 12.6 of the answer (1.10 decades)." in lines


def test_a_row_of_the_calibration_is_read_from_five_guesses_on(toys):
    ids = ["t1.speed-up", "t1.bytes", "t1.share", "t1.zeros", "t1.s000-01"]
    for id in ids[:4]:
        reveal(id, "very", id != "t1.bytes")
    assert progress_view.say("too-few") in str(progress())
    reveal(ids[4], "very", True)
    for said in (str(progress()), progress()._repr_html_()):
        assert "Very sure: right 4 of 5 times. You can trust that feeling." in said
        assert "80 %" in said
        assert progress_view.say("too-few") not in said


def test_being_sure_and_wrong_is_said(toys):
    for id in ("t1.speed-up", "t1.bytes", "t1.share", "t1.zeros", "t1.s000-01"):
        reveal(id, "very", False)
    assert "Very sure: right 0 of 5 times. It should be nine in ten" in str(progress())


def test_the_strip_says_in_words_what_it_draws():
    off = [-2.4, -0.9, -0.2, 0.0, 0.1, 0.25, 0.5, 7.0]
    picture = progress_view.strip(off)
    root = ElementTree.fromstring(picture)
    dots = [node for node in root.iter() if node.get("class") == "dot"]
    assert [node.tag for node in dots] == ["circle"] * 7 + ["path"]  # the last lies beyond the axis
    words = (
        "First guesses at a number: 8. Within a factor of two: 4; within ten: 2; further off: 2. "
        "Too low: 3; too high: 4."
    )
    assert root.get("aria-label") == words
    centres = [float(node.get("cx")) for node in dots[:7]]
    middle = progress_view.WIDTH / 2
    assert [x < middle for x in centres] == [value < 0 for value in off[:7]]
    assert centres[3] == middle
    places = [(float(node.get("cx")), float(node.get("cy"))) for node in dots[:7]]
    distances = [((a - c) ** 2 + (b - d) ** 2) ** 0.5 for a, b in places for c, d in places if (a, b) != (c, d)]
    assert len(set(places)) == 7
    assert min(distances) >= 12  # two radii and a stroke: no dot covers another


@pytest.mark.parametrize("off", [[0.0, 0.0], [1e9, -1e9], [0.1] * 40, [5.5, -5.5]])
def test_the_strip_draws_any_guesses_within_its_box(off):
    root = ElementTree.fromstring(progress_view.strip(off))
    _, _, width, height = map(float, root.get("viewBox").split())
    for node in root.iter():
        if node.get("class") == "dot" and node.tag == "circle":
            assert 5 <= float(node.get("cx")) <= width - 5
            assert 5 <= float(node.get("cy")) <= height - 5


def test_texts_of_others_do_not_become_markup(toys):
    reveal("t1.<script>", "very", False, 2.0, value="<b>")
    page = progress()._repr_html_()
    assert "t1.&lt;script&gt;" in page
    assert "<script" not in page
    assert "<b>" not in page


# ---- Records that are not as expected ----------------------------------------------------------------------------


def test_events_of_a_unit_that_is_gone_are_kept_apart(toys):
    Record.open().add("reveal", "q99.gone", {"decades": "far"})
    assert [u.unit for u in progress().units] == ["t1_toy", "q99"]
    assert progress_view.say("gone") in str(progress())


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"decades": True, "right": "yes"},
        {"decades": 1e400, "right": None},
        {"decades": -400.0, "right": False, "truth": None},
        {"value": None, "sure": ["very"], "round": "1"},
        {"round": [1], "right": True},
        {"outcome": {"a": 1}},
        {"bound": -3.0, "within": True, "decades": 0.5},
        {"bound": "3", "within": True, "decades": 0.5},
        {"bound": 1e308, "within": "no", "decades": 0.5},
        {"bound": 1e308, "within": False, "decades": 1e308},
        {"did": "reveal", "on": "9999-12-31", "right": True, "in": ["q01"]},
    ],
)
def test_strange_events_stop_nothing(toys, payload):
    for kind in ("guess", "hint", "reveal", "round", "check", "later"):
        for id in ("t1.speed-up", "t1.zeros", "", ".", "t1", "nowhere.at-all"):
            Record.open().add(kind, id, payload)
    found = progress()
    assert str(found)
    assert found._repr_html_()


def test_a_cards_file_that_cannot_be_read_stops_nothing(toys, monkeypatch):
    reveal("t1.speed-up", "very", False, 2.0)
    with monkeypatch.context() as patch:
        patch.setattr(units, "cards", lambda unit: (_ for _ in ()).throw(ValueError("cards.toml cannot be read")))
        assert "100 times too high" in str(progress())
