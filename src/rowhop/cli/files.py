"""Write a result to a file: CSV, workbook or Parquet. Nothing is overwritten unasked, and no cell becomes a formula."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rowhop.cli.screen import clean
from rowhop.errors import ConfigError
from rowhop.types import Answer, Table, Value

# A text cell that starts so is run as a formula by spreadsheet programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*%?")


def check(path: Path, replace: bool) -> None:
    """Raises ConfigError now rather than after the work is done."""
    if path.suffix.lower() not in _WRITERS:
        raise ConfigError(f"--out writes {', '.join(_WRITERS)} files; {path.name} is none of them.")
    _is_free(path, replace)


def check_trace(path: Path) -> None:
    """A run that cannot be saved is not begun. Raises ConfigError."""
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if path.is_dir():
        raise ConfigError(f"The trace cannot be written to {path}: it is a folder. Name a file in it.")
    if (there.is_file() and there != path.absolute()) or not os.access(there, os.W_OK):
        raise ConfigError(f"The trace cannot be written to {path}: {there} does not let it.")


def check_picture(path: Path, replace: bool) -> None:
    """The same for a picture: who takes --graph for the graph to ask must not lose that graph. Raises ConfigError."""
    if path.suffix.lower() != ".svg":
        raise ConfigError(
            f"--graph writes a picture into an .svg file; {path.name} is none. A graph to ask is a SOURCE."
        )
    _is_free(path, replace)


def _is_free(path: Path, replace: bool) -> None:
    if path.exists() and not replace:
        raise ConfigError(f"{path} exists already. Choose another name, or say --replace.")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"There is no folder {path.parent} to write {path.name} into.")


def write(answer: Answer, path: Path, replace: bool) -> int:
    """Write the result whole or not at all; returns the number of rows. Raises ConfigError."""
    check(path, replace)
    table = answer.table or Table(("answer",), tuple((v,) for v in answer.values), len(answer.values))
    part = path.with_name(f".{path.name}.part")
    try:
        _WRITERS[path.suffix.lower()](table, part)
        os.replace(part, path)
    except OSError as error:
        raise ConfigError(f"The result could not be written to {path}: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    return len(table.rows)


def harmless(value: Value) -> Value:
    """Text that a spreadsheet would run gets an apostrophe in front; numbers stay as they are.

    >>> harmless("=1+1"), harmless("-5"), harmless(-5)
    ("'=1+1", '-5', -5)
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return "'" + value
    return value


def _csv(table: Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([harmless(c) for c in table.columns])
        writer.writerows([harmless(v) for v in row] for row in table.rows)


def _xlsx(table: Table, path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook(write_only=False)
    sheet = book.active
    for number, row in enumerate((table.columns, *table.rows), 1):
        _sheet_row(sheet, number, row)
    book.save(path)


def _sheet_row(sheet: object, number: int, row: Sequence[Value]) -> None:
    for column, value in enumerate(row, 1):
        cell = sheet.cell(row=number, column=column)  # type: ignore[attr-defined]
        if isinstance(value, str):
            # The type is set by hand: openpyxl would take "=…" for a formula. A workbook holds no control characters.
            cell.value, cell.data_type = clean(value), "s"
            cell.quotePrefix = value.startswith(_FORMULA)
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**15:
            # A workbook's numbers are doubles: a long id would lose its last digits.
            cell.value, cell.data_type = str(value), "s"
        else:
            cell.value = value


def _parquet(table: Table, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [_column([row[i] for row in table.rows]) for i in range(len(table.columns))]
    pq.write_table(pa.table(columns, names=_distinct(table.columns)), path)


def _column(values: list[Value]) -> object:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Mixed types have no column type; text keeps every one of them.
        return pa.array([None if v is None else str(v) for v in values])


def _distinct(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    made = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        made.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return made


_WRITERS: dict[str, Callable[[Table, Path], None]] = {".csv": _csv, ".xlsx": _xlsx, ".parquet": _parquet}
