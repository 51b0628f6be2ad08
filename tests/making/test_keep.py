"""What is measured on a busy machine is measured again, and in the end the outputs of an earlier build stay."""

import shutil

import nbformat
import pytest

from tests.making.conftest import Toy
from tools.build import BuildError, build, drift
from tools.keep import kept, measured

PREPARE = """\
import os
from pathlib import Path
from course_lib.experiments.running.result import Result


def double(x):
    return 2 * x
"""
TABLE = """\
runs = Path(os.environ["TOY_RUNS"])
first, *others = runs.read_text().split()
runs.write_text(" ".join(others))
name, _, load = first.partition(":")
r = Result("toy", "", (), "", (), {}, {}, {}, {"used_by_others": float(load)})
print("table of", name)
"""
PLOT = 'print("plot of", name, double(2))'
JUDGE = 'r.judge("fails" not in name, "twice is more")\nprint("judged", name)'
STATIC = 'print("not measured, in", os.environ["TOY_TIME"])'


def code(source, tag=""):
    tags = f":tags: [{tag}]\n\n" if tag else ""
    return f"```{{code-cell}} ipython3\n{tags}{source}\n```\n"


def measuring(root):
    """A toy course with a table, its plot and its judge. Each run takes the next word of a file, `name:load`: load is
    the share of the processor that others use, and in a run whose name has "fails" the claim does not hold.
    """
    toy = Toy(root)
    cells = [
        code(PREPARE),
        code(TABLE, "nbval-ignore-output"),
        code(STATIC),
        code(PLOT, "nbval-ignore-output"),
        code(JUDGE),
    ]
    text = '+++ {"cid": "q99-why"}'
    toy.edit("lesson.md", text, "\n".join([*cells, text]))
    return toy


def build_in(toy, words, time, draft=False):
    """Build at a time, in runs of these words; returns the words that are left."""
    file = toy.root.parent / "runs.txt"
    file.write_text(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOY_RUNS", str(file))
        patch.setenv("TOY_TIME", time)
        build(toy.root, everything=True, draft=draft)
    return file.read_text()


@pytest.fixture(scope="module")
def quiet_once(tmp_path_factory):
    toy = measuring(tmp_path_factory.mktemp("quiet") / "course")
    assert build_in(toy, "first:0 second:0", "spring") == "second:0", "a quiet run is enough"
    nb = nbformat.read(toy.notebook, as_version=4)
    nb.metadata.course.measured = "2026-03-01"
    nbformat.write(nb, toy.notebook)
    return toy.root


@pytest.fixture
def quiet(quiet_once, tmp_path):
    """A toy course that was built on a quiet machine, in spring."""
    shutil.copytree(quiet_once, tmp_path / "course")
    return measuring(tmp_path / "course")


def shown(toy):
    """What the notebook shows of the toy: its table, what is not measured, its plot, and its judge."""
    cells = nbformat.read(toy.notebook, as_version=4).cells
    texts = [output.text for cell in cells for output in cell.get("outputs", []) if "text" in output]
    return [text.replace("\n", " ").strip() for text in texts][:4]


def of(name, time, said="It holds in this run: twice is more."):
    return [f"table of {name}", f"not measured, in {time}", f"plot of {name} 4", f"{said} judged {name}"]


def day(toy):
    return nbformat.read(toy.notebook, as_version=4).metadata.course.get("measured")


@pytest.mark.slow
def test_a_quiet_run_replaces_what_was_measured(quiet, capsys):
    assert build_in(quiet, "a:0.5 b:0 fails:0.5 d:0.5", "summer") == "fails:0.5 d:0.5", "b is quiet"
    assert shown(quiet) == of("b", "summer")
    assert day(quiet) != "2026-03-01"
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_the_outputs_of_an_earlier_build_stay(quiet, capsys):
    assert shown(quiet) == of("first", "spring")
    assert build_in(quiet, "a:0.5 fails-b:0 fails-c:0.5 d:0", "summer") == "d:0"
    assert shown(quiet) == of("first", "summer"), "all that was measured comes from one run, all else is new"
    assert capsys.readouterr().err == "q99: the machine was busy; the measured outputs of 2026-03-01 stay\n"
    assert day(quiet) == "2026-03-01"
    assert drift(quiet.root) == []
    assert build(quiet.root) == []
    quiet.edit("lesson.md", "Why twice?", "Why?")
    assert build(quiet.root) == []
    assert day(quiet) == "2026-03-01"
    assert drift(quiet.root) == []


@pytest.mark.slow
def test_nothing_is_there_to_keep(tmp_path):
    toy = measuring(tmp_path / "course")
    line = (toy.unit / "lesson.md").read_text().splitlines().index(JUDGE.splitlines()[0]) + 1
    with pytest.raises(BuildError) as error:
        build_in(toy, "a:0.5 b:0.5 c:0.5", "summer")
    place = f"lessons/q99_toy/lesson.md:{line}"
    assert str(error.value) == (
        f"{place}: the machine was too busy to judge whether twice is more; "
        "there are no measured outputs to keep, so build on a quiet machine"
    )
    assert not toy.notebook.exists()


@pytest.mark.slow
def test_a_draft_takes_what_one_run_measures_and_stays_stale(tmp_path):
    toy = measuring(tmp_path / "course")
    assert build_in(toy, "a:0.5 b:0 c:0", "summer", draft=True) == "b:0 c:0", "one run is enough"
    assert shown(toy)[0] == "table of a"
    assert day(toy) is None
    assert drift(toy.root) == ["notebooks/q99_toy.ipynb: its outputs are stale: it is a draft; run `make build`"]
    assert build_in(toy, "b:0 c:0", "summer") == "c:0"
    assert shown(toy)[0] == "table of b"
    assert drift(toy.root) == []


@pytest.mark.slow
def test_what_fails_each_time_on_a_quiet_machine_is_not_noise(quiet):
    before, line = quiet.notebook.read_bytes(), quiet.edit("lesson.md", JUDGE, JUDGE)
    with pytest.raises(BuildError) as error:
        build_in(quiet, "fails:0 fails:0 fails:0", "summer")
    failed = "the cell failed: AssertionError: It does not hold in this run: twice is more."
    assert str(error.value) == f"lessons/q99_toy/lesson.md:{line}: {failed}"
    assert quiet.notebook.read_bytes() == before


def test_an_error_of_another_kind_is_not_tried_again(quiet):
    quiet.edit("lesson.md", 'print("table of", name)', 'raise AssertionError("another")')
    with pytest.raises(BuildError, match="the cell failed: AssertionError: another"):
        build_in(quiet, "a:0 b:0", "summer")
    assert (quiet.root.parent / "runs.txt").read_text() == "b:0"


# ------------------------------------------------------------------------------------------------ which cells are kept


def notebook(*cells, measured=None):
    """A notebook of cells, each `source` or `(source, tag)`; each one's output is "N of measured"."""
    made = []
    for number, cell in enumerate(cells):
        source, *tags = [cell] if isinstance(cell, str) else cell
        output = nbformat.v4.new_output("stream", text=f"{number} of {measured}")
        made.append(nbformat.v4.new_code_cell(source, metadata={"tags": tags}, outputs=[output]))
    course = {"measured": measured} if measured else {}
    return nbformat.v4.new_notebook(cells=made, metadata={"course": course})


RUN = ("r = run()", "nbval-ignore-output")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["import r", "r.x"], []),
        ([RUN, "r.plot()", "1 + 1"], [0, 1]),
        ([RUN, "def f():\n    return r.x", "f()"], [0, 1, 2]),
        ([RUN, "def f(r):\n    return r.x", "f(1)"], [0]),
        ([RUN, "[r for r in range(3)]"], [0]),
        ([RUN, "a = r.x", "b = a", "print(b)"], [0, 1, 2, 3]),
        ([RUN, "r = 2", "print(r)"], [0]),
        ([RUN, "r = 2 * r", "print(r)"], [0, 1, 2]),
        ([RUN, "for r in [1, 2]:\n    print(r)", "r"], [0]),
        ([RUN, ("print(r.cases)", "nbval-check-output"), "1"], [0]),
        (["a = []", ("a.append(run())", "nbval-ignore-output"), "print(a)"], [1, 2]),
        (["a = {}", ("a['x'] = run()", "nbval-ignore-output"), "print(a)"], [1, 2]),
        (["import a", ("a.append(1)", "nbval-ignore-output"), "a.b"], [1]),
        (["import time", ("time = run()", "nbval-ignore-output"), "print(time)"], [1, 2]),
        (["a = load()", ("a.plot()", "nbval-ignore-output"), "print(a)"], [1]),
        (["import torch", ("torch.add(1, 2, out=x)", "nbval-ignore-output"), "torch.ones(2)"], [1]),
        (["r = load()", "r.judge(True, 'so')", "r.x"], [1]),
        ([("%timeit 1", "nbval-ignore-output"), ("1 +", "raises-exception"), "2"], [0]),
    ],
)
def test_which_cells_are_measured(cells, found):
    assert measured(notebook(*cells)) == found


LESSON = ["n = 4096", "def half(x):\n    return x / 2", RUN, "2 + 2", "print(half(r.x))", "card('q99.one')"]


def changed(number, source):
    return [source if index == number else cell for index, cell in enumerate(LESSON)]


@pytest.mark.parametrize("number", [0, 3, 5])
def test_other_cells_may_change(number):
    nb = kept(notebook(*changed(number, "'another'")), notebook(*LESSON, measured="spring"))
    assert [cell.outputs[0].text for cell in nb.cells] == [
        f"{index} of {'spring' if index in (2, 4) else None}" for index in range(6)
    ]
    assert nb.metadata.course.measured == "spring"


@pytest.mark.parametrize(
    ("number", "source"),
    [
        (1, "def half(x):\n    return x / 3"),
        (2, ("r = run(2)", "nbval-ignore-output")),
        (2, "r = run()"),
        (4, "print(half(r.y))"),
        (5, "print(r.x)"),
    ],
)
def test_nothing_is_kept_where_what_was_measured_is_another(number, source):
    assert kept(notebook(*changed(number, source)), notebook(*LESSON, measured="spring")) is None


def test_nothing_is_kept_where_no_quiet_run_is_known():
    assert kept(notebook(*LESSON), None) is None
    assert kept(notebook(*LESSON), notebook(*LESSON)) is None


def test_cells_may_come_between():
    nb = kept(notebook("0", *LESSON), notebook(*LESSON, measured="spring"))
    assert [nb.cells[index].outputs[0].text for index in (3, 5)] == ["2 of spring", "4 of spring"]
