"""MySQL's and MariaDB's types as BOX types, and how a column is asked for so that it comes in its BOX's type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowhop.box import Column, Dtype
from rowhop.sources import cells

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_SPATIAL = ("geometry", "point", "linestring", "polygon")
_COLLECTIONS = ("multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection")
_BINARY = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")


def kind_of(declared: str) -> str:
    return declared.partition("(")[0].split()[0].lower()


def dtype_of(declared: str) -> Dtype:
    kind = kind_of(declared)
    if kind == "bit":
        return "boolean" if declared == "bit(1)" else "integer"
    if kind in _INTEGERS:
        return "integer"
    if kind == "decimal":
        digits, _, scale = declared[8:].partition(")")[0].partition(",")
        return "integer" if scale == "0" and int(digits) <= 18 else "number"
    if kind in ("float", "double"):
        return "number"
    return {"date": "date", "datetime": "datetime", "timestamp": "datetime"}.get(kind, "text")  # type: ignore[return-value]


def term(column: Column, declared: str) -> str:
    name, kind = quoted(column.name), kind_of(declared)
    if kind == "bit":
        return f"{name} + 0"
    if kind in _SPATIAL + _COLLECTIONS:
        return f"ST_AsText({name})"
    if column.dtype == "number":
        return f"{name} + 0e0"
    if is_wide(declared):
        return f"CAST({name} AS CHAR)"
    return f"lower(hex({name}))" if kind in _BINARY else f"CAST({name} AS CHAR)" if column.dtype == "text" else name


def text_term(name: str, declared: str) -> str:
    ident, kind = quoted(name), kind_of(declared)
    if kind in _BINARY:
        return f"lower(hex({ident}))"
    return (
        f"ST_AsText({ident})"
        if kind in _SPATIAL + _COLLECTIONS
        else f"CAST({ident}{' + 0' if kind == 'bit' else ''} AS CHAR)"
    )


def sample_term(name: str, declared: str) -> str:
    ident, kind = quoted(name), kind_of(declared)
    if kind in _BINARY:
        return f"concat('(binary, ', length({ident}), ' bytes)')"
    if dtype_of(declared) == "text" and kind not in _SPATIAL + _COLLECTIONS:
        return f"left(CAST({ident} AS CHAR), {cells.LONGEST_SAMPLE + 1})"
    return term(Column(name, dtype_of(declared)), declared)


def is_wide(declared: str) -> bool:
    """Whether numbers may need more than 63 bits: then they come as text and stay it where they do not fit."""
    return declared.startswith("bigint") and "unsigned" in declared


def value_of(value: Any, dtype: Dtype) -> Any:
    """MySQL's date 0000-00-00 comes as text and means no date."""
    if value is None:
        return None
    if dtype in ("date", "datetime"):
        return None if isinstance(value, str | bytes) else value
    if dtype == "boolean":
        return bool(value)
    return int(value) if dtype == "integer" else value


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def dotted(path: Sequence[str]) -> str:
    return ".".join(quoted(part) for part in path)
