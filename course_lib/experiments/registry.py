"""The experiments by name; a module is imported when it is first asked for."""

import importlib

from course_lib.accounting import units

NAMES = ("same_flops", "ten_times_flops", "roofline_points", "hardware_friendly")


def get(name: str):
    """The Experiment `name`; an unknown name is a ValueError with the nearest."""
    units.choice(name, "name", NAMES)
    return importlib.import_module(f"course_lib.experiments.{name}").EXPERIMENT
