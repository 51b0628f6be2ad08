"""The catalogue against figures typed here from the vendors' documents, against a second source, and against the
arithmetic of the chips (units × work per clock × clock); and the profile of this machine."""

import json
import re
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from course_lib.accounting import hardware, roofline

TERA, GIGA = 10**12, 10**9
TOML = Path(hardware.__file__).with_name("hardware.toml")

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
    # NVIDIA A10G data sheet of AWS (2021): 70 BF16 without sparsity; 600 GB/s; 24 GB
    "a10g": (600, 24, {"bf16": 70, "fp16": 70}),
    # NVIDIA H100 data sheet (2022), PCIe: 51 FP32; with sparsity 756 TF32, 1,513 BF16, 3,026 FP8 and INT8; 2 TB/s
    "h100-pcie": (
        2000,
        80,
        {"fp32": 51, "tf32": 756 / 2, "fp8-e4m3": 3026 / 2, "fp8-e5m2": 3026 / 2, "int8": 3026 / 2}
        | {"bf16": 756, "fp16": 756},  # half of 1,513, as the H100 whitepaper prints it
    ),
    # NVIDIA GH200 data sheet (2023): 96 GB, 4 TB/s, the arithmetic of the H100
    "gh200": (
        4000,
        96,
        {"fp32": 66.9, "tf32": 494.7, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "fp8-e5m2": 1979, "int8": 1979},
    ),
    # NVIDIA L40S data sheet (2023): 91.6 FP32, 183 TF32, 362.05 BF16 (362), 733 FP8 and INT8; 864 GB/s; 48 GB
    "l40s": (
        864,
        48,
        {"fp32": 91.6, "tf32": 183, "bf16": 362, "fp16": 362, "fp8-e4m3": 733, "fp8-e5m2": 733, "int8": 733},
    ),
    # NVIDIA GA102 whitepaper v2, RTX A6000: 38.7; 77.4; 154.8; 309.7; 619.3; 768 GB/s; 48 GB
    "rtx-a6000": (
        768,
        48,
        {"fp32": 38.7, "tf32": 77.4, "bf16": 154.8, "fp16": 154.8, "int8": 309.7, "int4": 619.3},
    ),
    # NVIDIA GA102 whitepaper v2, RTX 3090: 35.6; tensor with FP32 accumulation 35.6 TF32, 71; 284; 568; 936 GB/s; 24 GB
    "rtx-3090": (936, 24, {"fp32": 35.6, "tf32": 35.6, "bf16": 71, "fp16": 71, "int8": 284, "int4": 568}),
    # NVIDIA RTX Blackwell whitepaper, RTX 5090: 104.8; tensor with FP32 accumulation 104.8, 209.5, 419 FP8, 1676 FP4
    "rtx-5090": (
        1792,
        32,
        {"fp32": 104.8, "tf32": 104.8, "bf16": 209.5, "fp16": 209.5, "int8": 838}
        | {"fp8-e4m3": 419, "fp8-e5m2": 419, "mxfp4": 1676, "nvfp4": 1676},
    ),
    # AMD Instinct MI250X data sheet (2021): FP32 matrix 95.7, FP16, BF16 and INT8 383; 128 GB; 3276.8 GB/s
    "mi250x": (3276.8, 128, {"fp32": 95.7, "bf16": 383, "fp16": 383, "int8": 383}),
    # AMD Instinct MI325X data sheet (2024): 6 TB/s; 256 GB; the arithmetic of the MI300X
    "mi325x": (
        6000,
        256,
        {"fp32": 163.4, "tf32": 653.7, "bf16": 1307.4, "fp16": 1307.4}
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "int8"), 2614.9),
    ),
    # Apple (2020): 2.6 teraflops, up to 16 GB; AnandTech: 68.25 GB/s
    "apple-m1": (68.25, 16, {"fp32": 2.6}),
    # Apple (2021): 10.4 teraflops, 400 GB/s, up to 64 GB
    "apple-m1-max": (400, 64, {"fp32": 10.4}),
    # Apple (2022): 100 GB/s, up to 24 GB; AnandTech: 3.6 TFLOP/s
    "apple-m2": (100, 24, {"fp32": 3.6}),
    # Google Cloud documentation: 275 (bf16 or int8), 32 GiB, 1200 GB/s
    "tpu-v4": (1200, 32 * 2**30 / GIGA, {"bf16": 275, "int8": 275}),
    # Google Cloud documentation: 197 bf16, 393 int8, 16 GB, 819 GB/s
    "tpu-v5e": (819, 16, {"bf16": 197, "int8": 393}),
    # Google Cloud documentation: 459 bf16, 95 GB, 2765 GB/s
    "tpu-v5p": (2765, 95, {"bf16": 459}),
    # Google Cloud documentation: 918 bf16, 1836 int8, 32 GB, 1638 GB/s
    "tpu-v6e": (1638, 32, {"bf16": 918, "int8": 1836}),
    # Google Cloud documentation: 2307 bf16, 4614 fp8, 192 GB, 7380 GB/s
    "tpu-v7x": (7380, 192, {"bf16": 2307, "fp8-e4m3": 4614, "fp8-e5m2": 4614}),
    # Apple (2023): 35 TOPS; LPDDR5-6400 on 64 bits; 8 GB
    "apple-a17-pro-npu": (6.4 * 64 / 8, 8, {"int8": 35}),
    # Qualcomm (2023): 45 TOPS, 136 GB/s, up to 64 GB
    "snapdragon-x-elite-npu": (136, 64, {"int8": 45}),
    # NVIDIA V100 data sheet (2020): 32 GB of the same speed
    "v100-32-sxm2": (900, 32, {"fp32": 15.7, "fp16": 125}),
    # NVIDIA A100 data sheets of the PCIe cards (2020, 2021): the arithmetic of the SXM; 1,555 and 1,935 GB/s
    "a100-40-pcie": (1555, 40, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248}),
    "a100-80-pcie": (1935, 80, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248}),
    # NVIDIA A800 data sheet (2022): the A100 with 400 GB/s of NVLink
    "a800-80-sxm": (2039, 80, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248}),
    "a800-80-pcie": (1935, 80, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624, "int4": 1248}),
    # DeepSeek-AI (2025): an H100 but for fp64 and NVLink
    "h800-sxm": (
        3350,
        80,
        {"fp32": 66.9, "tf32": 494.7, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "fp8-e5m2": 1979, "int8": 1979},
    ),
    # NVIDIA GH200 data sheet (2023), HBM3e: 144 GB, 4.9 TB/s
    "gh200-144": (
        4900,
        144,
        {"fp32": 66.9, "tf32": 494.7, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "fp8-e5m2": 1979, "int8": 1979},
    ),
    # NVIDIA GB200 NVL72: 72 GPUs have 13.4 TB, 576 TB/s; with sparsity 720 PFLOP/s FP8, 1,440 FP4, 360 BF16, 180 TF32
    "gb200": (
        576_000 / 72,
        186,
        {"fp32": 5760 / 72, "tf32": 180_000 / 72 / 2, "bf16": 360_000 / 72 / 2, "fp16": 360_000 / 72 / 2}
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "mxfp8", "mxfp6", "int8"), 720_000 / 72 / 2)
        | dict.fromkeys(("mxfp4", "nvfp4"), 1_440_000 / 72 / 2),
    ),
    # NVIDIA DGX B300 data sheet (2025): 8 GPUs have 2.3 TB, 64 TB/s, 72 PFLOP/s FP8 with sparsity; BF16 half of that
    "b300-sxm": (
        64_000 / 8,
        288,
        dict.fromkeys(("bf16", "fp16"), 36_000 / 8 / 2)
        | dict.fromkeys(("fp8-e4m3", "fp8-e5m2", "mxfp8", "mxfp6"), 72_000 / 8 / 2),
    ),
    # NVIDIA A40 data sheet: 37.4; 74.8; 149.7; 299.3; 598.7; 696 GB/s; 48 GB
    "a40": (696, 48, {"fp32": 37.4, "tf32": 74.8, "bf16": 149.7, "fp16": 149.7, "int8": 299.3, "int4": 598.7}),
    # NVIDIA TITAN RTX (2018): 130 tensor TFLOP/s, 24 GB, 672 GB/s
    "titan-rtx": (672, 24, {"fp32": 16.3, "fp16": 130}),
    # NVIDIA Ada whitepaper v2.01, RTX 3090 Ti: 40; tensor with FP32 accumulation 40 TF32, 80; 320; 640; 1008 GB/s
    "rtx-3090-ti": (1008, 24, {"fp32": 40, "tf32": 40, "bf16": 80, "fp16": 80, "int8": 320, "int4": 640}),
    # NVIDIA (2023): 40.1; tensor with FP32 accumulation 40.1 TF32, 80.2; 320.7; 641.4; 21 Gb/s on 192 bits; 12 GB
    "rtx-4070-ti": (
        192 * 21 / 8,
        12,
        {"fp32": 40.1, "tf32": 40.1, "bf16": 80.2, "fp16": 80.2, "int8": 320.7, "int4": 641.4},
    ),
    # half of AMD's MI250X
    "mi250x-gcd": (3276.8 / 2, 128 / 2, {"fp32": 95.7 / 2, "bf16": 383 / 2, "fp16": 383 / 2, "int8": 383 / 2}),
    # Apple (2023): 800 GB/s, up to 192 GB; two M2 Max of 13.6 TFLOP/s
    "apple-m2-ultra": (800, 192, {"fp32": 2 * 13.6}),
    # AMD: 96 cores, 2.4 GHz, 12 channels of DDR5-4800, up to 6 TB
    "epyc-9654": (12 * 4.8 * 64 / 8, 6000, {"fp32": 96 * 2.4 * 32 / 1000}),
    # Intel: 56 cores, 2.0 GHz, 8 channels of DDR5-4800, up to 4 TB
    "xeon-8480": (
        8 * 4.8 * 64 / 8,
        4000,
        {"fp32": 56 * 2.0 * 64 / 1000, "bf16": 56 * 2.0 * 1024 / 1000, "int8": 56 * 2.0 * 2048 / 1000},
    ),
    # AMD: 8 cores, 3.3 GHz, LPDDR5x-7500 on 128 bits, up to 256 GB
    "ryzen-7840u": (7.5 * 128 / 8, 256, {"fp32": 8 * 3.3 * 32 / 1000}),
}

# A second source, which read the vendors' pages by itself: Bekman, Machine Learning Engineering, compute/accelerator
# (2025), dense TFLOP/s; GB; TB/s. id -> (GB, TB/s, {dtype: TFLOP/s})
HOPPER = {"fp32": 67, "tf32": 494.5, "bf16": 989, "fp16": 989, "fp8-e4m3": 1979, "int8": 1979}
CDNA3 = {"fp32": 163.4, "tf32": 653.7, "bf16": 1300, "fp16": 1300, "fp8-e4m3": 2600, "int8": 2600}
SECOND = {
    "a100-80-sxm": (80, 2.00, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624}),
    "a100-80-pcie": (80, 1.94, {"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624}),
    "h100-sxm": (80, 3.35, HOPPER),
    "h100-pcie": (80, 2.00, {"fp32": 51, "tf32": 378, "bf16": 756, "fp16": 756, "fp8-e4m3": 1513, "int8": 1513}),
    "h200-sxm": (141, 4.80, HOPPER),
    "gh200": (96, 4.00, HOPPER),
    "b200-sxm": (
        None,
        8.00,
        {"bf16": 2250, "fp16": 2250, "fp8-e4m3": 4500, "int8": 4500, "mxfp6": 4500, "mxfp4": 9000},
    ),
    "l40s": (48, 0.86, {"fp32": 91.6, "tf32": 183, "bf16": 362, "fp16": 362, "fp8-e4m3": 733, "int8": 733}),
    "mi250x": (128, 3.28, {"bf16": 383, "fp16": 383, "int8": 383}),
    "mi300x": (192, 5.30, CDNA3),
    "mi325x": (256, 6.00, CDNA3),
    "tpu-v4": (None, 1.20, {"bf16": 275, "int8": 275}),
    "tpu-v5e": (16, None, {"bf16": 197, "int8": 394}),
    "tpu-v5p": (95, None, {"bf16": 459}),
}

# Work of one unit (SM, CU, TensorCore) per clock in FLOP, from the architecture whitepapers: a multiply-add is two.
# id -> (units, {dtype: (FLOP per clock of one unit, GHz)})
CHIPS = {
    "v100-sxm2": (80, {"fp32": (64 * 2, 1.53), "fp16": (8 * 64 * 2, 1.53)}),  # 8 tensor cores of 4×4×4
    "t4": (40, {"fp32": (64 * 2, 1.59), "fp16": (8 * 64 * 2, 1.59), "int8": (8 * 128 * 2, 1.59)}),
    "a100-40-sxm": (108, {"fp32": (64 * 2, 1.41), "tf32": (1024, 1.41), "bf16": (2048, 1.41), "int8": (4096, 1.41)}),
    "a100-80-sxm": (108, {"fp32": (64 * 2, 1.41), "tf32": (1024, 1.41), "fp16": (2048, 1.41), "int4": (8192, 1.41)}),
    "h100-sxm": (132, {"fp32": (128 * 2, 1.98), "tf32": (2048, 1.83), "bf16": (4096, 1.83), "fp8-e4m3": (8192, 1.83)}),
    "h100-pcie": (114, {"fp32": (128 * 2, 1.755)}),
    "h200-sxm": (132, {"fp32": (128 * 2, 1.98), "bf16": (4096, 1.83), "int8": (8192, 1.83)}),
    "gh200": (132, {"fp32": (128 * 2, 1.98), "fp16": (4096, 1.83)}),
    "l4": (58, {"fp32": (128 * 2, 2.04), "bf16": (1024, 2.04), "fp8-e4m3": (2048, 2.04)}),
    "l40s": (142, {"fp32": (128 * 2, 2.52)}),
    "rtx-a6000": (84, {"fp32": (128 * 2, 1.80), "tf32": (512, 1.80), "bf16": (1024, 1.80), "int8": (2048, 1.80)}),
    "rtx-3090": (82, {"fp32": (128 * 2, 1.695), "bf16": (512, 1.695), "int8": (2048, 1.695), "int4": (4096, 1.695)}),
    "v100-32-sxm2": (80, {"fp32": (64 * 2, 1.53), "fp16": (8 * 64 * 2, 1.53)}),
    "a100-40-pcie": (108, {"fp32": (64 * 2, 1.41), "tf32": (1024, 1.41), "bf16": (2048, 1.41), "int8": (4096, 1.41)}),
    "a100-80-pcie": (108, {"fp32": (64 * 2, 1.41), "tf32": (1024, 1.41), "fp16": (2048, 1.41), "int4": (8192, 1.41)}),
    "a800-80-sxm": (108, {"fp32": (64 * 2, 1.41), "bf16": (2048, 1.41)}),
    "a800-80-pcie": (108, {"fp32": (64 * 2, 1.41), "bf16": (2048, 1.41)}),
    "h800-sxm": (132, {"fp32": (128 * 2, 1.98), "bf16": (4096, 1.83), "int8": (8192, 1.83)}),
    "gh200-144": (132, {"fp32": (128 * 2, 1.98), "fp16": (4096, 1.83)}),
    "a40": (84, {"fp32": (128 * 2, 1.74), "tf32": (512, 1.74), "bf16": (1024, 1.74), "int8": (2048, 1.74)}),
    "titan-rtx": (72, {"fp32": (64 * 2, 1.77), "fp16": (8 * 64 * 2, 1.77)}),
    "rtx-3090-ti": (84, {"fp32": (128 * 2, 1.86), "bf16": (512, 1.86), "int8": (2048, 1.86), "int4": (4096, 1.86)}),
    "rtx-4070-ti": (60, {"fp32": (128 * 2, 2.61), "bf16": (512, 2.61), "int8": (2048, 2.61), "int4": (4096, 2.61)}),
    "mi250x-gcd": (110, {"fp32": (256, 1.7), "bf16": (1024, 1.7)}),
    "apple-m2": (10, {"fp32": (128 * 2, 1.398)}),
    "apple-m2-ultra": (76, {"fp32": (128 * 2, 1.398)}),
    "rtx-4090": (128, {"fp32": (128 * 2, 2.52), "bf16": (512, 2.52), "int8": (2048, 2.52), "int4": (4096, 2.52)}),
    "rtx-5090": (170, {"fp32": (128 * 2, 2.407), "bf16": (512, 2.407), "int8": (2048, 2.407), "mxfp4": (4096, 2.407)}),
    "mi250x": (220, {"fp32": (256, 1.7), "bf16": (1024, 1.7), "int8": (1024, 1.7)}),
    "mi300x": (304, {"fp32": (256, 2.1), "tf32": (1024, 2.1), "bf16": (2048, 2.1), "fp8-e4m3": (4096, 2.1)}),
    "mi325x": (304, {"fp32": (256, 2.1), "tf32": (1024, 2.1), "fp16": (2048, 2.1), "int8": (4096, 2.1)}),
    "tpu-v4": (2, {"bf16": (4 * 128 * 128 * 2, 1.05)}),  # four matrix units of 128×128 in a TensorCore
    "tpu-v5e": (1, {"bf16": (4 * 128 * 128 * 2, 1.5)}),
    "tpu-v5p": (2, {"bf16": (4 * 128 * 128 * 2, 1.75)}),
}
# Memory: data pins × Gb/s of one pin. TB/s are printed rounded ("up to 6 TB/s" is 8192 × 6.0 / 8 = 6144 GB/s).
PINS = {
    "v100-sxm2": (4096, 1.752),
    "t4": (256, 10),
    "a10g": (384, 12.5),
    "a100-40-sxm": (5120, 2.43),
    "a100-80-sxm": (5120, 3.186),
    "h100-pcie": (5120, 3.186),
    "l4": (192, 12.5),
    "l40s": (384, 18),
    "rtx-a6000": (384, 16),
    "rtx-3090": (384, 19.5),
    "v100-32-sxm2": (4096, 1.752),
    "a100-40-pcie": (5120, 2.43),
    "a100-80-pcie": (5120, 3.024),
    "a800-80-sxm": (5120, 3.186),
    "a800-80-pcie": (5120, 3.024),
    "a40": (384, 14.5),
    "titan-rtx": (384, 14),
    "rtx-3090-ti": (384, 21),
    "rtx-4070-ti": (192, 21),
    "mi250x-gcd": (4096, 3.2),
    "apple-m2-ultra": (1024, 6.4),
    "rtx-4090": (384, 21),
    "rtx-5090": (512, 28),
    "mi250x": (8192, 3.2),
    "mi300x": (8192, 5.2),
    "mi325x": (8192, 6.0),
    "apple-m1": (128, 4.266),
    "apple-m1-max": (512, 6.4),
    "apple-m2": (128, 6.4),
    "snapdragon-x-elite-npu": (128, 8.533),
}
# L1 and shared memory: SMs, KB of one (1024 B), bytes per clock of one, GHz.
SHARED = {
    "v100-sxm2": (80, 128, 128, 1.53),
    "t4": (40, 96, 64, 1.59),
    "a100-40-sxm": (108, 192, 128, 1.41),
    "a100-80-sxm": (108, 192, 128, 1.41),
    "h100-sxm": (132, 256, 128, 1.98),
    "h100-pcie": (114, 256, 128, 1.755),
    "h200-sxm": (132, 256, 128, 1.98),
    "l4": (58, 128, 128, 2.04),
    "l40s": (142, 128, 128, 2.52),
    "rtx-a6000": (84, 128, 128, 1.80),
    "rtx-3090": (82, 128, 128, 1.695),
    "rtx-4090": (128, 128, 128, 2.52),
    "rtx-5090": (170, 128, 128, 2.407),
}
# Second-level caches: KB, bytes per clock of the whole, GHz. The H100's bandwidth was measured: no clock gives it.
L2 = {
    "v100-sxm2": (6144, 2048, 1.53),
    "a100-40-sxm": (40960, 5120, 1.41),
    "a100-80-sxm": (40960, 5120, 1.41),
    "mi300x": (8 * 4096, 8 * 2048, 2.1),
    "mi325x": (8 * 4096, 8 * 2048, 2.1),
}
# id -> (link, number, GB/s of one in one direction, GB/s printed for both directions of all)
LINKS = {
    "v100-sxm2": ("nvlink", 6, 25, 300),
    "a100-40-sxm": ("nvlink", 12, 25, 600),
    "a100-80-sxm": ("nvlink", 12, 25, 600),
    "h100-sxm": ("nvlink", 18, 25, 900),
    "h100-pcie": ("nvlink", 12, 25, 600),
    "h200-sxm": ("nvlink", 18, 25, 900),
    "gh200": ("nvlink", 18, 25, 900),
    "b200-sxm": ("nvlink", 18, 50, 1800),
    "rtx-a6000": ("nvlink", 4, 14.0625, 112.5),
    "rtx-3090": ("nvlink", 4, 14.0625, 112.5),
    "rtx-3090-ti": ("nvlink", 4, 14.0625, 112.5),
    "a40": ("nvlink", 4, 14.0625, 112.5),
    "titan-rtx": ("nvlink", 2, 25, 100),
    "v100-32-sxm2": ("nvlink", 6, 25, 300),
    "a100-40-pcie": ("nvlink", 12, 25, 600),
    "a100-80-pcie": ("nvlink", 12, 25, 600),
    "a800-80-sxm": ("nvlink", 8, 25, 400),
    "a800-80-pcie": ("nvlink", 8, 25, 400),
    "h800-sxm": ("nvlink", 8, 25, 400),
    "gh200-144": ("nvlink", 18, 25, 900),
    "gb200": ("nvlink", 18, 50, 1800),
    "b300-sxm": ("nvlink", 18, 50, 1800),
    "mi300x": ("infinity-fabric", 7, 64, 896),
    "mi325x": ("infinity-fabric", 7, 64, 896),
    "tpu-v4": ("ici", 6, 50, 600),
    "tpu-v5e": ("ici", 4, 50, 400),
    "tpu-v5p": ("ici", 6, 100, 1200),
    "tpu-v6e": ("ici", 4, 100, 800),
    "tpu-v7x": ("ici", 6, 100, 1200),
}
# W, from the data sheets
POWER = {
    "v100-sxm2": 300,
    "t4": 70,
    "a100-40-sxm": 400,
    "a100-80-sxm": 400,
    "h100-sxm": 700,
    "h100-pcie": 350,
    "h200-sxm": 700,
    "b200-sxm": 1000,
    "l4": 72,
    "l40s": 350,
    "rtx-a6000": 300,
    "rtx-3090": 350,
    "rtx-3090-ti": 450,
    "rtx-4070-ti": 285,
    "titan-rtx": 280,
    "v100-32-sxm2": 300,
    "a100-40-pcie": 250,
    "a100-80-pcie": 300,
    "a800-80-sxm": 400,
    "a800-80-pcie": 300,
    "a40": 300,
    "gb200": 1200,
    "rtx-4090": 450,
    "rtx-5090": 575,
    "mi250x": 500,
    "mi300x": 750,
    "mi325x": 1000,
    "epyc-9654": 360,
    "xeon-8480": 350,
    "ryzen-7840u": 28,
}
# What the card reports, typed from the outputs: MiB of nvidia-smi, bytes of rocm-smi, KB of rocminfo.
REPORTED = {
    "v100-sxm2": 16384 << 20,
    "v100-32-sxm2": 32768 << 20,
    "t4": 15360 << 20,
    "a10g": 23028 << 20,
    "a100-40-sxm": 40960 << 20,
    "a100-80-sxm": 81920 << 20,
    "a100-40-pcie": 40960 << 20,
    "a100-80-pcie": 81920 << 20,
    "a800-80-sxm": 81920 << 20,
    "a800-80-pcie": 81920 << 20,
    "h100-sxm": 85_520_809_984,  # modal-client, pull request 2797: in bytes and as 81559 MiB
    "h100-pcie": 81559 << 20,
    "h800-sxm": 81559 << 20,
    "h200-sxm": 143771 << 20,
    "gh200": 97871 << 20,
    "b200-sxm": 183359 << 20,
    "gb200": 189471 << 20,
    "b300-sxm": 275040 << 20,
    "l4": 23034 << 20,
    "l40s": 46068 << 20,
    "a40": 46068 << 20,
    "rtx-a6000": 49140 << 20,
    "titan-rtx": 24576 << 20,
    "rtx-3090": 24576 << 20,
    "rtx-3090-ti": 24564 << 20,
    "rtx-4070-ti": 12282 << 20,
    "rtx-4090": 24564 << 20,
    "rtx-5090": 32607 << 20,
    "mi250x": 2 * 67_092_480 * 1024,
    "mi250x-gcd": 67_092_480 * 1024,
    "mi300x": 206_141_652_992,
}
# (dollars per hour of an instance or chip, devices in it)
PRICES = {
    "v100-sxm2": (3.06, 1),
    "t4": (0.526, 1),
    "a10g": (1.006, 1),
    "a100-40-sxm": (21.96, 8),
    "h100-sxm": (55.04, 8),
    "b200-sxm": (113.93, 8),
    "l4": (0.8048, 1),
    "l40s": (1.861, 1),
    "tpu-v5e": (1.20, 1),
    "tpu-v6e": (2.70, 1),
}


def test_every_device_of_the_catalogue_stands_in_the_sheet():
    assert set(hardware.names()) == set(SHEETS)


@pytest.mark.parametrize("id", SHEETS)
def test_device_equals_its_data_sheet(id):
    gigabytes_per_second, gigabytes, teraflops = SHEETS[id]
    device = hardware.load(id)
    assert device.memory_bandwidth == pytest.approx(gigabytes_per_second * GIGA, rel=1e-12)
    assert device.nominal_memory == round(gigabytes * GIGA)
    assert dict(device.peaks) == pytest.approx({dtype: rate * TERA for dtype, rate in teraflops.items()}, rel=1e-12)
    assert device.call_overhead == 0


def test_a_device_has_the_bytes_that_the_card_reports():
    for id in SHEETS:
        device = hardware.load(id)
        as_sold = device.source("memory_capacity")[0].startswith("as sold: ")
        assert device.memory_capacity == (device.nominal_memory if as_sold else REPORTED[id])
        assert as_sold == (id not in REPORTED)


@pytest.mark.parametrize("id", sorted(REPORTED.keys() & PINS.keys()))
def test_reported_bytes_are_the_chips_on_the_board_less_what_is_kept(id):
    """Chips hold powers of two, so that a card sold with 24 GB has 24 GiB; ECC in GDDR takes a sixteenth."""
    sold = hardware.load(id).nominal_memory // GIGA * 2**30
    assert 0.93 * sold < REPORTED[id] <= sold
    assert REPORTED[id] < sold * 15 / 16 or id not in ("a10g", "l4", "l40s", "a40")


@pytest.mark.parametrize("id", SECOND)
def test_device_agrees_with_a_second_source(id):
    gigabytes, terabytes_per_second, teraflops = SECOND[id]
    device = hardware.load(id)
    if gigabytes:
        assert device.nominal_memory == gigabytes * GIGA
    if terabytes_per_second:
        assert device.memory_bandwidth == pytest.approx(
            terabytes_per_second * TERA, rel=0.02
        )  # it prints 2.00 for 2.039
    for dtype, rate in teraflops.items():
        assert device.peak(dtype) == pytest.approx(rate * TERA, rel=0.01)


@pytest.mark.parametrize("id", CHIPS)
def test_peaks_are_units_times_work_per_clock_times_clock(id):
    count, work = CHIPS[id]
    for dtype, (flops_per_clock, gigahertz) in work.items():
        expected = count * flops_per_clock * gigahertz * GIGA
        assert hardware.load(id).peak(dtype) == pytest.approx(expected, rel=0.006)  # the T4 prints 8.1 for 8.14


@pytest.mark.parametrize("id", PINS)
def test_memory_bandwidth_is_pins_times_rate(id):
    pins, gigabits_per_second = PINS[id]
    expected = pins * gigabits_per_second * GIGA / 8
    assert hardware.load(id).memory_bandwidth == pytest.approx(expected, rel=0.025)
    assert hardware.load(id).memory_bandwidth <= expected * 1.005  # printed figures are rounded down, never up


@pytest.mark.parametrize("id", SHEETS)
def test_sparsity_doubles_and_stands_apart(id):
    device = hardware.load(id)
    assert set(device.sparse_peaks) <= set(device.peaks) - {"fp32"}
    for dtype, sparse in device.sparse_peaks.items():
        assert sparse == device.sparse_peak(dtype) == pytest.approx(2 * device.peak(dtype), rel=0.001)


@pytest.mark.parametrize("id", SHEETS)
def test_narrower_numbers_are_never_slower(id):
    peaks = hardware.load(id).peaks
    for ladder in (("fp32", "tf32", "bf16", "fp8-e4m3", "mxfp4"), ("fp32", "fp16", "int8", "int4")):
        rates = [peaks[dtype] for dtype in ladder if dtype in peaks]
        assert rates == sorted(rates)


def test_levels_are_units_times_bytes_per_clock_times_clock():
    devices = {id: hardware.load(id) for id in hardware.names()}
    assert {id for id, device in devices.items() if "shared" in device.levels} == set(SHARED)
    for id, (count, kilobytes, bytes_per_clock, gigahertz) in SHARED.items():
        level = devices[id].level("shared")
        assert level.capacity == count * kilobytes * 1024
        assert level.bandwidth == pytest.approx(count * bytes_per_clock * gigahertz * GIGA, rel=0.001)
    for id, (kilobytes, bytes_per_clock, gigahertz) in L2.items():
        level = devices[id].level("l2")
        assert level.capacity == kilobytes * 1024
        assert level.bandwidth == pytest.approx(bytes_per_clock * gigahertz * GIGA, rel=0.001)


# Register files as the whitepapers' comparison tables print them for the whole GPU, second-level caches from reviews.
REGISTERS_KB = {"v100-sxm2": 20480, "a100-40-sxm": 27648, "a100-80-sxm": 27648, "h100-sxm": 33792}
L2_MB = {"t4": 4, "l4": 48, "l40s": 96, "rtx-a6000": 6, "rtx-3090": 6, "rtx-4090": 72, "rtx-5090": 96}


def test_levels_without_a_stated_bandwidth_have_their_capacity():
    for id, kilobytes in REGISTERS_KB.items():
        assert hardware.load(id).level("registers").capacity == kilobytes * 1024
    for id, megabytes in L2_MB.items():
        assert hardware.load(id).level("l2").capacity == megabytes * 2**20
    with pytest.raises(ValueError, match=r"level='l2': no adequate source .* rtx-4090. Stated: shared, memory"):
        hardware.load("rtx-4090").bandwidth("l2")


def test_levels_that_are_printed_or_measured():
    for id in ("h100-sxm", "h100-pcie", "h200-sxm"):
        level = hardware.load(id).level("l2")
        assert level.capacity == 50 * 2**20
        assert 5e12 <= level.bandwidth <= 6e12  # Chips and Cheese (2023) measured about 5.5 TB/s on the PCIe card
    for id in ("mi300x", "mi325x"):
        assert hardware.load(id).level("infinity-cache") == hardware.Level(256 * 2**20, 17.2e12)


@pytest.mark.parametrize("id", SHEETS)
def test_nearer_levels_are_faster_and_all_are_smaller_than_main_memory(id):
    device = hardware.load(id)
    rates = [device.bandwidth(name) for name, level in device.levels.items() if level.bandwidth]
    rates.append(device.bandwidth())
    assert rates == sorted(rates, reverse=True)
    assert sum(level.capacity for level in device.levels.values()) < device.memory_capacity / 10


def test_links_are_one_way():
    devices = {id: hardware.load(id) for id in hardware.names()}
    assert {id for id, device in devices.items() if set(device.links) - {"pcie", "nvlink-c2c"}} == set(LINKS)
    for id, (name, count, gigabytes_per_second, printed) in LINKS.items():
        assert devices[id].link(name) == count * gigabytes_per_second * GIGA == printed * GIGA / 2
    assert devices["gh200"].link("nvlink-c2c") == devices["gh200-144"].link("nvlink-c2c") == 900 * GIGA / 2
    assert all(rate < device.memory_bandwidth for device in devices.values() for rate in device.links.values())


def pcie(transfers: float, lanes: int) -> float:
    """One-way B/s: a transfer is a bit on each lane, 128 of 130 bits carry data."""
    return lanes * transfers * GIGA * 128 / 130 / 8


def test_pcie_is_lanes_times_rate_after_the_line_code():
    for generation, transfers in (("3", 8), ("4", 16), ("5", 32)):
        assert hardware.link(f"pcie{generation}-x16").bandwidth == pytest.approx(pcie(transfers, 16), rel=1e-4)
        assert hardware.link(f"nvme-pcie{generation}").bandwidth == pytest.approx(pcie(transfers, 4), rel=1e-4)
    generations = {hardware.link(f"pcie{generation}-x16").bandwidth: generation for generation in "345"}
    used = {id: hardware.load(id).links["pcie"] for id in hardware.names() if "pcie" in hardware.load(id).links}
    assert {id: generations[rate] for id, rate in used.items()} == {
        **dict.fromkeys(("v100-sxm2", "v100-32-sxm2", "t4", "titan-rtx"), "3"),
        **dict.fromkeys(("a10g", "a100-40-sxm", "a100-80-sxm", "l4", "l40s", "mi250x"), "4"),
        **dict.fromkeys(("a100-40-pcie", "a100-80-pcie", "a800-80-sxm", "a800-80-pcie", "a40"), "4"),
        **dict.fromkeys(("rtx-a6000", "rtx-3090", "rtx-3090-ti", "rtx-4070-ti", "rtx-4090"), "4"),
        **dict.fromkeys(("h100-sxm", "h800-sxm", "h100-pcie", "h200-sxm", "rtx-5090", "mi300x", "mi325x"), "5"),
    }


@pytest.mark.parametrize(
    ("id", "gigabits_per_second"),
    [
        ("infiniband-hdr", 200),
        ("infiniband-ndr", 400),
        ("infiniband-xdr", 800),
        ("ethernet-10g", 10),
        ("ethernet-100g", 100),
        ("ethernet-400g", 400),
    ],
)
def test_networks_carry_what_their_name_says(id, gigabits_per_second):
    assert hardware.link(id).bandwidth == gigabits_per_second * GIGA / 8
    assert hardware.link(id).latency == 0


def test_power_is_the_data_sheets():
    devices = {id: hardware.load(id) for id in hardware.names()}
    assert {id: device.power for id, device in devices.items() if device.power is not None} == POWER


def test_a_price_is_that_of_one_device_and_has_a_source_of_its_own():
    devices = {id: hardware.load(id) for id in hardware.names()}
    assert {id for id, device in devices.items() if device.price_per_hour is not None} == set(PRICES)
    for id, (dollars, count) in PRICES.items():
        assert devices[id].price_per_hour == pytest.approx(dollars / count, rel=0.001)
        title, date = devices[id].source("price_per_hour")
        assert "on demand" in title
        assert "2024-01" <= date <= "2026-12"


def test_a_dollar_by_hand():
    # V100, $3.06 an hour: a dollar is 1,176.5 s; 125 TFLOP/s and 900 GB/s
    bought = hardware.per_dollar("v100-sxm2", "fp16")
    assert bought.flops == pytest.approx(1.470588e17, rel=1e-6)
    assert bought.bytes == pytest.approx(1.058824e15, rel=1e-6)
    half = hardware.per_dollar(replace(hardware.load("v100-sxm2"), price_per_hour=1.53), "fp32")
    assert half.flops == pytest.approx(2 * 15.7e12 * 3600 / 3.06)
    assert half.bytes == pytest.approx(2 * bought.bytes)


@pytest.mark.parametrize("id", PRICES)
def test_a_dollar_buys_as_long_as_the_hour_divided_by_its_price(id):
    device, (dollars, count) = hardware.load(id), PRICES[id]
    assert hardware.per_dollar(id, next(iter(device.peaks))).bytes == pytest.approx(
        device.memory_bandwidth * 3600 * count / dollars, rel=0.001
    )


@pytest.mark.parametrize("id", SHEETS)
def test_every_value_has_a_source_with_a_date(id):
    device = hardware.load(id)
    optional = [name for name in ("power", "price_per_hour") if getattr(device, name) is not None]
    optional += ["sparse_peaks"] if device.sparse_peaks else []
    optional += [f"levels.{name}" for name in device.levels] + [f"links.{name}" for name in device.links]
    assert set(device.sources) == {"peaks", "memory_bandwidth", "memory_capacity", "nominal_memory", *optional}
    for field in device.sources:
        title, date = device.source(field)
        assert len(title) > 10
        assert 2010 <= int(date[:4]) <= 2026
        assert re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", date)


def test_sources_of_the_file_name_values_that_exist():
    for id, entry in tomllib.loads(TOML.read_text("utf-8"))["device"].items():
        assert set(entry.get("sources", ())) <= set(hardware.load(id).sources)


def test_every_link_has_a_source_with_a_date():
    for id in hardware.link_names():
        title, date = hardware.link(id).source
        assert len(title) > 10
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", date)
    with pytest.raises(ValueError, match=r"link='infiniband-ndx'.*Did you mean 'infiniband-ndr'"):
        hardware.link("infiniband-ndx")


def test_kinds():
    assert hardware.load("epyc-9654").kind == "cpu"
    assert hardware.load("apple-a17-pro-npu").kind == "npu"
    assert {id for id in hardware.names() if hardware.load(id).kind == "tpu"} == {
        id for id in SHEETS if id.startswith("tpu-")
    }


def test_a_replaced_value_has_no_source():
    variant = replace(hardware.load("h100-sxm"), memory_bandwidth=2e12)
    assert roofline.ridge_point(variant, "bf16") == 989e12 / 2e12
    assert variant.source("memory_capacity") == hardware.load("h100-sxm").source("memory_capacity")
    with pytest.raises(ValueError, match=r"memory_bandwidth.*h100-sxm was replaced"):
        variant.source("memory_bandwidth")
    assert variant.source("levels.l2") == hardware.load("h100-sxm").source("levels.l2")
    for changed, field in (
        ({"levels": {"l2": hardware.Level(50e6, 9e12)}}, "levels.l2"),
        ({"levels": {}}, "levels.shared"),
        ({"links": {"nvlink": 450e9, "pcie": 1e9}}, "links.pcie"),
        ({"power": 500}, "power"),
        ({"price_per_hour": None}, "price_per_hour"),
    ):
        with pytest.raises(ValueError, match=f"{field}.*h100-sxm was replaced"):
            replace(variant, **changed).source(field)
    with pytest.raises(ValueError, match=r"call_overhead.*no source"):
        hardware.load("h100-sxm").source("call_overhead")


def test_what_is_free_takes_no_time_and_nothing_else_changes():
    """A product and a step against the two times of the roofline, each typed here."""
    work = roofline.Op("work", flops=989 * 10**9, bytes=6_700_000, dtype="bf16")  # 1 ms and 2 µs
    h100 = replace(hardware.load("h100-sxm"), call_overhead=5e-6)
    times = {
        (): 1e-3,
        ("arithmetic",): 5e-6,  # the call, which runs ahead of 2 µs of bytes
        ("arithmetic", "calls"): 2e-6,
        ("bytes",): 1e-3,
        ("calls",): 1e-3,
        ("links",): 1e-3,
    }
    for prices, seconds in times.items():
        found = roofline.predict_seconds(work, device=hardware.set_free(h100, *prices))
        assert found == pytest.approx(seconds), prices
    assert hardware.set_free("h100-sxm") == hardware.load("h100-sxm")
    free = hardware.set_free("h100-sxm", "bytes")
    kept = ("memory_capacity", "peaks", "links", "power", "price_per_hour")
    assert all(getattr(free, name) == getattr(h100, name) for name in kept)
    assert free.level("l2").capacity == h100.level("l2").capacity
    assert free.bandwidth("l2") > 1e25
    assert free.level("registers").bandwidth is None
    assert hardware.set_free("h100-sxm", "links").link("nvlink") > 1e25


def test_a_price_that_there_is_not():
    with pytest.raises(ValueError, match="arithmetic, bytes, calls, links"):
        hardware.set_free("h100-sxm", "flops")


def test_a_device_is_a_value():
    device = hardware.load("a100-40-sxm")
    assert device == replace(device)
    assert len({device, replace(device), replace(device, memory_bandwidth=1e12)}) == 2
    assert asdict(device)["peaks"]["bf16"] == 312e12
    assert asdict(device)["levels"]["l2"] == {"capacity": 40 * 2**20, "bandwidth": 7.219e12}
    assert device != replace(device, power=300)
    for mapping in (device.peaks, device.sparse_peaks, device.levels, device.links):
        with pytest.raises(TypeError, match="read-only"):
            mapping["x"] = 1e15


H100 = hardware.load("h100-sxm")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: H100.level("l3"), ["level='l3'", "h100-sxm", "shared, l2"]),
        (lambda: hardware.load("tpu-v5e").level("l2"), ["level='l2'", "tpu-v5e", "Known: none"]),
        (lambda: H100.link("ici"), ["link='ici'", "h100-sxm", "nvlink, pcie"]),
        (lambda: H100.sparse_peak("fp32"), ["dtype='fp32'", "h100-sxm", "tf32, bf16"]),
        (lambda: hardware.load("v100-sxm2").sparse_peak("fp16"), ["dtype='fp16'", "Known: none"]),
        (lambda: H100.source("levels.l3"), ["field='levels.l3'", "levels.l2"]),
        (lambda: replace(H100, links={"nvlink": 450}), ["links['nvlink']=450", "looks like GB/s"]),
        (lambda: replace(H100, links=[450e9]), ["links=[450000000000.0]", "mapping by name"]),
        (lambda: replace(H100, levels={"l2": (50e6, 5e12)}), ["levels['l2']=(50000000.0", "hardware.Level"]),
        (lambda: replace(H100, levels=None), ["levels=None", "mapping by name"]),
        (lambda: replace(H100, sparse_peaks={"bf16": 1979}), ["sparse_peaks['bf16']=1979", "looks like TFLOP/s"]),
        (lambda: replace(H100, power=0.7), ["power=0.7", "looks like kW"]),
        (lambda: replace(H100, power=0), ["power=0"]),
        (lambda: replace(H100, power="700 W"), ["power='700 W'", "finite number"]),
        (lambda: replace(H100, price_per_hour=30_000), ["price_per_hour=30000", "purchase"]),
        (lambda: replace(H100, price_per_hour=-1), ["price_per_hour=-1", "zero or more"]),
        (lambda: replace(H100, kind="fpga"), ["kind='fpga'", "gpu, cpu, tpu, npu"]),
        (lambda: hardware.per_dollar("h200-sxm", "bf16"), ["device='h200-sxm'", "price_per_hour", "h100-sxm"]),
        (lambda: hardware.per_dollar("v100-sxm2", "bf16"), ["dtype='bf16'", "v100-sxm2", "fp16"]),
        (lambda: hardware.per_dollar("h100-smx", "bf16"), ["h100-sxm"]),
        (lambda: hardware.Level(50, 5e12), ["capacity=50", "looks like MB"]),
        (lambda: hardware.Level(50e6, 5.5), ["bandwidth=5.5", "looks like GB/s"]),
        (lambda: hardware.Link("x", "x", 400), ["bandwidth=400", "looks like GB/s"]),
        (lambda: hardware.Link("x", "x", 50e9, latency=5), ["latency=5", "looks like µs"]),
    ],
)
def test_the_message_names_argument_value_and_remedy(call, says, refuses):
    refuses(call, says)


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
    assert (device.levels, device.links) == ({}, {})
    assert hardware.this_machine("cpu") == device


def test_levels_and_links_of_the_profile(write_profile):
    levels = {"l1": {"capacity": 2**17, "bandwidth": None}, "l2": {"capacity": 2**21, "bandwidth": 1.5e11}}
    write_profile(profile(cpu=CPU | {"levels": levels, "links": {"pcie": 2.5e10}}))
    device = hardware.this_machine()
    assert device.bandwidth("l2") == 1.5e11
    assert device.level("l1") == hardware.Level(2**17)
    assert device.link("pcie") == 2.5e10
    assert device.source("levels") == ("measured here by `course doctor`", "2026-11-21")


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
        profile(cpu=CPU | {"levels": 5}),
        profile(cpu=CPU | {"levels": {"l2": [1, 2]}}),
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
