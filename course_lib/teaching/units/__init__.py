"""The built data of each unit: title and part, cards, truths, claims and public checks, read as package data.

A unit is a folder here, named `<prefix>_<words>`; the ids of its cards and checks begin with `<prefix>.`. The folders
are made by the build from `lessons/`, which nothing here reads.
"""

import importlib
import json
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.abc import Traversable
from importlib.resources import files
from typing import Any


def root() -> Traversable:
    return files(__name__)


def names() -> list[str]:
    """The folder names of all units, sorted."""
    return sorted(entry.name for entry in root().iterdir() if entry.is_dir() and not entry.name.startswith(("_", ".")))


def prefix(unit: str) -> str:
    """`q05_flops_are_not_time` → `q05`."""
    return unit.partition("_")[0]


def unit_of(id: str) -> str | None:
    """The unit that an id such as `q05.same-flops` belongs to, or None."""
    return next((unit for unit in names() if prefix(unit) == id.partition(".")[0]), None)


def read_text(unit: str, name: str) -> str | None:
    """The text of one data file of a unit, or None where the unit has no such file."""
    path = root() / unit / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def about(unit: str) -> Mapping[str, Any]:
    """What the build says of a unit's lesson: "title", "minutes", "part" where it belongs to one, and "cells", the ids
    of the cells that show its cards.
    """
    return json.loads(read_text(unit, "unit.json") or "{}")


@cache
def cards(unit: str) -> Mapping[str, Mapping[str, Any]]:
    """The tables of a unit's `cards.toml`, by card id. Malformed TOML is a ValueError that names the file."""
    try:
        tables = tomllib.loads(read_text(unit, "cards.toml") or "")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{unit}/cards.toml cannot be read: {error}") from None
    return {f"{prefix(unit)}.{key}": value for key, value in tables.items()}


def function(unit: str, module: str, id: str) -> Callable[[], Any]:
    """The function of `truths.py` or `claims.py` that belongs to a card: named as the id, with `_` for `-`."""
    name = id.partition(".")[2].replace("-", "_")
    found = getattr(importlib.import_module(f"{__name__}.{unit}.{module}"), name, None)
    if not callable(found):
        raise LookupError(f"{unit}/{module}.py has no function {name}()")
    return found
