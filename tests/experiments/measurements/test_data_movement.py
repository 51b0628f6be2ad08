"""Bandwidth, latency, strides, disk and PCIe: what is claimed is counted, and what is measured comes out of known
costs.
"""

import errno
import math
import os
import random
import tempfile
import time
from dataclasses import replace

import pytest

from course_lib.accounting import hardware
from course_lib.experiments import Result, Unavailable
from course_lib.experiments.measurements import disk_stream, host_to_device, pointer_chase
from course_lib.experiments.recordings import loading
from course_lib.experiments.running import experiment, timing
from course_lib.experiments.running.bench import Bench
from course_lib.figures import charts
from course_lib.units.q01_memory_wall.experiments import bandwidth_staircase, stride_access
from tests.experiments.example import GPU

torch = pytest.importorskip("torch")

HERE = (bandwidth_staircase, pointer_chase, stride_access, disk_stream)
GPUS = ("h100-sxm", "h200-sxm", "t4")


@pytest.fixture
def bench():
    return Bench.on_device(torch, "cpu")


@pytest.fixture
def cpu(kept_profile):
    return hardware.measured(kept_profile["cpu"])


@pytest.fixture
def small(monkeypatch):
    """The same cases with small arrays: a test need not leave the caches."""
    monkeypatch.setitem(stride_access.LENGTH, "cpu", 2**14)
    monkeypatch.setattr(bandwidth_staircase, "SMALLEST", 12)


@pytest.mark.slow
@pytest.mark.parametrize("module", HERE)
def test_a_quick_run(module, kept_profile, timed_once, small):
    state = torch.get_rng_state()
    r = experiment.run(module.EXPERIMENT, "cpu")
    assert torch.equal(state, torch.get_rng_state())
    assert Result.from_json(r.to_json()) == r
    assert set(r.measured) == set(r.prediction)
    assert all(0 < row["q1"] <= row["measured"] <= row["q3"] for row in r.rows)
    assert module.EXPERIMENT.plot(r).alt


@pytest.mark.parametrize("module", [*HERE, host_to_device])
@pytest.mark.parametrize("id", GPUS)
def test_cases_for_a_gpu(module, id, cpu):
    device = hardware.load(id)
    quick, full = (module.EXPERIMENT.cases(device, quick) for quick in (True, False))
    assert {case.name for case in quick} <= {case.name for case in full}
    predicted = module.EXPERIMENT.predict(full, device)
    assert set(predicted) == {case.name for case in full}
    assert all(value is None or 0 < value < math.inf for value in predicted.values())
    here = {case.name for case in module.EXPERIMENT.cases(cpu, True)}
    assert here <= {case.name for case in quick}, "a recording of a GPU stands beside a run here"


# ---------------------------------------------------------------- the staircase


def staircase(levels, sizes, overhead=0.0, noise=0.0, seed=0):
    """(working set, rate) for `levels` of (capacity, rate), with an overhead in seconds for each call."""
    draw = random.Random(seed)
    points = []
    for size in sizes:
        rate = next(rate for capacity, rate in levels if size <= capacity)
        points.append((size, size / (overhead + size / rate) * draw.lognormvariate(0, noise)))
    return points


SIZES = [24 * 2**10 * 2**step for step in range(15)]
THREE = [(1e6, 400e9), (33e6, 150e9), (math.inf, 40e9)]


@pytest.mark.parametrize("seed", range(5))
def test_knees_are_the_capacities(seed):
    found = bandwidth_staircase.knees(staircase(THREE, SIZES, noise=0.05, seed=seed))
    assert found == [pytest.approx(1e6, rel=0.42), pytest.approx(33e6, rel=0.42)]


def test_overhead_is_no_knee():
    for known in (0.9e-6, 1e-6):
        found = bandwidth_staircase.knees(staircase(THREE, SIZES, overhead=1e-6), known)
        assert found == [pytest.approx(1e6, rel=0.42), pytest.approx(33e6, rel=0.42)]
    for known in (0.0, 1e-6, 2e-6, 2.5e-6):
        assert bandwidth_staircase.knees(staircase([(math.inf, 40e9)], SIZES, overhead=2e-6), known) == []


def test_a_point_on_the_way_down_is_no_stair():
    points = staircase([(3e6, 100e9), (6e6, 60e9), (math.inf, 30e9)], SIZES)
    assert [rate for _, rate in points].count(pytest.approx(60e9)) == 1
    assert bandwidth_staircase.knees(points) == [pytest.approx(math.sqrt(SIZES[6] * SIZES[8]))]


def test_knees_of_little():
    assert bandwidth_staircase.knees([]) == []
    assert bandwidth_staircase.knees([(1e5, 1e9)]) == []
    assert bandwidth_staircase.knees([(1e5, 4e9), (2e5, 1e9)]) == []


class Moved(torch.utils._python_dispatch.TorchDispatchMode):
    """Bytes of the distinct storages that go into and come out of the ops."""

    def __init__(self):
        super().__init__()
        self.tensors = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = [*args, *(kwargs or {}).values()]
        self.tensors += [value for value in given if isinstance(value, torch.Tensor)]
        return function(*args, **(kwargs or {}))

    @property
    def bytes(self):
        return sum({t.data_ptr(): t.untyped_storage().nbytes() for t in self.tensors}.values())


def test_the_working_set_is_what_the_addition_moves(bench, cpu):
    for case in bandwidth_staircase.cases(cpu, False)[:9]:
        call = case.build(bench)
        with Moved() as moved:
            call()
        assert moved.bytes == case.bytes == case.facts["working_set"]


def test_a_rate_is_bytes_over_seconds(cpu):
    cases = bandwidth_staircase.cases(cpu, True)[:2]
    timings = {case.name: timing.Repeats((1e-3, 2e-3, 4e-3)) for case in cases}
    rows = bandwidth_staircase.table(cases, timings, cpu)
    assert rows[0]["measured"] == cases[0].bytes / 2e-3
    assert rows[0]["q1"] < rows[0]["measured"] < rows[0]["q3"]
    free = replace(cpu, call_overhead=0.0)
    assert set(bandwidth_staircase.predict(cases, free).values()) == {cpu.memory_bandwidth}


# ---------------------------------------------------------------- the chase


def test_the_chase_follows_one_cycle_through_all_nodes(bench, monkeypatch):
    tables = []
    select = torch.index_select

    def watched(table, dim, index, *, out):
        tables.append(table)
        return select(table, dim, index, out=out)

    monkeypatch.setattr(torch, "index_select", watched)
    nodes, apart = 300, 64
    chase, last = pointer_chase.chaser(bench, nodes, apart)
    table = tables[0].tolist()
    path = [last()]
    for _ in range(nodes):
        path.append(table[path[-1]])
    assert path[-1] == path[0]
    assert sorted(path[:-1]) == [apart // 8 * node for node in range(nodes)]
    for calls in (1, 2, 3):
        chase()
        assert last() == path[calls * pointer_chase.HOPS % nodes]


def test_a_torch_that_loads_several_at_once_is_refused(bench, monkeypatch):
    monkeypatch.setattr(torch, "index_select", lambda table, dim, index, *, out: out.copy_(table[index.clone()]))
    with pytest.raises(Unavailable, match="cannot chase"):
        pointer_chase.chaser(bench, 300, 64)


def test_a_gpu_without_triton_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "course_lib.experiments.measurements._triton_hop", raising=False)
    with pytest.raises(Unavailable, match="Triton is not installed"):
        pointer_chase._on_gpu(None, None)


def test_the_chase_is_predicted_by_the_line(cpu):
    assert {case.predict(cpu) for case in pointer_chase.cases(cpu, True)} == {64 / cpu.memory_bandwidth}


def test_no_data_sheet_promises_a_latency():
    gpu = hardware.load("h100-sxm")
    assert {case.predict(gpu) for case in pointer_chase.cases(gpu, True)} == {None}


def test_the_title_of_a_disturbed_run_says_so():
    quiet = loading.load("bandwidth_staircase", "amd-epyc-2-cores")
    assert charts.titled(quiet, "It falls") == "It falls"
    busy = replace(quiet, provenance={**quiet.provenance, "used_by_others": 0.4})
    assert "Disturbed run: The addition runs" in str(busy.plot())
    assert "1.30 MiB" in str(busy.plot())


# ---------------------------------------------------------------- strides


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 100])
@pytest.mark.parametrize(("length", "line"), [(4096, 64), (4097, 64), (1000, 32)])
def test_lines_touched_are_those_of_the_addresses(stride, length, line):
    addresses = torch.arange(0, 4 * length, 4)[::stride]
    touched = len((addresses // line).unique())
    counted = stride_access.lines_touched(length, stride, line)
    assert touched <= counted <= touched * (1 + (4 * stride) % line / line), "exact where strides divide a line"
    if line % (4 * stride) == 0 or (4 * stride) % line == 0:
        assert counted == touched


def test_the_sum_reads_the_numbers_that_the_case_claims(bench, cpu, small):
    for case in stride_access.cases(cpu, True):
        call = case.build(bench)
        with Moved() as moved:
            total = call()
        (numbers,) = (t for t in moved.tensors if t.numel() > 1)
        assert numbers.numel() == case.share == case.facts["elements"]
        assert numbers.stride() == (case.facts["stride"],)
        assert numbers.data_ptr() % 64 == 0
        assert float(total) == pytest.approx(float(numbers.double().sum()), abs=1.0)


def test_the_time_is_per_number(cpu):
    cases = stride_access.cases(cpu, True)
    timings = {case.name: timing.Repeats((1e-3,)).scaled(1 / case.share) for case in cases}
    for row in stride_access.table(cases, timings, cpu):
        assert row["pass"] == pytest.approx(1e-3)


# ---------------------------------------------------------------- disk


class SlowFile:
    """A file of `size` bytes, each piece of which takes `seconds` to read."""

    def __init__(self, size, seconds):
        self.size, self.seconds, self.left, self.read = size, seconds, 0, 0

    def fileno(self):
        return 99

    def seek(self, at):
        self.left = self.size - at

    def readinto(self, target):
        count = min(len(target), self.left)
        self.left, self.read = self.left - count, self.read + count
        time.sleep(self.seconds if count else 0)
        return count


def test_a_known_disk_has_its_rate(monkeypatch):
    file = SlowFile(size=10_500, seconds=0.002)
    found = disk_stream.rates(file, 10_500, piece=1000, cold=False, seconds=0.0)
    assert len(found) == 2
    assert file.read == 3 * 10_500, "once to warm up, then twice, each time to its end"
    assert all(rate <= 10_500 / (11 * 0.002) for rate in found)


def test_cold_reads_drop_the_file_first(monkeypatch):
    dropped = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *call: dropped.append(call), raising=False)
    monkeypatch.setattr(os, "POSIX_FADV_DONTNEED", 4, raising=False)
    file = SlowFile(size=100, seconds=0.0)
    found = disk_stream.rates(file, 100, piece=1000, cold=True, seconds=0.0)
    assert dropped == [(99, 0, 0, 4)] * len(found)
    assert file.read == 100 * len(found), "nothing warms a cold read up"


def test_the_file_is_whole_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with disk_stream.temporary_file(2_500_000) as file:
        assert os.fstat(file.fileno()).st_size == 2_500_000
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said(monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="set TMPDIR"), disk_stream.temporary_file(1000):
        pass


def test_without_a_way_to_drop_pages_there_is_no_cold_case(monkeypatch, cpu):
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    assert [case.name for case in disk_stream.cases(cpu, True)] == [
        "warm, from the page cache",
        "warm, in small pieces",
    ]


# ---------------------------------------------------------------- host to device


def test_without_a_gpu_there_is_a_sentence():
    with pytest.raises(Unavailable, match="torch sees no GPU here") as refused:
        experiment.run(host_to_device.EXPERIMENT, "cpu")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("way", [way for way in host_to_device.WAYS if way.startswith("pageable")])
def test_a_copy_moves_the_bytes(bench, way):
    call = host_to_device.copy(bench, way, 4096)
    with Moved() as moved:
        target = call()
    source = next(t for t in moved.tensors if t is not target)
    assert torch.equal(target, source)
    assert target.untyped_storage().nbytes() == 4096
    assert target.abs().min() > 0 or target.unique().numel() > 100, "no zeros"


def test_a_copy_is_a_rate():
    gpu = hardware.load("h100-sxm")
    case = host_to_device.cases(gpu, True)[-1]
    (row,) = host_to_device.table([case], {case.name: timing.Repeats((0.5, 1.0, 2.0))}, gpu)
    size = case.facts["bytes"]
    assert (row["q1"], row["measured"], row["q3"]) == (size / 1.5, size, size / 0.75)
    assert host_to_device.predict([case], gpu) == {case.name: pytest.approx(gpu.link("pcie"))}
    unknown = hardware.measured({**GPU, "links": {}})
    assert host_to_device.predict([case], unknown) == {case.name: None}
