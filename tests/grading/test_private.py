"""Private exercises: a folder beside the checkout whose units are built, checked, released and graded like the others.

The worked example: a new unit (`tools.new`) in a folder of a teacher's own.
"""

import json
import zipfile
from types import SimpleNamespace

import pytest

from course_lib.grading import private, run
from course_lib.grading.release import release_lines
from course_lib.grading.seeds import new_key, write_key
from tests.grading.sandbox.conftest import ROOT
from tools.new import new

pytestmark = pytest.mark.slow
UNIT = "x01_midterm"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The private folder, built."""
    folder = tmp_path_factory.mktemp("teacher") / "graded"
    (folder / "lessons").mkdir(parents=True)
    new(folder, UNIT, "A midterm")
    assert private.build(ROOT, folder, []) == 0
    return folder


def test_it_is_built_where_it_lies(graded):
    built = {path.relative_to(graded).as_posix() for part in private.MADE for path in (graded / part).rglob("*.*")}
    assert built >= {f"{part}/{UNIT}/{UNIT}.ipynb" for part in ("exercises", "solutions")} | {f"notebooks/{UNIT}.ipynb"}
    assert f"exercises/{UNIT}/checks.json" in built
    assert not (ROOT / "lessons" / UNIT).exists()


def test_a_fault_of_a_private_unit_stops_its_build(graded, tmp_path, capfd):
    folder = tmp_path / "faulty"
    (folder / "lessons").mkdir(parents=True)
    path = new(folder, UNIT, "A midterm") / "checks.py"
    path.write_text(path.read_text().replace("points=", "points=1 + ", 1))
    assert private.build(ROOT, folder, ["--lint"]) == 1
    assert f"lessons/{UNIT}/" in capfd.readouterr().err


def test_nothing_of_a_unit_whose_name_begins_alike_is_kept(tmp_path, monkeypatch):
    """It would later lie over what the course has built of it since."""
    root, folder = tmp_path / "root", tmp_path / "graded"
    for path in (root / "lessons" / "x01_more", root / "exercises" / "x01_more", folder / "lessons" / "x01"):
        path.mkdir(parents=True)
    (folder / "lessons" / "x01" / "lesson.md").write_text("x")
    (folder / "notebooks").mkdir()
    for name in ("x01.ipynb", "x01.json"):
        (folder / "notebooks" / name).write_text("{}")
    monkeypatch.setattr(private.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    assert private.build(root, folder, []) == 0
    assert [path.name for path in (folder / "exercises").glob("*")] == []
    assert sorted(path.name for path in (folder / "notebooks").glob("*")) == ["x01.ipynb", "x01.json"]


def test_it_goes_out_without_its_solutions(graded, tmp_path):
    *made, said = release_lines(ROOT, tmp_path, graded)
    public, own = private.points(ROOT), private.points(graded)
    assert said.startswith(f"{sum(public.values()):g} points in exercises whose solutions are public")
    assert f"{own[UNIT]:g} in private ones ({UNIT})" in said
    for path in made:
        names = zipfile.ZipFile(path).namelist()
        assert any(name.endswith(f"exercises/{UNIT}/{UNIT}.ipynb") for name in names)
        assert not any("solutions" in name or name.endswith("checks.py") for name in names)


def test_a_quantity_that_goes_out_with_its_value_is_named(graded):
    """The toy has none; a unit of the course has one that scores, beside functions and your-turns."""
    assert private.readable(graded, [UNIT]) == []
    assert private.readable(ROOT, ["q02_ten_billion_in_16gb", "q90_none"]) == ["q02.state-of-8b"]


def test_what_a_failed_build_has_written_is_not_kept(tmp_path, monkeypatch):
    root, folder = tmp_path / "root", tmp_path / "graded"
    for path in (root / "lessons", root / "exercises" / "x01", folder / "lessons" / "x01"):
        path.mkdir(parents=True)
    (root / "exercises" / "x01" / "x01.ipynb").write_text("{}")
    (folder / "lessons" / "x01" / "lesson.md").write_text("x")
    monkeypatch.setattr(private.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert private.build(root, folder, []) == 1
    assert not (folder / "exercises").exists()


def test_it_is_graded(graded, tmp_path):
    solved = json.loads((graded / "solutions" / UNIT / f"{UNIT}.ipynb").read_text())
    given = (graded / "exercises" / UNIT / f"{UNIT}.ipynb").read_text()
    for student, text in (("ada", json.dumps(solved)), ("bob", given)):
        path = tmp_path / "submitted" / student / UNIT / f"{UNIT}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    roster, key = tmp_path / "roster.csv", tmp_path / "course.key"
    roster.write_text("student\nada\nbob\n")
    write_key(key, new_key())
    lines = run.grade(ROOT, tmp_path / "submitted", roster, private=graded, key=key, gradebook=False)
    assert lines[0].startswith(f"{UNIT}: 2 graded")
    head, *rows = (tmp_path / "grades" / UNIT / "grades.csv").read_text().splitlines()
    total = head.split(",").index("total")
    assert [row.split(",")[total] for row in rows] == [f"{private.points(graded)[UNIT]:g}", "0"]


def test_folders_and_names_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match=r"--private: .* holds no unit"):
        private.units(tmp_path)
    folder = tmp_path / "lessons" / "q05_flops_are_not_time"
    folder.mkdir(parents=True)
    (folder / "lesson.md").write_text("x")
    with pytest.raises(ValueError, match="the course has a unit 'q05_flops_are_not_time' of its own"):
        private.build(ROOT, tmp_path, [])
    folder.rename(folder.with_name("x02_final"))
    with pytest.raises(ValueError, match="is not built: run `course build --private"):
        release_lines(ROOT, tmp_path / "out", tmp_path)
