"""Habits of models that are no fault of the answer: a program that loads data which are there already, prints its
answer, forgets to name it, or was cut off in its last lines.
"""

from __future__ import annotations

import ast

from rowhop.box import BoxSet

READERS = frozenset(
    """read_csv read_excel read_json read_parquet read_table read_sql read_sql_query read_sql_table read_html
    read_xml read_feather read_pickle read_orc read_fwf read_hdf read_clipboard""".split()
)
_SHOWS = frozenset({"print", "display"})
_CUT = 6  # lines at the end of a reply that may be what is left of a statement cut off


def whole(code: str) -> str:
    """Without the last lines of a program that was cut off in the middle, where the rest is Python with an answer."""
    if _parses(code):
        return code
    lines = code.split("\n")
    for left in range(1, min(_CUT, len(lines) - 1) + 1):
        rest = "\n".join(lines[:-left])
        if _parses(rest) and "answer" in rest:
            return rest
    return code


def tidied(tree: ast.Module, boxes: BoxSet) -> bool:
    """Changes the program in place: the BOX itself instead of a load of it, its last value as the answer. Says
    whether anything was changed."""
    before = ast.dump(tree)
    names = [box.name for box in boxes.boxes]
    tree.body = [s for s in (_opened(statement, boxes) for statement in tree.body) if s is not None]
    _alias(tree, boxes)
    _answered(tree, set(names))
    ast.fix_missing_locations(tree)
    return ast.dump(tree) != before


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _opened(statement: ast.stmt, boxes: BoxSet) -> ast.stmt | None:
    """`df = pd.read_csv("…")` is the BOX that is there: no file is read. Data typed into a program stay refused."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not (isinstance(statement, ast.Assign) and isinstance(target, ast.Name)) or target.id == "answer":
        return statement
    box = boxes.box(target.id) or (boxes.boxes[0] if len(boxes.boxes) == 1 else None)
    if box is None or not _loads(statement.value):
        return statement
    if target.id == box.name:
        return None
    statement.value = ast.Name(box.name, ast.Load())
    return statement


def _loads(value: ast.expr) -> bool:
    """A call that reads a file by its name; data written into the program are not the source's."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in READERS):
        return False
    return len(value.args) == 1 and isinstance(value.args[0], ast.Constant) and "\n" not in str(value.args[0].value)


def _alias(tree: ast.Module, boxes: BoxSet) -> None:
    """`df`, which is what models call a frame that has another name here, or the name of a demonstration's table, where
    the field asked of it is this table's."""
    if len(boxes.boxes) != 1:
        return
    box = boxes.boxes[0]
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)} | {box.name}
    fields = {c.name for c in box.columns}
    meant = {"df"} - known
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id not in known:
            key = node.slice
            if isinstance(key, ast.Constant) and key.value in fields:
                meant.add(node.value.id)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in meant:
            node.id = box.name


def _answered(tree: ast.Module, names: set[str]) -> None:
    """Where nothing is called `answer`, what the program ends with: a value, a value printed, or a name set."""
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    while tree.body and _shown(tree.body[-1]) is not None and "answer" in stored:
        tree.body.pop()
    if "answer" in stored or not tree.body:
        return
    last = tree.body[-1]
    value = _shown(last)
    if value is None and isinstance(last, ast.Expr):
        value = last.value
    if value is not None:
        tree.body[-1] = ast.Assign([ast.Name("answer", ast.Store())], value)
    elif isinstance(last, ast.Assign) and len(last.targets) == 1 and _may_answer(last.targets[0], names):
        last.targets.append(ast.Name("answer", ast.Store()))


def _may_answer(target: ast.expr, names: set[str]) -> bool:
    """A table that was only changed says nothing."""
    return isinstance(target, ast.Name) and target.id not in names


def _shown(statement: ast.stmt) -> ast.expr | None:
    """What `print(value)` prints, where it prints one value."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return None
    call = statement.value
    if isinstance(call.func, ast.Name) and call.func.id in _SHOWS and call.args and not call.keywords:
        return call.args[-1]
    return None
