"""SMs, waves, occupancy and issue against data sheets, NVIDIA's guide, and tiles that are dealt out one by one."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import hardware
from course_lib.accounting.hardware import multiprocessors


@pytest.mark.parametrize(
    ("device", "sms"),
    [("v100-sxm2", 80), ("a100-40-sxm", 108), ("h100-sxm", 132), ("h100-pcie", 114), ("rtx-4090", 128)],
)
def test_the_number_of_multiprocessors_is_the_data_sheets(device, sms):
    assert multiprocessors.count(device) == sms


# boost clocks in GHz, typed from the whitepapers: of the lanes, of the tensor cores
CLOCKS = [("v100-sxm2", 1.53, 1.53), ("a100-40-sxm", 1.41, 1.41), ("h100-sxm", 1.98, 1.83)]


@pytest.mark.parametrize(("device", "lanes", "tensor"), CLOCKS)
def test_multiply_adds_a_clock_give_the_peaks(device, lanes, tensor):
    sm, sms, peak = multiprocessors.one(device), multiprocessors.count(device), hardware.load(device).peak
    assert 2 * sms * sm.fp32 * lanes * 1e9 == pytest.approx(peak("fp32"), rel=0.005)
    assert 2 * sms * sm.tensor * tensor * 1e9 == pytest.approx(peak("fp16"), rel=0.005)


def dealt(tiles: int, slots: int) -> int:
    """Time of `tiles` tiles of one unit each, dealt one by one to the slot that is free first."""
    free = [0] * slots
    for _ in range(tiles):
        heapq.heappush(free, heapq.heappop(free) + 1)
    return max(free)


@given(
    m=st.integers(1, 3000), n=st.integers(1, 3000), tile_m=st.sampled_from([64, 128]), tile_n=st.sampled_from([64, 256])
)
def test_waves_are_the_time_of_tiles_dealt_one_by_one(m, n, tile_m, tile_n):
    found = multiprocessors.waves(m, n, tile_m=tile_m, tile_n=tile_n, device="a100-40-sxm")
    covered = len(range(0, m, tile_m)) * len(range(0, n, tile_n))
    assert found.tiles == covered
    assert found.waves == dealt(covered, 108)
    assert 0 < found.useful <= 1
    assert 1 <= found.last <= found.slots
    assert (found.waves - 1) * found.slots + found.last == covered


def test_full_tiles_in_full_waves_waste_nothing():
    assert multiprocessors.waves(11 * 128, 12 * 256, tile_m=128, tile_n=256, device="h100-sxm").useful == 1


def test_one_row_more_takes_a_wave_more():
    found = multiprocessors.waves(11 * 128 + 1, 12 * 256, tile_m=128, tile_n=256, device="h100-sxm")
    assert (found.tiles, found.waves, found.last) == (144, 2, 12)


# by NVIDIA's occupancy calculator: threads, registers of a thread, bytes of shared memory -> blocks, limit
FITS = [
    (256, 32, 0, 8, "warps"),
    (256, 64, 0, 4, "registers"),
    (256, 33, 0, 6, "registers"),  # 33 × 32 are rounded up to 1280 registers a warp: 51 warps
    (128, 32, 48 * 1024, 3, "shared memory"),
    (32, 16, 0, 32, "blocks"),
]


@pytest.mark.parametrize(("threads", "registers", "shared", "blocks", "limit"), FITS)
def test_occupancy(threads, registers, shared, blocks, limit):
    found = multiprocessors.occupancy(threads=threads, registers=registers, shared=shared, device="a100-40-sxm")
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.warps == blocks * threads // 32
    assert found.share == found.warps / 64


def test_a_block_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="shared memory"):
        multiprocessors.occupancy(threads=128, registers=32, shared=300 * 1024, device="h100-sxm")


def test_an_unknown_multiprocessor_is_refused():
    with pytest.raises(ValueError, match="device"):
        multiprocessors.one("rtx-4090")


@given(warps=st.integers(1, 16), independent=st.integers(1, 4), latency=st.integers(1, 40))
def test_the_simulated_issue_is_littles_law(warps, independent, latency):
    share = multiprocessors.issue_share(warps, independent, latency=latency, cycles=4000)
    assert share == pytest.approx(min(1, warps * independent / latency), abs=0.02)
