"""Four ways for an asyncio server to collect requests into batches: two that work, and two that are often written."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress


class Greedy:
    """The batch is formed when the model is free: whatever waits then, up to `most`.

    window: seconds that the first request of a batch waits for company, from when it comes; a full batch waits no
    longer. model: list of inputs -> list of outputs, called in a thread.
    """

    def __init__(self, model: Callable[[list], Sequence], most: int = 32, window: float = 0.0):
        self.model, self.most, self.window, self.sizes = model, most, window, []
        self.waiting: asyncio.Queue = asyncio.Queue()
        self.full = asyncio.Event()
        self.worker = asyncio.ensure_future(self._work())

    async def infer(self, x):
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self.waiting.put_nowait((x, answer, loop.time()))
        if self.waiting.qsize() >= self.most - 1:  # beside the one that the worker holds
            self.full.set()
        return await answer

    async def _work(self):
        while True:
            batch = [await self.waiting.get()]
            await self._company(batch[0][2] + self.window - asyncio.get_running_loop().time())
            while len(batch) < self.most and not self.waiting.empty():
                batch.append(self.waiting.get_nowait())
            self.sizes.append(len(batch))
            await answer(self.model, [(x, waiter) for x, waiter, _ in batch])

    async def _company(self, seconds: float):
        """Wait until the window is over or the batch is full."""
        if seconds > 0 and self.waiting.qsize() < self.most - 1:
            self.full.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.full.wait(), seconds)

    def close(self):
        self.worker.cancel()


class Timer:
    """The batch is formed when a timer fires, or when it is full; batches then queue for the model."""

    def __init__(self, model: Callable[[list], Sequence], most: int = 32, window: float = 0.002):
        self.model, self.most, self.window, self.sizes = model, most, window, []
        self.waiting, self.timer, self.free, self.runs = [], None, asyncio.Lock(), set()

    async def infer(self, x):
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self.waiting.append((x, answer))
        if len(self.waiting) >= self.most:
            self._flush()
        elif self.timer is None:
            self.timer = loop.call_later(self.window, self._flush)
        return await answer

    def _flush(self):
        if self.timer:
            self.timer.cancel()
        batch, self.waiting, self.timer = self.waiting, [], None
        run = asyncio.ensure_future(self._run(batch))
        self.runs.add(run)  # a task that nobody holds may be collected before it is done
        run.add_done_callback(self.runs.discard)

    async def _run(self, batch):
        async with self.free:
            self.sizes.append(len(batch))
            await answer(self.model, batch)

    def close(self):
        pass


async def answer(model: Callable[[list], Sequence], batch: list):
    """Run the model beside the event loop and hand each caller its answer, or all of them the error."""
    try:
        outputs = await asyncio.to_thread(model, [x for x, _ in batch])
    except Exception as error:
        outputs = [error] * len(batch)
    for (_, waiter), output in zip(batch, outputs, strict=True):
        if waiter.done():  # whoever asked has gone
            continue
        if isinstance(output, Exception):
            waiter.set_exception(output)
        else:
            waiter.set_result(output)


class Impatient:
    """What is often written: each request waits for a full batch, but no longer than `window`, with `wait_for`."""

    def __init__(self, model: Callable[[list], Sequence], most: int = 32, window: float = 0.002):
        self.model, self.most, self.window, self.waiting = model, most, window, []

    async def infer(self, x):
        answer = asyncio.get_running_loop().create_future()
        self.waiting.append((x, answer))
        if len(self.waiting) >= self.most:
            self._run()
        try:
            await self._patience(answer)
        except TimeoutError:
            self._run()
        return await answer

    async def _patience(self, answer):
        await asyncio.wait_for(answer, self.window)  # cancels the future when the time is over

    def _run(self):
        if self.waiting:
            outputs = self.model([x for x, _ in self.waiting])
            for (_, answer), output in zip(self.waiting, outputs, strict=True):
                answer.set_result(output)  # InvalidStateError where it was cancelled: the list is never emptied
            self.waiting.clear()


class Shielded(Impatient):
    """The same with one word more: the time limit no longer cancels the future."""

    async def _patience(self, answer):
        await asyncio.wait_for(asyncio.shield(answer), self.window)


async def groups(make: Callable, sizes: Sequence[int]) -> list[int]:
    """How many requests of each group, sent together and one group after the other, got their answer."""
    batcher, answered = make(lambda inputs: inputs), []
    for size in sizes:
        calls = [asyncio.ensure_future(batcher.infer(number)) for number in range(size)]
        done, late = await asyncio.wait(calls, timeout=2)
        for call in late:
            call.cancel()
        answered.append(sum(call.exception() is None for call in done if not call.cancelled()))
    if hasattr(batcher, "close"):
        batcher.close()
    return answered


def beside(coroutine):
    """Run a coroutine to its end in a loop and a thread of its own: a notebook's loop is busy with the notebook."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
