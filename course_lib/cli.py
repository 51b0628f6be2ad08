"""The `course` command. Every subcommand imports what it needs when it is called, and an expected error is one line,
not a traceback.

Exit codes: 0 done; 2 it could not be done, and the last line says why; 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from course_lib.words import words

say = words(__file__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `course ARGV` and return the exit code."""
    parser = _parser()
    try:
        try:
            options = vars(parser.parse_args(argv))
            name, run = options.pop("command"), options.pop("run")
            return run(**options) or 0
        finally:
            sys.stdout.flush()  # what is short meets its reader here, not when the interpreter ends
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(say("interrupted"), file=sys.stderr)
        return 130
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        print(f"course {name}: {_one_line(problem)}", file=sys.stderr)
        return 2


def _one_line(problem: BaseException) -> str:
    if isinstance(problem, ModuleNotFoundError):
        return say("no-package", package=problem.name)
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    return " ".join(str(problem).split()) or type(problem).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="course", description=say("description"))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run) -> argparse.ArgumentParser:
        text = say("commands", name)
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        return sub

    doctor = command("doctor", _doctor)
    doctor.add_argument("--if-stale", action="store_true", help=say("doctor", "if-stale"))

    lab = command("lab", _lab)
    lab.add_argument("arguments", nargs="*", metavar="ARG", help=say("lab", "arguments"))

    build = command("build", _build)
    build.add_argument("unit", nargs="*", metavar="UNIT", help=say("build", "unit"))
    for flag in ("all", "lint", "check", "draft"):
        build.add_argument(f"--{flag}", action="store_true", help=say("build", flag))
    build.add_argument("--private", metavar="FOLDER", help=say("build", "private"))

    new = command("new", _new)
    new.add_argument("unit", metavar="UNIT", help=say("new", "unit"))
    new.add_argument("title", metavar="TITLE", help=say("new", "title"))

    record = command("record", _record)
    record.add_argument("--on", choices=("auto", "cpu", "cuda"), default="auto", help=say("record", "on"))
    record.add_argument("--only", nargs="+", metavar="NAME", help=say("record", "only"))
    record.add_argument("--out", metavar="FILE", help=say("record", "out"))
    record.add_argument("--quick", action="store_true", help=say("record", "quick"))
    record.add_argument("--check", metavar="FILE", help=say("record", "check"))

    progress = command("progress", _progress)
    files = progress.add_mutually_exclusive_group()
    files.add_argument("--export", metavar="FILE", help=say("progress", "export"))
    files.add_argument("--import", dest="merged", metavar="FILE", help=say("progress", "import"))
    progress.add_argument("--force", action="store_true", help=say("progress", "force"))

    release = command("release", _release)
    release.add_argument("--private", metavar="FOLDER", help=say("release", "private"))
    release.add_argument("--out", metavar="FOLDER", default="dist", help=say("release", "out"))

    grade = command("grade", _grade)
    grade.add_argument("submitted", metavar="SUBMITTED", help=say("grade", "submitted"))
    grade.add_argument("--roster", required=True, metavar="CSV", help=say("grade", "roster"))
    grade.add_argument("--unit", dest="units", nargs="+", metavar="UNIT", help=say("grade", "unit"))
    grade.add_argument("--student", dest="only", nargs="+", default=(), metavar="ID", help=say("grade", "student"))
    grade.add_argument("--again", action="store_true", help=say("grade", "again"))
    grade.add_argument("--private", metavar="FOLDER", help=say("grade", "private"))
    grade.add_argument("--course", metavar="FOLDER", help=say("grade", "course"))
    grade.add_argument("--key", metavar="FILE", help=say("grade", "key"))
    grade.add_argument("--no-gradebook", dest="gradebook", action="store_false", help=say("grade", "no-gradebook"))
    return parser


def _doctor(if_stale: bool) -> None:
    from course_lib import experiments
    from course_lib.accounting import hardware

    report = experiments.doctor(refresh=not if_stale)
    print(report.text())
    if report.problem:
        raise ValueError(report.problem)
    print(say("kept", path=hardware.profile_path()))


def _lab(arguments: list[str]) -> int:
    from course_lib.teaching.lab import my_course

    return my_course.main(arguments)


def _build(unit: list[str], private: str | None, **flags: bool) -> int:
    options = [f"--{name}" for name, wanted in flags.items() if wanted]
    if not private:
        return _tool("build", *unit, *options)
    if unit:
        raise ValueError("--private builds all units of its folder; leave their names out")
    from course_lib.grading.private import build

    return build(_checkout("build"), Path(private).absolute(), options)


def _new(unit: str, title: str) -> int:
    return _tool("new", unit, title)


def _tool(name: str, *arguments: str) -> int:
    """Run a maintainer's tool, which lies beside the library in a checkout."""
    import subprocess

    return subprocess.run([sys.executable, "-m", f"tools.{name}", *arguments], cwd=_checkout(name)).returncode


def _checkout(command: str) -> Path:
    """The folder of the repository that this library was installed from."""
    from course_lib import units

    checkout = units.checkout()
    if checkout is None:
        raise ValueError(say("no-checkout", command=command))
    return checkout


def _record(check: str | None, **options) -> int:
    from course_lib.experiments.recordings import taking

    if check:
        print(taking.check(check))
        return 0
    path, complete = taking.record(**options, apart=True)
    print(say("recorded", path=path))
    return 0 if complete else 130


def _progress(export: str | None, merged: str | None, force: bool) -> None:
    from course_lib.teaching.lab import my_course
    from course_lib.teaching.record import exchange, progress
    from course_lib.teaching.record.record import Record, find

    start = None if find() else my_course.copy_folder()
    if find(start) is None:
        raise ValueError(say("no-record"))
    if export:
        print(exchange.export(Record.open(start), export, force))
    elif merged:
        print(exchange.merge(Record.open(start), merged))
    else:
        print(progress.progress(start))


def _release(private: str | None, out: str) -> None:
    from course_lib.grading.release import release_lines

    place = Path(private).absolute() if private else None
    print("\n".join(release_lines(_checkout("release"), Path(out), place)))


def _grade(**options) -> None:
    from course_lib.grading.run import grade

    print("\n".join(grade(_checkout("grade"), **options)))
