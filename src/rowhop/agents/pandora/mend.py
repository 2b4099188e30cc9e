"""Small slips in a Python program that are mended without a model: each has one reading only, and is said.

A field in the wrong case, a value that the source writes otherwise, a date compared with a year, a single cell
treated as a column, an unmatched bracket.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping

from rowhop.agents.pandora.values import elsewhere, written_as
from rowhop.agents.pandora.words import words
from rowhop.box import BoxSet
from rowhop.types import Caution

# Distinct cells of a column (BOX, field), for mending a compared value.
Cells = Callable[[str, str], list[str]]
_YEARS = range(1000, 2200)
# What a program asks of a column and gets no sense from when it holds one cell already.
_OF_COLUMNS = frozenset({"iloc", "values", "tolist", "item"})
# A frame has a method of these names, so that `df.count` is no field; not called, the field was meant.
_METHODS = frozenset(
    """abs add all any apply corr count cov describe diff div drop first filter head hist items last map mask max mean
    median min mod mode mul pipe plot pop pow prod product quantile query rank rename replace round sample shift std
    sub sum tail take transform update var where""".split()
)


def closed(code: str) -> str:
    """`int(d["n"] > 8).sum())` → `int((d["n"] > 8).sum())`: where that bracket makes it Python."""
    try:
        ast.parse(code)
    except SyntaxError as error:
        if "unmatched ')'" not in str(error.msg) or error.lineno is None:
            return code
        lines = code.split("\n")
        for call in re.finditer(r"\b(?:int|len|float|sum|str|abs|round)\(", lines[error.lineno - 1]):
            line = lines[error.lineno - 1]
            tried = [*lines[: error.lineno - 1], line[: call.end()] + "(" + line[call.end() :], *lines[error.lineno :]]
            try:
                ast.parse("\n".join(tried))
            except (SyntaxError, ValueError):
                continue
            return "\n".join(tried)
    except ValueError:
        pass
    return code


def defined_fields(tree: ast.AST) -> set[str]:
    """Field names that the program makes itself: they are not the source's and are left alone."""
    made: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            made |= _strings(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            made |= {k.arg for k in node.keywords if k.arg}
            if node.func.attr in ("rename", "rename_axis", "reset_index", "set_axis", "to_frame", "agg", "insert"):
                made |= _strings(node)
        elif isinstance(node, ast.Dict):
            made |= set().union(*(_strings(key) for key in node.keys if key is not None))
    return made


def _strings(node: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


class Mender(ast.NodeTransformer):
    """Writes fields and compared values as the source does. Only where one reading is possible."""

    def __init__(self, boxes: BoxSet, cells: Cells | None) -> None:
        self.boxes = boxes
        self.cells = cells
        self.cautions: list[Caution] = []
        self.changed = False
        self.fields = {c.name for box in boxes.boxes for c in box.columns}
        folded: dict[str, set[str]] = {}
        for name in self.fields:
            folded.setdefault("".join(words(name)), set()).add(name)
        self.folded: Mapping[str, set[str]] = folded
        self.made: set[str] = set()

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.made = defined_fields(node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.ctx, ast.Load):
            for part in self._keys(node.slice):
                part.value = self._field(str(part.value))
        self.generic_visit(node)
        inner = node.value
        if isinstance(inner, ast.Attribute) and inner.attr in _OF_COLUMNS and _is_cell(inner.value):
            self.changed = True
            return inner.value
        return node

    def _keys(self, key: ast.expr) -> Iterable[ast.Constant]:
        parts = key.elts if isinstance(key, ast.List | ast.Tuple) else [key]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part
            elif isinstance(part, ast.List):
                yield from self._keys(part)

    def _field(self, name: str) -> str:
        if name in self.fields or name in self.made:
            return name
        folded = "".join(words(name))
        same = self.folded.get(folded, set()) if folded else set()
        if len(same) != 1:
            return name
        field = next(iter(same))
        self.changed = True
        self.cautions.append(Caution("field_adjusted", f"{name!r} was read as the field {field!r}."))
        return field

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`df.count` where count is a field; a call of the method does not come here."""
        self.generic_visit(node)
        box = self.boxes.box(node.value.id) if isinstance(node.value, ast.Name) else None
        if node.attr not in _METHODS or box is None or box.column(node.attr) is None:
            return node
        self.changed = True
        return ast.Subscript(node.value, ast.Constant(node.attr), node.ctx)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        field, value = field_of(node.left), node.comparators[0]
        if len(node.ops) != 1 or field is None or field in self.made or not isinstance(value, ast.Constant):
            return node
        kinds = {c.dtype for b in self.boxes.boxes if (c := b.column(field))}
        if isinstance(value.value, int) and value.value in _YEARS and kinds and kinds <= {"date", "datetime"}:
            self.changed = True
            node.left = ast.Attribute(ast.Attribute(node.left, "dt", ast.Load()), "year", ast.Load())
            return node
        if not isinstance(node.ops[0], ast.Eq | ast.NotEq) or isinstance(value.value, bool):
            return node
        if isinstance(value.value, int) and kinds and kinds <= {"text", "mixed"}:
            value.value, self.changed = str(value.value), True
        if not isinstance(value.value, str):
            return node
        written = self._written(field, value.value)
        if written is None:
            self._other_field(node.left, field, value.value)
            return node
        if len(written) == 1:
            value.value = written[0]
            return node
        cells: list[ast.expr] = [ast.Constant(cell) for cell in written]
        inside = ast.Call(ast.Attribute(node.left, "isin", ast.Load()), [ast.List(cells, ast.Load())], [])
        return ast.UnaryOp(ast.Invert(), inside) if isinstance(node.ops[0], ast.NotEq) else inside

    def _other_field(self, compared: ast.expr, field: str, value: str) -> None:
        """`t["Rank"] == "Greater Glasgow"`, which stands in another field and there alone."""
        other = elsewhere(field, value, self.boxes, self.cells) if self.cells is not None else None
        if other is None or not isinstance(compared, ast.Subscript):
            return
        key = compared.slice.elts[-1] if isinstance(compared.slice, ast.Tuple) else compared.slice
        if isinstance(key, ast.Constant):
            key.value, self.changed = other, True
            self.cautions.append(Caution("field_adjusted", f"No {field} is {value!r}; it stands in {other!r}."))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if not isinstance(node.func, ast.Attribute):
            return self.generic_visit(node)
        called = node.func
        self.generic_visit(called)  # its parts; that it is called is no use of a field
        node.func = ast.Name("_", ast.Load())
        self.generic_visit(node)
        node.func = called
        if node.func.attr in _OF_COLUMNS and not node.args and _is_cell(node.func.value):
            self.changed = True
            return node.func.value
        if node.func.attr != "isin" or len(node.args) != 1:
            return node
        field, given = field_of(node.func.value), node.args[0]
        if field is None or not isinstance(given, ast.List):
            return node
        cells: list[ast.expr] = []
        for part in given.elts:
            is_text = isinstance(part, ast.Constant) and isinstance(part.value, str)
            written = self._written(field, part.value) if is_text else None  # type: ignore[attr-defined]
            cells += [ast.Constant(cell) for cell in written] if written else [part]
        given.elts = cells
        return node

    def _written(self, field: str, value: str) -> list[str] | None:
        found = written_as(field, value, self.boxes, self.cells) if self.cells is not None else None
        if found is not None:
            shown = ", ".join(map(repr, found[:3])) + (" …" if len(found) > 3 else "")
            self.changed = True
            self.cautions.append(Caution("value_adjusted", f"No {field} is {value!r}; taken as {shown}."))
        return found


def field_of(node: ast.expr) -> str | None:
    """`df["Venue"]`, `df.Venue`, `df.loc[rows, "Venue"]` and `df["Venue"].str.lower()`-free forms → "Venue"."""
    if isinstance(node, ast.Subscript):
        key = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr
    return None


def _is_cell(node: ast.expr) -> bool:
    """`df.loc[df["n"].idxmax(), "name"]` and `df["name"].value_counts().idxmax()` are one cell, not a column."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("idxmax", "idxmin")
    if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2):
        return False
    row, column = node.slice.elts
    of_loc = isinstance(node.value, ast.Attribute) and node.value.attr in ("loc", "at")
    return of_loc and isinstance(column, ast.Constant) and isinstance(row, ast.Call) and _is_cell(row)
