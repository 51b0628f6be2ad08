"""The docket: one row per claim, whatever a claim's code does."""

import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from course_lib import card, units, verdicts
from course_lib.teaching.cards import answers, claim_search, docket
from course_lib.teaching.cards.card_texts import read_card
from course_lib.teaching.cards.card_words import say
from course_lib.teaching.cards.verdict import RULINGS


class Rows(HTMLParser):
    """The body rows of a table: for each cell its attributes and its texts, one for each element in it."""

    def __init__(self, page: str):
        super().__init__()
        self.rows: list[list[tuple[dict, list[str]]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append((dict(attributes), []))

    def handle_data(self, data):
        if self.rows:
            self.rows[-1][-1][1].append(data)


def test_each_claim_has_its_ruling_and_its_evidence_line_by_line(toys):
    shown = verdicts("t1")
    _, first, second = Rows(shown.html).rows
    assert [texts for _, texts in first][1:3] == [
        ["✗ fails"],
        ["It is no constant.", "intensity: 683", "n: 4,096", "computed: 682.7 FLOP/B"],
    ]
    assert [texts for _, texts in second] == [
        ["S000-02", "Ridge points are ", "ratios", "; ", "a*b*c", " too.", "the source notes"],
        ["✓ holds"],
        ["By its data sheet.", "share: 0.333", "rows: 345"],
        ["The ridge point is peak ÷ bandwidth."],
    ]
    assert "✓ holds: S000-02: Ridge points" in repr(shown)


def test_every_cell_is_aligned_left_and_at_the_top(toys):
    cells = [cell for row in Rows(verdicts("t1").html).rows for cell, _ in row]
    assert len(cells) == 12
    assert all("text-align:left;vertical-align:top" in cell["style"] for cell in cells)


def test_it_is_folded(toys):
    summary = "<summary>2 claims, decided just now. Open when you have voted.<"
    assert verdicts("t1").html.startswith(f'<details class="course-docket course-of-t1">{summary}')


def test_a_claim_whose_code_fails_has_no_ruling_and_spoils_no_other(toys, monkeypatch):
    real = answers.answer

    def fail(found):
        if found.id == "t1.s000-01":
            raise RuntimeError("a < b")
        return real(found)

    monkeypatch.setattr(answers, "answer", fail)
    _, first, second = Rows(verdicts("t1").html).rows
    assert [texts for _, texts in first][1:] == [["not decided"], ["RuntimeError: a < b"], []]
    assert second[1][1] == ["✓ holds"]


def test_a_text_that_names_no_number_spoils_no_other_claim(toys, monkeypatch):
    monkeypatch.setattr(
        docket, "read_card", lambda id: replace(read_card(id), corrected="{gone}" if "-01" in id else "")
    )
    _, first, second = Rows(verdicts("t1").html).rows
    assert [texts for _, texts in first][1:] == [["not decided"], ["KeyError: 'gone'"], []]
    assert second[1][1] == ["✓ holds"]


def test_a_claim_of_the_docket_opens_as_a_card(toys):
    live = card("t1.s000-02")
    live.act({"do": "commit", "guess": "holds", "sure": "very"})
    live.act({"do": "reveal"})
    assert "The claim holds." in live.widget.view["answer"]


ABOUT = {"title": "T1. A toy?", "cells": {"t1.s000-01": "its-card", "verdicts": "the-docket"}}


@pytest.fixture
def built(toys, monkeypatch):
    """The toy unit as the build describes it: the first claim has a card in its lesson, the second has none."""
    monkeypatch.setattr(units, "about", lambda unit: ABOUT)
    return monkeypatch


@pytest.fixture
def static(built):
    built.setenv("COURSE_STATIC", "1")


def displayed(monkeypatch) -> list:
    """What the page of all claims displays, in its order."""
    outputs = []
    monkeypatch.setattr("IPython.display.display", lambda shown, raw=False: outputs.append(shown))
    verdicts()._ipython_display_()
    return outputs


def test_all_units_together_link_to_the_cells_that_decide(static):
    shown = verdicts()
    assert shown.html.count("<details ") == 1
    assert "<summary>T1. A toy? 2 claims, decided just now.</summary>" in shown.html
    for link in ("its-card", "the-docket"):
        assert shown.html.count(f'<a href="t1_toy.ipynb#cell-id={link}">') == 1
    assert "href" not in verdicts("t1").html
    assert "✗ fails: S000-01" in repr(shown), "a reader who has no kernel has no vote either"


def test_a_claim_without_a_card_links_to_the_cell_that_it_names(static, monkeypatch):
    real = dict(units.cards("t1_toy"))
    real["t1.s000-02"] = {**real["t1.s000-02"], "cell": "t1-shows-it"}
    monkeypatch.setattr(units, "cards", cache(lambda unit: real))
    assert '<a href="t1_toy.ipynb#cell-id=t1-shows-it">' in verdicts().html


def test_a_link_into_a_folded_section_goes_to_its_heading(static, monkeypatch):
    about = units.about("t1_toy") | {"folded": {"its-card": "its-heading"}}
    monkeypatch.setattr(units, "about", lambda unit: about)
    shown = verdicts().html
    assert '<a href="t1_toy.ipynb#cell-id=its-heading">' in shown
    assert "#cell-id=its-card" not in shown
    assert '<a href="t1_toy.ipynb#cell-id=the-docket">' in shown


def test_a_claim_that_no_cell_shows_links_to_its_lesson(static, monkeypatch):
    monkeypatch.setattr(units, "about", lambda unit: {"title": "T1."})
    assert verdicts().html.count('<a href="t1_toy.ipynb"><strong>S000-0') == 2


@pytest.mark.parametrize("number", [1, 2])
def test_one_claim_is_no_claims(static, monkeypatch, number):
    claims = [id for id, table in units.cards("t1_toy").items() if table.get("kind") == "claim"][:number]
    tables = {id: units.cards("t1_toy")[id] for id in claims}
    monkeypatch.setattr(units, "cards", cache(lambda unit: tables))
    said = {1: "1 claim, decided", 2: "2 claims, decided"}[number]
    assert f"<summary>{said}" in verdicts("t1").html
    assert f"<summary>T1. A toy? {said}" in verdicts().html


def test_a_live_page_keeps_a_ruling_back_until_the_vote(built):
    secrets = ("fails", "682.7", "Intensity depends", "It is no constant")
    *_, tables = displayed(built)
    first, second = Rows(tables.html).rows[1:]
    assert first[1][1] == ["to be voted on"]
    assert not [secret for secret in secrets if secret in tables.html + repr(tables)]
    assert second[1][1] == ["✓ holds"], "it has no card, so it waits for no vote"
    card("t1.s000-01").act({"do": "commit", "guess": "holds", "sure": "very"})
    *_, tables = displayed(built)
    assert all(secret in tables.html for secret in secrets)


def test_a_live_page_has_the_search_above_the_tables(built):
    search, later, tables = displayed(built)
    assert "application/vnd.jupyter.widget-view+json" in search
    assert say("page-gone") in later["text/html"]
    assert "course-of-t1" in tables.html


def test_the_search_says_nothing_of_any_claim():
    state = claim_search.search({"t1": "T1. A toy?"}).get_state(["words", "units", "rulings"])
    assert state["units"] == [["t1", "T1. A toy?"]]
    assert [ruling for ruling, _ in state["rulings"]] == [*RULINGS, docket.UNDECIDED, docket.TO_VOTE]


def test_without_a_widget_the_tables_stand_alone(built):
    built.setitem(sys.modules, "anywidget", None)
    built.delitem(sys.modules, "course_lib.teaching.cards.claim_search", raising=False)
    line, tables = displayed(built)
    assert "anywidget" in line.text
    assert "course-of-t1" in tables.html
