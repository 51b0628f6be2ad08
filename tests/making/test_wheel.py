"""An installed wheel finds all that a checkout has of the units, away from any checkout."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

from course_lib import experiments, units
from tools.build import ROOT

SAYS = """
import importlib, json
from course_lib import check, experiments, units
cards = {unit: sorted(units.cards(unit)) for unit in units.names()}
kinds = {"claim": "claims", "number": "truths", "choice": "truths"}
for unit in units.names():
    for id, card in units.cards(unit).items():
        if card["kind"] in kinds:
            units.function(unit, kinds[card["kind"]], id)
explorers = [unit for unit in units.names() if (units.home() / "lessons" / unit / "explorer.py").exists()]
for unit in explorers:
    importlib.import_module(f"course_lib.units.{unit}.explorer")
print(json.dumps({
    "home": str(units.home()),
    "cards": cards,
    "terms": [sorted(units.glossary(unit)) for unit in units.names()],
    "titles": [units.about(unit)["title"] for unit in units.names()],
    "checks": [sorted(units.checks(unit)) for unit in units.names()],
    "experiments": list(experiments.names()),
    "published": [figure.prediction for figure in experiments.published.table()],
    "explorers": explorers,
    "one": check("q05.intensity", lambda m, k, n, bytes_per_element: 0.0).outcome,
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel, unpacked as an installer does it."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_an_installed_wheel_has_what_a_checkout_has(installed, tmp_path):

    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", SAYS], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["home"] == str(installed / "course_lib" / "_shipped")
    assert said["cards"] == {unit: sorted(units.cards(unit)) for unit in units.names()}
    assert said["terms"] == [sorted(units.glossary(unit)) for unit in units.names()]
    assert said["titles"] == [units.about(unit)["title"] for unit in units.names()]
    assert said["checks"] == [sorted(units.checks(unit)) for unit in units.names()]
    assert said["experiments"] == list(experiments.names())
    assert said["published"] == [figure.prediction for figure in experiments.published.table()]
    assert len(said["explorers"]) == len(list(ROOT.glob("lessons/*/explorer.py"))) > 0
    assert said["one"] == "wrong"
