"""PostgreSQL's types as BOX types, and how a column is asked for so that it comes in its BOX's type."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rowhop.box import Column, Dtype
from rowhop.sources import cells
from rowhop.sources.naming import quoted

if TYPE_CHECKING:
    import pyarrow as pa

_DATES = "BETWEEN '0001-01-01' AND '9999-12-31'"  # Arrow has no infinity and no year before 1


def dtype_of(declared: str) -> Dtype:
    if declared.endswith("[]"):
        return "list"
    if declared in ("smallint", "integer", "bigint"):
        return "integer"
    if match := re.fullmatch(r"numeric\((\d+),0\)", declared):
        return "integer" if int(match[1]) <= 18 else "number"
    if declared.startswith("numeric") or declared in ("real", "double precision", "money"):
        return "number"
    if declared.startswith("timestamp"):
        return "datetime"
    return {"boolean": "boolean", "date": "date"}.get(declared, "text")  # type: ignore[return-value]


def term(column: Column, declared: str) -> str:
    name = quoted(column.name)
    if column.dtype == "list":
        return f"to_json({name})::text"
    if column.dtype == "date":
        return f"CASE WHEN {name} {_DATES} THEN {name} END"
    if column.dtype == "datetime":
        moment = f"({name} AT TIME ZONE 'UTC')" if "with time zone" in declared else name
        return f"CASE WHEN {name} {_DATES} THEN {moment} END"
    if column.dtype == "number":
        return f"{name}::numeric::float8" if declared == "money" else f"{name}::float8"
    if declared == "bytea":
        return f"encode({name}, 'hex')"
    return name if column.dtype in ("integer", "boolean") else f"{name}::text"


def sample_term(name: str, declared: str) -> str:
    ident, dtype = quoted(name), dtype_of(declared)
    if declared == "bytea":
        return f"'(binary, ' || octet_length({ident}) || ' bytes)'"
    if dtype == "number":
        return f"{ident}::numeric::float8" if declared == "money" else f"{ident}::float8"
    return ident if dtype in ("integer", "boolean") else f"left({ident}::text, {cells.LONGEST_SAMPLE + 1})"


def lists(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    parsed = [None if cell is None else json.loads(cell) for cell in column.to_pylist()]
    try:
        return pa.array(parsed, None if any(parsed) else pa.list_(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if p is None else [json.dumps(v) for v in p] for p in parsed])
