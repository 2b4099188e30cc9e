"""Slips of form in pandas that have one reading only, mended before the program runs; no data are looked at.

`d.iloc[0, "name"]`, `t.index[rows].iloc[0]`, `t[t["n"].idxmax()]`, `d.loc[0, "name"]` on rows that were chosen or
sorted, and a comparison that `&` tears apart. Small models write them again in the repair.
"""

from __future__ import annotations

import ast

# Calls whose result has the rows of a frame in another number or order, under their old labels.
_REORDERED = frozenset({"sort_values", "nlargest", "nsmallest", "query", "drop_duplicates", "dropna"})
_PICKS = frozenset({"idxmax", "idxmin"})
_MOST = 20  # a larger label is hardly meant as "the first", "the second"


def mend_slips(tree: ast.Module) -> bool:
    """Changes the program in place and says whether anything was changed."""
    before = ast.dump(tree)
    slips = _Slips(_chosen(tree))
    slips.visit(tree)
    ast.fix_missing_locations(tree)
    return ast.dump(tree) != before


def _chosen(tree: ast.Module) -> set[str]:
    """Names that stand for chosen or sorted rows wherever they are set."""
    chosen: set[str] = set()
    other: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            (chosen if _is_chosen(node.value) else other).add(node.targets[0].id)
    return chosen - other


def _is_chosen(value: ast.expr) -> bool:
    """`t[t["n"] > 3]`, `t.loc[t["n"] > 3]`, `t.sort_values("n")`: row labels are no longer positions."""
    if isinstance(value, ast.Subscript):
        key = value.slice
        if isinstance(key, ast.Tuple):
            return False
        return isinstance(key, ast.Compare | ast.BinOp | ast.UnaryOp) or _is_mask_call(key)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        renumbered = any(k.arg == "ignore_index" for k in value.keywords)
        return value.func.attr in _REORDERED and not renumbered
    return False


def _is_mask_call(key: ast.expr) -> bool:
    names = ("isin", "contains", "startswith", "endswith", "between", "notna", "isna", "duplicated")
    return isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr in names


class _Slips(ast.NodeTransformer):
    def __init__(self, chosen: set[str]) -> None:
        self.chosen = chosen

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        inner = node.value
        if isinstance(inner, ast.Attribute):
            if inner.attr == "iloc" and _is_index(inner.value):
                return ast.Subscript(inner.value, node.slice, node.ctx)
            if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
                row, column = node.slice.elts
                named = _is_field(column)
                by_label = inner.attr == "loc" and self._is_reordered(inner.value) and _is_ordinal(row)
                if named and (inner.attr in ("iloc", "iat") or by_label):
                    field = ast.Subscript(inner.value, column, ast.Load())
                    return ast.Subscript(ast.Attribute(field, "iloc", ast.Load()), row, ast.Load())
        # The label of a row in the place of a field.
        elif _is_pick(node.slice) and isinstance(inner, ast.Name):
            return ast.Subscript(ast.Attribute(inner, "loc", ast.Load()), node.slice, node.ctx)
        return node

    def _is_reordered(self, frame: ast.expr) -> bool:
        return (isinstance(frame, ast.Name) and frame.id in self.chosen) or _is_chosen(frame)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a == 1 & b == 2` is Python's `a == (1 & b) == 2`; meant is `(a == 1) & (b == 2)`."""
        self.generic_visit(node)
        if len(node.ops) < 2 or not all(_joined(part) for part in node.comparators[:-1]):
            return self._one_sided(node) if len(node.ops) == 1 else node
        left, written = node.left, ""
        for operator, part in zip(node.ops[:-1], node.comparators[:-1], strict=True):
            right, next_left, join = _torn(part)
            sign = "&" if isinstance(join, ast.BitAnd) else "|"
            written += f"({ast.unparse(ast.Compare(left, [operator], [right]))}) {sign} "
            left = next_left
        written += f"({ast.unparse(ast.Compare(left, [node.ops[-1]], [node.comparators[-1]]))})"
        return ast.parse(written, mode="eval").body

    def _one_sided(self, node: ast.Compare) -> ast.AST:
        """`a == 1 & mask` and `mask & a == 1`, where `mask` is a condition by itself."""
        part = node.comparators[0]
        if _joined(node.left):
            mask, left, join = _torn(node.left)
            if not _is_condition(mask):
                return node
            return ast.BinOp(mask, join, ast.Compare(left, node.ops, [part]))
        if not _joined(part):
            return node
        right, mask, join = _torn(part)
        if not (isinstance(right, ast.Constant) and _is_condition(mask)):
            return node
        return ast.BinOp(ast.Compare(node.left, node.ops, [right]), join, mask)


def _joined(part: ast.expr) -> bool:
    return isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd | ast.BitOr)


def _torn(part: ast.expr) -> tuple[ast.expr, ast.expr, ast.operator]:
    assert isinstance(part, ast.BinOp)
    return part.left, part.right, part.op


def _is_condition(node: ast.expr) -> bool:
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert)
    return isinstance(node, ast.Compare) or negated or _is_mask_call(node)


def _is_index(node: ast.expr) -> bool:
    """`t.index` or `t.index[…]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "index"


def _is_field(node: ast.expr) -> bool:
    if isinstance(node, ast.List):
        return bool(node.elts) and all(_is_field(part) for part in node.elts)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_ordinal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= _MOST


def _is_pick(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PICKS
