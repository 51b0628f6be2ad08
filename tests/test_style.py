"""The linters that CONTRIBUTING names are green: formatting, lint, and imports that only go down the storeys."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("command", [("ruff", "format", "--check", "."), ("ruff", "check", "."), ("lint-imports",)])
def test_linter(command):
    program, *arguments = command
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
