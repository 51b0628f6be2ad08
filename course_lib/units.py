"""The units of the course: a folder each in `lessons/`, named `<prefix>_<words>`; the ids of its cards and checks begin
with `<prefix>.`, and its Python files import as `course_lib.units.<unit>.<module>`.

Only this module knows where the folders are: a checkout has its sources, an installed wheel the same folders, less what
teachers keep, in `_shipped`. Beside them `exercises/` and `notebooks/` hold what the build makes of a unit.
"""

import importlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any


def checkout() -> Path | None:
    """The repository that this library is read from; None for an installed wheel."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "lessons").is_dir() and (root / "pyproject.toml").is_file() else None


def home() -> Path:
    """The folder that holds `lessons`, `notebooks` and `exercises`."""
    return checkout() or Path(__file__).parent / "_shipped"


_ORDER = (r"\d+", r"q\d+.*", "published", "(?!claims$).*", "claims")  # what prefixes look like, in the order of units

__path__ = [str(home() / "lessons")]


def names() -> list[str]:
    """The folder names of all units, sorted."""
    return sorted(path.parent.name for path in (home() / "lessons").glob("[!_.]*/lesson.md"))


def prefix(unit: str) -> str:
    """`q05_flops_are_not_time` → `q05`."""
    return unit.partition("_")[0]


def in_order() -> list[str]:
    """The units as they are read, by `order`."""
    return sorted(names(), key=order)


def unit_of(id: str) -> str | None:
    """The unit that an id such as `q05.linear-1-to-100` belongs to, or None."""
    return next((unit for unit in names() if prefix(unit) == id.partition(".")[0]), None)


def about(unit: str) -> Mapping[str, Any]:
    """What the build says of a unit: "title", "part" where it belongs to one, the minutes of its core path ("minutes"),
    its "deeper" sections and its "exercises", "cells", the ids of the cells that show its cards, "terms", of those that
    introduce its terms, and "folded", of each cell in a deeper section with that of the section's heading. Empty before
    the first build.
    """
    return json.loads(_read(home() / "notebooks" / f"{unit}.json") or "{}")


def cell_in_view(unit: str, cell: str) -> str:
    """The cell to which a link goes: itself, or the heading above it that is folded when the notebook is opened, where
    JupyterLab would find nothing.
    """
    return about(unit).get("folded", {}).get(cell, cell)


def order(unit: str) -> tuple[int, float, str]:
    """What sorts units as they are read: 00_start_here, q01 … q24 (q08 before q08plus), published, the case studies,
    claims.
    """
    name, number = prefix(unit), re.search(r"\d+", unit)
    row = next(row for row, form in enumerate(_ORDER) if re.fullmatch(form, name))
    return row, int(number[0]) if number else math.inf, name


def checks(unit: str) -> Mapping[str, Mapping[str, Any]]:
    """The public cases of a unit's checks, by id, as the build made them; not to be changed."""
    path = home() / "exercises" / unit / "checks.json"
    return _parsed(path, path.stat().st_mtime_ns) if path.is_file() else {}


@cache
def _parsed(path: Path, changed: int) -> Mapping[str, Any]:
    """A file of JSON, read again when it changed: a wrong `check()` looks through those of all units."""
    return json.loads(_read(path))


@cache
def cards(unit: str) -> Mapping[str, Mapping[str, Any]]:
    """The tables of a unit's `cards.toml`, by card id. Malformed TOML is a ValueError that names the file."""
    return {f"{prefix(unit)}.{key}": value for key, value in _toml(unit, "cards.toml").items()}


def glossary(unit: str) -> Mapping[str, str]:
    """The lines of a unit's `glossary.toml`, by "term|another name". Malformed TOML is a ValueError that names the
    file.
    """
    return _toml(unit, "glossary.toml")


@cache
def questions() -> Mapping[str, Mapping[str, Any]]:
    """The questions of the inventory, by name, as `items.toml` of the unit "inventory" states them."""
    unit = unit_of("inventory.")
    return _toml(unit, "items.toml") if unit else {}


def function(unit: str, module: str, id: str) -> Callable[..., Any]:
    """The function of `truths.py` or `claims.py` that belongs to a card: named as the id, with `_` for `-`."""
    name = id.partition(".")[2].replace("-", "_")
    found = getattr(importlib.import_module(f"{__name__}.{unit}.{module}"), name, None)
    if not callable(found):
        raise LookupError(f"{unit}/{module}.py has no function {name}()")
    return found


def _toml(unit: str, name: str) -> Mapping[str, Any]:
    """What a table of a unit holds; nothing where there is no such file."""
    try:
        return tomllib.loads(_read(home() / "lessons" / unit / name))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{unit}/{name} cannot be read: {error}") from None


def _read(path: Path) -> str:
    """The text of a file, empty where there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""
