"""Tables that bring their own types: Parquet and Arrow files, pandas and polars frames, Arrow tables.

Files are read lazily: opening looks at the schema and the first rows, a load reads only the columns asked for.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rowhop.box import Box, BoxSet
from rowhop.errors import SourceError
from rowhop.sources import Kind
from rowhop.sources.columns import Hints, Typed, type_columns
from rowhop.sources.headers import column_names
from rowhop.sources.sheets import check_columns, describe, missing, most_frequent
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

GLANCE_ROWS = 200


class Rows(Protocol):
    """Where a columnar table's rows come from. `headers` are its names as given, `names` address the columns."""

    @property
    def headers(self) -> list[str]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def count(self) -> int: ...
    def read(self, names: Sequence[str]) -> pa.Table: ...
    def first(self, names: Sequence[str], limit: int) -> pa.Table: ...
    def take(self, names: Sequence[str], rows: Sequence[int]) -> pa.Table: ...
    def stamp(self) -> str: ...


@dataclass(frozen=True)
class MemoryRows:
    headers: list[str]
    table: pa.Table

    @classmethod
    def of(cls, table: pa.Table) -> MemoryRows:
        """A frame may call two columns the same; numbers tell them apart."""
        return cls(list(table.column_names), table.rename_columns([str(i) for i in range(table.num_columns)]))

    @property
    def names(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def count(self) -> int:
        return int(self.table.num_rows)

    def read(self, names: Sequence[str]) -> pa.Table:
        return self.table.select(list(names))

    def first(self, names: Sequence[str], limit: int) -> pa.Table:
        return self.read(names).slice(0, limit)

    def take(self, names: Sequence[str], rows: Sequence[int]) -> pa.Table:
        return self.read(names).take(list(rows))

    def stamp(self) -> str:
        """A hash over all cells: a frame in memory may be changed between two questions."""
        import pyarrow as pa

        digest = hashlib.sha256()

        class _Sink:
            closed = False

            def write(self, data: Any) -> int:
                digest.update(memoryview(data))
                return len(data)

            def flush(self) -> None: ...
            def close(self) -> None: ...

        digest.update(repr(self.headers).encode())
        with pa.ipc.new_stream(pa.PythonFile(_Sink(), "w"), self.table.schema) as writer:
            writer.write_table(self.table)
        return digest.hexdigest()


@dataclass(frozen=True)
class ParquetRows:
    path: Path

    def _file(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self.path, memory_map=True)

    @property
    def names(self) -> list[str]:
        return list(self._file().schema_arrow.names)

    @property
    def headers(self) -> list[str]:
        return self.names

    @property
    def count(self) -> int:
        return int(self._file().metadata.num_rows)

    def read(self, names: Sequence[str]) -> pa.Table:
        return self._file().read(columns=list(names), use_threads=True)

    def first(self, names: Sequence[str], limit: int) -> pa.Table:
        import pyarrow as pa

        file = self._file()
        batches, rows = [], 0
        for batch in file.iter_batches(batch_size=max(1, min(limit, 65_536)), columns=list(names)):
            batches.append(batch)
            rows += batch.num_rows
            if rows >= limit:
                break
        if not batches:
            return self.read(names)
        return pa.Table.from_batches(batches).slice(0, limit)

    def take(self, names: Sequence[str], rows: Sequence[int]) -> pa.Table:
        """Read only the row groups that hold the asked rows."""
        import pyarrow as pa

        file = self._file()
        starts = [0]
        for group in range(file.num_row_groups):
            starts.append(starts[-1] + file.metadata.row_group(group).num_rows)
        wanted = [g for g in range(file.num_row_groups) if any(starts[g] <= r < starts[g + 1] for r in rows)]
        if not wanted:
            return self.first(names, 1).slice(0, 0)
        before, places = 0, {}
        for group in wanted:
            places[group] = before - starts[group]
            before += starts[group + 1] - starts[group]
        table = pa.concat_tables([file.read_row_group(g, columns=list(names)) for g in wanted])
        return table.take([r + places[next(g for g in wanted if r < starts[g + 1])] for r in rows])

    def stamp(self) -> str:
        state = self.path.stat()
        with self.path.open("rb") as file:
            file.seek(max(0, state.st_size - 65_536))
            tail = file.read()
        return hashlib.sha256(tail + f"{state.st_size} {state.st_mtime_ns}".encode()).hexdigest()


class ColumnarSource:
    """One table of typed columns. Text columns of a frame are read like those of a CSV (`read_texts`)."""

    dialect = ""
    kind: Kind = "table"

    def __init__(self, name: str, box: str, rows: Rows, origin: str, read_texts: bool = False) -> None:
        self.name = name
        self._rows = rows
        self._origin = origin
        self._lock = threading.RLock()
        names, said = column_names(rows.headers, box)
        self._inner = dict(zip(names, rows.names, strict=True))
        self._box = box
        self._cautions = list(said)
        self._parsed: dict[str, Typed] = {}
        if read_texts:
            self._parsed = self._read_texts()
            for typed in self._parsed.values():
                self._cautions += [Caution(c.kind, f"{box}: {c.text}") for c in typed.cautions]
        self._boxes: BoxSet | None = None

    def _read_texts(self) -> dict[str, Typed]:
        import pyarrow as pa

        texts = {}
        for name, inner in self._inner.items():
            column = self._rows.read([inner]).column(0)
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                texts[name] = column.cast(pa.string()) if column.nbytes < 2**31 else column
        typed = type_columns(texts, {n: Hints(declared_text=True) for n in texts})
        return {n: t for n, t in typed.items() if t.dtype not in ("text", "mixed")}

    @property
    def cautions(self) -> tuple[Caution, ...]:
        return tuple(self._cautions)

    def boxes(self) -> BoxSet:
        with self._lock:
            if self._boxes is None:
                head = self._rows.first(list(self._inner.values()), GLANCE_ROWS)
                columns = []
                for name, inner in self._inner.items():
                    typed = self._parsed.get(name) or native(head.column(inner))
                    columns.append(describe(name, typed))
                self._boxes = BoxSet((Box(self._box, tuple(columns), "", (), self._rows.count, self._origin),))
            return self._boxes

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        import pyarrow as pa

        names = self._named(box, columns)
        bare = [self._inner[n] for n in names if n not in self._parsed]
        table = self._rows.read(bare) if limit is None else self._rows.first(bare, limit)
        loaded = {}
        for name in names:
            if name in self._parsed:
                values = self._parsed[name].values
                loaded[name] = values if limit is None else values.slice(0, limit)
            else:
                loaded[name] = native(table.column(self._inner[name])).values
        return pa.table(loaded)

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        import pyarrow as pa

        names = self._named(box, columns)
        inner = [self._inner[n] for n in names]
        table = self._rows.read(inner) if rows is None else self._rows.take(inner, rows)
        return pa.table({n: as_text(table.column(i)) for n, i in zip(names, inner, strict=True)})

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        import pyarrow as pa

        (name,) = self._named(box, [column])
        cells = self._rows.read([self._inner[name]]).column(0)
        simple = not pa.types.is_nested(cells.type) and not pa.types.is_dictionary(cells.type)
        return most_frequent(cells if simple else as_text(cells), limit, as_text)

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        raise SourceError(f"{self.name} is no database and has no SQL of its own; ask over its BOXes instead.")

    def fingerprint(self) -> str:
        return self._rows.stamp()

    def close(self) -> None:
        """Nothing is held open."""

    def _named(self, box: str, columns: Sequence[str] | None) -> list[str]:
        if box != self._box:
            raise SourceError(missing(f"No table {box!r} in {self.name}.", box, [self._box]))
        return check_columns(box, columns, list(self._inner))


def native(column: pa.ChunkedArray) -> Typed:
    """A column as its own type says, in the few types that programs see."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, is_ = column.type, pa.types
    if is_.is_dictionary(kind):
        return native(column.cast(kind.value_type))
    if is_.is_boolean(kind):
        return Typed(column, "boolean")
    if is_.is_integer(kind):
        if kind == pa.uint64() and (pc.max(column).as_py() or 0) >= 2**63:
            return Typed(column.cast(pa.string()), "text")
        return Typed(column.cast(pa.int64()), "integer")
    if is_.is_floating(kind) or is_.is_decimal(kind):
        return Typed(column.cast(pa.float64()), "number")
    if is_.is_date(kind):
        return Typed(column.cast(pa.date32()), "date")
    if is_.is_timestamp(kind):
        about = ""
        if kind.tz:
            column, about = pc.local_timestamp(column), f"clock times in {kind.tz}"
        return Typed(column.cast(pa.timestamp("us"), safe=False), "datetime", about=about)
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return Typed(column, "list")
    if is_.is_string(kind) or is_.is_large_string(kind):
        return Typed(column, "text")
    return Typed(as_text(column), "text")


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every cell as text; times lose a fraction of zeros, lists and records become JSON."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, is_ = column.type, pa.types
    if is_.is_string(kind) or is_.is_large_string(kind):
        return column
    if is_.is_dictionary(kind):
        return as_text(column.cast(kind.value_type))
    if is_.is_timestamp(kind):
        shown = (pc.local_timestamp(column) if kind.tz else column).cast(pa.timestamp("us"), safe=False)
        texts = pc.replace_substring_regex(shown.cast(pa.string()), r"\.?0{6}$", "")
        whole = pc.all(pc.match_substring_regex(texts, r" 00:00:00$")).as_py()
        return pc.replace_substring_regex(texts, r" 00:00:00$", "") if whole else texts
    if (
        is_.is_floating(kind)
        or is_.is_integer(kind)
        or is_.is_boolean(kind)
        or is_.is_date(kind)
        or is_.is_decimal(kind)
    ):
        return column.cast(pa.string())
    return pa.chunked_array([pa.array([_say(v) for v in column.to_pylist()], pa.string())])


def _say(value: Any) -> str | None:
    import json

    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def frame_table(frame: Any) -> pa.Table:
    """A pandas or polars frame or Arrow table as an Arrow table with text names, the index as columns."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame.flatten() if any(pa.types.is_struct(f.type) for f in frame.schema) else frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    origin = type(frame).__module__.split(".")[0]
    if origin == "polars":
        return frame_table((frame.collect() if hasattr(frame, "collect") else frame).to_arrow())
    if origin == "pandas" and hasattr(frame, "columns"):
        return _from_pandas(frame)
    if origin == "pandas":
        return _from_pandas(frame.to_frame(name=frame.name if frame.name is not None else "value"))
    raise SourceError(
        f"Cannot read a {type(frame).__module__}.{type(frame).__qualname__} as a table. "
        "Give a pandas or polars frame or a pyarrow table."
    )


def _from_pandas(frame: Any) -> pa.Table:
    import pyarrow as pa

    names: list[str] = []
    arrays: list[Any] = []
    index = frame.index
    named = any(n is not None for n in index.names)
    if named or not _counts_rows(index):
        for level in range(index.nlevels):
            label = index.names[level]
            names.append(str(label) if label is not None else "index" if index.nlevels == 1 else f"index_{level + 1}")
            arrays.append(_pandas_column(index.get_level_values(level).to_series()))
    for position, label in enumerate(frame.columns):
        parts = [str(p) for p in label if str(p)] if isinstance(label, tuple) else [str(label)]
        names.append(" ".join(parts))
        arrays.append(_pandas_column(frame.iloc[:, position]))
    if not arrays:
        raise SourceError("The frame has no columns, so there is nothing to ask of it.")
    return pa.Table.from_arrays(arrays, names=names)


def _counts_rows(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex) or (
        index.nlevels == 1 and pd.api.types.is_integer_dtype(index.dtype) and not index.name
    )


def _pandas_column(series: Any) -> Any:
    """Cells of several kinds in one column become text, each as Python writes it."""
    import pyarrow as pa

    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        texts = [None if _is_missing(v) else v if isinstance(v, str) else str(v) for v in series.tolist()]
        array = pa.array(texts, pa.string())
    return array


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def open_arrow_file(path: Path) -> pa.Table:
    """An Arrow IPC file or stream, memory-mapped."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source).read_all()
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source).read_all()
