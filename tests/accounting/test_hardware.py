"""The catalogue of devices against figures typed here from the vendors' documents, and the profile of this machine."""

import json
from dataclasses import asdict, replace

import pytest

from course_lib.accounting import hardware, roofline

TERA, GIGA = 10**12, 10**9

# Typed from the documents in the comments, in their own units, and not copied from hardware.toml.
# id -> (GB/s, GB, {dtype: dense TFLOP/s})
SHEETS = {
    # NVIDIA Tesla V100 whitepaper (2017), tables 1 and 2: 15.7 FP32, 125 tensor; 900 GB/s; 16 GB
    "v100-sxm2": (900, 16, {"fp32": 15.7, "fp16": 125}),
    # NVIDIA T4 data sheet (2019): 8.1 FP32, 65 mixed, 130 INT8, 260 INT4; 320+ GB/s; 16 GB
    "t4": (320, 16, {"fp32": 8.1, "fp16": 65, "int8": 130, "int4": 260}),
    # NVIDIA A100 whitepaper (2020), table 4: dense columns; 1,555 GB/s
    "a100-40-sxm": (
        1555,
        40,
        {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248},
    ),
    # NVIDIA A100 data sheet (2021), A100 80GB SXM: 2,039 GB/s
    "a100-80-sxm": (
        2039,
        80,
        {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248},
    ),
    # NVIDIA H100 whitepaper (2022), H100 SXM5: 66.9 FP32, 494.7 TF32, 989.4 BF16 (989 rounded), 1978.9 FP8 (1979)
    "h100-sxm": (
        3350,
        80,
        {"fp32": 66.9, "tf32": 494.7, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "fp8-e5m2": 1979, "int8": 1979},
    ),
    # NVIDIA H200 data sheet (2023): 4.8 TB/s, 141 GB, the arithmetic of the H100
    "h200-sxm": (
        4800,
        141,
        {"fp32": 66.9, "tf32": 494.7, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "fp8-e5m2": 1979, "int8": 1979},
    ),
    # NVIDIA DGX B200 data sheet (2024): 8 GPUs have 1,440 GB, 64 TB/s, 72 PFLOP/s FP8 and 144 FP4 with sparsity
    "b200-sxm": (
        64_000 / 8,
        1440 / 8,
        {"bf16": 2250, "fp16": 2250, "int8": 4500, "mxfp6": 4500, "mxfp4": 9000, "nvfp4": 9000}
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "mxfp8"), 72_000 / 8 / 2),
    ),
    # NVIDIA L4 data sheet (2023): 30.3 FP32; with sparsity 120 TF32, 242 BF16, 485 FP8; 300 GB/s; 24 GB
    "l4": (
        300,
        24,
        {"fp32": 30.3, "tf32": 120 / 2, "bf16": 242 / 2, "fp16": 242 / 2}
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "int8"), 485 / 2),
    ),
    # NVIDIA Ada whitepaper v2.01 (2023), appendix A, RTX 4090: tensor figures with fp32 accumulation; 1008 GB/s; 24 GB
    "rtx-4090": (
        1008,
        24,
        {"fp32": 82.6, "tf32": 82.6, "bf16": 165.2, "fp16": 165.2, "int8": 660.6, "int4": 1321.2},
    ),
    # AMD Instinct MI300X data sheet (2023): 5.3 TB/s; 192 GB
    "mi300x": (
        5300,
        192,
        {"fp32": 163.4, "tf32": 653.7, "bf16": 1307.4, "fp16": 1307.4}
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "int8"), 2614.9),
    ),
    # Apple (2022): 100 GB/s, up to 24 GB; AnandTech: 3.6 TFLOP/s
    "apple-m2": (100, 24, {"fp32": 3.6}),
    # Google Cloud documentation: 275 (bf16 or int8), 32 GiB, 1200 GB/s
    "tpu-v4": (1200, 32 * 2**30 / GIGA, {"bf16": 275, "int8": 275}),
    # Google Cloud documentation: 197 bf16, 393 int8, 16 GB, 819 GB/s
    "tpu-v5e": (819, 16, {"bf16": 197, "int8": 393}),
    # Google Cloud documentation: 459 bf16, 95 GB, 2765 GB/s
    "tpu-v5p": (2765, 95, {"bf16": 459}),
}


def test_every_device_of_the_catalogue_stands_in_the_sheet():
    assert set(hardware.names()) == set(SHEETS)


@pytest.mark.parametrize("id", SHEETS)
def test_device_equals_its_data_sheet(id):
    gigabytes_per_second, gigabytes, teraflops = SHEETS[id]
    device = hardware.load(id)
    assert device.memory_bandwidth == pytest.approx(gigabytes_per_second * GIGA, rel=1e-12)
    assert device.memory_capacity == round(gigabytes * GIGA)
    assert dict(device.peaks) == pytest.approx({dtype: rate * TERA for dtype, rate in teraflops.items()}, rel=1e-12)
    assert device.call_overhead == 0
    assert device.kind == ("tpu" if id.startswith("tpu") else "gpu")


@pytest.mark.parametrize("id", SHEETS)
def test_every_value_has_a_source_with_a_date(id):
    for field in ("peaks", "memory_bandwidth", "memory_capacity"):
        title, date = hardware.load(id).source(field)
        assert len(title) > 10
        assert 2017 <= int(date[:4]) <= 2026


def test_a_replaced_value_has_no_source():
    variant = replace(hardware.load("h100-sxm"), memory_bandwidth=2e12)
    assert roofline.ridge_point(variant, "bf16") == 989e12 / 2e12
    assert variant.source("memory_capacity") == hardware.load("h100-sxm").source("memory_capacity")
    with pytest.raises(ValueError, match=r"memory_bandwidth.*h100-sxm was replaced"):
        variant.source("memory_bandwidth")
    with pytest.raises(ValueError, match=r"call_overhead.*no source"):
        hardware.load("h100-sxm").source("call_overhead")


def test_a_device_is_a_value():
    device = hardware.load("a100-40-sxm")
    assert device == replace(device)
    assert len({device, replace(device), replace(device, memory_bandwidth=1e12)}) == 2
    assert asdict(device)["peaks"]["bf16"] == 312e12
    with pytest.raises(TypeError, match="read-only"):
        device.peaks["bf16"] = 1e15


# ---------------------------------------------------------------- the profile of this machine


CPU = {
    "id": "this-machine",
    "name": "A CPU",
    "kind": "cpu",
    "peaks": {"fp32": 2e11},
    "memory_bandwidth": 4e10,
    "memory_capacity": 16 * 10**9,
    "call_overhead": 3e-6,
    "measured_at": "2026-11-21",
}
GPU = CPU | {"id": "this-gpu", "name": "A GPU", "kind": "gpu", "peaks": {"fp32": 2e13, "bf16": 1e14}}


@pytest.fixture
def write_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))

    def write(content):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "profile.json").write_text(text, "utf-8")

    return write


def profile(**changes):
    return {"schema": 1, "cpu": CPU, "cuda": None, "conditions": {}, "raw": {}} | changes


def test_this_machine_reads_the_profile(write_profile):
    write_profile(profile())
    device = hardware.this_machine()
    assert (device.id, device.kind, device.call_overhead) == ("this-machine", "cpu", 3e-6)
    assert device.peak("float32") == 2e11
    assert device.source("call_overhead")[1] == "2026-11-21"
    assert hardware.this_machine("cpu") == device


def test_this_machine_prefers_the_gpu(write_profile):
    write_profile(profile(cuda=GPU))
    assert hardware.this_machine().id == "this-gpu"
    assert hardware.this_machine("cuda").id == "this-gpu"
    assert hardware.this_machine("cpu").id == "this-machine"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        profile(schema=2),
        {"schema": 1},
        profile(cpu={}),
        profile(cpu=None),
        profile(cpu=[1]),
        profile(cpu=CPU | {"memory_bandwidth": 40}),
        profile(cpu=CPU | {"peaks": {}}),
        profile(cpu=CPU | {"peaks": {"fp32": None}}),
        profile(cpu={k: v for k, v in CPU.items() if k != "measured_at"}),
        profile(cpu=CPU | {"unknown": 1}),
    ],
)
def test_a_damaged_profile_says_course_doctor_in_one_line(write_profile, content):
    write_profile(content)
    with pytest.raises(hardware.ProfileMissing, match="course doctor") as caught:
        hardware.this_machine("cpu")
    assert "\n" not in str(caught.value)


def test_a_missing_profile_or_gpu_says_course_doctor(write_profile, tmp_path, monkeypatch):
    with pytest.raises(hardware.ProfileMissing, match="course doctor"):
        hardware.this_machine()
    write_profile(profile())
    with pytest.raises(hardware.ProfileMissing, match=r"no GPU.*course doctor"):
        hardware.this_machine("cuda")
    with pytest.raises(ValueError, match="on='gpu'"):
        hardware.this_machine("gpu")


def test_profile_path_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    assert hardware.profile_path() == tmp_path / "profile.json"
    monkeypatch.delenv("COURSE_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert hardware.profile_path() == tmp_path / "xdg" / "where-did-the-flops-go" / "profile.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert hardware.profile_path() == tmp_path / ".cache" / "where-did-the-flops-go" / "profile.json"
    monkeypatch.setattr("sys.platform", "darwin")
    assert hardware.profile_path() == tmp_path / "Library" / "Caches" / "where-did-the-flops-go" / "profile.json"
