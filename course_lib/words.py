"""What learners read, from the TOML file beside a module: `explorer.py` says what stands in `explorer.toml`.

    say = words(__file__)
    say("title", "fits", batch=8)       the message `fits` of the table `title`, with its values
    say.table("places")                 the messages of a table: the options of a choice, the labels of rows
    say.rows({"step": "3 ms"})          label -> value, labelled by the table `rows`

A message is a whole sentence or a label, with named values and their formats in braces (`{tokens:,}`). Where a number
or a state changes the words, there is a message for each; code puts no sentence together.
"""

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any


class Words:
    """The messages of one file, which is read when the first of them is wanted: FileNotFoundError where there is none.

    A key or a named value that is missing is a KeyError that names file and key.
    """

    def __init__(self, path: Path):
        self._path = path
        self.name = path.stem

    def __call__(self, *keys: str, **values) -> str:
        return self._filled(keys, self._find(keys), values)

    def table(self, *keys: str) -> dict[str, str]:
        """The messages of a table as they stand, by key."""
        return dict(self._find(keys))

    def all(self, *keys: str, **values) -> tuple[str, ...]:
        """The messages of a list, each with those of the values that it names."""
        messages = self._find(keys)
        if isinstance(messages, str):
            raise KeyError(f"{self._path.name}: {'.'.join(keys)} is one message, not a list of them")
        return tuple(self._filled(keys, message, values) for message in messages)

    def rows(self, numbers: Mapping[str, str], **values) -> dict[str, str]:
        """The label of each key in the table `rows`, filled with `values` -> what stands beside it."""
        return {self("rows", key, **values): shown for key, shown in numbers.items()}

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return tomllib.loads(self._path.read_text(encoding="utf-8"))

    def _find(self, keys: tuple[str, ...]) -> Any:
        found = self._tables
        for key in keys:
            if not isinstance(found, Mapping) or key not in found:
                raise KeyError(f"{self._path.name} has no {'.'.join(keys)}")
            found = found[key]
        return found

    def _filled(self, keys: tuple[str, ...], message: str, values: Mapping[str, Any]) -> str:
        try:
            return message.format_map(values)
        except KeyError as missing:
            raise KeyError(f"{self._path.name}: {'.'.join(keys)} wants the value {missing}") from None


@cache
def words(module: str) -> Words:
    """The messages beside a module, given its `__file__`."""
    return Words(Path(module).with_suffix(".toml"))
