"""A lesson may import only what `make lab` installs: the tests' environment has more, and would not notice."""

import ast
import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(
    [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/*/*.ipynb"), *ROOT.glob("solutions/*/*.ipynb")]
)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
LAB = {re.match(r"[\w.-]+", line)[0].lower() for line in EXTRAS["lab"]}


def imported(source: str) -> set[str]:
    """Top-level names that a cell imports; lines of IPython (%, !) are none of ours."""
    plain = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
    nodes = list(ast.walk(ast.parse(plain)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}


def foreign(names: set[str]) -> set[str]:
    """Of these modules, those that neither Python nor the course nor its extra `lab` brings."""
    owners = packages_distributions()
    others = names - set(sys.stdlib_module_names) - {"course_lib"}
    return {name for name in others if LAB.isdisjoint(owner.lower() for owner in owners.get(name, []))}


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_what_make_lab_installs(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert foreign({name for source in sources for name in imported(source)}) == set()


def test_a_foreign_import_is_found():
    assert foreign(imported("import torch\nfrom transformers import GPT2Config\nimport json\nimport numpy as np")) == {
        "transformers"
    }
