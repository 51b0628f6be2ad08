"""The self-test of a sandbox: harmless attacks, tried before the first submission. One that succeeds stops the run.

They go the way that submissions go, so what holds for them holds for students' code.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.grading.sandbox.conversation import Call, Conversation, Job, Reply
from course_lib.grading.sandbox.sandbox import COURSE, Limits, Sandbox, SandboxFault
from course_lib.grading.sentences import say

PROBES = """
import os, socket, time

def network(family):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(("192.0.2.1", 80))

def seen(paths):
    return [path for path in paths if os.path.exists(path)]

def writable(paths):
    found = []
    for path in paths:
        try:
            with open(os.path.join(path, "written"), "w"):
                found.append(path)
        except OSError:
            pass
    return found

def processes(most):
    started = []
    try:
        for _ in range(most):
            pid = os.fork()
            if pid == 0:
                time.sleep(30)
                os._exit(0)
            started.append(pid)
    except OSError:
        pass
    for pid in started:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(started)

def memory(size):
    return len(bytes(size))

def file(size):
    with open("large", "wb") as one:
        one.truncate(size)

def become_root():
    os.setuid(0)

def user():
    return os.getuid()
"""


EXCHANGES = ("/usr/local/share/nbgrader/exchange", "/srv/nbgrader/exchange")
"""Where nbgrader keeps what a class hands in, unless it is told otherwise."""


def self_test(sandboxes: Sequence[Sandbox], limits: Limits, secret: Sequence[Path] = ()) -> None:
    """Try to break out of the first sandbox (the others are started alike). Raises `SandboxFault` naming what was not
    held back: also a file of `secret` that can be seen there. The limits of time are not tried: a machine may be busy.
    """
    patient = replace(limits, call=60.0, function=60.0, cells=60.0, job=240.0)
    with tempfile.NamedTemporaryFile() as host_file:
        hidden = [host_file.name, str(COURSE), os.path.expanduser("~/.bashrc"), "/etc/passwd", "/etc/shadow", "/sys/fs"]
        hidden += [*EXCHANGES, *map(str, secret)]
        kept = ["/", "/usr", "/engine", "/library", str(Path(os.__file__).parent), "/proc", "/etc"]
        calls = (
            Call("network", {"args": [2]}, public=True),  # AF_INET
            Call("network", {"args": [40]}, public=True),  # AF_VSOCK, which no network namespace holds
            Call("seen", {"args": [hidden]}, public=True),
            Call("writable", {"args": [kept]}, public=True),
            Call("processes", {"args": [limits.processes + 1]}, public=True),
            Call("memory", {"args": [limits.memory * 5 // 4]}, public=True),  # what Python gives back counts
            Call("file", {"args": [limits.file + 1]}, public=True),
            Call("become_root", {"args": []}, public=True),
            Call("user", {"args": []}, public=True),
        )
        answered = Conversation(Job("self-test", (PROBES,), calls), sandboxes[0], patient).answered()
    ipv4, vsock, seen, written, processes, memory, file, root, user = answered.replies
    found = [say("fault", "network", outcome=reply.outcome) for reply in (ipv4, vsock) if not _refused(reply)]
    for name, reply in (("seen", seen), ("writable", written), ("processes", processes), ("user", user)):
        if reply.outcome != "value":
            found.append(say("fault", "broken", probe=name, outcome=reply.outcome, error=reply.error))
    if seen.value:
        found.append(say("fault", "seen", paths=", ".join(seen.value)))
    if written.value:
        found.append(say("fault", "writable", paths=", ".join(written.value)))
    if processes.outcome == "value" and not 0 < processes.value <= limits.processes:
        found.append(say("fault", "processes", count=processes.value, most=limits.processes))
    if memory.outcome != "memory":
        found.append(say("fault", "memory", most=limits.memory, outcome=memory.outcome))
    if not _refused(file):
        found.append(say("fault", "file", most=limits.file, outcome=file.outcome))
    if user.value == 0 or not _refused(root) or any(_is_root(sandbox.pid) for sandbox in sandboxes):
        found.append(say("fault", "root"))
    if found:
        raise SandboxFault(say("fault", "fault", what="; ".join(found)))


def _refused(reply: Reply) -> bool:
    return reply.outcome == "raised" and reply.error.startswith(("PermissionError", "OSError"))


def _is_root(pid: int) -> bool:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Uid:")]
    return "0" in line.split()[1:]
