"""DuckDB files as a source: opened read-only, without access to anything outside the file, settings locked.

Each call opens the file and closes it again, so that its owner can write between two questions.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rowhop.box import BoxSet, Column, Dtype
from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells
from rowhop.sources.databases import (
    LOAD_BYTES,
    SAMPLE_ROWS,
    SAMPLE_SECONDS,
    Catalog,
    Table,
    catalog,
    chosen,
    marked,
    too_big,
    unreadable,
)
from rowhop.sources.naming import quoted
from rowhop.sources.readonly import Relation, check
from rowhop.types import Caution

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 100_000
RESULT_BYTES = 256 << 20

LOCKED = {
    "enable_external_access": "false",  # no other file, no network, no ATTACH
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # a table's name never means a variable of this process
    "temp_directory": "",  # nothing is written, not even beside the file
    "memory_limit": "2GB",
    "lock_configuration": "true",
}

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")


class DuckSource:
    """A file; see `Source`."""

    kind: Literal["database"] = "database"
    dialect = "duckdb"
    cautions: tuple[Caution, ...] = ()

    def __init__(self, path: str | Path, name: str | None = None, load_bytes: int = LOAD_BYTES) -> None:
        self.path = Path(path)
        self.name = name or self.path.name
        self._load_bytes = load_bytes
        self._known: tuple[str, Catalog] | None = None
        self.catalog()

    def boxes(self) -> BoxSet:
        return self.catalog().boxes

    def catalog(self) -> Catalog:
        state = self.fingerprint()
        known = self._known
        if known is None or known[0] != state:
            with self._connect() as connection:
                known = (state, _read_catalog(connection, self.name))
            self._known = known
        return known[1]

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        import pyarrow as pa

        relation = self.catalog().relation(box, self.name)
        wanted = chosen(relation.box, columns)
        if not wanted:
            raise SourceError(f"Loading table '{box}' needs at least one column.")
        with self._connect() as connection:
            terms = ", ".join(_term(c, relation.type_of(c.name)) for c in wanted)
            sql = f"SELECT {terms} FROM {_path(relation)}" + ("" if limit is None else f" LIMIT {int(limit)}")
            table = self._read(connection, sql, box)
        arrays = [
            a if c.dtype == "list" else cells.fit(a, c.dtype)[0] for a, c in zip(table.columns, wanted, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[c.name for c in wanted])

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        relation = self.catalog().relation(box, self.name)
        names = [quoted(c.name) for c in chosen(relation.box, columns)]
        texts = ", ".join(f"CAST({n} AS VARCHAR) AS {n}" for n in names)
        with self._connect() as connection:
            if rows is None:
                return self._read(connection, f"SELECT {texts} FROM {_path(relation)}", box)
            numbered = f"SELECT {', '.join(names)}, row_number() OVER () - 1 AS _row FROM {_path(relation)}"
            wanted = ", ".join(str(int(r)) for r in rows) or "NULL"
            found = self._read(connection, f"SELECT {texts}, _row FROM ({numbered}) WHERE _row IN ({wanted})", box)
        place = {number: i for i, number in enumerate(found.column("_row").to_pylist())}
        return found.drop_columns(["_row"]).take([place[r] for r in rows if r in place])

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        relation = self.catalog().relation(box, self.name)
        name = quoted(chosen(relation.box, [column])[0].name)
        sql = f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM {_path(relation)} WHERE {name} IS NOT NULL LIMIT {limit:d}"
        with self._connect() as connection:
            return [text for (text,) in connection.execute(sql).fetchall()]

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        return self._run(check(sql, self.dialect, self.catalog().relations).sql, limit, seconds)

    def _run(self, sql: str, limit: int, seconds: float) -> pa.Table:
        """Behind the check: DuckDB's own lock, which holds by itself."""
        import duckdb
        import pyarrow as pa

        with self._connect() as connection, _interrupted_after(connection, seconds) as late:
            try:
                relation = connection.sql(sql)
                table = _bounded(relation, limit + 1)
            except duckdb.InterruptException:
                raise ReplyError(
                    f"The statement did not finish in {seconds:g} seconds. Write one that does less work."
                ) from None
            except duckdb.Error as error:
                raise _reply(error, late.is_set(), seconds) from None
        return marked(pa.Table.from_arrays([_plain(c) for c in table.columns], names=table.column_names), limit)

    def fingerprint(self) -> str:
        state: list[object] = [str(self.path.resolve())]
        try:
            for suffix in ("", ".wal"):
                file = Path(f"{self.path}{suffix}")
                if suffix and not file.exists():
                    continue
                stat = file.stat()
                with file.open("rb") as handle:
                    head = handle.read(12_288)  # the header blocks count DuckDB's own checkpoints
                state += [stat.st_size, stat.st_mtime_ns, head]
        except OSError as error:
            raise unreadable(self.path, error) from None
        return hashlib.sha256(repr(state).encode()).hexdigest()[:32]

    def close(self) -> None:
        self._known = None

    @contextmanager
    def _connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        import duckdb

        _check_file(self.path)
        try:
            connection = duckdb.connect(str(self.path), read_only=True, config=LOCKED)
        except (duckdb.Error, RuntimeError) as error:
            raise _unavailable(self.path, error) from None
        try:
            yield connection
        except (duckdb.FatalException, duckdb.IOException, duckdb.InternalException) as error:
            raise _unavailable(self.path, error) from None
        finally:
            connection.close()

    def _read(self, connection: duckdb.DuckDBPyConnection, sql: str, box: str) -> pa.Table:
        import duckdb
        import pyarrow as pa

        reader = connection.sql(sql).to_arrow_reader(BATCH_ROWS)
        batches, size = [], 0
        try:
            for batch in reader:
                size += batch.nbytes
                if size > self._load_bytes:
                    raise too_big(box, size, self._load_bytes)
                batches.append(batch)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise SourceError(f"Table '{box}' of {self.name} cannot be read: {_first_line(error)}") from None
        return pa.Table.from_batches(batches, reader.schema)


# reading the catalogue


def _read_catalog(connection: duckdb.DuckDBPyConnection, source: str) -> Catalog:
    ours = "database_name = current_database() AND NOT internal"
    about = dict(_pairs(connection, f"SELECT schema_name, table_name, comment FROM duckdb_tables() WHERE {ours}"))
    about.update(_pairs(connection, f"SELECT schema_name, view_name, comment FROM duckdb_views() WHERE {ours}"))
    views = {v for v, _ in _pairs(connection, f"SELECT schema_name, view_name, NULL FROM duckdb_views() WHERE {ours}")}
    keys, foreign = _read_keys(connection)
    columns: dict[tuple[str, str], list[tuple[str, str, bool, str]]] = {path: [] for path in about}
    listing = f"""SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
        WHERE {ours} ORDER BY table_oid, column_index"""
    for schema, table, *rest in connection.execute(listing).fetchall():
        columns.setdefault((schema, table), []).append((rest[0], rest[1], bool(rest[2]), rest[3] or ""))
    tables, left_out = [], []
    for path, found in columns.items():
        is_view = path in views
        read = _read_columns(connection, path, found)
        if read is None:
            left_out.append(f"{path[1]} could not be read.")
            continue
        rows = None
        if not is_view:
            rows = connection.execute(f"SELECT count(*) FROM {quoted(path[0])}.{quoted(path[1])}").fetchall()[0][0]
        links, declared = tuple(foreign.get(path, ())), tuple(spec[1] for spec in found)
        tables.append(Table(path, read, keys.get(path, ()), links, is_view, rows, about.get(path) or "", declared))
    return catalog(tables, source, "main", left_out)


def _pairs(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[tuple[str, str], str | None]]:
    return [((schema, name), comment) for schema, name, comment in connection.execute(sql).fetchall()]


def _read_columns(
    connection: duckdb.DuckDBPyConnection, path: tuple[str, str], found: Sequence[tuple[str, str, bool, str]]
) -> tuple[Column, ...] | None:
    """None for a view whose query no longer runs or reads what is locked; no samples where they take too long."""
    import duckdb

    terms = ", ".join(_sample_term(name, declared) for name, declared, _, _ in found)
    rows: list[tuple[Any, ...]] = []
    try:
        with _interrupted_after(connection, SAMPLE_SECONDS):
            sql = f"SELECT {terms} FROM {quoted(path[0])}.{quoted(path[1])} LIMIT {SAMPLE_ROWS}"
            rows = connection.execute(sql).fetchall()
    except duckdb.InterruptException:
        pass
    except duckdb.Error:
        return None
    columns = []
    for position, (name, declared, nullable, about) in enumerate(found):
        dtype = _dtype(declared)
        shown = cells.samples((row[position] for row in rows), cells.sample_of(dtype))
        if declared.startswith("ENUM("):
            about = about or f"one of {declared[5:-1]}"[: cells.LONGEST_SAMPLE]
        columns.append(Column(name, dtype, shown, about=about, nullable=nullable))
    return tuple(columns)


def _read_keys(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[dict[tuple[str, str], tuple[str, ...]], dict[tuple[str, str], list[Any]]]:
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    foreign: dict[tuple[str, str], list[Any]] = {}
    sql = """SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table,
        referenced_column_names FROM duckdb_constraints() WHERE database_name = current_database()"""
    for schema, table, kind, fields, to_table, to_fields in connection.execute(sql).fetchall():
        if kind == "PRIMARY KEY":
            keys[schema, table] = tuple(fields)
        elif kind == "FOREIGN KEY":
            # DuckDB does not tell the target's schema; a key cannot leave its own
            foreign.setdefault((schema, table), []).append((tuple(fields), (schema, to_table), tuple(to_fields or ())))
    return keys, foreign


# types


def _dtype(declared: str) -> Dtype:
    if declared in _INTEGERS or declared in _WIDE:
        return "integer"
    if match := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared):
        return "integer" if match[2] == "0" and int(match[1]) <= 18 else "number"
    if declared.endswith("]"):
        return "list"
    kinds: dict[str, Dtype] = {"FLOAT": "number", "DOUBLE": "number", "BOOLEAN": "boolean", "DATE": "date"}
    return "datetime" if declared.startswith("TIMESTAMP") else kinds.get(declared, "text")


def _term(column: Column, declared: str) -> str:
    """What to select so that Arrow gets the column in the type that its BOX says."""
    name = quoted(column.name)
    if column.dtype == "list":
        return name
    if column.dtype == "date":
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    if column.dtype == "datetime":
        moment = f"make_timestamp(epoch_us({name}))" if "ZONE" in declared else f"CAST({name} AS TIMESTAMP)"
        return f"CASE WHEN isfinite({name}) THEN {moment} END"
    if declared == "BLOB":
        return f"lower(hex({name}))"
    # integers of more than 64 bits stay exact as text where they do not fit; see `cells.fit`
    wanted = {"integer": "VARCHAR" if declared in _WIDE else "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    return f"CAST({name} AS {wanted.get(column.dtype, 'VARCHAR')})"


def _sample_term(name: str, declared: str) -> str:
    plain = {"integer", "number", "boolean"}
    ident = quoted(name)
    if declared == "BLOB":
        return f"'(binary, ' || octet_length({ident}) || ' bytes)'"
    if declared in _WIDE or _dtype(declared) not in plain:
        return f"CAST({ident} AS VARCHAR)"
    return f"CAST({ident} AS DOUBLE)" if declared.startswith("DECIMAL") else ident


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A result's column in the few types that answers have; a sum of integers is an integer again."""
    import pyarrow as pa

    from rowhop.sources.columnar import native

    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column.cast(pa.string())
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        return cells.finite(native(column).values)
    if pa.types.is_interval(column.type):
        return pa.chunked_array([pa.array([cells.as_interval(c) for c in column.to_pylist()], pa.string())])
    return native(column).values


# limits and messages


@contextmanager
def _interrupted_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[threading.Event]:
    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()  # else it could interrupt a connection that is closed


def _bounded(relation: duckdb.DuckDBPyRelation, most: int) -> pa.Table:
    import pyarrow as pa

    reader = relation.to_arrow_reader(min(BATCH_ROWS, max(most, 1)))
    batches, rows, size = [], 0, 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if size > RESULT_BYTES:
            raise ReplyError(f"The result is larger than {RESULT_BYTES >> 20} MB. Select fewer columns or rows.")
        if rows >= most:
            break
    return pa.Table.from_batches(batches, reader.schema)


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError as error:
        raise unreadable(path, error) from None
    if not head:
        raise SourceError(f"{path} is an empty file, not a database.")
    if head[8:12] != b"DUCK":
        raise SourceError(f"{path} is not a DuckDB database.")


def _path(relation: Relation) -> str:
    return ".".join(quoted(part) for part in relation.path)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__


def _reply(error: Exception, late: bool, seconds: float) -> ReplyError:
    if late:
        return ReplyError(f"The statement did not finish in {seconds:g} seconds. Write one that does less work.")
    return ReplyError(f"The database could not run the statement: {_first_line(error)}")


def _unavailable(path: Path, error: Exception) -> SourceError | SourceUnavailable:
    text = str(error)
    if "different configuration" in text:
        return SourceUnavailable(f"{path} is open in this process for writing; close that connection first.")
    if "Could not set lock" in text:
        return SourceUnavailable(f"{path} is locked by another program that has it open for writing. Try again later.")
    return SourceError(f"{path} cannot be read as a DuckDB database: {_first_line(error)}")
