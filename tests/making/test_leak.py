"""Nothing secret in what is given out: exercises, notebooks, library, lessons as they are shipped, wheel, archive."""

import ast
import gzip
import inspect
import io
import json
import re
import tarfile
import textwrap
import zipfile
import zlib
from pathlib import Path

import nbformat
import pytest

from course_lib.grading.leak import CANARY, TELLING, _segment, leaks, members, secrets
from tools.freshness import ASIDE
from tools.source import files, load_checks, units

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = secrets(ROOT / "lessons")
CHECKS = [check for folder in units(ROOT) for check in load_checks(folder, ROOT) if check.points]
"""Graded ones: lessons show the references of your-turns."""


def in_folder(folder: Path) -> dict[str, set[str]]:
    """Files below `folder` that hold a secret, less those that no learner gets."""
    found = {
        p.relative_to(folder).as_posix(): leaks(p.read_bytes(), HIDDEN) for p in files(folder) if p.name not in ASIDE
    }
    return {path: names for path, names in found.items() if names}


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["exercises", "notebooks", "course_lib", "lessons"])
def test_nothing_secret_in(folder):
    assert in_folder(ROOT / folder) == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_nothing_secret_in_a_release(kind, tmp_path):
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    builder = (WheelBuilder if kind == "wheel" else SdistBuilder)(str(ROOT))
    (archive,) = builder.build(directory=str(tmp_path), versions=["standard"])
    content = Path(archive).read_bytes()
    assert len(members(content)) > 0
    assert leaks(content, HIDDEN) == set()
    with zipfile.ZipFile(archive) if kind == "wheel" else tarfile.open(archive) as opened:
        names = opened.namelist() if kind == "wheel" else opened.getnames()
    for unit in units(ROOT):
        shipped = {path.relative_to(ROOT).as_posix() for path in files(unit) if path.name not in ASIDE}
        assert [path for path in shipped if not any(name.endswith(path) for name in names)] == []
    assert sum(name.endswith("/checks.json") for name in names) == len(list(ROOT.glob("lessons/*/checks.py")))
    kept = re.compile(rf"(^|/)(solutions|tools|tests)/|(^|/)lessons/[^/]+/({'|'.join(map(re.escape, ASIDE))})$")
    assert [name for name in names if kept.search(name)] == []


LONG, SHORT = "def_f(x):return" + "+".join(f"x*{k}" for k in range(9)), "lambdax:x+1"


@pytest.mark.parametrize("secret", [LONG[:TELLING], LONG, SHORT])
def test_a_secret_is_found_wherever_it_stands(secret):
    hidden = {secret: "here", secret[:-1] + "!": "another that begins alike"}
    for before in range(2 * TELLING):
        assert leaks(("z" * before + secret + "z").encode(), hidden) == {"here"}, before
    assert leaks(("z" + secret[:-1] + "?").encode(), hidden) == set()


def test_a_lambda_over_several_lines_is_cut_out_as_python_does():
    source = "x = 1\nf = ('µ', lambda a, é='×': (\n    a +\n    1), lambda: 'µ' * 2)\n"
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]
    assert len(found) == 2
    for node in [*found, *(each.body for each in found)]:
        assert _segment(source.split("\n"), node) == ast.get_source_segment(source, node)


def in_a_notebook(text: str) -> bytes:
    """A notebook with a text as the source of a cell, in the form of its file."""
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text)])).encode()


def shown_in_a_notebook(text: str) -> bytes:
    """A notebook that shows a text."""
    output = nbformat.v4.new_output("stream", text=f"first\n{text}\nlast\n")
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1", outputs=[output])])).encode()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_copy_of_a_reference_or_a_wrong_answer_is_found(check):
    found = {}
    for name, given in {"reference": check.reference, **check.wrong}.items():
        function = given[0] if isinstance(given, tuple) else given
        text = textwrap.dedent(inspect.getsource(function))
        found[name] = leaks(in_a_notebook(f"x = 1\n{text}"), HIDDEN) and leaks(f"# Why?\n\n{text}".encode(), HIDDEN)
    assert [name for name, places in found.items() if not places] == []


def test_a_body_under_another_name_and_with_comments_is_found(tmp_path):
    source = (
        "def weigh(layers, width):\n    total = 0\n    for _ in range(layers):\n"
        "        total += 12 * width * width + 13 * width\n    return total\n"
    )
    (tmp_path / "q99_toy").mkdir()
    (tmp_path / "q99_toy" / "checks.py").write_text(source)
    hidden = secrets(tmp_path)
    copied = source.replace("weigh", "my_weight").replace("total = 0", "total = 0  # of all\n")
    assert leaks(in_a_notebook(copied), hidden) == {"q99_toy/checks.py:1"}
    assert leaks(in_a_notebook(copied.replace("12", "11")), hidden) == set()


@pytest.mark.parametrize("form", [in_a_notebook, lambda text: f"Then {text} is what you look for.".encode()])
def test_a_long_line_of_a_solution_is_found_in_prose(form, tmp_path):
    (tmp_path / "q99_toy").mkdir()
    line = "sum(12 * width * width + 13 * width for width in widths)"
    (tmp_path / "q99_toy" / "checks.py").write_text(
        "def _ignored(widths):\n    return _weigh(widths=list(widths), factor=1.0, unit='bytes')\n\n\n"
        f"def _weigh(widths):\n    total = {line}\n    return _rounded(total, towards=0)\n\n\n"
        "CHECKS = [Check(id='q99.weigh', points=2, reference=_weigh, wrong={'ignored': _ignored})]\n"
    )
    (tmp_path / "q99_toy" / "exercises.md").write_text(
        "def f(widths):\n    ### BEGIN SOLUTION\n    heights = [2 * width + 17 for width in widths if width > 3000]\n"
        "    return max(heights)\n    ### END SOLUTION\n"
    )
    hidden = secrets(tmp_path)
    assert leaks(form(line), hidden) == {"q99_toy/checks.py:5"}
    assert leaks(form("[2*width + 17 for width in widths if width > 3000]"), hidden) == {"q99_toy/exercises.md:2"}
    assert leaks(form("max(heights)"), hidden) == set()
    assert leaks(form("_weigh(widths=list(widths), factor=1.0, unit='bytes')"), hidden) == set()


TWO = """
def _weigh(layers, width):
    return sum(12 * width * width + 13 * width for _ in range(layers))

def _light(layers, width):
    return sum(12 * width * width for _ in range(layers)) + 0 * layers

CHECKS = [
    Check(id="q99.turn-weigh", points=0, reference=_weigh, wrong={"light": _light}),
    Check(id="q99.turn", points=0, reference=lambda layers: sum(1 for each in range(layers) if each >= 0 and layers)),
    Check(id="q99.heavy", points=2, reference=lambda layers: sum(2 for each in range(layers) if each >= 0 and layers)),
]
"""


def test_the_reference_of_a_your_turn_is_no_secret_unless_a_graded_check_has_it_too(tmp_path):
    path = tmp_path / "q99_toy" / "checks.py"
    path.parent.mkdir()
    path.write_text(TWO)
    texts = {"weigh": TWO.split("\n\n")[0], "light": TWO.split("\n\n")[1]}
    texts |= {
        name: f"sum({n} for each in range(layers) if each >= 0 and layers)" for name, n in (("turn", 1), ("heavy", 2))
    }
    found = {name: bool(leaks(in_a_notebook(text), secrets(tmp_path))) for name, text in texts.items()}
    assert found == {"weigh": False, "light": True, "turn": False, "heavy": True}
    path.write_text(TWO.replace("points=2, reference", 'points=2, wrong={"w": _weigh}, reference'))
    assert leaks(in_a_notebook(texts["weigh"]), secrets(tmp_path))


def solutions() -> list[tuple[str, str]]:
    """(unit and cell, text) of every solution and mark scheme as the build made it."""
    found = []
    for path in sorted(ROOT.glob("solutions/*/*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"])
            for block in re.findall(r"BEGIN (?:SOLUTION|MARK SCHEME)[^\n]*\n(.*?)\n[^\n]*END ", text, re.DOTALL):
                found.append((f"{path.stem}:{cell['id']}", block))
    return found


@pytest.mark.parametrize(("place", "block"), solutions(), ids=lambda value: value if ":" in value[:60] else "")
def test_a_copy_of_a_solution_is_found(place, block):
    """By its canary, and, but for a line or so that anybody may write, without it."""
    assert len(CANARY.findall(block)) == 1
    assert CANARY.findall(block)[0] in leaks(in_a_notebook(block), HIDDEN)
    bare = re.sub(r"[^\n]*canary-[^\n]*\n", "", block)
    assert any("exercises.md" in found for found in leaks(shown_in_a_notebook(bare), HIDDEN)) or len(bare) < 60


def test_no_two_canaries_are_equal():
    names = [name for _, block in solutions() for name in CANARY.findall(block)]
    assert len(names) == len(set(names)) > 0


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
def test_secrets_are_found_in_archives_of_archives(pack):
    secret = b"# canary-" + b"0123abcd" + b"\nreturn 1 + \\\n  2 # three\n" + b"\n" * 100
    hidden = {"return1+\\2": "here", "return1+3": "elsewhere"}
    for packed in (pack(secret), packed_zip(pack(secret))):
        assert leaks(packed, hidden) == {"canary-0123abcd", "here"}
    assert leaks(pack(b"nothing here"), hidden) == set()
