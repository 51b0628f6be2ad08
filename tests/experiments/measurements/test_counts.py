"""What the experiments claim to count, against an instrumented run of the very calls that are timed."""

import math
from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from course_lib.accounting import hardware
from course_lib.experiments import registry
from course_lib.experiments.running.bench import Bench
from course_lib.units.q05_flops_are_not_time.experiments.ten_times_flops import PAIRS

CPU = hardware.Device("x", "x", "cpu", {"fp32": 2e11, "bf16": 8e11}, 4e10, 10**10, 1e-6)
GPU = hardware.load("h100-sxm")
OLD_GPU = hardware.load("v100-sxm2")


class Traffic(TorchDispatchMode):
    """Bytes of every distinct tensor that enters or leaves an operation, the operations, and the FLOPs of additions."""

    def __init__(self):
        super().__init__()
        self.bytes = self.operations = self.additions = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.t.default or func is torch.ops.aten.transpose.int:
            return out  # a view moves nothing
        # layer norm also returns one mean and one 1/std a row, which the count leaves out: keep the first result only
        results = tree_leaves(out)[:1]
        tensors = {t.data_ptr(): t for t in tree_leaves((args, kwargs, results)) if isinstance(t, torch.Tensor)}
        self.bytes += sum(t.numel() * t.element_size() for t in tensors.values())
        self.operations += 1
        if func._overloadpacket is torch.ops.aten.add:
            self.additions += out.numel()
        return out


def instrumented(case, on="cpu"):
    """(FLOPs, bytes, calls) of a whole case, counted while its timed function runs once."""
    call = case.build(Bench.on_device(torch, on))
    with torch.no_grad(), FlopCounterMode(display=False) as products, Traffic() as traffic:
        call()
    return tuple(
        count / case.share
        for count in (products.get_total_flops() + traffic.additions, traffic.bytes, traffic.operations)
    )


def cases(name, device=CPU, quick=True):
    return registry.get(name).cases(device, quick)


@pytest.mark.parametrize("case", cases("same_flops"), ids=lambda case: case.name)
def test_same_flops_counts_what_runs(case):
    assert instrumented(case) == (case.flops, case.bytes, case.calls)


@pytest.mark.parametrize("case", cases("ten_times_flops"), ids=lambda case: case.name)
def test_ten_times_flops_counts_what_runs(case):
    assert instrumented(case) == (case.flops, case.bytes, case.calls)


COUNTED = ("add", "linear", "attention", "GEMM")  # of the others no independent FLOP counter exists


@pytest.mark.parametrize("case", cases("roofline_points"), ids=lambda case: case.name)
def test_roofline_points_count_what_runs(case):
    flops, moved, calls = instrumented(case)
    assert (moved, calls) == (case.bytes, case.calls)
    if case.name.startswith(COUNTED):
        assert flops == case.flops


@pytest.mark.parametrize("device", [CPU, GPU, OLD_GPU], ids=lambda d: d.id)
@pytest.mark.parametrize("quick", [True, False])
def test_same_flops_are_the_same(device, quick):
    rows = cases("same_flops", device, quick)
    assert len({case.flops for case in rows}) == 1
    assert rows[0].flops == (268_435_456 if device is CPU else 137_438_953_472)


@pytest.mark.parametrize("device", [CPU, GPU, OLD_GPU], ids=lambda d: d.id)
def test_ten_times_is_exactly_ten_times(device):
    flops = {case.name: case.flops for case in cases("ten_times_flops", device)}
    assert all(flops[large] == 10 * flops[small] for small, large in PAIRS.values())


@pytest.mark.parametrize("name", registry.names())
@pytest.mark.parametrize("device", [CPU, GPU, OLD_GPU], ids=lambda d: d.id)
def test_quick_cases_are_among_the_full_ones(name, device):
    """Else a full recording could not stand beside a quick run."""
    full = {case.name: case.ops for case in cases(name, device, quick=False)}
    assert all(full[case.name] == case.ops for case in cases(name, device, quick=True))


@pytest.mark.parametrize("name", registry.names())
def test_names_are_unique_and_the_share_is_a_whole_number_of_calls(name):
    for device in (CPU, GPU):
        listed = cases(name, device)
        assert len({case.name for case in listed}) == len(listed)
        for case in listed:
            assert math.isclose(case.share * case.calls, round(case.share * case.calls))


def test_dtype_of_each_kind():
    assert {op.dtype for case in cases("same_flops") for op in case.ops} == {"fp32"}
    assert {op.dtype for case in cases("same_flops", GPU) for op in case.ops} == {"bf16"}
    assert {op.dtype for case in cases("same_flops", OLD_GPU) for op in case.ops} == {"fp16"}


def test_prediction_of_the_regimes():
    """By hand: 2·512³ / 2e11; 8 calls and 8·(4096² + 2·4096)·4 B / 4e10; …; 32768 calls of 1 µs and the products."""
    predicted = {case.name: case.predict(CPU) for case in cases("same_flops")}
    assert predicted["one large GEMM"] == pytest.approx(1e-6 + 2 * 512**3 / 2e11)
    assert predicted["GEMV passes"] == pytest.approx(8e-6 + 8 * (4096**2 + 2 * 4096) * 4 / 4e10)
    assert predicted["additions"] == pytest.approx(16e-6 + 16 * 3 * 2**24 * 4 / 4e10)
    assert predicted["tiny GEMMs"] == pytest.approx(32768 * (1e-6 + 3 * 16 * 16 * 4 / 4e10))
    bounds = {case.name: case.bound(CPU) for case in cases("same_flops")}
    assert list(bounds.values()) == ["compute", "memory", "memory", "overhead"]


def test_a_data_sheet_says_nothing_about_small_calls():
    predicted = {case.name: case.predict(GPU) for case in cases("same_flops", GPU)}
    assert predicted["tiny GEMMs"] is None
    assert predicted["one large GEMM"] == pytest.approx(2 * 4096**3 / GPU.peak("bf16"))
    measured = replace(GPU, call_overhead=5e-6)
    tiny = next(case for case in cases("same_flops", measured) if case.name == "tiny GEMMs")
    assert tiny.predict(measured) >= tiny.calls * 5e-6


def test_random_data_is_not_zero_and_leaves_the_learners_generator_alone():
    state = torch.get_rng_state()
    tensor = Bench.on_device(torch, "cpu").random(3, 2**20 + 5, dtype="bf16")
    assert torch.equal(torch.get_rng_state(), state)
    assert tensor.shape == (3, 2**20 + 5)
    assert tensor.dtype == torch.bfloat16
    assert (tensor == 0).float().mean() < 0.01
    assert tensor.float().std() == pytest.approx(12**-0.5, rel=0.01)


FRIENDLY = {case.name: case for case in cases("hardware_friendly")}


@pytest.mark.parametrize("name", ["sum", "one column, dense", "many columns, dense"])
def test_hardware_friendly_counts_what_runs(name):
    flops, moved, calls = instrumented(FRIENDLY[name])
    results = 4 if name == "sum" else 0  # the one number that a sum writes
    assert (moved, calls) == (FRIENDLY[name].bytes + results, FRIENDLY[name].calls)
    assert flops == (0 if name == "sum" else FRIENDLY[name].flops)  # no counter knows sums: one addition a value
    assert FRIENDLY["sum"].flops == FRIENDLY["cumulative sum"].flops == 2**24


@pytest.mark.parametrize("kind", ["equal", "skewed"])
def test_sparse_rows_store_what_is_counted(kind):
    """By hand from the stored tensors of the matrix: values, columns, row starts; then operand and result."""
    case = FRIENDLY[f"sparse rows, {kind}"]
    matrix = closure_of(case)["matrix"]
    stored = [matrix.values(), matrix.col_indices(), matrix.crow_indices()]
    rows, cols = matrix.shape
    assert case.bytes == sum(t.numel() * t.element_size() for t in stored) + 4 * (rows + cols)
    assert case.flops == 2 * matrix.values().numel()
    lengths = matrix.crow_indices().diff()
    heavy = lengths.sort(descending=True).values[: rows // 16].sum() / lengths.sum()
    assert heavy == pytest.approx(1 / 16 if kind == "equal" else 1 / 2, rel=0.01)
    columns = matrix.to_sparse_coo().coalesce().indices()
    assert columns.shape[1] == matrix.values().numel(), "no column of a row is stored twice"


@pytest.mark.parametrize("size", ["one column", "many columns"])
def test_skipping_zeros_keeps_a_tenth(size):
    dense, skipped = FRIENDLY[f"{size}, dense"], FRIENDLY[f"{size}, 90 % zeros skipped"]
    assert skipped.flops / dense.flops == pytest.approx(0.1, rel=0.01)
    matrix = closure_of(skipped)["matrix"]
    vectors = closure_of(skipped)["x"].shape[1]
    assert skipped.flops == 2 * matrix.values().numel() * vectors


def test_both_gathers_pick_as_many_values_from_the_same_table():
    ordered, shuffled = (closure_of(FRIENDLY[f"gather, {how}"]) for how in ("in order", "at random"))
    assert ordered["source"].shape == shuffled["source"].shape
    assert ordered["order"].shape == shuffled["order"].shape
    assert (ordered["order"].diff() == 1).all()
    assert shuffled["order"].diff().abs().float().median() > 1000
    moved = ordered["order"].numel() * (8 + 4 + 4)  # an index, the value read, the value written
    assert moved == FRIENDLY["gather, in order"].bytes == FRIENDLY["gather, at random"].bytes


def closure_of(case):
    """The tensors that the timed function of a case works on, by name."""
    call = case.build(Bench.on_device(torch, "cpu"))
    return dict(zip(call.__code__.co_freevars, (cell.cell_contents for cell in call.__closure__), strict=True))
