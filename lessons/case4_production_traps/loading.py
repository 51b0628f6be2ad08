"""A slow dataset for a real DataLoader, and by counting: how far ahead workers fetch, and what they deliver twice."""

import time
import warnings


class Slow:
    """Items that take `seconds` each, as from a drive; of this module, so that a worker process finds the class."""

    def __init__(self, items: int, seconds: float):
        self.items, self.seconds = items, seconds

    def __len__(self) -> int:
        return self.items

    def __getitem__(self, place: int):
        import torch

        time.sleep(self.seconds)
        return torch.full((1000,), float(place))


def epoch(torch, workers: int, batches: int, item: float, step: float) -> float:
    """Seconds of the second epoch: batches of four items of `item` s each, and a step of `step` s for each batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more workers than cores: they sleep
        loader = torch.utils.data.DataLoader(
            Slow(4 * batches, item), batch_size=4, num_workers=workers, persistent_workers=workers > 0
        )
        for _ in loader:
            pass
        begin = time.perf_counter()
        for _ in loader:
            time.sleep(step)
    return time.perf_counter() - begin


def fetched_ahead(workers: int, prefetch: int, batches: int) -> int:
    """Batches that workers are asked for before the first one is used."""
    return min(workers * prefetch, batches)


def delivered(items: range, workers: int, divided: bool) -> list[int]:
    """Items of an IterableDataset, one at a time, in the order of an epoch.

    Each worker gets a copy of the dataset and runs through all of it, unless the dataset itself takes the part of its
    worker (by torch.utils.data.get_worker_info()).
    """
    processes = max(1, workers)  # without workers the one process of the loop runs through it
    shares = [list(items[worker::processes] if divided else items) for worker in range(processes)]
    longest = max(map(len, shares))
    return [share[place] for place in range(longest) for share in shares if place < len(share)]
