"""What TorchInductor writes for the expressions of the experiment `compile_report`, on a processor; a test compares."""

import re

LOOP = {
    "tmp0": (),
    "tmp7": (),
    "tmp1": ("tmp0",),
    "tmp2": ("tmp1",),
    "tmp4": (),
    "tmp5": ("tmp2", "tmp4"),
    "tmp6": ("tmp0", "tmp5"),
    "tmp8": ("tmp6", "tmp7"),
}
"""SiLU(x)·y: each vector of one turn of the loop, in order, and the vectors that it is made of."""

CALLS = ("cpp_fused_native_layer_norm_0", "extern_kernels.addmm")
"""Linear(LayerNorm(x)): what the generated code calls, in order."""

BUFFER = 512
"""softmax(2x): fp32 numbers of a row, the exponentials, that its kernel writes to a buffer and reads again."""


WRITTEN = {
    "SiLU(x)·y": (2, 0, 1),
    "softmax(2x)": (2, 0, 2),
    "x + GELU(LayerNorm(x))": (3, 0, 3),
    "Linear(LayerNorm(x))": (2, 1, 3),
    "ReLU(Linear(x))": (2, 1, 1),
}
"""Each expression: calls as it is written, calls left to a library, and how often the kernel's loops read its input."""


def loop(code: str) -> dict[str, tuple[str, ...]]:
    """The form of `LOOP`, read from generated code; a plain number is no vector."""
    lines = re.findall(r"auto (tmp\d+) = (.+);", code)
    vectors = [name for name, made in lines if not made.startswith("static_cast<float>")]
    return {
        name: tuple(read for read in re.findall(r"tmp\d+", made) if read in vectors)
        for name, made in lines
        if name in vectors
    }


def calls(code: str) -> tuple[str, ...]:
    """The form of `CALLS`, read from generated code."""
    return tuple(re.findall(r"^ +(cpp_fused_\w+|extern_kernels\.\w+)\(", code, re.MULTILINE))


def left(code: str) -> int:
    """Calls of a library in generated code."""
    return sum(name.startswith("extern") for name in calls(code))


def readings(code: str) -> int:
    """How often the loops of generated code load the first tensor from outside."""
    return len(re.findall(r"::loadu\((?:in_ptr0|in_out_ptr0) \+ \S+\(x\d(?: \+ \d+L\*x\d)?\)", code))


def buffers(code: str) -> list[int]:
    """Numbers in each buffer that generated code keeps for itself, written and read in loops."""
    return [int(count) for count in re.findall(r"make_unique<float \[\]>\((\d+)L\)", code)]


def alive(vectors: dict[str, tuple[str, ...]]) -> int:
    """How many vectors are needed at a time: made, and still to be read or stored."""
    names = list(vectors)
    until = {
        name: max((at for at, reads in enumerate(vectors.values()) if name in reads), default=len(names))
        for name in names
    }
    return max(sum(until[name] > at for name in names[: at + 1]) for at in range(len(names)))
