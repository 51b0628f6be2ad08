"""Cells are read as a notebook reads them; of those beside the answers, what the answers need is run, no more."""

import ast

import pytest

from course_lib.grading.sandbox import slicing

OTHERS = (
    "from math import ceil, floor\nimport numpy as np\nfrom course_lib import check",
    "TABLE = {'a': 1}\nTABLE['b'] = 2\nslow = experiment()\nprint(slow)",
    "def helper(x):\n    return ceil(x) + TABLE['a']",
    "%matplotlib inline\nscale = 3\n!ls",
    "for i in range(3):\n    total = i",
    "class Kept:\n    pass\nKept.size = 4",
    "this is no Python (",
    "try:\n    import fast\nexcept ImportError:\n    fast = None",
)


def needed(answers, others) -> str:
    return "\n".join(map(ast.unparse, slicing.needed(answers, others)))


@pytest.mark.parametrize(
    ("answer", "kept", "left"),
    [
        ("def f(x):\n    return 2 * x", [], ["import", "TABLE", "def"]),
        ("def f(x):\n    return ceil(x)", ["from math import"], ["numpy", "TABLE", "course_lib"]),
        ("def f(x):\n    return helper(x)", ["def helper", "ceil", "TABLE = ", "TABLE['b'] = 2"], ["slow", "numpy"]),
        ("def f(x):\n    return np.sum(x) * scale", ["import numpy as np", "scale = 3"], ["matplotlib", "ls"]),
        ("def f(x):\n    return total", ["for i in range(3)"], ["TABLE"]),
        ("def f(x):\n    return Kept.size", ["class Kept", "Kept.size = 4"], ["TABLE"]),
        ("def f(x):\n    return fast", ["try:", "import fast", "fast = None"], ["TABLE"]),
        ("def f(x):\n    %time\n    return scale", ["scale = 3"], ["TABLE"]),
        ("def f(x:\n  nonsense", [], ["import", "TABLE"]),
        ("", [], ["import"]),
    ],
)
def test_what_an_answer_needs(answer, kept, left):
    found = needed([answer], OTHERS)
    assert [text for text in kept if text not in found] == []
    assert [text for text in left if text in found] == []
    compile(found, "needed", "exec")


def test_the_last_of_two_definitions_wins():
    names = {}
    exec(needed(["y = k"], ["k = 1", "k = 2"]), names)
    assert names["k"] == 2


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%%time\nx = 1", "x = 1"),
        ("\n%%capture out --no-stderr\n%%time\ny = 2\n%time z = y", "y = 2\nz = y"),
        ("w = %time 3 + 4\nfor i in range(2):\n    %time k = i", "w = 3 + 4\nfor i in range(2):\n    k = i"),
        ("a = (1\n  %3\n  != 2)", "a = 1 % 3 != 2"),
        ("t = '''\n%d rows\n!x'''", "t = '\\n%d rows\\n!x'"),
        ("%%bash\nrm -rf /", "get_ipython().run_cell_magic('bash', '', 'rm -rf /\\n')"),
        ("files = !ls", "files = get_ipython().getoutput('ls')"),
        ("f?", "get_ipython().run_line_magic('pinfo', 'f')"),
        ("if x:\n    !pip install y", "if x:\n    get_ipython().system('pip install y')"),
        ("%%writefile h.py\nX = 1", "open('h.py', 'w').write('X = 1\\n')"),
        ("%%writefile -a h.py\nX = 1", "open('h.py', 'a').write('X = 1\\n')"),
        ("%prun -s cumulative -l5 -q y = x - l\n%prun -x", "y = x - l\n-x"),
        ("%time -x", "-x"),
        ("get_ipython().run_cell_magic('file', x, 'text')", "get_ipython().run_cell_magic('file', x, 'text')"),
        ("get_ipython().run_line_magic('time', 5)", "get_ipython().run_line_magic('time', 5)"),
        ("%run -i h.py", "exec(open('h.py').read(), globals())"),
        ("%env A=b c", "__import__('os').environ['A'] = 'b c'"),
        ("%set_env A 1", "__import__('os').environ['A'] = '1'"),
        ("%env A", "get_ipython().run_line_magic('env', 'A')"),
        ("%%file", "get_ipython().run_cell_magic('file', '', '')"),
    ],
)
def test_magics(cell, python):
    assert ast.unparse(slicing.parsed(cell)) == python


def test_features_of_a_cell():
    code = compile("x: y = 1", "cell", "exec", slicing.features(slicing.parsed("from __future__ import annotations")))
    exec(code, names := {})
    assert names["__annotations__"] == {"x": "y"}
    assert slicing.features(slicing.parsed("from __future__ import nothing\nfrom math import pi")) == 0


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000,
        "-" * 50_000 + "1",
        "x" + ".y" * 20_000,
        "1" + "+1" * 20_000,
        "\0",
        "x = '\\N{no}'",
        "\ud800",
        pytest.param("!x\n" * 600, marks=pytest.mark.slow),
    ],
)
def test_no_source_makes_it_fail(source):
    assert "k = 1" in needed([source, "y = k"], ["k = 1", source])
