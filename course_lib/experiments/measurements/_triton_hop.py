"""The chase of a GPU as a Triton kernel. Importing this needs Triton: `pointer_chase` imports it in a function."""

import triton
import triton.language as tl


@triton.jit
def hop(table, at, hops):
    """`hops` times node = table[node], from the node that stands at `at`, where the last one is stored."""
    node = tl.load(at)
    for _ in range(hops):
        node = tl.load(table + node)
    tl.store(at, node)
