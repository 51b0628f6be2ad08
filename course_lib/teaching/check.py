"""`check("q05.ridge", ridge)`: the instant answer to an exercise, and the form in which a check is written.

A check is a function that the learner completes, a few public inputs, the reference, and known wrong answers, each
with the sentence that sets it right. Its author writes a `Check` in `lessons/<unit>/checks.py`. The build turns it,
by `public_cases`, into `checks.json`: inputs, right outputs and the outputs of each known wrong answer, but no
code. `check` compares the learner's outputs with that data. It runs in the learner's own process: it helps, and
proves nothing; `course_lib.grading` grades.
"""

import ast
import builtins
import contextlib
import copy
import difflib
import html
import inspect
import io
import json
import math
import os
import random
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources import files

SECONDS = 5.0
"""Time limit of one `check`, over all public inputs (main thread of a Unix process; elsewhere there is none)."""

PRINTED = 2000
"""Characters of a learner's prints that are shown."""

DRAWS = 100
"""Inputs that `faults` draws to see that the right answer and each known wrong one stay apart."""


# ------------------------------------------------------------------------------------------------ the form of a check


@dataclass(frozen=True)
class Close:
    """Equal within a tolerance: |got − expected| ≤ max(rel·|expected|, abs) for each number; all else exactly.

    Dictionaries need the same keys, lists the same length. An integral float equals its integer; a bool equals no
    number.
    """

    rel: float = 1e-6
    abs: float = 0.0

    def __post_init__(self):
        for name, value in (("rel", self.rel), ("abs", self.abs)):
            if not (isinstance(value, (int, float)) and 0 <= value < math.inf):
                raise ValueError(f"{name} must be a finite number ≥ 0, not {value!r}")

    def distance(self, got, expected) -> float:
        """How far apart two plain values are, in tolerances: ≤ 1 is equal, inf if anything but a number differs."""
        if _form_fault(got, expected):
            return math.inf
        return max((self.leaf_distance(g, e) for _, g, e in _leaves(got, expected)), default=0.0)

    def leaf_distance(self, got, expected) -> float:
        """`distance` of two values of one kind that are neither list nor dictionary."""
        if got == expected:
            return 0.0
        if not _is_number(expected):
            return math.inf
        try:
            tolerance = max(self.rel * builtins.abs(expected), self.abs)
            return builtins.abs(got - expected) / tolerance if tolerance else math.inf
        except OverflowError:  # an integer beyond the range of a float
            return math.inf


EXACT = Close(rel=0.0)
"""Equal with no tolerance: for counts, names, lists of names."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One graded function.

    id         `<unit prefix>.<kebab-name>`, as in `check("q05.ridge", …)`.
    points     what a right answer scores in nbgrader; all or nothing.
    signature  as the learner sees it: `"intensity(flops, nbytes)"`.
    public     inputs that the learner may see: each a tuple of positional arguments or a mapping of keyword arguments,
               of JSON values or numeric numpy arrays.
    generate   draws one more such input from a `random.Random`; hidden inputs come from it.
    reference  the right function; takes and returns JSON values or numeric arrays, all numbers finite.
    same       when two answers are equal.
    wrong      name -> (function, message): an answer that people give, and the sentence that sets it right.
    allow      modules, e.g. "course_lib.accounting", that a graded run lets the learner import; the exercise says so.
    insight    one sentence that a right answer earns: what to take away from the exercise.

    `faults` says what the functions must fulfil together.
    """

    id: str
    points: float
    signature: str
    public: Sequence
    generate: Callable[[random.Random], tuple | Mapping]
    reference: Callable
    same: Close = field(default_factory=Close)
    wrong: Mapping[str, tuple[Callable, str]] = field(default_factory=dict)
    allow: Sequence[str] = ()
    insight: str = ""

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+\.[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise ValueError(f"a check's id is <unit prefix>.<kebab-name>, such as 'q05.ridge', not {self.id!r}")
        if not (_is_number(self.points) and 0 < self.points < math.inf):
            raise ValueError(f"check {self.id!r}: points must be a positive number, not {self.points!r}")
        if not self.public:
            raise ValueError(f"check {self.id!r}: public must hold at least one input")
        _parameters(self.signature)


def public_cases(check: Check) -> dict:
    """`check` as data for `checks.json`: no code, but what the reference and each wrong answer give in public.

    Raises `ValueError` naming the check if one of them fails or returns what JSON cannot hold.
    """
    cases = [_encode_arguments(arguments, check.id) for arguments in check.public]
    return {
        "points": check.points,
        "signature": check.signature,
        "same": {"rel": check.same.rel, "abs": check.same.abs},
        "allow": list(check.allow),
        "insight": check.insight,
        "cases": [
            {"input": case, "expected": _output(check, "the reference", check.reference, case)} for case in cases
        ],
        "wrong": [
            {
                "name": name,
                "message": message,
                "outputs": [_output(check, f"wrong[{name!r}]", fn, case) for case in cases],
            }
            for name, (fn, message) in check.wrong.items()
        ],
    }


def faults(check: Check, draws: int = DRAWS) -> list[str]:
    """What is wrong with `check` itself, in sentences; empty if nothing is. The build refuses a check that has any.

    More than three tolerances must lie between the right answer and each known wrong one, on every drawn input and
    on at least one public input, and between any two known wrong ones on a public input: else a message goes to the
    wrong learner.
    """
    try:
        data = public_cases(check)
        answers = {"the right answer": [case["expected"] for case in data["cases"]]}
        answers |= {f"wrong[{wrong['name']!r}]": wrong["outputs"] for wrong in data["wrong"]}
        found = [
            f"check {check.id!r}: no public input tells {other} from {one}"
            for i, one in enumerate(answers)
            for other in list(answers)[i + 1 :]
            if all(check.same.distance(a, b) <= 3 for a, b in zip(answers[other], answers[one], strict=True))
        ]
        for seed in range(draws):
            case = _encode_arguments(check.generate(random.Random(seed)), check.id)
            right = _output(check, "the reference", check.reference, case)
            for name, (fn, _) in check.wrong.items():
                if check.same.distance(_output(check, f"wrong[{name!r}]", fn, case), right) <= 3:
                    call = _call_text(check.signature, case)
                    found.append(
                        f"check {check.id!r}: wrong[{name!r}] is within three tolerances of the right answer on {call}"
                    )
    except ValueError as error:
        return [str(error)]
    return list(dict.fromkeys(found))


def _output(check: Check, who: str, fn: Callable, case: Mapping):
    """What `fn` returns for an encoded input, as plain finite JSON values."""
    args, kwargs = _decode_arguments(case)
    try:
        value = _plain(fn(*args, **kwargs))
        json.dumps(value, allow_nan=False)
    except Exception as error:
        call = _call_text(check.signature, case)
        raise ValueError(f"check {check.id!r}: {who} gives no finite JSON value on {call}: {error!r}") from error
    return value


# ------------------------------------------------------------------------------------------------- the learner's call


# Whole sentences with named values, so that another language can replace them one by one.
_SAY = {
    "right": "Right on every example. Score: {points:g} of {points:g}.",
    "stub": "Not done yet: complete `{signature}`, run its cell, then run this one again.",
    "not_callable": "Not yet: write `check({id!r}, {name})` with the function itself; this got {got}.",
    "arguments": "Not yet: your function is called as `{call}`, and yours does not take these arguments: {error}.",
    "raised": "Not yet: `{call}` raised {error} (line {line} of your code).",
    "raised_elsewhere": "Not yet: `{call}` raised {error}.",
    "late": "Not yet: `{call}` had not finished after {seconds:g} seconds. Look for a loop that never ends.",
    "printed": "Not yet: `{call}` returned None. Did you print the answer instead of returning it?",
    "nothing": "Not yet: `{call}` returned None. Does every path through the function end in `return`?",
    "form": "Not yet: `{call}` returned {got}. {fault}",
    "large_factor": "Not yet: `{call}` returned {got}; `{where}` is too large by a factor of {ratio}.",
    "small_factor": "Not yet: `{call}` returned {got}; `{where}` is too small by a factor of {ratio}.",
    "large_percent": "Not yet: `{call}` returned {got}; `{where}` is too large by {percent} %.",
    "small_percent": "Not yet: `{call}` returned {got}; `{where}` is too small by {percent} %.",
    "value": "Not yet: `{call}` returned {got}; `{where}` is not right.",
    "diagnosed": "Not yet: `{call}` returned {got}. {message}",
    "whole": "Did you round, or use `//` where `/` is meant?",
    "agree": "Examples that agree: {agree} of {cases}.",
    "kind": "`{where}` should be of type {want}, not {kind}.",
    "finite": "`{where}` should be a finite number, not {got}.",
    "length": "`{where}` should hold {want} values, not {length}.",
    "keys": "`{where}` should have exactly the keys {want}, not {keys}.",
    "unknown_near": "There is no check {id!r}; did you mean {near!r}? Nothing was checked.",
    "unknown": "There is no check {id!r}; the id stands in the exercise's text. Nothing was checked.",
}


@dataclass(frozen=True)
class CheckResult:
    """What `check` found; a notebook shows its `message`. `diagnosis` names the recognised wrong answer.

    outcome: "right", "wrong" (value), "form" (not the kind of value asked for), "raised", "late", "stub" (not done
    yet), "not-callable", "unknown" (no such check).
    """

    id: str
    outcome: str
    points: float
    message: str
    diagnosis: str | None = None

    @property
    def passed(self) -> bool:
        return self.outcome == "right"

    @property
    def score(self) -> float:
        return self.points if self.passed else 0

    def __repr__(self) -> str:
        return self.message

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        # nbgrader (utils.determine_grade) reads the text/plain of a grade cell's value as its points; what is no number
        # counts as full marks.
        plain = f"{self.score:g}" if _under_nbgrader() else self.message
        return {"text/plain": plain, "text/html": self._html()}

    def _html(self) -> str:
        colour = "var(--jp-success-color1, #388e3c)" if self.passed else "var(--jp-warn-color1, #f57c00)"
        lines = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.message)).split("\n")
        body = "".join(f'<p style="margin:.2em 0">{line}</p>' for line in lines)
        style = f"border-left:4px solid {colour};padding:.2em .8em"
        return f'<div class="course-check" role="status" style="{style}">{body}</div>'


def check(id: str, fn: Callable) -> CheckResult:
    """Try `fn` on the public inputs of check `id`, and say in a line or a short paragraph what is right or wrong.

    Raises nothing that the learner's code raised (only a KeyboardInterrupt passes), and never shows the right
    value. Every call gets fresh copies of its input. What `fn` prints is shown when its answer is not right; what
    it writes to stderr is dropped, because nbgrader gives zero points to a grade cell with any. The attempt goes
    into the learner's record.
    """
    spec, near = _find(id)
    if spec is None:
        return CheckResult(str(id), "unknown", 0, _SAY["unknown_near" if near else "unknown"].format(id=id, near=near))
    result = _Attempt(id, spec).run(fn)
    _record(result)
    return result


class _TimeUp(BaseException):
    """The alarm. No `Exception`, so that `except Exception` in the learner's loop does not swallow it."""


class _Attempt:
    """One function tried on the public data of one check."""

    def __init__(self, id: str, spec: Mapping):
        self.id = id
        self.points = spec["points"]
        self.signature = spec["signature"]
        self.same = Close(**spec["same"])
        self.inputs = [case["input"] for case in spec["cases"]]
        self.expected = [case["expected"] for case in spec["cases"]]
        self.wrong = spec["wrong"]
        self.insight = spec.get("insight", "")
        self.printed = [""] * len(self.inputs)

    def run(self, fn) -> CheckResult:
        if not callable(fn):
            name = self.signature.partition("(")[0]
            return self._result("not-callable", "not_callable", id=self.id, name=name, got=_short(fn))
        outputs, stopped = self._outputs(fn)
        agree = [self.same.distance(got, want) <= 1 for got, want in zip(outputs, self.expected, strict=False)]
        if all(agree) and not stopped:
            return self._result("right", "right", points=self.points, more=self.insight)
        first = agree.index(False) if not all(agree) else len(outputs)
        if self.printed[first]:
            print(self.printed[first][:PRINTED])
        return self._explain(outputs, agree) if not all(agree) else stopped

    def _outputs(self, fn) -> tuple[list, CheckResult | None]:
        """The plain values for the public inputs, up to the first call that gives none, and what to say about it."""
        outputs, call = [], ""
        try:
            with _time_limit(SECONDS), contextlib.redirect_stderr(io.StringIO()):
                for i, case in enumerate(self.inputs):
                    call = _call_text(self.signature, case)
                    args, kwargs = _decode_arguments(case)
                    if error := _binding_error(fn, args, kwargs):
                        return outputs, self._result("form", "arguments", call=call, error=error)
                    prints = io.StringIO()
                    try:
                        with contextlib.redirect_stdout(prints):
                            outputs.append(_plain(fn(*args, **kwargs)))
                    finally:
                        self.printed[i] = prints.getvalue()
        except NotImplementedError:
            return outputs, self._result("stub", "stub", signature=self.signature)
        except _TimeUp:
            return outputs, self._result("late", "late", call=call, seconds=SECONDS)
        except (Exception, SystemExit) as error:
            line = _learners_line(fn, error)
            said = _short_text(f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": "))
            say = "raised" if line else "raised_elsewhere"
            return outputs, self._result("raised", say, call=call, error=said, line=line)
        return outputs, None

    def _explain(self, outputs: list, agree: list[bool]) -> CheckResult:
        """What to say about wrong values: which known wrong answer they are, else what the first of them lacks."""
        first = agree.index(False)
        got, want = outputs[first], self.expected[first]
        values = {"call": _call_text(self.signature, self.inputs[first]), "got": _short(got)}
        if known := self._diagnosis(outputs):
            return self._result("wrong", "diagnosed", diagnosis=known["name"], message=known["message"], **values)
        if got is None and want is not None:
            return self._result("form", "printed" if self.printed[first].strip() else "nothing", **values)
        if fault := _form_fault(got, want):
            return self._result("form", "form", fault=fault, **values)
        where, g, w = next(leaf for leaf in _leaves(got, want) if self.same.leaf_distance(*leaf[1:]) > 1)
        say, size = _compare(g, w)
        more = _SAY["whole"] if _rounded(outputs, self.expected) else ""
        return self._result("wrong", say, agree=sum(agree), more=more, where=where, **size, **values)

    def _diagnosis(self, outputs: list) -> Mapping | None:
        """The known wrong answer that the outputs equal on every public input (the nearest, if several)."""
        if len(outputs) < len(self.expected):
            return None

        def far(wrong):
            return max(self.same.distance(got, w) for got, w in zip(outputs, wrong["outputs"], strict=True))

        nearest = min(self.wrong, key=far, default=None)
        return nearest if nearest and far(nearest) <= 1 else None

    def _result(
        self, outcome: str, say: str, *, diagnosis: str | None = None, agree: int = 0, more: str = "", **values
    ) -> CheckResult:
        lines = [_SAY[say].format(**values), *filter(None, [more])]
        if agree:
            lines.append(_SAY["agree"].format(agree=agree, cases=len(self.inputs)))
        return CheckResult(self.id, outcome, self.points, "\n".join(lines), diagnosis)


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `_TimeUp` in the body after `seconds` (main thread, Unix), and put an older alarm back afterwards."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum, frame):
        raise _TimeUp

    handler = signal.signal(signal.SIGALRM, ring)
    started = time.monotonic()
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, max(remaining - (time.monotonic() - started), 1e-3), interval)


def _binding_error(fn: Callable, args: Sequence, kwargs: Mapping) -> str:
    """Why `fn` cannot take these arguments; empty if it can, or if Python cannot tell (some built-in functions)."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _learners_line(fn: Callable, error: BaseException) -> int | None:
    """The line of the file or cell that holds `fn` from which `error` came; None if `fn` is no Python function."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if code and frame.f_code.co_filename == code.co_filename]
    return lines[-1] if lines else None


def _under_nbgrader() -> bool:
    return bool(os.environ.get("NBGRADER_EXECUTION") or os.environ.get("NBGRADER_VALIDATING"))


def _record(result: CheckResult) -> None:
    """Keep the attempt in the learner's record. A failed write never breaks a check; nbgrader's runs write none."""
    if _under_nbgrader():
        return
    with contextlib.suppress(Exception):
        from course_lib.teaching.record import Record

        attempt = {"outcome": result.outcome, "diagnosis": result.diagnosis}
        Record.open().add("check", result.id, {**attempt, "score": result.score, "points": result.points})


def _find(id) -> tuple[Mapping | None, str | None]:
    """The data of check `id`; or None and the nearest id that exists, if any is near."""
    units, known = files("course_lib.teaching").joinpath("units"), {}
    for folder in units.iterdir() if units.is_dir() else ():
        data = folder.joinpath("checks.json")
        if data.is_file():
            known.update(json.loads(data.read_text(encoding="utf-8")))
    if isinstance(id, str) and id in known:
        return known[id], None
    nearest = difflib.get_close_matches(str(id), sorted(known), n=1, cutoff=0.5)
    return None, nearest[0] if nearest else None


# -------------------------------------------------------------------------------------------------------- plain values


def _plain(value):
    """`value` copied as JSON values: numpy and torch scalars and arrays become numbers and lists, tuples lists.

    What is none of these stays as it is, and `_form_fault` names it.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _kind(value) -> str:
    """The type of a plain value as learners know it; int and float are one kind, `number`."""
    return "number" if _is_number(value) else "None" if value is None else type(value).__name__


def _form_fault(got, expected, where: str = "result") -> str:
    """The sentence that says where `got` has another form than `expected`; empty if their forms agree."""
    if _kind(got) != _kind(expected):
        return _SAY["kind"].format(where=where, want=_kind(expected), kind=_kind(got))
    if isinstance(got, float) and not math.isfinite(got):
        return _SAY["finite"].format(where=where, got=got)
    if isinstance(expected, list) and len(got) != len(expected):
        return _SAY["length"].format(where=where, want=len(expected), length=len(got))
    if isinstance(expected, dict) and set(got) != set(expected):
        return _SAY["keys"].format(where=where, want=list(expected), keys=list(got))
    return next(filter(None, (_form_fault(*item, at) for at, *item in _items(got, expected, where))), "")


def _items(got, expected, where: str) -> Iterator[tuple]:
    """(where, got, expected) for each item of two lists or dictionaries of the same form; nothing for other values."""
    keys = range(len(expected)) if isinstance(expected, list) else expected if isinstance(expected, dict) else ()
    return ((f"{where}[{key!r}]", got[key], expected[key]) for key in keys)


def _leaves(got, expected, where: str = "result") -> Iterator[tuple]:
    """(where, got, expected) for everything in two values of the same form that is neither list nor dictionary."""
    if not isinstance(expected, (list, dict)):
        yield where, got, expected
    for at, g, e in _items(got, expected, where):
        yield from _leaves(g, e, at)


def _compare(got, expected) -> tuple[str, dict]:
    """Which sentence tells how far off a value is: for two positive numbers their ratio, never the right value."""
    if not (_is_number(got) and got > 0 and expected > 0):
        return "value", {}
    try:
        ratio, percent = got / expected, 100 * abs(got - expected) / expected
    except OverflowError:
        return "value", {}
    size = "large" if ratio > 1 else "small"
    if not 1 / 1.1 < ratio < 1.1:
        return f"{size}_factor", {"ratio": f"{max(ratio, 1 / ratio) if ratio else math.inf:.4g}"}
    return f"{size}_percent", {"percent": f"{percent:.2g}"}


def _rounded(outputs: list, expected: list) -> bool:
    """Whether all numbers are whole and within 1 % of the right ones, which are not all whole."""
    if _form_fault(outputs, expected):
        return False
    pairs = [(got, want) for _, got, want in _leaves(outputs, expected) if _is_number(want)]
    return (
        all(got == int(got) and Close(rel=0.01).leaf_distance(got, want) < 1 for got, want in pairs)
        and not all(want == int(want) for _, want in pairs)
    )  # fmt: skip


def _short_text(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _short(value, limit: int = 160) -> str:
    try:
        return _short_text(_literal(value), limit)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"<{type(value).__name__} too long to print>"


def _literal(value) -> str:
    """`value` as Python code; a float from a million on as `9.89e14`, not `989000000000000.0`, if that is shorter."""
    if type(value) is float and 1e6 <= abs(value) < math.inf:
        return min(repr(value), f"{Decimal(repr(value)).normalize():e}".replace("e+", "e"), key=len)
    return repr(value)


def _parameters(signature: str) -> list[str]:
    """The parameter names of `"f(a, b=2)"`."""
    try:
        (function,) = ast.parse(f"def {signature}: ...").body
    except SyntaxError:
        raise ValueError(f"signature must look like 'ridge(peak, bandwidth)', not {signature!r}") from None
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _call_text(signature: str, case: Mapping) -> str:
    """The call as the learner would write it: `ridge(peak=989e12, bandwidth=3.35e12)`."""
    args, kwargs = _decode_arguments(case)
    named = dict(zip(_parameters(signature), args, strict=False)) | kwargs
    shown = ", ".join(f"{name}={_short(_plain(value), 60)}" for name, value in named.items())
    return f"{signature.partition('(')[0]}({shown})"


def _encode_arguments(arguments, id: str) -> dict:
    """An input as JSON: `{"args": […]}` or `{"kwargs": {…}}`; a numpy array as `{"array": nested list, "dtype": …}`."""
    if isinstance(arguments, Mapping):
        encoded = {"kwargs": {name: _encode(value) for name, value in arguments.items()}}
    elif isinstance(arguments, (tuple, list)):
        encoded = {"args": [_encode(value) for value in arguments]}
    else:
        raise ValueError(f"check {id!r}: an input is a tuple or a mapping of arguments, not {arguments!r}")
    try:
        return json.loads(json.dumps(encoded, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"check {id!r}: the input {arguments!r} must hold JSON values or arrays: {error}") from None


def _encode(value):
    return {"array": value.tolist(), "dtype": str(value.dtype)} if hasattr(value, "dtype") else value


def _decode_arguments(case: Mapping) -> tuple[list, dict]:
    """Fresh arguments from an encoded input: whatever one call does to them, the next gets its own."""
    args, kwargs = case.get("args", []), case.get("kwargs", {})
    return [_decode(value) for value in args], {name: _decode(value) for name, value in kwargs.items()}


def _decode(value):
    if isinstance(value, dict) and set(value) == {"array", "dtype"}:
        import numpy as np

        return np.array(value["array"], dtype=value["dtype"])
    return copy.deepcopy(value)
