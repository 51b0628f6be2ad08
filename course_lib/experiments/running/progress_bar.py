"""Progress of long runs, on the error stream: a tqdm bar where tqdm is installed, else a line for each step."""

import sys
from collections.abc import Callable, Iterable, Sequence


def bar(title: str) -> Callable[[Sequence], Iterable]:
    """A function that goes through steps (objects with `label` or `name`) and shows where it is."""

    def shown(steps: Sequence) -> Iterable:
        steps = list(steps)
        try:
            from tqdm import tqdm
        except ImportError:
            for number, step in enumerate(steps, 1):
                print(f"{title} {number}/{len(steps)}: {_label(step)}", file=sys.stderr, flush=True)
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
                meter.set_postfix_str(_label(step))
                yield step
                meter.update()

    return shown


def _label(step) -> str:
    return getattr(step, "label", None) or step.name
