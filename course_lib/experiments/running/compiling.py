"""torch.compile for experiments: nothing stays on the disk, and a missing compiler is a reason and not a traceback."""

import contextlib
import importlib.util
import os
import tempfile
import warnings
from collections.abc import Iterator
from unittest import mock

from course_lib.experiments.profile import machine
from course_lib.experiments.running.errors import Unavailable, in_one_line

_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


@contextlib.contextmanager
def compiling(bench, what: str = "torch.compile") -> Iterator[None]:
    """Run code that compiles when it is first called: its files go into a folder that is removed afterwards, and
    whatever goes wrong is Unavailable with its reason.
    """
    if machine.compiler() is None:
        raise Unavailable(f"{what} needs a C++ compiler, and this machine has none.")
    if bench.on == "cuda" and importlib.util.find_spec("triton") is None:
        raise Unavailable(f"{what} needs Triton on a GPU, and it is not installed.")
    import torch._inductor.config as inductor

    with (
        tempfile.TemporaryDirectory(prefix="course-compile-", ignore_cleanup_errors=True) as folder,
        mock.patch.dict(os.environ, dict.fromkeys(_CACHES, folder)),
        # in this process, so that no pool of workers stays, and without a precompiled header for one kernel
        inductor.patch(compile_threads=1, cpp_cache_precompile_headers=False),
        warnings.catch_warnings(action="ignore"),  # advice on settings that an experiment chose on purpose
    ):
        try:
            yield
        except Unavailable:
            raise
        except Exception as problem:
            if isinstance(problem, MemoryError) or "out of memory" in str(problem).lower():
                raise
            raise Unavailable(f"{what} failed. {in_one_line(problem)}") from None
