"""`review()`: which questions it asks, what it keeps, and that it never stops a notebook."""

import json
import os
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib import review, units
from course_lib.teaching.cards import answers
from course_lib.teaching.cards.card import card
from course_lib.teaching.record import exchange
from course_lib.teaching.record import review as reviews
from course_lib.teaching.record.progress import progress
from course_lib.teaching.record.record import Record

ROOT = Path(__file__).parents[3]
TODAY = date.today()
"""Events written by a live card have the time of now."""


def ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def answered(id: str, days: int, right: bool = True, sure: str = "very", value=1.0, **more) -> list[dict]:
    """The events of a card that was answered so many days ago, as a card of the first version of this course wrote
    them.
    """
    guess = {"value": value, "text": str(value), "sure": sure, **more}
    found = {"truth": 2.0, "right": right, "decades": None, **more}
    kinds = {"guess": guess, "reveal": found}
    return [{"kind": kind, "id": id, "at": ago(days), "payload": payload} for kind, payload in kinds.items()]


def keep(*histories: list[dict]) -> None:
    Record.open().merge([event for history in histories for event in history])


def asked(prefix: str = "t2", today: date = TODAY) -> list[tuple[str, int]]:
    """(card, round) of the questions of a review."""
    found = reviews.questions(Record.open().events(), units.unit_of(f"{prefix}."), today)
    return [(question.card.id, question.card.round) for question in found]


def shown(prefix: str = "t2", today: date = TODAY):
    return review(prefix, today).cards


def commit(live, guess: str, sure: str = "very") -> str:
    live.act({"do": "commit", "guess": guess, "sure": sure})
    live.act({"do": "reveal"})
    return live.widget.view["answer"]


# ---- Which questions ---------------------------------------------------------------------------------------------


def test_nothing_is_asked_on_the_first_day(toys):
    assert repr(review("t2")) == reviews.say("none")
    keep(answered("t1.bytes", 0, right=False))
    assert repr(review("t2")) == reviews.say("none")
    assert asked(today=TODAY + timedelta(days=1)) == [("t1.bytes", 0)]


def test_what_was_missed_comes_before_what_is_long_ago_and_two_are_asked(toys):
    keep(answered("t1.bytes", 30), answered("t1.share", 20, right=False), answered("t1.speed-up", 10, right=False))
    assert asked() == [("t1.share", 0), ("t1.speed-up", 0)]


def test_where_nothing_is_due_the_two_longest_unmet_are_asked(toys):
    keep(answered("t1.share", 1), answered("t1.bytes", 2), answered("t1.speed-up", 1))
    assert progress(today=TODAY).due == 0
    assert asked() == [("t1.bytes", 0), ("t1.share", 0)]


def test_claims_reflections_unrevealed_guesses_and_what_is_gone_are_not_asked(toys):
    keep(
        answered("t1.s000-01", 9, right=False),
        answered("t1.why", 9, right=None, sure=""),
        answered("t1.share", 9)[:1],
        answered("t1.long-gone", 9, right=False),
        answered("t1.incomplete", 9, right=False),
        answered("t7.of-a-unit-that-is-gone", 9, right=False),
    )
    assert asked() == []
    assert progress(today=TODAY).due == 0


def numbers(prefix: str) -> list[str]:
    """The number cards of a unit of the course."""
    return [id for id, table in units.cards(units.unit_of(f"{prefix}.")).items() if table["kind"] == "number"]


def test_only_units_before_this_one_are_asked(learner):
    one, five = numbers("q01")[0], numbers("q05")[0]
    keep(*(answered(id, 9, right=False) for id in (one, five, numbers("q08plus")[0])))
    found = {prefix: [id for id, _ in asked(prefix)] for prefix in ("00", "q01", "q02", "q05", "q06", "q08")}
    assert found["00"] == found["q01"] == []
    assert found["q02"] == found["q05"] == [one]
    assert found["q06"] == found["q08"] == [one, five]


def test_units_are_read_in_the_order_of_their_numbers(monkeypatch):
    names = ["00_start", "case1_x", "claims", "q02_b", "q08_h", "q08plus_p", "q10_j", "q9_i"]
    monkeypatch.setattr(units, "names", lambda: names)
    assert units.in_order() == ["00_start", "q02_b", "q08_h", "q08plus_p", "q9_i", "q10_j", "case1_x", "claims"]


def test_another_round_than_the_last_one_is_asked(toys):
    keep(answered("t1.rows", 9))
    assert asked() == [("t1.rows", 1)]
    keep(answered("t1.rows", 8, round=2))
    assert asked() == [("t1.rows", 0)]  # after the last round the first
    assert "100 rows" in shown()[0].widget.face["rounds"][0]["prompt"]


def test_two_reviews_on_one_day_ask_no_question_twice(learner):
    chosen = [*numbers("q01")[:2], *numbers("q02")[:2]]
    keep(*(answered(id, 9, right=False) for id in chosen))
    first = asked("q05")
    assert asked("q06") == first, "nothing was answered yet"
    for id, round in first:
        page = reviews.Page(Record.open(), "q05", TODAY, round)
        page.add("guess", id, {"value": 1.0, "sure": "very"})
        page.add("reveal", id, {"right": True})
    assert asked("q05") == first, "shown again it is the same"
    assert {id for id, _ in asked("q06")} == set(chosen) - {id for id, _ in first}


# ---- What is kept ------------------------------------------------------------------------------------------------


def test_an_answer_is_kept_as_a_further_encounter_and_the_first_guess_stays_what_it_was(toys):
    keep(answered("t1.speed-up", 9, right=False, value=1000.0), answered("t1.zeros", 8, right=False, value="faster"))
    before, events = progress(today=TODAY), Record.open().events()
    assert before.due == 2
    live, other = shown()
    assert "You said 1.05 ×; it is 1.05 ×." in commit(live, "1.05")
    after = progress(today=TODAY)
    assert after.due == 1
    assert (after.units, after.off, after.calibration) == (before.units, before.off, before.calibration)
    assert [item.id for item in after.revisit] == ["t1.zeros"], "answered right since"
    assert Record.open().events()[: len(events)] == events
    assert [event["kind"] for event in Record.open().events()[len(events) :]] == ["review", "review"]
    assert card("t1.speed-up").widget.view["guess"] == "1000.0", "the card in its lesson is as it was"
    assert asked() == [("t1.speed-up", 0), ("t1.zeros", 0)]
    assert other.widget.view["guess"] == ""
    assert asked(today=TODAY + timedelta(days=1)) == [("t1.zeros", 0), ("t1.speed-up", 0)]
    exchange.export(Record.open(), "mine.csv")
    row = next(line for line in Path("mine.csv").read_text().splitlines() if line.startswith("t1.speed-up"))
    assert row.count("1000.0") == 1
    assert "1.05" not in row


def test_a_review_comes_back_as_it_was_and_is_new_on_another_day(toys):
    keep(answered("t1.rows", 9), answered("t1.zeros", 9))
    live = next(live for live in shown() if live._card.id == "t1.rows")
    live.act({"do": "hint"})
    commit(live, "100")
    live.act({"do": "again"})
    assert live.widget.face["buttons"].keys() == {"commit", "retry", "reveal", "hint"}
    before = {**live.widget.view, "turn": 0}
    assert {"You said 100 ×" in before["answer"], "3.44" in before["answer"]} == {True}  # 1 + 10000/4096
    assert before in [{**again.widget.view, "turn": 0} for again in shown()]
    assert all(again.widget.view["saved"] == 0 for again in shown(today=TODAY + timedelta(days=9)))
    assert dict(asked(today=TODAY + timedelta(days=9)))["t1.rows"] == 2


def test_past_midnight_the_day_of_a_review_is_that_on_which_it_was_shown(toys):
    keep(answered("t1.bytes", 9, right=False))
    commit(shown(today=TODAY - timedelta(days=1))[0], "0.5")
    (last,) = (event for event in Record.open().events() if event["payload"].get("did") == "reveal")
    assert last["at"] > ago(0)[:10]
    assert progress(today=TODAY).due == 0  # right on the day before: box 2, three days
    assert progress(today=TODAY + timedelta(days=1)).due == 0
    assert progress(today=TODAY + timedelta(days=2)).due == 1


def test_a_draft_of_a_review_is_none_of_the_lesson(toys):
    keep(answered("t1.bytes", 9))
    faces = [
        card("t1.bytes").widget.face,
        shown()[0].widget.face,
        shown(today=TODAY + timedelta(days=1))[0].widget.face,
    ]
    assert len({face["draft"] for face in faces}) == 3


def test_a_record_of_an_older_course_and_its_unknown_events_are_kept(toys):
    strange = {"kind": "review", "id": "t1.bytes", "at": "soon", "payload": {"did": ["reveal"], "on": 3, "in": {}}}
    keep(answered("t1.bytes", 9), [strange])
    commit(shown()[0], "0.5")
    assert strange in json.loads(Path(".course/record.json").read_text())["events"]
    assert json.loads(Path(".course/record.json").read_text())["schema"] == 1


# ---- In every case something to show -----------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["q99", "", None, 5, "t1.bytes.x", "no such"])
def test_a_unit_that_is_none_gives_one_line(toys, prefix):
    line = repr(review(prefix))
    assert "\n" not in line
    assert line == (reviews.say("none") if prefix == "t1.bytes.x" else reviews.say("no-unit", prefix=prefix))


def test_the_static_form_is_one_line_and_needs_no_record(toys, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    monkeypatch.setattr(Record, "open", lambda *_: pytest.fail("a built page knows no learner"))
    assert repr(review("t2")) == reviews.say("elsewhere")


def test_without_widgets_one_line_names_the_package(toys, monkeypatch):
    keep(answered("t1.bytes", 9))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert "pip install ipywidgets" in repr(review("t2"))


def test_a_cards_file_that_cannot_be_read_stops_nothing(toys, monkeypatch):
    keep(answered("t1.bytes", 9))
    with monkeypatch.context() as patch:
        patch.setattr(units, "cards", lambda unit: (_ for _ in ()).throw(ValueError("cards.toml cannot be read")))
        assert repr(review("t2")) == reviews.say("none")
    assert len(shown()) == 1


def test_to_show_it_computes_no_answer(toys, monkeypatch):
    keep(answered("t1.bytes", 9), answered("t1.zeros", 9))
    monkeypatch.setattr(answers, "answer", lambda _: pytest.fail("an answer may take seconds"))
    assert len(shown()) == 2


def test_what_goes_wrong_with_an_answer_is_said_in_its_card(toys):
    keep(answered("t1.raises", 9))
    (live,) = shown()
    assert commit(live, "3") == ""
    assert "course doctor" in live.widget.view["message"]


@pytest.mark.slow
def test_a_kernel_runs_the_cell_with_and_without_a_record(learner, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(learner / "ipython"))
    outputs = {}
    for case in ("first day", "later"):
        cells = [nbformat.v4.new_code_cell("from course_lib import review"), nbformat.v4.new_code_cell('review("q06")')]
        page = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(page, timeout=120, resources={"metadata": {"path": os.getcwd()}}).execute()
        outputs[case] = [output.get("data", {}) for output in page.cells[1].outputs]
        keep(answered(numbers("q05")[0], 9, right=False))
    assert [data["text/plain"] for data in outputs["first day"]] == [reviews.say("none")]
    assert "application/vnd.jupyter.widget-view+json" in outputs["later"][0]
    assert [data["text/plain"] for data in outputs["later"]] == ["review q06", reviews.say("gone")]
