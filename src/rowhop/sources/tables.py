"""Open files and frames as Sources: `open_table`, `open_frame`, `open_text`.

The content of a file decides what it is, the ending only where the content does not tell. What was guessed, mended or
looks odd is said as cautions of these kinds: blank_headers, duplicate_headers, no_header, ragged_rows (shape);
encoding_guessed, decimal_guessed, day_month_guessed (guesses that `Reading` can overrule); remarks_dropped,
dates_partial, type_changed (types); total_row, formula_without_value (content).
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from rowhop.errors import SourceError
from rowhop.sources import Reading, Source
from rowhop.sources.columnar import ColumnarSource, MemoryRows, ParquetRows, frame_table, open_arrow_file
from rowhop.sources.delimited import decode, find_dialect, find_encoding
from rowhop.sources.headers import box_name, find_heading
from rowhop.sources.sheets import Sheet, TextSource, sheet_from_grid
from rowhop.types import Caution

BOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
# Above this size a text file is read column by column.
BIG_FILE = 16 << 20


def open_table(path: Path, reading: Reading | None = None) -> Source:
    """Open one file of rows. Raises SourceError with what is wrong and what to do."""
    path, name, reading = Path(path), str(path), reading or Reading()
    head = _head(path, name)
    suffix = _suffix(path)
    kind = _kind(head, suffix, name)
    if kind == "parquet":
        return _open_columnar(path, name, parquet=True)
    if kind == "arrow":
        return _open_columnar(path, name, parquet=False)

    if kind == "text" and path.stat().st_size > BIG_FILE and not _is_json(head.decode("latin-1"), suffix):
        from rowhop.sources.bigfile import BigTextSource

        return BigTextSource(path, name, box_name(_stem(path)), reading)

    def read() -> list[Sheet]:
        if kind == "book":
            from rowhop.sources.excel import read_workbook

            return read_workbook(path, name, reading)
        data = _bytes(path, name)
        return read_texts(data, name, _stem(path), reading, suffix)

    return TextSource(name, read, lambda: _file_fingerprint(path, reading), reading, lambda: _stamp(path))


def open_frame(frame: Any, name: str = "table") -> Source:
    """A pandas or polars frame, or an Arrow table, under this name."""
    return ColumnarSource(name, box_name(name), MemoryRows.of(frame_table(frame)), f"frame {name}", read_texts=True)


def open_text(text: str | bytes, name: str = "stdin", reading: Reading | None = None) -> Source:
    """Rows that are in memory already, as from a pipe: CSV, JSON or JSON Lines."""
    reading = reading or Reading()
    data = text.encode() if isinstance(text, str) else text
    digest = hashlib.sha256(data + repr(reading).encode()).hexdigest()
    return TextSource(name, lambda: read_texts(data, name, name, reading, ""), lambda: digest, reading)


def read_texts(data: bytes, name: str, stem: str, reading: Reading, suffix: str) -> list[Sheet]:
    """The tables of a text file that fits in memory."""
    encoding = find_encoding(data, reading.encoding)
    text = decode(data, encoding, name)
    if not text.strip("\ufeff \t\r\n\0"):
        raise SourceError(f"{name} is empty: there is no table in it.")
    if _is_json(text, suffix):
        from rowhop.sources.records import read_json

        return read_json(text, name, stem, lines=suffix in (".jsonl", ".ndjson"))
    dialect = find_dialect(text, reading, suffix)
    grid = dialect.rows(text)
    heading = find_heading(grid, reading.header_rows)
    sheet = sheet_from_grid(box_name(stem), grid, heading, name, weak_comma=dialect.delimiter == ";")
    if not encoding.guessed:
        return [sheet]
    said = Caution("encoding_guessed", f"{name} was read as {encoding.name}; state its encoding if letters look wrong.")
    return [replace(sheet, cautions=(*sheet.cautions, said))]


def _open_columnar(path: Path, name: str, parquet: bool) -> Source:
    import pyarrow as pa

    box = box_name(_stem(path))
    try:
        rows = ParquetRows(path) if parquet else MemoryRows.of(frame_table(open_arrow_file(path)))
        return ColumnarSource(name, box, rows, name)
    except (pa.ArrowInvalid, OSError) as error:
        what = "Parquet" if parquet else "Arrow"
        detail = str(error).split("\n")[0].rstrip(".")[:120]
        raise SourceError(f"Cannot read {name} as a {what} file: {detail}. Is the file complete?") from None


def _head(path: Path, name: str) -> bytes:
    """The first bytes of the file, or the sentence that says why there are none."""
    try:
        if path.is_dir():
            raise SourceError(f"{name} is a folder. Name a file in it, or open the folder as a source of its own.")
        with path.open("rb") as file:
            head = file.read(65_536)
    except FileNotFoundError:
        raise SourceError(_not_found(path, name)) from None
    except PermissionError:
        raise SourceError(f"Cannot read {name}: permission denied. Make the file readable for you.") from None
    except OSError as error:
        raise SourceError(f"Cannot read {name}: {error.strerror or error}.") from None
    if not head:
        raise SourceError(f"{name} is empty (0 bytes): there is no table in it.")
    return head


def _not_found(path: Path, name: str) -> str:
    import difflib

    folder = path.parent
    if not folder.is_dir():
        return f"No file {name}: the folder {str(folder)!r} does not exist."
    near = difflib.get_close_matches(path.name, [p.name for p in folder.iterdir()], 1, 0.6)
    return f"No file {name}." + (f" Did you mean {near[0]!r}?" if near else " Check the path.")


def _suffix(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", _suffix(path)):
        if ending and name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name or path.name


def _kind(head: bytes, suffix: str, name: str) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")) or (suffix in BOOKS and b"\0" in head[:512]):
        return "book"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower().startswith((b"<!doctype", b"<html", b"<table", b"<?xml")):
        raise SourceError(
            f"{name} is a web page or XML, not a table. Open it in a spreadsheet program and save it as Excel."
        )
    if head.startswith(b"%PDF"):
        raise SourceError(f"{name} is a PDF document, not a table. Export the table as CSV or Excel.")
    if head.startswith(b"SQLite format 3\0"):
        raise SourceError(f"{name} is a SQLite database; open it as a database.")
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix in (".arrow", ".feather", ".ipc"):
        return "arrow"
    return "text"


def _bytes(path: Path, name: str) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (gzip.BadGzipFile, EOFError):
        raise SourceError(f"Cannot unpack {name}: the gzip data are damaged or cut off.") from None
    except OSError as error:
        raise SourceError(f"Cannot read {name}: {error.strerror or error}.") from None


def _is_json(text: str, suffix: str) -> bool:
    if suffix in (".json", ".jsonl", ".ndjson"):
        return True
    return suffix == "" and text.lstrip("\ufeff \t\r\n")[:1] in ("[", "{")


def _stamp(path: Path) -> object:
    try:
        state = path.stat()
    except OSError:
        return None
    return (state.st_size, state.st_mtime_ns)


def _file_fingerprint(path: Path, reading: Reading) -> str:
    digest = hashlib.sha256(repr(reading).encode())
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
