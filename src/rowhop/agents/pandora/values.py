"""Compared values written as the source writes them: `city = 'rome'` where the cell is "Rome".

Used on SQL statements here and on Python programs in `mend`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowhop.agents.pandora.words import fold, words
from rowhop.box import BoxSet
from rowhop.types import Caution

if TYPE_CHECKING:
    from rowhop.agents.pandora.mend import Cells

_MOST_CELLS = 20


def mend_values(sql: str, dialect: str, boxes: BoxSet, cells: Cells) -> tuple[str, list[Caution]]:
    """Only equality with a text that no cell of the column holds; the statement must have passed the guard."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, dialect=dialect)
    cautions: list[Caution] = []
    for node in list(tree.find_all(exp.EQ, exp.In)):
        column = node.this if isinstance(node.this, exp.Column) else None
        literals = [node.expression] if isinstance(node, exp.EQ) else list(node.expressions)
        if column is None or not all(isinstance(one, exp.Literal) and one.is_string for one in literals):
            continue
        written: list[str] = []
        changed = False
        for one in literals:
            found = written_as(column.name, one.this, boxes, cells)
            changed |= found is not None
            written += found or [one.this]
            if found is not None:
                shown = ", ".join(map(repr, found[:3])) + (" …" if len(found) > 3 else "")
                cautions.append(Caution("value_adjusted", f"No {column.name} is {one.this!r}; taken as {shown}."))
        if changed and len(written) == 1:
            node.replace(exp.EQ(this=column.copy(), expression=exp.Literal.string(written[0])))
        elif changed:
            node.replace(exp.In(this=column.copy(), expressions=[exp.Literal.string(cell) for cell in written]))
    return (tree.sql(dialect=dialect), cautions) if cautions else (sql, [])


def written_as(field: str, value: str, boxes: BoxSet, cells: Cells) -> list[str] | None:
    """The cells of a field that `value` stands for: the same but for case and accents, else those that hold it as
    whole words. None where it is a cell itself, or nothing is near, or too much is."""
    holders = [
        (b.name, c.name)
        for b in boxes.boxes
        for c in b.columns
        if c.name.lower() == field.lower() and c.dtype in ("text", "mixed")
    ]
    if not holders or not value.strip():
        return None
    known = list(dict.fromkeys(cell for box, name in holders for cell in cells(box, name)))
    if value in known:
        return None
    wanted = fold(value).strip()
    same = [cell for cell in known if fold(cell).strip() == wanted]
    if not same and (run := " ".join(words(value))):
        same = [cell for cell in known if f" {run} " in f" {' '.join(words(cell))} "]
    return same if 0 < len(same) <= _MOST_CELLS else None
