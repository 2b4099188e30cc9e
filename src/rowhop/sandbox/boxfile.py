"""BOXes cross to the child as Arrow files in memory: written and sealed here once, mapped there without a copy."""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SEAL_ALL = 0x1 | 0x2 | 0x4 | 0x8  # no more seals, no shrinking, no growing, no writing


def memory_file(data: bytes) -> int:
    """A sealed, anonymous file: the receiver can read it, and nobody can change it any more."""
    fd = os.memfd_create("rowhop", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    _seal(fd)
    return fd


def _seal(fd: int) -> None:
    import fcntl  # not on Windows, where BOXes take another way

    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEAL_ALL)


class BoxFiles:
    """Memory files of the tables seen so far, each kept as long as its table lives.

    A repair or a further sample runs over the same tables and finds them here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[int, tuple[weakref.ref[Any], int]] = {}

    def get(self, table: pa.Table) -> int:
        """The descriptor stays ours; the caller only sends it."""
        key = id(table)
        with self._lock:
            kept = self._files.get(key)
            if kept is not None and kept[0]() is table:
                return kept[1]
        fd = _write(table)
        with self._lock:
            other = self._files.get(key)
            if other is not None and other[0]() is table:  # another thread was faster
                os.close(fd)
                return other[1]
            self._files[key] = (weakref.ref(table), fd)
        weakref.finalize(table, self._drop, key, fd)
        return fd

    def _drop(self, key: int, fd: int) -> None:
        # no lock: this may run inside a garbage collection that started while the lock is held
        kept = self._files.get(key)
        if kept is not None and kept[1] == fd:
            del self._files[key]
            os.close(fd)

    def close(self) -> None:
        with self._lock:
            for _, fd in self._files.values():
                os.close(fd)
            self._files.clear()


def _write(table: pa.Table) -> int:
    import pyarrow as pa

    fd = os.memfd_create("rowhop-box", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(fd, "wb", closefd=False) as file, pa.ipc.new_file(file, table.schema) as writer:
        # one batch: the child maps whole columns only where a column is one piece
        writer.write_table(table.combine_chunks() if table.num_rows < 1_000_000 else table)
    _seal(fd)
    return fd


class MappedBox:
    """A BOX in the child: private pages, so a program may change its frame and no one else sees it."""

    def __init__(self, pages: mmap.mmap, spare: mmap.mmap | None = None) -> None:
        import pyarrow as pa

        self._pages, self._spare = pages, spare
        buffer = pa.py_buffer(pages)
        self._start = buffer.address
        self.table: pa.Table = pa.ipc.open_file(buffer).read_all()

    @staticmethod
    def open(fd: int) -> MappedBox:
        return MappedBox(mmap.mmap(fd, 0, access=mmap.ACCESS_COPY), mmap.mmap(fd, 0, access=mmap.ACCESS_COPY))

    def again(self) -> MappedBox:
        """The BOX as it was sent, whatever the program did to its own pages; to be asked for once."""
        assert self._spare is not None
        return MappedBox(self._spare)

    def frame(self) -> pd.DataFrame:
        import pandas as pd

        columns = [self._column(self.table.column(i)) for i in range(self.table.num_columns)]
        frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(self.table.num_rows), copy=False)
        frame.columns = pd.Index(self.table.column_names)
        return frame

    def _column(self, column: pa.ChunkedArray) -> Any:
        import numpy as np
        import pandas as pd
        import pyarrow as pa

        kind = column.type
        if pa.types.is_dictionary(kind):
            return self._column(column.cast(kind.value_type))
        if pa.types.is_decimal(kind):  # a Decimal cell times a float is an error in pandas
            return self._column(column.cast(pa.string()).cast(pa.float64()))  # exact, unlike the straight cast
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            return pd.Series(column.to_pylist(), dtype=object)  # lists, not arrays: `x in cell` must work
        if pa.types.is_integer(kind) and column.null_count:
            # as a float, an id of 17 digits would lose its last one
            return column.to_pandas(types_mapper=_NULLABLE.get if _NULLABLE else _nullable().get)
        if pa.types.is_boolean(kind) and column.null_count:
            return column.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
        plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if plain and column.num_chunks == 1 and not column.null_count and len(column):
            chunk = column.chunk(0)
            width = kind.bit_width // 8
            offset = chunk.buffers()[1].address - self._start + chunk.offset * width
            # Arrow's own conversion would mark these pages read-only, and `df.loc[0, "a"] = 1` would fail
            return np.frombuffer(self._pages, dtype=kind.to_pandas_dtype(), count=len(chunk), offset=offset)
        series = column.to_pandas(date_as_object=False)
        values = series.to_numpy(copy=False) if series.dtype.kind in "biufmM" else None
        return series.copy(deep=True) if values is not None and not values.flags.writeable else series


_NULLABLE: dict[Any, Any] = {}


def _nullable() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        _NULLABLE[getattr(pa, name)()] = getattr(pd, name.replace("int", "Int").replace("uI", "UI") + "Dtype")()
    return _NULLABLE
