"""The sandbox in which students' code runs: bubblewrap around one zygote (`zygote.py`), and what the kernel must offer.

In it there is no network, no file of the host but Python with its packages and, where an exercise allows it, the
student library; no capability, nowhere to write but memory of a bounded size. Its processes belong to an ordinary user
also if the grader is root: bubblewrap alone would leave them root's outside, and the kernel limits no process of root.
"""

import contextlib
import json
import os
import shlex
import shutil
import site
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.sandbox import control_group
from course_lib.grading.sentences import say
from course_lib.teaching.checks.check_run import SECONDS

HERE = Path(__file__).resolve().parent
COURSE = HERE.parents[1]
NOBODY = 64_321
"""The user that a root grader becomes for students' code: a number that no account should have."""

STAGES = ("/media", "/mnt", "/srv")
"""A folder that every Linux has; a root grader covers it, in its own view of the files only."""

HOME, LIBRARY, ENGINE = "/scratch", "/library", "/engine"
MODULES = ("zygote.py", "wire.py", "slicing.py", "seccomp.py")
SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "local/bin", "local/lib", "share/fonts", "share/zoneinfo")
"""Of /usr, what programs are made of."""
DEVICES = ("null", "full", "random", "urandom")  # not zero: mapped, it is memory that no limit counts
READY = 60.0
"""Seconds within which a zygote must have imported torch, and must say of a child how it ended: the memory of one that
was killed is given back first, and the machine may be busy.
"""


class SandboxMissing(RuntimeError):  # noqa: N818 (a state of this machine, more than an error)
    """Students' code cannot be confined here. The message says what is missing and what to install."""


class SandboxFault(SandboxMissing):
    """There is a sandbox, and it does not hold."""


@dataclass(frozen=True)
class Limits:
    """What one student's job may use; times in seconds, sizes in bytes.

    Time is what the job's processes have used of processors, or slept: waiting for a processor that a neighbour has is
    not counted (`zygote._used`).

    call       one call.
    function   the calls of one function with the inputs that its check's author chose; all of its calls may take as
               much time each.
    cells      all cells of the notebook.   job   everything together.
    wall       how many times as long each of these may last by the clock.
    memory     beyond what Python and torch take: of each process, and of all of them together.
    scratch    files in each of the job's own folders.   file   one file.   processes   with threads.

    `check()` gives a function `SECONDS` for those inputs; the grader gives it at least twice that.
    """

    call: float = 2 * SECONDS
    function: float = 2 * SECONDS
    cells: float = 10.0
    job: float = 60.0
    wall: float = 20.0
    memory: int = 1 << 30
    scratch: int = 64 << 20
    file: int = 32 << 20
    processes: int = 32


class Sandbox:
    """One zygote: `job()` gives a channel to a fresh child, `end()` kills that child. For one thread at a time, but for
    `kill()`: a socket that one thread closes while another waits on it can leave that one waiting.
    """

    def __init__(self, limits: Limits, *, unsafe: bool = False):
        self._limits = limits
        self._unsafe = unsafe
        self._process: subprocess.Popen | None = None
        self._killed = False
        self._group: control_group.ControlGroup | None = None
        self._before, self._kills = 0.0, 0  # what the group had counted when the job began
        self._lock = threading.Lock()  # another thread may kill what this one starts

    def start(self) -> None:
        """Start the zygote and wait until it is ready. Raises `SandboxMissing` with what stands in the way."""
        self._control, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = _settings(self._limits, inner.fileno(), self._unsafe)
        command = _plain_command(settings) if self._unsafe else _command(settings)
        with tempfile.TemporaryFile() as said:
            with self._lock, inner:
                if self._killed:
                    raise RuntimeError("the sandbox was killed")
                if (group := control_group.make()) is not None:
                    command = ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(group.entrance), *command]
                self._group = group
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=[inner.fileno()],
                    env=_environment(settings["home"]) | {"PATH": os.environ.get("PATH", os.defpath)},
                    cwd="/",
                    start_new_session=True,  # so that Ctrl-C reaches the grader only, which then ends the sandbox
                )
            self._wait_until_ready(said)
        if self._group is not None:  # files in the scratch folders are memory too
            self._group.limit(self._limits.memory + len(settings["scratch"]) * self._limits.scratch)

    def _wait_until_ready(self, said) -> None:
        self._control.settimeout(READY)
        try:
            ready = self._control.recv(16)
        except OSError:  # also the timeout
            ready = b""
        if ready != b"ready":
            self._end()
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise SandboxMissing(say("sandbox", "no_namespaces", said=lines[-1] if lines else say("sandbox", "silent")))

    def job(self, library: bool = False) -> socket.socket:
        """The channel to a fresh child. `library`: the student library is there to be imported."""
        ours, theirs = socket.socketpair()
        if self._group is not None:
            self._before, self._kills = self._group.seconds, self._group.memory_kills
        with theirs:
            socket.send_fds(self._control, [b"library" if library else b"job"], [theirs.fileno()])
        return ours

    def used(self) -> float:
        """Seconds that the job has used so far, by `zygote._used` or its control group, whichever saw more. Raises
        `OSError` if the zygote does not say.
        """
        try:
            self._control.settimeout(READY)
            self._control.send(b"used")
            if said := self._control.recv(64):
                counted = self._group.seconds - self._before if self._group is not None else 0.0
                return max(float(said), counted)
            raise ConnectionError("the zygote is gone")
        except OSError:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)  # so that `end` does not take a late answer for its own
            raise

    def end(self) -> str:
        """Kill the child and all that it started; how it had ended before that: "over" (it had not), "memory",
        "signal N", "exit N". If the zygote does not answer, everything is killed and started again: "lost".
        """
        try:
            self._control.settimeout(READY)
            self._control.send(b"end")
            how = self._control.recv(64).decode() or self._restart()
            return "memory" if self._group is not None and self._group.memory_kills > self._kills else how
        except OSError:
            return self._restart()

    def _restart(self) -> str:
        self._end()
        self.start()
        return "lost"

    @property
    def pid(self) -> int:
        """The outermost process of the sandbox."""
        return self._process.pid

    def kill(self) -> None:
        """Let everything in the sandbox die, for good. From any thread: the one that uses the sandbox then finds its
        sockets at their end, and closes it.
        """
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Kill everything in the sandbox, for good; returns when the zygote and all jobs are gone. May be repeated."""
        self.kill()
        if self._process is not None:
            self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):  # the other side, or this one, is closed already
            self._control.settimeout(READY)
            while self._control.recv(64):  # ends when the last process that holds the other end is gone
                pass
        self._control.close()
        if self._group is not None:
            self._group.remove()


# ------------------------------------------------------------------------------------------------------- the command


def _settings(limits: Limits, control: int, unsafe: bool) -> dict:
    """What the zygote is told. See `zygote.SETTINGS`."""
    places = [HOME, "/dev/shm", *([] if any(path.is_relative_to("/tmp") for path in _python_folders()) else ["/tmp"])]
    return {
        "alone": not unsafe,
        "control": control,
        "library": str(COURSE.parent) if unsafe else LIBRARY,
        "home": tempfile.gettempdir() if unsafe else HOME,
        "scratch": dict.fromkeys(places, limits.scratch),
        "memory": limits.memory,
        "limits": {
            "CPU": int(limits.job) + 1,
            "FSIZE": limits.file,
            "NOFILE": 64,  # also bounds what the kernel keeps in the buffers of sockets
            "SIGPENDING": 256,
            "CORE": 0,
            "MEMLOCK": 0,
            "MSGQUEUE": 0,
            **({} if unsafe else {"NPROC": limits.processes}),
        },
    }


def _plain_command(settings: dict) -> list[str]:
    return [sys.executable, "-P", "-s", str(HERE / "zygote.py"), json.dumps(settings)]


def _command(settings: dict) -> list[str]:
    """bubblewrap around the zygote; for root, a private view of the files and another user around that."""
    if not sys.platform.startswith("linux"):
        raise SandboxMissing(say("sandbox", "no_linux"))
    root = os.getuid() == 0
    lacking = [tool for tool in ("bwrap", *(("setpriv", "unshare", "mount") if root else ())) if not shutil.which(tool)]
    if lacking:
        raise SandboxMissing(say("sandbox", "lacking", programs=", ".join(lacking)))
    sources = {str(path): str(path) for path in _python_folders()}
    sources |= {f"{ENGINE}/{name}": str(HERE / name) for name in MODULES}
    sources[f"{LIBRARY}/course_lib"] = str(COURSE)
    if not root:
        return _bubblewrap(sources, settings)
    # Python may lie under a home that only root can enter, so root binds it to a place that everybody can.
    stage = next(place for place in STAGES if not any(Path(path).is_relative_to(place) for path in sources.values()))
    staged = {place: f"{stage}/{number}" for number, place in enumerate(sources)}
    steps = ["set -e", f"mount -t tmpfs -o mode=755 tmpfs {stage}"]
    for place, path in staged.items():
        make = "mkdir" if Path(sources[place]).is_dir() else "touch"
        steps.append(f"{make} {path}; mount --bind {shlex.quote(sources[place])} {path}")
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    steps.append(f'exec {" ".join(drop)} "$@"')
    shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(steps), "sandbox"]
    return [*shell, *_bubblewrap(staged, settings)]


def _bubblewrap(sources: dict[str, str], settings: dict) -> list[str]:
    """`sources`: place in the sandbox -> path here. Every mount is read-only; a job mounts its own scratch folders."""
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    command += ["--cap-add", "CAP_SYS_ADMIN"]  # in its own namespace, for the jobs' mounts; each job gives it up
    for name, value in _environment(settings["home"]).items():
        command += ["--setenv", name, value]
    for part in SYSTEM:
        command += ["--ro-bind-try", f"/usr/{part}", f"/usr/{part}"]
    command += ["--proc", "/proc"]
    for place in ("/bin", "/sbin", "/lib", "/lib64"):
        if os.path.islink(place):
            command += ["--symlink", os.readlink(place), place]
        else:
            command += ["--ro-bind-try", place, place]
    for place in ("/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system/cpu"):
        command += ["--ro-bind-try", place, place]
    for place in (*settings["scratch"], LIBRARY):
        command += ["--dir", place]
    for device in DEVICES:
        command += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    for place, path in sources.items():
        command += ["--ro-bind", path, place]
    hidden = [f"{LIBRARY}/course_lib/grading"]
    hidden += [str(folder / "course_lib") for folder in _packages() if (folder / "course_lib").is_dir()]
    for place in hidden:
        command += ["--tmpfs", place, "--remount-ro", place]
    command += ["--remount-ro", "/", "--chdir", "/"]
    return [*command, sys.executable, "-P", "-s", f"{ENGINE}/zygote.py", json.dumps(settings)]


def _python_folders() -> list[Path]:
    """What this Python is made of: the programs and libraries of its prefixes, its packages; none within another. Not
    the prefixes: a course may be kept below one.
    """
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parent.parent}
    found = {prefix / part for prefix in prefixes for part in ("bin", "lib", "lib64", "pyvenv.cfg")} | set(_packages())
    found = {
        path for path in found if path.exists() and not any(path.is_relative_to(f"/usr/{part}") for part in SYSTEM)
    }
    return sorted(path for path in found if not any(path.is_relative_to(other) for other in found - {path}))


def _packages() -> list[Path]:
    """Where Python looks for installed packages."""
    return [Path(path) for path in {*site.getsitepackages(), sysconfig.get_path("purelib")} if Path(path).is_dir()]


def _environment(home: str) -> dict[str, str]:
    """The environment of students' code: fixed, so that a regrade sees the same."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": home,
        "TMPDIR": home,
        "USER": "student",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **threads,
    }
