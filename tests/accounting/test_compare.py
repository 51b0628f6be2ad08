"""Two breakdowns side by side."""

import json
from html.parser import HTMLParser

import pytest

from course_lib.accounting import flops, models
from course_lib.accounting.breakdown import Breakdown

MHA = Breakdown.of("B", {"weights": 10, "cache": Breakdown.of("B", {"keys": 40, "values": 40})})
GQA = Breakdown.of("B", {"weights": 8, "cache": Breakdown.of("B", {"keys": 10, "values": 10}), "pages": 3})


def test_rows_hold_every_part_of_both_sides_once():
    rows = MHA.compare(GQA).rows
    assert rows == (("weights", 10, 8), ("cache.keys", 40, 10), ("cache.values", 40, 10), ("pages", 0, 3))
    assert [sum(column) for column in list(zip(*rows, strict=True))[1:]] == [90, 31]


def test_difference_and_ratio():
    comparison = MHA.compare(GQA)
    assert comparison.difference == -59
    assert comparison.ratio == pytest.approx(31 / 90)
    assert Breakdown.of("B", {"a": 0}).compare(MHA).ratio is None


def test_text_names_both_sides_and_what_is_new_or_gone():
    lines = repr(MHA.compare(GQA, labels=("MHA", "GQA"))).splitlines()
    assert lines[0].split() == ["part", "MHA", "GQA", "difference", "ratio"]
    assert lines[1].split()[:5] == ["weights", "10", "8", "−2", "×0.800"]
    assert lines[4].split()[:5] == ["pages", "0", "3", "+3", "new"]
    assert "gone" in repr(GQA.compare(MHA))
    assert "same" in repr(MHA.compare(MHA))
    assert lines[2].count("░") == 4 * lines[2].count("█")  # 40 against 10, on one scale


def test_html_is_a_table_whose_numbers_stand_in_text():
    class Cells(HTMLParser):
        def __init__(self):
            super().__init__()
            self.rows, self.here = [], None

        def handle_starttag(self, tag, attributes):
            if tag == "tr":
                self.rows.append([])
            self.here = tag

        def handle_data(self, data):
            if self.here in ("td", "th") and data.strip():
                self.rows[-1].append(data)

    parser = Cells()
    parser.feed(MHA.compare(GQA, labels=("<MHA>", "GQA"))._repr_html_())
    assert parser.rows[0] == ["part", "<MHA>", "GQA", "difference", "ratio"]
    assert parser.rows[2] == ["cache.keys", "40", "10", "−30", "×0.250"]
    assert parser.rows[-1] == ["total", "90", "31", "−59", "×0.344"]


def test_json():
    data = json.loads(MHA.compare(GQA).to_json())
    assert data["unit"] == "B"
    assert data["totals"] == [90, 31]
    assert data["parts"][3] == ["pages", 0, 3]


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="Cannot compare B with FLOP"):
        MHA.compare(flops.forward(models.load("gpt2")))
    with pytest.raises(ValueError, match="other=31 must be a Breakdown"):
        MHA.compare(31)
    with pytest.raises(ValueError, match=r"labels=.* must be two words"):
        MHA.compare(GQA, labels=("one",))
