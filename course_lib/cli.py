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
            arguments = parser.parse_args(argv)
            return arguments.run(arguments) or 0
        finally:
            sys.stdout.flush()  # what is short meets its reader here, not when the interpreter ends
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(say("interrupted"), file=sys.stderr)
        return 130
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        print(f"course {arguments.command}: {_one_line(problem)}", file=sys.stderr)
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
    build.add_argument("--all", action="store_true", help=say("build", "all"))
    build.add_argument("--lint", action="store_true", help=say("build", "lint"))
    build.add_argument("--check", action="store_true", help=say("build", "check"))
    build.add_argument("--draft", action="store_true", help=say("build", "draft"))
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
    grade.add_argument("--unit", nargs="+", metavar="UNIT", help=say("grade", "unit"))
    grade.add_argument("--student", nargs="+", default=[], metavar="ID", help=say("grade", "student"))
    grade.add_argument("--again", action="store_true", help=say("grade", "again"))
    grade.add_argument("--private", metavar="FOLDER", help=say("grade", "private"))
    grade.add_argument("--course", metavar="FOLDER", help=say("grade", "course"))
    grade.add_argument("--key", metavar="FILE", help=say("grade", "key"))
    grade.add_argument("--no-gradebook", action="store_true", help=say("grade", "no-gradebook"))
    return parser


def _doctor(arguments) -> int:
    from course_lib import experiments
    from course_lib.accounting import hardware

    report = experiments.doctor(refresh=not arguments.if_stale)
    print(report.text())
    if report.problem:
        raise ValueError(report.problem)
    print(say("kept", path=hardware.profile_path()))
    return 0


def _lab(arguments) -> int:
    from course_lib.teaching.lab import my_course

    return my_course.main(arguments.arguments)


def _build(arguments) -> int:
    options = [f"--{name}" for name in ("all", "lint", "check", "draft") if getattr(arguments, name)]
    if arguments.private:
        from course_lib.grading import private

        if arguments.unit:
            raise ValueError("--private builds all units of its folder; leave their names out")

        return private.build(_checkout("build"), Path(arguments.private).absolute(), options)
    return _tool("build", *arguments.unit, *options)


def _new(arguments) -> int:
    return _tool("new", arguments.unit, arguments.title)


def _tool(name: str, *arguments: str) -> int:
    """Run a maintainer's tool, which lies beside the library in a checkout."""
    import subprocess

    return subprocess.run([sys.executable, "-m", f"tools.{name}", *arguments], cwd=_checkout(name)).returncode


def _checkout(command: str):
    """The folder of the repository that this library was installed from."""
    from course_lib import units

    checkout = units.checkout()
    if checkout is None:
        raise ValueError(say("no-checkout", command=command))
    return checkout


def _record(arguments) -> int:
    from course_lib.experiments.recordings import taking

    if arguments.check:
        print(taking.check(arguments.check))
        return 0
    path, complete = taking.record(
        on=arguments.on, only=arguments.only, out=arguments.out, quick=arguments.quick, apart=True
    )
    print(say("recorded", path=path))
    return 0 if complete else 130


def _progress(arguments) -> int:
    from course_lib.teaching.lab import my_course
    from course_lib.teaching.record import exchange, progress
    from course_lib.teaching.record.record import Record, find

    start = None if find() else my_course.copy_folder()
    if find(start) is None:
        raise ValueError(say("no-record"))
    if arguments.export:
        print(exchange.export(Record.open(start), arguments.export, arguments.force))
    elif arguments.merged:
        print(exchange.merge(Record.open(start), arguments.merged))
    else:
        print(progress.progress(start))
    return 0


def _release(arguments) -> int:
    from course_lib.grading import release

    place = Path(arguments.private).absolute() if arguments.private else None
    print("\n".join(release.release_lines(_checkout("release"), Path(arguments.out), place)))
    return 0


def _grade(arguments) -> int:
    from course_lib.grading import command

    lines = command.grade(
        _checkout("grade"),
        arguments.submitted,
        arguments.roster,
        units=arguments.unit,
        only=arguments.student,
        again=arguments.again,
        private=arguments.private,
        course=arguments.course,
        key=arguments.key,
        gradebook=not arguments.no_gradebook,
    )
    print("\n".join(lines))
    return 0
