"""Calling a learner's function where it can do little harm: under a time limit, with its prints kept, and with the
current folder, the warning filters, `input` and the number of open figures put back afterwards.

The limit needs the main thread of a Unix process; elsewhere there is none. It stops Python code, `time.sleep` and what
waits for input, also inside `try: … except: pass`. It cannot stop a single call into compiled code that never returns,
such as `sum(range(10**12))`: Python itself hears of no signal before that call ends, so only a restart of the kernel
helps. What a function does to variables outside it, to seeds or to the settings of a library stays, as after any call.
"""

import builtins
import contextlib
import inspect
import io
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from course_lib.teaching.checks.check_texts import say
from course_lib.teaching.checks.check_values import EXACT, plain, short_text

SECONDS = 5.0
"""Time limit of one `check`, over all public inputs (main thread of a Unix process; elsewhere there is none)."""

PRINTED = 2000
"""Characters of a learner's prints that are kept."""

AGAIN = 0.05
"""Seconds from one alarm to the next, for a function that has swallowed the first."""


IMPORTING = "<frozen importlib._bootstrap>"
"""File name of the code that imports a module: half an import would harm the whole notebook, so it is waited for."""


class TimeUp(BaseException):
    """The alarm. No `Exception`, so that `except Exception` in the learner's loop does not swallow it."""


class InputAsked(Exception):  # noqa: N818 (no error of the course: what the function did)
    """The function called `input()`."""


@dataclass(frozen=True)
class Answer:
    """What one call returned, as a plain value; whether it printed something; all that it printed, or wrote to stderr;
    and whether it changed its arguments in place.
    """

    value: object
    printed: bool
    shown: str
    changed: bool


class Prints(io.TextIOBase):
    """A stream that keeps the first `PRINTED` characters and counts the others."""

    encoding = "utf-8"

    def __init__(self):
        self.kept, self.total = "", 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.kept += text[: PRINTED - len(self.kept)]
        self.total += len(text)
        return len(text)

    def __str__(self) -> str:
        if self.total <= PRINTED:
            return self.kept
        return f"{self.kept}\n{say('cut', shown=PRINTED, total=self.total)}"


class Calls:
    """Calls of one function within one time limit. Use it as a context; `call` then returns an `Answer` or raises what
    the function raised, `TimeUp`, or `InputAsked`. `shown` is what the last call printed, or wrote to stderr.
    """

    def __init__(self, fn: Callable, seconds: float):
        self.fn = fn
        self.shown = ""
        self._alarm = _Alarm(seconds)

    def __enter__(self) -> "Calls":
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(_put_back())
        self._stack.enter_context(self._alarm)
        return self

    def __exit__(self, *_) -> None:
        self._stack.close()

    def call(self, args: Sequence, kwargs: Mapping) -> Answer:
        prints, warns, before = Prints(), Prints(), plain([args, kwargs])
        try:
            with contextlib.redirect_stdout(prints), contextlib.redirect_stderr(warns):
                value = self._alarm.limited(lambda: plain(self.fn(*args, **kwargs)))
        finally:
            self.shown = "\n".join(text for text in (str(prints).rstrip(), str(warns).rstrip()) if text)
        changed = EXACT.distance(plain([args, kwargs]), before) > 0
        return Answer(value, bool(prints.kept.strip()), self.shown, changed)

    @property
    def seconds(self) -> float:
        """Since the first call could begin."""
        return self._alarm.past()


class _Alarm:
    """Raises `TimeUp` in what `limited` runs, once `seconds` have passed since the context began.

    An import is waited for, and the time begins anew after it. The older alarm and the older trace function are put
    back at the end.
    """

    def __init__(self, seconds: float):
        self.seconds = self._limit = seconds
        self._frame: FrameType | None = None
        self._rings = 0

    def __enter__(self) -> None:
        self._started = time.monotonic()
        self._works = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if self._works:
            self._trace = sys.gettrace()
            self._handler = signal.signal(signal.SIGALRM, self._ring)
            self._older = signal.setitimer(signal.ITIMER_REAL, self.seconds, AGAIN)

    def __exit__(self, *_) -> None:
        self._frame = None
        if not self._works:
            return
        sys.settrace(self._trace)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        remaining, interval = self._older
        if remaining:
            signal.setitimer(signal.ITIMER_REAL, max(remaining - self.past(), 1e-3), interval)

    def limited(self, body: Callable):
        """What `body()` returns. Only frames above this one are ever interrupted, so that no clean-up is."""
        self._frame = sys._getframe()
        value, stop = next(_apart(body))
        if stop is not None:
            raise stop
        if self._works and self.past() > self.seconds:  # it swallowed the alarm, and ended all the same
            raise TimeUp
        return value

    def past(self) -> float:
        return time.monotonic() - self._started

    def _ring(self, signum: int, frame: FrameType) -> None:
        above = list(self._above(frame))
        if not above:
            return
        if any(one.f_code.co_filename == IMPORTING for one in above):
            self.seconds = self.past() + self._limit
        if self.past() < self.seconds:
            return
        for one in above:
            one.f_trace = self._next_line
        sys.settrace(self._next_line)
        raise TimeUp

    def _next_line(self, frame: FrameType, event: str, arg) -> Callable | None:
        """Raises `TimeUp` once more at the next line: where a bare `except` swallowed the first, that is outside the
        `try`. For a `try` within a `try` the next alarm comes at once, each time a little later, until one escapes.
        """
        if event == "line" and any(self._above(frame)):
            self._rings += 1
            signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + self._rings % 40), AGAIN)
            raise TimeUp
        return self._next_line

    def _above(self, frame: FrameType | None) -> Iterator[FrameType]:
        """`frame` and its callers up to `limited`; nothing if `limited` is not among them."""
        frames = []
        while frame is not None and frame is not self._frame:
            frames.append(frame)
            frame = frame.f_back
        return iter(frames if frame is not None else ())


def _apart(body: Callable) -> Iterator[tuple]:
    """What `body()` returns, and None; or None, and the `StopIteration` that it raised, which no generator can pass on.

    A generator keeps the exceptions that it handles to itself. Python forgets to take one away where `_next_line`
    raises at the end of a `with`; it would be told as the cause of every later error.
    """
    try:
        yield body(), None
    except StopIteration as stop:
        yield None, stop


@contextlib.contextmanager
def _put_back() -> Iterator[None]:
    """Put the current folder, the warning filters and `input` back; close the figures that were opened."""

    def no_input(prompt=""):
        raise InputAsked

    try:
        here = os.getcwd()
    except OSError:  # the folder was deleted
        here = None
    figures, asks = _figures(), builtins.input
    builtins.input = no_input
    try:
        with warnings.catch_warnings():
            yield
    finally:
        builtins.input = asks
        if here is not None:
            with contextlib.suppress(OSError):
                os.chdir(here)
        for number in _figures() - figures:
            sys.modules["matplotlib.pyplot"].close(number)


def _figures() -> set[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


# ------------------------------------------------------------------------------------------------ what went wrong


def binding_error(fn: Callable, args: Sequence, kwargs: Mapping) -> str:
    """Why `fn` cannot take these arguments; empty if it can, or if Python cannot tell (some built-in functions)."""
    try:
        signature = inspect.signature(fn)
    except Exception:  # a built-in without a signature, or an object that answers every question
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def error_text(error: BaseException) -> str:
    """The type of an exception and the first line of its message, even where the message fails."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return short_text(f"{type(error).__name__}: {message}".splitlines()[0].rstrip(": "))


def learners_line(fn: Callable, error: BaseException) -> int | None:
    """The line of the file or cell that holds `fn` from which `error` came; None if no such line ran."""
    lines = [line for name, line in _places(error) if name == _file(fn, error)]
    return lines[-1] if lines else None


def raised_by_the_learner(fn: Callable, error: BaseException) -> bool:
    """Whether the `raise` itself stands in the file or cell that holds `fn`."""
    places = _places(error)
    return bool(places) and places[-1][0] == _file(fn, error)


def still_dots(error: BaseException) -> bool:
    """Whether it was the `...` of an unwritten line that could not be computed with: Python names its type."""
    return isinstance(error, (TypeError, AttributeError)) and "ellipsis" in error_text(error)


def _places(error: BaseException) -> list[tuple[str, int]]:
    """(file, line) of each call that the error passed through, from the learner's function inwards."""
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [i for i, (file, _) in enumerate(places) if file == __file__]
    return places[ours[-1] + 1 if ours else 0 :]


def _file(fn: Callable, error: BaseException) -> str | None:
    """The file of `fn`; of a class or an object that is called, that of the first code that ran."""
    code = None
    with contextlib.suppress(Exception):
        code = inspect.unwrap(fn).__code__.co_filename
    places = _places(error)
    return code if isinstance(code, str) else places[0][0] if places else None
