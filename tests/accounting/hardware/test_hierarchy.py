"""Latency, energy and price of memory levels: the values as they were typed from their sources, and the errors."""

import pytest

from course_lib.accounting import hardware
from course_lib.accounting.hardware import hierarchy

CYCLES = {  # typed from the studies, not from the catalogue
    "abdelkhalik-2022": {"shared": 23, "l1": 33, "l2": 200, "memory": 290},
    "luo-2024": {"l1": 37.9, "l2": 261.5, "memory": 466},
    "dewing-a100": {"l1": 39, "l2": 210, "memory": 550},
    "dewing-v100": {"l1": 36, "l2": 221, "memory": 460},
    "dewing-h100": {"l1": 40, "l2": 291, "memory": 700},
}
PICOJOULES_OF_32_BITS = {"fp32-add": 0.9, "fp32-multiply": 3.7, "cache-8-kb": 5, "dram": 650, "hbm2": 32 * 3.92}


def test_latencies_are_those_of_the_studies():
    assert {study.id: dict(study.cycles) for study in hierarchy.latencies()} == CYCLES
    assert all(study.device in hardware.names() and all(study.source) for study in hierarchy.latencies())


def test_each_level_is_farther_away_than_the_one_before():
    for study in hierarchy.latencies():
        assert list(study.cycles.values()) == sorted(study.cycles.values())


def test_cycles_become_seconds_at_the_boost_clock():
    (study, *_) = hierarchy.latencies("a100-40")
    assert study.seconds("memory") == pytest.approx(290 / 1.41e9)
    with pytest.raises(ValueError, match="level="):
        study.seconds("disk")


def test_studies_of_a_device_without_one_are_refused():
    assert {study.device for study in hierarchy.latencies("a100")} == {"a100-40-sxm", "a100-80-sxm"}
    with pytest.raises(ValueError, match=r"no study of its latency is known\. Known: .*h100-sxm"):
        hierarchy.latencies("t4")


@pytest.mark.parametrize(("id", "picojoules"), PICOJOULES_OF_32_BITS.items())
def test_energy_of_32_bits(id, picojoules):
    assert hierarchy.energy(id).of(4) == pytest.approx(picojoules * 1e-12)
    assert all(hierarchy.energy(id).source)


def test_prices_are_ranges_with_a_source():
    assert hierarchy.price("ddr5").low == pytest.approx(820 / 64, abs=0.01)
    assert hierarchy.price("flash").high == pytest.approx(25 / (2**40 / 8 / 2**30), abs=0.0001)
    assert hierarchy.price("hbm3e-over-ddr5").unit == "×"
    for id in ("ddr5", "flash", "hbm3e-over-ddr5"):
        assert hierarchy.price(id).low <= hierarchy.price(id).high
    with pytest.raises(ValueError, match="price="):
        hierarchy.price("ddr9")


def test_the_wires_make_the_bandwidth_of_the_data_sheet():
    wires = hierarchy.interface("a100-40-sxm")
    assert wires.stacks * wires.wires == 5120
    assert wires.bandwidth == pytest.approx(hardware.load("a100-40-sxm").memory_bandwidth, rel=1e-3)


def test_pinned_copies_stay_below_their_bus():
    for link, rate in (("pcie3-x16", 11.5e9), ("pcie4-x16", 25e9)):
        assert hierarchy.pinned_rate(link) == rate < hardware.link(link).bandwidth
    with pytest.raises(ValueError, match="link="):
        hierarchy.pinned_rate("pcie9-x16")
