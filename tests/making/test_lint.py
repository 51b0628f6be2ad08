"""Each rule of the lint, turned red by one bad line, with the number of that line."""

import pytest

from tools.build import main
from tools.lint import lint


def problems(toy):
    return [
        (problem.path.removeprefix("lessons/q99_toy/"), problem.line, problem.message) for problem in lint(toy.root)
    ]


def test_a_good_unit_has_no_problem(toy):
    assert problems(toy) == []


@pytest.mark.parametrize("cid", ["q99-why", "twice", "again"])
def test_a_claim_may_name_the_cell_that_shows_it(toy, cid):
    toy.edit("lesson.md", ":tags: [", ":cid: twice\n:tags: [")
    toy.edit("lesson.md", "```{code-cell} ipython3\n2 + 2", "```{code-cell} ipython3\n---\ncid: again\n---\n2 + 2")
    toy.edit("cards.toml", '[it-is-two]\nkind = "claim"', f'[it-is-two]\nkind = "claim"\ncell = "{cid}"')
    assert problems(toy) == []


def test_a_quantity_needs_a_line_that_the_learner_replaces(toy):
    toy.edit("checks.py", 'signature="twice(x)"', 'signature="twice", unit="GB"')
    toy.edit("checks.py", "public=[(3,), (5.5,)],", "")
    toy.edit("checks.py", "generate=lambda rng: (rng.randint(3, 99),),", "")
    toy.edit("checks.py", "def _twice(x):", "def _twice(x=1):")
    toy.edit("checks.py", "def _squared(x):", "def _squared(x=9):")
    line = toy.edit("exercises.md", 'check("q99.twice", twice)', 'check("q99.twice", twice)')
    words = "check 'q99.twice': the answer cell begins with `twice = None` before BEGIN SOLUTION"
    assert problems(toy) == [("exercises.md", line, words)]
    toy.edit("exercises.md", "def twice(x):\n    ### BEGIN SOLUTION", "twice = None  # in GB\n### BEGIN SOLUTION")
    toy.edit("exercises.md", "    return 2 * x\n    ### END SOLUTION", "twice = '2 GB'\n### END SOLUTION")
    assert problems(toy) == []


# file, what is replaced, by what, how many lines below that the problem stands, words of its message
BAD = {
    "no front matter": ("lesson.md", "---\njupytext", "jupytext", 0, "front matter is missing"),
    "front matter no YAML": ("lesson.md", "  unit: q99_toy", "  unit: [q99", 0, "no valid YAML"),
    "jupytext format": ("lesson.md", "    format_name: myst", "    format_name: light", 0, "format_name must be myst"),
    "kernel": ("lesson.md", "  name: python3", "  name: xeus", 0, "kernelspec.name must be python3"),
    "unit is not the folder": ("lesson.md", "  unit: q99_toy", "  unit: q98_toy", 0, "the folder's name, q99_toy"),
    "no title": ("lesson.md", "  title: A toy", "  title: ''", 0, "course.title"),
    "minutes of a lesson": ("lesson.md", "  title: A toy", "  title: A toy\n  minutes: 5", 1, "adds the minutes up"),
    "minutes of exercises": (
        "exercises.md",
        "  unit: q99_toy",
        "  unit: q99_toy\n  minutes: 5",
        1,
        "adds the minutes up",
    ),
    "exercise without minutes": ("exercises.md", "10 minutes. ", "", -2, "*Difficulty 2 of 5. 10 minutes. 3 points.*"),
    "points of no exercise": ("exercises.md", "## 1. Twice", "Twice", 16, "belongs to no exercise"),
    "fence never closed": ("lesson.md", "The same cell again:", "~~~text", 0, "never closed"),
    "code cell in a fence": (
        "lesson.md",
        "The same cell again:",
        "````text\n```{code-cell} ipython3\n```\n````",
        1,
        "inside the fence",
    ),
    "code cell in a list": (
        "lesson.md",
        "The same",
        "- x\n  ```{code-cell}\n  1\n  ```\nThe",
        1,
        "beginning of a line",
    ),
    "+++ without JSON": ("lesson.md", '+++ {"cid": "q99-why"}', '+++ {"cid": q99-why}', 0, "no valid JSON"),
    "+++ with a list": ("lesson.md", '+++ {"cid": "q99-why"}', "+++ [1]", 0, "must be a JSON object"),
    "empty markdown cell": (
        "lesson.md",
        "The same cell again:",
        '+++ {"cid": "gone"}\n\n+++\n\nText',
        0,
        "an empty cell",
    ),
    "empty cell at the end": ("exercises.md", "Say why.\n", "Say why.\n\n+++\n", 2, "an empty cell"),
    "empty code cell": ("lesson.md", "import math\n", "", -1, "an empty cell"),
    "bad options": ("lesson.md", ":tags: [nbval-check-output]", ":tags: [nbval", -1, "Invalid YAML"),
    "bad cid": ("lesson.md", "q99-why", "q99 why", 0, "cid must be"),
    "cid twice": ("lesson.md", ":tags: [nbval-check-output]", ":cid: q99-why", -1, "already taken in line"),
    "image without words": ("lesson.md", "![a circle]", "![ ]", 0, "without a text alternative"),
    "dollar": ("lesson.md", "Why twice?", "Why?\nIt costs \\$2 or \\$3.", 1, "2.50 dollars"),
    "img without alt": ("lesson.md", "Why twice?", 'Why?\n<img src="a.png" alt="">', 1, "without a text alternative"),
    "star import": ("lesson.md", "import math", "from math import *", 0, "import *"),
    "matplotlib magic": ("lesson.md", 'print("twice")', "%matplotlib inline", 0, "no %matplotlib"),
    "warnings silenced": ("lesson.md", 'print("twice")', 'warnings.filterwarnings("ignore")', 0, "filterwarnings"),
    "first cell does more": ("lesson.md", "import math\n", "import math\n\nx = 1\n", 2, "imports only"),
    "syntax error": ("lesson.md", 'print("twice")', "print('twice'\nx = 1", 0, "SyntaxError"),
    "unknown card": ("lesson.md", 'print("twice")', 'card("q99.how-mny")', 0, "no card 'q99.how-mny'"),
    "unknown check": ("lesson.md", 'print("twice")', 'course_lib.check("q99.thrice", f)', 0, "no check 'q99.thrice'"),
    "nbgrader in a lesson": ("lesson.md", ":tags: [", ":nbgrader: {}\n:tags: [", -1, "belongs in exercises.md"),
    "solution in a lesson": ("lesson.md", 'print("twice")', "# BEGIN SOLUTION", 0, "belong in exercises.md"),
    "no schema version": ("exercises.md", "schema_version: 3, solution: true", "solution: true", -2, "schema_version"),
    "old schema version": ("exercises.md", "schema_version: 3", "schema_version: 2", -2, "schema_version 3"),
    "no grade_id": ("exercises.md", "grade_id: q99-twice,", "", -2, "grade_id"),
    "grade_id twice": ("exercises.md", "grade_id: q99-twice-check", "grade_id: q99-twice", -2, "already taken in line"),
    "no points": ("exercises.md", "points: 2, ", "", -2, "points must be a positive number"),
    "points of another size": ("exercises.md", "points: 2", "points: 3", -2, "has 2"),
    "graded text is no solution": ("exercises.md", '"solution": true', '"solution": false', 0, "free-text cell"),
    "grade cell shows nothing": ("exercises.md", "twice)\n", "twice);\n", 0, "full marks"),
    "another function": ("exercises.md", 'twice", twice)', 'twice", thrice)', 0, "is about 'twice', not 'thrice'"),
    "grade cell assigns": ("exercises.md", 'check("q99', 'result = check("q99', 0, "full marks"),
    "solution cell without block": (
        "exercises.md",
        "    ### BEGIN SOLUTION\n",
        "",
        -5,
        "needs BEGIN",
    ),
    "block never ends": ("exercises.md", "<!-- END SOLUTION -->", "", -2, "without its END"),
    "block ends twice": (
        "exercises.md",
        "    ### END SOLUTION",
        "    # END SOLUTION\n    # END SOLUTION",
        1,
        "without its BEGIN",
    ),
    "block in a block": (
        "exercises.md",
        "    return 2 * x",
        "    # BEGIN SOLUTION\n    return 2 * x",
        0,
        "inside the block",
    ),
    "claim of no cell": (
        "cards.toml",
        '[it-is-two]\nkind = "claim"',
        '[it-is-two]\nkind = "claim"\ncell = "q99-wy"',
        0,
        "no cell with the cid 'q99-wy'",
    ),
    "cards no TOML": ("cards.toml", 'prompt = "How many?"', "prompt = How many?", 0, "no valid TOML"),
    "card without kind": ("cards.toml", '[how-many]\nkind = "number"', "[how-many]", 0, "no 'kind'"),
    "card without unit": (
        "cards.toml",
        '[how-many]\nkind = "number"\nprompt = "How many?"\nunit = ""',
        '[how-many]\nkind = "number"\nprompt = "How many?"',
        0,
        "no 'unit'",
    ),
    "card of another kind": (
        "cards.toml",
        '[how-many]\nkind = "number"',
        '[how-many]\nkind = "essay"',
        0,
        "kind='essay'",
    ),
    "rounds of two kinds": (
        "cards.toml",
        '[how-many]\nkind = "number"\nprompt = "How many?"',
        '[how-many]\nkind = "number"\nprompt = "How many {a}?"\nrounds = [{a = 1}, {b = 2}]',
        0,
        "do not all give",
    ),
    "rounds not in the text": (
        "cards.toml",
        '[how-many]\nkind = "number"',
        '[how-many]\nkind = "number"\nrounds = [{a = 1}, {a = 2}]',
        0,
        "'a' only in",
    ),
    "rounds not in the truth": (
        "cards.toml",
        '[how-many]\nkind = "number"\nprompt = "How many?"',
        '[how-many]\nkind = "number"\nprompt = "How many {a}?"\nrounds = [{a = 1}, {a = 2}]',
        0,
        "its rounds give a, but how_many() in truths.py takes nothing",
    ),
    "truth wants a name": (
        "truths.py",
        "def how_many()",
        "def how_many(a)",
        None,
        "its rounds give nothing, but how_many() in truths.py takes a",
    ),
    "reason that is a list": (
        "cards.toml",
        'prompt = "How many?"',
        'prompt = "How many?"\nreason = "{truth}. As each takes two."',
        -2,
        "shown as a list",
    ),
    "card without truth": ("truths.py", "def how_many", "def how_much", None, "how_many() in truths.py"),
    "card without claim": ("claims.py", "def it_is_two", "def it_is", None, "it_is_two() in claims.py"),
    "claim names no number": (
        "cards.toml",
        '"{ratio:.1f}"',
        '"{ration:.1f}"',
        None,
        "its texts name 'ration', which it_is_two() in claims.py does not give",
    ),
    "number that no text names": (
        "claims.py",
        "ratio=2.0",
        "ratio=2.0, more=1",
        None,
        "it_is_two() in claims.py gives 'more', which no text names",
    ),
    "correction that names no number": (
        "cards.toml",
        "give or take nothing.",
        "give or take {notting}.",
        -3,
        "its texts name 'notting', which it_is_two() in claims.py does not give",
    ),
    "transfer on a linear scale": (
        "cards.toml",
        'unit = ""',
        'unit = ""\ntransfer = true\nscale = "linear"',
        -3,
        "takes scale='log'",
    ),
    "transfer of a claim": ("cards.toml", 'kind = "claim"', 'kind = "claim"\ntransfer = true', -1, "only a number"),
    "field that no card has": (
        "cards.toml",
        'unit = ""',
        'unit = ""\nhnits = []',
        -3,
        "'hnits' is no field of a number; 'hints'?",
    ),
    "claim with an open brace": ("cards.toml", '"{ratio:.1f}"', '"{ratio"', None, "braces cannot be filled"),
    "correction with an open brace": ("cards.toml", "give or take nothing.", "{times", None, "braces cannot be filled"),
    "claim without a derivation": ("ledger.toml", "it-is-two", "it-is-too", None, "needs a line in ledger.toml"),
    "derivation of no claim": ("ledger.toml", "it-is-two", "it-is-too", 0, "no card of cards.toml is called"),
    "ruling that is none": ("ledger.toml", '"holds"', '"true"', 0, "a ruling is one of holds, holds-if, fails"),
    "number without a derivation": (
        "ledger.toml",
        "how-many",
        "how-few",
        None,
        "needs a line in ledger.toml: its answer",
    ),
    "answer that is no number": ("ledger.toml", "how-many = 2", 'how-many = "two"', 0, "of a number is a number"),
    "ledger no TOML": ("ledger.toml", '"holds"', "holds", 0, "no valid TOML"),
    "claims that cannot be imported": ("claims.py", "verdict import", "verdicts import", 0, "No module named"),
    "part that the map lacks": (
        "lesson.md",
        "  title: A toy",
        "  part: Tyos\n  parts: [Toys, Games]\n  title: A toy",
        0,
        "its parts are Toys, Games",
    ),
    "part in another form": (
        "lesson.md",
        "  title: A toy",
        '  "part": Tyos\n  parts: [Toys, Games]\n  title: A toy',
        None,
        "its parts are Toys, Games",
    ),
    "course no table": ("lesson.md", "course:\n", "course: 5\nelse:\n", 3, "course.title must be"),
    "truths no Python": ("truths.py", "    return 2.0", "    return 2.0)", 0, "SyntaxError"),
    "checks no Python": ("checks.py", "    return x * x", "    return x *", 0, "SyntaxError"),
    "checks cannot run": (
        "checks.py",
        "        points=2,",
        "        points=-2,",
        None,
        "points must be a positive number",
    ),
    "reference from elsewhere": (
        "checks.py",
        "reference=_twice",
        "reference=float",
        None,
        "write the reference in checks.py",
    ),
    "reference without a name": ("checks.py", "reference=_twice", "reference=lambda x: 2 * x", None, "as `def`"),
    "check of another unit": ("checks.py", 'id="q99.twice"', 'id="q98.twice"', -1, "the unit's prefix"),
    "wrong answer often right": ("checks.py", "rng.randint(3, 99)", "rng.choice([2, 2, 4])", None, "is right on"),
    "words no TOML": ("checks.toml", '"You squared it."', "You squared it.", 0, "no valid TOML"),
    "wrong answer without a message": ("checks.toml", '"squared" = "You squared it."\n', "", -1, "has no message"),
    "message without a wrong answer": (
        "checks.toml",
        '"squared"',
        'cubed = "You cubed it."\n"squared"',
        0,
        "twice.wrong.cubed: checks.py has no such check or wrong answer",
    ),
    "words of no check": ("checks.toml", "[twice]", "[thrice]", 1, "thrice.insight: checks.py has no such check"),
    "unknown words": ("checks.toml", "insight =", "insigt =", 0, "twice.insigt: checks.py has no such"),
    "message of no letters": ("checks.toml", '"You squared it."', '" "', 0, "must be a sentence"),
    "slip that no public input notices": (
        "checks.py",
        "return 2 * x",
        "return 2 * x if x < 10**6 else 3 * x",
        None,
        "no public input notices this slip: _twice: x < 10 ** 6 → x < 1.1 * 10 ** 6",
    ),
    "wrong answer never seen": ("checks.py", "public=[(3,), (5.5,)]", "public=[(2,)]", None, "no public input tells"),
}
ELSEWHERE = {  # problems that stand in another place than the replaced text
    "card without truth": ("cards.toml", 1),
    "card without claim": ("cards.toml", 7),
    "claim without a derivation": ("cards.toml", 7),
    "number without a derivation": ("cards.toml", 1),
    "claim names no number": ("cards.toml", 7),
    "correction with an open brace": ("cards.toml", 7),
    "part in another form": ("lesson.md", 1),
    "reference without a name": ("checks.py", 13),
    "number that no text names": ("cards.toml", 7),
    "claim with an open brace": ("cards.toml", 7),
    "truth wants a name": ("cards.toml", 1),
    "checks cannot run": ("checks.py", 13),
    "reference from elsewhere": ("checks.py", 13),
    "wrong answer often right": ("checks.py", 13),
    "wrong answer never seen": ("checks.py", 13),
    "slip that no public input notices": ("checks.py", 13),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(toy, name):
    file, old, new, below, words = BAD[name]
    line = toy.edit(file, old, new)
    where = ELSEWHERE.get(name) or (file, line + below)
    found = problems(toy)
    assert any((path, at) == where and words in message for path, at, message in found), found


def test_slips_that_nobody_can_make_need_their_reason_and_may_not_be_stale(toy):
    (toy.unit / "mutants.toml").write_text('[twice]\n"_twice: 2 * x → x" = "Not so."\n\n[thrice]\n"x" = ""\n')
    assert problems(toy) == [
        ("checks.py", 13, "check 'q99.twice': mutants.toml lists what is as it should be: _twice: 2 * x → x"),
        ("mutants.toml", 4, "checks.py has no check 'thrice'"),
        ("mutants.toml", 5, "say why no input can notice this slip"),
    ]


def test_slips_in_no_table(toy):
    (toy.unit / "mutants.toml").write_text('twice = "No input can."\n')
    assert problems(toy) == [("mutants.toml", 1, "twice must be a table of slips and reasons: [twice]")]


def test_a_check_that_no_cell_grades(toy):
    text = (toy.unit / "exercises.md").read_text()
    cell = text[text.index("```{code-cell} ipython3\n---\nnbgrader: {grade: true") : text.index("Say why.")]
    toy.edit("exercises.md", cell, "")
    assert ("exercises.md", 1, "no grade cell uses check 'q99.twice'") in problems(toy)


def test_a_check_graded_twice(toy):
    text = (toy.unit / "exercises.md").read_text()
    cell = text[text.index("```{code-cell} ipython3\n---\nnbgrader: {grade: true") : text.index("Say why.")]
    line = toy.edit("exercises.md", "Say why.", cell.replace("q99-twice-check", "q99-again") + "Say why.")
    assert any(at == line + 5 and "already graded" in message for _, at, message in problems(toy)), problems(toy)


def test_missing_lesson_and_stray_file(toy):
    (toy.unit / "lesson.md").rename(toy.unit / "lesson.txt")
    found = problems(toy)
    assert ("lesson.md", 1, "every unit needs a lesson.md") in found
    assert any(path == "lesson.txt" and "holds nothing but" in message for path, _, message in found)


def test_the_command_prints_file_and_line_and_fails(toy, capsys):
    line = toy.edit("lesson.md", "import math", "from math import *")
    assert main(["--lint"], toy.root) == 1
    assert f"lessons/q99_toy/lesson.md:{line}: " in capsys.readouterr().err
    assert main([], toy.root) == 1, "what does not lint is not built"
    assert not toy.notebook.exists()


def test_code_that_fails_on_purpose_may_be_no_python(toy):
    toy.edit("lesson.md", ":tags: [nbval-check-output]", ":tags: [raises-exception]")
    toy.edit("lesson.md", 'print("twice")', "print('twice'")
    assert problems(toy) == []
