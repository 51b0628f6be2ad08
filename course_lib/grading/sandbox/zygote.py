"""The process in which students' code runs: started in the sandbox, it imports torch once and forks for each job.

A script, not a module of the course: `sandbox.py` starts it, with its settings as JSON in the first argument. It never
sees a submission itself. It gets the descriptor of a job's channel, forks, and the child reads the job from there: so
nothing of one student is in the memory from which the next student's process is made.

Each child has process, mount and scratch spaces of its own, no capability, a filter of system calls and resource
limits; all that it started dies with it. `alone=False` (ungraded, unsafe) leaves the namespaces and the filter out.
"""

import ast
import asyncio
import contextlib
import ctypes
import gc
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import linecache
import os
import random
import resource
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path

SETTINGS = json.loads(sys.argv[1])
sys.path[:0] = [str(Path(__file__).parent), SETTINGS["library"]]

import seccomp  # noqa: E402
import slicing  # noqa: E402
import wire  # noqa: E402

from course_lib.teaching.checks.check_form import decode_arguments  # noqa: E402
from course_lib.teaching.checks.check_run import error_text  # noqa: E402
from course_lib.teaching.checks.check_values import plain  # noqa: E402

NEW_MOUNTS, NEW_PROCESSES = 0x20000, 0x20000000
NO_SUID, NO_DEVICES, READ_ONLY = 2, 4, 1
LIBC = ctypes.CDLL(None, use_errno=True)
CLOSED = 3  # how a child ends whose channel was closed
TICK = 50  # milliseconds between two looks at the memory of a job
SHOWS = {"card", "check", "claim", "glossary", "review", "show", "verdicts"}
"""Names of the course that show or check something, and that no answer needs."""
REFUSED = (
    "course_lib cannot be used in a graded run: write the formulas yourself. "
    "An exercise that allows it says so in its text."
)


def main() -> None:
    control = socket.socket(fileno=SETTINGS["control"])
    _preload()
    own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY) if SETTINGS["alone"] else None
    filter = seccomp.program() if SETTINGS["alone"] else None
    _rehearse(own_processes, filter)
    control.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            return  # the grader is gone
        if descriptors:  # otherwise an end that came after its job
            child = _fork(descriptors[0], own_processes, filter, library=message == b"library")
            os.close(descriptors[0])
            control.send(_watch(child, control).encode())


def _preload() -> None:
    """Import what most answers need, then forget the course's own modules, so that an answer cannot import them."""
    for name in ("numpy", "torch"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)  # loads what numpy loads on first use
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # threads do not survive a fork; and no operation may run before it
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("course_lib", "wire", "slicing", "seccomp"):
            del sys.modules[name]
    del sys.path[:2]
    gc.collect()
    gc.freeze()


def _rehearse(own_processes: int | None, filter: bytes | None) -> None:
    """Confine a child that does nothing; what the kernel refuses is said on stderr before any job comes."""
    ours, theirs = socket.socketpair()
    child = _fork(theirs.fileno(), own_processes, filter, library=True)
    theirs.close()
    ours.close()  # the child finds its channel closed, and ends
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != CLOSED:
        raise OSError("the first job could not be confined")


# --------------------------------------------------------------------------------------- the zygote's side of a job


def _fork(channel: int, own_processes: int | None, filter: bytes | None, library: bool) -> int:
    """A child that serves one job; with `own_processes` (this process's namespace) it is the first of a new one."""
    if own_processes is not None:
        _must(LIBC.unshare(NEW_PROCESSES), "unshare")
    child = os.fork()
    if child == 0:
        try:
            _confine(channel, filter, library)
            _silence()
            _serve(socket.socket(fileno=channel))
        except wire.Broken:
            os._exit(CLOSED)
        finally:
            sys.excepthook(*sys.exc_info())  # what comes before _silence is seen; later it goes to /dev/null
            os._exit(1)
    if own_processes is not None:
        _must(LIBC.setns(own_processes, NEW_PROCESSES), "setns")
    return child


def _watch(child: int, control: socket.socket) -> str:
    """Wait until the grader says that the job is over, then kill the child and all of its processes. How it ended:
    "over" (it lived until then), "memory", or "signal N"/"exit N" where it ended by itself. Until then the grader may
    ask what the job has used.
    """
    ended, hoarded, base, began = os.pidfd_open(child), False, _private_bytes("self"), time.monotonic()
    events = select.poll()
    events.register(control, select.POLLIN)
    events.register(ended, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in events.poll(TICK)]
        if control.fileno() in ready:
            if control.recv(16) != b"used":
                break
            control.send(f"{_used(child, time.monotonic() - began):.6f}".encode())
        if ended in ready:
            events.unregister(ended)
        if not hoarded and _job_bytes(base) > SETTINGS["memory"]:  # also when asked: that may be more often than a TICK
            hoarded = True
            _kill(child)
    _kill(child)
    _, status = os.waitpid(child, 0)
    os.close(ended)
    code = os.waitstatus_to_exitcode(status)
    if hoarded:
        return "memory"
    return "over" if code == -signal.SIGKILL else f"signal {-code}" if code < 0 else f"exit {code}"


def _kill(child: int) -> None:
    """The child is the first process of its namespace, so the kernel kills all others with it. Unsafe: its group."""
    (os.kill if SETTINGS["alone"] else os.killpg)(child, signal.SIGKILL)


def _job(child: int) -> list[int]:
    """All processes of a job: whatever there is in this process's namespace beside itself. Unsafe: the child."""
    if not SETTINGS["alone"]:
        return [child]
    return [pid for name in os.listdir("/proc") if name.isdecimal() and (pid := int(name)) not in (1, os.getpid())]


def _job_bytes(base: int) -> int:
    """Private memory of a job's processes, each beyond `base`, which it shares with this one."""
    return sum(max(0, _private_bytes(pid) - base) for pid in _job(0)) if SETTINGS["alone"] else 0


def _private_bytes(pid) -> int:
    """What a process holds in memory or swap, without the files that it has mapped."""
    lines = (line.split() for line in _read(pid, "status").split(b"\n"))  # the name of a process may hold any byte
    return sum(int(line[1]) * 1024 for line in lines if line and line[0] in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))


def _used(child: int, wall: float) -> float:
    """Seconds that a job has used: of all processors together, or those in which its first process did not wait for
    one, whichever is more. A neighbour's load makes neither longer. What ended and was never waited for is no longer in
    it: it may be less than before.
    """
    ticks = 0
    for pid in _job(child):
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own time and that of the children it has waited for
    waited = _read(child, "schedstat").split()[1:2]
    return max(ticks / os.sysconf("SC_CLK_TCK"), wall - sum(map(int, waited)) / 1e9)


def _read(pid, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it has just ended
        return b""


# ------------------------------------------------------------------------------------------- the child's side of a job


def _confine(channel: int, filter: bytes | None, library: bool) -> None:
    """Give up all but the channel, a scratch folder, and what the limits leave; without `library` that is not even
    there to be read.
    """
    os.setsid()  # a signal to its own group (kill 0) must not reach this side of the process namespace
    os.closerange(3, channel)
    os.closerange(channel + 1, 4096)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    if filter is not None:
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, this process goes first
        _must(LIBC.unshare(NEW_MOUNTS), "unshare")
        _mount("proc", "/proc", NO_SUID | NO_DEVICES | READ_ONLY, "")
        for place, size in SETTINGS["scratch"].items():
            _mount("tmpfs", place, NO_SUID | NO_DEVICES, f"size={size},nr_inodes=4096,mode=700")
        if not library:
            _mount("tmpfs", SETTINGS["library"], NO_SUID | NO_DEVICES | READ_ONLY, "size=4k")
    os.chdir(SETTINGS["home"])
    sys.path.insert(0, "")  # as in a notebook
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for name, most in (SETTINGS["limits"] | {"AS": taken + SETTINGS["memory"]}).items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(5)
    if filter is not None:
        _drop_capabilities()
        seccomp.install(filter)


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)


def _mount(kind: str, place: str, flags: int, options: str) -> None:
    _must(LIBC.mount(kind.encode(), place.encode(), kind.encode(), flags, options.encode()), f"mount {place}")


def _drop_capabilities() -> None:
    ambient, clear_all, version_3 = 47, 4, 0x20080522
    LIBC.prctl(ambient, clear_all, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    _must(LIBC.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def _must(failed: int, what: str) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _serve(channel: socket.socket) -> None:
    """Answer the grader's requests, one by one, until it ends the job."""
    notebook = Notebook()
    while True:
        request = wire.receive(channel)
        if "call" in request:
            reply = notebook.call(request["call"], request["arguments"])
        elif "cell" in request:
            reply = {"error": notebook.run(request["cell"], request["name"])}
        elif "others" in request:
            reply = {"error": notebook.run_needed(request["cells"], request["others"])}
        else:
            _only_allow(request["allow"])
            reply = {}
        reply["token"] = request["token"]
        try:
            wire.send(channel, reply)
        except ValueError as error:  # too large, or an integer too long to print
            wire.send(channel, {"outcome": "refused", "error": str(error), "token": request["token"]})


class Notebook:
    """A new notebook, the module `__main__`; what is random begins the same each time."""

    def __init__(self):
        module = types.ModuleType("__main__")
        module.__builtins__ = __builtins__
        module.display = module.get_ipython = _Nothing()
        module.input = lambda prompt="": ""  # nobody is there to type
        sys.modules["__main__"] = module
        random.seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(0)
        self.names = vars(module)
        self.features = 0

    def run(self, source: str, name: str) -> str:
        """Run a cell; the error that stopped it, or "". What it had defined by then stays, as in a notebook."""
        try:
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            tree = slicing.parsed(source)
            self.features |= slicing.features(tree)
            code = compile(tree, name, "exec", self.features | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(eval(code, self.names))
            else:
                exec(code, self.names)
        except BaseException as error:
            return wire.clean(error_text(error))
        return ""

    def run_needed(self, cells: list[str], others: list[str]) -> str:
        """Run what `cells` need of the other cells, each statement also where one before it failed."""
        for source in (*others, *cells):  # a notebook's cells are compiled with the features of those before them
            with contextlib.suppress(Exception):
                self.features |= slicing.features(slicing.parsed(source))
        errors = [self.run(ast.unparse(one), "<other cells>") for one in slicing.needed(cells, others)]
        return "; ".join(filter(None, errors))

    def call(self, name: str, arguments: dict) -> dict:
        """What the function gives, or a variable of that name where nothing is passed to it."""
        if name not in self.names:
            return {"outcome": "missing"}
        try:
            value = self.names[name]
            if callable(value) or arguments.get("args") or arguments.get("kwargs"):
                positional, named = decode_arguments(arguments)
                value = value(*positional, **named)
            return {"outcome": "value", "value": wire.pack(plain(value))}
        except MemoryError:
            return {"outcome": "memory"}
        except BaseException as error:
            return {"outcome": "raised", "error": wire.clean(error_text(error))}


class _Nothing:
    """Stands for what only a notebook has (`display`, `get_ipython`): every use of it does nothing."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


class _Refused:
    """What is imported from the course and may not be used: every use of it says so."""

    def __getattr__(self, name):
        raise ImportError(REFUSED)

    def __call__(self, *_, **__):
        raise ImportError(REFUSED)


class _Stand(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for the course but for what the exercise allows: a released first cell imports from it, and an answer may
    be checked where it is written. What shows or checks something does nothing here; the rest is `_Refused`.
    """

    def __init__(self, allow: list[str]):
        self.allow = allow

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "course_lib" and not self.allows(name):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module):
        module.__getattr__ = lambda name: self.attribute(module.__name__, name)

    def attribute(self, module: str, name: str):
        if name.startswith("__") or (self.allow and self.allows(f"{module}.{name}")):
            raise AttributeError(name)
        return _Nothing() if name in SHOWS else _Refused()

    def allows(self, name: str) -> bool:
        """Whether a module is allowed, lies in one that is, or holds one."""
        return any(f"{one}.".startswith(f"{name}.") or f"{name}.".startswith(f"{one}.") for one in self.allow)


def _only_allow(modules: list[str]) -> None:
    stand = _Stand(modules)
    sys.meta_path.insert(0, stand)
    if modules:
        sys.path.append(SETTINGS["library"])
        stand.exec_module(importlib.import_module("course_lib"))


if __name__ == "__main__":
    main()
