"""What is said to MySQL and MariaDB: read-only transactions, the catalogue, rows in batches, single statements."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rowhop.box import Column
from rowhop.errors import MissingExtra, ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells
from rowhop.sources.databases import SAMPLE_ROWS, SAMPLE_SECONDS, Table, too_big
from rowhop.sources.mysql_types import dotted, dtype_of, is_wide, quoted, sample_term, term, text_term, value_of
from rowhop.sources.readonly import Relation, parse
from rowhop.sources.servers import (
    CONNECT_SECONDS,
    COUNT_BYTES,
    LOAD_SECONDS,
    RESULT_BYTES,
    Url,
    numbered,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pymysql

BATCH_ROWS = 20_000

_SYSTEM = "('information_schema', 'mysql', 'performance_schema', 'sys')"

# Error numbers, the same on MySQL and MariaDB where not said otherwise.
_WRONG_PASSWORD = (1044, 1045, 1698)
_NO_DATABASE = 1049
_TOO_SLOW = (1317, 1969, 3024)  # interrupted; MariaDB's limit; MySQL's limit
_GONE = (2002, 2003, 2006, 2013, 2055)


class Mysql:
    """See `servers.Engine`."""

    dialect = "mysql"

    def __init__(self, url: Url) -> None:
        self._url = url

    def tables(self) -> tuple[list[Table], list[str], str]:
        with self._connect(SAMPLE_SECONDS) as connection:
            where = "= DATABASE()" if self._url.database else f"NOT IN {_SYSTEM}"
            listing = _rows(
                connection,
                f"""SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT, DATA_LENGTH
                FROM information_schema.TABLES
                WHERE TABLE_SCHEMA {where} AND TABLE_TYPE <> 'SEQUENCE' ORDER BY TABLE_SCHEMA, TABLE_NAME""",
            )
            found = _read_columns(connection, where)
            keys, foreign = _read_keys(connection, where)
            tables, left_out = [], []
            for schema, name, kind, about, size in listing:
                path, view = (schema, name), "VIEW" in kind
                specs = found.get(path, [])
                rows = _first_rows(connection, path, specs)
                if rows is None:
                    left_out.append(f"{schema}.{name} is shown without samples: reading it failed or took too long.")
                columns = tuple(_column(spec, i, rows or []) for i, spec in enumerate(specs))
                count = None
                if rows is not None and not view and (size or 0) <= COUNT_BYTES:
                    count = int(_rows(connection, f"SELECT count(*) FROM {dotted(path)}")[0][0])
                declared = tuple(spec[1] for spec in specs)
                about = "" if view else about or ""
                tables.append(
                    Table(path, columns, keys.get(path, ()), tuple(foreign.get(path, ())), view, count, about, declared)
                )
            return tables, left_out, self._url.database

    def fetch(self, relation: Relation, columns: Sequence[Column], limit: int | None, most: int) -> pa.Table:
        import pyarrow as pa

        terms = ", ".join(term(c, relation.type_of(c.name)) for c in columns)
        sql = f"SELECT {terms} FROM {dotted(relation.path)}{_order(relation)}"
        parts: list[list[pa.Array]] = [[] for _ in columns]
        size = 0
        with self._connect(LOAD_SECONDS) as connection:
            for batch in _batches(connection, sql if limit is None else f"{sql} LIMIT {int(limit)}"):
                for part, column, values in zip(parts, columns, zip(*batch, strict=True), strict=True):
                    wide = is_wide(relation.type_of(column.name))
                    kind = pa.string() if wide else cells.arrow_type(column.dtype)
                    array = pa.array(values if wide else [value_of(v, column.dtype) for v in values], kind)
                    part.append(array)
                    size += array.nbytes
                if size > most:
                    raise too_big(relation.box.name, size, most)
        arrays = [
            cells.fit(pa.chunked_array(part or [pa.array([], cells.arrow_type(c.dtype))]), c.dtype)[0]
            for part, c in zip(parts, columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[c.name for c in columns])

    def texts(self, relation: Relation, columns: Sequence[Column], rows: Sequence[int] | None) -> pa.Table:
        import pyarrow as pa

        order = _order(relation)
        terms = ", ".join(f"{text_term(c.name, relation.type_of(c.name))} AS c{i}" for i, c in enumerate(columns))
        with self._connect(LOAD_SECONDS) as connection:
            if rows is None:
                found = _rows(connection, f"SELECT {terms} FROM {dotted(relation.path)}{order}")
            else:
                sql = f"SELECT {terms}, row_number() OVER ({order.strip()}) - 1 AS n FROM {dotted(relation.path)}"
                by_number = {row[-1]: row for row in _rows(connection, numbered(sql, rows))}
                found = [by_number[r] for r in rows if r in by_number]
        arrays = [pa.array([cells.as_text(r[i]) for r in found], pa.string()) for i in range(len(columns))]
        return pa.Table.from_arrays(arrays, names=[c.name for c in columns])

    def distinct(self, relation: Relation, column: Column, limit: int) -> list[str]:
        name = quoted(column.name)
        term = text_term(column.name, relation.type_of(column.name))
        sql = f"SELECT DISTINCT {term} FROM {dotted(relation.path)} WHERE {name} IS NOT NULL LIMIT {limit:d}"
        with self._connect(LOAD_SECONDS) as connection:
            return [text for (cell,) in _rows(connection, sql) if (text := cells.as_text(cell)) is not None]

    def run(self, sql: str, most: int, seconds: float) -> pa.Table:
        import pyarrow as pa
        import pymysql

        with self._connect(seconds) as connection:
            # the server stops at the limit by itself: an unread rest could not be left behind
            _rows(connection, f"SET SESSION sql_select_limit = {int(most)}")
            sql = _limited(sql, most)
            try:
                with connection.cursor() as cursor:
                    cursor.execute(sql)
                    names = [d[0] for d in cursor.description or ()]
                    rows = list(cursor.fetchall())[:most]
            except pymysql.err.Error as error:
                number = error.args[0] if error.args else 0
                if number in _TOO_SLOW:
                    raise ReplyError(
                        f"The statement did not finish in {seconds:g} seconds. Write one that does less work."
                    ) from None
                if number in _GONE:
                    raise
                raise ReplyError(f"The database could not run the statement: {self._clean(error)}") from None
            if sum(len(v) if isinstance(v, str | bytes) else 8 for row in rows for v in row) > RESULT_BYTES:
                raise ReplyError(f"The result is larger than {RESULT_BYTES >> 20} MB. Select fewer columns or rows.")
        return pa.Table.from_arrays([cells.column_of([r[i] for r in rows]) for i in range(len(names))], names=names)

    def state(self) -> str:
        """The position in the server's own log of changes; where it keeps none, nothing cached may be used."""
        with self._connect(CONNECT_SECONDS) as connection:
            known = dict(_rows(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'gtid_mode')"))
            if known.get("log_bin") != "ON":
                return uuid.uuid4().hex
            if "gtid_mode" not in known:
                return str(_rows(connection, "SELECT @@global.gtid_binlog_pos")[0][0])
            if known["gtid_mode"] == "ON":
                return str(_rows(connection, "SELECT @@global.gtid_executed")[0][0])
            return uuid.uuid4().hex

    @contextmanager
    def _connect(self, seconds: float) -> Iterator[pymysql.Connection[Any]]:
        try:
            import pymysql
            from pymysql.constants import FIELD_TYPE
            from pymysql.converters import conversions
        except ImportError:
            raise MissingExtra('MySQL and MariaDB need a driver: pip install "rowhop[mysql]"') from None
        url = self._url
        try:
            connection = pymysql.connect(
                host=url.host,
                port=url.port,
                user=url.user or None,
                password=url.password.encode(),  # as text it would be sent in Latin-1
                database=url.database or None,
                charset="utf8mb4",
                connect_timeout=CONNECT_SECONDS,
                read_timeout=int(seconds) + 10,
                local_infile=False,
                conv={**conversions, FIELD_TYPE.BIT: lambda raw: int.from_bytes(raw, "big")},
                **_options(url),
            )
        except pymysql.err.Error as error:
            raise self._refused(error) from None
        except RuntimeError as error:  # the driver's way to say that a package for this kind of login is missing
            raise MissingExtra(f"{url} asks for a login that needs another package: {url.clean(str(error))}") from None
        try:
            with connection:
                _settle(connection, seconds)
                yield connection
        except pymysql.err.Error as error:
            number = error.args[0] if error.args else 0
            if number in _GONE or isinstance(error, pymysql.err.InterfaceError):
                raise SourceUnavailable(f"{url} could not be read to the end: the connection was lost.") from None
            if number in _TOO_SLOW:
                raise SourceUnavailable(f"{url} was too slow: no answer in {seconds:g} seconds.") from None
            raise SourceError(f"{url} could not be read: {self._clean(error)}") from None

    def _refused(self, error: Exception) -> SourceError | SourceUnavailable:
        number = error.args[0] if error.args else 0
        if number in _WRONG_PASSWORD:
            return SourceError(f"{self._url} refused the user or the password.")
        if number == _NO_DATABASE:
            return SourceError(f"{self._url}: there is no database '{self._url.database}'.")
        return SourceUnavailable(f"{self._url} cannot be reached. Is the server running, and are host and port right?")

    def _clean(self, error: Exception) -> str:
        return self._url.clean(str(error.args[1] if len(error.args) > 1 else error))


def _options(url: Url) -> dict[str, Any]:
    known = {"ssl_ca", "ssl_cert", "ssl_key", "unix_socket"}
    unknown = sorted(set(url.options) - known - {"ssl", "charset"})
    if unknown:
        raise SourceError(
            f"{url}: the options {', '.join(unknown)} are not known. There are: {', '.join(sorted(known))}."
        )
    options: dict[str, Any] = {k: v for k, v in url.options.items() if k in known}
    if url.options.get("ssl", "").lower() in ("1", "true", "yes"):
        options["ssl"] = {"check_hostname": False} if "ssl_ca" not in options else {}
    return options


def _settle(connection: pymysql.Connection[Any], seconds: float) -> None:
    """A session that can only read. NO_BACKSLASH_ESCAPES and ANSI_QUOTES would change what the checked text means."""
    _rows(connection, "SET SESSION sql_mode = '', time_zone = '+00:00'")
    if "mariadb" in connection.get_server_info().lower():
        _rows(connection, f"SET SESSION max_statement_time = {float(seconds)}")
    else:
        _rows(connection, f"SET SESSION max_execution_time = {int(seconds * 1000)}")
    _rows(connection, "SET SESSION TRANSACTION READ ONLY")
    _rows(connection, "START TRANSACTION READ ONLY")


def _limited(sql: str, most: int) -> str:
    """`sql_select_limit` does not hold for a statement with a limit of its own, so a larger one is lowered."""
    from rowhop.sources.writing import writing

    tree = parse(sql, "mysql")
    limit = tree.args.get("limit")
    if limit is None or not limit.expression or int(limit.expression.name) <= most:
        return sql
    return str(tree.limit(most).sql(dialect=writing("mysql")))


def _rows(connection: pymysql.Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _batches(connection: pymysql.Connection[Any], sql: str) -> Iterator[list[tuple[Any, ...]]]:
    from pymysql.cursors import SSCursor

    with connection.cursor(SSCursor) as cursor:
        cursor.execute(sql)
        while batch := cursor.fetchmany(BATCH_ROWS):
            yield list(batch)


# reading the catalogue

_Spec = tuple[str, str, bool, str]  # name, declared type, nullable, comment


def _read_columns(connection: pymysql.Connection[Any], where: str) -> dict[tuple[str, str], list[_Spec]]:
    found: dict[tuple[str, str], list[_Spec]] = {}
    sql = f"""SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT
        FROM information_schema.COLUMNS WHERE TABLE_SCHEMA {where}
        ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"""
    for schema, table, name, declared, nullable, about in _rows(connection, sql):
        text = declared.decode() if isinstance(declared, bytes) else declared
        found.setdefault((schema, table), []).append((name, text, nullable == "YES", about or ""))
    return found


def _read_keys(
    connection: pymysql.Connection[Any], where: str
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], Any]]:
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    groups: dict[tuple[str, str, str], tuple[list[str], tuple[str, str], list[str]]] = {}
    sql = f"""SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA,
        REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
        WHERE TABLE_SCHEMA {where} ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"""
    for schema, table, constraint, column, to_schema, to_table, to_column in _rows(connection, sql):
        if constraint == "PRIMARY":
            keys[schema, table] = (*keys.get((schema, table), ()), column)
        elif to_table:
            fields, _, to_fields = groups.setdefault((schema, table, constraint), ([], (to_schema, to_table), []))
            fields.append(column)
            to_fields.append(to_column)
    foreign: dict[tuple[str, str], list[Any]] = {}
    for (schema, table, _), (fields, to, to_fields) in groups.items():
        foreign.setdefault((schema, table), []).append((tuple(fields), to, tuple(to_fields)))
    return keys, foreign


def _first_rows(connection: pymysql.Connection[Any], path: tuple[str, str], specs: Sequence[_Spec]) -> list[Any] | None:
    """None for a view that no longer runs, or not in time."""
    import pymysql

    terms = ", ".join(sample_term(name, declared) for name, declared, _, _ in specs)
    try:
        return _rows(connection, f"SELECT {terms} FROM {dotted(path)} LIMIT {SAMPLE_ROWS}")
    except pymysql.err.Error as error:
        if error.args and error.args[0] in _GONE:
            raise
        return None


def _column(spec: _Spec, position: int, rows: Sequence[tuple[Any, ...]]) -> Column:
    name, declared, nullable, about = spec
    dtype = dtype_of(declared)
    shown = cells.samples((value_of(r[position], dtype) for r in rows), cells.sample_of(dtype))
    if declared.startswith("enum("):
        about = about or f"one of {declared[5:-1]}"[: cells.LONGEST_SAMPLE]
    return Column(name, dtype, shown, about=about, nullable=nullable)


def _order(relation: Relation) -> str:
    """By key: InnoDB would read other columns through other indexes, in other orders."""
    keys = relation.box.keys
    return f" ORDER BY {', '.join(quoted(k) for k in keys)}" if keys else ""
