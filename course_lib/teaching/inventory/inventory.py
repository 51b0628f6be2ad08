"""`inventory("before")`, `inventory("after")`: the questions; `inventory()`: what changed between them, by the record.

An answer is one event of the kind "inventory": {sitting, value, right}. The first to a question in a sitting counts.
"""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from course_lib import units
from course_lib.figures.tabular import html_table
from course_lib.teaching import live, markup
from course_lib.teaching.inventory.inventory_items import SITTINGS, UNSURE, Item, items
from course_lib.teaching.inventory.inventory_words import say
from course_lib.teaching.record.record import Record
from course_lib.teaching.static import Static, is_static, notice


def inventory(sitting: str | None = None):
    """Show the questions of a sitting, "before" or "after"; without one, what the record says of both.

    Returns something to display in every case.
    """
    if sitting is None:
        return shown(Record.open().events())
    if sitting not in SITTINGS:
        return notice(say("unknown", sitting=sitting))
    if is_static():
        return _static(sitting, say("elsewhere"))
    try:
        return Form(Record.open(), sitting)
    except ImportError as error:
        return _static(sitting, say("no-widgets", package=error.name))


# ---- What changed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A question that was answered in both sittings, as it was asked in each, and the keys that were chosen."""

    asked: tuple[Item, Item]
    before: str
    after: str

    @property
    def kind(self) -> str:
        """ "wrong-right" and the like; "wrong-same" where the same misconception was found twice."""
        kinds = [_kind(item, key) for item, key in zip(self.asked, (self.before, self.after), strict=True)]
        return "wrong-same" if kinds == ["wrong", "wrong"] and self.before == self.after else "-".join(kinds)

    def __str__(self) -> str:
        before, after = self.asked
        texts = {"before": before.option(self.before).why, "after": after.option(self.after).why}
        return say("change", self.kind, **texts, why=after.option(after.right).why)


def _kind(item: Item, key: str) -> str:
    return "right" if key == item.right else "unsure" if key == UNSURE else "wrong"


def answered(events: Iterable[Mapping[str, Any]], sitting: str) -> dict[str, str]:
    """Question -> the key that was chosen first in a sitting."""
    found: dict[str, str] = {}
    for event in events:
        if event["kind"] == "inventory" and event["payload"].get("sitting") == sitting:
            found.setdefault(event["id"], event["payload"].get("value"))
    return found


def changes(events: Iterable[Mapping[str, Any]]) -> list[Change]:
    """The questions answered in both sittings. An answer that is no option any more is passed over."""
    events = list(events)
    before, after = (answered(events, sitting) for sitting in SITTINGS)
    return [
        Change(asked, before[asked[0].id], after[asked[0].id])
        for asked in zip(*map(items, SITTINGS), strict=True)
        if asked[0].option(before.get(asked[0].id)) and asked[1].option(after.get(asked[0].id))
    ]


def shown(events: Iterable[Mapping[str, Any]]) -> Static:
    """What changed, in words, one row a question."""
    events = list(events)
    found = changes(events)
    if not found:
        counts = {sitting: len(answered(events, sitting)) for sitting in SITTINGS}
        return notice(say("open", **counts))
    kinds = [change.kind for change in found]
    line = say(
        "compared",
        both=len(found),
        detected=sum(kind.startswith("wrong") for kind in kinds),
        there=kinds.count("wrong-same"),
        fresh=sum(kind in ("right-wrong", "unsure-wrong", "wrong-wrong") for kind in kinds),
    )
    rows = [(_lesson(change.asked[0].unit), markup.plain(change.asked[1].ask), str(change)) for change in found]
    limits = say("limits")
    table = html_table(say.all("headers"), rows, side="")
    text = "\n".join([line, *(f"{lesson}: {said}" for lesson, _, said in rows), limits])
    return Static(f"<p>{html.escape(line)}</p>{table}<p>{html.escape(limits)}</p>", text)


def _lesson(prefix: str) -> str:
    unit = units.unit_of(f"{prefix}.")
    return units.about(unit).get("title", unit) if unit else say("to-come", unit=prefix.upper().replace("Q0", "Q"))


# ---- The questions -------------------------------------------------------------------------------------------------


def _static(sitting: str, line: str) -> Static:
    """The questions without a widget, and never the answers. line: why they are not live."""
    parts, lines = [], []
    asked = items(sitting)
    for n, item in enumerate(asked, 1):
        name, options = say("question", n=n, number=len(asked)), [option.text for option in item.options]
        bullets = "".join(f"<li>{html.escape(option)}</li>" for option in options)
        parts.append(f"<p><strong>{name}</strong></p>{markup.markdown(item.ask)}<ul>{bullets}</ul>")
        lines += [f"{name}: {markup.plain(item.ask)}", *(f"- {option}" for option in options)]
    return Static("".join([f"<p><em>{html.escape(line)}</em></p>", *parts]), "\n".join([line, *lines]))


class Form(live.Live):
    """The questions of one sitting on the screen; `.choices` are the options by question, `.keep()` is the button."""

    def __init__(self, record: Record, sitting: str):
        from ipywidgets import HTML, Button, RadioButtons, VBox

        self._record, self._sitting, self._asked = record, sitting, items(sitting)
        self.choices, parts = {}, []
        for n, item in enumerate(self._asked, 1):
            options = [(option.text, option.key) for option in item.options]
            radio = RadioButtons(
                options=options, value=None, description=say("choice", n=n),
                style={"description_width": "10em"}, layout={"width": "max-content"},
            )  # fmt: skip
            self.choices[item.id] = radio
            name = say("question", n=n, number=len(self._asked))
            asked = markup.markdown(f"**{name}.** {item.ask}")
            parts += [HTML(f'<div style="line-height:1.5">{asked}</div>'), radio]  # its own lines are 28 px high
        self.line = HTML(f"<p>{html.escape(say('start', sitting))}</p>")
        self.button = Button(description=say("keep"), layout={"width": "auto"})
        self.button.on_click(lambda _: self.keep())
        self._close()
        super().__init__(VBox([*parts, self.button, self.line]), f"inventory {sitting}", say("gone"))

    def keep(self) -> None:
        """Put into the record what was chosen and is not there yet."""
        known = self._close()
        new = [item for item in self._asked if item.id not in known and self.choices[item.id].value]
        for item in new:
            key = self.choices[item.id].value
            self._record.add("inventory", item.id, {"sitting": self._sitting, "value": key, "right": key == item.right})
        counts = {"new": len(new), "answered": len(self._close()), "number": len(self._asked)}
        line = " ".join(filter(None, [say("kept", "some" if new else "none", **counts), self._record.notice]))
        self.line.value = f"<p>{html.escape(line)}</p>"

    def _close(self) -> dict[str, str]:
        """Show what the record holds of this sitting, and close those questions."""
        known = answered(self._record.events(), self._sitting)
        for item in self._asked:
            if item.id in known:
                fits = item.option(known[item.id]) is not None
                self.choices[item.id].value = known[item.id] if fits else None
                self.choices[item.id].disabled = True
        return known
