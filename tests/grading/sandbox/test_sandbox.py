"""The sandbox itself: whom its processes belong to, that it dies with the grader, and that a leak in it is found."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from course_lib.grading.sandbox import sandbox
from course_lib.grading.sandbox.conversation import Call, Job
from course_lib.grading.sandbox.engine import Engine, SandboxFault, SandboxMissing
from tests.grading.sandbox.conftest import SHORT, alive, tree

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
GRADER = """
from course_lib.grading.sandbox.engine import Call, Engine, Job
if __name__ == "__main__":
    with Engine(workers=1) as engine:
        print(engine.sandboxes[0].pid, flush=True)
        cell = "import subprocess\\ndef f(x):\\n    subprocess.Popen(['sleep', '1000'])\\n    while True: pass"
        for one in engine.run(Job(str(n), (cell,), (Call("f", {"args": [1]}),)) for n in range(9)):
            print(one, flush=True)
"""


def user_of(pid: int) -> set[str]:
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("Uid:")]
    return set(line.split()[1:])


def test_a_zygote_that_does_not_say_the_time_is_asked_nothing_more(monkeypatch):
    """What it says late of the time must not be read as how a job ended, nor as no number that no limit stops."""
    monkeypatch.setattr(sandbox, "READY", 0.1)
    for dead in (False, True):
        one = sandbox.Sandbox(SHORT)
        one._control, zygote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        monkeypatch.setattr(one, "_restart", lambda: "lost")
        with one._control, zygote:
            if dead:
                zygote.shutdown(socket.SHUT_WR)
            with pytest.raises(OSError, match="gone" if dead else "timed out"):
                one.used()
            if not dead:
                zygote.send(b"0.5")
            assert one.end() == "lost"


def test_no_process_of_it_is_roots(engine):
    pids = {one.pid for each in engine.sandboxes for one in tree(each.pid)}
    assert len(pids) >= 3 * len(engine.sandboxes)
    assert not any("0" in user_of(pid) for pid in pids)


def test_a_job_sees_no_other_process_no_capability_and_no_descriptor_but_its_own(engine):
    cell = """
import os
def f():
    status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
    return {
        "processes": [name for name in os.listdir("/proc") if name.isdigit()],
        "effective": int(status["CapEff"], 16), "permitted": int(status["CapPrm"], 16),
        "no new": status["NoNewPrivs"], "filtered": status["Seccomp"],
        "descriptors": len(os.listdir("/proc/self/fd")), "home": os.listdir("."), "user": os.getuid(),
    }
"""
    (answered,) = engine.run([Job("one", (cell,), (Call("f", {"args": []}),))])
    assert answered.replies[0].value == {
        "processes": ["1"],
        "effective": 0,
        "permitted": 0,
        "no new": "1",
        "filtered": "2",
        "descriptors": 5,  # three that are /dev/null, the channel, and the folder that is being listed
        "home": [],
        "user": 1000,
    }


def _without_limit(name: str, enough: int, **instead) -> tuple:
    def change(settings: dict) -> dict:
        return settings | {"limits": settings["limits"] | {name: enough}} | instead

    return "_settings", change


def _before_the_last_mount(*options: str) -> tuple:
    def change(command: list[str]) -> list[str]:
        at = len(command) - command[::-1].index("--remount-ro")
        return [*command[: at - 1], *options, *command[at + 1 :]]  # instead of the root's --remount-ro

    return "_bubblewrap", change


WEAK = {
    "a file of the machine": (*_before_the_last_mount("--ro-bind", "/etc", "/etc", "--remount-ro", "/"), "/etc/passwd"),
    "a root that can be written": (*_before_the_last_mount(), "outside the scratch folder can be written"),
    "no limit of processes": (*_without_limit("NPROC", 400), "processes, where 32 are allowed"),
    "no limit of files": (*_without_limit("FSIZE", 1 << 40), "make a file larger than"),
    "no limit of memory": (*_without_limit("CPU", 60, memory=1 << 40), "take more memory than"),
}


@pytest.mark.parametrize("weak", WEAK)
def test_a_leak_in_it_stops_the_run(monkeypatch, engine, weak):
    name, change, said = WEAK[weak]
    strong = getattr(sandbox, name)
    monkeypatch.setattr(sandbox, name, lambda *args: change(strong(*args)))
    with pytest.raises(SandboxFault, match=said), Engine(limits=SHORT, workers=1):
        pass


def test_a_secret_file_that_can_be_seen_stops_the_run(engine, tmp_path, monkeypatch):
    """A course that is kept among the packages of Python, and one that is not."""
    roster = tmp_path / "roster.csv"
    roster.write_text("student\n")
    with Engine(limits=SHORT, workers=1, secret=[roster]):
        pass
    packages = sandbox._packages()
    monkeypatch.setattr(sandbox, "_packages", lambda: [*packages, tmp_path])
    _open_to_all(tmp_path)
    with pytest.raises(SandboxFault, match=r"can be seen in it: .*roster\.csv"):
        Engine(limits=SHORT, workers=1, secret=[roster]).__enter__()


def test_a_course_beside_python_is_not_seen(engine, tmp_path, monkeypatch):
    """Of a prefix only the programs and the libraries are there, not what else lies in it."""
    for part in ("lib", "submitted"):
        (tmp_path / part).mkdir()
    (tmp_path / "submitted" / "ada.ipynb").write_text("{}")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    assert tmp_path / "lib" in sandbox._python_folders()
    _open_to_all(tmp_path)
    with Engine(limits=SHORT, workers=1, secret=[tmp_path / "submitted" / "ada.ipynb"]):
        pass


def _bind(path: Path, place, like: Path | None = None) -> str:
    """The shell's words for binding a folder, or a file, to a place that is made for it."""
    make = f"mkdir -p {place}" if (like or path).is_dir() else f"mkdir -p {Path(place).parent}; touch {place}"
    return f"{make}; mount --bind {path} {place}"


def _open_to_all(folder: Path) -> None:
    """The sandbox of a root grader belongs to another user, who cannot enter pytest's folders."""
    for path in (folder, *folder.parents[:3]):
        if path.stat().st_uid == os.getuid():
            path.chmod(0o755)


def test_without_bubblewrap_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match=r"bwrap.* is not on PATH: install bubblewrap"), Engine(workers=1):
        pass


def test_elsewhere_than_on_linux_it_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxMissing, match="graded runs need Linux"), Engine(workers=1):
        pass


def test_where_the_kernel_makes_no_namespaces_it_says_what_to_do(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n")
    fake.chmod(0o755)
    _open_to_all(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(SandboxMissing, match=r"Operation not permitted.*user namespaces allowed"), Engine(workers=1):
        pass


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_dies_with_the_grader(engine, tmp_path, how):
    script = tmp_path / "grader.py"
    script.write_text(GRADER)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as grader:
        pid = int(grader.stdout.readline())
        started = tree(pid)
        assert len(started) >= 3
        grader.send_signal(how)
        grader.wait(90)
    assert alive(started) == set()


@pytest.mark.skipif(
    os.getuid() != 0, reason="needs root, to become somebody else; the other tests run as an ordinary user"
)
def test_an_ordinary_user_gets_the_same_sandbox(engine, tmp_path):
    script = tmp_path / "grader.py"
    script.write_text(
        textwrap.dedent("""
            import os
            from course_lib.grading.sandbox.engine import Call, Engine, Job
            if __name__ == "__main__":
                assert os.getuid() == 12345
                with Engine(workers=1) as engine:
                    calls = (Call("f", {"args": [2]}), Call("g", {"args": []}))
                    cell = "import os, torch\\ndef f(x): return torch.ones(x).sum()\\ndef g(): os.kill(-1, 9)"
                    (one,) = engine.run([Job("one", (cell,), calls)])
                    print([reply.value for reply in one.replies])
        """)
    )
    _open_to_all(tmp_path)
    # What lies under a home that only root can enter is laid open in a private view of the files.
    commands = ["set -e", "mount -t tmpfs -o mode=755 tmpfs /media"]
    folders = [*sandbox._python_folders(), ROOT]
    commands += [_bind(folder, f"/media/{n}") for n, folder in enumerate(folders)]
    homes = {Path(*folder.parts[:2]) for folder in folders if Path(*folder.parts[:2]).stat().st_mode & 0o005 != 0o005}
    commands += [f"mount -t tmpfs -o mode=755 tmpfs {home}" for home in homes]
    commands += [
        _bind(Path(f"/media/{n}"), folder, like=folder)
        for n, folder in enumerate(folders)
        if folder.parents[-2] in homes
    ]
    commands.append('exec setpriv --reuid=12345 --regid=12345 --clear-groups "$@"')
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            "\n".join(commands),
            "sh",
            sys.executable,
            script,
        ],
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.strip() == "[2.0, None]", done.stderr
