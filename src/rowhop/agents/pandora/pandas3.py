"""What models learnt on older pandas and pandas 3 no longer does, said before the program runs.

Some of it raises, with a message that does not say what to write instead; some gives another value in silence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rowhop.agents.pandora.mend import field_of
from rowhop.box import BoxSet
from rowhop.errors import ReplyError

_GONE = {
    "applymap": "`.applymap(f)` is gone from pandas 3; write `.map(f)`",
    "iteritems": "`.iteritems()` is gone from pandas 3; write `.items()`",
}
_KEYWORDS = {
    ("fillna", "method"): "`fillna(method=…)` is gone from pandas 3; write `.ffill()` or `.bfill()`",
    ("groupby", "axis"): "`groupby(axis=…)` is gone from pandas 3; write `frame.T.groupby(…)`, then `.T`",
    ("to_datetime", "infer_datetime_format"): "`infer_datetime_format` is gone from pandas 3; leave it out",
}  # fmt: skip
_OFTEN = {"M": "ME", "Q": "QE", "Y": "YE", "A": "YE", "BM": "BME", "H": "h", "T": "min", "S": "s", "L": "ms"}
_FREQUENCIES = ("resample", "Grouper", "date_range", "asfreq")


def refuse_old_pandas(tree: ast.Module, boxes: BoxSet) -> None:
    """Raises ReplyError with what to write instead."""
    for node in ast.walk(tree):
        for complaint in _of(node, boxes):
            raise ReplyError(f"{complaint}.")
    _refuse_append(tree)


def _of(node: ast.AST, boxes: BoxSet) -> Iterator[str]:
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        if any(isinstance(s, ast.Attribute) and s.attr == "dtype" for s in sides) and any(map(_is_object, sides)):
            yield (
                "A column of text has the dtype `str` in pandas 3, never `object`; "
                "write `pd.api.types.is_string_dtype(column)`"
            )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    called = node.func.attr
    if called in _GONE:
        yield _GONE[called]
    for given in node.keywords:
        if (called, given.arg) in _KEYWORDS:
            yield _KEYWORDS[called, str(given.arg)]
    if called in _FREQUENCIES:
        for value in (*node.args, *(k.value for k in node.keywords)):
            if isinstance(value, ast.Constant) and value.value in _OFTEN:
                yield f"The frequency {value.value!r} is gone from pandas 3; write {_OFTEN[value.value]!r}"
    if called in ("astype", "view") and node.args and _is_integer(node.args[0]):
        field = field_of(node.func.value)
        kinds = {c.dtype for b in boxes.boxes if field and (c := b.column(field))}
        if kinds & {"date", "datetime"}:
            yield (
                f"Dates do not count in nanoseconds in pandas 3; for seconds since 1970 write "
                f"`({ast.unparse(node.func.value)} - pd.Timestamp('1970-01-01')) // pd.Timedelta('1s')`"
            )


def _is_object(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "object"
    if isinstance(node, ast.Attribute):
        return node.attr == "object_"
    return isinstance(node, ast.Constant) and node.value in ("object", "O")


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "int"
    if isinstance(node, ast.Attribute):
        return node.attr == "int64"
    return isinstance(node, ast.Constant) and node.value in ("int", "int64", "i8")


def _refuse_append(tree: ast.Module) -> None:
    """A list's `append` gives nothing; where its value is kept or asked for more, a frame's was meant."""
    for node in ast.walk(tree):
        used = node.value if isinstance(node, ast.Assign | ast.Attribute | ast.Subscript) else None
        if isinstance(used, ast.Call) and isinstance(used.func, ast.Attribute) and used.func.attr == "append":
            one = ast.unparse(used.func.value)
            raise ReplyError(f"`{one}.append(…)` is gone from pandas 3; write `pd.concat([{one}, …])`.")
