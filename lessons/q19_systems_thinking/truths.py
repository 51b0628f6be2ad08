"""The truth of each prediction card of Q19, computed when a learner reveals it."""

from course_lib.units.q19_systems_thinking import stages


def five_times(load, copy, compute, pause, faster, turn, forgotten, amdahl, own) -> float:
    parts = {"load": load, "copy": copy, "compute": compute}
    return stages.step(parts, pause) / stages.step({**parts, "compute": compute / faster}, pause)


def added(own, other, more) -> float:
    before = {"own": own, "other": other}
    return stages.step(stages.slowed(before, "own", more)) - stages.step(before)


def trace() -> str:
    """How often each phase runs, and how much slower it can be, for each fault: what fits the trace?"""
    seen = {"load": 1.0, "forward": 2.5, "backward": 2.5, "optimizer": 9.0}
    most = {  # times as long as healthy, at most
        "input": {"load": float("inf"), "forward": 1, "backward": 1, "optimizer": 1},
        "fp64": {"load": 1, "forward": 2, "backward": 2, "optimizer": 2},  # twice the bytes, half the lanes
        "pieces": {"load": 1, "forward": 16, "backward": 16, "optimizer": 16},  # calls
        "validation": {"load": 1, "forward": 1, "backward": 1, "optimizer": 1},
    }
    fits = [fault for fault, limits in most.items() if all(seen[phase] <= limits[phase] for phase in seen)]
    (only,) = fits
    return only


def video() -> float:
    parts = {"decode": (90, 6), "copy": 10, "compute": 28}
    return stages.step(parts, 7) / stages.step({**parts, "compute": 7}, 7)
