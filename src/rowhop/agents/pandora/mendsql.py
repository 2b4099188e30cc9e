"""Small slips in a SQL statement that are mended without a model: each has one reading only.

Most models know SQLite's and MySQL's habits best; DuckDB is stricter. What is loose there and refused here is
written out: a field beside an aggregate, a pattern in another case, a text compared with a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowhop.agents.pandora.values import written_as
from rowhop.box import BoxSet
from rowhop.types import Caution

if TYPE_CHECKING:
    from sqlglot import exp

    from rowhop.agents.pandora.mend import Cells


def mend_sql(sql: str, dialect: str, boxes: BoxSet, cells: Cells) -> tuple[str, list[Caution]]:
    """The statement must have passed the guard; values are mended for every dialect, the rest for DuckDB."""
    import sqlglot

    tree = sqlglot.parse_one(sql, dialect=dialect)
    cautions = _mend_values(tree, boxes, cells)
    changed = bool(cautions)
    if dialect == "duckdb":
        changed |= _mend_patterns(tree)
        changed |= _mend_types(tree, boxes)
        changed |= _mend_groups(tree)
    return (tree.sql(dialect=dialect), cautions) if changed else (sql, [])


def requalify(sql: str, dialect: str, boxes: BoxSet) -> str:
    """`r.director` where r has no such field and one other table of the same SELECT has: that table's.

    For a statement that has not passed the guard yet; what cannot be parsed is left to it.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except SqlglotError:
        return sql
    fields = {box.name.lower(): {c.name.lower() for c in box.columns} for box in boxes.boxes}
    changed = False
    for select in tree.find_all(exp.Select):
        tables = [t for t in select.find_all(exp.Table) if t.find_ancestor(exp.Select) is select]
        inside = {t.alias_or_name.lower(): fields[t.name.lower()] for t in tables if t.name.lower() in fields}
        if len(inside) != len(tables):
            continue
        for column in select.find_all(exp.Column):
            here = column.table.lower()
            if column.find_ancestor(exp.Select) is not select or here not in inside:
                continue
            holders = [t.alias_or_name for t in tables if column.name.lower() in inside[t.alias_or_name.lower()]]
            if column.name.lower() not in inside[here] and len(holders) == 1:
                column.set("table", exp.to_identifier(holders[0], quoted=True))
                changed = True
    return tree.sql(dialect=dialect) if changed else sql


def _mend_values(tree: exp.Expression, boxes: BoxSet, cells: Cells) -> list[Caution]:
    """Equality with a text that no cell of the column holds."""
    from sqlglot import exp

    cautions: list[Caution] = []
    for node in list(tree.find_all(exp.EQ, exp.In)):
        column = node.this if isinstance(node.this, exp.Column) else None
        literals = [node.expression] if isinstance(node, exp.EQ) else list(node.expressions)
        if column is None or not literals:
            continue
        if not all(isinstance(one, exp.Literal) and one.is_string for one in literals):
            continue
        written: list[str] = []
        changed = False
        for one in literals:
            found = written_as(column.name, one.this, boxes, cells)
            written += found or [one.this]
            if found is not None:
                changed = True
                shown = ", ".join(map(repr, found[:3])) + (" …" if len(found) > 3 else "")
                cautions.append(Caution("value_adjusted", f"No {column.name} is {one.this!r}; taken as {shown}."))
        if changed and len(written) == 1:
            node.replace(exp.EQ(this=column.copy(), expression=exp.Literal.string(written[0])))
        elif changed:
            node.replace(exp.In(this=column.copy(), expressions=[exp.Literal.string(cell) for cell in written]))
    return cautions


def _mend_patterns(tree: exp.Expression) -> bool:
    """LIKE ignores case in SQLite and MySQL, and in what people mean."""
    from sqlglot import exp

    found = list(tree.find_all(exp.Like))
    for node in found:
        node.replace(exp.ILike(this=node.this.copy(), expression=node.expression.copy()))
    return bool(found)


def _mend_types(tree: exp.Expression, boxes: BoxSet) -> bool:
    """`"year" = 2003` where the cells of year are text: the number is compared as it is written."""
    from sqlglot import exp

    changed = False
    for node in tree.find_all(exp.EQ, exp.NEQ, exp.In):
        if not isinstance(node.this, exp.Column):
            continue
        kinds = {c.dtype for b in boxes.boxes for c in b.columns if c.name.lower() == node.this.name.lower()}
        if not kinds or not kinds <= {"text", "mixed"}:
            continue
        literals = [node.expression] if not isinstance(node, exp.In) else list(node.expressions)
        for one in literals:
            if isinstance(one, exp.Literal) and not one.is_string:
                one.replace(exp.Literal.string(one.this))
                changed = True
    return changed


def _mend_groups(tree: exp.Expression) -> bool:
    """`SELECT name, COUNT(*) … GROUP BY id`: any name of the group, as SQLite and MySQL give it."""
    from sqlglot import exp

    changed = False
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is None or group.args.get("all"):
            continue
        by = {part.sql().lower() for part in group.expressions}
        names = {part.name.lower() for part in group.expressions if isinstance(part, exp.Column)}
        aliases = {one.alias.lower() for one in select.expressions if one.alias}
        order = select.args.get("order")
        having = select.args.get("having")
        places = [*select.expressions, *(order.expressions if order else []), *([having] if having else [])]
        keys = [one for number, one in enumerate(select.expressions, 1) if _is_key(one, number, group.expressions)]
        names |= {one.unalias().name.lower() for one in keys if isinstance(one.unalias(), exp.Column)}
        for place in places:
            if any(place is key for key in keys):
                continue
            for column in list(place.find_all(exp.Column)):
                if column.sql().lower() in by or column.name.lower() in names or _settled(column, select):
                    continue
                if place not in select.expressions and column.name.lower() in aliases:
                    continue
                wrapped = exp.AnyValue(this=column.copy())
                if column is place:
                    wrapped = exp.alias_(wrapped, column.name, quoted=True)
                column.replace(wrapped)
                changed = True
    return changed


def _is_key(selected: exp.Expression, number: int, by: list[exp.Expression]) -> bool:
    """Whether GROUP BY names what is selected by its place (GROUP BY 1) or by its alias."""
    from sqlglot import exp

    alias = selected.alias.lower()
    return any(
        (isinstance(part, exp.Literal) and part.is_int and int(part.this) == number)
        or (isinstance(part, exp.Column) and bool(alias) and not part.table and part.name.lower() == alias)
        for part in by
    )


def _settled(column: exp.Column, select: exp.Select) -> bool:
    """Inside an aggregate, a window, or a statement of its own: not for this GROUP BY to name."""
    from sqlglot import exp

    up = column.parent
    while up is not None and up is not select:
        if isinstance(up, exp.AggFunc | exp.Window | exp.Select | exp.Star):
            return True
        up = up.parent
    return isinstance(column.this, exp.Star)
