"""The search over the page of all claims: a line of controls that hides rows of the tables below it. Needs anywidget.

The tables are HTML of the same output, not of the widget: JupyterLab makes links work there, and they stay when the
kernel is gone.
"""

from collections.abc import Mapping

import anywidget
import traitlets

from course_lib.teaching import live
from course_lib.teaching.cards.card_words import say


class ClaimSearch(anywidget.AnyWidget):
    """The controls. All is done in the page: nothing is asked of the kernel."""

    _esm = live.source("make.js", "cards/claims.js")
    _css = live.source("cards/claims.css")
    words = traitlets.Dict().tag(sync=True)
    units = traitlets.List().tag(sync=True)  # [prefix, title]
    rulings = traitlets.List().tag(sync=True)  # [ruling, in words]


def search(titles: Mapping[str, str]) -> ClaimSearch:
    """The search for the units of these titles, by prefix."""
    return ClaimSearch(
        words=say.table("page"),
        units=list(map(list, titles.items())),
        rulings=list(map(list, say.table("on-docket").items())),
    )
