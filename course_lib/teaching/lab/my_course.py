"""The learner's own copy of the course, `my_course/`, and JupyterLab opened on it (`make lab`, `course lab`).

The copy holds `notebooks/` and `exercises/` as they were shipped, outputs cleared, and `.course/` with the record and,
under `.course/base/`, the shipped text that each file was last compared with. A notebook counts as changed when the
source, order or count of its cells differs from that base; outputs alone are no change. An update brings new versions
in, keeps the outputs of cells that stayed the same, and never writes over what the learner changed: theirs stays and
the new one is laid beside it.
"""

import errno
import importlib.util
import json
import logging
import os
import sys
import urllib.request
import webbrowser
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any

from course_lib import units
from course_lib.atomic import replace
from course_lib.words import words

say = words(__file__)

SHIPPED = ("notebooks", "exercises")
START = "notebooks/00_start_here.ipynb"
BASE = Path(".course", "base")
SETTINGS = Path(__file__).parent / "jupyter_config"  # no questions about news and updates, and `lab_server.py`; no more
DATA = Path(__file__).parent / "jupyter_data"  # a small extension: a link to a cell makes it the active one

NAMES = 6  # at most so many in one line


def main(args: Sequence[str] = ()) -> int:
    """Make or update the learner's copy, then become JupyterLab on it; `args` are handed to JupyterLab.

    A copy that is open in a JupyterLab already is left alone and shown again. Returns an exit code only where no
    JupyterLab is started; what is wrong is said in one line.
    """
    source, target = units.home(), copy_folder()
    if url := running(target):
        print(say("open-already", url=url))
        if "--no-browser" not in args:
            webbrowser.open(url)
        return 0
    if not any(_files(source)):
        return _fail(say("nothing-shipped", folder=source))
    try:
        lines = update(source, target)
    except OSError as error:
        return _fail(say("not-writable", folder=target, reason=error.strerror or type(error).__name__))
    for line in lines:
        print(line)
    if importlib.util.find_spec("jupyterlab") is None:
        return _fail(say("no-jupyter"))
    command, environment = lab(target, args)
    os.chdir(target)
    sys.stdout.flush()
    os.execve(command[0], command, environment)  # Ctrl-C then reaches JupyterLab alone


def running(target: Path) -> str | None:
    """The address of a JupyterLab on this machine that serves the copy and answers, with its token; None: there is
    none.
    """
    try:
        from jupyter_server.serverapp import list_running_servers
    except ImportError:
        return None
    with suppress(OSError):
        for server in list_running_servers(log=_quiet):
            if Path(server.get("root_dir", "")).resolve() == target.resolve() and _answers(server):
                return f"{server['url']}lab?token={server['token']}"
    return None


_quiet = logging.getLogger(f"{__name__}.quiet")
_quiet.disabled = True


def _answers(server: Mapping[str, Any]) -> bool:
    """Whether a server listens where its file says; after a crash the file stays behind."""
    request = urllib.request.Request(
        f"{server['url']}api/status", headers={"Authorization": f"token {server['token']}"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on this machine
    try:
        with direct.open(request, timeout=2):
            return True
    except (OSError, ValueError):
        return False


def lab(target: Path, args: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that open JupyterLab on a copy. The user's own settings win over ours."""
    # The default URL, and not a file to open: that one JupyterLab forgets with --no-browser.
    opened = [f"--ServerApp.root_dir={target}", f"--LabApp.default_url=/lab/tree/{START}"]
    # A shell of its own choice would be a login shell wherever no terminal is behind us, and that one forgets the PATH.
    shell = f"--ServerApp.terminado_settings={{'shell_command': [{os.environ.get('SHELL') or 'sh'!r}]}}"
    # Root is who runs every container; without this JupyterLab stops. `lab_server` says what is bound, and to whom.
    ours = ["--ServerApp.allow_root=True", shell] if os.name == "posix" else []
    command = [sys.executable, "-m", "jupyter", "lab", *opened, *ours, *args]
    added = {"JUPYTER_CONFIG_PATH": SETTINGS, "JUPYTER_PATH": DATA}
    paths = {name: os.pathsep.join([str(own), *filter(None, [os.environ.get(name)])]) for name, own in added.items()}
    # So that `course` and `python` in JupyterLab's terminals are the ones that run it.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return command, {**os.environ, "PATH": path, **paths}


def copy_folder() -> Path:
    """Where the learner's copy is or will be: in the checkout; from a wheel, the copy that holds the current folder,
    else below it.
    """
    if root := units.checkout():
        return root / "my_course"
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".course").is_dir()), here / "my_course")


def _fail(line: str) -> int:
    print(line, file=sys.stderr)
    return 1


# ---- Copy and update ---------------------------------------------------------------------------------------------


def update(source: Path, target: Path) -> list[str]:
    """Bring `target` up to date with the files shipped in `source`; lines that say what is new and what was kept back.

    One file that cannot be written keeps no other back; OSError where the copy can then not be opened at all.
    """
    (target / BASE).mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Path]] = {"made": [target]} if not any(_files(target / BASE)) else {}
    reason = ""
    for name in _files(source):
        try:
            news = _update_file(name, cleared(name, (source / name).read_bytes()), target)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            news = "stuck", name
        if news:
            found.setdefault(news[0], []).append(news[1])
    if not reason:
        found["gone"] = _forget(source, target)
    elif not (target / START).is_file():
        raise OSError(errno.EIO, reason)
    return _lines(found, reason)


def _files(source: Path) -> Iterator[Path]:
    """What a learner works with; the library's own data beside it (JSON) is none of it."""
    for top in SHIPPED:
        for path in sorted((source / top).rglob("*")):
            name = path.relative_to(source)
            hidden = any(part.startswith((".", "__")) for part in name.parts)
            if path.is_file() and path.suffix != ".json" and not hidden:
                yield name


def _update_file(name: Path, new: bytes, target: Path) -> tuple[str, Path] | None:
    """Bring one file up to date; which news it is and the name to say there, None for none."""
    mine_path, base_path = target / name, target / BASE / name
    mine, base = _read(mine_path), _read(base_path)
    news = None
    if mine is None:
        replace(mine_path, new)
        news = ("new" if base is None else "back"), name
    elif _same(name, new, base) or _same(name, mine, new):
        if name.suffix == ".ipynb" and cells(mine) is None:  # else nothing is new, or the learner has it already
            news = "damaged", name
    elif _same(name, mine, base):
        replace(mine_path, with_outputs(new, mine) if name.suffix == ".ipynb" else new)
        news = "renewed", name
    else:
        beside = _beside(mine_path, base)
        replace(beside, new)
        news = "beside", beside.relative_to(target)
    if base != new:
        replace(base_path, new)  # last: an update that is cut short is done again
    return news


def _forget(source: Path, target: Path) -> list[Path]:
    """Take files that are shipped no more out of the base, so that they are the learner's own; those still there."""
    gone = sorted(set(_files(target / BASE)) - set(_files(source)))
    for name in gone:
        (target / BASE / name).unlink()
    return [name for name in gone if (target / name).exists()]


def _lines(found: Mapping[str, Sequence[Path]], reason: str) -> list[str]:
    """What is said of an update, a line for each kind of news."""
    told = ("renewed", "back", "gone", "beside", "damaged", "stuck")
    lines = [say("made", folder=found["made"][0])] if "made" in found else []
    for kind in told if lines else ("new", *told):
        if names := list(map(str, found.get(kind, ()))):
            more = ["…"] if len(names) > NAMES else []
            lines.append(say("news", kind, names=", ".join(names[:NAMES] + more), reason=reason))
    return lines


def _beside(path: Path, base: bytes | None) -> Path:
    """A name beside `path` that is free, or holds a version laid there before and not changed since."""
    numbers = chain([""], (f"-{number}" for number in count(2)))
    names = (path.with_name(f"{path.stem}.new{number}{path.suffix}") for number in numbers)
    return next(name for name in names if (there := _read(name)) is None or _same(path, there, base))


def cells(notebook: bytes) -> list[tuple[str, str]] | None:
    """(type, source) of each cell in order; None where this is no notebook."""
    try:
        return [(cell["cell_type"], _source(cell)) for cell in json.loads(notebook)["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
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
