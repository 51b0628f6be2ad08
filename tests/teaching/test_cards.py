"""The texts of cards, the reading of typed numbers, the state, the answer, and the static form."""

import contextlib
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import card
from course_lib.teaching import cards, markup, units
from course_lib.teaching.cards import CardError, Guess, parse_card, parse_number, read_card


def bundle(shown) -> dict:
    return shown._repr_mimebundle_()


# ---- Typed numbers ----


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("3e9", "", 3e9),
        ("1/3", "", 1 / 3),
        ("1,000", "", 1000),
        ("1,234,567.5", "", 1234567.5),
        ("  .5 ", "", 0.5),
        ("2.", "", 2),
        ("+7", "", 7),
        ("3k", "", 3000),
        ("3 GB", "GB", 3),
        ("3 GB", "B", 3e9),
        ("3000 MB", "GB", 3),
        ("3GiB", "GB", 3 * 1024**3 / 1e9),
        ("2 TB/s", "TB/s", 2),
        ("900 GB/s", "TB/s", 0.9),
        ("989 TFLOP/s", "FLOP/s", 989e12),
        ("10 ms", "s", 0.01),
        ("10 µs", "ms", 0.01),
        ("100x", "×", 100),
        ("100 ×", "×", 100),
        ("×1.05", "×", 1.05),
        ("x 2", "×", 2),
        ("345 rows", "rows", 345),
        ("1 row", "rows", 1),
        ("50 %", "%", 50),
        ("295 FLOP/B", "FLOP/B", 295),
        ("$5", "$", 5),
    ],
)
def test_a_typed_number_is_read(typed, unit, value):
    assert parse_number(typed, unit) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("typed", "unit"),
    [
        *((typed, "") for typed in ["twelve", "3 apples", "-3", "−3", "0", "1e400", "1e-400", "1/0", "1/", "1/x"]),
        *((typed, "") for typed in ["1 000", "1.234,5", "1,2,3", "1,234,5", ",", "twelve, 3", "3 GB,5"]),
        *((typed, "") for typed in ["10^9", "1e", "e9", ".", "", "nan", "inf", "1_000", "__import__('os')", "1" * 500]),
        *((typed, "GB") for typed in ["3 apples", "3 Gb", "3 s", "3 GB GB"]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_with_one_line(typed, unit):
    with pytest.raises(ValueError, match=r"^“") as error:
        parse_number(typed, unit)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("typed", "pointed"),
    [("0,25", "0.25"), ("0,250", "0.250"), ("1,5", "1.5"), ("-0,5", "-0.5"), ("1,00", "1.00"), ("1/0,5", "1/0.5")],
)
def test_a_decimal_comma_has_a_line_of_its_own(typed, pointed):
    with pytest.raises(ValueError, match=r"^Write ") as error:
        parse_number(typed)
    assert str(error.value) == f"Write {pointed} with a point."


def test_a_decimal_comma_before_a_unit_is_told_with_the_unit():
    with pytest.raises(ValueError, match=r"^Write 0\.25 GB with a point\.$"):
        parse_number("0,25 GB", "GB")


def test_a_linear_card_takes_zero_and_negative_numbers():
    assert parse_number("-3", "%", "linear") == -3
    assert parse_number("0", "%", "linear") == 0


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_every_number_as_python_writes_it_is_read_back(value):
    assert parse_number(repr(value)) == value


@given(st.text(max_size=12))
def test_no_text_breaks_the_reader(text):
    with contextlib.suppress(ValueError):
        assert math.isfinite(parse_number(text, "GB"))


@given(st.floats(min_value=1e-30, max_value=1e30))
def test_a_shown_number_reads_back_within_its_three_digits(value):
    assert parse_number(markup.number(value)) == pytest.approx(value, rel=5.1e-3)


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


# ---- State ----


def event(kind, **payload):
    return {"kind": kind, "id": "t1.speed-up", "payload": payload}


def test_the_state_follows_from_the_events(toys):
    speed = read_card("t1.speed-up")
    assert cards.state(speed, []) == cards.State()
    events = [event("hint", n=1), event("guess", value=10.0, text="10", sure="very"), event("reveal", truth=1.0)]
    found = cards.state(speed, [*events, event("guess", value=99.0, text="99", sure="very")])
    assert found == cards.State((Guess(10.0, "10", "very"),), 1, True)


def test_a_reveal_without_a_guess_and_a_guess_that_no_longer_fits_do_not_count(toys):
    events = [event("guess", value="gone"), event("guess"), event("guess", value=float("inf")), event("reveal")]
    assert cards.state(read_card("t1.speed-up"), events) == cards.State()
    assert cards.state(read_card("t1.zeros"), events) == cards.State()


# ---- Answers ----


def answered(id: str, *values) -> str:
    found = read_card(id)
    return cards.answer_html(found, [Guess(value, str(value), "very") for value in values], cards.answer(found))


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
    assert cards.right(read_card("t1.speed-up"), guess, 1.048) is right


def test_a_linear_card_compares_by_difference(toys):
    assert "You said 90 %; it is 40 %. That is 50 % too high." in answered("t1.share", 90)
    assert "You said -5 %; it is 40 %. That is 45 % too low." in answered("t1.share", -5)


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


def test_the_outcome_kept_judges_the_first_guess(toys):
    found = read_card("t1.speed-up")
    kept = cards.outcome(found, Guess(10.48, "10.48", "very"), cards.answer(found))
    assert kept == {"truth": 1.048, "right": False, "decades": pytest.approx(1.0)}


@pytest.mark.parametrize("id", ["t1.raises", "t1.no-truth", "t1.not-a-number"])
def test_a_truth_that_cannot_be_computed_raises_for_the_caller(toys, id):
    with pytest.raises((RuntimeError, LookupError, ValueError)):
        cards.answer(read_card(id))


@given(st.floats(1e-200, 1e200), st.floats(1e-200, 1e200))
def test_every_guess_has_a_picture_inside_its_frame(guess, truth):
    import re

    number = parse_card("t1.x", "t1_toy", {"kind": "number", "prompt": "?", "unit": "", "tolerance": 0.1})
    picture = cards.scale_picture(number, guess, truth)
    places = [float(x) for x in re.findall(r'(?:cx|x)="(-?[\d.]+)"', picture)]
    assert places
    assert all(29 <= x <= 491 for x in places)


# ---- The static form ----


@pytest.mark.parametrize("id", ["t1.speed-up", "t1.zeros", "t1.s000-01"])
def test_the_static_form_asks_and_does_not_answer(toys, monkeypatch, id):
    monkeypatch.setenv("COURSE_STATIC", "1")
    monkeypatch.setattr(cards, "answer", lambda _: pytest.fail("the answer was computed"))
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
        name for name in sys.modules if name == "course_lib.teaching.card_widget" or name.startswith("anywidget")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert f"({package})" in repr(card("t1.speed-up"))


def test_without_mistune_texts_stay_readable(monkeypatch):
    monkeypatch.setitem(sys.modules, "mistune", None)
    assert markup.markdown("a < b\n\n**c**") == "<p>a &lt; b</p><p>**c**</p>"
