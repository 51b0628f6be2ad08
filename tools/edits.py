"""Edits of the code of a reference in one place: an operator, a constant, a rounding, a comparison, a loop that ends
early. Each is a few lines of `_changes`.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import FunctionType

from course_lib.teaching.checks.check_values import is_number
from tools.slips import Mutant, digits


@dataclass(frozen=True)
class Edit:
    """One changed node. text: what was changed. reached: a node in its place that fails where the change would matter;
    None where an edit that nothing notices is taken for equal. classical: whether drawn inputs too must notice it.
    """

    text: str
    changed: ast.AST
    reached: ast.AST | None = None
    classical: bool = False


@dataclass(frozen=True)
class _Place:
    """Where a node stands: the names of numbers of the module, the function's parameters, those of them with a default,
    and nodes by their id that lie in a loop or are defaults.
    """

    numbers: frozenset[str]
    parameters: tuple[str, ...]
    flags: frozenset[str]
    looped: frozenset[int]
    defaults: frozenset[int]


def source_of(reference: Callable) -> dict[str, ast.FunctionDef]:
    """The functions of the module of a reference, by name; none where it is no function at the top of one."""
    if not isinstance(reference, FunctionType):
        return {}
    tree = ast.parse(Path(reference.__code__.co_filename).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return functions if reference.__name__ in functions else {}


def of_code(reference: Callable) -> Iterator[Mutant]:
    """One mutant for each edit of the reference or of a function of its module that it calls."""
    yield from _edited(reference, _edits)


def reordered(reference: Callable) -> Iterator[Mutant]:
    """The reference with one piece of its arithmetic in another order: as right as it is, but for the last digits."""
    yield from _edited(reference, _orders)


def _edited(reference: Callable, edits_of: Callable[[ast.AST, "_Place"], Iterator[Edit]]) -> Iterator[Mutant]:
    functions = source_of(reference)
    if not functions:
        return
    numbers = frozenset(name for name, value in reference.__globals__.items() if is_number(value))
    reached = _reached(reference.__name__, functions)
    codes = {name: _code(functions[name]) for name in reached}
    for name in reached:
        function, seen = functions[name], Counter()
        place = _place(function, numbers)
        for at, node in enumerate(ast.walk(function)):
            for edit in edits_of(node, place):
                seen[edit.text] += 1
                again = f", place {seen[edit.text]}" if seen[edit.text] > 1 else ""
                make = partial(_compiled, function, at, reference=reference, codes=codes)
                probe = None if edit.reached is None else partial(make, edit.reached)
                yield Mutant(f"{name}: {edit.text}{again}", make(edit.changed), probe, edit.classical)


def _place(function: ast.FunctionDef, numbers: frozenset[str]) -> _Place:
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    given = function.args
    heads = [default for default in (*given.defaults, *given.kw_defaults) if default]
    parameters = (*given.posonlyargs, *given.args)
    flags = [*parameters[len(parameters) - len(given.defaults) :]]
    flags += [each for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default]
    return _Place(
        numbers,
        tuple(parameter.arg for parameter in (*parameters, *given.kwonlyargs)),
        frozenset(parameter.arg for parameter in flags),
        frozenset(id(node) for loop in loops for node in ast.walk(loop)),
        frozenset(id(node) for head in heads for node in ast.walk(head)),
    )


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
    target = next(islice(ast.walk(tree), place, None))
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, changed)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if item is target:
                        value[i] = changed
    ast.fix_missing_locations(tree)


def _code(function: ast.FunctionDef):
    return compile(ast.Module([function], []), "<mutant>", "exec")


def _compiled(function: ast.FunctionDef, place: int, changed: ast.AST, *, reference: Callable, codes: Mapping):
    """The reference in a copy of its module where one node of one function is another."""
    mutated = copy.deepcopy(function)
    _replace(mutated, place, copy.deepcopy(changed))
    scope = dict(reference.__globals__) | _HELPERS
    try:
        for name, code in codes.items():
            exec(_code(mutated) if name == function.name else code, scope)
    except Exception as error:  # a default, say, that is no number any more
        return partial(_fail, error)
    return scope[reference.__name__]


def _fail(error: Exception, *_, **__):
    raise error


# ---------------------------------------------------------------- what edited code may call


def _largest(*values) -> int:
    """The largest number among arguments; of none, more than any loop runs."""
    return int(max((value for value in values if is_number(value)), default=10**9))


def _first(items, count: int):
    return islice(items, count)


def _refuse(one, other, kind):
    """Fail where two numbers of a kind are compared."""
    if is_number(one) and is_number(other) and isinstance(one, kind) and isinstance(other, kind):
        raise LookupError
    return True


def _last(*values):
    return list(values[0] if len(values) == 1 else values)[-1]


def _reversed(items):
    return list(items)[::-1]


_HELPERS = {f"_mutant{function.__name__}": function for function in (_largest, _first, _refuse, _last, _reversed)}
_HELPERS["_mutant_digits"] = digits


# ---------------------------------------------------------------- edits

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
_ROUNDINGS = ("floor", "ceil", "round", "int")
_STRICT = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.FloorDiv: ast.Div, ast.Div: ast.Mult, ast.Mult: ast.Div}
_EQUAL = {
    ast.Eq: (ast.LtE, ast.GtE),
    ast.NotEq: (ast.Lt, ast.Gt),
    ast.LtE: (ast.Eq,),
    ast.GtE: (ast.Eq,),
    ast.Lt: (ast.NotEq,),
    ast.Gt: (ast.NotEq,),
}
_SAME = {
    (ast.Mult, ast.Div): ("{a} / {c} * {b}", "{a} * ({b} / {c})"),
    (ast.Div, ast.Div): ("{a} / ({b} * {c})",),
    (ast.Div, ast.Mult): ("{a} * {c} / {b}",),
    (ast.Mult, ast.Mult): ("{a} * ({b} * {c})",),
    (ast.Add, ast.Div): ("{a} / {c} + {b} / {c}",),
    (ast.Sub, ast.Div): ("{a} / {c} - {b} / {c}",),
    (ast.Add, ast.Add): ("{a} + ({b} + {c})",),
    (ast.Add, ast.Sub): ("{a} + ({b} - {c})",),
    (ast.Sub, ast.Add): ("{a} + ({c} - {b})",),
    (ast.Sub, ast.Sub): ("{a} - ({b} + {c})",),
    (ast.Add, ast.Mult): ("{a} * {c} + {b} * {c}",),
    (ast.Sub, ast.Mult): ("{a} * {c} - {b} * {c}",),
}
"""(operator within, operator outside) of (a ? b) ? c -> how else it may be computed."""

_OTHER_SIDE = {
    ast.Add: "{a} {than} {c} - {b}",
    ast.Sub: "{a} {than} {c} + {b}",
    ast.Div: "{a} {than} {c} * {b}",
}
"""Operator of (a ? b) < c -> how else the two sides may be compared; a divisor is taken to be positive."""

_THAN = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_BACK = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_UNITS = (1e-3, 1e3, 1e6, 1e9)

_ENDS = ("10", "100", "1_000", "100_000", "the largest argument")
"""Turns after which a search may end early."""

_FEW = _ENDS[:2]
"""Those that some public input must go beyond; the others only where a drawn one may."""


def _edits(node: ast.AST, place: _Place) -> Iterator[Edit]:
    if id(node) not in place.defaults:
        for changed in _classical(node):
            yield Edit(f"{ast.unparse(node)} → {ast.unparse(changed)}", changed, _failing(node, changed), True)
    for families in (_constants, _comparisons, _arithmetic, _calls, _ceilings, _slices, _operands, _jumps, _searches):
        yield from families(node, place)


def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _to(node: ast.AST, text: str, reached: ast.AST | None = None) -> Edit:
    """The edit that writes other code in the place of a node."""
    changed = _parse(text)
    return Edit(f"{ast.unparse(node)} → {ast.unparse(changed)}", changed, reached)


_FAIL = _parse("[][0]")


def _constants(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A constant of the code or of the module that is one more, one less, or 10 % more."""
    named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in place.numbers
    if not named and not (isinstance(node, ast.Constant) and is_number(node.value)):
        return
    text, value = ast.unparse(node), None if named else node.value
    changes = [f"{text} + 1", f"{text} - 1"] if value is None or abs(value) < 1000 else []
    changes += [] if value == 0 else [f"1.1 * {text}"]
    for change in changes:
        yield _to(node, change)


def _comparisons(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A threshold moved by one, where whole numbers are compared, or by 10 %; `==` for `<=` and the like."""
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return
    left, (right,), (op,) = node.left, node.comparators, node.ops
    for other in _EQUAL.get(type(op), ()):
        changed = ast.Compare(left, [other()], [right])
        yield Edit(f"{ast.unparse(node)} → {ast.unparse(changed)}", changed)
    if type(op) not in _STRICT:
        return
    one, two = ast.unparse(left), ast.unparse(right)
    moved = [(f"({two}) + 1", "int"), (f"({two}) - 1", "int")]
    moved += (
        [] if {one, two} & {"0", "0.0"} else [(f"1.1 * ({two})", "(int, float)"), (f"0.9 * ({two})", "(int, float)")]
    )
    for threshold, kind in moved:
        changed = ast.Compare(left, [op], [_parse(threshold)])
        reached = _parse(f"_mutant_refuse({one}, {two}, {kind}) and ({ast.unparse(node)})")
        yield Edit(f"{ast.unparse(node)} → {ast.unparse(changed)}", changed, reached)


def _arithmetic(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A value on the way that is rounded; whole division for a true one, or one off; a remainder dropped; another
    exponent.
    """
    if not isinstance(node, ast.BinOp):
        return
    text, one, two = ast.unparse(node), ast.unparse(node.left), ast.unparse(node.right)
    yield Edit(f"{text} without its fraction", _parse(f"int({text})"))
    yield Edit(f"{text} rounded to 3 digits", _parse(f"_mutant_digits({text}, 3)"))
    for decimals in (2, 4):
        yield Edit(f"{text} rounded to {decimals} decimals", _parse(f"round({text}, {decimals})"))
    if isinstance(node.op, ast.Div):
        yield _to(node, f"({one}) // ({two})")
    if isinstance(node.op, ast.FloorDiv):
        yield _to(node, f"(({one}) + 1) // ({two})")
        yield _to(node, f"(({one}) - 1) // ({two})")
    if isinstance(node.op, ast.Mod):
        yield _to(node, one, _FAIL)
    if isinstance(node.op, ast.Pow):
        yield _to(node, f"({one}) ** (({two}) + 1)", _FAIL)
        yield _to(node, f"({one}) ** (({two}) - 1)", _FAIL)


def _orders(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """What is the same by the rules of algebra."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _THAN:
        yield from _compared(node)
    if not isinstance(node, ast.BinOp):
        return
    c, left = f"({ast.unparse(node.right)})", node.left
    if isinstance(node.op, ast.Div):
        yield _to(node, f"({ast.unparse(left)}) * (1 / {c})")
    if not isinstance(left, ast.BinOp):
        return
    a, b = f"({ast.unparse(left.left)})", f"({ast.unparse(left.right)})"
    for other in _SAME.get((type(left.op), type(node.op)), ()):
        yield _to(node, other.format(a=a, b=b, c=c))


def _compared(node: ast.Compare) -> Iterator[Edit]:
    """Both sides in another unit; a part of one of them on the other."""
    left, than, right = node.left, _THAN[type(node.ops[0])], node.comparators[0]
    for unit in _UNITS:
        yield _to(node, f"({ast.unparse(left)}) * {unit!r} {than} ({ast.unparse(right)}) * {unit!r}")
    for one, sign, other in ((left, than, right), (right, _BACK[than], left)):
        if isinstance(one, ast.BinOp) and type(one.op) in _OTHER_SIDE:
            a, b, c = (f"({ast.unparse(part)})" for part in (one.left, one.right, other))
            yield _to(node, _OTHER_SIDE[type(one.op)].format(a=a, b=b, c=c, than=sign))


def _calls(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """Another function; a keyword dropped; ties taken the other way; counting from another number; a rounded quotient
    one off.
    """
    if not isinstance(node, ast.Call):
        return
    for at, keyword in enumerate(node.keywords):
        if keyword.arg not in ("strict", None):
            other = ast.Call(node.func, node.args, [*node.keywords[:at], *node.keywords[at + 1 :]])
            yield Edit(f"{ast.unparse(node)} → {ast.unparse(other)}", other)
    if not (name := _called(node.func)):
        return
    args = ", ".join(map(ast.unparse, node.args))
    if name in _ROUNDINGS and len(node.args) == 1 and _is_quotient(node.args[0]):
        one, two = ast.unparse(node.args[0].left), ast.unparse(node.args[0].right)
        for step in ("+ 1", "- 1"):
            yield _to(node, f"{ast.unparse(node.func)}((({one}) {step}) / ({two}))")
    if name == "sum" and len(node.args) == 1:
        yield _to(node, f"max({args})")
    if name in ("max", "min") and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield Edit(f"{ast.unparse(node)} → the last", _parse(f"_mutant_last({args})"))
    keyed = any(keyword.arg == "key" for keyword in node.keywords)
    if name in ("max", "min", "sorted") and keyed and len(node.args) == 1:
        other = ast.Call(node.func, [_parse(f"_mutant_reversed({args})")], node.keywords)
        yield Edit(f"{ast.unparse(node)}, ties the other way", other)
    if name == "enumerate":
        first = ast.unparse(node.args[1] if node.args[1:] else node.keywords[0].value if node.keywords else _parse("0"))
        yield _to(node, f"enumerate({ast.unparse(node.args[0])}, {'0' if first == '1' else '1'})", _FAIL)


def _ceilings(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """Rounded up by `round(x + 0.5)`: halves go to the even neighbour, so that what is whole and odd goes one up."""
    if isinstance(node, ast.UnaryOp) and _rounds_up(node.operand):
        one, two = ast.unparse(node.operand.left.operand), ast.unparse(node.operand.right)
        yield _to(node, f"round(({one}) / ({two}) + 0.5)", _FAIL)
    if isinstance(node, ast.Call) and _called(node.func) == "ceil":
        yield _to(node, f"round({ast.unparse(node.args[0])} + 0.5)", _FAIL)


def _slices(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A bound of a slice that is one more or one less."""
    if not isinstance(node, ast.Slice):
        return
    for bound in ("lower", "upper"):
        if (value := getattr(node, bound)) is not None:
            for step in ("+ 1", "- 1"):
                other = copy.copy(node)
                setattr(other, bound, _parse(f"({ast.unparse(value)}) {step}"))
                yield Edit(f"[{ast.unparse(node)}] → [{ast.unparse(other)}]", other)


def _operands(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """An operand of `and` or `or` dropped; not a parameter with a default, which serves known wrong answers."""
    if isinstance(node, ast.BoolOp):
        for at in (at for at, value in enumerate(node.values) if ast.unparse(value) not in place.flags):
            rest = [*node.values[:at], *node.values[at + 1 :]]
            other = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
            yield Edit(f"{ast.unparse(node)} → {ast.unparse(other)}", other, _FAIL)


def _jumps(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A `break`, `continue` or `return` in a loop dropped."""
    if id(node) in place.looped and isinstance(node, (ast.Break, ast.Continue, ast.Return)):
        yield Edit(f"{ast.unparse(node)} dropped", ast.Pass(), ast.Expr(_FAIL))


def _searches(node: ast.AST, place: _Place) -> Iterator[Edit]:
    """A loop that ends after 10 to 100,000 turns, or after as many as the largest argument says."""
    for end in _ENDS:
        turns = f"_mutant_largest({', '.join(place.parameters)})" if end == _ENDS[-1] else end
        how = f"ends after {end} turns" if end != _ENDS[-1] else f"ends after as many turns as {end}"
        if isinstance(node, ast.While):
            leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            loop = ast.For(ast.Name("_mutant_turn", ast.Store()), _parse(f"range({turns})"), [leave, *node.body], [])
            reached = ast.While(_FAIL, node.body, []) if end in _FEW else None
            yield Edit(f"while {ast.unparse(node.test)} {how}", loop, reached)
        if isinstance(node, (ast.For, ast.comprehension)):
            other = copy.copy(node)
            other.iter = _parse(f"_mutant_first({ast.unparse(node.iter)}, {turns})")
            if ast.unparse(node.iter).startswith(("range(", "count(", "itertools.count(")):
                search = isinstance(node, ast.For) and any(
                    isinstance(each, (ast.Break, ast.Return)) for each in ast.walk(node)
                )
                reached = _failing(node, other) if search and end in _FEW else None
                yield Edit(f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)} {how}", other, reached)


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


def _classical(node: ast.AST) -> Iterator[ast.AST]:
    """Edits that drop, swap or double one thing."""
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
    if isinstance(node, ast.Call) and (name := _called(node.func)):
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


def _called(function: ast.expr) -> str | None:
    """The name of a function that is called by it, or as one of `math`."""
    return getattr(function, "id", None) or (
        function.attr if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "math" else None
    )


def _is_quotient(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _rounds_up(node: ast.AST) -> bool:
    """Whether a negated node is the idiom -(-a // b)."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and isinstance(node.left, ast.UnaryOp)


def _function(name: str) -> ast.expr:
    if name in ("floor", "ceil"):
        return ast.parse(f"__import__('math').{name}", mode="eval").body
    return ast.Name(name, ast.Load())
