"""`course new q09_thousand_dollars "Q9. What can a thousand dollars train?"`: the folder of a new unit.

It is `tools/new_unit/` under another name: a lesson with one card and one counted cell, and one exercise. It lints,
builds and passes the tests as it is.
"""

import re
import sys
from pathlib import Path

from tools.source import units

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).with_name("new_unit")
NAMES = {"unit": "q00_example", "title": "An example", "prefix": "q00"}
"""What the template calls itself."""


def new(root: Path, unit: str, title: str) -> Path:
    """Make `lessons/<unit>`; returns the folder. Raises `ValueError` for a name that is no `<prefix>_<words>`, for a
    prefix that another unit has, and for a title that would break the front matter.
    """
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", unit):
        raise ValueError(f"a unit is called <prefix>_<words>, such as q09_thousand_dollars, not {unit!r}")
    prefix = unit.partition("_")[0]
    if taken := [folder.name for folder in units(root) if folder.name.partition("_")[0] == prefix]:
        raise ValueError(f"{taken[0]} has the prefix {prefix!r} already")
    if not title.strip() or re.search(r'["\\\n]', title):
        raise ValueError(f"a title is one line without quotation marks, not {title!r}")
    folder = root / "lessons" / unit
    folder.mkdir(parents=True)
    for path in sorted(TEMPLATE.glob("*.*")):
        text = path.read_text(encoding="utf-8")
        for name, value in (("unit", unit), ("title", title.strip()), ("prefix", prefix)):
            text = text.replace(NAMES[name], value)
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


def main(argv: list[str]) -> int:
    """The command line: unit and title; returns the exit status."""
    try:
        folder = new(ROOT, *argv)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{folder.relative_to(ROOT)} is there; `course build {argv[0]}` builds it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
