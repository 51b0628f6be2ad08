"""Layers: what each is made of, what it computes, what autograd keeps of it, what it caches. `base.Layer` says how to
write one of your own.
"""

from course_lib.accounting.layers.attention import Attention, LatentAttention
from course_lib.accounting.layers.base import Block, Inputs, Layer
from course_lib.accounting.layers.ends import Embedding, Head, PatchEmbedding, PooledHead, Rotary
from course_lib.accounting.layers.mlp import MLP, Mixture
from course_lib.accounting.layers.norm import Norm
from course_lib.accounting.layers.state_space import Mamba2

__all__ = [
    "MLP",
    "Attention",
    "Block",
    "Embedding",
    "Head",
    "Inputs",
    "LatentAttention",
    "Layer",
    "Mamba2",
    "Mixture",
    "Norm",
    "PatchEmbedding",
    "PooledHead",
    "Rotary",
]
