"""The explorer of published shares: its description speaks of the figures that it shows."""

import re

from course_lib.units.published import explorer as module


def states():
    for kind in module.KINDS:
        for device in module._devices({"kind": kind}):
            yield module.shares(kind, device), module.efficiency_view(kind, device).figure.description


def test_the_years_are_those_of_the_figures():
    for found, description in states():
        said = {int(year) for year in re.findall(r"\b20\d\d\b", description)}
        years = [each.year for each in found]
        assert said == {min(years), max(years)}, description


def test_no_share_is_rounded_to_nothing():
    for _, description in states():
        assert not re.search(r"\b0 %", description), description
