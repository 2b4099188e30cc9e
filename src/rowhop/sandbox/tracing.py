"""Run a program a second time with its intermediate values kept, each under the expression it came from.

The program itself is unchanged: every expression at the top level is passed through a function that returns
what it was given. From the kept values `lineage` finds the rows the answer rests on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

_NOTE = "__rowhop_note__"
_NOTED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.IfExp)
# names in here live elsewhere, or are evaluated many times
_CLOSED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class UnknownValue(Exception):
    """An expression whose value was not kept."""


@dataclass(frozen=True)
class Kept:
    """A value and, since values change in place, the row labels it had at that moment."""

    value: Any
    index: pd.Index | None


@dataclass
class Trail:
    """A program's statements and what each of its expressions evaluated to."""

    tree: ast.Module
    kept: dict[int, Kept] = field(default_factory=dict)  # by id of the node; `tree` keeps the nodes alive
    order: dict[int, int] = field(default_factory=dict)  # statement's place, by id of each node in it
    assigned: dict[str, list[tuple[int, ast.AST]]] = field(default_factory=dict)  # name → (place, what it was given)

    def value(self, node: ast.AST) -> Any:
        """What an expression was, put together from its parts where it was not kept as a whole."""
        if id(node) in self.kept:
            return self.kept[id(node)].value
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))
        if isinstance(node, ast.Tuple):
            return tuple(self.value(part) for part in node.elts)
        if isinstance(node, ast.List):
            return [self.value(part) for part in node.elts]
        if isinstance(node, ast.Dict) and all(node.keys):
            return {self.value(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
        raise UnknownValue

    def index(self, node: ast.AST) -> pd.Index | None:
        kept = self.kept.get(id(node))
        return None if kept is None else kept.index

    def given(self, name: str, user: ast.AST) -> ast.AST | None:
        """What a name held when `user` looked at it: the last thing it was assigned before."""
        place = self.order.get(id(user), 0)
        return next(
            (node for at, node in reversed(self.assigned.get(name, [])) if at < place and self._ran(node)), None
        )

    def _ran(self, node: ast.AST) -> bool:
        """The other branch of an `if` leaves nothing."""
        return id(node.value if isinstance(node, ast.AugAssign) else node) in self.kept

    def answer(self) -> ast.AST | None:
        """The expression that `answer` was given last, or that stands on the last line."""
        given = [node for _, node in self.assigned.get("answer", []) if self._ran(node)]
        last = self.tree.body[-1] if self.tree.body else None
        return given[-1] if given else last.value if isinstance(last, ast.Expr) else None

    def controls(self) -> list[ast.expr]:
        """What the loops and conditions at the top level were about."""
        return [
            node.iter if isinstance(node, ast.For) else node.test
            for node in ast.walk(self.tree)
            if isinstance(node, (ast.For, ast.If, ast.While)) and id(node) in self.order
        ]


def run(
    tree: ast.Module, execute: Callable[[ast.Module, dict[str, Any]], Any], scope: dict[str, Any]
) -> tuple[Any, Trail]:
    """`execute` is the same function that ran the program the first time."""
    trail = Trail(tree)
    _read_statements(tree.body, trail)
    nodes: list[ast.AST] = []

    def note(number: int, value: Any) -> Any:
        index = value.index if isinstance(value, (pd.DataFrame, pd.Series)) else None
        trail.kept[id(nodes[number])] = Kept(value, index)
        return value

    wrapped = ast.fix_missing_locations(_Wrapper(nodes).module(tree))
    answer = execute(wrapped, {**scope, _NOTE: note})
    return answer, trail


def _read_statements(body: list[ast.stmt], trail: Trail) -> None:
    for statement in body:
        place = len(trail.order) + 1
        for node in _own_nodes(statement):
            trail.order[id(node)] = place
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                _assign(target, statement.value, place, trail)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            _assign(statement.target, statement.value, place, trail)
        elif isinstance(statement, ast.AugAssign):
            _assign(statement.target, statement, place, trail)
        elif isinstance(statement, ast.For):
            _assign(statement.target, statement.iter, place, trail)
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(statement, _CLOSED):
                _read_statements(getattr(statement, inner, []), trail)
        for handler in getattr(statement, "handlers", []):
            _read_statements(handler.body, trail)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement's expressions, not those of statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [c for c in ast.iter_child_nodes(node) if not isinstance(c, (ast.stmt, ast.ExceptHandler))]


def _assign(target: ast.expr, value: ast.AST, place: int, trail: Trail) -> None:
    if isinstance(target, ast.Name):
        trail.assigned.setdefault(target.id, []).append((place, value))
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            _assign(part, value, place, trail)


class _Wrapper(ast.NodeTransformer):
    """Copies the tree; the kept values are filed under the nodes of the original."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        self._nodes = nodes

    def module(self, tree: ast.Module) -> ast.Module:
        return ast.Module([self._copy(s) for s in tree.body], tree.type_ignores)

    def _copy(self, node: Any, always: bool = False) -> Any:
        if isinstance(node, list):
            return [self._copy(part) for part in node]
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, _CLOSED):
            return self._note(node, node) if always and isinstance(node, ast.Lambda) else node
        if isinstance(node, _COMPREHENSIONS):
            first = node.generators[0]
            outer = ast.comprehension(first.target, self._copy(first.iter), first.ifs, first.is_async)
            copied = _like(node, {**dict(ast.iter_fields(node)), "generators": [outer, *node.generators[1:]]})
            return self._note(node, copied)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete)):
            fields = dict(ast.iter_fields(node))
            if fields.get("value"):
                fields["value"] = self._copy(fields["value"], always=True)
            return _like(node, fields)
        copied = _like(node, {name: self._field(node, name, value) for name, value in ast.iter_fields(node)})
        noted = isinstance(node, _NOTED) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return self._note(node, copied) if noted or always else copied

    def _note(self, node: ast.AST, copied: ast.expr) -> ast.Call:
        self._nodes.append(node)
        number = ast.Constant(len(self._nodes) - 1)
        return ast.copy_location(ast.Call(ast.Name(_NOTE, ast.Load()), [number, copied], []), node)

    def _field(self, node: ast.AST, name: str, value: Any) -> Any:
        return value if name in ("annotation", "target", "optional_vars") else self._copy(value)


def _like(node: ast.AST, fields: dict[str, Any]) -> Any:
    return ast.copy_location(type(node)(**fields), node)
