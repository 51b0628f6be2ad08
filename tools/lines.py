"""Lines of code by room: `python -m tools.lines [REVISION]` counts the Python, JavaScript and CSS of `course_lib` and
`lessons`, as they lie here or as they were at a revision.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = (".py", ".js", ".css")
TREES = ("course_lib", "lessons")


def rooms(revision: str | None = None) -> Counter:
    """Room -> lines: `course_lib/<room>` two levels deep, the files of each kind together, and each unit."""
    listed = (
        ["ls-tree", "-r", "--name-only", revision]
        if revision
        else ["ls-files", "--cached", "--others", "--exclude-standard"]
    )
    paths = [Path(name) for name in _git(*listed, "--", *TREES).decode().splitlines() if name.endswith(KINDS)]
    lines = Counter()
    for path in paths:
        if revision or (ROOT / path).is_file():
            content = _git("show", f"{revision}:{path.as_posix()}") if revision else (ROOT / path).read_bytes()
            lines["/".join(path.parts[:-1][:3])] += content.count(b"\n")
    return lines


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def main(arguments: list[str]) -> None:
    lines = rooms(*arguments[:1])
    for room, count in sorted(lines.items()):
        print(f"{count:7,}  {room}")
    for tree in TREES:
        print(f"{sum(count for room, count in lines.items() if room.partition('/')[0] == tree):7,}  {tree} in all")
    print(f"{lines.total():7,}  together")


if __name__ == "__main__":
    main(sys.argv[1:])
