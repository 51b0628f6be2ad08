"""A live card driven by the messages that its page sends, without a browser."""

import json

import pytest

from course_lib import card
from course_lib.teaching import card_widget, cards, record
from course_lib.teaching.record import Record


def commit(live, guess: str, sure: str = "very"):
    live.act({"do": "commit", "guess": guess, "sure": sure})


def reveal(live):
    live.act({"do": "reveal"})


def kinds() -> list[str]:
    return [event["kind"] for event in Record.open().events()]


def full(*_):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01"])
def test_a_card_starts_empty_and_locked(toys, id):
    view = card(id).widget.view
    assert (view["guess"], view["sure"], view["answer"], view["hints"]) == ("", "", "", "")
    assert "commit" in view["enabled"]
    assert not {"retry", "reveal"} & set(view["enabled"])


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01"])
def test_nothing_sent_to_the_page_before_the_reveal_holds_the_answer(toys, id):
    live, found = card(id), cards.read_card(id)
    commit(live, {"number": "3", "choice": "faster", "claim": "holds"}[found.kind])
    sent = json.dumps(live.widget.get_state(["face", "view"]), ensure_ascii=False)
    secrets = [found.reason, found.corrected, *(c.why for c in found.choices), *(text for _, text in found.slips)]
    assert not [secret for secret in [*secrets, *found.hints] if secret and secret in sent]


def test_it_displays_as_a_widget_with_a_stable_text(toys):
    shown, _ = card("t1.speed-up")._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert shown["text/plain"] == "card t1.speed-up"


@pytest.mark.parametrize(
    ("guess", "sure", "line"),
    [
        ("", "", card_widget.NEITHER),
        (" ", "", card_widget.NEITHER),
        ("100", "", card_widget.NO_SURE),
        ("", "very", card_widget.NO_GUESS),
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
    assert live.widget.view["message"] == card_widget.NO_GUESS
    assert kinds() == []


def test_the_answer_is_computed_at_the_reveal_and_not_before(toys, monkeypatch):
    computed = []
    real = cards.answer
    monkeypatch.setattr(cards, "answer", lambda found: computed.append(found.id) or real(found))
    live = card("t1.speed-up")
    commit(live, "100 x")
    assert computed == []
    assert live.widget.view["answer"] == ""
    reveal(live)
    assert computed == ["t1.speed-up"]
    assert "You said 100 ×; it is 1.05 ×." in live.widget.view["answer"]
    assert kinds() == ["guess", "reveal"]
    assert live.widget.view["enabled"] == ["hint"]


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
        assert live.widget.view["hints"].count("<strong>Hint") == opened
    live.act({"do": "hint"})
    assert live.widget.view["hint"] == card_widget.ALL_HINTS
    assert "hint" not in live.widget.view["enabled"]
    assert [event["payload"]["n"] for event in Record.open().events()] == [1, 2, 3]


def test_a_card_without_hints_has_no_hint_button(toys):
    assert card("t1.s000-01").widget.view["hint"] == ""


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.share"])
def test_what_the_slider_writes_into_the_box_is_read_as_its_value(toys, id):
    found = cards.read_card(id)
    made = card_widget.slider(found)
    assert (made["values"][0], made["values"][-1]) == found.range
    assert made["values"] == sorted(set(made["values"]))
    for value, box in zip(made["values"], made["boxes"], strict=True):
        assert cards.parse_number(box, found.unit, found.scale) == pytest.approx(value)


@pytest.mark.parametrize(
    ("id", "guess"), [("t1.speed-up", "1/3"), ("t1.zeros", "faster"), ("t1.s000-01", "holds-if"), ("t1.share", "40")]
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
        patch.setattr(cards, "answer", lambda _: (_ for _ in ()).throw(RuntimeError("gone")))
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
