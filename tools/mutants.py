"""Mutants of a reference: what a slip would make of a right answer, and which inputs notice.

`check()` promises what the grade keeps only if the public inputs tell every such slip from the right answer. A mutant
changes what the reference is given or what it answers (`slips`), or its code in one place (`edits`). `tried` finds the
drawn inputs that make the public ones notice most, and the mutants that still escape.
"""

import random
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import decode_arguments, drawn_inputs, expected, is_steady, parameters
from course_lib.teaching.checks.check_values import plain
from tools import edits, slips
from tools.slips import Mutant

DRAWS = 60
"""Inputs of each group that are drawn to try a mutant, and of which the build takes some for the learner."""

FEWEST, MOST = 4, 6
"""Drawn inputs of each group that a learner's check has: more than the fewest only where they notice more."""

OFTEN = 3
"""Drawn inputs of a kind that must notice a slip, for which it is worth while to have a public one of that kind."""

SECONDS = 0.5
"""Processor time that a mutant has for one input: one that loops for ever is noticed."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that some of the inputs which should notice it do not.

    public: whether a public input notices it. hidden: whether a drawn one does.
    """

    name: str
    public: bool
    hidden: bool


@dataclass(frozen=True)
class Trial:
    """What the mutants of a check showed: those that survive, and the drawn inputs, each with its group, that the
    learner's check has beside those that the author chose.
    """

    survivors: list[Survivor]
    drawn: list[tuple[str, dict]]


def mutants(check: Check, draws: Sequence[dict] = ()) -> Iterator[Mutant]:
    """Every mutant of the reference of a check; a quantity has none, as it takes no input."""
    if check.unit is None:
        yield from slips.of_arguments(check, draws)
        yield from slips.of_answers(check, draws)
        yield from edits.of_code(check.reference)


def tried(check: Check, draws: int = DRAWS) -> Trial:
    """The drawn inputs that notice most mutants which no chosen one notices, and the mutants that survive even so.

    A mutant must be noticed by a public input, drawn ones among them. A classical one (`Mutant.reachable`) must be
    noticed by a drawn input as well, so that the draws are known to reach it.

    Left out is what changes nothing: code that the reference never reaches (`Mutant.probe`), and for other mutants what
    says the same for any mixture of inputs, as where a reference is symmetric in two arguments, or differs by less than
    the tolerance.
    """
    if check.unit is not None:
        return Trial([], [])
    pool = [(group, case) for group, cases in drawn_inputs(check, draws).items() for case in cases]
    steady = {at for at, (_, case) in enumerate(pool) if is_steady(check, case)}
    if missing := {group for group, _ in pool} - {pool[at][0] for at in steady}:
        where = f" {min(missing)}" if min(missing) else ""
        raise ValueError(f"check {check.id!r}: no drawn input{where} has answers that all processors round alike")
    public = _Inputs(check, [case for _, case in check.inputs()])
    drawn = _Inputs(check, [case for _, case in pool])
    every = [(each, public.noticing(each.run), drawn.noticing(each.run)) for each in mutants(check, drawn.cases)]
    partly = _partly(check, public, drawn, [(told, by) for _, told, by in every])
    chosen = _choose([group for group, _ in pool], [by for _, told, by in every if not told], partly, steady)
    found = [Survivor(each.name, True, False) for each, told, by in every if each.reachable and told and not by]
    mixed = _Inputs(check, _mixed(check, public.cases + drawn.cases))
    for mutant, told, by in every:
        if not told and by.isdisjoint(chosen) and (by or _matters(mutant, public, drawn, mixed)):
            found.append(Survivor(mutant.name, False, bool(by)))
    return Trial(found, [pool[at] for at in chosen])


def _partly(check: Check, public: "_Inputs", drawn: "_Inputs", noticing: Sequence[tuple[set, set]]) -> list[set[int]]:
    """Drawn inputs that notice a slip which is made on inputs of one kind only, where no chosen input notices it."""
    kinds = slips.kinds(check, public.cases + drawn.cases, public.right + drawn.right)
    found: dict[frozenset, None] = {}
    for told, by in dict.fromkeys((frozenset(told), frozenset(by)) for told, by in noticing):
        for kind in kinds:
            of_kind = by & {at - len(public.cases) for at in kind}
            if len(of_kind) >= OFTEN and told.isdisjoint(kind):
                found[of_kind] = None
    return [set(each) for each in found]


def _matters(mutant: Mutant, public: "_Inputs", drawn: "_Inputs", mixed: "_Inputs") -> bool:
    """Whether what no input notices is a slip all the same: its code is reached, or a mixture of inputs notices it."""
    if mutant.probe is None:
        return mutant.mixed and mixed.notice(mutant.run)
    probe = mutant.probe()
    return public.notice(probe) or drawn.notice(probe)


def _choose(
    groups: Sequence[str], noticing: Sequence[set[int]], partly: Sequence[set[int]], steady: set[int]
) -> list[int]:
    """Which drawn inputs a learner's check gets: greedily those that notice most of what none before them does, at most
    `MOST` of a group, filled up to `FEWEST` with those that do so of `partly`, then with the first drawn; in the order
    of the groups. Only `steady` ones: whether an input is so may hang on the processor, so it matters for these alone.
    """
    chosen: list[int] = []
    for wanted, most in ((noticing, MOST), (partly, FEWEST), ([{at} for at in range(len(groups))], FEWEST)):
        left = [each & steady for each in wanted if each & steady and each.isdisjoint(chosen)]
        while left:
            counts = Counter(at for each in left for at in each if _members(groups, chosen, groups[at]) < most)
            if not counts:
                break
            best = min(counts, key=lambda at: (-counts[at], at))
            chosen.append(best)
            left = [each for each in left if best not in each]
    return sorted(chosen, key=lambda at: (list(dict.fromkeys(groups)).index(groups[at]), at))


def _members(groups: Sequence[str], chosen: Sequence[int], group: str) -> int:
    return sum(groups[one] == group for one in chosen)


class _Inputs:
    """Inputs of a check with the right answers; those that noticed the last mutants are tried first."""

    def __init__(self, check: Check, cases: Sequence[dict]):
        self.same, self.cases = check.same, list(cases)
        self.right = [expected(check, case) for case in self.cases]
        self.written = [repr(right) for right in self.right]
        self.order = list(range(len(self.cases)))

    def notice(self, run: Callable) -> bool:
        """Whether one of them tells an answer from the right one."""
        for place, at in enumerate(self.order):
            try:
                agrees = self._agrees(run, at)
            except _TooLong:
                agrees = False
            if not agrees:
                self.order.insert(0, self.order.pop(place))
                return True
        return False

    def noticing(self, run: Callable) -> set[int]:
        """Those that tell an answer from the right one; all that are left, where one takes too long."""
        found = set()
        for at in range(len(self.cases)):
            try:
                if not self._agrees(run, at):
                    found.add(at)
            except _TooLong:
                return found | set(range(at, len(self.cases)))
        return found

    def _agrees(self, run: Callable, at: int) -> bool:
        args, kwargs = decode_arguments(self.cases[at])
        with _limited(SECONDS), warnings.catch_warnings(action="ignore"):
            try:
                got = plain(run(*args, **kwargs))
                # most mutants answer most inputs exactly as the reference does, which is seen sooner so
                return repr(got) == self.written[at] or self.same.distance(got, self.right[at]) <= 1
            except Exception:
                return False


def _mixed(check: Check, cases: Sequence[dict]) -> list[dict]:
    """Inputs whose arguments come from different inputs, as far as the reference takes them."""
    names, rng, found = parameters(check.signature), random.Random(0), []
    for _ in range(DRAWS):
        given = {name: rng.choice(cases) for name in names}
        case = {"kwargs": {name: _encoded(case, names)[name] for name, case in given.items()}}
        with suppress(ValueError, LookupError):
            expected(check, case)
            found.append(case)
    return found


def _encoded(case, names) -> dict:
    return dict(zip(names, case.get("args", []), strict=False)) | case.get("kwargs", {})


class _TooLong(BaseException):
    pass


@contextmanager
def _limited(seconds: float):
    """A limit on processor time, which a busy machine does not use up; ValueError outside the main thread."""

    def stop(*_):
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
