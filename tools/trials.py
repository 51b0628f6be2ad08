"""What every check is tried with: drawn inputs, mutants of its reference, a right answer in float32; and the drawn
inputs that the build gives to `check()`, because they notice most.

The trials of a unit are kept, by the hash of all that decides them, in `.trials/`, which git ignores: a unit that did
not change costs nothing.
"""

import fcntl
import hashlib
import json
import platform
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy

from course_lib import atomic
from course_lib.teaching.checks.check import Check, faults
from tools import dress, mutants
from tools.source import load_checks

KEPT = ".trials"
MUTANTS = "mutants.toml"
TOOLS = Path(__file__).parent
LIBRARY = TOOLS.parent / "course_lib"
CHECKS = "course_lib.teaching.checks"


@dataclass(frozen=True)
class Tried:
    """What is wrong with a check, in sentences, and the drawn inputs, each with its group, that learners get."""

    faults: list[str]
    drawn: list[tuple[str, dict]]


def tried(folder: Path, root: Path) -> dict[str, Tried]:
    """Check id -> what its trials showed; from those that are kept, where nothing changed."""
    kept = root / KEPT / f"{folder.name}.json"
    if (before := _read(kept, _digest(folder))) is not None:
        return before
    with _alone(kept.with_suffix(".lock")):  # who asks for the same unit meanwhile waits, and reads what was found
        digest = _digest(folder)  # before the checks are loaded, and again when they are tried: someone may write
        if (before := _read(kept, digest)) is not None:
            return before
        found = {check.id: _tried(check, folder) for check in load_checks(folder, root)}
        if _digest(folder) == digest and _modules() == AS_IMPORTED:
            record = {"digest": digest, "checks": {name: (each.faults, each.drawn) for name, each in found.items()}}
            atomic.replace(kept, json.dumps(record))  # another process may read it now
    return found


def _read(kept: Path, digest: str) -> dict[str, Tried] | None:
    """The trials of that digest; None where there are none that can be read."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        if (before := json.loads(kept.read_text(encoding="utf-8")))["digest"] == digest:
            return {
                name: Tried(faults, [(*pair,) for pair in drawn]) for name, (faults, drawn) in before["checks"].items()
            }
    return None


@contextmanager
def _alone(path: Path):
    """Only one process at a time is here; the lock of one that dies is free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _tried(check: Check, folder: Path) -> Tried:
    said = [*faults(check), *dress.faults(check)]
    try:
        trial = mutants.tried(check)
    except ValueError as error:
        return Tried([*said, str(error)], [])
    told = {each.name: _not_noticed(each) for each in trial.survivors}
    told |= {name: f"{call} refuses a right answer: {name}" for name, call in dress.refused_orders(check).items()}
    return Tried([*said, *_unlisted(check, folder, told)], trial.drawn)


def _not_noticed(survivor: mutants.Survivor) -> str:
    return f"no {'drawn' if survivor.public else 'public'} input notices this slip: {survivor.name}"


def _unlisted(check: Check, folder: Path, found: Mapping[str, str]) -> list[str]:
    """The sentences of what was found and is not in the unit's list with a reason; and what is in it and was not."""
    reasons: Mapping = {}
    with suppress(OSError, tomllib.TOMLDecodeError):  # a list that cannot be read is reported where it stands
        listed = tomllib.loads((folder / MUTANTS).read_text(encoding="utf-8"))
        own = listed.get(check.id.partition(".")[2])
        reasons = own if isinstance(own, dict) else {}
    said = [f"check {check.id!r}: {found[name]}" for name in found.keys() - reasons.keys()]
    stale = [
        f"check {check.id!r}: {MUTANTS} lists what is as it should be: {name}" for name in reasons.keys() - found.keys()
    ]
    return sorted(said) + sorted(stale)


def _digest(folder: Path) -> str:
    """Of the unit's code, the trials' own, and the library as far as the unit's checks can see it."""
    own = sorted([*folder.glob("*.py"), *folder.glob(MUTANTS)])
    sees_all = any("course_lib" in path.read_text(encoding="utf-8").replace(CHECKS, "") for path in own)
    library = LIBRARY if sees_all else LIBRARY / "teaching" / "checks"
    tables = sorted(library.rglob("*.toml")) if sees_all else []
    return _hash([*own, *sorted(TOOLS.glob("*.py")), *sorted(library.rglob("*.py")), *tables])


def _modules() -> str:
    """Of the modules that this process does not read a second time."""
    return _hash([*sorted(TOOLS.glob("*.py")), *sorted(LIBRARY.rglob("*.py"))])


def _hash(files: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"{platform.python_version()} {numpy.__version__}".encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


AS_IMPORTED = _modules()
