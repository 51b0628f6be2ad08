"""Every explorer that there is: that of the library, and those of the units."""

import re

from course_lib import units

OWN = re.compile(r'"(explorer\.\w+)"')
"""In a unit's explorer.py: the call that shows an explorer again."""

IMPORTS = {"explore.roofline": "from course_lib import explore"} | {
    call: f"from course_lib.units.{path.parent.name} import explorer"
    for path in sorted((units.home() / "lessons").glob("*/explorer.py"))
    for call in OWN.findall(path.read_text(encoding="utf-8"))
}
"""Function as a notebook calls it -> the line that imports it."""
