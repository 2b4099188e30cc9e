"""Text files too big to hold as a whole: the first rows tell names and types, a load reads only the columns asked for.

A type found in the first rows is checked when the column is loaded. Where later cells do not fit, the column is
loaded as what it really is, and that is said.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop.box import Box, BoxSet
from rowhop.errors import SourceError
from rowhop.sources import Kind, Reading
from rowhop.sources.columns import Typed, is_total, type_columns
from rowhop.sources.delimited import Dialect, Encoding, decode, find_dialect, find_encoding
from rowhop.sources.headers import Heading, find_heading
from rowhop.sources.sheets import (
    Sheet,
    check_columns,
    column_hints,
    describe,
    missing,
    most_frequent,
    sheet_from_grid,
    type_sheet,
)
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

GLANCE_BYTES = 1 << 18
# Loaded columns stay in memory up to this size, for the evidence and for the next question.
KEEP_BYTES = 512 << 20
CHUNK_ROWS = 100_000


@dataclass(frozen=True)
class Layout:
    """What the beginning of the file tells. `offset` is where the rows begin, in bytes of `encoding`."""

    encoding: Encoding
    dialect: Dialect
    heading: Heading
    offset: int
    sample: Sheet
    typed: dict[str, Typed]


class BigTextSource:
    """One delimited text file of any size."""

    dialect = ""
    kind: Kind = "table"

    def __init__(self, path: Path, name: str, box: str, reading: Reading) -> None:
        self.name = name
        self._path = path
        self._box = box
        self._reading = reading
        self._lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        self._stamp = _stamp(self._path)
        self._layout = _look(self._path, self.name, self._box, self._reading)
        self._kept: OrderedDict[str, pa.ChunkedArray] = OrderedDict()
        self._typed: dict[str, Typed] = {}
        self._names = list(self._layout.sample.texts.column_names)
        self._ragged = False
        self._rows: int | None = None
        self._said: list[Caution] = []

    @property
    def cautions(self) -> tuple[Caution, ...]:
        with self._lock:
            self._refresh()
            # Raggedness is known of all rows only after a load; of the first rows it would be half the truth.
            found = [c for c in self._layout.sample.cautions if c.kind != "ragged_rows" or not self._ragged]
            types = {**self._layout.typed, **self._typed}
            found += [Caution(c.kind, f"{self._box}: {c.text}") for t in types.values() for c in t.cautions]
            return (*found, *self._said, *self._last_row())

    def boxes(self) -> BoxSet:
        with self._lock:
            self._refresh()
            # Ragged rows brought further columns along, which the first rows did not have.
            known = {**self._layout.typed, **self._typed}
            self._type(self._texts([n for n in self._names if n not in known]))
            types = {**self._layout.typed, **self._typed}
            columns = [describe(name, types[name]) for name in self._names]
            about = self._layout.sample.about
            return BoxSet((Box(self._box, tuple(columns), about, (), self._rows, self.name),))

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        import pyarrow as pa

        with self._lock:
            names = self._named(box, columns)
            texts = self._texts([n for n in names if n not in self._typed])
            names = list(self._names) if columns is None else names
            if columns is None:
                texts.update(self._texts([n for n in names if n not in self._typed and n not in texts]))
            self._type(texts)
            table = pa.table({n: self._typed[n].values for n in names})
        return table if limit is None else table.slice(0, limit)

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        import pyarrow as pa

        with self._lock:
            texts = self._texts(self._named(box, columns))
            if columns is None:
                texts.update(self._texts([n for n in self._names if n not in texts]))
            table = pa.table(texts)
        return table if rows is None else table.take(list(rows))

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        with self._lock:
            (name,) = self._named(box, [column])
            texts = self._texts([name])[name]
        return most_frequent(texts, limit)

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        raise SourceError(f"{self.name} is no database and has no SQL of its own; ask over its BOXes instead.")

    def fingerprint(self) -> str:
        """Size, time of change, beginning and end: hashing gigabytes for every question would cost too much."""
        size, changed = _stamp(self._path)
        digest = hashlib.sha256(f"{size} {changed} {self._reading!r}".encode())
        with self._path.open("rb") as file:
            digest.update(file.read(GLANCE_BYTES))
            file.seek(max(0, size - GLANCE_BYTES))
            digest.update(file.read())
        return digest.hexdigest()

    def close(self) -> None:
        with self._lock:
            self._kept.clear()
            self._typed.clear()

    def _refresh(self) -> None:
        if _stamp(self._path) != self._stamp:
            self._open()

    def _named(self, box: str, columns: Sequence[str] | None) -> list[str]:
        self._refresh()
        if box != self._box:
            raise SourceError(missing(f"No table {box!r} in {self.name}.", box, [self._box]))
        return check_columns(box, columns, self._names)

    def _texts(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Columns as written, from memory where they are kept."""
        wanted = [n for n in names if n not in self._kept]
        found = {n: self._kept[n] for n in names if n in self._kept}
        if wanted:
            table = self._read(wanted)
            self._rows = table.num_rows
            for name in table.column_names:
                self._kept[name] = table.column(name)
                if name in wanted:
                    found[name] = table.column(name)
            self._forget(found)
        return {n: found[n] for n in names}

    def _forget(self, needed: dict[str, Any]) -> None:
        total = sum(c.nbytes for c in self._kept.values())
        for name in list(self._kept):
            if total <= KEEP_BYTES or self._ragged:
                return
            if name not in needed:
                total -= self._kept[name].nbytes
                del self._kept[name]
                self._typed.pop(name, None)

    def _type(self, texts: dict[str, pa.ChunkedArray]) -> None:
        """Types over all cells; the first rows' proof of decimal sign and day order goes for all of them."""
        before = self._layout.typed
        hints = column_hints(self._layout.sample, texts, self._reading)
        decimals = {t.proves_decimal for t in before.values()} - {""}
        orders = {t.proves_day_first for t in before.values()} - {None}
        for name, hint in hints.items():
            if len(decimals) == 1 and not hint.decimal:
                hint = replace(hint, decimal=next(iter(decimals)))
            if len(orders) == 1:
                hint = replace(hint, file_day_first=next(iter(orders)))
            typed = type_columns({name: texts[name]}, {name: hint})[name]
            if typed.dtype in ("text", "mixed") and name in before and before[name].dtype not in ("text", "mixed"):
                looked = f"{self._box}: {name!r} looked like {before[name].dtype} in the first rows, but"
                self._said.append(Caution("type_changed", f"{looked} later cells are text. It was loaded as text."))
            self._typed[name] = typed

    def _read(self, names: Sequence[str]) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        layout = self._layout
        dialect = layout.dialect
        width = len(layout.sample.texts.column_names)
        # A trailing delimiter makes one more, always empty, cell a row.
        spare = [f"\0{i}" for i in range(len(layout.heading.names) - width)]
        try:
            return arrow_csv.read_csv(
                _stream(self._path, layout, self.name),
                arrow_csv.ReadOptions(column_names=self._names[:width] + spare, block_size=8 << 20),
                arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote or False,
                    double_quote=dialect.escape is None,
                    escape_char=dialect.escape or False,
                    newlines_in_values=True,
                ),
                arrow_csv.ConvertOptions(
                    column_types={n: pa.string() for n in names},
                    include_columns=list(names),
                    strings_can_be_null=False,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            # Ragged rows, or a cell longer than a block: Python's reader takes its time and loses nothing.
            return self._read_slowly()

    def _read_slowly(self) -> pa.Table:
        import pyarrow as pa

        layout = self._layout
        text = io.TextIOWrapper(_plain_stream(self._path), layout.encoding.name, errors="strict", newline="")
        parts: list[pa.Table] = []
        ragged: list[Caution] = []
        with text:
            rows = layout.dialect.read(text)
            for _ in range(layout.heading.first + layout.heading.rows):
                next(rows, None)
            for chunk in _chunks(rows):
                heading = Heading(0, 0, layout.heading.names)
                sheet = sheet_from_grid(self._box, chunk, heading, self.name)
                ragged += [c for c in sheet.cautions if c.kind == "ragged_rows"]
                names = [*self._names[: len(layout.heading.names)], *sheet.texts.column_names[len(self._names) :]]
                parts.append(sheet.texts.rename_columns(names[: sheet.texts.num_columns]))
        table = pa.concat_tables(parts, promote_options="default") if parts else layout.sample.texts.slice(0, 0)
        self._names = list(table.column_names)
        if not self._ragged and ragged:
            text_ = f"{self._box}: some rows have more or fewer cells than the header; nothing of them was left out."
            self._said.append(Caution("ragged_rows", text_))
        self._ragged = True
        return table

    def _last_row(self) -> list[Caution]:
        if self._layout.encoding.name not in ("utf-8", "utf-8-sig", "cp1252", "latin-1") or _is_gzip(self._path):
            return []
        with self._path.open("rb") as file:
            file.seek(max(0, self._stamp[0] - 8192))
            tail = file.read().decode(self._layout.encoding.name, "ignore").rstrip("\r\n")
        rows = self._layout.dialect.read(io.StringIO(tail.rsplit("\n", 1)[-1], newline=""))
        label = next((c.strip() for c in next(rows, [])[:3] if is_total(c)), "")
        if not label:
            return []
        text = f"{self._box}: the last row is a total ({label!r}); leave it out of sums and counts."
        return [Caution("total_row", text)]


def _look(path: Path, name: str, box: str, reading: Reading) -> Layout:
    with _plain_stream(path) as file:
        head = file.read(GLANCE_BYTES)
    encoding = find_encoding(head, reading.encoding, whole=False)
    text = _decode_cut(head, encoding, name)
    dialect = find_dialect(text, reading, Path(path.name.removesuffix(".gz")).suffix.lower(), cut=True)
    cut = text[: text.rfind("\n") + 1] or text
    grid = dialect.rows(cut)[:-1] or dialect.rows(cut)
    heading = find_heading(grid, reading.header_rows)
    sample = sheet_from_grid(box, grid, heading, name, weak_comma=dialect.delimiter == ";")
    if encoding.guessed:
        said = f"{name} was read as {encoding.name}; state its encoding if letters look wrong."
        sample = replace(sample, cautions=(*sample.cautions, Caution("encoding_guessed", said)))
    offset = _offset(text, dialect, heading, encoding)
    return Layout(encoding, dialect, heading, offset, sample, type_sheet(sample, reading))


def _decode_cut(head: bytes, encoding: Encoding, name: str) -> str:
    """The first bytes may end in the middle of a letter."""
    for end in (len(head), *range(len(head) - 1, max(0, len(head) - 5), -1)):
        try:
            return decode(head[:end], encoding, name)
        except SourceError:
            if end <= len(head) - 4 or not encoding.name:
                raise
    return decode(head, encoding, name)


def _offset(text: str, dialect: Dialect, heading: Heading, encoding: Encoding) -> int:
    """How many bytes stand before the first row, counted in UTF-8."""
    lines = io.StringIO(text, newline="")
    rows = dialect.read(lines)
    for _ in range(heading.first + heading.rows):
        next(rows, None)
    if not heading.first + heading.rows and not dialect.skip:
        return 0
    mark = 3 if encoding.name == "utf-8-sig" else 0
    return len(text[: lines.tell()].encode()) + mark


def _stream(path: Path, layout: Layout, name: str) -> Any:
    """The rows as UTF-8 bytes."""
    import pyarrow as pa

    if layout.encoding.name in ("utf-8", "utf-8-sig") and not _is_gzip(path):
        file = pa.memory_map(str(path))
        file.seek(layout.offset)
        return file
    with _plain_stream(path) as plain:
        text = decode(plain.read(), layout.encoding, name)
    mark = 3 if layout.encoding.name == "utf-8-sig" else 0
    return pa.BufferReader(text.encode()[layout.offset - mark :] if layout.offset else text.encode())


def _plain_stream(path: Path) -> Any:
    return gzip.open(path, "rb") if _is_gzip(path) else path.open("rb")


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _chunks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    chunk: list[list[str]] = []
    try:
        for row in rows:
            if row:
                chunk.append(row)
            if len(chunk) == CHUNK_ROWS:
                yield chunk
                chunk = []
    except csv.Error as error:
        raise SourceError(f"A row cannot be read: {error}. Mend it, or state the delimiter.") from None
    if chunk:
        yield chunk


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns
