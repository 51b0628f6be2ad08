"""Jobs in, replies out: what an answer gives is what it would give here, and a fault costs only what it touches."""

import contextlib
import math
import re
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from course_lib.grading.sandbox import conversation, wire
from course_lib.grading.sandbox.conversation import Call, Job, Reply, _Clock, _reply_of, _Stop
from course_lib.grading.sandbox.engine import Engine, Limits
from course_lib.grading.sandbox.sandbox import Sandbox
from course_lib.teaching.checks.check_values import Foreign, plain
from tests.grading.sandbox.conftest import AREA, FIVE, PATIENT, RIDGE, alive, job, scores, start, tree

pytestmark = pytest.mark.slow
VALUES = """
import decimal, math, numpy as np, torch
VALUES = {
    "none": None, "true": True, "zero": 0, "minus": -7, "float": 0.1, "tiny": 5e-324,
    "large": 10 ** 300, "inf": -math.inf,
    "text": "Größe 张 \\u202e \\x00", "empty": "", "list": [1, [2.5, "a"], []], "tuple": (1, (2,)),
    "dict": {"b": 1, "a": {"c": [None]}, 3: 4, True: 5, None: 6, 2.5: 7}, "numpy": np.float32(0.1), "int8": np.int8(-5),
    "array": np.arange(6.0).reshape(2, 3), "bools": np.array([True, False]), "tensor": torch.arange(3) / 4,
    "scalar": torch.tensor(2.0), "set": {1}, "bytes": b"a", "decimal": decimal.Decimal("1.5"), "range": range(3),
    "deep": [[[[[[[[1]]]]]]]], "many": list(range(30_000)), "class": int, "sorted": sorted,
}
"""


def one(engine, *cells: str, calls: tuple, **more):
    (answered,) = engine.run([Job("one", cells, calls, **more)])
    return answered


def call(function: str, *args, public: bool = True) -> Call:
    return Call(function, {"args": list(args)}, public=public)


def test_a_value_arrives_as_check_sees_it(engine):
    here = {}
    exec(VALUES, here)
    names = list(here["VALUES"])
    got = one(engine, VALUES + "def give(name): return VALUES[name]", calls=tuple(call("give", name) for name in names))
    for name, reply in zip(names, got.replies, strict=True):
        expected = plain(here["VALUES"][name])
        assert reply.outcome == "value", (name, reply)
        assert (type(reply.value), repr(reply.value)) == (type(expected), repr(expected)), name
    nan = one(engine, "def f(): return float('nan')", calls=(call("f"),)).replies[0].value
    assert math.isnan(nan)


def test_arguments_arrive_fresh_and_typed(engine):
    cell = """
import numpy as np
def show(*args, **kwargs):
    shown = [repr(one) for one in args] + [f"{name}={value!r}" for name, value in sorted(kwargs.items())]
    for one in (*args, *kwargs.values()):
        if isinstance(one, list): one.append("changed")
    return shown
"""
    array = {"array": [[1, 2]], "dtype": "int16"}
    calls = (
        call("show", [1], 2.0, None, True, "x"),
        call("show", [1], array),
        Call("show", {"kwargs": {"b": [1], "a": 1e12}}),
        call("show", [1], 2.0, None, True, "x"),
    )
    first, second, third, again = (reply.value for reply in one(engine, cell, calls=calls).replies)
    assert first == again == ["[1]", "2.0", "None", "True", "'x'"]
    assert second == ["[1]", repr(np.array([[1, 2]], dtype="int16"))]
    assert third == ["a=1000000000000.0", "b=[1]"]


def test_what_a_call_can_come_to(five):
    cell = """
import os
speed = "3.35 TB/s"
def raises(x): raise ValueError("no\\n such\\x00 " + "thing" * 1000)
def stub(x): raise NotImplementedError()
def loops(x):
    while True: pass
def dies(x): os._exit(3)
def crashes(x): os.abort()
def hoards(x): return len(bytearray(10 ** 10))
def writes(x): return "x" * 5_000_000
"""
    names = ("raises", "stub", "loops", "dies", "crashes", "hoards", "writes", "nowhere")
    answered = one(five, cell, calls=(*(call(name, 1) for name in names), call("speed")))
    found = dict(zip((*names, "speed"), answered.replies, strict=True))
    assert {name: reply.outcome for name, reply in found.items()} == {
        "raises": "raised",
        "stub": "raised",
        "loops": "late",
        "dies": "died",
        "crashes": "died",
        "hoards": "memory",
        "writes": "refused",
        "nowhere": "missing",
        "speed": "value",
    }
    assert found["speed"].value == "3.35 TB/s"
    assert found["raises"].error.startswith("ValueError: no")
    assert len(found["raises"].error) <= 500
    assert found["raises"].error.isprintable()
    assert found["crashes"].error in ("SIGABRT", "SIGSEGV")


def test_no_folder_of_this_machine_is_named(engine):
    cell = """
import sys, torch
def f(): raise OSError(f"in {torch.__file__} of {sys.prefix}")
raise OSError(sys.base_prefix)
"""
    answered = one(engine, cell, calls=(call("f"),))
    assert answered.replies[0].error.startswith("OSError: in …/")
    for text in (answered.replies[0].error, answered.note):
        assert sys.prefix not in text
        assert sys.base_prefix not in text


def test_how_a_process_ended_is_named():
    died = _Stop("died")
    assert _reply_of(died, "signal 11") == Reply("died", error="SIGSEGV")
    assert _reply_of(died, "signal 40") == Reply("died", error="signal 40")  # one of those for real time
    assert _reply_of(died, "exit 3") == Reply("died")
    assert _reply_of(_Stop("late"), "over") == Reply("late")
    assert _reply_of(_Stop("late"), "memory") == Reply("memory")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("while True: pass", "not finished within the time limit"),
        ("import os\nos._exit(0)", "ended the process"),
        ("kept = bytearray(10 ** 10)", "MemoryError"),
        ("raise ValueError('mine')", "ValueError: mine"),
        ("def ridge(:", "SyntaxError"),
    ],
)
def test_a_bad_cell_costs_only_itself(five, cell, said):
    cells = ("def area(a, b): return a * b", cell, "def ridge(peak, bandwidth): return peak / bandwidth")
    (answered,) = five.run([job("one", *cells, checks=(RIDGE, AREA))])
    assert [each.outcome for each in scores(answered, (RIDGE, AREA))] == ["right", "right"]
    assert answered.note.startswith("Answer 2: ")
    assert said in answered.note


@pytest.mark.parametrize("body", ["while True: pass", "import os; os._exit(0)", "return len(bytearray(10 ** 10))"])
def test_a_bad_function_costs_only_itself(five, body):
    cells = (f"def ridge(peak, bandwidth):\n    {body}", "def area(a, b): return a * b")
    (answered,) = five.run([job("one", *cells, checks=(RIDGE, AREA))])
    ridge, area = scores(answered, (RIDGE, AREA))
    assert ridge.points == 0
    assert area.outcome == "right"


def test_what_a_cell_defined_before_it_failed_stays(engine):
    cell = "def ridge(peak, bandwidth): return peak / bandwidth\nprint(1 / 0)\nridge = None"
    (answered,) = engine.run([job("one", cell)])
    assert scores(answered)[0].outcome == "right"
    assert "ZeroDivisionError" in answered.note


def test_no_hidden_input_is_called_before_a_public_one_of_any_exercise(engine):
    cell = """
seen = []
def a(x):
    seen.append(["a", x])
    return list(seen)
def b(x):
    seen.append(["b", x])
    return list(seen)
"""
    calls = (call("a", 1), call("a", 2, public=False), call("b", 3), call("b", 4, public=False))
    replies = one(engine, cell, calls=calls).replies
    assert [reply.value for reply in replies] == [
        [["a", 1]],
        [["a", 1], ["b", 3], ["a", 2]],
        [["a", 1], ["b", 3]],
        [["a", 1], ["b", 3], ["a", 2], ["b", 4]],
    ]


def test_after_the_first_hidden_call_nothing_is_said(engine):
    cell = """
import os, time
def now(): return time.time_ns()
def f(x):
    if x == 2: os._exit(3)
    raise ValueError(f"it was {x}")
raise ValueError(now())
"""
    calls = (call("now"), call("f", 1), call("f", 2, public=False), call("f", 3, public=False))
    answered = one(engine, cell, calls=calls)
    public, shown, died, hidden = answered.replies
    assert shown == Reply("raised", error="ValueError: it was 1")
    assert (died, hidden) == (Reply("died"), Reply("raised"))
    (when,) = map(int, re.findall(r"\d{15,}", answered.note))
    assert when < public.value, "the cell ran again after the hidden call, and what it said then is not there"
    silent = one(engine, cell, calls=calls, silent=True)
    assert silent.note == ""
    assert silent.replies[1] == Reply("raised")


def ended(channel) -> bool:
    try:
        wire.pending(channel)
    except wire.Broken:
        return True
    return False


def test_a_neighbour_takes_nobodys_time():
    """Beside twenty-eight busy processes of another student, all the while: what waits for one has not used it."""
    busy = """
import os
def f():
    for _ in range(28):
        if os.fork() == 0:
            while True: pass
    while True: pass
"""
    works = """
import time
def f(x):
    end = time.process_time() + 0.25
    while time.process_time() < end: pass
    return x
"""

    def run_busy():
        with contextlib.suppress(RuntimeError):  # it is closed while this runs
            list(other.run([Job("busy", (busy,), (call("f"),))]))

    limits = Limits(call=0.8, function=10.0)
    with (
        contextlib.closing(start(limits=PATIENT, workers=1)) as other,
        contextlib.closing(start(limits=limits, workers=1)) as engine,
    ):
        thread = threading.Thread(target=run_busy)
        thread.start()
        while thread.is_alive() and len(tree(other.sandboxes[0].pid)) < 28:
            time.sleep(0.1)
        replies = one(engine, works, calls=tuple(call("f", x) for x in range(3))).replies
        assert thread.is_alive()
        other.close()
        thread.join()
    assert [reply.value for reply in replies] == [0, 1, 2]


def test_time_never_runs_back_nor_stands_still(monkeypatch):
    """A job that hides what it uses: children that nobody waits for are in no sum once they have ended."""
    clock, said = iter([0, 1, 2, 3, 4, 43]), iter([5.0, 7.0, 1.0, 1.5, 1.5])
    monkeypatch.setattr(conversation.time, "monotonic", lambda: next(clock))
    hiding = _Clock(SimpleNamespace(used=lambda: next(said)), allowed=4.0, wall=10.0)
    for _ in range(4):
        hiding.look()
    assert hiding.taken() == 3, "what it had used by 2 s"
    with pytest.raises(_Stop, match="late"):
        hiding.look()
    assert hiding.taken() == 4.3, "a tenth of the clock"


def test_the_memory_of_a_job_is_looked_at_also_while_its_time_is(engine):
    cell = """
import os, time
def f():
    for _ in range(4):
        if os.fork() == 0:
            kept = bytearray(b"x") * (400 << 20)
            time.sleep(1000)
    time.sleep(1000)
"""
    sandbox = Sandbox(PATIENT)
    sandbox.start()
    try:
        with sandbox.job() as channel:
            for request in ({"allow": []}, {"cell": cell, "name": "cell"}, {"call": "f", "arguments": {"args": []}}):
                wire.send(channel, {**request, "token": ""})
            replies = [wire.receive(channel), wire.receive(channel)]
            end = time.monotonic() + 60
            while time.monotonic() < end and not ended(channel):
                sandbox.used()
        assert replies == [{"token": ""}, {"error": "", "token": ""}]
        assert sandbox.end() == "memory"
    finally:
        sandbox.close()


def test_one_late_call_ends_its_group(engine, monkeypatch):
    monkeypatch.setattr(engine, "limits", replace(FIVE, call=1.0))
    cell = "import time\nran = []\ndef f(x):\n    ran.append(x)\n    time.sleep(99 if x < 5 else 0)\n    return x"
    calls = tuple(Call("f", {"args": [x]}, "small" if x < 5 else "large") for x in (1, 2, 6, 3, 7))
    replies = one(engine, cell, calls=calls).replies
    assert [reply.outcome for reply in replies] == ["late", "late", "value", "late", "value"]


def test_a_fresh_child_knows_nothing_of_the_inputs_before(engine):
    cell = """
import os
seen = []
def f(x):
    found = [*seen, *(open(name).read() for name in sorted(os.listdir("/scratch")))]
    seen.append(x)
    open(f"/scratch/{x}", "w").write("was here")
    if x == 2: os._exit(0)
    return found
"""
    replies = one(engine, cell, calls=tuple(call("f", x) for x in (1, 2, 3, 4))).replies
    assert [reply.value for reply in replies] == [[], None, [], [3, "was here"]]
    assert replies[1].outcome == "died"


def test_helpers_of_other_cells_are_run_and_nothing_else(engine):
    others = (
        "from course_lib import check, explore\nimport math",
        "def half(x): return math.floor(x / 2)",
        "1 / 0",
        "while True: pass",
    )
    cell = "def f(x): return half(x)\ncheck('q99.f', f)"
    answered = one(engine, cell, calls=(call("f", 5),), others=others)
    assert answered.replies == (Reply("value", 2),)


def test_magics_and_what_only_a_notebook_has(engine):
    cell = """
%matplotlib inline
!pip list
display({}, clear=True)
get_ipython().run_line_magic("time", "x = 1")
def f(x): return x
"""
    assert one(engine, cell, calls=(call("f", 5),)).replies == (Reply("value", 5),)


def test_the_library_is_used_only_where_an_exercise_allows_it(engine):
    cell = """
from course_lib import check, experiments
from course_lib.accounting import flops
from course_lib.grading import seeds
def there(): return __import__("os").path.isdir("/library/course_lib")
def counts(): return flops.matmul(2, 3, 4)
def key(): return seeds.new_key()
def loads(): return experiments.load("a")
def checks(): return check("q99.f", check)
"""
    calls = tuple(call(name) for name in ("there", "counts", "key", "loads", "checks"))
    there, *used, checks = one(engine, cell, calls=calls).replies
    assert there == Reply("value", False)
    for reply in used:
        assert reply.outcome == "raised"
        assert "course_lib cannot be used in a graded run: write the formulas yourself" in reply.error
    assert checks.outcome == "value"
    there, counts, *refused, checks = one(engine, cell, calls=calls, allow=("course_lib.accounting",)).replies
    assert there == Reply("value", True)
    assert counts == Reply("value", 48)
    assert {reply.outcome for reply in refused} == {"raised"}
    assert checks.outcome == "value"


def test_chance_is_the_same_at_a_regrade(engine):
    cell = """
import random, numpy, torch
def f():
    return [random.random(), numpy.random.rand(), torch.rand(1).item(), hash("a"), list({"x", "y", "z", "w"})]
"""
    first, second = (one(engine, cell, calls=(call("f"), call("f"))).replies for _ in range(2))
    assert first == second
    assert first[0] != first[1]


def test_torch_works_after_the_fork(engine):
    cell = """
import torch
def f(n):
    x = torch.ones(n, n, requires_grad=True)
    torch.nn.functional.linear(x, x).relu().sum().backward()
    return x.grad.sum()
"""
    assert one(engine, cell, calls=(call("f", 64),)).replies == (Reply("value", 2.0 * 64**3),)


def test_every_job_is_answered_once_and_jobs_are_taken_as_needed(engine):
    taken = []

    def jobs():
        for number in range(12):
            taken.append(number)
            yield Job(str(number), (f"def f(x): return [{number}, x]",), tuple(call("f", x) for x in range(3)))

    run = engine.run(jobs())
    first = next(run)
    assert len(taken) <= 5
    rest = list(run)
    found = {answered.key: [reply.value for reply in answered.replies] for answered in (first, *rest)}
    assert found == {str(number): [[number, x] for x in range(3)] for number in range(12)}


def test_a_job_without_calls_has_no_replies(engine):
    assert one(engine, "while True: pass", calls=()).replies == ()


def _break_off(engine):
    with contextlib.closing(engine):  # a second close does nothing
        for _ in engine.run(Job(str(number), ("",), (call("f"),)) for number in range(5)):
            raise KeyboardInterrupt


def test_leaving_a_run_early_closes_the_engine():
    engine = start(workers=1)
    pids = tree(engine.sandboxes[0].pid)
    with pytest.raises(KeyboardInterrupt):
        _break_off(engine)
    assert alive(pids) == set()
    with pytest.raises(RuntimeError, match="the engine is not running"):
        next(engine.run([]))
    with pytest.raises(RuntimeError, match="entered once"):
        engine.__enter__()


def test_an_engine_needs_a_worker_and_its_block():
    with pytest.raises(ValueError, match="workers must be at least 1, not 0"):
        Engine(workers=0)
    with pytest.raises(RuntimeError, match="use it inside its `with` block"):
        next(Engine(workers=1).run([]))


def test_a_value_that_no_answer_has_is_not_believed():
    from course_lib.grading.sandbox import wire

    for value in (
        None,
        True,
        1,
        2.5,
        "x",
        [1, [2]],
        {"a": [1], 2: None},
        Foreign("set", "{1}", None, ((None, "kind_call"),)),
    ):
        assert wire.unpack(wire.pack(value)) == value
    deep = []
    for _ in range(60):
        deep = [deep]
    bad = [
        {}, {"dict": {}}, {"dict": [[1]]}, {"dict": [[[], 1]]}, {"dict": [], "foreign": []}, {"array": []},
        {"foreign": [1, 2, 3, 4]},
        {"foreign": ["a", "b", None, [["number", "right"]]]}, {"foreign": ["a", "b", 1.5, []]},
        "\ud800", ["\udfff"], deep,
        [[0] * 50_000, [0] * 50_000], {"dict": [["\ud800", 1]]},
    ]  # fmt: skip
    for message in bad:
        with pytest.raises(ValueError, match=r"answer|surrogates"):
            wire.unpack(message)


def test_without_a_sandbox_only_by_name():
    with Engine(limits=FIVE, workers=1, unsafe=True) as engine:
        replies = one(
            engine, "import time\ndef f(x): return x + 1\ndef g(x): time.sleep(99)", calls=(call("f", 1), call("g", 1))
        ).replies
    assert [reply.outcome for reply in replies] == ["value", "late"]
    assert replies[0].value == 2
