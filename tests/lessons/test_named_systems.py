"""The course said which systems it would show; each runs in a cell, and there is something of it to see."""

import re
import tomllib
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = tomllib.loads((ROOT / "tests" / "lessons" / "named_systems.toml").read_text("utf-8"))
CELLS = {
    cell.id: cell for path in (ROOT / "notebooks").glob("*.ipynb") for cell in nbformat.read(path, as_version=4).cells
}


def printed(cell) -> str:
    """What a learner can read below a code cell."""
    texts = [out.get("text", "") + out.get("data", {}).get("text/plain", "") for out in cell.outputs]
    return "".join(texts)


@pytest.mark.parametrize("system", NAMED["system"], ids=lambda system: system["name"])
def test_a_named_system_runs(system):
    cell = CELLS[system["cell"]]
    assert cell.cell_type == "code"
    assert cell.execution_count
    assert printed(cell)
    assert not any(out.output_type == "error" for out in cell.outputs)
    assert re.search(system["shows"], cell.source + printed(cell))


@pytest.mark.parametrize("system", NAMED["described"], ids=lambda system: system["name"])
def test_what_cannot_run_here_is_described(system):
    cell = CELLS[system["cell"]]
    assert cell.cell_type == "markdown"
    assert system["shows"] in cell.source
    assert system["why"]


def test_none_is_named_twice():
    names = [system["name"] for systems in NAMED.values() for system in systems]
    assert len(names) == len(set(names)) > 100
