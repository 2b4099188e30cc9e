"""One SELECT over the BOXes by an in-memory DuckDB that can reach nothing else.

Runs in the locked child; the engine's own lock is a second wall, and the only one where there is no sandbox.
"""

from __future__ import annotations

import datetime
import difflib
import re
from typing import TYPE_CHECKING, Any

from rowhop.sandbox import sqlrows
from rowhop.sandbox.complaints import nearest
from rowhop.sandbox.wire import MANY_ROWS, MOST_ROWS, Request, write_frame, write_reply

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_INT64 = 1 << 63


_ready: duckdb.DuckDBPyConnection | None = None


def prepare() -> None:
    """Open the engine before the fork: a child gets it ready-made. It has one thread, the caller's, as threads do
    not survive a fork; `_engine` adds more."""
    global _ready
    import duckdb

    settings: dict[str, Any] = {
        "threads": 1,
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
    }
    try:
        _ready = duckdb.connect(":memory:", config=settings | {"async_threads": 0})
    except duckdb.Error:  # a DuckDB from before there were such threads
        _ready = duckdb.connect(":memory:", config=settings)
    rehearse()


def rehearse() -> None:
    """A small query, for the sake of the memory that it touches."""
    import pyarrow as pa

    assert _ready is not None
    _ready.register("warm", pa.table({"a": [1], "b": ["x"]}))
    _ready.extract_statements("SELECT 1")
    query = "SELECT b, sum(a) AS s FROM warm WHERE a > 0 GROUP BY b ORDER BY s LIMIT 1"
    columns_of(_ready.sql(query).to_arrow_table())
    _ready.unregister("warm")


def _engine(tables: dict[str, pa.Table], memory_mb: int) -> duckdb.DuckDBPyConnection:
    """With the BOXes and nothing else, and its settings closed."""
    assert _ready is not None
    _ready.execute(f"SET memory_limit = '{max(memory_mb * 6 // 10, 64)}MB'")
    _ready.execute("SET temp_directory = ''")  # never onto the disk
    _ready.execute("SET threads = 2")
    for name, table in tables.items():
        _ready.register(name, _known_types(table))
    _ready.execute("SET enable_external_access = false")
    _ready.execute("SET lock_configuration = true")
    return _ready


def _known_types(table: pa.Table) -> pa.Table:
    """DuckDB takes neither half floats nor 256-bit decimals."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_float16(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float32()))
        elif pa.types.is_decimal256(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()).cast(pa.float64()))
    return table


def run(request: Request, tables: dict[str, pa.Table], reply_fd: int) -> None:
    import duckdb

    from rowhop.sandbox.child import memory_words

    try:
        connection = _engine(tables, request.limits.memory_mb)
        statements = connection.extract_statements(request.code)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            found = ", ".join(str(s.type).rpartition(".")[2] for s in statements) or "nothing"
            raise _Refused(f"Only one SELECT statement is allowed, this is: {found}.")
        table = connection.sql(request.code).to_arrow_table()
        message = {"status": "ok", "shape": "frame", "columns": columns_of(table)}
    except (duckdb.OutOfMemoryException, MemoryError):
        message = {"status": "memory", "error": memory_words(request)}
    except _Refused as error:
        message = {"status": "error", "error": str(error)}
    except duckdb.Error as error:
        message = describe(error, request, tables)
    write_reply(reply_fd, message, request.limits)
    if message["status"] == "ok" and request.probes and sum(t.num_rows for t in tables.values()) <= MANY_ROWS:
        write_frame(reply_fd, _evidence(request, connection, tables))


def _evidence(request: Request, connection: duckdb.DuckDBPyConnection, tables: dict[str, pa.Table]) -> dict[str, Any]:
    """The second frame: the probes' answers. One that fails says nothing."""
    import duckdb
    import numpy as np
    import pyarrow as pa

    for box, table in tables.items():
        rows = pa.array(np.arange(table.num_rows, dtype=np.int64))
        connection.register(sqlrows.numbered(box), _known_types(table).append_column(sqlrows.ROW, rows))
    found: dict[str, set[int]] = {}
    said: list[str] = []
    for probe in request.probes:
        kind, name, statement = probe
        try:
            answer = connection.sql(statement).fetchall()
        except duckdb.Error:
            continue
        if kind == "rows":
            found.setdefault(name, set()).update(row for (row,) in answer if row is not None)
        else:
            said += sqlrows.cautions(probe, answer, said)
    rows_found = {box: sorted(rows) for box, rows in found.items() if rows}
    return {
        "rows": {box: rows[:MOST_ROWS] for box, rows in rows_found.items()},
        "rows_total": {box: len(rows) for box, rows in rows_found.items()},
        "warnings": list(dict.fromkeys(said)),
    }


class _Refused(Exception):
    pass


def columns_of(table: pa.Table) -> list[dict[str, Any]]:
    """A result without going through pandas, which would turn numbers with gaps into floats."""
    import pyarrow as pa

    from rowhop.sandbox import values

    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_decimal(kind):
            # DuckDB sums integers into 128 bits; a cast straight to a double would be off in the last digit
            whole = kind.scale == 0 and _fits(column)
            column = column.cast(pa.int64()) if whole else column.cast(pa.string()).cast(pa.float64())
        elif pa.types.is_date(kind):
            days = column.cast(pa.int32()).to_pylist()
            columns.append({"name": name, "kind": "date32", "values": days})
            continue
        elif kind == pa.month_day_nano_interval():
            spans = [None if span is None else _span(*span) for span in column.to_pylist()]
            columns.append(values.plain_column(name, spans))
            continue
        columns.append(values.plain_column(name, column.to_pylist()))
    return columns


def _span(months: int, days: int, nanoseconds: int) -> str:
    """An interval in words; a month has no fixed length."""
    parts = [f"{months} months"] if months else []
    if days or nanoseconds or not months:
        parts.append(str(datetime.timedelta(days=days, microseconds=nanoseconds // 1000)))
    return " ".join(parts)


def _fits(column: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return True
    low, high = pc.min_max(column).as_py().values()
    return bool(low >= -_INT64 and high < _INT64)


def describe(error: duckdb.Error, request: Request, tables: dict[str, pa.Table]) -> dict[str, Any]:
    text = str(error).split("\n\nLINE ")[0].strip()
    place = re.search(r"LINE (\d+):", str(error))
    line = int(place.group(1)) if place else 0
    missing = re.search(r'Referenced column "([^"]+)" not found', text)
    if missing and "Candidate bindings" not in text:
        names = [c for t in tables.values() for c in t.column_names]
        near = difflib.get_close_matches(missing.group(1), names, n=5)
        text += f" Nearest columns: {', '.join(near)}" if near else ""
    unknown = re.search(r"Table with name (\S+) does not exist", text)
    if unknown:  # DuckDB's own guess knows only the BOXes that the statement names
        near = nearest(unknown.group(1), list(request.known)) or list(request.known[:20])
        text = f"{text.split('Did you mean')[0].strip()} The tables are: {', '.join(near)}"
    text = " ".join(text.split()) + (f" (line {line})" if line else "")
    return {"status": "error", "error": text[:4_000], "line": line}
