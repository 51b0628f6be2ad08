"""Recordings: one JSON file for each device, measured in one go, never edited by hand. Reading one needs no torch."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from course_lib.accounting import hardware, units
from course_lib.experiments import registry
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.result import SCHEMA, Result, sign, verified

# What torch calls a GPU -> its id in the catalogue. The first pattern that is found decides, so the narrower ones come
# first.
_GPU_IDS = (
    (r"A100-SXM\d-40GB", "a100-40-sxm"),
    (r"A100-SXM\d-80GB", "a100-80-sxm"),
    (r"H100 80GB HBM3", "h100-sxm"),
    (r"H200(?! NVL)", "h200-sxm"),
    (r"\bB200\b", "b200-sxm"),
    (r"V100-SXM2-16GB", "v100-sxm2"),
    (r"MI300X", "mi300x"),
    (r"\bL4\b", "l4"),
    (r"\bT4\b", "t4"),
    (r"RTX 4090(?! Laptop| D)", "rtx-4090"),
)
# Recorded data-centre GPUs in the order in which a comparison prefers them.
DATA_CENTRE = ("h100-sxm", "h200-sxm", "b200-sxm", "a100-80-sxm", "a100-40-sxm", "mi300x", "v100-sxm2", "l4", "t4")

LARGEST = 16 * 2**20  # bytes of a recording


def folder() -> Path:
    """Where the recordings of this checkout or installation lie."""
    return Path(__file__).parent


def device_id(kind: str, name: str) -> str:
    """The id of a recording: the catalogue's where the GPU is in it, else the name in lower case with dashes.

    Never a host name.
    """
    known = next((id for pattern, id in _GPU_IDS if kind == "gpu" and re.search(pattern, name)), None)
    return known or re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def read(path: Path) -> dict:
    """The recording in a file, checked: readable, schema known, digest fits, every result well formed.

    Unavailable with the reason.
    """
    name = path.name
    try:
        if path.stat().st_size > LARGEST:
            raise Unavailable(f"{name} is refused: it is larger than {LARGEST // 2**20} MiB, so it is no recording.")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Unavailable(f"{name} cannot be read: {type(problem).__name__}.") from None
    data = verified(text, name)
    try:
        results = {key: Result.from_dict(result) for key, result in data["results"].items()}
        if not all(isinstance(text, str) for item in unavailable(data).items() for text in item):
            raise TypeError("a reason for what is unavailable is no text")
        entry = data["device"]
        hardware.measured(entry)
        wrong = [r.name for key, r in results.items() if r.name != key or r.device["id"] != entry["id"]]
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise Unavailable(f"{name} is refused: {problem}") from None
    if wrong:
        raise Unavailable(f"{name} is refused: {', '.join(wrong)} does not belong to its device or name.")
    return data


def unavailable(data: dict) -> dict[str, str]:
    """Experiment -> why this recording does not have it."""
    return data.get("unavailable", {})


def _all() -> tuple[dict[str, dict], dict[str, Unavailable]]:
    """(device id -> recording, file name -> why it is refused)."""
    good, bad = {}, {}
    for file in sorted(folder().glob("*.json")):
        try:
            data = _read(file, file.stat().st_mtime_ns)
            good[data["device"]["id"]] = data
        except Unavailable as reason:
            bad[file.name] = reason
    return good, bad


@cache
def _read(path: Path, modified: int) -> dict:
    """`read`, once for each state of a file."""
    return read(path)


def refused() -> dict[str, Unavailable]:
    """File name -> reason, for recordings that cannot be used."""
    return _all()[1]


def recorded(name: str) -> tuple[str, ...]:
    """Ids of the devices on which experiment `name` was recorded: data-centre GPUs first, in a fixed order."""
    units.choice(name, "name", registry.names())
    sys.audit("course_lib.recorded", name)  # the build listens: a notebook is made from what was recorded of it
    ids = [id for id, data in _all()[0].items() if name in data["results"]]
    return tuple(sorted(ids, key=lambda id: (DATA_CENTRE.index(id) if id in DATA_CENTRE else len(DATA_CENTRE), id)))


def load(name: str, device: str | None = None) -> Result:
    """The recorded result of experiment `name` on `device`; None takes the first of `recorded(name)`.

    It is marked as `replayed`, so that nothing calls it measured here. Unavailable where there is none.
    """
    ids = recorded(name)
    good, bad = _all()
    if device is None and ids:
        device = ids[0]
    if device in ids:
        return replace(Result.from_dict(good[device]["results"][name]), replayed=True)
    if device is not None and f"{device}.json" in bad:
        raise bad[f"{device}.json"]
    if device in good and name in unavailable(good[device]):
        raise Unavailable(f"{name} was not recorded on {device}. {unavailable(good[device])[name]}")
    listed = f"Recorded are: {', '.join(ids)}." if ids else "Nothing is recorded yet."
    asked = f"{name} has no recording" if device is None else f"{name} has no recording on device={device!r}"
    hint = units.hint(device, ids) if device else ""
    raise Unavailable(f"{asked}.{hint} {listed} `course record` makes one on the machine at hand.")


def combine(
    entry: dict,
    conditions: dict,
    raw: dict,
    results: Sequence[Result],
    command: str,
    unavailable: Mapping[str, str] | None = None,
    gauges: Mapping[str, Mapping[str, float]] | None = None,
) -> dict:
    """The recording of one device from its profile entry and its results, signed.

    unavailable: experiment -> why it could not be recorded. gauges: "profile" or experiment -> what the GPU's gauges
    (`gauges.Gauges.state`) said just after it.
    """
    return sign(
        {
            "schema": SCHEMA,
            "device": entry,
            "conditions": conditions,
            "command": command,
            "profile_raw": raw,
            "results": {result.name: result.as_dict() for result in results},
            "unavailable": unavailable or {},
            "gauges": gauges or {},
        }
    )


def renewed(before: dict, after: dict) -> dict:
    """The recording `before` with the results of `after`, a later one of the same device, in place of its own; signed.

    Device, conditions and profile stay those of `before`; a result's own provenance says under which it was measured.
    """
    results = {**before["results"], **after["results"]}
    reasons = {**unavailable(before), **unavailable(after)}
    return sign(
        {
            **{key: value for key, value in before.items() if key != "digest"},
            "command": f"{before['command']}; {after['command']}",
            "results": results,
            "unavailable": {name: reason for name, reason in reasons.items() if name not in results},
            "gauges": {**before.get("gauges", {}), **after["gauges"]},
        }
    )
