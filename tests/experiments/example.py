"""A result as an experiment would give it, made of numbers that nobody measured."""

from course_lib.accounting import hardware, units
from course_lib.experiments import registry
from course_lib.experiments.recordings import loading
from course_lib.experiments.running.result import Result, canonical, frozen
from course_lib.experiments.running.timing import Repeats

CPU = {
    "id": "this-machine",
    "name": "Example CPU, 4 cores",
    "kind": "cpu",
    "peaks": {"fp32": 200e9, "bf16": 800e9},
    "memory_bandwidth": 40e9,
    "memory_capacity": 16_000_000_000,
    "call_overhead": 1e-6,
    "measured_at": "2026-01-02",
}
GPU = {**CPU, "id": "h200-sxm", "name": "NVIDIA H200", "kind": "gpu", "peaks": {"fp32": 6e13, "bf16": 8e14}}
GPU = {**GPU, "memory_bandwidth": 4.5e12, "memory_capacity": 141_000_000_000, "call_overhead": 4e-6}


def result(name="same_flops", entry=None, slower=2.0, date="2026-01-03", **provenance) -> Result:
    """Everything comes to `slower` times the prediction; three repeats, the middle one in the middle.

    entry: the device; by default the processor, or the GPU where an experiment needs one.
    """
    experiment = registry.get(name)
    entry = entry or (GPU if experiment.gpu_only else CPU)
    on = hardware.measured(entry)
    cases = experiment.cases(on, True)
    timings = {}
    for case in cases:
        value = slower * (case.predict(on) or 1.0)  # some cases have no prediction
        timings[case.name] = Repeats((0.9 * value, value, 1.1 * value))
    return Result(
        name=experiment.name,
        question=experiment.question,
        columns=experiment.columns,
        quantity=experiment.quantity,
        rows=tuple(units.FrozenDict(row) for row in experiment.table(cases, timings, on)),
        prediction=units.FrozenDict(experiment.predict(cases, on)),
        raw=units.FrozenDict({name: timed.values for name, timed in timings.items()}),
        device=frozen(entry),
        provenance=frozen(
            {
                "machine": {"cpu": "Example CPU", "cores": 4, "memory": 16_000_000_000, "gpu": None},
                "torch": "2.13.0",
                "python": "3.11.7",
                "system": "Linux x86_64",
                "threads": 4,
                "on": "cpu" if entry["kind"] == "cpu" else "cuda",
                "date": date,
                "dtype": "fp32" if entry["kind"] == "cpu" else "bf16",
                "quick": True,
                "interrupted": False,
                "used_by_others": 0.0,
                "profile": "Predicted with this machine's profile of 2026-01-02.",
                "method": ["one", "two"],
                "notes": [],
                **provenance,
            }
        ),
    )


def keep(folder, *results):
    """A recording of these results, all of one device."""
    entry = dict(results[0].device)
    data = loading.combine(entry, {"torch": "2.13.0", "date": "2026-01-03"}, {}, list(results), "course record")
    path = folder / f"{entry['id']}.json"
    path.write_text(canonical(data), "utf-8")
    return path
