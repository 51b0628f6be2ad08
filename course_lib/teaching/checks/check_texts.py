"""What `check` says."""

from course_lib.words import words

say = words(__file__)


def said(key: str, quantity: bool, /, **values) -> str:
    """A sentence about what a function returned, or about a `quantity` that the learner assigned."""
    return say("quantity", key, **values) if quantity and key in say.table("quantity") else say(key, **values)


def said_right(text: str) -> bool:
    """Whether a stored output of `check` says that all was right."""
    table = say.table()
    return text.startswith(tuple(right.partition("{")[0] for right in (table["right"], table["quantity"]["right"])))
