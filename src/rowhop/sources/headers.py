"""Names for BOXes and columns, and where the header of a sheet or file is.

A column keeps the exact text of its header; only outer blanks go and line breaks become blanks. A BOX becomes an
identifier, because programs use it as a variable.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rowhop.sources.dates import read_date
from rowhop.sources.figures import read_figure
from rowhop.types import Caution

# A BOX of one of these names would hide what programs need, or break an SQL statement.
_SQL_WORDS = """
    all and any as asc between by case cast column cross default desc distinct else end except exists from full group
    having in inner intersect is join left like limit natural not null on or order outer right select set some table
    then union unique update using values view when where with
"""
_PROGRAM_WORDS = "pd np answer df math re datetime dt pandas numpy"
_TAKEN = frozenset([*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *_SQL_WORDS.split(), *_PROGRAM_WORDS.split()])
# A report has its header within its first lines.
HEADER_WITHIN = 15


def box_name(text: str, taken: Iterable[str] = ()) -> str:
    """An identifier for a table, sheet or file stem: "2024 sales" becomes `table_2024_sales`."""
    name = "".join(c if ("a" + c).isidentifier() else "_" for c in text.strip())
    name = re.sub("_+", "_", name).strip("_")
    if not name or not name.isidentifier():
        name = f"table_{name}" if name else "table_1"
    if name in _TAKEN or name.lower() in _TAKEN:
        name = f"{name}_table"
    return _unused(name, {t.lower() for t in taken})


def _unused(name: str, taken: set[str]) -> str:
    if name.lower() not in taken:
        return name
    number = 2
    while f"{name}_{number}".lower() in taken:
        number += 1
    return f"{name}_{number}"


def clean_header(text: str) -> str:
    return re.sub(r"\s*[\r\n]+\s*", " ", text.strip(" \t\r\n\f\v\u00a0\u200b\ufeff"))


def column_names(headers: Sequence[str], box: str) -> tuple[list[str], list[Caution]]:
    """Unique names, also where case is ignored as SQL does: `a`, `a`, `a.1` become `a`, `a_2`, `a.1`."""
    cleaned = [clean_header(h) for h in headers]
    taken = {c.lower() for c in cleaned if c}
    names: list[str] = []
    seen: set[str] = set()
    blank, doubled = [], []
    for number, header in enumerate(cleaned, 1):
        if not header:
            name = _unused(f"column_{number}", taken | seen)
            blank.append(name)
        elif header.lower() in seen:
            name = _unused(header, taken | seen)
            doubled.append(name)
        else:
            name = header
        seen.add(name.lower())
        names.append(name)
    cautions = []
    if blank:
        cautions.append(Caution("blank_headers", f"{box}: columns without a header are called {_listed(blank)}."))
    if doubled:
        cautions.append(Caution("duplicate_headers", f"{box}: repeated headers are called {_listed(doubled)}."))
    return names, cautions


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@dataclass(frozen=True)
class Heading:
    """Where a grid's table starts: `rows` of it, from `first`, are header; above it stands a title."""

    first: int
    rows: int
    names: tuple[str, ...]
    title: str = ""


def find_heading(
    grid: Sequence[Sequence[str]], header_rows: int | None = None, spans: Sequence[Span] | None = None
) -> Heading:
    """Find the header in the first rows; `spans` are the merged cells of a sheet, None for a text file."""
    width = max((len(r) for r in grid[: HEADER_WITHIN + 5]), default=0)
    if header_rows == 0:
        return Heading(0, 0, ("",) * width)
    first = _skip_title(grid, width, most=1 if spans is None else 2)
    title = " ".join(c.strip() for r in grid[:first] for c in r if c.strip())
    if header_rows is None and first == 0 and not spans and _has_no_header(grid):
        return Heading(0, 0, ("",) * width)
    rows = header_rows or (2 if spans is not None and _has_two_rows(grid, first, spans) else 1)
    spans = spans or ()
    lines = [_filled(grid, first + i, width, spans) for i in range(min(rows, len(grid) - first))]
    if len(lines) > 1 and not spans:
        lines[0] = _spread(lines[0], lines[1])
    names = []
    for column in range(width):
        parts: list[str] = []
        for line in lines:
            part = clean_header(line[column])
            if part and part not in parts:
                parts.append(part)
        names.append(" ".join(parts))
    return Heading(first, len(lines), tuple(names), title)


@dataclass(frozen=True)
class Span:
    """Merged cells: rows and columns from … to, both included, counted from 0."""

    top: int
    left: int
    bottom: int
    right: int


def _count(row: Sequence[str]) -> int:
    return sum(1 for c in row if c and not c.isspace())


def _skip_title(grid: Sequence[Sequence[str]], width: int, most: int) -> int:
    """The first row that is as wide as the rows after it; a title fills at most `most` cells of a wide table."""
    if width < 2 or len(grid) < 2:
        return 0
    for number, row in enumerate(grid[:HEADER_WITHIN]):
        below = [_count(r) for r in grid[number + 1 : number + 6]]
        if not below:
            return 0
        filled = _count(row)
        if filled and len(row) == len(grid[number + 1]) > 1 and _all_measured(grid[number + 1]):
            return number  # the row below cannot be the header: this one is, with blank cells
        usual = sorted(below)[len(below) // 2]
        if filled > most or (filled > 1 and filled >= usual * 0.5):
            return number
        if filled == 1 and (usual <= 1 or not row[0].strip()):
            return number
    return 0


def _has_no_header(grid: Sequence[Sequence[str]]) -> bool:
    """All cells of the first row are measurements, which no one writes as a header (years are)."""
    if len(grid) < 2:
        return False
    return _all_measured(grid[0]) and _all_measured(grid[1])


def _all_measured(row: Sequence[str]) -> bool:
    return bool(row) and all(_is_measurement(c.strip()) for c in row)


def _is_measurement(cell: str) -> bool:
    if read_date(cell) is not None:
        return True
    figure = read_figure(cell)
    if figure is None:
        return False
    return not (cell.isdigit() and len(cell) == 4 and cell[0] in "12")


def _has_two_rows(grid: Sequence[Sequence[str]], first: int, spans: Sequence[Span]) -> bool:
    """A header cell merged over several, but not all, columns stands over a second header row."""
    if len(grid) < first + 3:
        return False
    below = grid[first + 1]
    if any(read_figure(c.strip()) is not None and not _is_year(c) for c in below if c.strip()):
        return False
    for span in spans:
        if span.top == first and span.bottom == first and span.right > span.left:
            under = below[span.left : span.right + 1]
            return _count(under) >= 2
    top = grid[first]
    # Without merging: blanks in the upper row exactly where the lower row goes on, and numbers only below both.
    open_cells = [i for i in range(1, len(top)) if not top[i].strip()]
    if not open_cells or len(below) < len(top):
        return False
    goes_on = all(below[i].strip() for i in open_cells)
    numbers = any(read_figure(c.strip()) is not None for c in grid[first + 2] if c.strip())
    return goes_on and numbers and _count(below) < len(top) and any(not c.strip() for c in below)


def _is_year(cell: str) -> bool:
    cell = cell.strip()
    return cell.isdigit() and len(cell) == 4 and cell[0] in "12"


def _filled(grid: Sequence[Sequence[str]], number: int, width: int, spans: Sequence[Span]) -> list[str]:
    """One header row with the text of merged cells in each of their places."""
    row = list(grid[number]) + [""] * (width - len(grid[number]))
    for span in spans:
        if span.top <= number <= span.bottom and span.right < width:
            text = grid[span.top][span.left] if span.left < len(grid[span.top]) else ""
            for column in range(span.left, span.right + 1):
                row[column] = text
    return row


def _spread(upper: list[str], lower: Sequence[str]) -> list[str]:
    """Where the file does not say what is merged: an upper header goes on over the lower ones beside it."""
    row = list(upper)
    for column in range(1, len(row)):
        if not row[column].strip() and lower[column].strip():
            row[column] = row[column - 1]
    return row
