"""The toy unit, built once; submissions to it; grading them with a course key of the test's own."""

import contextlib
import csv
import functools

import pytest

from course_lib.grading import run
from course_lib.grading.intake.task import Task
from course_lib.grading.sandbox.engine import Engine
from course_lib.grading.seeds import new_key, write_key
from tests.grading.toy import UNIT, HandedIn, write_unit


@pytest.fixture(scope="session", autouse=True)
def alembic():
    """For each new gradebook nbgrader asks alembic, in a process of some seconds, what it was told before."""
    with contextlib.suppress(ImportError):
        from nbgrader import api

        api.get_alembic_version = functools.cache(api.get_alembic_version)


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A checkout with the toy unit alone."""
    root = tmp_path_factory.mktemp("toy") / "checkout"
    write_unit(root)
    return root


@pytest.fixture(scope="session")
def task(root) -> Task:
    return Task.load(root, UNIT)


@pytest.fixture(scope="session")
def shared():
    """In place of `Engine`: one that is started once and serves all tests. The tests' own code needs no sandbox."""

    class Shared:
        running = None

        def __init__(self, secret=()):
            pass

        def __enter__(self):
            if Shared.running is None:
                Shared.running = Engine(unsafe=True, workers=1).__enter__()
            return Shared.running

        def __exit__(self, kind, *_):
            if kind:  # a run that is broken off closes its engine
                Shared.running = None

    yield Shared
    if Shared.running:
        Shared.running.close()


@pytest.fixture
def handed_in(root, tmp_path) -> HandedIn:
    return HandedIn(root, tmp_path / "course")


@pytest.fixture
def grade(handed_in, tmp_path, monkeypatch, shared):
    """grade(**options): grade all that was handed in; the rows of the CSV by student."""
    key = tmp_path / "course.key"
    write_key(key, new_key())
    monkeypatch.setattr(run, "Engine", shared)

    def graded(gradebook=False, **options):
        options = {"key": key, "gradebook": gradebook, **options}
        graded.lines = run.grade(handed_in.root, handed_in.submitted, handed_in.roster, **options)
        graded.csv = handed_in.folder / "grades" / UNIT / "grades.csv"
        with open(graded.csv, newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    graded.key = key
    return graded
