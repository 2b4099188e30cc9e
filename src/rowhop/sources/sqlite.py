"""SQLite files as a source, opened so that nothing can be written, neither to the file nor beside it.

The locks on a model's statement: `mode=ro`, an authorizer that allows reading alone, no ATTACH, a time limit by the
progress handler, limits on the size of a value; in front of them the check of `readonly`.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from rowhop.box import BoxSet, Column, Dtype
from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells
from rowhop.sources.databases import (
    LOAD_BYTES,
    Catalog,
    chosen,
    marked,
    too_big,
    unreadable,
)
from rowhop.sources.naming import quoted
from rowhop.sources.readonly import Relation, check
from rowhop.sources.sqlite_catalog import read_catalog
from rowhop.sources.sqlnames import FUNCTIONS
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"SQLite format 3\0"
COUNT_BELOW = 256 << 20  # bytes of file up to which rows are counted
COPY_BELOW = 1 << 30  # bytes of a database with a stale log that is copied to be read
BUSY_SECONDS = 2.0
LONGEST_CELL = 64 << 20  # bytes of one value that a model's statement may build
RESULT_BYTES = 256 << 20
BATCH_ROWS = 65_536


class SqliteSource:
    """A file; see `Source`. Every call opens its own connection, so threads share nothing but the catalogue."""

    kind: Literal["database"] = "database"
    dialect = "sqlite"

    def __init__(self, path: str | Path, name: str | None = None, load_bytes: int = LOAD_BYTES) -> None:
        self.path = Path(path)
        self.name = name or self.path.name
        self._load_bytes = load_bytes
        self._cautions: dict[str, Caution] = {}
        self._known: tuple[str, Catalog] | None = None
        self.catalog()

    @property
    def cautions(self) -> tuple[Caution, ...]:
        return tuple(self._cautions.values())

    def boxes(self) -> BoxSet:
        return self.catalog().boxes

    def catalog(self) -> Catalog:
        state = self.fingerprint()
        known = self._known
        if known is None or known[0] != state:
            with self._connect() as connection:
                known = (state, read_catalog(connection, self.name, self.path.stat().st_size <= COUNT_BELOW))
            self._known = known
        return known[1]

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        import pyarrow as pa

        relation = self.catalog().relation(box, self.name)
        wanted = chosen(relation.box, columns)
        if not wanted:
            raise SourceError(f"Loading table '{box}' needs at least one column.")
        raw = self._fetch(relation, wanted, limit)
        arrays = []
        for column, array in zip(wanted, raw, strict=True):
            fitted, fits = cells.fit(array, column.dtype)
            if not fits:
                self._note_misfit(box, column.name, column.dtype)
            arrays.append(fitted)
        return pa.Table.from_arrays(arrays, names=[c.name for c in wanted])

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        import pyarrow as pa

        relation = self.catalog().relation(box, self.name)
        wanted = chosen(relation.box, columns)
        terms = [quoted(c.name) for c in wanted]
        with self._connect() as connection:
            if rows is None:
                found = connection.execute(_select(relation, terms)).fetchall()
            else:
                # counted by SQLite itself: stepping through millions of rows in Python takes seconds
                inner = _select(relation, [*terms, "row_number() OVER () - 1 AS rowhop_n"])
                wanted_rows = ", ".join(str(int(r)) for r in rows) or "NULL"
                sql = f"SELECT * FROM ({inner} LIMIT {max(rows, default=-1) + 1}) WHERE rowhop_n IN ({wanted_rows})"
                by_number = {row[-1]: row for row in connection.execute(sql)}
                found = [by_number[r] for r in rows if r in by_number]
        arrays = [pa.array([cells.as_text(r[i]) for r in found], pa.string()) for i in range(len(wanted))]
        return pa.Table.from_arrays(arrays, names=[c.name for c in wanted])

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        relation = self.catalog().relation(box, self.name)
        name = quoted(chosen(relation.box, [column])[0].name)
        sql = f"SELECT DISTINCT {name} FROM {quoted(relation.path[-1])} WHERE {name} IS NOT NULL LIMIT {int(limit)}"
        with self._connect() as connection:
            return [text for (cell,) in connection.execute(sql) if (text := cells.as_text(cell)) is not None]

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        return self._run(check(sql, self.dialect, self.catalog().relations).sql, limit, seconds)

    def _run(self, sql: str, limit: int, seconds: float) -> pa.Table:
        """Behind the check: SQLite's own lock, which holds by itself."""
        import pyarrow as pa

        with self._connect() as connection:
            deadline = time.monotonic() + seconds
            _lock(connection, deadline)
            try:
                cursor = connection.execute(sql)
                rows = _bounded(cursor, limit + 1)
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise _reply(error, time.monotonic() >= deadline, seconds) from None
            names = [d[0] for d in cursor.description or ()]
        arrays = [cells.column_of([r[i] for r in rows]) for i in range(len(names))]
        return marked(pa.Table.from_arrays(arrays, names=names), limit)

    def fingerprint(self) -> str:
        state: list[object] = [str(self.path.resolve())]
        try:
            for suffix in ("", "-wal"):
                file = Path(f"{self.path}{suffix}")
                if suffix and not file.exists():
                    continue
                stat = file.stat()
                with file.open("rb") as handle:
                    head = handle.read(
                        100
                    )  # holds SQLite's own change counter: finer than the clock of the file system
                state += [stat.st_size, stat.st_mtime_ns, head]
        except OSError as error:
            raise unreadable(self.path, error) from None
        return hashlib.sha256(repr(state).encode()).hexdigest()[:32]

    def close(self) -> None:
        self._known = None

    # connections

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        _check_file(self.path)
        try:
            with (
                _openable(self.path) as uri,
                closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)) as connection,
            ):
                connection.text_factory = _decode
                connection.execute("PRAGMA temp_store = MEMORY")  # no file of ours beside or elsewhere
                connection.execute("PRAGMA trusted_schema = OFF")
                yield connection
        except sqlite3.Error as error:
            raise _unavailable(self.path, error) from None

    def _fetch(self, relation: Relation, wanted: Sequence[Column], limit: int | None) -> list[pa.ChunkedArray]:
        try:
            return self._fetch_fast(relation, wanted, limit)
        except _NotFast:
            return self._fetch_plain(relation, wanted, limit)

    def _fetch_fast(self, relation: Relation, wanted: Sequence[Column], limit: int | None) -> list[pa.ChunkedArray]:
        """ADBC is ten times faster than Python's cursor, but takes a column's type from its first batch."""
        import adbc_driver_sqlite.dbapi as adbc
        import pyarrow as pa

        _check_file(self.path)
        terms = [_cast(c) for c in wanted]
        sql = _select(relation, terms) + ("" if limit is None else f" LIMIT {int(limit)}")
        batches, size = [], 0
        try:
            with (
                _openable(self.path) as uri,
                adbc.connect(uri) as connection,
                connection.cursor() as cursor,
            ):
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
                cursor.execute(sql)
                for batch in cursor.fetch_record_batch():
                    size += batch.nbytes
                    if size > self._load_bytes:
                        raise too_big(relation.box.name, size, self._load_bytes)
                    batches.append(batch)
        except (adbc.Error, pa.ArrowException, OSError) as error:
            raise _NotFast(str(error)) from None
        if not batches:
            return [pa.chunked_array([], cells.arrow_type(c.dtype)) for c in wanted]
        table = pa.Table.from_batches(batches)
        for column, array in zip(wanted, table.columns, strict=True):
            if _cast(column) == quoted(column.name) and pa.types.is_string(array.type):
                raise _NotFast("numbers among texts are written with six digits by ADBC")
        return [_valid(column) for column in table.columns]

    def _fetch_plain(self, relation: Relation, wanted: Sequence[Column], limit: int | None) -> list[pa.ChunkedArray]:
        import pyarrow as pa

        sql = _select(relation, [_cast(c) for c in wanted]) + ("" if limit is None else f" LIMIT {int(limit)}")
        parts: list[list[object]] = [[] for _ in wanted]
        size = 0
        with self._connect() as connection:
            cursor = connection.execute(sql)
            while rows := cursor.fetchmany(BATCH_ROWS):
                for part, values in zip(parts, zip(*rows, strict=True), strict=True):
                    part.extend(values)
                    size += sum(len(v) if isinstance(v, str | bytes) else 8 for v in values)
                if size > self._load_bytes:
                    raise too_big(relation.box.name, size, self._load_bytes)
        return [pa.chunked_array([cells.column_of(part)]) for part in parts]

    def _note_misfit(self, box: str, column: str, dtype: Dtype) -> None:
        text = f"Column '{column}' of '{box}' looked like {dtype} in its first rows, but holds other values too."
        self._cautions[f"{box}.{column}"] = Caution("mixed_column", text)


class _NotFast(Exception):
    """ADBC could not read this; Python's own driver does."""


# statements


def _cast(column: Column) -> str:
    """Text is cast by SQLite itself, so that a number among texts does not change how ADBC reads the column."""
    name = quoted(column.name)
    if column.dtype == "mixed" or (column.dtype in ("integer", "number", "boolean") and not column.parsed_from):
        return name
    return f"CASE typeof({name}) WHEN 'blob' THEN lower(hex({name})) ELSE CAST({name} AS TEXT) END"


def _select(relation: Relation, terms: Sequence[str]) -> str:
    """All rows in the source's order: without it, a covering index may give other orders for other columns."""
    table = quoted(relation.path[-1])
    if relation.view:
        return f"SELECT {', '.join(terms)} FROM (SELECT * FROM {table} LIMIT -1)"
    return f"SELECT {', '.join(terms)} FROM {table} NOT INDEXED"


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _valid(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is not UTF-8 is decoded with the replacement character, as everywhere else here."""
    import pyarrow as pa

    if pa.types.is_binary(column.type):
        return pa.chunked_array([pa.array([cells.as_text(c) for c in column.to_pylist()], pa.string())])
    if not pa.types.is_string(column.type):
        return column
    try:
        column.validate(full=True)
        return column
    except pa.ArrowInvalid:
        raw = column.cast(pa.binary()).to_pylist()
        return pa.chunked_array([pa.array([None if r is None else _decode(r) for r in raw], pa.string())])


def _bounded(cursor: sqlite3.Cursor, most: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    size = 0
    while len(rows) < most and (row := cursor.fetchone()) is not None:
        rows.append(row)
        size += sum(len(v) if isinstance(v, str | bytes) else 8 for v in row)
        if size > RESULT_BYTES:
            raise ReplyError(f"The result is larger than {RESULT_BYTES >> 20} MB. Select fewer columns or rows.")
    return rows


# locks


def _lock(connection: sqlite3.Connection, deadline: float) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)
    connection.set_progress_handler(lambda: time.monotonic() >= deadline, 1000)
    connection.set_authorizer(_authorizer())


def _authorizer() -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    allowed = FUNCTIONS["sqlite"] | {"like", "glob", "match"}
    plain = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}

    def authorize(action: int, first: str | None, second: str | None, _db: str | None, _inner: str | None) -> int:
        if action in plain:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in allowed:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return authorize


# files and messages


@contextmanager
def _openable(path: Path) -> Iterator[str]:
    """A URI that reads and leaves nothing behind; SQLite's WAL mode would put files beside the database even so.

    Without a log there is nothing to share, and the file can be taken as unchanging for the length of a call. A log
    that no living program shares (copied along, or left by a crash) is read from a copy of both.
    """
    with path.open("rb") as file:
        logged = file.read(20)[18:20] == b"\x02\x02"
    wal, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    if not logged or (wal.exists() and wal.stat().st_size and shared.exists()):
        yield _uri(path)
    elif not (wal.exists() and wal.stat().st_size):
        yield _uri(path) + "&immutable=1"
    elif path.stat().st_size > COPY_BELOW:
        raise SourceUnavailable(
            f"{path} has an unfinished log ({wal.name}). Open it once with the program that wrote it."
        )
    else:
        with tempfile.TemporaryDirectory(prefix="rowhop-") as folder:
            copy = Path(folder) / "copy.db"
            shutil.copyfile(path, copy)
            shutil.copyfile(wal, f"{copy}-wal")
            yield _uri(copy)


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.resolve()))}?mode=ro"


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise unreadable(path, error) from None
    if not head:
        raise SourceError(f"{path} is an empty file, not a database.")
    if head != MAGIC:
        raise SourceError(f"{path} is not a SQLite database (or it is encrypted).")


def _unavailable(path: Path, error: sqlite3.Error) -> SourceError | SourceUnavailable:
    text = str(error)
    if "locked" in text or "busy" in text:
        return SourceUnavailable(f"{path} is locked by another program that is writing to it. Try again later.")
    if "readonly" in text or "unable to open" in text:
        return SourceUnavailable(
            f"{path} was left in the middle of a write (or cannot be opened without writing). "
            "Open and close it once with the program that wrote it."
        )
    return SourceError(f"{path} cannot be read as a SQLite database: {text}.")


def _reply(error: Exception, late: bool, seconds: float) -> ReplyError:
    if late or "interrupted" in str(error):
        return ReplyError(f"The statement did not finish in {seconds:g} seconds. Write one that does less work.")
    if "not authorized" in str(error) or "prohibited" in str(error):
        return ReplyError(f"The database refused the statement: {error}. Only reading is allowed.")
    return ReplyError(f"The database could not run the statement: {error}.")
