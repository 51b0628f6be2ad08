"""Reading source for the calls of torch in it, so that those a machine without a GPU never makes are checked as well.

`faults(source)` follows names as far as they lead to torch: `torch`, `bench.torch`, `self.torch`, a local name bound to
one of them or to something below it, and the objects that its classes make. Each attribute must exist, and the
arguments of each call must fit the signature, where Python knows one. Tensors are not followed: their methods run on a
processor too.
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator

import torch

_UNKNOWN = object()


class _Instance:
    """What a call of a class gives: its attributes are those of the class."""

    def __init__(self, kind: type):
        self.kind = kind


def faults(source: str) -> list[str]:
    """Attributes of torch that do not exist and calls whose arguments do not fit, each with its line."""
    return [fault for scope in _scopes(ast.parse(source)) for fault in _Scope(scope).faults()]


def calls(source: str) -> int:
    """How many calls of something in torch `faults` can follow."""
    scopes = [_Scope(scope) for scope in _scopes(ast.parse(source))]
    return sum(
        scope.value(node.func) is not _UNKNOWN for scope in scopes for node in scope.nodes if isinstance(node, ast.Call)
    )


def _scopes(tree: ast.Module) -> Iterator[list[ast.AST]]:
    """The nodes of each outermost function or method, which share their local names, and those outside all of them."""
    functions: list[ast.AST] = []

    def visit(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                functions.append(child)
            else:
                yield child
                yield from visit(child)

    yield list(visit(tree))
    for function in functions:
        yield list(ast.walk(function))


class _Scope:
    def __init__(self, nodes: list[ast.AST]):
        self.nodes = nodes
        self.names: dict[str, object] = {"torch": torch}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
                module = importlib.import_module(str(node.module))
                self.names |= {name.asname or name.name: getattr(module, name.name) for name in node.names}
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._bind(node.targets[0], node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and (found := self.value(value)) is not _UNKNOWN:
            self.names[target.id] = found
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.GeneratorExp):  # a, b = (f() for _ in …)
            for one in target.elts:
                self._bind(one, value.elt)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._bind(one, its)

    def value(self, node: ast.expr) -> object:
        """What an expression stands for, as far as it is torch's; else `_UNKNOWN`, also for a missing attribute."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Attribute):
            if node.attr == "torch":  # bench.torch, self.torch
                return torch
            owner = self.value(node.value)
            return _UNKNOWN if owner is _UNKNOWN else _attribute(owner, node.attr)
        if isinstance(node, ast.Call) and inspect.isclass(kind := self.value(node.func)):
            return _UNKNOWN if issubclass(kind, torch.Tensor) else _Instance(kind)
        return _UNKNOWN

    def faults(self) -> Iterator[str]:
        for node in self.nodes:
            problem = None
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                problem = None if _has(self.value(node.value), node.attr) else "does not exist"
            elif isinstance(node, ast.Call):
                problem = _misfit(self.value(node.func), node)
            if problem:
                yield f"line {node.lineno}: {ast.unparse(node)}: {problem}"


def _has(owner: object, name: str) -> bool:
    if not isinstance(owner, _Instance):
        return owner is _UNKNOWN or isinstance(owner, _Method) or hasattr(owner, name)
    return hasattr(owner.kind, name) or any(name in _set_by(kind) for kind in owner.kind.__mro__)


def _set_by(kind: type) -> set[str]:
    """Names that the methods of a class give to `self`; none for a class written in C++."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return set()
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


def _attribute(owner: object, name: str) -> object:
    if not isinstance(owner, _Instance):
        return getattr(owner, name, _UNKNOWN)
    found = inspect.getattr_static(owner.kind, name, _UNKNOWN)
    return _Method(found) if inspect.isfunction(found) else _UNKNOWN


class _Method:
    """A function of a class, called on an instance."""

    def __init__(self, function):
        self.function = function


def _misfit(called: object, call: ast.Call) -> str | None:
    """Why the arguments do not fit what is called; None where they do, or where nobody can say."""
    if called is _UNKNOWN or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if any(word.arg is None for word in call.keywords):  # **words
        return None
    function, first = (called.function, [None]) if isinstance(called, _Method) else (called, [])
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # written in C++
        return None
    try:
        signature.bind(*first, *call.args, **{str(word.arg): None for word in call.keywords})
    except TypeError as problem:
        return str(problem)
    return None
