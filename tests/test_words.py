"""Messages beside modules: what is missing is named, every message is used, whatever is used is there, and no sentence
for learners stands in code.
"""

import ast
import itertools
import re
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

from course_lib import units
from course_lib.accounting import hardware
from course_lib.experiments import registry
from course_lib.words import words
from tests.experiments.example import CPU, GPU

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {path: path.read_text() for glob in ("course_lib/**/*.py", "lessons/**/*.py") for path in ROOT.glob(glob)}
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
        words(str(tmp_path / "none.py"))("title")


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
        elif called in ("quantity_columns", "fact_columns") and ast.unparse(node.args[0]) == "say":
            headings = {"measured"} if called == "quantity_columns" else set()
            for keyword in node.keywords:
                headings |= {key.value for key in keyword.value.keys} if keyword.arg is None else {keyword.arg}
            yield from (([{"columns"}, {heading}], "", set()) for heading in headings - {"hidden"})
        elif called == "Experiment":
            method = {keyword.arg: keyword.value for keyword in node.keywords}.get("method")
            named = {key.value for key in method.keys if key} if method else set()
            yield [{"question"}], "", set()
            yield [{"method"}], ".all", None if method and None in method.keys else named


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
                        key in options if options else constants >= {key} or constants >= set(key.split("-"))
                        for key, options in zip(leaf[len(known) :], computed, strict=True)
                    )
                }
            elif kind == "":
                assert below == {path}, f"{'.'.join(path)} is no message"
            elif kind == ".all":
                assert isinstance(messages[path], list), f"{'.'.join(path)} is no list"
            found |= below
            if kind in ("", ".all") and values is not None and not computed:
                for leaf in below:
                    found_in = messages[leaf] if kind else [messages[leaf]]
                    parsed_in = itertools.chain(*map(string.Formatter().parse, found_in))
                    fields = {field for _, field, _, _ in parsed_in if field}
                    assert fields <= values, f"{module.name} hands {'.'.join(leaf)} no {fields - values}"
    if "EXPERIMENT = " in SOURCES[module]:
        found |= {("on-gpu",), ("gpu-only",)}
    assert messages.keys() - found == set(), f"messages that {module.name} never uses"


# ---------------------------------------------------------------- no sentence in code

STOREYS = ("cli.py", "experiments/**/*.py", "figures/**/*.py", "grading/**/*.py", "teaching/**/*.py")
CODE = [path for glob in STOREYS for path in (ROOT / "course_lib").glob(glob)] + list(ROOT.glob("lessons/**/*.py"))
PAGES = sorted(ROOT.glob("course_lib/**/*.js"))
WORD = re.compile(r"[(“\"'‘`]*[^\W\d_]+(?:['’-][^\W\d_]+)*[,.;:!?…)”\"'’`]*")

# A file, or the beginning of a text in it -> why it may stand there.
ALLOWED = {
    "teaching/checks/check_form.py": "findings of the lint, for who writes a check",
    "teaching/checks/check_words.py": "findings of the lint, for who writes a check",
    "grading/results/kept.py": "SQL",
    "grading/sandbox/selftest.py: import os": "a program",
    "grading/sandbox/zygote.py: course_lib cannot": "runs in the sandbox, where no table can be read",
    "grading/results/pages.py: <!DOCTYPE": "markup",
    "teaching/live.py: <style>": "markup",
    "teaching/record/progress_view.py: <style>": "markup",
    "teaching/make.js: input, select, textarea": "a selector",
    "experiments/profile/profile.py: torch.": "calls, as the profile keeps them",
    "experiments/recordings/loading.py: Nothing is": "an exception's message, a part of it",
    "experiments/recordings/loading.py: {} has no": "an exception's message, a part of it",
    "q05_flops_are_not_time/experiments/ten_times_flops.py: additions + GEMM": "the name of a pair",
    "q06_why_count_flops/waterfall.py: products below": "the name of a loss, by which lessons ask for its share",
}


def is_sentence(text: str) -> bool:
    return sum(bool(WORD.fullmatch(part)) for part in text.split()) >= 4


def said_in(tree: ast.Module):
    """Every text of a module but docstrings and the messages of exceptions; {} where a value is filled in."""
    silent = set()
    for node in ast.walk(tree):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        error = isinstance(node, ast.Call) and re.search(r"(Error|Unavailable)$", ast.unparse(node.func))
        if isinstance(node, ast.Raise | ast.Assert) or docstring or error:
            silent |= set(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in silent:
            continue
        if isinstance(node, ast.JoinedStr):
            silent |= set(map(id, ast.walk(node)))
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def said_on(page: str):
    """Every text of a page's script, comments left out."""
    code = re.sub(r"(?m)(^|\s)//.*$", "", page)
    return (re.sub(r"\$\{[^}]*\}", "{}", text[1:-1]) for text in re.findall(r'"[^"\n]*"|`[^`]*`', code))


@cache
def names() -> str:
    """By which recordings, checks and lessons are compared, so that no language can change them, one a line: of cases,
    of the groups that they are in and of their operations; of wrong answers; and the signatures of functions.
    """
    found = set()
    for name, device in itertools.product(registry.names(), (CPU, GPU)):
        experiment, on = registry.get(name), hardware.measured(device)
        for case in (case for quick in (True, False) for case in experiment.cases(on, quick)):
            facts = (fact for fact in case.facts.values() if isinstance(fact, str))
            found |= {case.name, *facts, *(op.name for op in case.ops)}
    for unit in units.names():
        for check in units.checks(unit).values():
            found |= set(check.get("groups", {}))
    for table in ROOT.glob("lessons/*/checks.toml"):
        for check in tomllib.loads(table.read_text()).values():
            found |= set(check.get("wrong", {}))
    return "\n".join(found)


def is_name(text: str) -> bool:
    pattern = ".+".join(map(re.escape, text.split("{}")))
    return bool(re.search(pattern, names()) or re.fullmatch(r"\w+\([\w, ]+\)", text))


def allowed(path: Path, text: str) -> set[str]:
    """Which entries of `ALLOWED` speak of this text."""
    return {entry for entry in ALLOWED if entry in f"{path.relative_to(ROOT).as_posix()}: {text.strip()}"}


def test_no_sentence_for_learners_stands_in_code():
    texts = [(path, text) for path in CODE for text in said_in(ast.parse(path.read_text()))]
    texts += [(path, text) for path in PAGES for text in said_on(path.read_text())]
    found = [(path, text) for path, text in texts if is_sentence(text)]
    reasons = {(path, text): allowed(path, text) for path, text in found}
    left = {f"{path.relative_to(ROOT)}: {text}" for (path, text), why in reasons.items() if not why}
    assert {line for line in left if not is_name(line.partition(": ")[2])} == set(), "belongs into a table beside it"
    assert ALLOWED.keys() - set().union(*reasons.values()) == set(), "allowed, and not there any more"
