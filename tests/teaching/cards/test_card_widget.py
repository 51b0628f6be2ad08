"""A live card driven by the messages that its page sends, without a browser."""

import contextlib
import json

import pytest

from course_lib import card
from course_lib.teaching.cards import answers, card_widget
from course_lib.teaching.cards.card_texts import read_card
from course_lib.teaching.checks.typed_number import parse_number
from course_lib.teaching.record import record
from course_lib.teaching.record.record import Record


def commit(live, guess: str, sure: str = "very"):
    live.act({"do": "commit", "guess": guess, "sure": sure})


def reveal(live):
    live.act({"do": "reveal"})


def kinds() -> list[str]:
    return [event["kind"] for event in Record.open().events()]


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01", "t1.why", "t1.rows", "t1.new-device"])
def test_a_card_starts_empty_and_locked(toys, id):
    live = card(id)
    view = live.widget.view
    assert view == live.widget.get_state("view")["view"]
    assert (view["guess"], view["sure"], view["answer"], view["hints"]) == ("", "", "", [])
    assert "commit" in view["enabled"]
    assert not {"retry", "reveal"} & set(view["enabled"])


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01", "t1.why", "t1.rows"])
def test_nothing_sent_to_the_page_before_the_reveal_holds_the_answer(toys, id):
    live, found = card(id), read_card(id)
    commit(live, {"number": "3", "choice": "faster", "claim": "holds", "reflection": "so"}[found.kind])
    sent = json.dumps(live.widget.get_state(["face", "view"]), ensure_ascii=False)
    secrets = [found.reason, found.corrected, *(c.why for c in found.choices), *(text for _, text in found.slips)]
    assert not [secret for secret in [*secrets, *found.hints] if secret and secret in sent]


def test_it_displays_as_a_widget_with_a_stable_text_and_a_line_for_another_day(toys, monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: published.append(bundle))
    card("t1.speed-up")._ipython_display_()
    shown, later = published
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert shown["text/plain"] == "card t1.speed-up"
    assert later["text/plain"] == card_widget.say("gone")
    assert card_widget.say("gone") in later["text/html"]


@pytest.mark.parametrize(
    ("guess", "sure", "line"),
    [
        ("", "", card_widget.say("neither")),
        (" ", "", card_widget.say("neither")),
        ("100", "", card_widget.say("no-sure")),
        ("", "very", card_widget.say("no-guess")),
    ],
)
def test_commit_says_what_is_missing(toys, guess, sure, line):
    live = card("t1.speed-up")
    commit(live, guess, sure)
    assert live.widget.view["message"] == line
    assert kinds() == []


@pytest.mark.parametrize("junk", ["twelve", "-3", "1e400", "3 apples"])
def test_junk_gives_one_line_and_leaves_the_box_to_the_learner(toys, junk):
    live = card("t1.speed-up")
    commit(live, junk)
    assert f"“{junk}”" in live.widget.view["message"]
    assert not live.widget.view["locked"]
    assert kinds() == []


@pytest.mark.parametrize(
    "content", [{}, {"do": "explode"}, {"do": "commit"}, {"do": "commit", "guess": 3, "sure": None}]
)
def test_a_message_that_makes_no_sense_does_nothing(toys, content):
    card("t1.speed-up").act(content)
    assert kinds() == []


def test_a_vote_for_something_that_is_no_choice_is_not_kept(toys):
    live = card("t1.zeros")
    commit(live, "slower")
    assert live.widget.view["message"] == card_widget.say("no-guess")
    assert kinds() == []


def test_the_answer_is_computed_at_the_commit_and_shown_at_the_reveal(toys, monkeypatch):
    computed, said = [], []
    real, live = answers.answer, card("t1.speed-up")

    def answer(found):
        computed.append(found.id)
        said.append(live.widget.view["message"])
        return real(found)

    monkeypatch.setattr(answers, "answer", answer)
    commit(live, "twelve")
    assert computed == []
    commit(live, "100 x")
    assert (computed, said) == (["t1.speed-up"], [card_widget.say("preparing", guess="100 ×", sure="very sure")])
    assert live.widget.view["message"].startswith("Committed: 100 ×, very sure. You can reveal the answer")
    assert live.widget.view["answer"] == ""
    assert "1.05" not in json.dumps(live.widget.get_state(["face", "view"]))
    reveal(live)
    assert computed == ["t1.speed-up"], "the reveal shows what is there"
    assert "You said 100 ×; it is 1.05 ×." in live.widget.view["answer"]
    assert kinds() == ["guess", "reveal"]
    assert live.widget.view["enabled"] == ["hint"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError("no profile here")])
def test_what_fails_at_the_commit_is_said_at_the_reveal_which_tries_again(toys, monkeypatch, fault):
    real, faults = answers.answer, [fault]

    def answer(found):
        if faults:
            raise faults.pop()
        return real(found)

    monkeypatch.setattr(answers, "answer", answer)
    live = card("t1.speed-up")
    with contextlib.suppress(KeyboardInterrupt):  # the learner stopped what took long
        commit(live, "100")
    assert live.widget.view["message"].startswith("Committed: 100 ×, very sure. You can reveal the answer")
    assert "reveal" in live.widget.view["enabled"]
    faults.append(ValueError("no profile here"))
    reveal(live)
    assert live.widget.view["message"] == card_widget.say("failed", reason="no profile here")
    reveal(live)
    assert "You said 100 ×; it is 1.05 ×." in live.widget.view["answer"]


def test_a_reveal_before_a_commit_does_nothing(toys):
    live = card("t1.speed-up")
    reveal(live)
    assert live.widget.view["answer"] == ""
    assert kinds() == []


def test_a_retry_keeps_the_first_guess(toys):
    live = card("t1.speed-up")
    commit(live, "100")
    assert live.widget.view["locked"]
    live.act({"do": "retry"})
    assert not live.widget.view["locked"]
    commit(live, "1.05", "guess")
    assert "Your first guess, 100 ×, is kept" in live.widget.view["message"]
    reveal(live)
    assert "You said 100 ×" in live.widget.view["answer"]
    assert "Your last guess was 1.05 ×. That is right." in live.widget.view["answer"]
    assert Record.open().events()[-1]["payload"]["right"] is False


def test_second_clicks_are_harmless(toys):
    live = card("t1.speed-up")
    for action in ("commit", "retry", "commit", "reveal"):
        live.act({"do": action, "guess": "100", "sure": "very"})
        live.act({"do": action, "guess": "100", "sure": "very"})
    assert kinds() == ["guess", "guess", "reveal"]


def test_each_hint_is_opened_in_order_and_recorded(toys):
    live = card("t1.speed-up")
    assert live.widget.view["hint"] == "Hint 1 of 3: the idea"
    for opened in (1, 2, 3):
        live.act({"do": "hint"})
        assert [hint.count("<strong>Hint") for hint in live.widget.view["hints"]] == [1] * opened
    live.act({"do": "hint"})
    assert live.widget.view["hint"] == card_widget.say("all-hints")
    assert "hint" not in live.widget.view["enabled"]
    assert [event["payload"]["n"] for event in Record.open().events()] == [1, 2, 3]


def test_a_card_without_hints_has_no_hint_button(toys):
    assert card("t1.s000-01").widget.view["hint"] == ""


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.share"])
def test_what_the_slider_writes_into_the_box_is_read_as_its_value(toys, id):
    found = read_card(id)
    made = card_widget.slider(found)
    assert (made["values"][0], made["values"][-1]) == found.range
    assert made["values"] == sorted(set(made["values"]))
    for value, box in zip(made["values"], made["boxes"], strict=True):
        assert parse_number(box, found.unit, found.scale) == pytest.approx(value)


@pytest.mark.parametrize(
    ("id", "guess"),
    [("t1.speed-up", "1/3"), ("t1.zeros", "faster"), ("t1.s000-01", "holds-if"), ("t1.share", "40"), ("t1.why", "so")],
)
@pytest.mark.parametrize("revealed", [False, True])
def test_a_card_comes_back_as_it_was(toys, id, guess, revealed):
    first = card(id)
    commit(first, guess, "fairly")
    first.act({"do": "hint"})
    if revealed:
        reveal(first)
    before, after = ({**live.widget.view, "turn": 0} for live in (first, card(id)))
    assert after == before
    assert bool(after["answer"]) is revealed
    assert after["guess"] == guess


def test_a_card_open_twice_finds_what_the_other_did(toys):
    one, two = card("t1.speed-up"), card("t1.speed-up")
    commit(one, "100")
    commit(two, "5")
    assert [event["payload"]["value"] for event in Record.open().events()] == [100.0]
    assert two.widget.view["guess"] == "100"
    reveal(one)
    reveal(two)
    assert kinds() == ["guess", "reveal"]
    assert two.widget.view["answer"] == one.widget.view["answer"]


@pytest.mark.parametrize(
    ("id", "word"), [("t1.raises", "course doctor"), ("t1.no-truth", "no_truth"), ("t1.not-a-number", "nan")]
)
def test_a_truth_that_fails_gives_one_line_and_keeps_the_guess(toys, id, word):
    live = card(id)
    commit(live, "3")
    reveal(live)
    assert word in live.widget.view["message"]
    assert "second line" not in live.widget.view["message"]
    assert "reveal" in live.widget.view["enabled"]
    assert kinds() == ["guess"]


def test_a_revealed_card_whose_truth_fails_later_can_be_revealed_again(toys, monkeypatch):
    live = card("t1.speed-up")
    commit(live, "100")
    reveal(live)
    with monkeypatch.context() as patch:
        patch.setattr(answers, "answer", lambda _: (_ for _ in ()).throw(RuntimeError("gone")))
        again = card("t1.speed-up")
    assert "gone" in again.widget.view["message"]
    assert "reveal" in again.widget.view["enabled"]
    reveal(again)
    assert "You said 100 ×" in again.widget.view["answer"]
    assert kinds() == ["guess", "reveal"]


def test_a_disk_that_fills_up_is_said_in_the_card_and_nothing_is_lost(toys, monkeypatch):
    live = card("t1.speed-up")
    monkeypatch.setattr(record.os, "fsync", full)
    commit(live, "100")
    assert "No space left on device" in live.widget.view["message"]
    assert "reveal" in live.widget.view["enabled"]


def test_a_guess_is_stored_as_it_was_typed(toys):
    commit(card("t1.bytes"), "500 MB", "guess")
    stored = json.loads((toys / ".course" / "record.json").read_text())["events"][0]
    assert stored["payload"] == {"value": 0.5, "text": "500 MB", "sure": "guess"}


# ---- A reflection ----


def test_a_text_is_kept_as_it_was_written_and_not_judged(toys):
    live = card("t1.why")
    assert live.widget.face["levels"] == []
    commit(live, "  The weights,\nI think.  ", "")
    assert live.widget.view["message"] == card_widget.say("kept")
    reveal(live)
    assert "The weights,\nI think." in live.widget.view["answer"]
    assert "Because the <em>weights</em> travel" in live.widget.view["answer"]
    guess, revealed = Record.open().events()
    assert guess["payload"] == {"value": "The weights,\nI think."}
    assert revealed["payload"] == {"truth": None, "right": None, "decades": None}


@pytest.mark.parametrize(("text", "word"), [("", "empty"), (" \n ", "empty"), ("x" * 61, "61 characters")])
def test_a_text_that_cannot_be_kept_gives_one_line_and_stays_in_the_box(toys, text, word):
    live = card("t1.why")
    commit(live, text, "")
    assert word in live.widget.view["message"]
    assert live.widget.view["saved"] == 0
    assert not live.widget.view["locked"]
    assert kinds() == []


def test_a_rewritten_text_is_the_one_that_is_shown_and_both_are_kept(toys):
    live = card("t1.why")
    commit(live, "one", "")
    live.act({"do": "retry"})
    assert live.widget.view["message"] == card_widget.say("rewrite")
    commit(live, "two", "")
    reveal(live)
    assert '<p class="wrote">two</p>' in live.widget.view["answer"]
    assert [event["payload"].get("value") for event in Record.open().events()] == ["one", "two", None]


# ---- The same question, new numbers ----


def again(live, round=0):
    live.act({"do": "again", "round": round})


def test_a_new_round_begins_after_the_reveal_only(toys):
    live = card("t1.rows")
    for click in (lambda: None, lambda: commit(live, "1")):
        click()
        again(live)
        assert live.widget.view["round"] == 0
    assert "again" not in live.widget.view["enabled"]
    reveal(live)
    assert "again" in live.widget.view["enabled"]
    again(live)
    view = live.widget.view
    assert (view["round"], view["saved"], view["guess"], view["answer"], view["hints"]) == (1, 0, "", "", [])
    assert not view["locked"]
    assert view["message"] == card_widget.say("next-round")
    assert "You said 1 ×; it is 1.02 ×." in view["earlier"]
    assert "10,000 rows" in live.widget.face["rounds"][1]["prompt"]


def test_the_first_round_is_what_counts_and_later_ones_carry_their_number(toys):
    live = card("t1.rows")
    commit(live, "100")
    reveal(live)
    again(live)
    live.act({"do": "hint", "round": 1})
    live.act({"do": "commit", "round": 1, "guess": "3.44", "sure": "guess"})
    live.act({"do": "reveal", "round": 1})
    events = Record.open().events()
    assert [(event["kind"], event["payload"].get("round")) for event in events] == [
        ("guess", None),
        ("reveal", None),
        ("round", 1),
        ("hint", 1),
        ("guess", 1),
        ("reveal", 1),
    ]
    assert [event["payload"]["right"] for event in events if event["kind"] == "reveal"] == [False, True]


def test_the_last_round_offers_no_further_one(toys):
    live = card("t1.pick")
    for round in (0, 1):
        live.act({"do": "commit", "round": round, "guess": "square", "sure": "very"})
        live.act({"do": "reveal", "round": round})
        again(live, round)
    assert live.widget.view["round"] == 1
    assert "again" not in live.widget.view["enabled"]
    assert kinds() == ["guess", "reveal", "round", "guess", "reveal"]


def test_a_card_comes_back_in_its_round_with_the_earlier_ones(toys):
    live = card("t1.rows")
    commit(live, "100")
    reveal(live)
    again(live)
    live.act({"do": "commit", "round": 1, "guess": "3", "sure": "guess"})
    before, after = ({**each.widget.view, "turn": 0} for each in (live, card("t1.rows")))
    assert before == after
    assert after["guess"] == "3"
    assert "Round 1, the one that counts" in after["earlier"]


@pytest.mark.parametrize("do", ["commit", "retry", "reveal", "hint", "again"])
def test_a_click_in_a_window_that_shows_an_earlier_round_only_shows_what_the_record_says(toys, do):
    one, two = card("t1.rows"), card("t1.rows")
    commit(one, "100")
    reveal(one)
    again(one)
    before = kinds()
    two.act({"do": do, "round": 0, "guess": "5", "sure": "very"})
    assert kinds() == before
    assert two.widget.view["round"] == 1
    assert two.widget.view["guess"] == ""


def test_a_card_with_one_round_has_no_such_button(toys):
    assert "again" not in card("t1.speed-up").widget.face["buttons"]
    assert "again" in card("t1.rows").widget.face["buttons"]


# ---- A transfer card: by what factor the guess may be off ----


def test_a_transfer_card_says_that_the_calculator_stays_closed_and_asks_for_a_factor(toys, monkeypatch):
    face = card("t1.new-device").widget.face
    assert "the calculator stays closed" in face["rounds"][0]["prompt"]
    assert (face["levels"], face["bound"]) == ([], card_widget.say("may-be-off"))
    assert card("t1.speed-up").widget.face["bound"] == ""
    monkeypatch.setenv("COURSE_STATIC", "1")
    static = card("t1.new-device")._repr_mimebundle_()
    for page in static.values():
        assert card_widget.say("may-be-off-static") in page
    assert "the calculator stays closed" in static["text/html"]
    assert "15" not in static["text/html"]


@pytest.mark.parametrize(
    ("guess", "bound", "line"),
    [
        ("", " ", card_widget.say("transfer", "neither")),
        ("10", "", card_widget.say("transfer", "no-sure")),
        ("", "2", card_widget.say("transfer", "no-guess")),
        ("10", "0.5", card_widget.say("below-one")),
        ("10", "1/3", card_widget.say("below-one")),
        ("10", "-2", "not above zero"),
        ("10", "very", "“very” is not a number"),
        ("10", "1e400", "larger than any number"),
    ],
)
def test_a_transfer_is_not_committed_without_a_factor_of_one_or_more(toys, guess, bound, line):
    live = card("t1.new-device")
    commit(live, guess, bound)
    assert line in live.widget.view["message"]
    assert kinds() == []


@pytest.mark.parametrize(
    ("guess", "bound", "kept", "factor", "inside"),
    [
        ("10", "2", 2.0, "1.5", True),  # 15 / 10
        ("10", "1.5", 1.5, "1.5", True),  # on the bound
        ("10", "×1.4", 1.4, "1.5", False),
        ("60", "3 times", 3.0, "4", False),
        ("15", "1", 1.0, "1", True),
        ("0.02 s", "1.4", 1.4, "1.33", True),
    ],
)
def test_the_reveal_of_a_transfer_holds_the_guess_against_its_own_bound(toys, guess, bound, kept, factor, inside):
    live = card("t1.new-device")
    commit(live, guess, bound)
    assert f"within a factor of {kept:g}. You can reveal" in live.widget.view["message"]
    reveal(live)
    first, found = Record.open().events()
    assert first["payload"].keys() == {"value", "text", "bound"}
    assert (first["payload"]["bound"], found["payload"]["within"]) == (kept, inside)
    place = "inside" if inside else "outside"
    said = f"off by a factor of {kept:g}, and you are off by {factor}: the answer lies {place} your own bound."
    assert said in live.widget.view["answer"]
    assert "it is 15 ms" in live.widget.view["answer"]
    again = card("t1.new-device").widget.view
    assert (again["guess"], float(again["sure"]), again["answer"]) == (guess, kept, live.widget.view["answer"])


def test_a_second_bound_does_not_change_the_first(toys):
    live = card("t1.new-device")
    commit(live, "150", "2")
    live.act({"do": "retry"})
    commit(live, "15", "100")
    reveal(live)
    assert Record.open().events()[-1]["payload"]["within"] is False
    assert "outside your own bound" in live.widget.view["answer"]
    assert "Your last guess was 15 ms. That is right." in live.widget.view["answer"]


@pytest.mark.parametrize("bound", [None, 0.5, True, "3", [2], 1e400])
def test_a_guess_without_a_bound_that_makes_sense_is_passed_over(toys, bound):
    Record.open().add("guess", "t1.new-device", {"value": 3.0, "text": "3", "sure": "very", "bound": bound})
    view = card("t1.new-device").widget.view
    assert (view["saved"], view["locked"]) == (0, False)
