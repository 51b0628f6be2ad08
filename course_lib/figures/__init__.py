"""Everything that draws: `figures.draw` a picture in the course's style, `figures.projector` all further ones for a
projector.

`charts` has the two pictures of results; `plots` an explorer's figure as data, which `plots.js` draws live and
`picture` still.
"""

from course_lib.figures.figure import draw
from course_lib.figures.style import projector

__all__ = ["draw", "projector"]
