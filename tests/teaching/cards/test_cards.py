"""The texts of cards, their rounds, the state, the answer, and the static form."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import card, units
from course_lib.teaching import markup
from course_lib.teaching.cards import answers, card_state
from course_lib.teaching.cards.answer_html import answer_html, earlier_html, scale_picture
from course_lib.teaching.cards.card_state import Guess, State
from course_lib.teaching.cards.card_texts import CardError, parse_card, read_card, read_rounds


def bundle(shown) -> dict:
    return shown._repr_mimebundle_()


# ---- Texts ----


def test_each_kind_is_read_from_the_unit(toys):
    number, choice, claim = read_card("t1.speed-up"), read_card("t1.zeros"), read_card("t1.s000-01")
    assert (number.unit, number.range, number.slips[0][0]) == ("×", (0.1, 1000), 100.0)
    assert [c.key for c in choice.choices] == ["faster", "same"]
    assert [c.key for c in claim.choices] == ["holds", "holds-if", "fails"]


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({}, "kind"),
        ({"kind": "essay"}, "essay"),
        ({"kind": "number", "prompt": "?", "unit": ""}, "tolerance"),
        ({"kind": "number", "prompt": 3, "unit": "", "tolerance": 0.1}, "prompt"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "scale": "cubic"}, "cubic"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "range": [0, 5]}, "range"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "slips": {"ten": "…"}}, "slip"),
        ({"kind": "choice", "prompt": "?", "choices": [{"key": "a", "txt": "…"}]}, "choices"),
        ({"kind": "claim", "claim": "…"}, "corrected"),
        ({"kind": "claim", "claim": "…", "corrected": "…", "docket": "yes"}, "docket"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "docket": True}, "docket"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "transfer": "yes"}, "transfer"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "transfer": True, "scale": "linear"}, "log"),
        ({"kind": "reflection", "prompt": "?", "reason": "!", "transfer": True}, "transfer"),
        (3, "table"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": True}, "tolerance"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "hints": 3}, "hints"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "hints": [3]}, "hints"),
        ({"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1, "range": "1 to 3"}, "range"),
        ({"kind": "reflection", "prompt": "?"}, "reason"),
        ({"kind": "reflection", "prompt": "?", "reason": "!", "limit": 0}, "limit"),
        ({"kind": "reflection", "prompt": "{n}?", "reason": "!", "rounds": [{"n": 1}, {"n": 2}]}, "rounds"),
    ],
)
def test_incomplete_texts_name_the_card_and_the_field(table, word):
    with pytest.raises(CardError, match=r"t1\.broken") as error:
        parse_card("t1.broken", "t1_toy", table)
    assert word in str(error.value)


def test_the_built_units_have_only_complete_cards_each_with_its_function():
    for unit in units.names():
        for id in units.cards(unit):
            found = read_card(id)
            if found.kind != "reflection":
                assert callable(units.function(unit, "claims" if found.kind == "claim" else "truths", id))


@pytest.mark.parametrize("id", ["t1.speedup", "t1.nothing-like-it", "t9.speed-up", "nonsense", "", None, 3])
def test_an_unknown_card_gives_one_line(toys, id):
    shown = bundle(card(id))
    assert shown["text/plain"].startswith("There is no card")
    assert "\n" not in shown["text/plain"]


def test_the_line_names_the_nearest_card(toys):
    assert "'t1.speed-up'" in repr(card("t1.speedup"))


def test_a_card_with_incomplete_texts_gives_one_line(toys):
    assert "t1.incomplete" in repr(card("t1.incomplete"))
    assert "unit" in repr(card("t1.incomplete"))


@pytest.mark.parametrize("text", ["[speed-up\nkind =", "speed-up = 3", "[speed-up]\nkind = 3", "\udcff"])
def test_damaged_texts_give_one_line(toys, monkeypatch, tmp_path, text):
    unit = tmp_path / "course" / "lessons" / "t1_toy"
    unit.mkdir(parents=True)
    (unit / "lesson.md").touch()
    (unit / "cards.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    monkeypatch.setattr(units, "home", lambda: tmp_path / "course")
    units.cards.cache_clear()
    line = repr(card("t1.speed-up"))
    assert "cards.toml" in line
    assert "\n" not in line


# ---- Rounds ----


def test_each_round_has_its_numbers_in_every_text(toys):
    first, second, third = read_rounds("t1.rows")
    assert first.prompt == "A layer gets **100 rows** of 4096 in place of one. How many times as long?"
    assert "**10,000 rows**" in second.prompt
    assert "16,384 in place" in third.prompt
    assert second.hints[0] == "What travels beside the 10,000 rows?"
    assert second.slips == ((10000.0, "You let time grow with the 10,000 rows."),)
    assert second.reason == "×{truth} for 10,000 rows of 4096."
    assert [(card.round, card.rounds) for card in (first, second, third)] == [(0, 3), (1, 3), (2, 3)]
    assert (first.range, first.tolerance) == (third.range, third.tolerance) == ((0.1, 1000), 0.1)


def test_the_truth_of_each_round_is_computed_from_its_numbers(toys):
    truths = [answers.answer(each).truth for each in read_rounds("t1.rows")]
    assert truths == pytest.approx([1.0244140625, 3.44140625, 1.006103515625])
    assert [answers.answer(each).truth for each in read_rounds("t1.pick")] == ["square", "power"]
    assert [each.choice("square").text for each in read_rounds("t1.pick")] == ["3², the square", "8², the square"]


def test_a_card_without_parameters_keeps_its_braces_and_has_one_round(toys):
    assert len(read_rounds("t1.speed-up")) == 1
    assert "{intensity:.0f}" in read_card("t1.s000-01").corrected


NUMBER = {"kind": "number", "prompt": "For {m} rows?", "unit": "", "tolerance": 0.1}


@pytest.mark.parametrize(
    ("rounds", "more", "word"),
    [
        ([{"m": 1}], {}, "at least two"),
        ([{"m": 1}, {"n": 2}], {}, "same names"),
        ([{}, {}], {}, "same names"),
        ([{"m": 1}, {"m": 1}], {}, "asks the same"),
        ([{"m": 1, "n": 2}, {"m": 2, "n": 2}], {}, "'n'"),
        ([{"m": 1}, {"m": 2}], {"hints": ["{rows} of them"]}, "'rows'"),
        ([{"m": [1]}, {"m": [2]}], {}, "numbers or texts"),
        ([{"m": True}, {"m": False}], {}, "numbers or texts"),
        ([{"m": 1.0}, {"m": float("inf")}], {}, "not finite"),
        ("m = 1", {}, "wrong type"),
        ([{"truth": 1}, {"truth": 2}], {"prompt": "{truth}?"}, "same names"),
    ],
)
def test_rounds_that_do_not_fit_the_texts_name_the_card(rounds, more, word):
    with pytest.raises(CardError, match=r"t1\.broken") as error:
        parse_card("t1.broken", "t1_toy", NUMBER | {"rounds": rounds} | more)
    assert word in str(error.value)


def test_numbers_stand_in_texts_as_the_lessons_write_them():
    table = NUMBER | {"prompt": "{m}, {m:.1f}, {name}", "rounds": [{"m": 0.25, "name": "A"}, {"m": 12345, "name": "B"}]}
    assert [each.prompt for each in parse_card("t1.x", "t1_toy", table)] == ["0.25, 0.2, A", "12,345, 12345.0, B"]


def test_the_state_of_a_round_follows_from_its_own_events(toys):
    rounds = read_rounds("t1.rows")
    events = [
        event("guess", value=1.0),
        event("reveal", truth=1.02),
        event("round", round=1),
        event("guess", value=3.0, round=1),
        event("hint", n=1, round=1),
    ]
    assert card_state.round_now(rounds, []) == 0
    assert card_state.round_now(rounds, events) == 1
    assert card_state.state(rounds[0], events) == State((Guess(1.0, "1.0", ""),), 0, True, 1.02)
    assert card_state.state(rounds[1], events) == State((Guess(3.0, "3.0", ""),), 1, False)
    assert card_state.state(rounds[2], events) == State()


def test_a_round_that_the_card_no_longer_has_is_passed_over(toys):
    odd = [event("round", round=n) for n in (7, -1, "1", None, True, 1.5)]
    assert card_state.round_now(read_rounds("t1.rows"), odd) == 0
    assert card_state.round_now(read_rounds("t1.speed-up"), [event("round", round=1)]) == 0


# ---- State ----


def event(kind, **payload):
    return {"kind": kind, "id": "t1.speed-up", "payload": payload}


def test_the_state_follows_from_the_events(toys):
    speed = read_card("t1.speed-up")
    assert card_state.state(speed, []) == State()
    events = [event("hint", n=1), event("guess", value=10.0, text="10", sure="very"), event("reveal", truth=1.0)]
    found = card_state.state(speed, [*events, event("guess", value=99.0, text="99", sure="very")])
    assert found == State((Guess(10.0, "10", "very"),), 1, True, 1.0)


def test_a_reveal_without_a_guess_and_a_guess_that_no_longer_fits_do_not_count(toys):
    values = ["gone", None, float("inf"), float("nan"), 10**400, True]
    events = [*(event("guess", value=value) for value in values), event("guess"), event("reveal")]
    assert card_state.state(read_card("t1.speed-up"), events) == State()
    assert card_state.state(read_card("t1.zeros"), events) == State()


# ---- Answers ----


def answered(id: str, *values) -> str:
    found = read_card(id)
    return answer_html(found, [Guess(value, str(value), "very") for value in values], answers.answer(found))


def test_a_wrong_number_is_compared_and_its_slip_is_named(toys):
    page = answered("t1.speed-up", 100.0)
    assert "You said 100 ×; it is 1.05 ×. That is too high by a factor of 95.4, or 1.98 decades." in page
    assert "You let time grow with FLOPs." in page
    assert "×1.05. The arithmetic hides" in page
    assert "<title>On one axis: your first guess, 100 ×, and the answer, 1.05 ×.</title>" in page


def test_the_first_guess_is_compared_when_there_was_a_second(toys):
    page = answered("t1.speed-up", 10.0, 1.05)
    assert "You said 10 ×" in page
    assert "Your last guess was 1.05 ×. That is right." in page
    assert "You split the difference." in page


def test_a_right_number_is_called_right_and_has_no_slip(toys):
    page = answered("t1.speed-up", 1.1)
    assert "That is right, within the 10 % that count as right." in page
    assert "course-slip" not in page


@pytest.mark.parametrize(
    ("guess", "right"),
    [(1.048, True), (1.048 * 1.099, True), (1.048 / 1.099, True), (1.048 * 1.11, False), (0.9, False)],
)
def test_right_on_a_log_scale_is_within_a_factor(toys, guess, right):
    assert answers.right(read_card("t1.speed-up"), guess, 1.048) is right


def test_a_linear_card_compares_by_difference(toys):
    assert "You said 90 %; it is 40 %. That is 50 percentage points too high." in answered("t1.share", 90)
    assert "You said -5 %; it is 40 %. That is 45 percentage points too low." in answered("t1.share", -5)


def test_a_choice_says_why_each_tempts(toys):
    page = answered("t1.zeros", "faster")
    assert "Your first choice was not the right one." in page
    assert "This counts the FLOPs that are needed." in page
    assert "This machine says: the same, give or take noise." in page
    assert "Your first choice was right." in answered("t1.zeros", "same")


def test_a_claim_shows_ruling_evidence_and_the_corrected_claim(toys):
    page = answered("t1.s000-01", "holds")
    assert "The claim fails." in page
    assert "Your first vote was that it holds." in page
    assert "683 FLOP/B at n = 4,096" in page
    assert '<th scope="row">computed</th><td>682.7 FLOP/B</td>' in page
    assert "<p>It is no constant.</p>" in page
    assert "Said correctly:" in page


def test_a_claim_that_holds_is_not_corrected(toys):
    page = answered("t1.s000-02", "fails")
    assert "<strong>The claim holds.</strong> Your first vote was that it fails.</p><p>By its data sheet.</p>" in page
    assert "Said in full:" in page
    assert "correctly" not in page


def test_a_reflection_shows_what_was_written_beside_a_model_answer(toys):
    page = answered("t1.why", "because a < b\n\n**really**")
    assert '<p class="wrote">because a &lt; b\n\n**really**</p>' in page
    assert "<p>Because the <em>weights</em> travel either way.</p>" in page


def test_a_reflection_is_not_judged(toys):
    found = read_card("t1.why")
    kept = answers.outcome(found, Guess("so", "so", ""), answers.answer(found))
    assert kept == {"truth": None, "right": None, "decades": None}


def test_an_earlier_round_is_folded_and_says_what_was_asked_and_found(toys):
    second = read_rounds("t1.rows")[1]
    page = earlier_html(second, [Guess(1.0, "1", "very")], 3.4)
    assert page.startswith("<details><summary>Round 2</summary>")
    assert "<strong>10,000 rows</strong>" in page
    assert "You said 1 ×; it is 3.4 ×." in page
    assert "Round 1, the one that counts" in earlier_html(read_card("t1.rows"), [Guess(1.0, "1", "")], 1.02)


@pytest.mark.parametrize(("guess", "truth"), [(1e-300, 1e300), (1e300, 1e-300), (5e-324, 1.7e308)])
def test_numbers_at_both_ends_of_what_a_computer_holds_are_compared(toys, guess, truth):
    found = read_card("t1.bytes")
    page = answer_html(found, [Guess(guess, "…", "very")], answers.Answer(truth))
    assert "too low by a factor" in page or "too high by a factor" in page


def test_the_outcome_kept_judges_the_first_guess(toys):
    found = read_card("t1.speed-up")
    kept = answers.outcome(found, Guess(10.48, "10.48", "very"), answers.answer(found))
    assert kept == {"truth": 1.048, "right": False, "decades": pytest.approx(1.0)}


@pytest.mark.parametrize("id", ["t1.raises", "t1.no-truth", "t1.not-a-number"])
def test_a_truth_that_cannot_be_computed_raises_for_the_caller(toys, id):
    with pytest.raises((RuntimeError, LookupError, ValueError)):
        answers.answer(read_card(id))


@given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200))
def test_every_guess_has_a_picture_inside_its_frame(guess, truth):
    import re

    number = parse_card("t1.x", "t1_toy", {"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1})[0]
    picture = scale_picture(number, guess, truth)
    places = [float(x) for x in re.findall(r'(?:cx|x)="(-?[\d.]+)"', picture)]
    assert places
    assert all(29 <= x <= 491 for x in places)


# ---- The static form ----


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01", "t1.why", "t1.rows"])
def test_the_static_form_asks_and_does_not_answer(toys, monkeypatch, id):
    monkeypatch.setenv("COURSE_STATIC", "1")
    monkeypatch.setattr(answers, "answer", lambda _: pytest.fail("the answer was computed"))
    shown, found = bundle(card(id)), read_card(id)
    assert set(shown) == {"text/html", "text/plain"}
    assert shown["text/html"].count("<details>") == len(found.hints)
    for secret in [found.reason, found.corrected, *(c.why for c in found.choices), *(text for _, text in found.slips)]:
        for form in shown.values():
            assert not secret or secret not in form
    assert not (toys / ".course" / "record.json").exists()


def test_raw_html_in_a_text_is_shown_not_run():
    assert "<script>" not in markup.markdown("a <script>alert(1)</script>")


@pytest.mark.parametrize("package", ["ipywidgets", "anywidget"])
def test_without_a_widget_package_a_card_is_static_with_one_line(toys, monkeypatch, package):
    for name in [
        name for name in sys.modules if name == "course_lib.teaching.cards.card_widget" or name.startswith("anywidget")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"({package})" in repr(card("t1.speed-up"))


def test_without_mistune_texts_stay_readable(monkeypatch):
    monkeypatch.setitem(sys.modules, "mistune", None)
    assert markup.markdown("a < b\n\n**c**") == "<p>a &lt; b</p><p>**c**</p>"
