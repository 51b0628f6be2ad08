"""`course release`: what students get holds everything they need and nothing of the solutions."""

import base64
import gzip
import io
import json
import re
import shutil
import zipfile
import zlib
from pathlib import Path

import pytest

from course_lib.grading.leak import leaks
from course_lib.grading.release import release, secrets_in

ROOT = Path(__file__).resolve().parents[2]
SECRET = b"# canary-" + b"0123abcd" + b"\n" * 100
CHECKS = """
def _reference(m, k, n):
    flops = 2 * m * k * n
    return flops / (2 * (m * k + k * n + m * n))
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> dict[str, Path]:
    return {path.suffix: path for path in release(ROOT, tmp_path_factory.mktemp("release"))}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".whl", ".zip"])
def test_nothing_secret_is_released(released, kind):
    assert secrets_in(released[kind], ROOT / "lessons") == []
    names = zipfile.ZipFile(released[kind]).namelist()
    secret = r"(^|/)solutions?\b|checks\.py|exercises\.md|teaching\.md|\.key$"
    assert [name for name in names if re.search(secret, name)] == []


def lines(notebook: Path, answers: bool) -> set[str]:
    """The lines of the answer cells, or of all others, that are long enough to be told from others."""
    cells = json.loads(notebook.read_text())["cells"]
    texts = ["".join(c["source"]) for c in cells if bool(c["metadata"].get("nbgrader", {}).get("solution")) == answers]
    return {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 25}


@pytest.mark.slow
def test_no_line_of_a_solution_is_in_the_released_exercises(released):
    """Independent of the canaries."""
    with zipfile.ZipFile(released[".zip"]) as archive:
        exercises = {name: archive.read(name).decode() for name in archive.namelist() if "/exercises/" in name}
    assert len(exercises) > 1
    for name, text in exercises.items():
        unit = Path(name).stem
        solved, given = ROOT / "solutions" / unit / f"{unit}.ipynb", ROOT / "exercises" / unit / f"{unit}.ipynb"
        shown = "\n".join(lines(solved, False))  # a program to be repaired shares lines with what repairs it
        own = {line for line in lines(solved, True) - lines(given, True) if line not in shown}
        assert own
        sources = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        assert [line for line in own if line in sources] == []


@pytest.mark.slow
def test_the_zip_holds_the_wheel_and_all_notebooks(released):
    with zipfile.ZipFile(released[".zip"]) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        wheel = archive.read(next(name for name in archive.namelist() if name.endswith(".whl")))
    assert wheel == released[".whl"].read_bytes()
    built = {p.relative_to(ROOT).as_posix() for f in ("notebooks", "exercises") for p in (ROOT / f).rglob("*.ipynb")}
    assert built <= names
    assert {"READ-ME-FIRST.txt", "LICENSE", "LICENSE-TEXT"} <= names
    inside = zipfile.ZipFile(io.BytesIO(wheel)).namelist()
    assert any(name.endswith("/checks.json") for name in inside), "the public cases"


@pytest.mark.slow
def test_two_releases_are_equal(released, tmp_path):
    assert [path.read_bytes() for path in release(ROOT, tmp_path)] == [path.read_bytes() for path in released.values()]


def checkout(tmp_path) -> Path:
    """A small one that can be released."""
    root = tmp_path / "checkout"
    for name in ("notebooks", "exercises"):
        (root / name).mkdir(parents=True)
        (root / name / "a.ipynb").write_text('{"cells": []}')
    unit = root / "lessons" / "q99_toy"
    unit.mkdir(parents=True)
    (unit / "lesson.md").write_text("# A toy")
    (unit / "checks.py").write_text(CHECKS)
    (root / "course_lib").mkdir()
    (root / "course_lib" / "__init__.py").write_text("")
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, root)
    return root


def hide_in_output(root):
    png = base64.b64encode(b"\x89PNG" + SECRET).decode()
    cell = {"cell_type": "code", "outputs": [{"data": {"image/png": png}}]}
    (root / "notebooks" / "a.ipynb").write_text(json.dumps({"cells": [cell]}))


def hide_by_escapes(root):
    text = json.dumps({"cells": [{"source": SECRET.decode()}]}).replace("canary", "\\u0063anary")
    (root / "exercises" / "a.ipynb").write_text(text)


def hide_packed(root):
    (root / "course_lib" / "data.json.gz").write_bytes(gzip.compress(zlib.compress(SECRET)))


def copy_a_reference(root):
    copied = CHECKS.replace("    flops", "    # the reference\n    flops").splitlines(keepends=True)
    (root / "notebooks" / "a.ipynb").write_text(json.dumps({"cells": [{"source": copied}]}))


def copy_a_reference_into_a_lesson(root):
    (root / "lessons" / "q99_toy" / "truths.py").write_text(CHECKS.replace("_reference", "truth"))


def hide_a_file(root):
    (root / "course_lib" / "checks.py").write_text("CHECKS = []")


@pytest.mark.parametrize(
    "hide",
    [hide_in_output, hide_by_escapes, hide_packed, copy_a_reference, copy_a_reference_into_a_lesson, hide_a_file],
    ids=lambda f: f.__name__,
)
def test_nothing_is_written_where_something_would_leak(tmp_path, hide):
    root, out = checkout(tmp_path), tmp_path / "out"
    assert len(release(root, tmp_path / "fine")) == 2
    hide(root)
    with pytest.raises(RuntimeError, match=r"would give away .*(canary-0123abcd|checks\.py)"):
        release(root, out)
    assert not out.exists()


def test_outside_a_checkout(tmp_path, refuses):
    refuses(lambda: release(tmp_path, tmp_path / "out"), ["in a checkout of the repository"])


def test_the_texts_of_json_are_searched_too():
    packed = json.dumps({"a": [base64.b64encode(gzip.compress(SECRET)).decode()]}).encode()
    assert leaks(packed, {}) == {"canary-0123abcd"}
    assert leaks(b'{"a": "canary-0123"}', {}) == set()
