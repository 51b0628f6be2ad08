"""Slips in what a reference is given or answers: an argument frozen, swapped, clipped or rounded, a part of a list, an
answer rounded, clipped or upside down. Each is a line in a table.
"""

import ast
import copy
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import ceil, floor

from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import decode_arguments, expected, parameters
from course_lib.teaching.checks.check_values import is_number, plain


@dataclass(frozen=True)
class Mutant:
    """A changed reference and what was changed, such as "seq frozen at 1024" or "rows: max(a, b) → min(a, b)".

    probe: makes the reference that fails where the changed code is reached; None where a mutant that nothing notices
    is taken for equal. reachable: whether drawn inputs too must notice it, where public ones do. mixed: whether it is
    equal only if mixtures of inputs do not notice it either.
    """

    name: str
    run: Callable
    probe: Callable[[], Callable] | None = None
    reachable: bool = False
    mixed: bool = True


def digits(value, count: int):
    """A number rounded to `count` significant digits."""
    return float(f"{value:.{count}g}")


# ---------------------------------------------------------------- arguments

_NUMBERS = {
    "without its fraction": int,
    "rounded to 2 digits": lambda number: digits(number, 2),
    "upside down": lambda number: 1 / number,
}
"""What may become of a number that is given, or of each number in a list."""

_LISTS = {
    "the first only": lambda items: items[:1],
    "the first two only": lambda items: items[:2],
    "the first three only": lambda items: items[:3],
    "the first four only": lambda items: items[:4],
    "the first five only": lambda items: items[:5],
    "the last only": lambda items: items[-1:],
    "the first and the last only": lambda items: [items[0], items[-1]],
    "the largest only": lambda items: [max(items)],
    "without the first": lambda items: items[1:],
    "without the second": lambda items: [*items[:1], *items[2:]],
    "without the last": lambda items: items[:-1],
    "backwards": lambda items: items[::-1],
    "sorted": sorted,
    "sorted, the largest first": lambda items: sorted(items)[::-1],
    "each value once": lambda items: _distinct(items),
    "each value twice": lambda items: [item for item in items for _ in range(2)],
}
"""What of a list an answer may see."""

_DICTIONARIES = {
    "the last written first": lambda items: dict(reversed(items.items())),
    "by name": lambda items: dict(sorted(items.items())),
    "by value": lambda items: dict(sorted(items.items(), key=lambda item: item[1])),
    "without the first": lambda items: dict([*items.items()][1:]),
    "without the last": lambda items: dict([*items.items()][:-1]),
}
"""What of a dictionary an answer may see, and in which order."""

_RELATIONS = {
    "{0} = {1}": lambda one, other: one == other,
    "{0} below {1}": lambda one, other: one < other,
    "{0} above {1}": lambda one, other: one > other,
    "{0} a multiple of {1}": lambda one, other: _whole(one, other) and one % other == 0,
    "{0} no multiple of {1}": lambda one, other: _whole(one, other) and one % other != 0,
    "{1} a multiple of {0}": lambda one, other: _whole(other, one) and other % one == 0,
    "{1} no multiple of {0}": lambda one, other: _whole(other, one) and other % one != 0,
}
"""How two numbers that are given may stand to each other."""

_PLACES = {
    "first": lambda items, item: items.index(item),
    "last": lambda items, item: len(items) - 1 - items[::-1].index(item),
}
"""Where a look-up finds one of several equal things: `list.index` the first, a dictionary the last."""

_CLASSICAL = {"the first only", "the first two only", "the first three only", "without the first", "without the last"}
_CLASSICAL |= {"backwards", "each value once"}

_TWICE = "with a value twice"
"""`list.index` finds the first of two equal things, a set keeps one."""

FEW = 6
"""Different values of an argument, lengths of a list or values of an answer that are met one by one."""


RARE = 20
"""One input in so many must have two arguments that stand to each other in a way, else that is a coincidence."""


def of_arguments(check: Check, draws: Sequence[dict] = ()) -> Iterator[Mutant]:
    """Mutants that see an argument otherwise. `draws` are inputs that tell which values it has, beside public ones."""
    names, reference = parameters(check.signature), check.reference
    public = [_named(case, names) for _, case in check.inputs()]
    inputs = public + [_named(case, names) for case in draws]
    for name in names:
        for value in _distinct([given[name] for given in public if name in given])[:3]:
            change = {name: lambda given, value=value: copy.deepcopy(value)}
            yield Mutant(f"{name} frozen at {value!r:.60}", _given(reference, names, change), reachable=True)
    for name, value in _defaults(check.signature).items():
        change = {name: lambda given, value=value: value}
        yield Mutant(f"{name} left at its default", _given(reference, names, change))
    for one, other in combinations(names, 2):
        if all(type(given.get(one)) is type(given.get(other)) for given in public):
            first, second = (lambda given, other=other: given[other]), (lambda given, one=one: given[one])
            for how, change in {
                f"{one} and {other} swapped": {one: first, other: second},
                f"{one} taken for {other}": {other: second},
                f"{other} taken for {one}": {one: first},
            }.items():
                yield Mutant(how, _given(reference, names, change), reachable=True)
    for one in names:
        beside = [name for name in names if name != one and any(_side_by_side(given, one, name) for given in inputs)]
        for others in (*([other] for other in beside), *([beside] if len(beside) > 1 else ())):
            for which, place in _PLACES.items():
                change = {name: partial(_by_place, one=one, other=name, place=place) for name in others}
                what = " and ".join(others)
                yield Mutant(f"{what} at the place of the {which} such of {one}", _given(reference, names, change))
    for name in names:
        values = [given[name] for given in inputs if name in given]
        for how, change in _changes(values).items():
            run = _given(reference, names, {name: lambda given, name=name, change=change: change(given[name])})
            # a mixture of inputs may have ties that no input has
            yield Mutant(f"{name}: {how}", run, reachable=how in _CLASSICAL, mixed=how not in _DICTIONARIES)
        for how, change in _clips(values, [given[name] for given in public if name in given]).items():
            run = _given(reference, names, {name: lambda given, name=name, change=change: change(given[name])})
            yield Mutant(f"{name}: {how}", run, mixed=False)
    asked = {what for name in names for what in _asked_of(inputs, name)}
    for what, refused in _special(inputs, names):
        yield Mutant(
            f"{what} refused", _unless(reference, names, refused), _unready if what in asked else None, mixed=False
        )


def _asked_of(inputs: Sequence[dict], name: str) -> Iterator[str]:
    """The kinds of an argument that some public input must be of: of a list that may hold one thing or several one with
    a single thing; where these are not told apart by name, one with two that are equal.
    """
    values = [given[name] for given in inputs if name in given]
    if not all(isinstance(value, list) for value in values) or not any(len(value) > 1 for value in values):
        return
    if len(set(map(len, values))) > 1:
        yield f"{name} of length 1"
    labels = [[_label(item) for item in value] for value in values]
    if any(None in each or len(set(each)) < len(each) for each in labels):
        yield f"{name} {_TWICE}"


def _label(item) -> str | None:
    """A text, or the first one in a record: its name, or its kind."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, list) else [item]
    return next((part for part in parts if isinstance(part, str)), None)


def _unready() -> Callable:
    """A probe that every input reaches: some public input has to be of the kind that the mutant refuses."""

    def fail(*_, **__):
        raise LookupError

    return fail


def _side_by_side(given: dict, one: str, other: str) -> bool:
    """Whether two arguments are lists of equal length."""
    lists = [given.get(name) for name in (one, other)]
    return all(isinstance(each, list) for each in lists) and len(lists[0]) == len(lists[1])


def _by_place(given: dict, one: str, other: str, place: Callable):
    """`other`, each part looked up by the place of its neighbour in `one`."""
    if not _side_by_side(given, one, other):
        return given[other]
    return [given[other][place(given[one], each)] for each in given[one]]


def _by_part(rows: list, at: int, place: Callable) -> list:
    """Records, each looked up by its part `at`."""
    keys = [row[at] for row in rows]
    return [rows[place(keys, key)] for key in keys]


def _one_for_each(rows: list, at: int) -> list:
    """Records kept in a dictionary under their part `at`: of those that share it one is left, the last."""
    keys = [row[at] for row in rows]
    return [rows[_PLACES["last"](keys, key)] for key in _distinct(keys)]


def _records(values: Sequence) -> int:
    """How many parts the records have that lists hold; 0 where they hold none, or such of one part only."""
    rows = [row for value in values for row in value]
    least = min(map(len, rows)) if rows and all(isinstance(row, list) for row in rows) else 0
    return least if least > 1 else 0


def kinds(check: Check, cases: Sequence[dict], answers: Sequence) -> list[set[int]]:
    """Kinds of inputs, by what is given and by the right answer: for each, which of the inputs are of it."""
    names = parameters(check.signature)
    inputs = [_named(case, names) for case in cases]
    found = [{at for at, given in enumerate(inputs) if test(given)} for _, test in _special(inputs, names)]
    for key in dict.fromkeys(_keys(answers)) or [None]:
        parts = [_under(answer, key) for answer in answers]
        for test in _kinds([value for part in parts for value in part]).values():
            found.append({at for at, part in enumerate(parts) if any(map(test, part))})
    return found


def _special(inputs: Sequence[dict], names: Sequence[str]) -> Iterator[tuple[str, Callable[[dict], bool]]]:
    """Kinds of inputs that an answer may not be ready for, each with the test of it."""
    for name in names:
        for what, test in _kinds([given[name] for given in inputs if name in given]).items():
            yield f"{name} {what}", lambda given, name=name, test=test: name in given and test(given[name])
    for one, other in combinations(names, 2):
        for what, test in _RELATIONS.items():

            def both(given, test=test, pair=(one, other)):
                return all(is_number(given.get(name)) for name in pair) and bool(test(*map(given.get, pair)))

            if sum(map(both, inputs)) >= len(inputs) / RARE:
                yield what.format(one, other), both


def _whole(one, other) -> bool:
    """Whether both are whole numbers, and the first can be divided by the second."""
    return one == int(one) and other == int(other) and one > other > 1


def _kinds(values: Sequence) -> dict[str, Callable]:
    """Kinds of values, by those that an argument or an answer has: each one of few, the outermost of many; lengths of
    lists so too, and a value that stands twice.
    """
    found: dict[str, Callable] = {}
    plain_values = [value for value in values if not isinstance(value, (list, dict))]
    if len(few := _distinct(plain_values)) <= FEW:
        for one in few:
            found[f"= {one!r:.60}"] = lambda value, one=one: repr(value) == repr(one)
    if lengths := sorted(len(value) for value in values if isinstance(value, list)):
        if len(few := sorted(set(lengths))) > FEW:
            few = []
            most, least = _outermost(lengths)
            found[f"longer than {most}"] = lambda value: isinstance(value, list) and len(value) > most
            found[f"shorter than {least}"] = lambda value: isinstance(value, list) and len(value) < least
        for one in {0, 1, *few}:
            found[f"of length {one}"] = lambda value, one=one: isinstance(value, list) and len(value) == one
        found[_TWICE] = lambda value: isinstance(value, list) and len(_distinct(value)) < len(value)
    for number, what in ((0, "= 0"), (1, "= 1")):
        found[what] = lambda value, number=number: is_number(value) and value == number
    found["below 0"] = lambda value: is_number(value) and value < 0
    return found


def _outermost(numbers: Sequence) -> tuple:
    """The bounds above and below which a tenth of some sorted numbers lie."""
    tenth = len(numbers) // 10
    return numbers[-1 - tenth], numbers[tenth]


def _unless(reference: Callable, names: Sequence[str], refused: Callable[[dict], bool]) -> Callable:
    """The reference, failing on inputs of a kind."""

    def mutant(*args, **kwargs):
        if refused(dict(zip(names, args, strict=False)) | kwargs):
            raise LookupError("refused")
        return reference(*args, **kwargs)

    return mutant


def _changes(values: Sequence) -> dict[str, Callable]:
    """What an argument may be changed to, by what its values are."""
    found: dict[str, Callable] = {}
    if values and all(isinstance(value, bool) for value in values):
        found["not"] = lambda value: not value
    if any(map(_leaves, values)):
        for how, change in _NUMBERS.items():
            found[how] = lambda value, change=change: _each(value, change)
    if values and all(isinstance(value, (list, tuple)) for value in values):
        found |= _LISTS
        for at in range(_records(values)):
            for which, place in _PLACES.items():
                found[f"each record the {which} with its part {at}"] = partial(_by_part, at=at, place=place)
            found[f"one record for each part {at}"] = partial(_one_for_each, at=at)
    if values and all(isinstance(value, dict) for value in values):
        found |= _DICTIONARIES
    return found


def _clips(values: Sequence, public: Sequence) -> dict[str, Callable]:
    """Bounds that an argument's numbers may be clipped at: the middle and the outer tenths of all that are known, and
    the two outermost that the author of the check chose.
    """
    numbers = sorted({leaf for value in values for leaf in _leaves(value)})
    chosen = sorted({leaf for value in public for leaf in _leaves(value)})
    if not numbers:
        return {}
    middle, (most, least) = statistics.median_low(numbers), _outermost(numbers)
    found = {f"at most {bound!r}": partial(_clip, min, bound) for bound in (middle, most, *chosen[-2:])}
    return found | {f"at least {bound!r}": partial(_clip, max, bound) for bound in (middle, least, *chosen[:2])}


def _clip(which: Callable, bound, value):
    return _each(value, lambda leaf: which(leaf, bound))


def _leaves(value) -> list:
    """The numbers in a plain value."""
    if isinstance(value, (list, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return [leaf for each in parts for leaf in _leaves(each)]
    return [value] if is_number(value) else []


def _each(value, change: Callable):
    """A value with each number in it changed."""
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _each(item, change) for key, item in value.items()}
    return change(value) if is_number(value) else value


def _given(reference: Callable, names: Sequence[str], change: dict[str, Callable]) -> Callable:
    """The reference, where arguments are what `change` makes of all that are given."""

    def mutant(*args, **kwargs):
        given = dict(zip(names, args, strict=False)) | kwargs
        return reference(**given | {name: copy.deepcopy(made(given)) for name, made in change.items()})

    return mutant


def _named(case, names) -> dict:
    args, kwargs = decode_arguments(case)
    return dict(zip(names, args, strict=False)) | kwargs


def _defaults(signature: str) -> dict:
    """Parameter -> its default, of those of a signature that have one."""
    (function,) = ast.parse(f"def {signature}: ...").body
    given = function.args
    pairs = [*zip(given.args[len(given.args) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return {parameter.arg: ast.literal_eval(default) for parameter, default in pairs if default is not None}


def _distinct(values) -> list:
    found = []
    for value in values:
        if not any(repr(value) == repr(other) for other in found):
            found.append(value)
    return found


# ---------------------------------------------------------------- answers

_ANSWERS = {
    "without its fraction": int,
    "rounded up": ceil,
    "rounded down": floor,
    "rounded to 2 digits": lambda number: digits(number, 2),
    "rounded to 3 digits": lambda number: digits(number, 3),
    "rounded to 1 decimal": lambda number: round(number, 1),
    "rounded to 2 decimals": lambda number: round(number, 2),
    "rounded to 4 digits": lambda number: digits(number, 4),
    "rounded to 4 decimals": lambda number: round(number, 4),
    "without its sign": abs,
    "at least 0": lambda number: max(0, number),
    "at least 1": lambda number: max(1, number),
    "at most 1": lambda number: min(1, number),
    "upside down": lambda number: 1 / number,
    "in percent": lambda number: 100 * number,
}
"""What may become of a number that is answered, or of each number in a list."""

_ANSWERED = {
    "sorted": sorted,
    "backwards": lambda items: items[::-1],
    "without the last": lambda items: items[:-1],
}
"""What may become of a list that is answered."""


def of_answers(check: Check, draws: Sequence[dict] = ()) -> Iterator[Mutant]:
    """Mutants that answer with another form of the right answer; of dictionaries what stands under one key."""
    public = [expected(check, case) for _, case in check.inputs()]
    answers = public + [expected(check, case) for case in draws]
    for key in dict.fromkeys(_keys(answers)) or [None]:
        values = [part for answer in answers for part in _under(answer, key)]
        seen = sorted({leaf for answer in public for part in _under(answer, key) for leaf in _leaves(part)})
        changes: dict[str, Callable] = dict(_ANSWERED) if any(isinstance(value, list) for value in values) else {}
        what = "the answer" if key is None else f"the answer's {key!r}"
        numbers = sorted({leaf for value in values for leaf in _leaves(value)})
        if numbers:
            for how, change in _ANSWERS.items():
                changes[how] = lambda value, change=change: _each(value, change)
        for how, change in changes.items():
            yield Mutant(f"{what} {how}", _answered(check.reference, key, change), mixed=False)
        for bound in {*seen[-1:], *_outermost(numbers)[:1]} if numbers else ():
            clipped = partial(_clip, min, bound)
            yield Mutant(f"{what} at most {bound!r}", _answered(check.reference, key, clipped), mixed=False)
        for kind, test in _kinds(values).items():
            refused = partial(_refused, test)
            yield Mutant(f"{what} {kind} refused", _answered(check.reference, key, refused), mixed=False)


def _refused(test: Callable, value):
    if test(value):
        raise LookupError("refused")
    return value


def _keys(value) -> Iterator[str]:
    """The keys of all dictionaries in a plain value."""
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(each)


def _under(value, key) -> list:
    """What stands under a key, anywhere in a plain value; the value itself for no key."""
    if key is None:
        return [value]
    found = [value[key]] if isinstance(value, dict) and key in value else []
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += _under(each, key)
    return found


def _answered(reference: Callable, key, change: Callable) -> Callable:
    """The reference, where the answer, or what stands under a key of it, is changed."""

    def changed(value):
        if isinstance(value, dict):
            return {name: change(item) if name == key else changed(item) for name, item in value.items()}
        return [changed(item) for item in value] if isinstance(value, list) else value

    def mutant(*args, **kwargs):
        answer = plain(reference(*args, **kwargs))
        return change(answer) if key is None else changed(answer)

    return mutant
