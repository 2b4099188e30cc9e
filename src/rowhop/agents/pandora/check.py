"""What can be said of a Python program before it runs, and the small slips that are mended without a model.

Refused: names, data or files that do not come from the BOXes, and assignments that pandas 3 ignores.
Mended, and said: a field in the wrong case, a value that the source writes otherwise. Habits of form are tidied.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass

from rowhop.agents.pandora.mend import Cells, Mender, closed
from rowhop.agents.pandora.missing import MissingCells
from rowhop.agents.pandora.pandas3 import refuse_old_pandas
from rowhop.agents.pandora.slips import mend_slips
from rowhop.agents.pandora.tidy import READERS, tidied, whole
from rowhop.box import BoxSet
from rowhop.errors import ReplyError
from rowhop.sources.naming import nearest
from rowhop.types import Caution


@dataclass(frozen=True)
class Checked:
    """`code` is what will run; `cautions` say what was mended in it."""

    code: str
    cautions: tuple[Caution, ...] = ()


def check_python(code: str, boxes: BoxSet, cells: Cells | None = None) -> Checked:
    """Raises ReplyError with the complaint for the model."""
    code = whole(closed(code))
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno}: {(error.text or '').strip()})" if isinstance(error, SyntaxError) else ""
        raise ReplyError(f"The program is not valid Python: {getattr(error, 'msg', error)}{line}.") from error
    changed = [tidied(tree, boxes), mend_slips(tree)]
    if any(changed):
        code = ast.unparse(tree)
    _refuse_foreign_data(tree, boxes)
    _refuse_unknown_names(tree, boxes)
    _refuse_lost_assignments(tree)
    refuse_old_pandas(tree, boxes)
    mender, missing = Mender(boxes, cells), MissingCells(boxes)
    mended = missing.visit(mender.visit(tree))
    return Checked(ast.unparse(mended) if mender.changed or missing.changed else code, tuple(mender.cautions))


def _refuse_foreign_data(tree: ast.Module, boxes: BoxSet) -> None:
    names = {box.name for box in boxes.boxes}
    listed = ", ".join(sorted(names))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in READERS:
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
    if not _says_unknown(tree) and (not read & names or not _rests_on(tree, names)):
        raise ReplyError(f"The answer must be computed from the data. The DataFrames are: {listed}.")


def _rests_on(tree: ast.Module, names: set[str]) -> bool:
    """Whether anything leads from the data to `answer`; a table that is looked at beside made-up values does not."""
    reads, makes = [], []
    modules = {"pd", "np"} | _imported(tree)
    for statement in tree.body:
        inner = list(ast.walk(statement))
        reads.append({n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)})
        made = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        made |= {n.name for n in inner if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        # `found.append(v)` and `found[k] = v` change what they name.
        changed = [n.value for n in inner if isinstance(n, ast.Attribute | ast.Subscript)]
        makes.append(made | {n.id for n in changed if isinstance(n, ast.Name)} - modules)
    if not any("answer" in made for made in makes):
        return True  # the run says that `answer` is missing
    reached, before = set(names), -1
    while len(reached) != before:
        before = len(reached)
        for read, made in zip(reads, makes, strict=True):
            if read & reached:
                reached |= made
    return "answer" in reached


def _imported(tree: ast.Module) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(a.asname or a.name).partition(".")[0] for node in imports for a in node.names}


def _says_unknown(tree: ast.Module) -> bool:
    """`answer = None`: what a program is asked to say when the tables cannot tell."""
    only = tree.body[0] if len(tree.body) == 1 else None
    return isinstance(only, ast.Assign) and isinstance(only.value, ast.Constant) and only.value.value is None


def _refuse_unknown_names(tree: ast.Module, boxes: BoxSet) -> None:
    known = (
        {box.name for box in boxes.boxes} | set(dir(builtins)) | {"pd", "np", "answer", "__name__"} | _imported(tree)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            known.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
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
