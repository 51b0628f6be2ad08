"""Progress of long runs, on the error stream: a tqdm bar where tqdm is installed, else a line for each step."""

import sys
from collections.abc import Callable, Iterable, Sequence


def bar(title: str) -> Callable[[Sequence], Iterable]:
    """A function that goes through steps (objects with a `name`) and shows where it is."""

    def shown(steps: Sequence) -> Iterable:
        steps = list(steps)
        try:
            from tqdm import tqdm
        except ImportError:
            for number, step in enumerate(steps, 1):
                print(f"{title} {number}/{len(steps)}: {step.name}", file=sys.stderr, flush=True)
                yield step
            return
        with tqdm(
            total=len(steps),
            desc=title,
            leave=False,
            file=sys.stderr,
            bar_format="{desc} |{bar}| {n}/{total} {postfix}",
        ) as meter:
            for step in steps:
                meter.set_postfix_str(step.name)
                yield step
                meter.update()

    return shown
