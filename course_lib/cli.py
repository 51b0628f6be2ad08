"""The `course` command. Every subcommand imports what it needs when it is called, and an expected error is one line,
not a traceback.

Exit codes: 0 done; 2 it could not be done, and the last line says why; 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence

NO_RECORD = "no record was found from here; change into your copy of the course (my_course) and run this again."


def main(argv: Sequence[str] | None = None) -> int:
    """Run `course ARGV` and return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("course: interrupted", file=sys.stderr)
        return 130
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        print(f"course {arguments.command}: {_one_line(problem)}", file=sys.stderr)
        return 2


def _one_line(problem: BaseException) -> str:
    if isinstance(problem, ModuleNotFoundError):
        return f"the package {problem.name!r} is not installed here; `make lab` sets up an environment that has it."
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename}" if problem.filename else problem.strerror
    return " ".join(str(problem).split()) or type(problem).__name__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="course", description="Where Did the FLOPs Go? A course on deep-learning performance."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(run=run)
        return sub

    doctor = command("doctor", _doctor, "Measure this machine (about 20 s), keep its profile, and say what it has.")
    doctor.add_argument(
        "--if-stale", action="store_true", help="measure only where no kept profile fits this machine and torch"
    )

    lab = command("lab", _lab, "Bring your copy of the course up to date and open it in JupyterLab.")
    lab.add_argument("arguments", nargs="*", metavar="ARG", help="passed on to JupyterLab; write them behind --")

    build = command("build", _build, "For maintainers: build notebooks and exercises from lessons/.")
    build.add_argument("unit", nargs="*", metavar="UNIT", help="units to build, by prefix or folder (default: all)")
    build.add_argument("--all", action="store_true", help="execute every unit again")
    build.add_argument("--lint", action="store_true", help="only check the sources")
    build.add_argument("--check", action="store_true", help="only check that what is built fits its sources")

    new = command("new", _new, "For maintainers: make the folder of a new unit, which builds and tests green at once.")
    new.add_argument("unit", metavar="UNIT", help="its folder, <prefix>_<words>, such as q09_thousand_dollars")
    new.add_argument("title", metavar="TITLE", help='its title, such as "Q9. What can a thousand dollars train?"')

    record = command("record", _record, "Measure this machine with every experiment and write one recording.")
    record.add_argument(
        "--on",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="device to record (default: the GPU if there is one)",
    )
    record.add_argument(
        "--only", nargs="+", metavar="NAME", help="experiments to renew in the recording (default: all)"
    )
    record.add_argument("--out", metavar="FILE", help="file to write (default: the course's own folder of recordings)")
    record.add_argument("--quick", action="store_true", help="few repeats, to try the recorder out")
    record.add_argument("--check", metavar="FILE", help="measure nothing; check that FILE is a valid recording")

    progress = command("progress", _progress, "Show what you have done and how good your guesses were.")
    files = progress.add_mutually_exclusive_group()
    files.add_argument(
        "--export", metavar="FILE", help="write your record to FILE: .json (everything) or .csv (a table)"
    )
    files.add_argument(
        "--import", dest="merged", metavar="FILE", help="add the events of an exported .json FILE to yours"
    )
    progress.add_argument("--force", action="store_true", help="let --export replace a file")

    release = command("release", _release, "For teachers: make the zip and the wheel that students get.")
    release.add_argument("--out", metavar="FOLDER", default="dist", help="folder to write to (default: dist)")

    grade = command("grade", _grade, "For teachers: grade submissions/<student>/<unit>/<unit>.ipynb in a sandbox.")
    grade.add_argument("submitted", metavar="SUBMITTED", help="folder with one folder for each student")
    grade.add_argument("--roster", required=True, metavar="CSV", help="who has a row: student, first_name, last_name")
    grade.add_argument("--unit", nargs="+", metavar="UNIT", help="units to grade (default: all that were handed in)")
    grade.add_argument(
        "--course", metavar="FOLDER", help="folder of gradebook.db, autograded and grades (default: beside SUBMITTED)"
    )
    grade.add_argument(
        "--key", metavar="FILE", help="course key (default: $COURSE_KEY, or one in your settings, made when missing)"
    )
    grade.add_argument("--no-gradebook", action="store_true", help="write the tables only, nothing for nbgrader")
    return parser


def _doctor(arguments) -> int:
    from course_lib import experiments
    from course_lib.accounting import hardware

    report = experiments.doctor(refresh=not arguments.if_stale)
    print(report.text())
    if report.problem:
        raise ValueError(report.problem)
    print(f"kept in {hardware.profile_path()}")
    return 0


def _lab(arguments) -> int:
    from course_lib.teaching.lab import my_course

    return my_course.main(arguments.arguments)


def _build(arguments) -> int:
    options = [f"--{name}" for name in ("all", "lint", "check") if getattr(arguments, name)]
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
        raise ValueError(
            f"this is an installed course without its sources; {command} works in a checkout of the repository only."
        )
    return checkout


def _record(arguments) -> int:
    from course_lib.experiments.recordings import taking

    if arguments.check:
        print(taking.check(arguments.check))
        return 0
    path, complete = taking.record(
        on=arguments.on, only=arguments.only, out=arguments.out, quick=arguments.quick, apart=True
    )
    print(f"recorded in {path}")
    return 0 if complete else 130


def _progress(arguments) -> int:
    from course_lib.teaching.lab import my_course
    from course_lib.teaching.record import exchange, progress
    from course_lib.teaching.record.record import Record, find

    start = None if find() else my_course.copy_folder()
    if find(start) is None:
        raise ValueError(NO_RECORD)
    if arguments.export:
        print(exchange.export(Record.open(start), arguments.export, arguments.force))
    elif arguments.merged:
        print(exchange.merge(Record.open(start), arguments.merged))
    else:
        print(progress.progress(start))
    return 0


def _release(arguments) -> int:
    from pathlib import Path

    from course_lib.grading import release

    for path in release.release(_checkout("release"), Path(arguments.out)):
        print(path)
    return 0


def _grade(arguments) -> int:
    from course_lib.grading import command

    lines = command.grade(
        _checkout("grade"),
        arguments.submitted,
        arguments.roster,
        units=arguments.unit,
        course=arguments.course,
        key=arguments.key,
        gradebook=not arguments.no_gradebook,
    )
    print("\n".join(lines))
    return 0
