"""More than 500 honest submissions of the course's own exercises: each is scored exactly as it deserves.

What each known wrong answer scores and hears is tested in `tests/grading/results/test_scoring.py`: the sandbox knows no
check, so two of each stand for all here.
"""

import contextlib
import itertools
import re

import pytest

from course_lib.grading.results.scoring import calls_for, score
from course_lib.grading.sandbox.conversation import Job
from course_lib.grading.sandbox.engine import Limits
from course_lib.grading.seeds import exercise_seed
from course_lib.teaching.checks.check_form import decode_arguments
from tests.grading.sandbox.conftest import ROOT, deserved, start
from tools.source import load_checks, read_page, units

pytestmark = pytest.mark.slow
KEY, DRAWS = bytes(32), 5
FOLDERS = [folder for folder in units(ROOT) if (folder / "checks.py").exists()]
CHECKS = {check.id: check for folder in FOLDERS for check in load_checks(folder, ROOT)}

# checks.py needs no more of the course than these names
OWN_CHECK = """
from types import SimpleNamespace
EXACT = None
def Check(**values): return SimpleNamespace(**values)
def Close(*args, **values): return None
"""

STYLES = {
    "plain": "{source}",
    "commented": '"""My answer, 答案."""\n# 注释: done\n{source}\n\n\n# end',
    "Windows line ends": "{source}",
    "warns": "{source}\n_right = {name}\ndef {name}(*a, **k):\n    import warnings\n    warnings.warn('careful')\n"
    "    return _right(*a, **k)",
    "noisy": "{source}\n_right = {name}\ndef {name}(*a, **k):\n    import sys\n    print('x' * 100_000)\n"
    "    print('y' * 100_000, file=sys.stderr)\n    return _right(*a, **k)",
    "slow": "{source}\n_right = {name}\ndef {name}(*a, **k):\n    import time\n    time.sleep(0.02)\n"
    "    return _right(*a, **k)",
    "an object": "{source}\n_right = {name}\nclass Answer:\n    def __call__(self, *a, **k): return _right(*a, **k)\n"
    "{name} = Answer()",
    "arrays and tuples": "{source}\n_right = {name}\ndef {name}(*a, **k):\n    import numpy as np\n"
    "    out = _right(*a, **k)\n"
    "    return np.float64(out) if type(out) is float else tuple(out) if type(out) is list else out",
    "tried out in the cell": "%matplotlib inline\n{source}\nprint({name})\n{name}()\n{name} = None",
    "tested in the cell": "{source}\ncheck('some.id', {name})",
    "through torch": "import torch\nx = torch.ones(64, 64) @ torch.ones(64, 64)\n{source}",
    "typed and cached": "from functools import lru_cache\nfrom typing import Any\n{source}\n{name}: Any = {name}",
}


def solutions() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Check id -> the cell that answers it and the notebook's other code cells, from the lessons' sources."""
    found = {}
    for folder in FOLDERS:
        nodes = [cell.node for cell in read_page(folder / "exercises.md", ROOT).cells if cell.node.cell_type == "code"]
        answers = [node.source for node in nodes if node.metadata.get("nbgrader", {}).get("solution")]
        others = tuple(node.source for node in nodes if node.source not in answers)
        for check in filter(lambda check: check.points, load_checks(folder, ROOT)):  # a your-turn is not handed in
            given = re.compile(rf"^(def {check.name}\b|{check.name} *=)", re.MULTILINE)
            found[check.id] = next(source for source in answers if given.search(source)), others
    return found


def wrong_cell(folder, check, name: str) -> str:
    """A cell that gives a known wrong answer: the author's own code for it; of a quantity its value."""
    if check.unit is not None:
        return f"{check.name} = {check.wrong[name]()!r}"
    text = "\n".join(
        line for line in (folder / "checks.py").read_text().splitlines() if not line.startswith("from course_lib")
    )
    pick = f"next(each.wrong[{name!r}] for each in CHECKS if each.id == {check.id!r})"
    return f"{OWN_CHECK}\n{text}\n{check.name} = {pick}"


def returns_nothing(check, calls, name: str) -> bool:
    """Whether a known wrong answer is to return nothing, whatever is asked."""
    asked = (decode_arguments(call.arguments) for call in calls)
    return all(check.wrong[name](*args, **kwargs) is None for args, kwargs in asked)


def submissions():
    """(name, check, cell, points deserved or the wrong function that it is, diagnosis).

    Every check meets its own answer and two of its wrong ones; the forms of an answer know no check and take turns.
    """
    styles = itertools.cycle([style for style in STYLES if style != "plain"])
    for number, (id, (source, _)) in enumerate(solutions().items()):
        check = CHECKS[id]
        stub = re.sub(r"( *)### BEGIN SOLUTION.*### END SOLUTION", r"\1raise NotImplementedError()", source, flags=re.S)
        chosen = itertools.islice(styles, 3) if check.unit is None else ("commented", "tested in the cell")
        for style in ("plain", *chosen):
            cell = STYLES[style].format(source=source, name=check.name)
            if style == "tried out in the cell":
                cell = cell.rpartition("\n")[0]  # the failing call stays, the line after it never runs
            if style == "Windows line ends":
                cell = cell.replace("\n", "\r\n")
            yield f"right, {style}", check, cell, check.points, None
        nothing = {
            "half done": source + f"\n{check.name} = lambda *_, **__: None",
            "deleted": "",
            "not Python": source + "\n)",
            "prints its answer": f"{source}\n_f = {check.name}\ndef {check.name}(*a): print(_f)",
        }
        name = list(nothing)[number % len(nothing)]
        yield "blank", check, stub, 0, None
        yield name, check, nothing[name], 0, None
    for number, (folder, check) in enumerate((home, each) for home in FOLDERS for each in load_checks(home, ROOT)):
        if check.points:
            names = [*check.wrong, *check.wrong][number % len(check.wrong) :]
            plain, noisy = names[:2]  # the same, where there is only one
            yield f"wrong, {plain}", check, wrong_cell(folder, check, plain), check.wrong[plain], plain
            cell = f"import sys\n{wrong_cell(folder, check, noisy)}\nprint('z' * 1000, file=sys.stderr)"
            yield f"wrong and noisy, {noisy}", check, cell, check.wrong[noisy], noisy


def test_every_honest_submission_gets_what_it_deserves():
    students, others = list(submissions()), {id: cells for id, (_, cells) in solutions().items()}
    assert len(students) >= 500
    jobs, plans = [], {}
    for number, (name, check, cell, points, diagnosis) in enumerate(students):
        calls = calls_for(check, exercise_seed(KEY, f"{number} {name}", check.id, "content"), DRAWS)
        jobs.append(Job(str(number), (cell,), calls, tuple(check.allow), others[check.id]))
        plans[str(number)] = (f"{check.id}: {name}", check, calls, points, diagnosis)
    patient = Limits(call=30, function=60, cells=60, job=300)
    with contextlib.closing(start(limits=patient)) as engine:
        answered = list(engine.run(jobs))
    assert sorted(one.key for one in answered) == sorted(plans)
    unlike = []
    for one in answered:
        name, check, calls, points, diagnosis = plans[one.key]
        points = deserved(check, calls, points) if callable(points) else points
        found = score(check, calls, one.replies)
        heard = found.diagnosis and found.diagnosis[0]
        if heard and diagnosis is None and returns_nothing(check, calls, heard):
            heard = None  # who prints has given the known wrong answer "nothing, ever"
        if found.points != points or heard != diagnosis:
            unlike.append((name, points, found, one.note))
    assert unlike == []
