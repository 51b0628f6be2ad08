"""What learners read of a unit's checks, from `checks.toml`:

    [ridge]
    insight = "A ridge point belongs to a device and a dtype."

    [ridge.wrong]
    "upside down" = "You divided the bandwidth by the peak."

The table of a check is called as the second part of its id, a message as the wrong answer that it sets right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from course_lib.teaching.checks.check_form import Check


class WordsError(ValueError):
    """A `checks.toml` that does not fit its `checks.py`. `faults`: (table, keys …) -> what is wrong there."""

    def __init__(self, faults: Mapping[tuple[str, ...], str]):
        super().__init__("; ".join(faults.values()))
        self.faults = faults


def with_words(checks: Sequence[Check], tables: Mapping) -> list[Check]:
    """The checks with their sentences. Raises `WordsError` for a wrong answer without a message, for a sentence that
    belongs to nothing, and for what is no sentence.
    """
    if faults := dict(_faults(checks, dict(_flat(tables)))):
        raise WordsError(faults)
    own = [tables.get(_name(check), {}) for check in checks]
    return [
        replace(check, insight=table.get("insight", ""), messages=table.get("wrong", {}))
        for check, table in zip(checks, own, strict=True)
    ]


def _name(check: Check) -> str:
    return check.id.partition(".")[2]


def _flat(table: Mapping, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """(table, keys …) of each value; an empty table is one."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, (*above, key))
        else:
            yield (*above, key), value


def _faults(checks: Sequence[Check], given: Mapping[tuple[str, ...], object]) -> Iterator[tuple[tuple[str, ...], str]]:
    messages = {(_name(check), "wrong", name): check.id for check in checks for name in check.wrong}
    known = {(_name(check), "insight") for check in checks} | messages.keys()
    for path, value in given.items():
        if path not in known:
            yield path, f"{'.'.join(path)}: checks.py has no such check or wrong answer"
        elif not (isinstance(value, str) and value.strip()):
            yield path, f"{'.'.join(path)} must be a sentence, not {value!r}"
    for path, id in messages.items():
        if path not in given:
            yield path, f"check {id!r}: wrong[{path[-1]!r}] has no message"
