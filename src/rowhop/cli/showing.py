"""`rowhop show`: what is in a source, as the BOXes that questions are asked over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rowhop.box import Box, BoxSet, Column
from rowhop.cli import screen
from rowhop.cli.answers import grid
from rowhop.cli.asking import piped

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.sources import Source

_COLUMNS = 60  # of one table that the terminal lists


def show(sources: Sequence[str], settings: Settings, rows: int, as_json: bool) -> int:
    """Print the tables of the sources, with their first rows if asked for."""
    from rowhop import build

    with piped(sources) as named:
        source = build.source(named, settings)
        try:
            found = source.boxes()
            if as_json:
                print(json.dumps(asdict(found), ensure_ascii=not screen.utf8(), indent=2, default=str))
                return 0
            for caution in source.cautions:
                screen.say(f"Note: {caution.text}")
            boxes(found)
            if rows:
                for box in found.boxes:
                    _rows(source, box, rows)
        finally:
            source.close()
    return 0


def boxes(found: BoxSet) -> None:
    """Each table with its columns, then how they hang together."""
    out = screen.out()
    for box in found.boxes:
        size = f"{box.rows:,} rows" if box.rows is not None else "rows not counted"
        out.print(screen.plain(f"{box.name}  ({size}, {len(box.columns)} columns)", "bold"))
        where = box.origin if box.origin and box.origin != box.name else ""
        for line in filter(None, (where, box.about)):
            out.print(screen.plain(f"  {line}", "dim"))
        table = [(c.name, _type(box, c), _samples(c)) for c in box.columns[:_COLUMNS]]
        out.print(grid(("column", "type", "for example"), table))
        if len(box.columns) > _COLUMNS:
            out.print(f"… {len(box.columns) - _COLUMNS} more columns; --json lists them all.")
        out.print()
    for key in found.foreign_keys:
        out.print(screen.plain(f"{key.box}.{key.field} → {key.to_box}.{key.to_field}"))
    for line in found.left_out:
        out.print(screen.plain(line, "yellow"))
    if not found.boxes:
        out.print("There is no table in it.")


def _type(box: Box, column: Column) -> str:
    key = ", key" if column.name in box.keys else ""
    return f"{column.dtype}{key}"


def _samples(column: Column) -> str:
    said = [screen.one_line(screen.shown(v), 30) for v in column.samples]
    written = screen.one_line(column.parsed_from, 30)
    return ", ".join(said) + (f"  (written as {written})" if written and written not in said else "")


def _rows(source: Source, box: Box, count: int) -> None:
    out = screen.out()
    table = source.written(box.name, rows=range(count if box.rows is None else min(count, box.rows)))
    out.print(screen.plain(f"{box.name}, first rows", "bold"))
    found = table.to_pylist()
    columns = tuple(table.column_names)
    out.print(grid(columns, [tuple(row[c] for c in columns) for row in found]))
