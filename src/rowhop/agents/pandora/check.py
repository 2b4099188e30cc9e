"""What can be said of a Python program before it runs, and the small slips that are mended without a model.

Refused: names, data or files that do not come from the BOXes, and assignments that pandas 3 ignores.
Mended, and said: a field in the wrong case, a value that the source writes otherwise.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rowhop.agents.pandora.values import written_as
from rowhop.agents.pandora.words import words
from rowhop.box import BoxSet
from rowhop.errors import ReplyError
from rowhop.sources.naming import nearest
from rowhop.types import Caution

# Distinct cells of a column, for mending a compared value.
Cells = Callable[[str, str], list[str]]
_READERS = frozenset(
    """read_csv read_excel read_json read_parquet read_table read_sql read_sql_query read_sql_table read_html
    read_xml read_feather read_pickle read_orc read_fwf read_hdf read_clipboard""".split()
)


@dataclass(frozen=True)
class Checked:
    """`code` is what will run; `cautions` say what was mended in it."""

    code: str
    cautions: tuple[Caution, ...] = ()


def check_python(code: str, boxes: BoxSet, cells: Cells | None = None) -> Checked:
    """Raises ReplyError with the complaint for the model."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno}: {(error.text or '').strip()})" if isinstance(error, SyntaxError) else ""
        raise ReplyError(f"The program is not valid Python: {getattr(error, 'msg', error)}{line}.") from error
    _refuse_foreign_data(tree, boxes)
    _refuse_unknown_names(tree, boxes)
    _refuse_lost_assignments(tree)
    mender = _Mender(boxes, cells)
    mended = mender.visit(tree)
    return Checked(ast.unparse(mended) if mender.cautions else code, tuple(mender.cautions))


def _refuse_foreign_data(tree: ast.Module, boxes: BoxSet) -> None:
    names = {box.name for box in boxes.boxes}
    listed = ", ".join(sorted(names))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _READERS:
            raise ReplyError(f"Do not read files: the data are loaded already as {listed}.")
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    overwritten = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            sources = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
            targets = {t.id for t in statement.targets if isinstance(t, ast.Name)}
            if targets & names and not sources & names:
                overwritten |= targets & names
    if overwritten:
        raise ReplyError(f"Do not make up data: {', '.join(sorted(overwritten))} is loaded already; use it as it is.")
    if not read & names:
        raise ReplyError(f"The answer must be computed from the data. The DataFrames are: {listed}.")


def _refuse_unknown_names(tree: ast.Module, boxes: BoxSet) -> None:
    known = {box.name for box in boxes.boxes} | set(dir(builtins)) | {"pd", "np", "answer", "__name__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            known.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            known |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
            tables = [box.name for box in boxes.boxes]
            raise ReplyError(
                f"There is no {node.id!r}. The DataFrames are: {', '.join(tables)}.{_hint(node.id, tables)}"
            )


def _hint(name: str, among: list[str]) -> str:
    close = nearest(name, among)
    return f" Did you mean {close!r}?" if close else ""


def _refuse_lost_assignments(tree: ast.Module) -> None:
    """pandas 3 copies on write: a change of a part of a frame's part changes nothing, and says so too late."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript):
                    raise ReplyError(
                        f"`{ast.unparse(target)} = …` changes nothing in pandas 3; write df.loc[rows, column] = …."
                    )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inplace = any(
                k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True
                for k in node.keywords
            )
            if inplace and isinstance(node.func.value, ast.Subscript):
                column = ast.unparse(node.func.value)
                raise ReplyError(
                    f"`{column}.{node.func.attr}(…, inplace=True)` changes nothing in pandas 3; write "
                    f"{column} = {column}.{node.func.attr}(…)."
                )


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


class _Mender(ast.NodeTransformer):
    """Writes fields and compared values as the source does. Only where one reading is possible."""

    def __init__(self, boxes: BoxSet, cells: Cells | None) -> None:
        self.boxes = boxes
        self.cells = cells
        self.cautions: list[Caution] = []
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
        return self.generic_visit(node)

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
        self.cautions.append(Caution("field_adjusted", f"{name!r} was read as the field {field!r}."))
        return field

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return node
        field, value = _field_of(node.left), node.comparators[0]
        if field is None or not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            return node
        written = self._written(field, value.value)
        if written is None:
            return node
        if len(written) == 1:
            value.value = written[0]
            return node
        inside: ast.expr = ast.Call(
            ast.Attribute(node.left, "isin", ast.Load()),
            [ast.List([ast.Constant(cell) for cell in written], ast.Load())],
            [],
        )
        return ast.UnaryOp(ast.Invert(), inside) if isinstance(node.ops[0], ast.NotEq) else inside

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Attribute) and node.func.attr == "isin" and len(node.args) == 1):
            return node
        field, given = _field_of(node.func.value), node.args[0]
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
            self.cautions.append(Caution("value_adjusted", f"No {field} is {value!r}; taken as {shown}."))
        return found


def _field_of(node: ast.expr) -> str | None:
    """`df["Venue"]`, `df.Venue`, `df.loc[rows, "Venue"]` and `df["Venue"].str.lower()`-free forms → "Venue"."""
    if isinstance(node, ast.Subscript):
        key = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr
    return None
