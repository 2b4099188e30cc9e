"""A run's outcome as an Answer: values as the source writes them, the rows behind them, what may be wrong."""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rowhop.box import BoxSet
from rowhop.sandbox import Run
from rowhop.sources import Source
from rowhop.types import Caution, Evidence, RowEvidence, Table, Value

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 10_000  # kept of a result
EVIDENCE = 20  # rows shown per BOX
# Cells are not looked up in how the source writes them beyond this many rows.
WRITTEN = 50_000


@dataclass(frozen=True)
class Result:
    values: tuple[Value, ...]
    table: Table

    @property
    def empty(self) -> bool:
        return all(v is None or v == "" for v in self.values)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for results that say the same, whatever their order; for voting."""
        return tuple(sorted(f"{v:.6g}" if _is_number(v) else str(v).casefold().strip() for v in self.values))


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(value: Any) -> Value:
    """One cell as a JSON scalar."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) or math.isinf(value) else value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple):
        return ", ".join(str(plain(v)) for v in value)
    return str(value)


def table_of(arrow: pa.Table) -> Table:
    cut = arrow.slice(0, ROWS)
    columns = [[plain(v) for v in column.to_pylist()] for column in cut.columns]
    return Table(tuple(map(str, arrow.column_names)), tuple(zip(*columns, strict=True)), arrow.num_rows)


def result_of(run: Run) -> Result:
    """`values` are the cells row by row. A scalar or a list is a table of one column named "answer"."""
    if run.table is not None:
        table = table_of(run.table)
        return Result(tuple(v for row in table.rows for v in row), table)
    values = tuple(plain(v) for v in run.values)
    return Result(values, Table(("answer",), tuple((v,) for v in values[:ROWS]), len(values)))


def as_written(result: Result, source: Source, boxes: BoxSet, code: str) -> tuple[Value, ...]:
    """The values in the source's own writing: 6830 becomes "6,830" where the column that it came from has it so.

    Only columns that were read out of text and that the program names are looked at; a number that stands in
    none of them is written with thousands commas when these columns are.
    """
    looks = _writings(source, boxes, code)
    if not looks:
        return result.values
    commas = any("," in text for look in looks for text in list(look.values())[:50] if text[-4:-3] == ",")
    out: list[Value] = []
    for value in result.values:
        text = next((look[value] for look in looks if value in look), None) if _looked_up(value) else None
        if text is None and commas and _is_number(value) and float(value) == int(value) and abs(value) >= 1000:  # type: ignore[arg-type]
            text = f"{int(value):,}"  # type: ignore[arg-type]
        out.append(value if text is None else text)
    return tuple(out)


def _looked_up(value: Value) -> bool:
    return value is not None and not isinstance(value, bool)


def _writings(source: Source, boxes: BoxSet, code: str) -> list[Mapping[Value, str]]:
    found: list[Mapping[Value, str]] = []
    for box in boxes.boxes:
        if box.name not in code or box.rows is None or box.rows > WRITTEN:
            continue
        named = [c.name for c in box.columns if c.parsed_from and c.name in code]
        if not named:
            continue
        typed, texts = source.load(box.name, named), source.written(box.name, named)
        for name in named:
            pairs = zip(typed.column(name).to_pylist(), texts.column(name).to_pylist(), strict=True)
            look: dict[Value, str] = {}
            for value, text in pairs:
                cell = plain(value)
                if cell is not None and text:
                    look.setdefault(cell, text)
            found.append(look)
    return found


def evidence(run: Run, source: Source, boxes: BoxSet) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    for name, rows in run.rows.items():
        box = boxes.box(name)
        if box is None or not rows:
            continue
        columns = tuple(c.name for c in box.columns)
        shown = source.written(name, columns, rows[:EVIDENCE])
        cells = tuple(tuple(plain(v) for v in row.values()) for row in shown.to_pylist())
        total = run.rows_total.get(name, len(rows))
        found.append(RowEvidence(box.origin or source.name, name, tuple(rows), columns, cells, total))
    return tuple(found)


def cut_short(run: Run, found: Result) -> tuple[Caution, ...]:
    """Says that there were more rows than were kept."""
    from rowhop.sources.databases import was_cut

    kept = len(found.table.rows)
    if found.table.total > kept:
        return (Caution("rows_cut", f"The result has {found.table.total:,} rows; the first {kept:,} were kept."),)
    if run.table is not None and was_cut(run.table):
        return (Caution("rows_cut", f"The result has more rows than the {kept:,} that were kept."),)
    return ()


def cautions(warnings: Sequence[str]) -> tuple[Caution, ...]:
    """The sandbox's warnings, "kind: text" where it knows the kind."""
    found = []
    for warning in warnings:
        kind, colon, text = warning.partition(": ")
        known = bool(colon) and kind.isidentifier() and kind.islower()
        found.append(Caution(kind, text) if known else Caution("pandas", warning))
    return tuple(dict.fromkeys(found))
