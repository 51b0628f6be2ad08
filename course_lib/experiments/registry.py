"""The experiments by name; a module is imported when it is first asked for."""

import importlib

from course_lib.accounting import units

NAMES = (
    "same_flops",
    "ten_times_flops",
    "roofline_points",
    "unseen_ops",
    "hardware_friendly",
    "bandwidth_staircase",
    "pointer_chase",
    "stride_access",
    "disk_stream",
    "host_to_device",
    "memory_habits",
    "saved_tensors",
    "training_memory",
    "checkpointing",
    "kv_cache_growth",
    "matmul_sweep",
    "gemm_ladder",
    "elementwise_vs_matmul",
    "counted_matmul",
    "softmax_variants",
    "attention_scaling",
    "im2col",
    "conv_vs_attention",
    "convolution_kinds",
    "image_models",
    "network_search",
    "data_hunger",
    "train_step_waterfall",
    "mfu",
    "launch_gaps",
    "cuda_graphs",
    "copies_and_streams",
    "fusion_chain",
    "low_precision",
    "training_ladder",
    "decode_sweep",
    "allocator_trace",
    "utilisation_gauges",
)


def get(name: str):
    """The Experiment `name`; an unknown name is a ValueError with the nearest."""
    units.choice(name, "name", NAMES)
    return importlib.import_module(f"course_lib.experiments.measurements.{name}").EXPERIMENT
