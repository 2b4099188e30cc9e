"""Workbooks (.xlsx, .xls, .xlsb, .ods): every sheet that holds something becomes a table.

Values are those that the spreadsheet program saved; rowhop computes no formulas and says where a value is missing.
"""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rowhop.errors import SourceError
from rowhop.sources import Reading
from rowhop.sources.headers import Heading, Span, box_name, find_heading
from rowhop.sources.sheets import Sheet, sheet_from_grid
from rowhop.types import Caution

_NO_VALUE = re.compile(rb"</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>|<f[^>]*/>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")


def read_workbook(path: Path, name: str, reading: Reading) -> list[Sheet]:
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        raise SourceError(
            f"Cannot read {name}: the workbook is locked by a password. Save a copy without one."
        ) from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        if _is_encrypted(path):
            raise SourceError(
                f"Cannot read {name}: the workbook is locked by a password. Save a copy without one."
            ) from None
        raise SourceError(f"Cannot read {name} as a workbook: {_brief(error)}. Open and save it again.") from None
    try:
        grids = _grids(book)
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise SourceError(f"Cannot read {name} as a workbook: {_brief(error)}. Open and save it again.") from None
    finally:
        book.close()
    if not grids:
        raise SourceError(f"{name} holds no table: all of its sheets are empty.")
    empty_formulas = _formulas_without_value(path)
    sheets: list[Sheet] = []
    for title, grid, spans in grids:
        own = title if len(grids) > 1 or not _is_default_title(title) else path.stem
        box = box_name(own, [s.name for s in sheets])
        heading = find_heading(grid, reading.header_rows, spans)
        origin = f"{name}, sheet {title}"
        _fill_down(grid, spans, heading)
        sheet = sheet_from_grid(box, grid, heading, origin)
        cells = empty_formulas.get(title, [])
        if cells:
            shown = ", ".join(cells[:5]) + (f" and {len(cells) - 5} more" if len(cells) > 5 else "")
            text = (
                f"{box}: cells with a formula but no saved value are empty here ({shown}). "
                "Open the workbook in a spreadsheet program and save it."
            )
            sheet = _with_caution(sheet, Caution("formula_without_value", text))
        sheets.append(sheet)
    return sheets


def _with_caution(sheet: Sheet, caution: Caution) -> Sheet:
    return replace(sheet, cautions=(*sheet.cautions, caution))


def _grids(book: Any) -> list[tuple[str, list[list[str]], list[Span]]]:
    """(title, cells as text, merged cells) of every sheet with something in it."""
    found = []
    for number, meta in enumerate(book.sheets_metadata):
        if "WorkSheet" not in str(meta.typ):
            continue
        sheet = book.get_sheet_by_index(number)
        rows = [[cell_text(c) for c in row] for row in sheet.to_python(skip_empty_area=False)]
        spans = [Span(a[0], a[1], b[0], b[1]) for a, b in sheet.merged_cell_ranges or ()]
        grid, spans = _squeeze(rows, spans)
        if grid:
            found.append((meta.name, grid, spans))
    return found


def cell_text(cell: Any) -> str:
    """A cell as a spreadsheet shows it without number formats: 15 digits, ISO dates."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        if cell.is_integer() and abs(cell) < 1e18:
            return str(int(cell))
        return f"{cell:.15g}"
    if isinstance(cell, dt.datetime):
        return cell.isoformat(sep=" ", timespec="auto")
    if isinstance(cell, dt.timedelta):
        seconds = round(cell.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def _squeeze(rows: Sequence[Sequence[str]], spans: Sequence[Span]) -> tuple[list[list[str]], list[Span]]:
    """Take out blank rows and the blank columns at the left and right; merged cells move along."""
    filled = [i for i, row in enumerate(rows) if any(c.strip() for c in row)]
    if not filled:
        return [], []
    width = max(len(r) for r in rows)
    used = [c for c in range(width) if any(c < len(rows[i]) and rows[i][c].strip() for i in filled)]
    left, right = used[0], used[-1]
    place = {row: number for number, row in enumerate(filled)}
    moved = [
        Span(place[s.top], s.left - left, max(n for r, n in place.items() if r <= s.bottom), s.right - left)
        for s in spans
        if s.top in place and s.left >= left and s.right <= right
    ]
    grid = [(list(rows[i]) + [""] * (width - len(rows[i])))[left : right + 1] for i in filled]
    return grid, moved


def _fill_down(grid: list[list[str]], spans: Sequence[Span], heading: Heading) -> None:
    """A cell merged over several rows of data says the same of each of them."""
    start = heading.first + heading.rows
    for span in spans:
        if span.top >= start and span.bottom > span.top and span.left == span.right:
            for row in range(span.top + 1, span.bottom + 1):
                grid[row][span.left] = grid[row][span.left] or grid[span.top][span.left]


def _is_default_title(title: str) -> bool:
    return (
        re.fullmatch(r"(?:sheet|tabelle|feuille|feuil|hoja|foglio|blad|table|planilha)\s?\d*", title.lower())
        is not None
    )


def _formulas_without_value(path: Path) -> dict[str, list[str]]:
    """Cells of an .xlsx whose formula was never computed; a quick look into the file decides whether to search."""
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        sheets = [n for n in archive.namelist() if n.startswith("xl/worksheets/") and n.endswith(".xml")]
        if not any(_NO_VALUE.search(archive.read(n)) for n in sheets):
            return {}
    import openpyxl

    found: dict[str, list[str]] = {}
    formulas = openpyxl.load_workbook(path, data_only=False)
    values = openpyxl.load_workbook(path, data_only=True)
    for sheet in formulas.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f" and values[sheet.title][cell.coordinate].value is None:
                    found.setdefault(sheet.title, []).append(cell.coordinate)
    return found


def _is_encrypted(path: Path) -> bool:
    """An .xlsx with a password is an OLE container that holds an encrypted package."""
    head = path.read_bytes()[: 1 << 20]
    return head.startswith(b"\xd0\xcf\x11\xe0") and "EncryptedPackage".encode("utf-16-le") in head


def _brief(error: Exception) -> str:
    return str(error).strip().rstrip(".").split("\n")[0] or type(error).__name__
