# ruff: noqa: E501 (a notebook a line)
"""Notebooks as honest students hand them in: whatever `check()` called right scores full.

A kind changes the released notebook and its right answers. `top` stands above all answers, `above` and `below` around
the first one, `bottom` below all; `answers` replace the right ones.
"""

import pytest

from course_lib.grading import run
from course_lib.grading.sandbox.engine import SandboxMissing
from tests.grading.toy import FULL, RIGHT, grade_id

pytestmark = pytest.mark.slow
TWICE, SHARE, PIECES = RIGHT["q98-twice"], RIGHT["q98-share"], RIGHT["q98-pieces"]


def cells(**more):
    return more


def twice(source, **more):
    return {"answers": {"q98-twice": source}, **more}


def share(source, **more):
    return {"answers": {"q98-share": source}, **more}


def pieces(source, **more):
    return {"answers": {"q98-pieces": source}, **more}


BY_TWO = "def twice(x):\n    return by_two(x)"
MAGICS = {
    f"{magic} on top of an answer": twice(f"{magic}\n{TWICE}")
    for magic in ("%%time", "%%capture", "%%capture out", "%%prun", "\n%%time", "%%time\n%%capture")
}
LINES = {
    f"the line {line!r} in an answer": twice(f"{line}\n{TWICE}\n{line}")
    for line in (
        "%matplotlib inline", "%load_ext autoreload", "%autoreload 2", "!ls", "!pip install numpy", "%pwd", "%timeit 1 + 1",
        "%time 1 + 1", "files = !ls", "here = %pwd", "twice?", "?len", "%config InlineBackend.figure_format = 'retina'",
        "%env OMP_NUM_THREADS=1", "%who", "%cd .", "!!ls", "%precision 3", "# !ls", "%reset_selective -f nothing", "%prun -q len('x')",
    )
}  # fmt: skip
HELPERS = {
    f"a helper after {statement!r}": twice(BY_TWO, top=[f"{statement}\ndef by_two(x):\n    return 2 * x"])
    for statement in (
        "%%time", "%%capture", "%matplotlib inline", "!ls", "import numpy as np", "from __future__ import annotations",
        "import sys\nsys.setrecursionlimit(10_000)", "import random\nrandom.seed(1)", "import torch\ntorch.manual_seed(0)",
        "import numpy as np\nnp.set_printoptions(precision=2)", "import warnings\nwarnings.filterwarnings('ignore')",
        "import os\nos.environ['A'] = 'b'", "print('hello')", "x = 3\nassert x == 3", "from pathlib import Path",
        "import matplotlib\nmatplotlib.use('Agg')", "%config Completer.use_jedi = False", "import time\ntime.sleep(0.01)",
        "if 'google.colab' in str(get_ipython()):\n    !pip install torch",
        "import sys\nif 'google.colab' in sys.modules:\n    !pip install torch\n    %cd /content",
        "try:\n    import google.colab\n    IN_COLAB = True\nexcept ImportError:\n    IN_COLAB = False",
        "from course_lib import check, experiments", "from course_lib import *", "from course_lib.accounting import hardware",
        "%load_ext autoreload\n%autoreload 2", "# %%\n", "pass;",
    )
}  # fmt: skip
TEXTS = {
    "an expression that begins a line with %": twice(
        "def twice(x):\n    y = (x * 200\n         % (10 ** 9))\n    return y / 100"
    ),
    "an expression that begins a line with !=": twice(
        "def twice(x):\n    if (x\n        != None):\n        return 2 * x"
    ),
    "%d in a text of several lines": twice(f'"""\n%d rows\n!important\n"""\n{TWICE}'),
    "a line of % signs in a docstring": twice(
        'def twice(x):\n    """Twice.\n\n    %timeit twice(3)\n    """\n    return 2 * x'
    ),
    "a comment in another script": twice(f"# 答案 é ü — \u2212\n{TWICE}"),
    "Windows line ends": twice(TWICE.replace("\n", "\r\n")),
    "tabs": twice("def twice(x):\n\treturn 2 * x"),
    "an empty line before everything": twice(f"\n\n\n{TWICE}\n\n\n"),
    "a source in lines": cells(lines=True),
    "no trailing newline and a semicolon": twice(f"{TWICE};"),
}
NAMES = {
    "a star import in another cell": pieces("def pieces(n, size):\n    return floor(-n / size) * -1", top=["from math import *"]),
    "a table that is updated in another cell": twice(
        "def twice(x):\n    return SIZES['two'] * x", top=["SIZES = {'two': 3}", "SIZES.update(two=2)"]
    ),
    "a list that grows in another cell": twice("def twice(x):\n    return FACTORS[-1] * x", top=["FACTORS = [3]", "FACTORS.append(2)"]),
    "a global that a function sets": twice("def twice(x):\n    return two * x", top=["def setup():\n    global two\n    two = 2", "setup()"]),
    "names by exec": twice(BY_TWO, top=["exec('def by_two(x): return 2 * x')"]),
    "names by globals()": twice(BY_TWO, top=["globals()['by_two'] = lambda x: 2 * x"]),
    "an attribute set by setattr": twice(
        "def twice(x):\n    return C.two * x", top=["class C:\n    two = 3", "setattr(C, 'two', 2)"]
    ),
    "a cell that calls an earlier answer": share(
        "def share(n, m):\n    return n / m if half == 2.0 else None", below=["half = twice(1) / 1.0"]
    ),
    "a scratch cell below redefines a helper": twice(
        BY_TWO, above=["def by_two(x):\n    return 2 * x"], bottom=["def by_two(x):\n    return 3 * x"]
    ),
    "a scratch cell below redefines a constant": twice("def twice(x):\n    return k * x", above=["k = 2"], bottom=["k = 7\nprint(k)"]),
    "a loop below uses the name": twice("def twice(x):\n    return k * x", above=["k = 2"], bottom=["for k in range(5):\n    pass"]),
    "a scratch cell below shadows a builtin": pieces("def pieces(n, size):\n    return int(abs(-(-n // size)))", bottom=["abs = None"]),
    "a helper below its use": twice(BY_TWO, bottom=["def by_two(x):\n    return 2 * x"]),
    "annotations of the future": twice(
        "def twice(x: Number) -> Answer:\n    return 2 * x", top=["from __future__ import annotations"]
    ),
    "annotations of the future in the answer": twice("from __future__ import annotations\ndef twice(x: Number):\n    return 2 * x"),
    "a helper of a helper of a helper": twice(
        BY_TWO, top=["def one(x):\n    return x", "def plus(x, y):\n    return one(x) + one(y)", "by_two = lambda x: plus(x, x)"]
    ),
    "a helper that is decorated": twice(
        BY_TWO, top=["import functools", "@functools.lru_cache(maxsize=None)\ndef by_two(x):\n    return 2 * x"]
    ),
    "a helper in a with block": twice(BY_TWO, top=["import contextlib\nwith contextlib.nullcontext():\n    def by_two(x): return 2 * x"]),
    "a helper behind an if": twice(BY_TWO, top=["if True:\n    def by_two(x): return 2 * x\nelse:\n    by_two = None"]),
    "a constant unpacked": twice("def twice(x):\n    return two * x", top=["one, (two, *rest) = 1, (2, 3, 4)"]),
    "a constant by the walrus": twice("def twice(x):\n    return two * x", top=["print(two := 2)"]),
    "a constant by += ": twice("def twice(x):\n    return two * x", top=["two = 1", "two += 1"]),
    "a constant deleted and set again": twice("def twice(x):\n    return two * x", top=["two = 3\ndel two\ntwo = 2"]),
    "a module written and imported": twice(BY_TWO, top=["%%writefile helpers.py\ndef by_two(x):\n    return 2 * x", "from helpers import by_two"]),
    "a file written and read back": twice(
        "def twice(x):\n    return two * x", top=["with open('two.txt', 'w') as f:\n    f.write('2')", "two = int(open('two.txt').read())"]
    ),
    "an array saved and loaded": twice(
        "def twice(x):\n    return float(two[0]) * x", top=["import numpy as np\nnp.save('two.npy', np.array([2.0]))", "two = np.load('two.npy')"]
    ),
    "an answer in the first cell": cells(first=True),
    "all answers in one cell above": cells(one_cell=True),
    "answers at the end, stubs left": cells(at_the_end=True),
    "every id lost": cells(no_ids=True),
    "checks deleted": cells(no_checks=True),
    "a check asked twice": cells(checks_twice=True),
    "check() with its import in the answer": twice(f"from course_lib import check\n{TWICE}\ncheck('q98.twice', twice)"),
    "check() kept in a name": twice(f"{TWICE}\nresult = check('q98.twice', twice)\nresult.passed"),
    "the first cell deleted": cells(no_first=True, answers={"q98-pieces": f"from math import ceil\n{PIECES}"}),
    "the import line repeated": cells(top=["from math import ceil\n\nfrom course_lib import check"]),
    "a cell that fails": cells(top=["1 / 0"]),
    "a cell that is no Python": cells(top=["this is no Python ("]),
    "a cell that waits for a file": cells(top=["open('no such file')"]),
    "a cell that asks": cells(top=["name = input('name? ')"]),
    "a cell that leaves": cells(top=["raise SystemExit", "exit()", "quit()"]),
    "a plot at top level": cells(top=["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nfig, ax = plt.subplots()\nfig"]),
    "a widget at top level": cells(top=["import ipywidgets\nipywidgets.interact(lambda x: x, x=3)"]),
    "display at top level": cells(top=["from IPython.display import display, Markdown\ndisplay(Markdown('x'))\ndisplay(1)"]),
    "await at top level": twice("def twice(x):\n    return two * x", top=["import asyncio\nawait asyncio.sleep(0)\ntwo = 2"]),
    "a progress bar": cells(top=["from tqdm.auto import tqdm\nfor _ in tqdm(range(3)):\n    pass"]),
    "an experiment of the course in a scratch cell": cells(top=["from course_lib import experiments\nexperiments.run('gemm_ladder')\nafter = 1"]),
}  # fmt: skip
ANSWERS = {
    "recursion": twice("def twice(x, n=50):\n    return 2 * x if n == 0 else twice(x, n - 1)"),
    "deep recursion": twice("import sys\nsys.setrecursionlimit(5000)\ndef twice(x, n=2000):\n    return 2 * x if n == 0 else twice(x, n - 1)"),
    "a class that is called": twice("class Twice:\n    def __call__(self, x):\n        return 2 * x\ntwice = Twice()"),
    "a lambda": twice("twice = lambda x: 2 * x"),
    "a partial": twice("from functools import partial\nfrom operator import mul\ntwice = partial(mul, 2)"),
    "a method": twice("class A:\n    def twice(self, x):\n        return 2 * x\ntwice = A().twice"),
    "numpy float64": twice("import numpy as np\ndef twice(x):\n    return np.float64(2 * x)"),
    "a numpy array without dimensions": twice("import numpy as np\ndef twice(x):\n    return np.array(2 * x)"),
    "a torch tensor": twice("import torch\ndef twice(x):\n    return torch.tensor(2.0 * x, dtype=torch.float64)"),
    "torch float32": share("import torch\ndef share(n, m):\n    return torch.tensor(float(n)) / m"),
    "numpy float32": share("import numpy as np\ndef share(n, m):\n    return np.float32(n) / np.float32(m)"),
    "numpy integers": pieces("import numpy as np\ndef pieces(n, size):\n    return np.int64(-(-n // size))"),
    "a whole number as a float": pieces("def pieces(n, size):\n    return float(-(-n // size))"),
    "np.ceil": pieces("import numpy as np\ndef pieces(n, size):\n    return np.ceil(n / size)"),
    "a fraction": twice("from fractions import Fraction\ndef twice(x):\n    return Fraction(x) * 2"),
    "a decimal": twice("from decimal import Decimal\ndef twice(x):\n    return Decimal(x) * 2"),
    "a positional argument": twice("def twice(x, /):\n    return 2 * x"),
    "a default argument": twice("def twice(x=1):\n    return 2 * x"),
    "type hints": twice("def twice(x: float) -> float:\n    return 2 * x"),
    "a docstring and prints": twice('def twice(x):\n    """Twice."""\n    print("twice of", x)\n    return 2 * x'),
    "warns": twice("import warnings\ndef twice(x):\n    warnings.warn('careful')\n    return 2 * x"),
    "prints to stderr": twice("import sys\ndef twice(x):\n    print('x', file=sys.stderr)\n    return 2 * x"),
    "a cache": twice("from functools import cache\n@cache\ndef twice(x):\n    return 2 * x"),
    "logging": twice("import logging\nlog = logging.getLogger()\ndef twice(x):\n    log.warning('x')\n    return 2 * x"),
    "a dataclass": twice("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: float\ndef twice(x):\n    return 2 * P(x).x"),
    "typing.NamedTuple": twice("from typing import NamedTuple\nclass P(NamedTuple):\n    x: float\ndef twice(x):\n    return 2 * P(x).x"),
    "an inner function": twice("def twice(x):\n    def two(y):\n        return y + y\n    return two(x)"),
    "a generator": twice("def twice(x):\n    return sum(x for _ in range(2))"),
    "a while loop": pieces("def pieces(n, size):\n    k = 0\n    while n > 0:\n        n -= size\n        k += 1\n    return k"),
    "match": twice("def twice(x):\n    match x:\n        case _:\n            return 2 * x"),
    "try and except": twice("def twice(x):\n    try:\n        return 2 * x\n    except TypeError:\n        return None"),
    "threads": twice(
        "from concurrent.futures import ThreadPoolExecutor\ndef twice(x):\n"
        "    with ThreadPoolExecutor(2) as pool:\n        return sum(pool.map(float, [x, x]))"
    ),
    "a tensor's gradient": twice("import torch\ndef twice(x):\n    t = torch.tensor(float(x), requires_grad=True)\n    (t * t).backward()\n    return t.grad"),
    "half a second a call": twice("import time\ndef twice(x):\n    time.sleep(0.5)\n    return 2 * x"),
    "nearly the whole time of check()": twice("import time\ndef twice(x):\n    time.sleep(2.2)\n    return 2 * x"),
    "input() above the function": twice(f"name = input('your name: ')\n{TWICE}"),
    "tried out in the cell": twice(f"{TWICE}\nprint(twice(3))\nassert twice(2) == 4"),
    "wrong first, then right, in one cell": twice(f"def twice(x):\n    return x\n{TWICE}"),
    "an older version in a cell above": twice(TWICE, above=["def twice(x):\n    return x * x"]),
    "an older version in a cell below": twice(TWICE, bottom=["def older(x):\n    return x * x"]),
    "a quantity as a number": cells(answers={"q98-bandwidth": "bandwidth = 3.35"}),
    "a quantity computed": cells(answers={"q98-bandwidth": "bandwidth = 3350e9 / 1e12"}),
    "a quantity in another unit": cells(answers={"q98-bandwidth": "bandwidth = '3350 GB/s'"}),
    "a quantity by a helper": cells(answers={"q98-bandwidth": "bandwidth = tera(3.35e12)"}, top=["def tera(x):\n    return x / 1e12"]),
    "a quantity from numpy": cells(answers={"q98-bandwidth": "import numpy as np\nbandwidth = np.float64(3.35)"}),
}  # fmt: skip
KINDS = {**MAGICS, **LINES, **HELPERS, **TEXTS, **NAMES, **ANSWERS}


def code(source, **metadata) -> dict:
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


def edited(nb, stubs, top=(), above=(), below=(), bottom=(), **how) -> None:
    """Change a notebook, which has its answers, in place."""
    found = nb["cells"]
    for cell in found:
        cell["source"] = "".join(cell["source"])
    first = next(i for i, cell in enumerate(found) if grade_id(cell) == "q98-twice")
    found[first + 1 : first + 1] = map(code, below)
    found[first:first] = map(code, above)
    begin = next(i for i, cell in enumerate(found) if cell["cell_type"] == "code")
    found[begin:begin] = map(code, top)
    found += map(code, bottom)
    answers = [cell for cell in found if cell["cell_type"] == "code" and grade_id(cell) in RIGHT]
    sources = [cell["source"] for cell in answers]
    given = next(cell for cell in found if "from course_lib import check" in cell["source"] and not grade_id(cell))
    if how.get("first") or how.get("one_cell") or how.get("at_the_end"):
        for cell in answers:
            cell["source"] = "" if how.get("one_cell") else stubs[grade_id(cell)]
        if how.get("first"):
            given["source"] += "\n" + "\n".join(sources)
        elif how.get("one_cell"):
            found.insert(found.index(given) + 1, code("\n\n".join(sources)))
        else:
            found += [code(source) for source in sources]
    if how.get("no_ids"):
        for cell in found:
            cell["metadata"] = {}
    if how.get("no_first"):
        found.remove(given)
    checks = [cell for cell in found if cell["source"].startswith("check(")]
    for cell in checks:
        if how.get("no_checks"):
            found.remove(cell)
        if how.get("checks_twice"):
            found.insert(found.index(cell), code(cell["source"]))
    if how.get("lines"):
        for cell in found:
            cell["source"] = cell["source"].splitlines(keepends=True)


def test_whatever_is_right_scores_full(handed_in, grade, monkeypatch, real_engine):
    assert len(KINDS) >= 120
    names = {f"s{number:03}": name for number, name in enumerate(KINDS)}
    handed_in.enrol(*names)
    stubs = {grade_id(cell): "".join(cell["source"]) for cell in handed_in.released["cells"]}
    for student, name in names.items():
        kind = dict(KINDS[name])
        answers = RIGHT | kind.pop("answers", {})
        handed_in.submit(student, answers, lambda nb, kind=kind: edited(nb, stubs, **kind))
    monkeypatch.setattr(run, "Engine", real_engine)
    rows = grade()
    short = {
        names[student]: {column: row[column] for column in FULL} | {"why": row["reason"]}
        for student, row in rows.items()
        if row["status"] != "graded" or {column: float(row[column]) for column in FULL} != FULL
    }
    assert short == {}


@pytest.fixture
def real_engine():
    """The engine as it is, in its sandbox; the test is skipped where there is none."""
    from course_lib.grading.sandbox.engine import Engine

    try:
        with Engine(workers=1):
            pass
    except SandboxMissing as reason:
        pytest.skip(str(reason))
    return Engine
