"""Tests for a missing cell that pandas 3 answers wrongly and in silence, mended.

A missing text is NaN there, which is true and is not None: `[v for v in t["a"] if not v]` would find none.
"""

from __future__ import annotations

import ast

from rowhop.agents.pandora.mend import field_of
from rowhop.box import BoxSet

_PASSED_ON = ("tolist", "to_list", "unique", "items")


class MissingCells(ast.NodeTransformer):
    """`not v`, `v`, `v is None` as conditions on a cell of a column of text; NaN alone differs from itself."""

    def __init__(self, boxes: BoxSet) -> None:
        self.texts = {c.name for b in boxes.boxes for c in b.columns if c.dtype in ("text", "mixed")}
        self.cells: list[str] = []  # names that stand for a cell here
        self.changed = False

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> ast.AST:
        names = [g.target.id for g in node.generators if isinstance(g.target, ast.Name) and self._is_column(g.iter)]
        self.cells += names
        for generator in node.generators:
            generator.ifs = [self._condition(test) for test in generator.ifs]
        node.elt = self._tests_inside(node.elt)
        del self.cells[len(self.cells) - len(names) :]
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        names = [node.target.id] if isinstance(node.target, ast.Name) and self._is_column(node.iter) else []
        self.cells += names
        if names:
            for inner in ast.walk(node):
                if isinstance(inner, ast.If | ast.IfExp):
                    inner.test = self._condition(inner.test)
        del self.cells[len(self.cells) - len(names) :]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("apply", "map")
            and self._is_column(node.func.value)
            and node.args
            and isinstance(node.args[0], ast.Lambda)
            and len(node.args[0].args.args) == 1
        ):
            function = node.args[0]
            self.cells.append(function.args.args[0].arg)
            function.body = self._tests_inside(self._condition(function.body, bare=False))
            self.cells.pop()
        return self.generic_visit(node)

    def _tests_inside(self, body: ast.expr) -> ast.expr:
        for inner in ast.walk(body):
            if isinstance(inner, ast.IfExp):
                inner.test = self._condition(inner.test)
        return body

    def _is_column(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PASSED_ON:
            node = node.func.value
        if isinstance(node, ast.Attribute) and node.attr == "values":
            node = node.value
        return field_of(node) in self.texts

    def _condition(self, test: ast.expr, bare: bool = True) -> ast.expr:
        """`bare`: whether the cell by itself is used as a truth, and not as a value."""
        if isinstance(test, ast.BoolOp):
            test.values = [self._condition(value, bare) for value in test.values]
            return test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and self._is_cell(test.operand):
            return self._changed(f"({ast.unparse(test)} or {ast.unparse(test.operand)} != {ast.unparse(test.operand)})")
        if bare and self._is_cell(test):
            name = ast.unparse(test)
            return self._changed(f"({name} and {name} == {name})")
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not self._is_cell(test.left):
            return test
        name, value = ast.unparse(test.left), test.comparators[0]
        if not (isinstance(value, ast.Constant) and value.value is None):
            return test
        if isinstance(test.ops[0], ast.Is | ast.Eq):
            return self._changed(f"({name} is None or {name} != {name})")
        return self._changed(f"({name} is not None and {name} == {name})")

    def _is_cell(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.cells

    def _changed(self, code: str) -> ast.expr:
        self.changed = True
        return ast.parse(code, mode="eval").body
