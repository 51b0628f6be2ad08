"""The rule by which a question comes back, against the same rule counted another way."""

import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.teaching.record.leitner import Encounter, due, encounters, places, queue

START = date(2026, 3, 1)
AFTER = {1: 1, 2: 3, 3: 7, 4: 16, 5: 35}  # days, typed from the rule as it was agreed


def on(offset: int) -> date:
    return START + timedelta(days=offset)


def met(offset: int, right: bool = True, id: str = "a", **more) -> Encounter:
    return Encounter(id, on(offset), right, **more)


HISTORIES = st.lists(
    st.builds(met, st.integers(0, 90), st.booleans(), st.sampled_from("abcd"), sure=st.sampled_from(["guess", "very"])),
    max_size=25,
).map(lambda found: sorted(found, key=lambda one: one.day))
DAYS = st.integers(0, 130).map(on)


def counted(own: list[Encounter]) -> int:
    """The box of a question, without stepping through boxes: where it started since the last wrong answer, and how many
    further days brought a right one.
    """
    wrong = [n for n, one in enumerate(own) if not one.right]
    since = own[wrong[-1] :] if wrong else own
    start = 1 if wrong or own[0].sure == "guess" else 2
    return min(5, start + len({one.day for one in since} - {since[0].day}))


@given(HISTORIES, DAYS)
def test_what_is_due_is_what_counting_says(history, today):
    own = {id: [one for one in history if one.id == id] for id in "abcd"}
    found = {id: counted(some) for id, some in own.items() if some}
    assert {id: place.box for id, place in places(history).items()} == found
    expected = {id for id, box in found.items() if own[id][-1].day + timedelta(days=AFTER[box]) <= today}
    assert set(due(history, today)) == expected


@given(HISTORIES, DAYS)
def test_the_lowest_box_comes_first_and_in_it_the_longest_unmet(history, today):
    asked, stands = due(history, today), places(history)
    keys = [(stands[id].box, stands[id].day) for id in asked]
    assert keys == sorted(keys)
    assert len(set(asked)) == len(asked)


@given(HISTORIES, DAYS)
def test_a_review_asks_all_that_is_due_and_then_the_longest_unmet_and_nothing_of_today(history, today):
    asked, first, stands = queue(history, today), due(history, today), places(history)
    assert asked[: len(first)] == first
    rest = [stands[id].day for id in asked[len(first) :]]
    assert rest == sorted(rest)
    assert set(asked) == {id for id, place in stands.items() if place.day < today}


@given(HISTORIES.filter(bool), DAYS, st.booleans())
def test_one_more_answer(history, today, right):
    last = max(today, history[-1].day + timedelta(days=1))
    id = history[0].id
    before = places(history)[id].box
    after = places([*history, Encounter(id, last, right)])
    assert after[id].box == (min(5, before + 1) if right else 1)
    assert id not in due([*history, Encounter(id, last, right)], last)
    assert {other: place for other, place in after.items() if other != id} == {
        other: place for other, place in places(history).items() if other != id
    }


@given(HISTORIES, DAYS, st.permutations("abcd"))
def test_which_question_stands_first_in_the_record_says_nothing(history, today, ids):
    assert queue([one for id in ids for one in history if one.id == id], today) == queue(history, today)


@pytest.mark.parametrize(
    ("history", "days"),
    [
        ([met(0, False)], 1),
        ([met(0, sure="guess")], 1),
        ([met(0, sure="very")], 3),
        ([met(0, sure="very"), met(3)], 7),
        ([met(0, sure="guess"), met(1)], 3),
        ([met(0, sure="very"), met(3), met(10)], 16),
        ([met(0, sure="very"), met(3), met(10), met(26)], 35),
        ([met(0, sure="very"), met(3), met(10), met(26), met(61)], 35),  # there is no sixth box
        ([met(0, sure="very"), met(3), met(10, False)], 1),
        ([met(0, sure="very"), met(0, round=1), met(0, round=2)], 3),  # again on one day shows no memory
        ([met(0, sure="very"), met(0, False, round=1)], 1),
    ],
)
def test_examples_worked_by_hand(history, days):
    last = history[-1].day
    assert due(history, last + timedelta(days=days)) == ["a"]
    assert due(history, last + timedelta(days=days - 1)) == []


# ---- From the record ---------------------------------------------------------------------------------------------


def event(kind: str, at="2026-03-01T10:00:00+00:00", id: str = "a", **payload) -> dict:
    return {"kind": kind, "id": id, "at": at, "payload": payload}


def test_what_the_record_tells_of():
    found = encounters(
        [
            event("guess", value=3, sure="very"),
            event("guess", value=4, sure="guess"),  # a second guess
            event("hint", n=1),
            event("reveal", right=False, truth=5),
            event("guess", value=5, sure="guess", round=1),
            event("reveal", right=True, round=1),
            event("review", did="guess", on="2026-03-04", value=5),
            event("review", did="reveal", on="2026-03-04", right=True, round=2, **{"in": "q09"}),
            event("check", outcome="right", right=True),
        ]
    )
    assert found == [
        Encounter("a", on(0), False, "very"),
        Encounter("a", on(0), True, "very", 1),
        Encounter("a", on(3), True, "very", 2, "q09"),
    ]


def test_a_guess_that_was_not_revealed_and_a_reflection_are_no_encounters():
    assert encounters([event("guess", value=3, sure="very"), event("reveal", right=None)]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["reveal", "9999-12-31", "0001-01-01"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=3,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["guess", "reveal", "review", "round", "later"]),
                "id": st.sampled_from(["", ".", "q01.x"]),
                "payload": st.dictionaries(st.sampled_from(["did", "on", "in", "right", "round", "sure"]), JSON),
            },
            optional={"at": JSON},
        )
    ),
    DAYS,
)
def test_strange_events_stop_nothing(events, today):
    queue(encounters(events), today)


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be set here")
@pytest.mark.parametrize(("zone", "day"), [("UTC0", 0), ("CST-8", 1), ("PST8", 0)])
def test_the_day_is_the_learners_own(monkeypatch, zone, day):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        found, reviewed = encounters(
            [
                event("reveal", "2026-03-01T20:30:00+00:00", right=True),
                event("review", did="reveal", on="2026-03-01", right=True),
            ]
        )
    time.tzset()
    assert found.day == on(day)
    assert reviewed.day == on(0)  # a review has its day with it, in every zone
