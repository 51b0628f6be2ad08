"""The questions of the inventory in one of its sittings, with what is right computed, and the order of their options.

Texts and numbers stand in `items.toml` of the unit `inventory`; its `truths.py` computes which option is right and the
values that the texts name.
"""

from dataclasses import dataclass
from random import Random

from course_lib import units
from course_lib.teaching.cards.card_texts import Choice
from course_lib.teaching.inventory.inventory_words import say

PREFIX = "inventory"
SITTINGS = ("before", "after")
UNSURE = "unsure"  # the key of "I do not know", the last option of every question
OPTIONS = 4  # of every question, beside that


@dataclass(frozen=True)
class Item:
    """One question. `unit` is the prefix of the unit that answers it; `options` stand as they are shown. `why` of the
    right option: why it is right; of a wrong one: the misconception that it detects.
    """

    id: str
    unit: str
    ask: str
    right: str
    options: tuple[Choice, ...]

    def option(self, key: str) -> Choice | None:
        return next((option for option in self.options if option.key == key), None)


def items(sitting: str) -> list[Item]:
    """The questions in the order of units, with the numbers of the sitting. Nothing where the unit is not there."""
    tables, folder = units.questions(), units.unit_of(f"{PREFIX}.")
    return [
        _item(f"{PREFIX}.{name}", folder, table, sitting, place)
        for (name, table), place in zip(tables.items(), places(len(tables), sitting), strict=True)
    ]


def places(number: int, sitting: str) -> list[int]:
    """Where the right option of each question stands: drawn by the sitting, and each place is used equally often."""
    drawn = [index % OPTIONS for index in range(number)]
    Random(sitting).shuffle(drawn)
    return drawn


def _item(id: str, folder: str, table, sitting: str, place: int) -> Item:
    given = table[sitting]
    right, values = units.function(folder, "truths", id)(**given)
    values = {**given, **values}
    made = {key: Choice(key, text["text"].format_map(values), text["why"]) for key, text in table["options"].items()}
    if right not in made:
        raise ValueError(f"{id}: {right!r} came out, which is none of its options")
    wrong = [option for key, option in made.items() if key != right]
    Random(f"{sitting} {id}").shuffle(wrong)
    options = [*wrong[:place], made[right], *wrong[place:], Choice(UNSURE, say("unsure"))]
    return Item(id, table["unit"], table["ask"].format_map(values), right, tuple(options))
