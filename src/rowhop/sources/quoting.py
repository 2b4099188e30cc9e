"""Double-quoted words that name no column: a text in the wrong quotes, or a misspelt column?

SQLite takes both for texts without a word; other engines refuse both. Here a word is a text only where a value
belongs and no column is named nearly like it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

NEAR = 80  # of 100; above it a word is a misspelt column

_COMPARISONS = (exp.EQ, exp.NEQ, exp.Is, exp.Like, exp.ILike, exp.Glob, exp.GT, exp.GTE, exp.LT, exp.LTE)


def meant_as_text(column: exp.Column, names: Iterable[str]) -> bool:
    """Whether `column`, which is no column of `names` (lower case), is a text: `country = "France"`."""
    if not column.this.quoted or column.table or not _at_a_value(column):
        return False
    from rapidfuzz.fuzz import ratio

    beside = {c.name.lower() for c in column.parent.find_all(exp.Column)} if column.parent else set()
    others = [n for n in names if n not in beside]  # division = "Division 1" is a text in spite of its likeness
    return not any(ratio(column.name.lower(), n) > NEAR for n in others)


def _at_a_value(column: exp.Column) -> bool:
    parent = column.parent
    if isinstance(parent, _COMPARISONS):
        return parent.expression is column and not isinstance(parent.this, exp.Literal)
    if isinstance(parent, exp.In | exp.Between):
        return parent.this is not column
    if isinstance(parent, exp.Case):
        return parent.args.get("default") is column
    if isinstance(parent, exp.If):
        return parent.this is not column
    if isinstance(parent, exp.DPipe):
        return True
    if isinstance(parent, exp.Func) and not isinstance(parent, exp.AggFunc):
        # a lone argument of a function is what the function is about: a column
        return sum(len(v) if isinstance(v, list) else v is not None for v in parent.args.values()) > 1
    return False
