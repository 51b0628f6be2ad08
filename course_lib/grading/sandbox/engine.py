"""Running students' answers: jobs in, what each call gave out. No check, no reference and no seed comes here.

One thread for each zygote; each holds one conversation (`conversation`) at a time.
"""

import os
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from course_lib.grading.sandbox.conversation import Answered, Call, Conversation, Job, Reply
from course_lib.grading.sandbox.sandbox import Limits, Sandbox, SandboxFault, SandboxMissing
from course_lib.grading.sandbox.selftest import self_test

__all__ = ["Answered", "Call", "Engine", "Job", "Limits", "Reply", "SandboxFault", "SandboxMissing"]


class Engine:
    """Zygotes that are kept warm. A context manager: what it started is gone when the context ends.

    workers  zygotes that work side by side (default: one for each processor that this process may use).
    unsafe   no sandbox at all: for one's own work only. Never for what others hand in.
    secret   files of this machine that the self-test must not find in the sandbox.

    Entering it raises `SandboxMissing` where students' code cannot be confined, or the self-test fails.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        workers: int | None = None,
        unsafe: bool = False,
        secret: Sequence[Path] = (),
    ):
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers!r}")
        self.limits = limits or Limits()
        self._unsafe, self._secret = unsafe, secret
        self._todo: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Answered | BaseException | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self.sandboxes = [Sandbox(self.limits, unsafe=unsafe) for _ in range(workers or len(os.sched_getaffinity(0)))]

    def __enter__(self) -> "Engine":
        if self._threads:
            raise RuntimeError("an engine is entered once")
        self._threads = [threading.Thread(target=self._work, args=(each,), daemon=True) for each in self.sandboxes]
        try:
            for thread in self._threads:
                thread.start()
            for _ in self._threads:
                if isinstance(problem := self._done.get(), BaseException):
                    raise problem
            if not self._unsafe:
                self_test(self.sandboxes, self.limits, self._secret)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def run(self, jobs: Iterable[Job], side_by_side: int | None = None) -> Iterator[Answered]:
        """Each job's replies, in the order in which they are ready. Takes jobs as they are needed: two for each worker
        ahead, or as many as run `side_by_side`. An iterator that had none is asked again after each answer. Leaving the
        iteration early closes the engine.
        """
        if self._closing.is_set() or not self._threads:
            raise RuntimeError("the engine is not running: use it inside its `with` block, and finish each run")
        jobs, open_jobs, most = iter(jobs), 0, side_by_side or 2 * len(self.sandboxes)
        try:
            while True:
                while open_jobs < most and (job := next(jobs, None)) is not None:
                    self._todo.put(job)
                    open_jobs += 1
                if not open_jobs:
                    return
                answered = self._done.get()
                if isinstance(answered, BaseException):
                    raise answered
                open_jobs -= 1
                yield answered
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill all sandboxes; returns when they are gone."""
        self._closing.set()
        for _ in self._threads:
            self._todo.put(None)
        for sandbox in self.sandboxes:
            sandbox.kill()
        for thread in self._threads:
            thread.join()

    def _work(self, sandbox: Sandbox) -> None:
        """A worker. The sandbox dies with the thread that started it (so does bubblewrap, by `--die-with-parent`)."""
        try:
            sandbox.start()
            self._done.put(None)
            while (job := self._todo.get()) is not None and not self._closing.is_set():
                self._done.put(Conversation(job, sandbox, self.limits).answered())
        except BaseException as problem:
            self._done.put(problem)
        finally:
            sandbox.close()
