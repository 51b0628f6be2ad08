"""Devices, networks and buses with their sources, and the machine that was measured (`devices`).

`hierarchy` has what levels of memory cost besides bandwidth, `multiprocessors` how a GPU deals out work. All that they
know stands in one table, `hardware.toml`, each value with its source and date.
"""

from course_lib.accounting.hardware.devices import (
    PROFILE_SCHEMA,
    Device,
    Level,
    Link,
    PerDollar,
    ProfileMissing,
    link,
    link_names,
    load,
    measured,
    names,
    per_dollar,
    profile_path,
    resolve,
    set_free,
    this_machine,
)

__all__ = [
    "PROFILE_SCHEMA",
    "Device",
    "Level",
    "Link",
    "PerDollar",
    "ProfileMissing",
    "link",
    "link_names",
    "load",
    "measured",
    "names",
    "per_dollar",
    "profile_path",
    "resolve",
    "set_free",
    "this_machine",
]
