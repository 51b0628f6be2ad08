"""Of the cells beside the answers, what the answers need is run, and nothing else."""

import pytest

from course_lib.grading.sandbox.slicing import needed, plain_code

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


def test_magics():
    assert plain_code("%%bash\nrm -rf /") == ""
    assert plain_code("%timeit f()\nx = 1\n!ls\n  %pwd") == "\nx = 1\n\n"


@pytest.mark.parametrize(
    "source",
    ["(" * 5000, "-" * 50_000 + "1", "x" + ".y" * 20_000, "1" + "+1" * 20_000, "\0", "x = '\\N{no}'", "\ud800"],
)
def test_no_source_makes_it_fail(source):
    assert "k = 1" in needed([source, "y = k"], ["k = 1", source])
