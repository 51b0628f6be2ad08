"""What a student reads about an exercise: the points, what failed in words, the diagnosis of a known wrong answer.

Never a hidden input, a seed or a reference: of inputs that the exercise does not show it names the group at most.
"""

from collections.abc import Mapping

from course_lib.grading.intake.task import Item
from course_lib.grading.results.book import Entry
from course_lib.grading.sentences import say


def explained(item: Item, scored: Mapping) -> list[str]:
    """The sentences about a checked exercise, from the fields of its `Scored`."""
    outcome, groups = scored["outcome"], scored["groups"]
    if outcome == "right":
        return [say("feedback", "right"), *([item.check.insight] if item.check.insight else [])]
    lines = []
    right = [name for name, earned in groups.items() if earned and name]
    wrong = [name for name, earned in groups.items() if not earned and name]
    if right and wrong:
        lines.append(say("feedback", "partial", right="; ".join(right), wrong="; ".join(wrong)))
    if scored["whole"]:
        lines.append(say("feedback", "whole"))
    elif scored["failing"]:
        lines.append(scored["failing"])
    elif outcome in ("wrong", "partial"):
        hidden = "wrong_hidden_groups" if wrong else "wrong_hidden"
        lines.append(say("feedback", hidden, groups="; ".join(wrong)))
    else:
        lines.append(say("feedback", outcome, name=item.check.name))
    if scored["diagnosis"]:
        lines.append(scored["diagnosis"][1])
    return lines


def by_hand(entry: Entry | None, empty: bool) -> list[str]:
    """The sentences about an answer that a person grades."""
    if entry and entry.points is not None and not (empty and not entry.by_hand):
        return [say("feedback", "by_hand_done"), *comment(entry)]
    return [say("feedback", "by_hand_empty" if empty else "by_hand_waits")]


def comment(entry: Entry | None) -> list[str]:
    return [say("feedback", "comment", comment=entry.comment)] if entry and entry.comment else []


def overridden(entry: Entry | None) -> list[str]:
    """Where a person changed the points of a checked exercise: that, and what they said."""
    changed = [say("feedback", "override", auto=entry.auto or 0)] if entry and entry.by_hand else []
    return [*changed, *comment(entry)]
