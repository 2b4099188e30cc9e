"""What is said to PostgreSQL: read-only transactions, the catalogue, COPY for bulk, single statements."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from rowhop.box import Column
from rowhop.errors import MissingExtra, ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells
from rowhop.sources.databases import SAMPLE_ROWS, SAMPLE_SECONDS, Table, too_big
from rowhop.sources.naming import quoted
from rowhop.sources.postgres_types import dtype_of, lists, sample_term, term
from rowhop.sources.readonly import Relation
from rowhop.sources.servers import (
    CONNECT_SECONDS,
    COUNT_BYTES,
    LOAD_SECONDS,
    RESULT_BYTES,
    Url,
    numbered,
)

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

_COLUMNS = """
SELECT n.nspname, c.relname, c.relkind::text, a.attname, format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid),
       CASE WHEN t.typbasetype <> 0 THEN t.typtypmod ELSE a.atttypmod END), a.attnotnull,
       col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class'),
       (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
        FROM pg_enum e WHERE e.enumtypid = a.atttypid),
       CASE WHEN c.relkind IN ('r', 'm') THEN pg_relation_size(c.oid) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
     JOIN pg_type t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum
"""

_KEYS = """
SELECT n.nspname, c.relname, k.contype::text,
       (SELECT array_agg(a.attname::text ORDER BY o.i) FROM unnest(k.conkey) WITH ORDINALITY o(num, i)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = o.num),
       fn.nspname, fc.relname,
       (SELECT array_agg(a.attname::text ORDER BY o.i) FROM unnest(k.confkey) WITH ORDINALITY o(num, i)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = o.num)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_class fc ON fc.oid = k.confrelid LEFT JOIN pg_namespace fn ON fn.oid = fc.relnamespace
WHERE k.contype IN ('p', 'f') AND k.conparentid = 0
"""


class Postgres:
    """See `servers.Engine`."""

    dialect = "postgres"

    def __init__(self, url: Url) -> None:
        self._url = url

    def tables(self) -> tuple[list[Table], list[str], str]:
        with self._connect(SAMPLE_SECONDS) as connection:
            listing = connection.execute(_COLUMNS).fetchall()
            keys, foreign = _read_keys(connection)
            default = connection.execute("SELECT current_schema()").fetchone()
            grouped: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
            for row in listing:
                grouped.setdefault((row[0], row[1]), []).append(row[2:])
            tables, left_out = [], []
            for path, found in grouped.items():
                rows = _first_rows(connection, path, found)
                if rows is None:
                    left_out.append(f"{'.'.join(path)} is shown without samples: reading it failed or took too long.")
                columns = tuple(_column(row, i, rows or []) for i, row in enumerate(found))
                kind, size = found[0][0], found[0][7]
                count = _count(connection, path) if size is not None and size <= COUNT_BYTES else None
                declared = tuple(row[2] for row in found)
                about, links = found[0][5] or "", tuple(foreign.get(path, ()))
                tables.append(Table(path, columns, keys.get(path, ()), links, kind == "v", count, about, declared))
            return tables, left_out, default[0] if default and default[0] else "public"

    def fetch(self, relation: Relation, columns: Sequence[Column], limit: int | None, most: int) -> pa.Table:
        with self._connect(LOAD_SECONDS) as connection:
            terms = ", ".join(f"{term(c, relation.type_of(c.name))} AS c{i}" for i, c in enumerate(columns))
            sql = f"SELECT {terms} FROM {_path(relation)}{_order(connection, relation)}"
            table = _copy(connection, sql if limit is None else f"{sql} LIMIT {int(limit)}", relation, columns, most)
        arrays = [lists(a) if c.dtype == "list" else a for a, c in zip(table.columns, columns, strict=True)]
        return _named(arrays, columns)

    def texts(self, relation: Relation, columns: Sequence[Column], rows: Sequence[int] | None) -> pa.Table:
        import pyarrow as pa

        with self._connect(LOAD_SECONDS) as connection:
            order = _order(connection, relation)
            terms = ", ".join(f"{quoted(c.name)}::text AS c{i}" for i, c in enumerate(columns))
            if rows is None:
                found = connection.execute(f"SELECT {terms} FROM {_path(relation)}{order}").fetchall()
            else:
                # the number is given before the order is lost again by a filter
                sql = f"SELECT {terms}, row_number() OVER ({order}) - 1 AS n FROM {_path(relation)}"
                by_number = {row[-1]: row for row in connection.execute(numbered(sql, rows)).fetchall()}
                found = [by_number[r] for r in rows if r in by_number]
        return _named([pa.array([r[i] for r in found], pa.string()) for i in range(len(columns))], columns)

    def distinct(self, relation: Relation, column: Column, limit: int) -> list[str]:
        name = quoted(column.name)
        sql = f"SELECT DISTINCT {name}::text FROM {_path(relation)} WHERE {name} IS NOT NULL LIMIT {limit:d}"
        with self._connect(LOAD_SECONDS) as connection:
            return [row[0] for row in connection.execute(sql).fetchall()]

    def run(self, sql: str, most: int, seconds: float) -> pa.Table:
        import psycopg
        import pyarrow as pa

        with self._connect(seconds) as connection, connection.cursor() as cursor:
            rows: list[tuple[Any, ...]] = []
            size = 0
            try:
                # stream speaks the extended protocol, in which a second statement is an error
                for row in cursor.stream(sql):
                    rows.append(row)
                    size += sum(len(v) if isinstance(v, str | bytes) else 8 for v in row)
                    if len(rows) >= most:
                        break
                    if size > RESULT_BYTES:
                        raise ReplyError(
                            f"The result is larger than {RESULT_BYTES >> 20} MB. Select fewer columns or rows."
                        )
            except psycopg.errors.QueryCanceled:
                raise ReplyError(
                    f"The statement did not finish in {seconds:g} seconds. Write one that does less work."
                ) from None
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
                raise ReplyError(f"The database refused the statement: {_message(error)}") from None
            except (
                psycopg.ProgrammingError,
                psycopg.DataError,
                psycopg.NotSupportedError,
                psycopg.errors.InternalError_,
            ) as error:
                raise ReplyError(f"The database could not run the statement: {_message(error)}") from None
            if not rows:  # a stream without rows does not tell its columns
                cursor.execute(f"SELECT * FROM ({sql}) AS q LIMIT 0", prepare=True)
            names = [d.name for d in cursor.description or ()]
        return pa.Table.from_arrays([cells.column_of([r[i] for r in rows]) for i in range(len(names))], names=names)

    def state(self) -> str:
        """The snapshot names exactly the transactions whose work can be seen. Foreign tables change without it."""
        with self._connect(CONNECT_SECONDS) as connection:
            outside = connection.execute("SELECT 1 FROM pg_class WHERE relkind = 'f' LIMIT 1").fetchone()
            if outside:
                return uuid.uuid4().hex
            row = connection.execute("SELECT pg_current_snapshot()::text, pg_is_in_recovery()").fetchone()
            return hashlib.sha256(repr(row).encode()).hexdigest()

    @contextmanager
    def _connect(self, seconds: float) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra('PostgreSQL needs a driver: pip install "rowhop[postgres]"') from None
        url = self._url
        try:
            connection = psycopg.connect(
                host=url.host,
                port=url.port,
                user=url.user or None,
                password=url.password or None,
                dbname=url.database or None,
                **{"connect_timeout": str(CONNECT_SECONDS), "application_name": "rowhop", **url.options},  # type: ignore[arg-type]
            )
        except psycopg.Error as error:
            raise _refused(url, error) from None
        try:
            with connection:
                connection.execute("SET default_transaction_read_only = on")
                connection.execute("SET datestyle = 'ISO, YMD'; SET timezone = 'UTC'; SET synchronize_seqscans = off")
                connection.execute("SET client_encoding = 'UTF8'; SET standard_conforming_strings = on")
                connection.execute(f"SET statement_timeout = {int(seconds * 1000)}")
                connection.commit()
                connection.read_only = True
                _read_infinity(connection)
                yield connection
                connection.rollback()  # large objects can be made even in a read-only transaction; so they go again
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise _broken(url, error) from None
        except psycopg.Error as error:
            raise SourceError(f"{url} could not be read: {url.clean(_message(error))}") from None


def _read_infinity(connection: psycopg.Connection[Any]) -> None:
    """Dates that Python has none for (infinity, before year 1) come as text instead of an error."""
    from psycopg.types import datetime as pg

    for kind, loader in (
        ("date", pg.DateLoader),
        ("timestamp", pg.TimestampLoader),
        ("timestamptz", pg.TimestamptzLoader),
    ):
        connection.adapters.register_loader(kind, _lenient(loader))


def _lenient(loader: Any) -> Any:
    import psycopg

    class Lenient(loader):  # type: ignore[misc]
        def load(self, data: Any) -> Any:
            try:
                return super().load(data)
            except psycopg.DataError:
                return bytes(data).decode()

    return Lenient


# reading the catalogue


def _read_keys(
    connection: psycopg.Connection[Any],
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], list[Any]]]:
    keys: dict[tuple[str, str], Any] = {}
    foreign: dict[tuple[str, str], list[Any]] = {}
    for schema, table, kind, fields, to_schema, to_table, to_fields in connection.execute(_KEYS).fetchall():
        if kind == "p":
            keys[schema, table] = tuple(fields)
        else:
            foreign.setdefault((schema, table), []).append((tuple(fields), (to_schema, to_table), tuple(to_fields)))
    return keys, foreign


def _first_rows(
    connection: psycopg.Connection[Any], path: tuple[str, str], found: Sequence[tuple[Any, ...]]
) -> list[Any] | None:
    import psycopg

    terms = ", ".join(sample_term(row[1], row[2]) for row in found)
    try:
        with connection.transaction():
            sql = f"SELECT {terms} FROM {quoted(path[0])}.{quoted(path[1])} LIMIT {SAMPLE_ROWS}"
            return connection.execute(sql).fetchall()
    except (psycopg.errors.QueryCanceled, psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError):
        return None


def _column(row: tuple[Any, ...], position: int, rows: Sequence[tuple[Any, ...]]) -> Column:
    _, name, declared, not_null, about, _, labels, _ = row
    dtype = dtype_of(declared)
    shown = cells.samples((r[position] for r in rows), cells.sample_of(dtype))
    about = about or (f"one of {labels}"[: cells.LONGEST_SAMPLE] if labels else "")
    return Column(name, dtype, shown, about=about, nullable=not not_null)


def _count(connection: psycopg.Connection[Any], path: tuple[str, str]) -> int | None:
    import psycopg

    try:
        with connection.transaction():
            row = connection.execute(f"SELECT count(*) FROM {quoted(path[0])}.{quoted(path[1])}").fetchone()
            return int(row[0]) if row else None
    except (psycopg.errors.QueryCanceled, psycopg.ProgrammingError):
        return None


def _order(connection: psycopg.Connection[Any], relation: Relation) -> str:
    """The same order for every set of columns: by key, else by place in the file. A view has none to hold on to."""
    if relation.box.keys:
        return " ORDER BY " + ", ".join(quoted(k) for k in relation.box.keys)
    kind = connection.execute(
        "SELECT relkind::text FROM pg_class WHERE oid = %s::regclass", [_path(relation)]
    ).fetchone()
    return " ORDER BY ctid" if kind and kind[0] in ("r", "m") else ""


# bulk


def _copy(
    connection: psycopg.Connection[Any], sql: str, relation: Relation, columns: Sequence[Column], most: int
) -> pa.Table:
    """COPY as CSV, which Arrow reads ten times faster than rows come through Python."""
    import pyarrow as pa
    from pyarrow import csv

    buffer = BytesIO()
    with connection.cursor().copy(f"COPY ({sql}) TO STDOUT (FORMAT csv)") as copy:
        for chunk in copy:
            buffer.write(chunk)
            if buffer.tell() > most:
                raise too_big(relation.box.name, buffer.tell(), most)
    names = [f"c{i}" for i in range(len(columns))]
    types = {
        n: pa.string() if c.dtype == "list" else cells.arrow_type(c.dtype) for n, c in zip(names, columns, strict=True)
    }
    data = buffer.getbuffer() if buffer.tell() else b""
    if not data:
        return pa.table({n: pa.array([], t) for n, t in types.items()})
    return csv.read_csv(
        pa.BufferReader(data),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # COPY quotes an empty text and leaves NULL empty
            true_values=["t"],
            false_values=["f"],
        ),
    )


def _named(arrays: Sequence[Any], columns: Sequence[Column]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_arrays(list(arrays), names=[c.name for c in columns])


def _path(relation: Relation) -> str:
    return ".".join(quoted(part) for part in relation.path)


# messages


def _message(error: Exception) -> str:
    diag = getattr(error, "diag", None)
    primary = getattr(diag, "message_primary", None)
    hint = getattr(diag, "message_hint", None)
    text = primary or (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"{text}. {hint}" if hint else str(text)


def _refused(url: Url, error: Exception) -> SourceError | SourceUnavailable:
    text = url.clean(" ".join(str(error).split()))
    if "password authentication failed" in text or "no password supplied" in text:
        return SourceError(f"{url} refused the user or the password.")
    if "database" in text and "does not exist" in text:
        return SourceError(f"{url}: there is no database '{url.database or url.user}'.")
    if "role" in text and "does not exist" in text:
        return SourceError(f"{url}: there is no user '{url.user}'.")
    if "no pg_hba.conf entry" in text or "invalid connection option" in text or "invalid sslmode" in text:
        return SourceError(f"{url} refused the connection: {text[-300:]}")
    return SourceUnavailable(f"{url} cannot be reached. Is the server running, and are host and port right?")


def _broken(url: Url, error: Exception) -> SourceUnavailable:
    return SourceUnavailable(f"{url} could not be read to the end: {url.clean(_message(error))}")
