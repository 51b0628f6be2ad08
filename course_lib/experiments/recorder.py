"""Measuring a device for everybody: the profile and every experiment in one go, written as one JSON file.

Needs torch and the standard library only.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.accounting import units
from course_lib.experiments import experiment, files, machine, profile, recording, registry, timing
from course_lib.experiments.errors import Unavailable
from course_lib.experiments.progress import bar
from course_lib.experiments.result import canonical, frozen


def record(
    on: str = "auto", only: Sequence[str] | None = None, out: str | os.PathLike | None = None, quick: bool = False
) -> tuple[Path, bool]:
    """Measure and write a recording; return its path, and whether it is complete.

    on: "cpu", "cuda", or "auto" (the GPU if there is one). only: names of experiments (default: all). out: the file; by
    default the folder of recordings, named after the device. quick: few repeats, to try the recorder out. An
    interrupted recording is written beside the file, with the ending .partial, and replaces nothing. Refused
    before anything is measured: an unknown experiment, and an `only` that would replace a recording of more
    experiments.
    """
    on = timing.resolve_on(on)
    chosen = tuple(units.choice(name, "only", registry.NAMES) for name in only or registry.NAMES)
    kind = "cpu" if on == "cpu" else "gpu"
    this = machine.this()
    id = recording.device_id(kind, this.cpu_name if on == "cpu" else this.gpu)
    path = Path(out) if out else recording.folder() / f"{id}.json"
    _refuse_to_shrink(path, chosen)

    data = profile.measure(quick=quick, progress=bar("profile"))
    profile.use(data)
    entry = {**data[on], "id": id}
    results, complete = [], True
    for name in chosen:
        result = experiment.run(registry.get(name), on, quick, bar(name))
        results.append(replace(result, device=frozen(entry)))
        if result.provenance["interrupted"]:
            complete = False
            break
    command = " ".join(["course record", f"--on {on}", *(["--only", *only] if only else [])])
    written = recording.combine(entry, data["conditions"], data["raw"][on], results, command)
    if not complete:
        path = path.with_name(f"{path.name}.partial")
    files.replace(path, canonical(written))
    recording.read(path)
    return path, complete


def check(file: str | os.PathLike) -> str:
    """One line saying what the recording in `file` holds; Unavailable, with the reason, if it is not valid."""
    data = recording.read(Path(file))
    conditions, held = data["conditions"], [name for name in registry.NAMES if name in data["results"]]
    return (
        f"{Path(file).name} is valid: {data['device']['name']} ({data['device']['id']}), {', '.join(held)}, "
        f"PyTorch {conditions['torch']}, {conditions['date']}."
    )


def _refuse_to_shrink(path: Path, chosen: Sequence[str]) -> None:
    if not path.exists():
        return
    try:
        lost = [name for name in recording.read(path)["results"] if name not in chosen]
    except Unavailable:
        return  # what cannot be read is no loss
    if lost:
        raise Unavailable(
            f"{path.name} also holds {', '.join(lost)}, which --only would lose: "
            "record everything, or name another file with --out."
        )
