"""Mutants of a reference: what a slip would make of a right answer, and which inputs notice.

`check()` promises what the grade keeps only if the public inputs tell every such slip from the right answer, and the
hidden draws do so too. A mutant freezes an argument at a public value, swaps two arguments, takes one for another, sees
a part of a list only, or edits the code of the reference in one place: an operator, a rounding, a comparison, a term, a
factor, a range, a loop.
"""

import ast
import copy
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import FunctionType

from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import decode_arguments, expected, parameters
from course_lib.teaching.checks.check_values import plain

DRAWS = 60
"""Hidden inputs on which a mutant is tried."""

SECONDS = 2.0
"""Processor time that a mutant has for one input: one that loops for ever is noticed."""


@dataclass(frozen=True)
class Mutant:
    """A changed reference and what was changed, such as "seq frozen at 1024" or "rows: max(a, b) → min(a, b)"."""

    name: str
    run: Callable
    probe: Callable | None = None  # the reference, failing where the changed code is reached


def mutants(check: Check) -> Iterator[Mutant]:
    """Every mutant of the reference of a check; a quantity has none, as it takes no input."""
    if check.unit is not None:
        return
    names = parameters(check.signature)
    inputs = [_named(case, names) for _, case in check.inputs()]
    for name in names:
        for value in _distinct([given[name] for given in inputs if name in given])[:3]:
            yield Mutant(f"{name} frozen at {value!r:.60}", _frozen(check.reference, names, name, value))
    for one, other in combinations(names, 2):
        if all(type(given.get(one)) is type(given.get(other)) for given in inputs):
            yield Mutant(f"{one} and {other} swapped", _taken(check.reference, names, {one: other, other: one}))
            yield Mutant(f"{one} taken for {other}", _taken(check.reference, names, {other: one}))
            yield Mutant(f"{other} taken for {one}", _taken(check.reference, names, {one: other}))
    for name in names:
        if all(isinstance(given.get(name), (list, tuple)) for given in inputs):
            for how, change in _PARTS.items():
                yield Mutant(f"{name}: {how}", _changed(check.reference, names, name, change))
    yield from _edited(check.reference)


@dataclass(frozen=True)
class Survivor:
    """A mutant that some of the inputs which should notice it do not.

    public: whether a public input notices it. hidden: the share of drawn inputs that do.
    """

    name: str
    public: bool
    hidden: float


def survivors(check: Check, draws: int = DRAWS) -> list[Survivor]:
    """The mutants that no public input notices, or no drawn one.

    One drawn input of `draws` is enough: public inputs are graded too, so that what they notice earns nothing; drawn
    ones must only be able to reach it.

    Left out is what changes nothing: edits of code that the reference never reaches, and changed arguments with which
    the reference says the same for any mixture of drawn ones, as where it is symmetric in two of them.
    """
    public = [case for _, case in check.inputs()]
    hidden = [check.draw(random.Random(seed), group) for group in check.group_points() for seed in range(draws)]
    seen = [(case, expected(check, case)) for case in public]
    drawn = [(case, expected(check, case)) for case in hidden]
    mixed = list(_mixed(check, public + hidden))
    found = []
    for mutant in mutants(check):
        told = any(not _agrees(check, mutant.run, *pair) for pair in seen)
        noticed = sum(not _agrees(check, mutant.run, *pair) for pair in drawn) / len(drawn)
        if told and noticed:
            continue
        if not told and not noticed:
            where = mixed if mutant.probe is None else seen + drawn
            if all(_agrees(check, mutant.probe or mutant.run, *pair) for pair in where):
                continue
        found.append(Survivor(mutant.name, told, noticed))
    return found


def _mixed(check: Check, cases) -> Iterator[tuple]:
    """Inputs whose arguments come from different inputs, as far as the reference takes them, with its answers."""
    names, rng = parameters(check.signature) if check.unit is None else [], random.Random(0)
    for _ in range(DRAWS):
        given = {name: rng.choice(cases) for name in names}
        case = {"kwargs": {name: _encoded(case, names)[name] for name, case in given.items()}}
        with suppress(ValueError, LookupError):
            yield case, expected(check, case)


def _encoded(case, names) -> dict:
    return dict(zip(names, case.get("args", []), strict=False)) | case.get("kwargs", {})


def _agrees(check: Check, run: Callable, case, right) -> bool:
    args, kwargs = decode_arguments(case)
    with _limited(SECONDS), warnings.catch_warnings(action="ignore"):
        try:
            return check.same.distance(plain(run(*args, **kwargs)), right) <= 1
        except (Exception, _TooLong):
            return False


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


# ---------------------------------------------------------------- arguments


def _named(case, names) -> dict:
    args, kwargs = decode_arguments(case)
    return dict(zip(names, args, strict=False)) | kwargs


def _distinct(values) -> list:
    found = []
    for value in values:
        if not any(repr(value) == repr(other) for other in found):
            found.append(value)
    return found


def _frozen(reference, names, name, value) -> Callable:
    def mutant(*args, **kwargs):
        return reference(**dict(zip(names, args, strict=False)) | kwargs | {name: copy.deepcopy(value)})

    return mutant


def _taken(reference, names, source) -> Callable:
    """The reference, where some arguments get the values of others."""

    def mutant(*args, **kwargs):
        given = dict(zip(names, args, strict=False)) | kwargs
        return reference(**given | {name: copy.deepcopy(given[other]) for name, other in source.items()})

    return mutant


_PARTS = {
    "the first only": lambda items: items[:1],
    "the first two only": lambda items: items[:2],
    "the first three only": lambda items: items[:3],
    "without the first": lambda items: items[1:],
    "without the last": lambda items: items[:-1],
    "backwards": lambda items: items[::-1],
    "each value once": lambda items: _distinct(items),
}
"""What of a list an answer may see."""


def _changed(reference, names, name, change) -> Callable:
    """The reference, where one argument is what `change` leaves of it."""

    def mutant(*args, **kwargs):
        given = dict(zip(names, args, strict=False)) | kwargs
        return reference(**given | {name: change(given[name])})

    return mutant


# ---------------------------------------------------------------- code


def source_of(reference: Callable) -> dict[str, ast.FunctionDef]:
    """The functions of the module of a reference, by name; none where it is no function at the top of one."""
    if not isinstance(reference, FunctionType):
        return {}
    tree = ast.parse(Path(reference.__code__.co_filename).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return functions if reference.__name__ in functions else {}


def _edited(reference: Callable) -> Iterator[Mutant]:
    """One mutant for each edit of the reference or of a function of its module that it calls."""
    functions = source_of(reference)
    if not functions:
        return
    for name in _reached(reference.__name__, functions):
        for place, node in enumerate(ast.walk(functions[name])):
            for edit, changed, reached in _edits(node):
                made = _compiled(functions[name], place, changed, reference, functions)
                probe = _compiled(functions[name], place, reached, reference, functions)
                yield Mutant(f"{name}: {edit}", made, probe)


def _reached(name: str, functions) -> list[str]:
    found, left = [], [name]
    while left:
        name = left.pop()
        found.append(name)
        used = {node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
        left += [each for each in functions if each in used and each not in found and each not in left]
    return found


def _replace(tree: ast.AST, place: int, changed: ast.AST):
    """Put `changed` in the place of the node that `ast.walk` comes to as number `place`."""
    target = next(node for i, node in enumerate(ast.walk(tree)) if i == place)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, changed)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if item is target:
                        value[i] = changed
    ast.fix_missing_locations(tree)


def _compiled(function: ast.FunctionDef, place: int, changed: ast.AST, reference, functions) -> Callable:
    """The reference in a copy of its module where one node of one function is another."""
    mutated = copy.deepcopy(function)
    _replace(mutated, place, changed)
    scope = dict(reference.__globals__)
    for node in functions.values():
        code = compile(ast.Module([mutated if node is function else node], []), "<mutant>", "exec")
        exec(code, scope)
    return scope[reference.__name__]


_SWAPS = {
    "max": ("min",),
    "min": ("max",),
    "floor": ("ceil", "round"),
    "ceil": ("floor", "round"),
    "round": ("ceil", "floor"),
    "any": ("all",),
    "all": ("any",),
    "int": ("round",),
}
_STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.FloorDiv: ast.Div, ast.Div: ast.Mult, ast.Mult: ast.Div}


def _edits(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """(what is changed, the node in its place, a node in its place that fails where the change would matter)."""
    for changed in _changes(node):
        yield f"{ast.unparse(node)} → {ast.unparse(changed)}", changed, _failing(node, changed)


_FAIL = ast.parse("[][0]", mode="eval").body


def _failing(node: ast.AST, changed: ast.AST) -> ast.AST:
    """`node` where reaching what the change drops is an error: the branch not taken, or all of it."""
    if isinstance(node, ast.IfExp):
        kept = ast.unparse(changed) == ast.unparse(node.body)
        return ast.IfExp(node.test, node.body if kept else _FAIL, _FAIL if kept else node.orelse)
    if isinstance(node, ast.If):
        return ast.If(node.test, [ast.Expr(_FAIL)], [])
    if isinstance(node, ast.For):
        return ast.For(node.target, _FAIL, node.body, node.orelse)
    if isinstance(node, ast.comprehension):
        return ast.comprehension(node.target, _FAIL, node.ifs, node.is_async)
    return _FAIL


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    new = copy.deepcopy
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _STRICT:
        other = new(node)
        other.ops = [_STRICT[type(node.ops[0])]()]
        yield other
    if isinstance(node, ast.BinOp):
        if type(node.op) in _OPERATORS:
            other = new(node)
            other.op = _OPERATORS[type(node.op)]()
            yield other
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv)):
            yield new(node.left)
        if isinstance(node.op, (ast.Add, ast.Mult)):
            yield new(node.right)
        if isinstance(node.op, ast.Add):
            yield ast.BinOp(new(node), ast.Add(), new(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and _rounds_up(node.operand):
        yield ast.parse(ast.unparse(node).replace("-", "", 2), mode="eval").body
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        for swap in _SWAPS.get(name, ()):
            other = new(node)
            other.func = _function(swap)
            yield other
        if name in ("ceil", "floor") and node.args:
            yield ast.parse(f"int({ast.unparse(node.args[0])}) + 1", mode="eval").body
        if name == "sorted":
            yield ast.parse(f"{ast.unparse(node)}[::-1]", mode="eval").body
        if name == "range":
            first, *rest = map(ast.unparse, node.args)
            start, stop, step = ("0", first, "") if not rest else (first, rest[0], f", {rest[1]}" if rest[1:] else "")
            for narrowed in (f"range({start}, ({stop}) - 1{step})", f"range(({start}) + 1, {stop}{step})"):
                yield ast.parse(narrowed, mode="eval").body
    if isinstance(node, (ast.For, ast.comprehension)):
        for part in ("[:1]", "[:-1]", "[1:]"):
            other = new(node)
            other.iter = ast.parse(f"list({ast.unparse(node.iter)}){part}", mode="eval").body
            yield other
    if isinstance(node, ast.BoolOp):
        other = new(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
    if isinstance(node, ast.IfExp):
        yield new(node.body)
        yield new(node.orelse)
    if isinstance(node, ast.If) and not node.orelse:
        other = new(node)
        other.test = ast.Constant(False)
        yield other


def _rounds_up(node: ast.AST) -> bool:
    """Whether a negated node is the idiom -(-a // b)."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and isinstance(node.left, ast.UnaryOp)


def _function(name: str) -> ast.expr:
    if name in ("floor", "ceil"):
        return ast.parse(f"__import__('math').{name}", mode="eval").body
    return ast.Name(name, ast.Load())
