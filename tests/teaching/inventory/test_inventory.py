"""The inventory: right options against hand-derived ones, the order of options, what is kept and what is said."""

import csv
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest

from course_lib import inventory, units
from course_lib.teaching.inventory import inventory as module
from course_lib.teaching.inventory import inventory_items
from course_lib.teaching.inventory.inventory_items import OPTIONS, SITTINGS, UNSURE, items, places
from course_lib.teaching.record import exchange
from course_lib.teaching.record.progress import read
from course_lib.teaching.record.record import Record

# Derived by hand or with a pocket calculator, apart from truths.py: the text of the right option before and after.
RIGHT = {
    "strided-sum": ("about as long", "about as long"),
    "training-state": ("160 GB", "48 GB"),
    "what-doubles": ("the activations only", "the activations only"),
    "intensity": ("2 times as many", "3 times as many"),
    "more-rows": ("1.05 times", "32.3 times"),
    "missing-flops": ("in several places: memory, launches, communication, work that is not counted",) * 2,
    "longer-text": ("5.6 times", "6.8 times"),
    "depthwise": ("at most 5 times shorter",) * 2,
    "two-twos": ("120,929", "38,149"),
    "budget": ("1.41 times", "2 times"),
    "few-bits": ("decoding at a small batch, up to 2 times", "decoding at a small batch, up to 4 times"),
    "batch-decode": ("7.5 times", "41 times"),
    "gauge": ("some kernel was running nearly whenever it looked",) * 2,
    "checkpoints": ("every 19 min", "every 76 min"),
    "micro-batches": ("if all have as many tokens, and no layer looks at the whole batch",) * 2,
    "small-updates": ("1", "256"),
    "divergence": ("above 0.5", "above 0.2"),
    "part-faster": ("16 %", "30 %"),
    "fusion": ("3 times", "5 times"),
    "halved-stage": ("it stays", "it stays"),
}
UNITS = [*(f"q{n:02}" for n in range(1, 9)), "q08plus", *(f"q{n:02}" for n in range(9, 20))]
ID = "inventory.more-rows"


@pytest.mark.parametrize("sitting", SITTINGS)
def test_the_computed_answers_are_those_derived_apart(sitting):
    found = {item.id.partition(".")[2]: item.option(item.right).text for item in items(sitting)}
    assert found == {name: texts[SITTINGS.index(sitting)] for name, texts in RIGHT.items()}


def test_a_wrong_calculator_changes_the_answer(monkeypatch):
    """The answers come from the accounting, not from the texts."""
    from course_lib.accounting import economics

    monkeypatch.setattr(economics, "young_interval", lambda **_: 60.0 * 7)
    found = {item.id: item.option(item.right).text for item in items("before")}
    assert found["inventory.checkpoints"] == "every 7 min"


def test_one_question_a_unit_in_the_order_of_units():
    assert [item.unit for item in items("before")] == UNITS


@pytest.mark.parametrize("sitting", SITTINGS)
def test_every_question_has_four_different_options_and_a_way_to_say_no(sitting):
    for item in items(sitting):
        assert len({option.text for option in item.options}) == OPTIONS + 1, item.id
        assert item.options[-1].key == UNSURE
        assert all(option.why for option in item.options[:-1]), item.id
        assert "{" not in item.ask + "".join(option.text + option.why for option in item.options)


@pytest.mark.parametrize("sitting", SITTINGS)
def test_no_place_gives_the_right_option_away(sitting):
    found = [[option.key for option in item.options].index(item.right) for item in items(sitting)]
    assert Counter(found) == dict.fromkeys(range(OPTIONS), len(found) // OPTIONS)
    assert found == places(len(found), sitting)


def test_the_place_is_another_one_in_the_second_sitting():
    same = sum(a == b for a, b in zip(places(20, "before"), places(20, "after"), strict=True))
    assert same < 10


def test_most_questions_have_other_numbers_in_the_second_sitting():
    assert all(a.ask != b.ask for a, b in zip(items("before"), items("after"), strict=True))


def test_a_right_key_that_is_no_option_is_an_error(monkeypatch):
    real = units.function
    monkeypatch.setattr(units, "function", lambda *names: lambda **given: ("nowhere", real(*names)(**given)[1]))
    with pytest.raises(ValueError, match="nowhere"):
        items("before")


# ---- Keeping -------------------------------------------------------------------------------------------------------


def test_the_first_answer_of_a_sitting_is_kept(learner):
    form = inventory("before")
    form.choices[ID].value = "flops"
    form.keep()
    assert form.choices[ID].disabled
    form.choices[ID].value = "bound"  # as a second window could
    form.keep()
    (event,) = Record.open().events(ID)
    assert event["payload"] == {"sitting": "before", "value": "flops", "right": False}
    assert inventory("before").choices[ID].value == "flops"
    assert not inventory("after").choices[ID].disabled


def test_the_number_stands_before_its_question_and_the_choice_names_it(learner):
    form = inventory("before")
    for n, (item, asked) in enumerate(zip(items("before"), form.widget.children[0:-2:2], strict=True), 1):
        assert f"<strong>Question {n} of 20.</strong> {item.ask[:8]}" in asked.value
        assert form.choices[item.id].description == f"Your choice in question {n}:"


def test_of_two_answers_in_the_record_the_first_counts(learner):
    answer("more-rows", before="flops")
    answer("more-rows", before="bound")
    assert module.answered(Record.open().events(), "before") == {ID: "flops"}


def test_nothing_chosen_is_nothing_kept(learner):
    form = inventory("before")
    form.keep()
    assert Record.open().events() == []
    assert "first" in form.line.value


def test_the_static_form_gives_no_answer_away(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    said = inventory("before").html
    assert said.count("<ul>") == len(RIGHT)
    assert not any(option.why in said for item in items("before") for option in item.options[:-1])


def test_an_unknown_sitting_is_one_calm_line():
    assert len(repr(inventory("during")).splitlines()) == 1


# ---- What changed --------------------------------------------------------------------------------------------------


def answer(name: str, **keys: str) -> None:
    for sitting, key in keys.items():
        item = next(item for item in items(sitting) if item.id == f"inventory.{name}")
        payload = {"sitting": sitting, "value": key, "right": key == item.right}
        Record.open().add("inventory", item.id, payload)


def why(name: str, key: str) -> str:
    return next(item for item in items("after") if item.id == f"inventory.{name}").option(key).why


def test_nothing_is_said_of_a_question_before_its_second_answer(learner):
    answer("more-rows", before="flops")
    said = repr(inventory())
    assert why("more-rows", "flops") not in said
    assert why("more-rows", "bound") not in said
    assert "before 1, after 0" in said


def test_what_is_said_of_each_change(learner):
    answer("more-rows", before="flops", after="bound")
    answer("budget", before="size", after="size")
    answer("fusion", before="none", after="every")
    answer("gauge", before=UNSURE, after="resident")
    answer("intensity", before="grows", after="cube")
    lines = repr(inventory()).splitlines()
    assert lines[0] == (
        "Answered both times: 5. Misconceptions detected before: 3. Of these, still there after: 1. "
        "Wrong after, where it was not the same before: 2."
    )
    said = "\n".join(lines)
    assert f"Before: “{why('more-rows', 'flops')}” That is gone" in said
    assert f"Still there: “{why('budget', 'size')}”" in said
    assert f"After, another: “{why('fusion', 'every')}”" in said
    assert "Not known before; right after." in said
    assert f"Right before. After: “{why('intensity', 'cube')}”" in said
    assert lines[-1].endswith("no grade.")


def test_every_kind_of_change_has_its_words():
    asked = tuple(items(sitting)[4] for sitting in SITTINGS)
    keys = (asked[0].right, UNSURE, "flops", "half")
    found = [module.Change(asked, before, after) for before in keys for after in keys]
    assert {change.kind for change in found} == {
        *(f"{a}-{b}" for a in ("right", "unsure", "wrong") for b in ("right", "unsure", "wrong")), "wrong-same"
    }  # fmt: skip
    assert all(str(change) for change in found)


def test_an_option_that_is_gone_is_passed_over(learner):
    answer("more-rows", before="flops", after="bound")
    Record.open().add("inventory", "inventory.budget", {"sitting": "before", "value": "old"})
    answer("budget", after="root")
    assert [change.asked[0].id for change in module.changes(Record.open().events())] == [ID]


def test_progress_leaves_the_inventory_out(learner):
    answer("more-rows", before="flops", after="bound")
    events = Record.open().events()
    assert read(events, date.today()) == read([], date.today())


def test_a_class_can_be_read_from_its_csv(learner):
    answer("more-rows", before="flops", after="bound")
    rows = list(csv.DictReader(exchange.table(Record.open().events()).splitlines()))
    assert [(row["id"], row["guess"], row["right"]) for row in rows] == [
        (f"{ID} before", "flops", "False"),
        (f"{ID} after", "bound", "True"),
    ]


def test_a_course_without_the_unit_has_no_questions(toys):
    units.questions.cache_clear()
    assert inventory_items.items("before") == []
    units.questions.cache_clear()


def test_a_belief_that_changes_is_not_the_same(learner):
    """A planted fault: two wrong answers with different beliefs are not counted as one that stayed."""
    asked = tuple(items(sitting)[4] for sitting in SITTINGS)
    stayed = module.Change(asked, "flops", "flops")
    assert stayed.kind == "wrong-same"
    assert replace(stayed, after="half").kind == "wrong-wrong"
