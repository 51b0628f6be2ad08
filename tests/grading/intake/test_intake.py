"""Intake: whatever was done to the notebook, the answers in it are found; what cannot be read is held with a reason."""

import copy
import json
import os

import pytest

from course_lib.grading.intake import cells, intake
from course_lib.grading.intake.cells import LARGEST
from course_lib.grading.intake.roster import Student
from tests.grading.toy import RIGHT, UNIT, grade_id


@pytest.fixture
def taken(handed_in, task):
    """taken(student): the `Submission` of a student; folders are found as in a graded run."""

    def taken(student="ada"):
        folders, taken.strangers = intake.folders(handed_in.submitted, [Student(student)])
        return intake.submission(handed_in.submitted, folders.get(student), student, task)

    return taken


def held(taken) -> str:
    with pytest.raises(intake.Held) as caught:
        taken()
    return str(caught.value)


def cell(nb, id):
    return next(cell for cell in nb["cells"] if grade_id(cell) == id)


# ------------------------------------------------------------------------------- all of these keep every answer


def as_released(nb):
    pass


def without_metadata(nb):
    for one in nb["cells"]:
        one["metadata"] = {}
        one.pop("id", None)


def without_nbgrader(nb):
    for one in nb["cells"]:
        one["metadata"].pop("nbgrader", None)


def saved_by_colab(nb):
    """Ids are Colab's, cids and the kernel's name are gone, sources are lists of lines, outputs have its own fields."""
    nb["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nb["nbformat_minor"] = 0
    for number, one in enumerate(nb["cells"]):
        meta = {"id": f"xY{number}", "outputId": "e"}
        if "nbgrader" in one["metadata"]:
            meta["nbgrader"] = one["metadata"]["nbgrader"]
        one.pop("id")
        one["metadata"] = meta
        text = one["source"] if isinstance(one["source"], str) else "".join(one["source"])
        one["source"] = text.splitlines(keepends=True)


def checks_deleted(nb):
    nb["cells"] = [one for one in nb["cells"] if not (grade_id(one) or "").endswith("-check")]


def checks_edited(nb):
    for one in nb["cells"]:
        if (grade_id(one) or "").endswith("-check"):
            one["source"] = "100"
            one["metadata"]["nbgrader"]["points"] = 1000


def given_cells_deleted(nb):
    nb["cells"] = [one for one in nb["cells"] if grade_id(one)]


def reversed_cells(nb):
    nb["cells"] = [one for one in nb["cells"] if grade_id(one)][::-1]


def answers_copied(nb):
    nb["cells"] = [copy.deepcopy(one) for one in nb["cells"] for _ in range(1 + bool(grade_id(one)))]


def a_blank_copy_below(nb, released=None):
    nb["cells"] += [{**copy.deepcopy(cell(nb, "q98-twice")), "source": ""}]


def ids_renamed(nb):
    for number, one in enumerate(nb["cells"]):
        if grade_id(one):
            one["metadata"]["nbgrader"]["grade_id"] = f"renamed-{number}"


def code_turned_to_text(nb):
    for one in nb["cells"]:
        if grade_id(one) == "q98-twice":
            one["cell_type"] = "markdown"


def windows_lines(nb):
    for one in nb["cells"]:
        if isinstance(one["source"], str):
            one["source"] = one["source"].replace("\n", "\r\n")


def strange_shapes(nb):
    nb["cells"][:0] = [
        None,
        3,
        [],
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": {"a": 1}, "metadata": []},
    ]
    nb["cells"].append({"cell_type": "code", "metadata": {"nbgrader": [1]}, "source": [1, None, "x = 1"]})
    nb["cells"].append({"cell_type": "code", "metadata": {"nbgrader": {"grade_id": ["q98-twice"]}}, "source": "y = 1"})
    nb["metadata"] = 7


def called_format_3(nb):
    nb["nbformat"], nb["nbformat_minor"] = 3, 0


def called_format_99(nb):
    nb["nbformat"] = 99


def worksheets(nb):
    """As version 3 of the format had it."""
    cells = [{"input" if k == "source" else k: v for k, v in one.items()} for one in nb["cells"]]
    return {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}


def lone_surrogates(nb):
    nb["cells"].append({"cell_type": "code", "metadata": {}, "source": "z = '\ud800\x00'"})


def fifty_megabytes_of_output(nb):
    cell(nb, "q98-twice")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000_000}]


def an_infinite_number(nb):
    nb["metadata"]["huge"] = float("inf")


EDITS = [
    as_released, without_metadata, without_nbgrader, saved_by_colab, checks_deleted, checks_edited, given_cells_deleted,
    reversed_cells, answers_copied, a_blank_copy_below, ids_renamed, code_turned_to_text, windows_lines, strange_shapes,
    called_format_3, called_format_99, worksheets, lone_surrogates, fifty_megabytes_of_output, an_infinite_number,
]  # fmt: skip


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_every_answer_is_found(handed_in, taken, edit):
    handed_in.submit("ada", edit=edit)
    assert dict(taken().answers) == RIGHT


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(handed_in, taken, encoding):
    answers = RIGHT | {"q98-why": "Wegen des Busses: ×, 内存."}
    path = handed_in.submit("ada", answers)
    path.write_text(json.dumps(handed_in.notebook(answers), ensure_ascii=False), encoding=encoding)
    assert dict(taken().answers) == answers
    assert any(encoding.removesuffix("-sig")[:6] in note for note in taken().notes)


def test_bytes_that_are_no_text_cost_only_themselves(handed_in, taken):
    path = handed_in.submit("ada", RIGHT | {"q98-why": "Caf@ bus"})
    path.write_bytes(path.read_bytes().replace(b"Caf@", b"Caf\xe9"))
    assert dict(taken().answers) == RIGHT | {"q98-why": "Caf\ufffd bus"}
    assert any("no text" in note for note in taken().notes)


@pytest.mark.parametrize(
    "name",
    [
        f"{UNIT}/{UNIT} (1).ipynb",
        f"{UNIT}/lösung final.ipynb",
        f"{UNIT}.ipynb",
        "Downloads/a/b/HW.IPYNB",
        f"{UNIT}/x.ipynb.txt",
    ],
)
def test_other_names(handed_in, taken, name):
    path = handed_in.submit("ada")
    target = handed_in.submitted / "ada" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    assert dict(taken().answers) == RIGHT
    assert any(name in note for note in taken().notes)


def test_a_blank_notebook_of_the_right_name_gives_way_to_one_with_answers(handed_in, taken):
    handed_in.submit("ada", {})
    copy_of_it = handed_in.path("ada").with_name("copy.ipynb")
    copy_of_it.write_text(json.dumps(handed_in.notebook()))
    assert dict(taken().answers) == RIGHT


def test_the_notebook_of_the_right_name_counts_if_it_has_answers(handed_in, taken):
    handed_in.submit("ada", {"q98-twice": "def twice(x):\n    return x + x"})
    handed_in.path("ada").with_name("a copy.ipynb").write_text(json.dumps(handed_in.notebook()))
    assert taken().answers["q98-twice"].endswith("x + x")


@pytest.mark.parametrize("folder", ["ADA", " ada ", "Ada"])
def test_a_folder_in_other_capitals(handed_in, taken, folder):
    handed_in.submit(folder)
    assert dict(taken().answers) == RIGHT
    assert any(folder.strip() in note for note in taken().notes)


def test_folders_of_nobody_are_named(handed_in, taken):
    handed_in.submit("ada")
    handed_in.submit("eve")
    taken()
    assert taken.strangers == ["eve"]


# ------------------------------------------------------------------------------------------ which of several counts


def copies(handed_in, *sources, check_after):
    """twice() in several cells with its id; the check stands after the first `check_after` of them."""

    def edit(nb):
        own, check = cell(nb, "q98-twice"), cell(nb, "q98-twice-check")
        rest = [one for one in nb["cells"] if one not in (own, check)]
        made = [{**copy.deepcopy(own), "source": f"def twice(x):\n    return {source}"} for source in sources]
        nb["cells"] = rest[:2] + made[:check_after] + [check] + made[check_after:] + rest[2:]

    handed_in.submit("ada", edit=edit)


@pytest.mark.parametrize(
    ("sources", "check_after", "counts"),
    [("ab", 2, "b"), ("ab", 1, "a"), ("abc", 2, "b"), ("ab", 0, "a")],
)
def test_of_copies_the_last_above_the_check_counts(handed_in, taken, sources, check_after, counts):
    copies(handed_in, *sources, check_after=check_after)
    assert taken().answers["q98-twice"].endswith(f"return {counts}")
    assert any("is there 2" in note or "is there 3" in note for note in taken().notes)


def test_an_answer_in_another_cell_counts_where_the_own_one_was_left(handed_in, taken):
    def edit(nb):
        at = nb["cells"].index(cell(nb, "q98-twice"))
        nb["cells"].insert(at + 1, {"cell_type": "code", "metadata": {}, "source": RIGHT["q98-twice"], "outputs": []})

    handed_in.submit("ada", {id: text for id, text in RIGHT.items() if id != "q98-twice"}, edit)
    assert dict(taken().answers) == RIGHT


@pytest.mark.parametrize("left", ["deleted", "emptied", "as given"])
def test_an_answer_in_the_cell_of_another_one_counts(handed_in, taken, left):
    def edit(nb):
        own = cell(nb, "q98-share")
        if left == "deleted":
            nb["cells"].remove(own)
        elif left == "emptied":
            own["source"] = ""

    both = RIGHT["q98-twice"] + "\n\n" + RIGHT["q98-share"]
    handed_in.submit("ada", {"q98-twice": both, "q98-pieces": RIGHT["q98-pieces"]}, edit)
    answers = taken().answers
    assert (answers["q98-twice"], answers["q98-share"]) == (both, both)


def test_an_annotated_quantity_is_an_answer():
    assert cells._defines('state: str = "1 GB"', "state")
    assert not cells._defines('states: str = "1 GB"', "state")


def test_a_text_below_the_answer_cell_belongs_to_it(handed_in, taken):
    def edit(nb):
        nb["cells"] += [{"cell_type": "markdown", "metadata": {}, "source": "And the copies."}]

    handed_in.submit("ada", edit=edit)
    assert taken().answers["q98-why"] == "The bus.\n\nAnd the copies."
    handed_in.submit("ada", {"q98-twice": RIGHT["q98-twice"]}, edit)
    assert taken().answers["q98-why"] == "And the copies."


def test_what_was_left_or_deleted_is_the_stub(handed_in, taken, task):
    stubs = {answer.grade_id: answer.stub for answer in task.answers}
    handed_in.submit("ada", {})
    assert dict(taken().answers) == stubs

    def without_one(nb):
        nb["cells"].remove(cell(nb, "q98-share"))

    handed_in.submit("ada", edit=without_one)
    assert dict(taken().answers) == RIGHT | {"q98-share": stubs["q98-share"]}
    assert any("q98-share" in note and "missing" in note for note in taken().notes)


def test_helpers_of_the_student_and_given_imports_come_along_and_checks_do_not(handed_in, taken):
    def edit(nb):
        nb["cells"][:0] = [{"cell_type": "code", "metadata": {}, "source": "def helper(x):\n    return x"}]

    handed_in.submit("ada", edit=edit)
    others = "\n".join(taken().others)
    assert "def helper" in others
    assert others.count("from math import ceil") == 1
    assert "check(" not in others
    handed_in.submit("ada", edit=given_cells_deleted)
    assert "from math import ceil" in "\n".join(taken().others)


def test_the_rebuilt_notebook_is_the_released_one_with_the_answers(handed_in, taken, task):
    handed_in.submit("ada", edit=checks_edited)
    rebuilt = task.rebuilt(taken().answers)
    expected = handed_in.notebook()
    assert rebuilt == expected


# ----------------------------------------------------------------------------------------------------------- held


def content(text):
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


BROKEN = {
    "empty": (content(""), "empty"),
    "blank": (content(b"\0" * 100), "empty"),
    "no json": (content("{"), "no valid JSON"),
    "truncated": (lambda path: path.write_text(path.read_text()[:-300]), "no valid JSON"),
    "a list": (content("[]"), "no list of cells"),
    "no cells": (content('{"nbformat": 4}'), "no list of cells"),
    "cells no list": (content('{"cells": {"a": 1}}'), "no list of cells"),
    "deep": (content("[" * 200_000), "nested too deeply"),
    "many parts": (content('{"cells": [' + "[]," * 1_100_000 + "1]}"), "nested too deeply"),
    "huge number": (content('{"cells": ' + "9" * 10_000 + "}"), "no list of cells"),
    "html": (content("<!DOCTYPE html><html>Sign in</html>"), "no valid JSON"),
    "a zip": (content(b"PK\x03\x04" + bytes(range(256))), "no valid JSON"),
    "none of the cells": (content('{"cells": [{"cell_type": "code", "source": "x = 1"}]}'), "none of the answer cells"),
    "a long text": (content(json.dumps({"cells": [{"source": "ab\n" * 3_000_000}]})), "more than 8000000 characters"),
    "too large": (lambda path: os.truncate(path, LARGEST + 1), "more than 64 MB"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_held_with_the_reason(handed_in, taken, name):
    do, says = BROKEN[name]
    do(handed_in.submit("ada"))
    reason = held(taken)
    assert says in reason
    assert UNIT in reason, "the file is named"


def test_nothing_handed_in(handed_in, taken):
    assert "no folder" in held(taken)
    (handed_in.submitted / "ada" / UNIT).mkdir(parents=True)
    assert "no notebook" in held(taken)


def test_links_are_not_followed(handed_in, taken, tmp_path):
    path = handed_in.submit("ada")
    path.rename(tmp_path / "elsewhere.ipynb")
    path.symlink_to(tmp_path / "elsewhere.ipynb")
    assert "links" in held(taken)
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(handed_in.root / "solutions" / UNIT)
    assert "links" in held(taken)
    path.parent.unlink()
    (handed_in.submitted / "ada").rmdir()
    (handed_in.submitted / "ada").symlink_to(handed_in.root / "solutions")
    assert "is a link" in held(taken)


def test_a_pipe_blocks_nothing(handed_in, taken):
    path = handed_in.path("ada")
    os.mkfifo(path)
    assert "no regular file" in held(taken)


def test_a_folder_of_thousands_of_files(handed_in, taken, monkeypatch):
    monkeypatch.setattr(intake, "MOST_FILES", 20)
    handed_in.submit("ada")
    for number in range(30):
        (handed_in.submitted / "ada" / f"{number}.txt").touch()
    assert "more than 20 files" in held(taken)


def test_a_file_name_that_is_no_text(handed_in, taken):
    path = handed_in.submit("ada")
    os.rename(path, os.fsencode(path.parent) + b"/\xff\n.ipynb")
    found = taken()
    assert dict(found.answers) == RIGHT
    assert all(note.encode() and "\n" not in note for note in found.notes)
