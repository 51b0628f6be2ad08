"""`course release`: what students get for graded work, as a zip and a wheel.

The wheel is the library with the notebooks, the exercises and the public cases of the checks. The zip holds the wheel,
the notebooks and the exercises as files, and how to begin. Neither holds solutions, checks.py or mark schemes, and both
are searched for them before anything is written. Two releases of one state are equal byte for byte.
"""

import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from course_lib.grading import private
from course_lib.grading.leak import leaks, secrets
from course_lib.grading.sentences import say

FOLDERS = ("notebooks", "exercises")
FILES = ("LICENSE", "LICENSE-TEXT")
SECRET = re.compile(r"(^|/)(solutions|tools|tests|_checks)/|checks\.py$|(^|/)(exercises|teaching)\.md$")


def release(root: Path, out: Path) -> list[Path]:
    """Write wheel and zip into `out`; returns their paths.

    Raises `ValueError` outside a checkout or before `make build`, `RuntimeError` where something secret would go out.
    """
    if not (root / "pyproject.toml").is_file() or not all(any((root / name).glob("**/*.ipynb")) for name in FOLDERS):
        raise ValueError("a release is made in a checkout of the repository, after `make build`.")
    from hatchling.builders.wheel import WheelBuilder

    with tempfile.TemporaryDirectory() as folder:
        (wheel,) = map(Path, WheelBuilder(str(root)).build(directory=folder, versions=["standard"]))
        package = _zip(root, wheel, Path(folder))
        for path in (wheel, package):
            if found := secrets_in(path, root / "lessons"):
                raise RuntimeError(f"nothing was released: {path.name} would give away {', '.join(found)}")
        out.mkdir(parents=True, exist_ok=True)
        return [shutil.copyfile(path, out / path.name) for path in (wheel, package)]


def release_lines(root: Path, out: Path, own: Path | None) -> list[str]:
    """Release the course, with private units if there are any; the paths, and where its points come from."""
    if own is None:
        return [*map(str, release(root, out)), say("points", public=sum(private.points(root).values()))]
    with private.overlaid(root, own) as place:
        if unbuilt := [unit for unit in private.units(own) if not (place / "exercises" / unit).is_dir()]:
            raise ValueError(f"{unbuilt[0]} is not built: run `course build --private {own}` first")
        made, points, names = release(place, out), private.points(place), private.units(own)
        open_answers = private.readable(place, names)
    values = {"public": sum(points[unit] for unit in points if unit not in names)}
    values |= {"private": sum(points.get(unit, 0) for unit in names), "units": ", ".join(names)}
    warned = [say("readable", checks=", ".join(open_answers))] if open_answers else []
    return [*map(str, made), say("points_private", **values), *warned]


def secrets_in(path: Path, lessons: Path) -> list[str]:
    """What must not go out and stands in an archive: what `lessons` keeps from learners, and files that only teachers
    have.
    """
    with zipfile.ZipFile(path) as archive:
        inside = [name for name in archive.namelist() if SECRET.search(name)]
    return sorted({*leaks(path.read_bytes(), secrets(lessons)), *inside})


def _zip(root: Path, wheel: Path, folder: Path) -> Path:
    """The zip, its members in order of their names and without times."""
    name = "-".join(wheel.name.split("-")[:2])
    contents = {"READ-ME-FIRST.txt": say("release", wheel=wheel.name).encode(), wheel.name: wheel.read_bytes()}
    contents |= {file: (root / file).read_bytes() for file in FILES}
    for sub in FOLDERS:
        for path in (root / sub).rglob("*.ipynb"):
            if ".ipynb_checkpoints" not in path.parts:
                contents[path.relative_to(root).as_posix()] = path.read_bytes()
    target = folder / f"{name}.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for member in sorted(contents):
            info = zipfile.ZipInfo(f"{name}/{member}", (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            archive.writestr(info, contents[member], zipfile.ZIP_DEFLATED)
    return target
