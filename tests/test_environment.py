"""environment.yml, pyproject.toml and constraints.txt say the same; nothing but packages is fetched."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins() -> dict[str, Requirement]:
    lines = (line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    requirements = [Requirement(line) for line in lines if line]
    assert all(re.fullmatch(r"==[^,*+]+", str(r.specifier)) for r in requirements), "each line pins one public version"
    assert len({canonicalize_name(r.name) for r in requirements}) == len(requirements), "a package is pinned once"
    return {canonicalize_name(r.name): r for r in requirements}


def conda() -> tuple[list[str], list[str]]:
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    return [d for d in dependencies if isinstance(d, str)], next(d["pip"] for d in dependencies if isinstance(d, dict))


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_dependency_is_pinned_inside_its_range(extra):
    pinned = pins()
    for requirement in map(Requirement, EXTRAS[extra]):
        pin = pinned[canonicalize_name(requirement.name)]
        (version,) = (specifier.version for specifier in pin.specifier)
        assert requirement.specifier.contains(version), f"{requirement} excludes the pinned {version}"


def test_conda_has_the_lab_extra_and_nbval_at_the_pinned_versions():
    pinned = pins()
    _, pip_lines = conda()
    listed = {
        canonicalize_name(requirement.name): requirement.specifier
        for line in pip_lines
        if not line.startswith("-")
        for requirement in [Requirement(line)]
    }
    assert set(listed) == {canonicalize_name(Requirement(r).name) for r in EXTRAS["lab"]} | {"nbval"}
    assert {name: str(specifier) for name, specifier in listed.items()} == {
        name: str(pinned[name].specifier) for name in listed
    }
    assert "-c constraints.txt" in pip_lines
    assert "-e ." in pip_lines


def test_conda_python_is_one_that_the_project_supports():
    python = next(d for d in conda()[0] if d.startswith("python="))
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python.removeprefix("python="))


def test_the_users_packages_are_all_there():
    """Given by the course's owner: these six must be installable from the environment file."""
    listed = {re.split(r"[=<>]", line)[0] for line in conda()[1]}
    assert {"jupyterlab", "ipywidgets", "torch", "matplotlib", "nbval", "numpy"} <= listed


def test_the_calculators_need_no_package():
    assert PROJECT["dependencies"] == []


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"\.PHONY: (.+)", makefile)[1].split())
    described = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    assert targets == described


def test_every_pin_can_be_installed_on_the_oldest_python_that_is_promised():
    """A pin may ask for a later patch release than `requires-python` does: Debian 12 has 3.11.2."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    installed = {canonicalize_name(d.name): d.metadata["Requires-Python"] for d in distributions()}
    asked = {name: installed.get(name) for name in pins()}
    assert [name for name, range_ in asked.items() if range_ and not SpecifierSet(range_).contains(oldest)] == []
