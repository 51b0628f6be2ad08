"""What all tests share: a record of their own, static cards for the notebooks, and the time of each tier."""

import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # `tools` is part of the checkout, not of the package


def pytest_configure(config):
    """Kernels started by nbval and by tests inherit this environment; the machine's profile stays the user's own."""
    config.pluginmanager.register(Tiers())
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
