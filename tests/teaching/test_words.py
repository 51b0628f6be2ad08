"""Messages beside modules: what is missing is named, every message is used, and whatever is used is there."""

import ast
import itertools
import re
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

from course_lib.teaching.words import words

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {path: path.read_text() for glob in ("course_lib/**/*.py", "lessons/*/*.py") for path in ROOT.glob(glob)}
MODULES = sorted(path for path, text in SOURCES.items() if "\nsay = words(__file__)\n" in text)


SOME = """
plain = "It rains."
notes = ["One.", "Two."]
[title]
one = "{n} wave, {x:.1f} s"
[rows]
step = "{who} steps"
"""

CALCULATED = {
    node.value if isinstance(node, ast.Constant) else node.target.id
    for path in ROOT.glob("course_lib/accounting/**/*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Constant) or (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name))
}
"""Names that a key can have without standing in the module: the parts of what the calculators give."""


@pytest.fixture
def say(tmp_path):
    (tmp_path / "some.toml").write_text(SOME)
    return words(str(tmp_path / "some.py"))


def test_messages_tables_lists_and_rows(say):
    assert say("plain") == "It rains."
    assert say("title", "one", n=1, x=0.25) == "1 wave, 0.2 s"
    assert say.table("title") == {"one": "{n} wave, {x:.1f} s"}
    assert say.all("notes") == ("One.", "Two.")
    assert say.rows({"step": "3 ms"}, who="It") == {"It steps": "3 ms"}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda say: say("gone"), r"some\.toml has no gone"),
        (lambda say: say("title", "many", n=2), r"some\.toml has no title\.many"),
        (lambda say: say("plain", "more"), r"some\.toml has no plain\.more"),
        (lambda say: say.rows({"stop": ""}), r"some\.toml has no rows\.stop"),
        (lambda say: say("title", "one", n=1), r"some\.toml: title\.one wants the value 'x'"),
    ],
)
def test_what_is_missing_is_named_with_its_file(say, ask, said):
    with pytest.raises(KeyError, match=said):
        ask(say)


def test_a_module_without_a_file_beside_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.toml"):
        words(str(tmp_path / "none.py"))


def trees(module: Path) -> list[ast.Module]:
    """The module that reads messages, and those that speak through it."""
    through = re.compile(rf"^from course_lib\.\S+\.{module.stem} import .*\bsay\b", re.MULTILINE)
    return [parsed(path) for path, text in SOURCES.items() if path == module or through.search(text)]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(SOURCES[path])


def uses(tree: ast.Module):
    """(keys, kind, values) of each use of the messages: of a key the texts that it can be, or None if that is computed;
    values None where a mapping hands over more.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args):
            continue
        called, values = ast.unparse(node.func), {keyword.arg for keyword in node.keywords}
        if called in ("say", "say.table", "say.all"):
            keys = [] if isinstance(node.args[-1], ast.Starred) else [texts(argument) for argument in node.args]
            yield keys, called.removeprefix("say"), None if None in values else values
        elif called == "say.rows":
            yield [{"rows"}, None], "", None


def texts(node: ast.expr) -> set[str] | None:
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.IfExp) and None not in (both := (texts(node.body), texts(node.orelse))):
        return both[0] | both[1]
    return None


def leaves(table, above=()):
    for key, value in table.items():
        yield from leaves(value, (*above, key)) if isinstance(value, dict) else [((*above, key), value)]


def test_there_are_messages():
    assert len(MODULES) >= 9


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_every_use_has_its_message_and_every_message_its_use(module):
    own, tables = trees(module), tomllib.loads(module.with_suffix(".toml").read_text())
    # what is said of states, kinds and outcomes has its names in other modules of the storey
    storey = [
        parsed(path) for path in SOURCES if path.parts[: len(ROOT.parts) + 2] == module.parts[: len(ROOT.parts) + 2]
    ]
    names = own if "explorer" in module.stem else storey
    constants = {node.value for tree in names for node in ast.walk(tree) if isinstance(node, ast.Constant)} | CALCULATED
    messages, found = dict(leaves(tables)), set()
    for keys, kind, values in itertools.chain(*map(uses, own)):
        known = list(itertools.takewhile(lambda options: options is not None, keys))
        for path in itertools.product(*known):
            below = {leaf for leaf in messages if leaf[: len(path)] == path}
            assert below, f"{module.name} wants {'.'.join(path)}"
            computed = keys[len(known) :]
            if computed:  # the names must at least occur somewhere
                below = {
                    leaf
                    for leaf in below
                    if len(leaf) == len(keys)
                    and all(
                        key in (options or constants) for key, options in zip(leaf[len(known) :], computed, strict=True)
                    )
                }
            elif kind == "":
                assert below == {path}, f"{'.'.join(path)} is no message"
            elif kind == ".all":
                assert isinstance(messages[path], list), f"{'.'.join(path)} is no list"
            found |= below
            if kind == "" and values is not None and not computed:
                for leaf in below:
                    fields = {field for _, field, _, _ in string.Formatter().parse(messages[leaf]) if field}
                    assert fields <= values, f"{module.name} hands {'.'.join(leaf)} no {fields - values}"
    assert messages.keys() - found == set(), f"messages that {module.name} never uses"
