"""The learner's own copy of the course, `my_course/`, and JupyterLab opened on it (`make lab`, `course lab`).

The copy holds `notebooks/` and `exercises/` as they were shipped, outputs cleared, and `.course/` with the record and,
under `.course/base/`, the shipped text that each file was last compared with. A notebook counts as changed when the
source, order or count of its cells differs from that base; outputs alone are no change. An update brings new versions
in, keeps the outputs of cells that stayed the same, and never writes over what the learner changed: theirs stays and
the new one is laid beside it.
"""

import json
import os
import sys
import tempfile
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import course_lib

SHIPPED = ("notebooks", "exercises")
START = "notebooks/00_start_here.ipynb"
BASE = Path(".course", "base")
SETTINGS = Path(__file__).parent / "jupyter_config"  # no questions about news and updates, and `lab_server.py`; no more

NOTHING_SHIPPED = "No notebooks are here to open: {folder} has none. In a checkout, run `make build` first."
NOT_WRITABLE = "The course cannot be copied to {folder} ({reason}). Run this in a folder that you can write to."
NO_JUPYTER = "JupyterLab is not installed here. Get it with: pip install 'where-did-the-flops-go[lab]'"
BESIDE = "{mine} has your changes and stays as it is; its new version lies beside it as {new}."


def main(args: Sequence[str] = ()) -> int:
    """Make or update the learner's copy, then become JupyterLab on it; `args` are handed to JupyterLab.

    Returns an exit code only where that fails; what is wrong is said in one line.
    """
    source, target = shipped(), copy_folder()
    if not any(_files(source)):
        return _fail(NOTHING_SHIPPED.format(folder=source))
    try:
        lines = update(source, target)
    except OSError as error:
        return _fail(NOT_WRITABLE.format(folder=target, reason=error.strerror or type(error).__name__))
    for line in lines:
        print(line)
    try:
        import jupyterlab  # noqa: F401
    except ImportError:
        return _fail(NO_JUPYTER)
    command, environment = lab(target, args)
    os.chdir(target)
    sys.stdout.flush()
    os.execve(command[0], command, environment)  # Ctrl-C then reaches JupyterLab alone


def lab(target: Path, args: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that open JupyterLab on a copy. The user's own settings win over ours."""
    # The default URL, and not a file to open: that one JupyterLab forgets with --no-browser.
    opened = [f"--ServerApp.root_dir={target}", f"--LabApp.default_url=/lab/tree/{START}"]
    command = [sys.executable, "-m", "jupyter", "lab", *opened, *args]
    settings = [str(SETTINGS), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    return command, {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(settings)}


def shipped() -> Path:
    """The folder that holds the shipped notebooks and exercises: the checkout's root, or `_shipped` in an installed
    wheel.
    """
    return _checkout() or Path(course_lib.__file__).parent / "_shipped"


def copy_folder() -> Path:
    """Where the learner's copy is or will be: in the checkout; from a wheel, the copy that holds the current folder,
    else below it.
    """
    if root := _checkout():
        return root / "my_course"
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".course").is_dir()), here / "my_course")


def _checkout() -> Path | None:
    root = Path(course_lib.__file__).resolve().parent.parent
    return root if (root / "lessons").is_dir() and (root / "pyproject.toml").is_file() else None


def _fail(line: str) -> int:
    print(line, file=sys.stderr)
    return 1


# ---- Copy and update ---------------------------------------------------------------------------------------------


def update(source: Path, target: Path) -> list[str]:
    """Bring `target` up to date with the files shipped in `source`; one line for each that the learner's changes kept
    back.
    """
    (target / BASE).mkdir(parents=True, exist_ok=True)
    lines = [_update_file(name, cleared(name, (source / name).read_bytes()), target) for name in _files(source)]
    return [line for line in lines if line]


def _files(source: Path) -> Iterator[Path]:
    for top in SHIPPED:
        for path in sorted((source / top).rglob("*")):
            if path.is_file() and not any(part.startswith((".", "__")) for part in path.relative_to(source).parts):
                yield path.relative_to(source)


def _update_file(name: Path, new: bytes, target: Path) -> str | None:
    mine_path, base_path = target / name, target / BASE / name
    mine, base = _read(mine_path), _read(base_path)
    line = None
    if mine is None:
        _write(mine_path, new)
    elif _same(name, new, base) or _same(name, mine, new):
        pass  # nothing new was shipped, or the learner has it already
    elif _same(name, mine, base):
        _write(mine_path, with_outputs(new, mine) if name.suffix == ".ipynb" else new)
    else:
        beside = _beside(mine_path, base)
        _write(beside, new)
        line = BESIDE.format(mine=name, new=beside.name)
    if base != new:
        _write(base_path, new)  # last: an update that is cut short is done again
    return line


def _beside(path: Path, base: bytes | None) -> Path:
    """A name beside `path` that is free, or holds a version laid there before and not changed since."""
    names = (path.with_name(f"{path.stem}.new{suffix}{path.suffix}") for suffix in _suffixes())
    return next(name for name in names if (there := _read(name)) is None or _same(path, there, base))


def _suffixes() -> Iterator[str]:
    yield ""
    number = 2
    while True:
        yield f"-{number}"
        number += 1


def cells(notebook: bytes) -> list[tuple[str, str]] | None:
    """(type, source) of each cell in order; None where this is no notebook."""
    try:
        return [(cell["cell_type"], _source(cell)) for cell in json.loads(notebook)["cells"]]
    except (ValueError, KeyError, TypeError):
        return None


def _source(cell: dict) -> str:
    return "".join(cell["source"])  # a string or a list of lines, as nbformat allows


def cleared(name: Path, content: bytes) -> bytes:
    """A shipped file without outputs, so that nothing below a card gives its answer away."""
    if name.suffix != ".ipynb":
        return content
    notebook = json.loads(content)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    notebook["metadata"].pop("widgets", None)
    return _json(notebook)


def with_outputs(new: bytes, mine: bytes) -> bytes:
    """The new notebook with the outputs of those cells of `mine` whose source is the same."""
    notebook, outputs = json.loads(new), defaultdict(deque)
    for cell in json.loads(mine)["cells"]:
        if cell["cell_type"] == "code":
            outputs[_source(cell)].append((cell.get("outputs", []), cell.get("execution_count")))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and outputs[_source(cell)]:
            cell["outputs"], cell["execution_count"] = outputs[_source(cell)].popleft()
    return _json(notebook)


def _json(notebook: dict) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _same(name: Path, one: bytes | None, other: bytes | None) -> bool:
    """Whether two versions of a file are the same to a learner; a file that cannot be read as a notebook is the same
    as no other.
    """
    if one is None or other is None:
        return False
    if name.suffix != ".ipynb" or one == other:
        return one == other
    found = cells(one)
    return found is not None and found == cells(other)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> None:
    """Replace a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".update-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
