"""No canary in anything that is given out: exercises, notebooks, package data, wheel, source archive."""

import gzip
import io
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from course_lib.grading.leak import canaries, members
from tools.source import files, units

ROOT = Path(__file__).resolve().parents[2]


def in_folder(folder: Path) -> dict[str, set[str]]:
    """Files below `folder` that hold a canary."""
    found = {path.relative_to(folder).as_posix(): canaries(path.read_bytes()) for path in files(folder)}
    return {path: names for path, names in found.items() if names}


def sources() -> dict[str, set[str]]:
    return {f"{unit.name}/{path}": names for unit in units(ROOT) for path, names in in_folder(unit).items()}


def test_the_solutions_hold_the_canaries_of_the_exercises():
    """Else the tests below could not fail."""
    planted = {unit: names for unit, names in sources().items() if unit.endswith("/exercises.md")}
    assert planted
    for page, names in planted.items():
        unit = page.partition("/")[0]
        assert canaries((ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()) == names


def test_checks_hold_canaries():
    assert any(page.endswith("/checks.py") for page in sources())


@pytest.mark.parametrize("folder", ["exercises", "notebooks", "course_lib"])
def test_no_canary_in(folder):
    assert in_folder(ROOT / folder) == {}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_no_canary_in_a_release(kind, tmp_path):
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = (WheelBuilder if kind == "wheel" else SdistBuilder)(str(ROOT))
    (archive,) = builder.build(directory=str(tmp_path), versions=["standard"])
    content = Path(archive).read_bytes()
    assert len(members(content)) > 0
    assert canaries(content) == set()
    if kind == "wheel":
        names = zipfile.ZipFile(archive).namelist()
        assert any(name.endswith("/checks.json") for name in names), "the public cases are in it"
        assert [
            n for n in names if n.startswith(("lessons/", "solutions/", "tools/")) or n.endswith("/checks.py")
        ] == []


def packed_zip(secret: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", secret)
    return buffer.getvalue()


def packed_tar(secret: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = len(secret)
        archive.addfile(info, io.BytesIO(secret))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, zlib.compress, packed_zip, packed_tar], ids=lambda p: p.__name__
)
def test_a_canary_is_found_in_archives_of_archives(pack):
    secret = b"# canary-" + b"0123abcd" + b"\n" * 100
    assert canaries(pack(secret)) == {"canary-0123abcd"}
    assert canaries(packed_zip(pack(secret))) == {"canary-0123abcd"}
    assert canaries(pack(b"nothing here")) == set()
