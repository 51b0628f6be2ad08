"""The kernel of `pointer_chase` on a GPU. Importing this needs Triton, which comes with torch for CUDA."""

import triton
import triton.language as tl


@triton.jit
def hop(table, at, hops):
    """`hops` times node = table[node], from the node that stands at `at`, where the last one is stored."""
    node = tl.load(at)
    for _ in range(hops):
        node = tl.load(table + node)
    tl.store(at, node)
