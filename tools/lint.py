"""The lint of `lessons/`: what jupytext, nbgrader or a learner would stumble over, as `path:line: message`."""

import ast
import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from course_lib.teaching.cards.card_texts import Card, CardError, names, parse_card
from course_lib.teaching.cards.verdict import RULINGS
from course_lib.teaching.checks.check import Check
from tools import edits, limits, prose, terms, turns
from tools.core_path import calls, stated
from tools.source import (
    EMPTY,
    NOTEBOOK_FILES,
    UNIT_FILES,
    Page,
    Problem,
    SourceError,
    called,
    files,
    front_matter,
    load_checks,
    no_module,
    no_toml,
    read_page,
    toml_lines,
    units,
)
from tools.trials import MUTANTS, tried

CID = re.compile(r"[A-Za-z0-9_-]{1,64}")
DOLLAR = "\\$: JupyterLab takes it for the beginning of a formula; write the sum in words, 2.50 dollars"
SECRET = re.compile(r"\b(BEGIN|END) (SOLUTION|MARK SCHEME|HIDDEN TESTS)\b")
NO_ALT = re.compile(r"""!\[\s*\][(\[]|<img\b(?![^>]*\balt=("[^"]*[^"\s][^"]*"|'[^']*[^'\s][^']*'))[^>]*>""")

ASKED = ("prompt", "hints", "rounds")
FIELDS = {  # of a card, beside `kind` and `reason`
    "number": (*ASKED, "unit", "scale", "range", "tolerance", "slips", "transfer"),
    "choice": (*ASKED, "choices"),
    "claim": ("claim", "source", "corrected", "because", "evidence", "docket", "cell", "prompt", "hints"),
    "reflection": (*ASKED, "limit"),
}

STATED_AS = "*Difficulty 2 of 5. 10 minutes. 3 points.*"

NBGRADER = {"grade": bool, "grade_id": str, "locked": bool, "schema_version": int, "solution": bool, "task": bool}

LIST = re.compile(r"\s*\{truth\}[.)]\s")  # "20. Each …" is an item of a list in Markdown

Faults = Iterator[tuple[int, str]]
"""(line, message) pairs about one file."""


def lint(root: Path, chosen: Sequence[str] = ()) -> list[Problem]:
    """Every problem in the lessons of a checkout (or of the chosen units), in the order of files and lines."""
    problems, everywhere, folders = [], units(root), units(root, chosen)
    cards = {card for folder in everywhere for card in _card_lines(folder / "cards.toml")}
    checks: dict[Path, list[Check] | None] = {}
    for folder in folders:
        try:
            checks[folder] = load_checks(folder, root)
        except SourceError as error:
            checks[folder] = None  # what names one of them is not looked at: the cause is told
            problems += error.problems
    built = [root / "exercises" / folder.name / "checks.json" for folder in everywhere if folder not in folders]
    known = {id for path in built if path.exists() for id in json.loads(path.read_text(encoding="utf-8"))}
    known |= {check.id for own in checks.values() for check in own or ()}
    for folder in folders:
        for path in files(folder):
            found = _file_faults(path, root, cards, checks[folder], known)
            problems += [Problem(path.relative_to(root).as_posix(), line, message) for line, message in found]
        if not (folder / "lesson.md").exists():
            problems.append(Problem(f"lessons/{folder.name}/lesson.md", 1, "every unit needs a lesson.md"))
    problems += terms.faults(root, [folder.name for folder in folders])
    return sorted(set(problems))


def _file_faults(path: Path, root: Path, cards: set[str], own: list[Check] | None, checks: set[str]) -> Faults:
    place = path.relative_to(root / "lessons").parts[1:]
    code = path.suffix == ".py" or (path.suffix == ".toml" and path.with_suffix(".py").exists())  # and its words
    if not (len(place) == 1 and (code or path.name in UNIT_FILES)) and not (
        len(place) == 2 and place[0] == "experiments" and code
    ):
        yield 1, f"a unit holds nothing but {', '.join(UNIT_FILES)}, *.py, experiments/*.py and their words in TOML"
    elif path.name in NOTEBOOK_FILES:
        try:
            page = read_page(path, root)
        except SourceError as error:
            yield from ((problem.line, problem.message) for problem in error.problems)
            return
        yield from _front_matter_faults(page, path)
        yield from _minutes_faults(page, path)
        yield from _part_faults(page, path, root)
        yield from _cell_faults(page)
        yield from prose.faults(page)
        yield from _code_faults(page, cards, checks if own is not None else None)
        if path.name == "exercises.md":
            if own is not None:
                yield from _nbgrader_faults(page, own)
            yield from _exercise_faults(page)
        else:
            yield from _no_nbgrader_faults(page)
            if own is not None:
                yield from turns.faults(page, own)
            yield from limits.faults(page, _card_tables(path.with_name("cards.toml")))
        yield from _secret_block_faults(path)
    elif path.name == "cards.toml":
        yield from _card_faults(path)
    elif path.name in ("checks.py", MUTANTS):
        if own is not None:
            yield from _check_faults(path, own, root) if path.name == "checks.py" else _mutants_faults(path, own)
    elif path.name == terms.NAME:
        yield from terms.form_faults(path)
    elif path.name == "ledger.toml":
        yield from _ledger_faults(path)
    elif path.name in ("truths.py", "claims.py"):
        if found := no_module(path):
            yield found
    elif path.suffix == ".py":
        yield from _syntax_faults(path)


# -------------------------------------------------------------------------------------------------------- notebooks


def _front_matter_faults(page: Page, path: Path) -> Faults:
    lines, folder = path.read_text(encoding="utf-8").splitlines(), path.parent.name
    wanted: dict[str, tuple[str, Callable]] = {
        "jupytext.text_representation.format_name": ("myst", lambda value: value == "myst"),
        "jupytext.text_representation.extension": (".md", lambda value: value == ".md"),
        "kernelspec.name": ("python3", lambda value: value == "python3"),
        "course.unit": (f"the folder's name, {folder}", lambda value: value == folder),
        "course.title": ("the title in words", lambda value: isinstance(value, str) and value.strip()),
    }
    for dotted, (what, fulfilled) in wanted.items():
        value, *_, key = page.front, *dotted.split(".")
        for part in dotted.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not fulfilled(value):
            yield _line_of_key(key, lines), f"front matter: {dotted} must be {what}, not {value!r}"


def _line_of_key(key: str, lines: Sequence[str]) -> int:
    """Where a key of the front matter stands; the first line, where it is missing or written in another form."""
    return next((i for i, text in enumerate(lines, 1) if text.strip().startswith(f"{key}:")), 1)


def _minutes_faults(page: Page, path: Path) -> Faults:
    """Typed minutes: those of a lesson follow from what it holds, and its exercises state their own."""
    if "minutes" in page.course:
        line = _line_of_key("minutes", path.read_text(encoding="utf-8").splitlines())
        yield line, "front matter: course.minutes goes; the build adds the minutes up"


def _part_faults(page: Page, path: Path, root: Path) -> Faults:
    """A part that the map of the course does not have: a slip of the pen would give it a new one."""
    part = page.course.get("part")
    if part is None:
        return
    parts = [each for folder in units(root) for each in _parts(folder / "lesson.md")]
    if parts and part not in parts:
        yield (
            _line_of_key("part", path.read_text(encoding="utf-8").splitlines()),
            f"front matter: course.part is {part!r}, which the map lacks; its parts are {', '.join(parts)}",
        )


def _parts(lesson: Path) -> list[str]:
    """The parts of the course, where a lesson's front matter lists them."""
    try:
        text = lesson.read_text(encoding="utf-8")
        return list(front_matter(text)[0]["course"]["parts"]) if "\n  parts:" in text else []
    except (OSError, ValueError, LookupError, TypeError):
        return []


def _cell_faults(page: Page) -> Faults:
    """Empty cells, cell ids, images without a text alternative, dollars."""
    seen = {}
    for cell in page.cells:
        node, cid = cell.node, cell.node.metadata.get("cid")
        if not node.source.strip():
            yield cell.line, EMPTY
        if cid is not None and not (isinstance(cid, str) and CID.fullmatch(cid)):
            yield cell.line, f"cid must be 1 to 64 letters, digits, - or _, not {cid!r}"
        elif cid in seen:
            yield cell.line, f"cid {cid!r} is already taken in line {seen[cid]}"
        elif cid is not None:
            seen[cid] = cell.line
        if node.cell_type == "markdown":
            for i, text in enumerate(node.source.split("\n")):
                if "\\$" in text:
                    yield cell.source_line + i, DOLLAR
                if NO_ALT.search(text):
                    yield cell.source_line + i, "an image without a text alternative: ![what the image shows](…)"


def _code_faults(page: Page, cards: set[str], checks: set[str] | None) -> Faults:
    """AUTHORING's rules for code cells, and ids of cards and checks that do not exist."""
    code = [cell for cell in page.cells if cell.node.cell_type == "code"]
    for cell in code:
        if "raises-exception" in cell.node.metadata.get("tags", []):
            continue
        for i, text in enumerate(cell.node.source.split("\n")):
            if re.match(r"\s*%matplotlib\b", text):
                yield cell.source_line + i, "no %matplotlib: inline figures are the default"
        try:
            tree = cell.syntax()
        except SyntaxError as error:
            yield cell.source_line + (error.lineno or 1) - 1, f"SyntaxError: {error.msg}"
            continue
        if cell is code[0]:
            for statement in tree.body:
                if not isinstance(statement, (ast.Import, ast.ImportFrom)):
                    yield cell.line_of(statement), "the first code cell holds imports only"
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                yield cell.line_of(node), "no `import *`: name what you import"
            elif isinstance(node, ast.Call):
                name, first = called(node), node.args[0] if node.args else None
                if name == "filterwarnings":
                    yield cell.line_of(node), "no warnings.filterwarnings: repair what warns"
                known = {"card": cards, "check": checks}.get(name)
                if known is not None and isinstance(first, ast.Constant) and first.value not in known:
                    yield cell.line_of(node), f"there is no {name} {first.value!r}"


# --------------------------------------------------------------------------------------------------------- exercises


def _no_nbgrader_faults(page: Page) -> Faults:
    for cell in page.cells:
        if "nbgrader" in cell.node.metadata:
            yield cell.line, "nbgrader metadata belongs in exercises.md"


def _nbgrader_faults(page: Page, own: list[Check]) -> Faults:
    """nbgrader's metadata, one grade cell for every check of the unit, and the form of grade and solution cells."""
    seen, used, checks = {}, {}, {check.id: check for check in own}
    for cell in page.cells:
        if "nbgrader" not in cell.node.metadata:
            continue
        meta, source = cell.node.metadata.nbgrader, cell.node.source
        wrong = [key for key, kind in NBGRADER.items() if type(meta.get(key)) is not kind]
        if wrong or meta.schema_version != 3 or not re.fullmatch(r"[\w-]+", meta.grade_id):
            keys = ", ".join(wrong or ["schema_version", "grade_id"])
            yield cell.line, f"nbgrader metadata needs {', '.join(NBGRADER)} with schema_version 3; look at {keys}"
            continue
        if meta.grade_id in seen:
            yield cell.line, f"grade_id {meta.grade_id!r} is already taken in line {seen[meta.grade_id]}"
        seen.setdefault(meta.grade_id, cell.line)
        points = meta.get("points")
        if (meta.grade or meta.task) and (type(points) not in (int, float) or points <= 0):
            yield cell.line, f"{meta.grade_id}: points must be a positive number, not {points!r}"
        if meta.solution and "BEGIN SOLUTION" not in source:
            yield cell.line, f"{meta.grade_id}: a solution cell needs BEGIN SOLUTION … END SOLUTION"
        if not meta.solution and "BEGIN SOLUTION" in source:
            yield cell.line, f"{meta.grade_id}: a solution stands in a cell that is not marked `solution: true`"
        if meta.grade != meta.solution and cell.node.cell_type == "markdown" and not meta.task:
            yield cell.line, f"{meta.grade_id}: a free-text cell is both `grade: true` and `solution: true`"
        if meta.grade and not meta.solution and cell.node.cell_type == "code":
            id = _graded_check(source)
            if id is None:
                message = 'a grade cell is one line, check("id", function), without ";": else nbgrader gives full marks'
                yield cell.source_line, f"{meta.grade_id}: {message}"
            elif id in used:
                yield cell.source_line, f"check {id!r} is already graded in line {used[id]}"
            elif id in checks and checks[id].points != points:
                yield cell.line, f"{meta.grade_id}: points: {points}, but check {id!r} has {checks[id].points}"
            used.setdefault(id, cell.source_line)
            if id in checks and (name := ast.parse(source).body[0].value.args[1].id) != checks[id].name:
                yield cell.source_line, f"{meta.grade_id}: check {id!r} is about {checks[id].name!r}, not {name!r}"
    for check in own:
        if check.unit is not None and not any(_is_stub_of(cell.node, check.name) for cell in page.cells):
            line = used.get(check.id, 1)
            yield line, f"check {check.id!r}: the answer cell begins with `{check.name} = None` before BEGIN SOLUTION"
        if check.points and check.id not in used:
            yield 1, f"no grade cell uses check {check.id!r}"
        if not check.points and (places := _shown_at(page, check.id)):
            yield places[0], f"check {check.id!r} has no points: it belongs in a your-turn of lesson.md"


def _shown_at(page: Page, id: str) -> list[int]:
    """The lines of calls of one check."""
    found = [(cell, call) for cell in page.cells if cell.is_code for call in calls(cell) if called(call) == "check"]
    return [cell.line_of(call) for cell, call in found if call.args and getattr(call.args[0], "value", "") == id]


def _exercise_faults(page: Page) -> Faults:
    """Exercises that do not say how long they take, and points that belong to no exercise."""
    begun = False
    for cell in page.cells:
        if not cell.is_code and cell.node.source.startswith("## "):
            begun = True
            if stated(cell) is None:
                yield cell.source_line, f"below the heading of an exercise stands a line such as {STATED_AS}"
        elif not begun and cell.node.metadata.get("nbgrader", {}).get("grade"):
            yield cell.line, "this has points and belongs to no exercise: an exercise begins with a heading, `## 1. …`"


def _is_stub_of(cell, name: str) -> bool:
    """Whether a solution cell keeps a line that gives the quantity `name` no value, which learners replace."""
    before = cell.source.partition("### BEGIN SOLUTION")[0]
    return bool(cell.metadata.get("nbgrader", {}).get("solution") and re.match(rf"{name} = None\b", before))


def _graded_check(source: str) -> str | None:
    """The id in a cell that is nothing but `check("id", name)`; None for any other cell."""
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    call = getattr(statement, "value", None)
    alone = isinstance(statement, ast.Expr) and isinstance(call, ast.Call) and not source.rstrip().endswith(";")
    named = alone and len(call.args) == 2 and isinstance(call.args[1], ast.Name)
    if named and called(call) == "check" and isinstance(call.args[0], ast.Constant):
        return call.args[0].value
    return None


def _secret_block_faults(path: Path) -> Faults:
    """Blocks that nbgrader removes: closed, not nested; in exercises.md only."""
    begun = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        mark = SECRET.search(line)
        if not mark:
            continue
        edge, kind = mark.groups()
        if path.name != "exercises.md":
            yield number, f"{edge} {kind}: solutions belong in exercises.md"
        elif edge == "BEGIN":
            if begun:
                yield number, f"BEGIN {kind} inside the block begun in line {begun[0]}"
            begun = number, kind
        elif begun is None or begun[1] != kind:
            yield number, f"END {kind} without its BEGIN {kind}"
        else:
            begun = None
    if begun:
        yield begun[0], f"BEGIN {begun[1]} without its END {begun[1]}"


# ------------------------------------------------------------------------------------------------------ cards, checks

HEAD = re.compile(r"\[([^\[\]]+)\]\s*(?:#|$)")
"""The line with which a table begins."""


def _card_lines(path: Path) -> dict[str, int]:
    """Card id -> line of its table; empty for a missing or unreadable file."""
    tables = _card_tables(path)
    lines = path.read_text(encoding="utf-8").splitlines() if tables else []
    heads = {head[1].strip(" \"'"): i for i, line in enumerate(lines, 1) if (head := HEAD.match(line))}
    return {id: heads.get(id.partition(".")[2], 1) for id in tables}


def _card_tables(path: Path) -> dict[str, dict]:
    """Card id -> its table; empty for a missing or unreadable file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    return {f"{path.parent.name.partition('_')[0]}.{name}": table for name, table in tables.items()}


def _card_faults(path: Path) -> Faults:
    """TOML that cannot be read, incomplete cards, and those whose deciding function is missing or takes other names."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        yield no_toml(error)
        return
    for id, line in _card_lines(path).items():
        name, folder = id.partition(".")[2], path.parent.name
        if known := FIELDS.get(kind := tables[name].get("kind")):
            for field in tables[name].keys() - {"kind", "reason", *known}:
                near = difflib.get_close_matches(field, known, 1)
                yield line, f"card {id!r}: {field!r} is no field of a {kind}" + (f"; {near[0]!r}?" if near else "")
        try:
            card = parse_card(id, folder, tables[name])[0]
        except CardError as error:
            yield line, str(error)
            continue
        if card.kind == "number" and LIST.match(card.reason):
            yield line, f"card {id!r}: a reason that begins with {{truth}} and a full stop is shown as a list"
        if card.kind == "reflection":
            continue
        if card.cell and card.cell not in _cids(path.with_name("lesson.md")):
            yield line, f"claim {id!r}: lesson.md has no cell with the cid {card.cell!r}"
        if not _in_ledger(path, name):
            what = "ruling" if card.kind == "claim" else "answer"
            yield line, f"{card.kind} {id!r} needs a line in ledger.toml: its {what}, derived by hand"
        module, function = path.with_name("claims.py" if card.kind == "claim" else "truths.py"), name.replace("-", "_")
        parameters = _functions(module).get(function)
        if parameters is None:
            yield line, f"card {id!r} needs the function {function}() in {module.name}"
        elif parameters != set(card.given):
            rounds, own = ", ".join(card.given) or "nothing", ", ".join(sorted(parameters)) or "nothing"
            yield line, f"card {id!r}: its rounds give {rounds}, but {function}() in {module.name} takes {own}"
        elif card.kind == "claim":
            yield from ((line, f"card {id!r}: {fault}") for fault in _claim_faults(card, module, function))


def _tables(path: Path):
    """What a TOML file holds and the lines of its keys; nothing, and one fault, where it cannot be read."""
    text = path.read_text(encoding="utf-8")
    try:
        return tomllib.loads(text), toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        yield no_toml(error)
        return {}, {}


def _ledger_faults(path: Path) -> Faults:
    """Lines of cards that are not there, rulings and answers that are none."""
    found, lines = yield from _tables(path)
    cards = _card_tables(path.with_name("cards.toml"))
    for name, derived in found.items():
        line, card = lines.get((name,), 1), cards.get(f"{path.parent.name.partition('_')[0]}.{name}")
        kind = card and card.get("kind")
        if card is None:
            yield line, f"no card of cards.toml is called {name!r}"
        elif kind == "claim" and derived not in RULINGS:
            yield line, f"{name} = {derived!r}: a ruling is one of {', '.join(RULINGS)}"
        elif kind == "number" and type(derived) not in (int, float):
            yield line, f"{name} = {derived!r}: the answer of a number is a number"
        elif kind == "choice" and derived not in (keys := [each.get("key") for each in card.get("choices", ())]):
            yield line, f"{name} = {derived!r}: the answer of this choice is one of {', '.join(map(str, keys))}"


def _in_ledger(path: Path, name: str) -> bool:
    """Whether the ledger of a unit has a line for a card; one that cannot be read is reported where it stands."""
    try:
        return name in tomllib.loads(path.with_name("ledger.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except tomllib.TOMLDecodeError:
        return True


def _cids(path: Path) -> set[str]:
    """The names of a lesson's cells; empty for a missing one."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return set(re.findall(r'^(?:\+\+\+ .*"cid": *"|:cid: *|cid: *)([\w-]+)', text, re.MULTILINE))


def _functions(path: Path) -> dict[str, set[str]]:
    """Name -> parameters of each function of a module; empty for a missing or unreadable file."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return {}
    return {
        node.name: {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def _claim_faults(card: Card, module: Path, function: str) -> Iterator[str]:
    """Names on which the texts of a claim and its verdicts do not agree; silent where a mapping hands over some."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call) and called(node) == "Verdict"]
    given = {keyword.arg for call in calls for keyword in call.keywords}
    said = names("".join([card.because, card.corrected, *card.evidence.values()]))
    if None in given:
        return
    for name in sorted(said - given):
        yield f"its texts name {name!r}, which {function}() in {module.name} does not give"
    for name in sorted(given - said):
        yield f"{function}() in {module.name} gives {name!r}, which no text names"


def _syntax_faults(path: Path) -> Faults:
    try:
        ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        yield error.lineno or 1, f"SyntaxError: {error.msg}"


def _mutants_faults(path: Path, own: list[Check]) -> Faults:
    """Lists of checks that are not there, and slips without a reason."""
    listed, lines = yield from _tables(path)
    for name, reasons in listed.items():
        if name not in {check.id.partition(".")[2] for check in own}:
            yield lines.get((name,), 1), f"checks.py has no check {name!r}"
        if not isinstance(reasons, dict):
            yield lines.get((name,), 1), f"{name} must be a table of slips and reasons: [{name}]"
            continue
        for edit, reason in reasons.items():
            if not (isinstance(reason, str) and reason.strip()):
                yield lines.get((name, edit), 1), "say why no input can notice this slip"


def _check_faults(path: Path, own: list[Check], root: Path) -> Faults:
    """Ids, sources and `faults` of the checks; what keeps checks.py from loading is reported where it is loaded."""
    if not own:
        return
    tree, seen = ast.parse(path.read_text(encoding="utf-8")), set()
    found = tried(path.parent, root)
    where = {
        keyword.value.value: call.lineno
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "id" and isinstance(keyword.value, ast.Constant)
    }
    for check in own:
        line = where.get(check.id, 1)
        if not check.id.startswith(f"{path.parent.name.partition('_')[0]}."):
            yield line, f"check {check.id!r}: the id must begin with the unit's prefix"
        if check.id in seen:
            yield line, f"check {check.id!r} stands twice in CHECKS"
        seen.add(check.id)
        for who, function in [
            ("the reference", check.reference),
            *((f"wrong[{n!r}]", f) for n, f in check.wrong.items()),
        ]:
            code = getattr(function, "__code__", None)
            if code is None or Path(code.co_filename) != path:
                yield line, f"check {check.id!r}: write {who} in checks.py, where the leak test finds it"
        if check.unit is None and not edits.source_of(check.reference):
            yield line, f"check {check.id!r}: write the reference as `def` at the top of checks.py, for its mutants"
        yield from ((line, fault) for fault in found[check.id].faults)
