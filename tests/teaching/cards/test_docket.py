"""The docket: one row per claim, whatever a claim's code does."""

from dataclasses import replace
from html.parser import HTMLParser

from course_lib import card, units, verdicts
from course_lib.teaching.cards import answers, docket
from course_lib.teaching.cards.card_texts import read_card


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
    assert verdicts("t1").html.startswith("<details><summary>2 claims, decided just now. Open when you have voted.<")


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


def test_all_units_together_link_to_the_cells_that_decide(toys, monkeypatch):
    about = {"title": "T1. A toy?", "cells": {"t1.s000-01": "its-card", "verdicts": "the-docket"}}
    monkeypatch.setattr(units, "about", lambda unit: about)
    shown = verdicts()
    assert shown.html.count("<details>") == 1
    assert "<summary>T1. A toy? 2 claims, decided just now.</summary>" in shown.html
    for link in ("its-card", "the-docket"):
        assert shown.html.count(f'<a href="t1_toy.ipynb#cell-id={link}">') == 1
    assert "href" not in verdicts("t1").html
