"""Tables whose cells are text: the Source behind CSV, Excel, JSON and stdin.

A `Sheet` keeps every cell as written; types are read out of it once, when the first question comes.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rowhop.box import Box, BoxSet, Column, ForeignKey
from rowhop.errors import SourceError
from rowhop.sources import Kind, Reading
from rowhop.sources.columns import Hints, Typed, is_total, type_columns
from rowhop.sources.dates import read_date
from rowhop.sources.figures import read_figure
from rowhop.sources.headers import Heading, column_names
from rowhop.sources.keys import find_keys, find_links
from rowhop.types import Caution, Value

if TYPE_CHECKING:
    import pyarrow as pa

# How many example values a column shows, and how long one may be.
SAMPLES = 3
SAMPLE_LENGTH = 80
# A text in so many cells of a row spans them; looked for in tables of at most so many rows.
SPAN = 3
MOST_SPANNED = 5_000


@dataclass(frozen=True)
class Sheet:
    """One table of texts. `typed` holds columns whose type the source states itself (lists of JSON)."""

    name: str
    texts: pa.Table
    origin: str = ""
    about: str = ""
    cautions: tuple[Caution, ...] = ()
    typed: dict[str, Typed] = field(default_factory=dict)
    declared_text: frozenset[str] = frozenset()
    weak_comma: bool = False  # semicolons separate the cells, so a comma is probably the decimal sign
    foreign_keys: tuple[ForeignKey, ...] = ()


def sheet_from_grid(name: str, grid: Sequence[Sequence[str]], heading: Heading, origin: str, **more: Any) -> Sheet:
    """Rows below the heading as columns; nothing of a ragged row is lost."""
    import pyarrow as pa

    body = grid[heading.first + heading.rows :]
    columns = list(zip_longest(*body, fillvalue="")) if body else []
    headers = list(heading.names)
    while len(columns) < len(headers):
        columns.append(("",) * len(body))
    headers += [""] * (len(columns) - len(headers))
    while len(headers) > 1 and not headers[-1].strip() and not any(columns[-1]):
        headers.pop()
        columns.pop()
    names, cautions = column_names(headers, name)
    cautions += _raggedness(name, body, len(heading.names), names)
    if not any(heading.names):
        cautions = [Caution("no_header", f"{name}: no header was found; columns are called by their number.")]
    texts = pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, columns, strict=True)})
    return Sheet(name, texts, origin, heading.title, tuple(cautions), **more)


def _raggedness(name: str, body: Sequence[Sequence[str]], width: int, names: Sequence[str]) -> list[Caution]:
    short = sum(1 for row in body if len(row) < width)
    long = [row for row in body if len(row) > width and any(row[width:])]
    said = []
    if long:
        extra = ", ".join(repr(n) for n in names[width:])
        said.append(f"{len(long)} rows have more cells than the header; the rest is in {extra}")
    if short:
        said.append(f"{short} rows have fewer cells than the header; the missing ones are empty")
    return [Caution("ragged_rows", f"{name}: {'; '.join(said)}.")] if said else []


class TextSource:
    """Sheets of one file, string or book. `read` is called again when `stamp` changes (the file was saved anew)."""

    dialect = ""
    kind: Kind = "table"

    def __init__(
        self,
        name: str,
        read: Callable[[], Sequence[Sheet]],
        fingerprint: Callable[[], str],
        reading: Reading | None = None,
        stamp: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self._read = read
        self._fingerprint = fingerprint
        self._reading = reading or Reading()
        self._stamp = stamp
        self._lock = threading.RLock()
        self._seen: object = stamp()
        self._sheets = {s.name: s for s in read()}
        self._typed: dict[str, dict[str, Typed]] = {}
        self._boxes: BoxSet | None = None

    @property
    def cautions(self) -> tuple[Caution, ...]:
        self.boxes()
        found = [c for s in self._sheets.values() for c in s.cautions]
        for name, typed in self._typed.items():
            found += [Caution(c.kind, f"{name}: {c.text}") for t in typed.values() for c in t.cautions]
            found += total_rows(name, self._sheets[name].texts, typed)
        return tuple(found)

    def boxes(self) -> BoxSet:
        with self._lock:
            self._refresh()
            if self._boxes is None:
                boxes = tuple(self._box(s) for s in self._sheets.values())
                links = [k for s in self._sheets.values() for k in s.foreign_keys]
                if len(boxes) > 1 and not links:
                    links = find_links({b.name: self._values(b.name) for b in boxes})
                self._boxes = BoxSet(boxes, tuple(links))
            return self._boxes

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        import pyarrow as pa

        sheet, names = self._named(box, columns)
        typed = self._types(sheet)
        table = pa.table({n: typed[n].values for n in names})
        return table if limit is None else table.slice(0, limit)

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        sheet, names = self._named(box, columns)
        table = sheet.texts.select(names)
        return table if rows is None else table.take(list(rows))

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        sheet, names = self._named(box, [column])
        return most_frequent(sheet.texts.column(names[0]), limit)

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        raise SourceError(f"{self.name} is no database and has no SQL of its own; ask over its BOXes instead.")

    def fingerprint(self) -> str:
        return self._fingerprint()

    def close(self) -> None:
        """Nothing is held open."""

    def _refresh(self) -> None:
        stamp = self._stamp()
        if stamp != self._seen:
            self._sheets = {s.name: s for s in self._read()}
            self._typed.clear()
            self._boxes = None
            self._seen = stamp

    def _named(self, box: str, columns: Sequence[str] | None) -> tuple[Sheet, list[str]]:
        with self._lock:
            self._refresh()
            sheet = self._sheets.get(box)
            if sheet is None:
                raise SourceError(missing(f"No table {box!r} in {self.name}.", box, self._sheets))
            return sheet, check_columns(box, columns, sheet.texts.column_names)

    def _types(self, sheet: Sheet) -> dict[str, Typed]:
        with self._lock:
            if sheet.name not in self._typed:
                self._typed[sheet.name] = type_sheet(sheet, self._reading)
            return self._typed[sheet.name]

    def _values(self, name: str) -> dict[str, pa.ChunkedArray]:
        return {n: t.values for n, t in self._types(self._sheets[name]).items()}

    def _box(self, sheet: Sheet) -> Box:
        typed = self._types(sheet)
        columns = tuple(describe(n, typed[n], sheet.texts.column(n)) for n in sheet.texts.column_names)
        keys = find_keys(self._values(sheet.name))
        return Box(sheet.name, columns, sheet.about, keys, sheet.texts.num_rows, sheet.origin)


def type_sheet(sheet: Sheet, reading: Reading) -> dict[str, Typed]:
    """Types of all columns of a sheet; what the user stated wins over what the cells look like."""
    texts = {n: sheet.texts.column(n) for n in sheet.texts.column_names if n not in sheet.typed}
    typed = type_columns(texts, column_hints(sheet, texts, reading)) | sheet.typed
    return {n: typed[n] for n in sheet.texts.column_names}


def column_hints(sheet: Sheet, names: Iterable[str], reading: Reading) -> dict[str, Hints]:
    spanning = spanning_texts(sheet.texts)
    return {
        n: Hints(
            decimal=reading.decimal,
            day_first=reading.day_first,
            keep_text=n in reading.text_columns,
            declared_text=n in sheet.declared_text,
            weak_comma=sheet.weak_comma,
            spanning=spanning,
        )
        for n in names
    }


def spanning_texts(texts: pa.Table) -> frozenset[str]:
    """Texts that stand in three or more cells of one row, as where a web page's cell spans columns ("did not play")."""
    if texts.num_columns < SPAN or texts.num_rows > MOST_SPANNED:
        return frozenset()
    found = set()
    for row in zip(*(c.to_pylist() for c in texts.columns), strict=True):
        if len(set(row)) <= len(row) - SPAN + 1:
            found |= {c.strip() for c in set(row) if c and len(c) > 3 and row.count(c) >= SPAN}
    return frozenset(c for c in found if c and read_figure(c) is None and read_date(c) is None)


def describe(name: str, typed: Typed, texts: pa.ChunkedArray | None = None) -> Column:
    """The column as a BOX shows it: its type and the first different values."""
    samples: list[Value] = []
    for value in typed.values.slice(0, 200).to_pylist():
        shown = plain_value(value)
        if shown is not None and shown not in samples:
            samples.append(shown)
            if len(samples) == SAMPLES:
                break
    return Column(name, typed.dtype, tuple(samples), (), typed.parsed_from, typed.about, typed.values.null_count > 0)


def plain_value(value: Any) -> Value:
    """A cell as JSON can say it; long texts are cut, as they are only examples."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, list):
        return plain_value(", ".join(str(v) for v in value))
    text = value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value)
    return text if len(text) <= SAMPLE_LENGTH else text[: SAMPLE_LENGTH - 1] + "…"


def total_rows(name: str, texts: pa.Table, typed: dict[str, Typed]) -> list[Caution]:
    """A last row that sums the others up would be counted twice; it stays, and is spoken of."""
    if texts.num_rows < 3:
        return []
    last = texts.num_rows - 1
    cells = [(texts.column(n)[last].as_py() or "").strip() for n in texts.column_names]
    label = next((c for c in cells if is_total(c)), "")
    numeric = [
        n for n in texts.column_names if typed[n].dtype in ("integer", "number") and typed[n].values[last].is_valid
    ]
    if not label or not numeric or cells.index(label) > 2:
        return []
    text = f"{name}: the last row (row {last} counted from 0) is a total ({label!r}); leave it out of sums and counts."
    return [Caution("total_row", text)]


def most_frequent(column: pa.ChunkedArray, limit: int, say: Callable[[Any], Any] = lambda cells: cells) -> list[str]:
    """Distinct non-empty cells as text, the most frequent first, ties in order of appearance.

    `say` turns cells into text; only those that are returned need it.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = pc.value_counts(column.drop_null())
    values, counts = counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)
    order = np.argsort(-counts, kind="stable")[: limit + 1]
    cells = say(pa.chunked_array([values.take(pa.array(order))])).to_pylist()
    return [c for c in cells if c.strip()][:limit]


def check_columns(box: str, columns: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    if columns is None:
        return list(known)
    for column in columns:
        if column not in known:
            raise SourceError(missing(f"No column {column!r} in {box}.", column, known))
    return list(dict.fromkeys(columns))


def missing(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence with the nearest names, or all of them where they are few."""
    names = list(known)
    lowered = {n.lower(): n for n in reversed(names)}
    near = [lowered[n] for n in difflib.get_close_matches(name.lower(), list(lowered), 3, 0.6)]
    if near:
        return f"{what} Did you mean {' or '.join(repr(n) for n in near)}?"
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f"{what} It has: {shown}."
