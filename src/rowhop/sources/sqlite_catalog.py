"""The catalogue of a SQLite file: its tables and views with what is in their first rows, their keys."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace
from typing import Any

from rowhop.box import Column
from rowhop.sources import cells
from rowhop.sources.databases import SAMPLE_ROWS, SAMPLE_SECONDS, Catalog, Table, catalog, typed_alike
from rowhop.sources.naming import quoted

PROBE_ROWS = 50_000  # rows up to which a text column of numbers or dates is looked at whole


def read_catalog(connection: sqlite3.Connection, source: str, count: bool) -> Catalog:
    tables: list[Table] = []
    left_out: list[str] = []
    listing = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'"
    for name, kind in connection.execute(listing).fetchall():
        try:
            tables.append(_read_table(connection, name, kind == "view", count, left_out))
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise
            # a view on what is no longer there, or a virtual table of a module that we lack
            left_out.append(f"{kind} {name} could not be read.")
    return catalog(typed_alike(tables), source, left_out=left_out)


_OTHER_DATES = "dates not written YYYY-MM-DD: they do not sort or compare by time"


def _read_table(connection: sqlite3.Connection, name: str, view: bool, count: bool, left_out: list[str]) -> Table:
    info = connection.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
    total, rows = None, []
    deadline = time.monotonic() + SAMPLE_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        rows = connection.execute(f"SELECT * FROM {quoted(name)} LIMIT {SAMPLE_ROWS}").fetchall()
        if count and not view:
            total = connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        left_out.append(f"{name} is shown without samples: reading its first rows took too long.")
    finally:
        connection.set_progress_handler(None, 0)
    visible = [row for row in info if row[6] != 1]  # 1: hidden columns of virtual tables
    columns: list[Column] = []
    for position, (_, column, declared, not_null, _, _, _) in enumerate(visible):
        found = [row[position] for row in rows]
        dtype, parsed_from = cells.find_type(declared or "", found)
        shown = cells.samples(found, cells.sample_of(dtype))
        about = _OTHER_DATES if dtype == "text" and cells.are_other_dates(found) else ""
        columns.append(Column(column, dtype, shown, parsed_from=parsed_from, about=about, nullable=not not_null))
    if total is not None and SAMPLE_ROWS < total <= PROBE_ROWS:
        columns = [_probed(connection, name, c) if c.parsed_from else c for c in columns]
    keys = tuple(row[1] for row in sorted((r for r in visible if r[5]), key=lambda r: r[5]))
    return Table((name,), tuple(columns), keys, _read_foreign(connection, name), view, total)


def _probed(connection: sqlite3.Connection, table: str, column: Column) -> Column:
    """A text column of numbers or dates by its first rows, looked at in all rows by SQLite: text after all, or not."""
    name = quoted(column.name)
    if column.dtype in ("integer", "number"):
        odd = f"({name} GLOB '*[^0-9.-]*' OR {name} GLOB '0[0-9]*')"
    else:
        odd = f"{name} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
    marks = ", ".join(f"'{m}'" for m in cells.MISSING)
    sql = f"SELECT 1 FROM {quoted(table)} WHERE {odd} AND lower(trim({name})) NOT IN ({marks}) LIMIT 1"
    if connection.execute(sql).fetchone() is None:
        return column
    return replace(column, dtype="text", parsed_from="", samples=tuple(str(s) for s in column.samples))


def _read_foreign(connection: sqlite3.Connection, name: str) -> tuple[Any, ...]:
    groups: dict[int, tuple[str, list[str], list[str]]] = {}
    for number, _, to_table, field, to_field, *_ in connection.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
        _, fields, to_fields = groups.setdefault(number, (to_table, [], []))
        fields.append(field)
        if to_field is not None:
            to_fields.append(to_field)
    return tuple((tuple(f), (to,), tuple(t)) for _, (to, f, t) in sorted(groups.items(), reverse=True))
