"""torch and transformers hold half a million objects; here the garbage collector walks them once, not in every test."""

import gc
import sys

import pytest

MODULES = 20
"""Imports after which the collector is told again."""


@pytest.fixture(scope="session")
def set_aside():
    """Sets aside for the collector what exists now, garbage excepted, if much was imported since the last time."""
    known = 0

    def freeze():
        nonlocal known
        if len(sys.modules) > known + MODULES:
            gc.collect()
            gc.freeze()
            known = len(sys.modules)

    yield freeze
    gc.unfreeze()


@pytest.fixture(autouse=True)
def imports_set_aside(set_aside):
    set_aside()
