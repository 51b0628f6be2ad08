"""The lab of case 2: what a log of requests says before anything runs, and engines with one line left out."""

from collections.abc import Iterator, Sequence

from course_lib.units.case2_serving_kernels import engine


def found_by_log(asked: Sequence[engine.Request], page: int) -> int:
    """Positions of prompts that are found, if requests are served in this order and nothing is ever thrown out."""
    known: set[tuple[int, ...]] = set()
    found = 0
    for request in asked:
        prompt = request.prompt
        ends = range(page, len(prompt), page)  # the last token is computed in any case
        shared = 0
        for end in ends:
            if prompt[:end] not in known:
                break
            shared = end
        found += shared
        known |= {prompt[:end] for end in range(page, len(prompt) + 1, page)}
    return found


def serve(model, asked: Sequence[engine.Request], kind=engine.Engine, **how) -> engine.Engine:
    """An engine after it has served all requests, on one thread."""
    from course_lib.experiments.running import timing

    served = kind(model, **how)
    for request in asked:
        served.add(request)
    with timing.single_thread(model.torch), model.torch.inference_mode():
        served.run()
    return served


def steps(served: engine.Engine) -> Iterator[list[tuple[int, int]]]:
    """What each step gives, on one thread, until nothing runs or waits."""
    from course_lib.experiments.running import timing

    torch = served.torch
    while served.running or served.waiting:
        with timing.single_thread(torch), torch.inference_mode():
            given = served.step()
        yield given


def alone(model, asked: Sequence[engine.Request]) -> list[list[int]]:
    """The plain loop's tokens."""
    from course_lib.experiments.running import timing

    with timing.single_thread(model.torch), model.torch.inference_mode():
        return [engine.plain(model, request) for request in asked]


def differing(served: engine.Engine, right: Sequence[list[int]]) -> int:
    """Requests with another token than the plain loop's, somewhere."""
    return sum(served.answers[number] != tokens for number, tokens in enumerate(right))


class Uncounted(engine.Engine):
    """Shares pages without counting who holds them: the first that ends gives them away."""

    def __init__(self, *given, **how):
        super().__init__(*given, **how)
        self.pages.hold = self._once
        self.pages.let_go = self._at_once

    def _once(self, page):
        self.pages.free.pop(page, None)
        self.pages.holders[page] = 1

    def _at_once(self, page):
        self.pages.holders[page] = 0
        self.pages.free[page] = None


class Misnamed(engine.Engine):
    """Finds a page by its own tokens alone, and not by all that come before it."""

    def __init__(self, *given, **how):
        super().__init__(*given, **how)
        self.pages.known = _ByEnd(self.page)


class _ByEnd(dict):
    """A mapping whose keys are cut to their last page."""

    def __init__(self, page: int):
        super().__init__()
        self.page = page

    def __contains__(self, key):
        return super().__contains__(key[-self.page :])

    def __getitem__(self, key):
        return super().__getitem__(key[-self.page :])

    def __setitem__(self, key, value):
        super().__setitem__(key[-self.page :], value)

    def __delitem__(self, key):
        super().pop(key[-self.page :], None)


class Forgetful(engine.Engine):
    """Forgets to give pages back when a request is cancelled."""

    def cancel(self, number):
        for queue in (self.running, self.waiting):
            for sequence in queue:
                if sequence.number == number:
                    queue.remove(sequence)
                    return sequence.made
        return None


def crossed(page: int = 8, count: int = 6) -> list[engine.Request]:
    """Requests with a page in common behind two different beginnings, and then the same beginnings again."""
    behind = (3,) * page
    return [
        engine.Request((*((11 + number % 2,) * page), *behind, 20 + number), new=12, seed=number)
        for number in range(count)
    ]


def leaving(page: int = 8) -> list[engine.Request]:
    """Four with a common beginning, of which every second one is soon done, and others that want pages then."""
    common = tuple(range(2 * page))
    found = [engine.Request((*common, 30 + number), 2 + 20 * (number % 2), 1.0, number) for number in range(4)]
    return found + [engine.Request((40 + number,) * (2 * page + 1), 12, 1.0, number) for number in range(3)]
