"""Every test file of the repository is run by the README's own command."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
LEAVINGS = {".venv", ".git", "my_course", "dist", "node_modules", "__pycache__", ".ipynb_checkpoints", ".hypothesis"}
# Pytest says of each file whether it would collect it, and imports none.
PLUGIN = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    if (yield):
        print("collected:", file_path)
    return []
"""


def commands(root: Path) -> list[list[str]]:
    """The arguments of every pytest that `make test` starts, without running any."""
    recipe = subprocess.run(["make", "-n", "test"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [found.split() for found in re.findall(r"-m pytest ([^;|&\n]*)", recipe)]


def collected(root: Path, plugins: Path) -> set[Path]:
    """The files that those commands collect."""
    (plugins / "said_of_files.py").write_text(PLUGIN)
    found = set()
    for arguments in commands(root):
        options = ["--collect-only", "-q", "-s", "-p", "said_of_files", "-o", f"pythonpath={plugins}"]
        said = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *options], cwd=root, capture_output=True, text=True
        )
        assert said.returncode in (0, 5), said.stdout + said.stderr  # 5: no test, for no file was opened
        found |= {Path(path) for path in re.findall(r"^collected: (.+)$", said.stdout, re.MULTILINE)}
    return found


def test_files(root: Path) -> set[Path]:
    """Modules with tests, whatever they are called, and notebooks."""
    files = [path for path in root.rglob("*") if not LEAVINGS & set(path.relative_to(root).parts)]
    modules = {path for path in files if path.suffix == ".py" and has_tests(path)}
    return modules | {path for path in files if path.suffix == ".ipynb" and path.parent == root / "notebooks"}


def has_tests(module: Path) -> bool:
    text = module.read_text(encoding="utf-8")
    if re.match(r"test_.*|.*_test", module.stem):
        return True
    if "test_" not in text or "tests" not in module.parts:
        return False
    return any(isinstance(each, ast.FunctionDef) and each.name.startswith("test_") for each in ast.parse(text).body)


test_files.__test__ = False


def test_the_readme_names_the_command():
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands(ROOT)) == 2, "what is not timed, in parallel; then the timed notebooks alone"


def test_every_test_file_is_collected(tmp_path):
    found = test_files(ROOT)
    assert len(found) > 100
    assert found - collected(ROOT, tmp_path) == set()


@pytest.mark.parametrize("name", ["tests/build/test_x.py", "tests/teaching/odd_name.py", "lessons/q05/test_x.py"])
def test_a_file_that_pytest_passes_over_is_found(tmp_path, name):
    """`build` is among the folders that pytest does not enter by itself."""
    root = tmp_path / "course"
    for path in (name, "tests/test_y.py"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("def test_one():\n    pass\n")
    (root / "Makefile").write_text("test:\n\tpython -m pytest tests\n")
    found = collected(root, tmp_path)
    assert found == {root / "tests" / "test_y.py"}
    assert test_files(root) - found == {root / name}
