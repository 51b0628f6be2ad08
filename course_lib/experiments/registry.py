"""The experiments by name: the modules of `measurements/`, for several units, and of `lessons/<unit>/experiments/`.

A module is imported when its experiment is first asked for; the names come from the files alone.
"""

import importlib
from functools import cache
from pathlib import Path

from course_lib import units
from course_lib.accounting.units import choice

SHARED = Path(__file__).parent / "measurements"


def names() -> tuple[str, ...]:
    """The experiments that there are, sorted."""
    return tuple(_modules())


def get(name: str):
    """The Experiment `name`; an unknown name is a ValueError with the nearest."""
    choice(name, "name", names())
    return importlib.import_module(_modules()[name]).EXPERIMENT


@cache
def _modules() -> dict[str, str]:
    """Name -> module. Two files of one name are a ValueError that names both."""
    found: dict[str, Path] = {}
    for path in sorted([*SHARED.glob("[!_]*.py"), *(units.home() / "lessons").glob("*/experiments/[!_]*.py")]):
        if path.stem in found:
            raise ValueError(f"two experiments are called {path.stem!r}: {found[path.stem]} and {path}")
        found[path.stem] = path
    return {name: _module(found[name]) for name in sorted(found)}


def _module(path: Path) -> str:
    shared = path.parent == SHARED
    where = "course_lib.experiments.measurements" if shared else f"{units.__name__}.{path.parts[-3]}.experiments"
    return f"{where}.{path.stem}"
