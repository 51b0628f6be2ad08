"""A transfer card by keyboard alone, and the review that asks what the record says is due."""

import json

import pytest

pytestmark = pytest.mark.browser

DUE = [
    {"kind": "guess", "id": "t1.rows", "payload": {"value": 3.0, "text": "3", "sure": "very"}},
    {"kind": "reveal", "id": "t1.rows", "payload": {"truth": 1.02, "right": False, "decades": 0.47}},
]


def test_a_transfer_is_committed_with_its_bound_and_a_review_asks_what_is_due(open_cells, lab):
    record = lab.folder / ".course" / "record.json"
    events = [{**event, "at": "2026-01-05T10:00:00+00:00"} for event in DUE]
    record.write_text(json.dumps({"schema": 1, "events": events}))
    notebook = open_cells('card("t1.new-device")', 'from course_lib import review\nreview("t2")')
    card, page, press = notebook.card("t1.new-device"), notebook.page, notebook.page.keyboard.press
    card.get_by_text("the calculator stays closed").wait_for()
    card.get_by_label("Your guess:").focus()
    page.keyboard.type("10")
    press("Enter")
    card.get_by_text("write by what factor you may be off, 1 or more.").wait_for()
    press("Tab")
    assert notebook.focused() == "I may be off by a factor of:"
    page.keyboard.type("2")
    press("Enter")
    card.get_by_text("Committed: 10 ms, within a factor of 2.").wait_for()
    assert notebook.focused() == "Commit"
    press("Tab")  # Retry
    press("Tab")
    press("Enter")  # Reveal
    card.get_by_text("you are off by 1.5: the answer lies inside your own bound.").wait_for()
    assert card.get_by_label("I may be off by a factor of:").input_value() == "2"
    assert notebook.pale(card) == []

    shown = notebook.show(".course-review")
    assert shown.locator(".course-card").count() == 1
    shown.get_by_text("A layer gets 10,000 rows").wait_for()  # the second round: the first was met
    shown.get_by_text("Last met on 2026-01-05.").wait_for()
    shown.get_by_label("Your guess:").fill("3.4")
    shown.get_by_label("very sure").click()
    shown.get_by_role("button", name="Commit").click()
    shown.get_by_role("button", name="Reveal", disabled=False).click()
    shown.get_by_text("You said 3.4 ×; it is 3.44 ×. That is right").wait_for()
    assert notebook.pale(shown) == []
    kept = json.loads(record.read_text())["events"]
    assert kept[:2] == events
    assert [(event["kind"], event["payload"].get("did")) for event in kept[2:]] == [
        ("guess", None),
        ("reveal", None),
        ("review", "guess"),
        ("review", "reveal"),
    ]

    notebook.restart_kernel()
    notebook.run_cells("units.home", "review(")
    notebook.show(".course-review").get_by_text("You said 3.4 ×; it is 3.44 ×.").wait_for()
