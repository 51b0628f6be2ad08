"""What all tests share: a record of their own, static cards for the notebooks, and the time of each tier."""

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `tools` is part of the checkout, not of the package


def pytest_configure(config):
    """Kernels started by nbval and by tests inherit this environment; the machine's profile stays the user's own."""
    config.pluginmanager.register(Tiers())
    slow = [HealthCheck.too_slow]  # a busy machine is no fault, and what is drawn is the same in every run
    settings.register_profile("course", deadline=None, derandomize=True, suppress_health_check=slow)
    settings.load_profile("course")
    if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported, here and in kernels: one worker, one processor
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["COURSE_STATIC"] = "1"
    os.environ["COURSE_HOME"] = tempfile.mkdtemp(prefix="course-home-")  # no test touches a learner's record
    if config.pluginmanager.hasplugin("nbval") and not config.option.nbval_sanitize_with:
        config.option.nbval_sanitize_with = str(ROOT / "tests" / "sanitize.cfg")


def pytest_unconfigure(config):
    shutil.rmtree(os.environ.pop("COURSE_HOME", ""), ignore_errors=True)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A learner's folder with an empty record, as the current folder, in a process that has recorded nothing yet."""
    from course_lib.teaching.record import record

    (tmp_path / ".course").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_HOME", raising=False)
    monkeypatch.delenv("COURSE_STATIC", raising=False)
    monkeypatch.setattr(record, "_pending", {})
    monkeypatch.setattr(record, "_said", set())
    return tmp_path


@pytest.fixture(scope="session")
def refuses():
    """refuses(call, says): `call()` raises a ValueError of one line that holds every part of `says`."""

    def raises(call, says):
        with pytest.raises(ValueError, match=r"\A.*\Z") as caught:
            call()
        assert [part for part in says if part not in str(caught.value)] == []

    return raises


WITHOUT = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {names!r} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


@pytest.fixture(scope="session")
def without():
    """without(names): a program after which these packages are as if not installed, to importlib.util.find_spec too."""
    return lambda names: WITHOUT.format(names=set(names))


class Tiers:
    """Seconds by tier: the first folder below tests/, or `notebooks`.

    A plugin, because the hooks of a conftest hear of no test outside its folder.
    """

    def __init__(self):
        self.seconds = defaultdict(float)

    def pytest_runtest_logreport(self, report):
        folder, *rest = report.nodeid.partition("::")[0].split("/")
        self.seconds[rest[0] if folder == "tests" and len(rest) > 1 else folder] += report.duration

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("seconds of each tier")
        for tier, seconds in sorted(self.seconds.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{seconds:8.1f}  {tier}")
