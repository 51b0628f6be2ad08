"""A unit is executed again when what decides its outputs changed, and only then."""

import json
import shutil

import nbformat
import pytest

from tests.making.conftest import Toy
from tools import freshness
from tools.build import ROOT, build, drift
from tools.freshness import changed, digest, made_from

TABLE = "course_lib/accounting/hardware/hardware.toml"
READS_A_PRICE = 'from course_lib.accounting import hardware\nprint(hardware.load("h100-sxm").name)\nprint("twice")'


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def edit_notebook(path, change):
    nb = nbformat.read(path, as_version=4)
    change(next(cell for cell in nb.cells if cell.cell_type == "code"))
    nbformat.write(nb, path)


def add_experiment(toy):
    (toy.unit / "experiments").mkdir()
    (toy.unit / "experiments" / "one.py").write_text("EXPERIMENT = None\n")


DECIDES = {
    "code of the lesson": lambda toy: toy.edit("lesson.md", "2 + 2", "2 + 3"),
    "cards": lambda toy: toy.edit("cards.toml", "How many?", "How much?"),
    "truths": lambda toy: toy.edit("truths.py", "2.0", "3.0"),
    "claims": lambda toy: toy.edit("claims.py", "holds", "fails"),
    "an experiment": add_experiment,
    "code in the notebook": lambda toy: edit_notebook(toy.notebook, lambda cell: cell.update(source="1 + 1")),
    "no outputs": lambda toy: edit_notebook(toy.notebook, lambda cell: cell.update(execution_count=None)),
    "a damaged notebook": lambda toy: toy.notebook.write_text("{"),
}
DECIDES_NOTHING = {
    "teaching note": lambda toy: toy.edit("teaching.md", "Plans", "Other plans"),
    "exercises": lambda toy: toy.edit("exercises.md", "Say why.", "Say why twice."),
    "checks": lambda toy: toy.edit("checks.py", "(5.5,)", "(6.5,)"),
    "a comment": lambda toy: toy.edit("truths.py", "    return", '    """Of one."""\n    return'),
    "prose of the lesson": lambda toy: toy.edit("lesson.md", "Why twice?", "Why not?"),
    "slides": lambda toy: toy.edit("lesson.md", '{"cid": "q99-why"}', '{"slideshow": {"slide_type": "slide"}}'),
}


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("name", DECIDES)
def test_what_is_executed_again(built, name):
    DECIDES[name](built)
    assert build(built.root) == ["q99_toy"]
    assert build(built.root) == []


@pytest.mark.parametrize("name", DECIDES_NOTHING)
def test_what_is_written_and_not_executed(built, name):
    outputs = [cell.get("outputs") for cell in nbformat.read(built.notebook, as_version=4).cells]
    DECIDES_NOTHING[name](built)
    assert build(built.root) == []
    assert drift(built.root) == []
    assert [cell.get("outputs") for cell in nbformat.read(built.notebook, as_version=4).cells] == outputs


def test_all_are_executed_on_demand(built):
    assert build(built.root, everything=True) == ["q99_toy"]


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    """A toy course whose lesson reads a table of the library."""
    toy = Toy(tmp_path_factory.mktemp("reading") / "course")
    toy.edit("lesson.md", 'print("twice")', READS_A_PRICE)
    build(toy.root)
    return toy


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A copy of the library, which decides in place of the one that was executed."""
    shutil.copytree(ROOT / "course_lib", tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(freshness, "LIBRARY", tmp_path)
    return tmp_path


def test_what_the_kernel_read_is_kept_in_the_notebook(reading):
    kept = nbformat.read(reading.notebook, as_version=4).metadata.course.made_from
    assert {TABLE, "course_lib/accounting/hardware/devices.py", "course_lib/__init__.py"} <= kept.keys()
    assert (
        not {"course_lib/accounting/economics.py", "course_lib/cli.py", TABLE.replace("/hardware.toml", "")}
        & kept.keys()
    )
    assert kept[TABLE] == digest(ROOT / TABLE)


@pytest.mark.parametrize(
    ("path", "old", "new", "stale"),
    [
        (TABLE, "[", "# a comment in a table counts\n[", True),
        ("course_lib/accounting/hardware/devices.py", "\nfrom", "\nimport math\nfrom", True),
        ("course_lib/accounting/hardware/devices.py", "\nfrom", "\n# why\nfrom", False),
        ("course_lib/accounting/economics.py", "\nfrom", "\nimport math\nfrom", False),
    ],
)
def test_a_change_of_the_library_counts_where_it_was_read(reading, library, path, old, new, stale):
    assert drift(reading.root) == []
    edit(library / path, old, new)
    said = f"notebooks/q99_toy.ipynb: its outputs are stale: {path} changed; run `make build`"
    assert drift(reading.root) == [said] * stale


def test_a_file_of_the_library_that_is_gone_counts(reading, library):
    (library / TABLE).unlink()
    (problem,) = drift(reading.root)
    assert f"{TABLE} changed" in problem


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1\n", "x = 1  # why\n\n\n# and how\n", True),
        ("def f():\n    return 1\n", 'def f():\n    """What."""\n    return 1\n', True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 'a # b'\n", "x = 'a # c'\n", False),
        ("x = 'a'\n", "x = '''a\n'''\n", False),
        ("if x:\n    y = 1\n", "if x:\n    pass\ny = 1\n", False),
    ],
)
def test_digests_of_python(tmp_path, one, other, same):
    (tmp_path / "one.py").write_text(one)
    (tmp_path / "other.py").write_text(other)
    assert (digest(tmp_path / "one.py") == digest(tmp_path / "other.py")) == same


def test_one_more_recording_counts(library):
    folder = "course_lib/experiments/recordings"
    lesson = library / "lessons" / "q99_toy"
    lesson.mkdir(parents=True)
    before = made_from(library, lesson, [str(library / folder), str(library / "course_lib" / "accounting" / "gone.py")])
    assert list(before) == [folder]
    (library / folder / "module.py").write_text("")
    (library / folder / "module.toml").write_text("")
    assert changed(library, lesson, before) == []
    (library / folder / "gpu.json").write_text("{}")
    assert changed(library, lesson, before) == [folder]


def test_recordings_count_by_experiment(library):
    file, lesson = library / freshness.RECORDINGS / "gpu.json", library / "lessons" / "q99_toy"
    lesson.mkdir(parents=True)

    def write(results, unavailable):
        file.write_text(json.dumps({"results": results, "unavailable": unavailable}))

    write({"one": {"seconds": 1.0}, "other": {"seconds": 1.0}}, {"third": "no GPU"})
    before = made_from(library, lesson, [str(file)], ["one", "third", "never"])
    assert list(before) == ["recordings of never", "recordings of one", "recordings of third"]
    write({"one": {"seconds": 1.0}, "other": {"seconds": 2.0}}, {"third": "no GPU"})
    assert changed(library, lesson, before) == []
    write({"one": {"seconds": 1.5}, "other": {"seconds": 2.0}, "third": {"seconds": 1.0}}, {})
    assert changed(library, lesson, before) == ["recordings of one", "recordings of third"]
    write({"never": {}}, {})
    assert changed(library, lesson, before) == list(before)


def test_a_notebook_is_made_from_the_recordings_that_it_asks_for(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("recorded") / "course")
    toy.edit(
        "lesson.md", 'print("twice")', 'from course_lib.experiments import load\nload("gemm_ladder")\nprint("twice")'
    )
    build(toy.root)
    kept = nbformat.read(toy.notebook, as_version=4).metadata.course.made_from
    assert [name for name in kept if "recordings" in name and not name.endswith(".py")] == [
        freshness.RECORDINGS,
        "recordings of gemm_ladder",
    ]


def test_one_more_table_of_published_figures_counts(library):
    folder, lesson = "course_lib/experiments/published/figures", library / "lessons" / "q99_toy"
    lesson.mkdir(parents=True)
    before = made_from(library, lesson, [str(library / folder)])
    (library / folder / "energy.toml").write_text("")
    assert changed(library, lesson, before) == [folder]


def test_what_is_read_of_all_units_counts_for_new_ones_too(tmp_path):
    for unit in ("q01_one", "q02_two"):
        (tmp_path / "lessons" / unit).mkdir(parents=True)
        (tmp_path / "lessons" / unit / "cards.toml").write_text(unit)
    first, second = (tmp_path / "lessons" / unit for unit in ("q01_one", "q02_two"))
    alone, reading = made_from(tmp_path, first, []), made_from(tmp_path, first, [], reads=["cards.toml"])
    (second / "cards.toml").write_text("another card")
    (tmp_path / "lessons" / "q03_three").mkdir()
    (tmp_path / "lessons" / "q03_three" / "cards.toml").write_text("new")
    assert changed(tmp_path, first, alone) == []
    assert changed(tmp_path, first, reading, ["cards.toml"]) == [
        f"lessons/{unit}/cards.toml" for unit in ("q02_two", "q03_three")
    ]
