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
    from rowhop.build import Knowledge
    from rowhop.config import Settings
    from rowhop.graph import Graph, Schema
    from rowhop.sources import Source

_COLUMNS = 60  # of one table that the terminal lists


def show(sources: Sequence[str], settings: Settings, rows: int, as_json: bool) -> int:
    """Print the tables of the sources, with their first rows if asked for."""
    from rowhop import build

    with piped(sources) as named:
        source = build.opened(named, settings)
        try:
            for caution in getattr(source, "cautions", ()):
                screen.say(f"Note: {caution.text}")
            if as_json:
                _json(source.boxes() if build.is_source(source) else source.schema())  # type: ignore[union-attr]
                return 0
            content(source)
            if rows and build.is_source(source):
                for box in source.boxes().boxes:
                    _rows(source, box, rows)
        finally:
            source.close()
    return 0


def content(source: Knowledge) -> None:
    """The tables of a source, or the types and relations of a graph."""
    from rowhop import build

    if build.is_source(source):
        boxes(source.boxes())
    elif build.is_graph(source):
        _graph(source)


def _json(found: BoxSet | Schema) -> None:
    print(json.dumps(asdict(found), ensure_ascii=not screen.utf8(), indent=2, default=str))


def _graph(graph: Graph) -> None:
    out = screen.out()
    schema = graph.schema()
    size = [f"{n:,} {what}" for n, what in ((schema.nodes, "nodes"), (schema.triples, "edges")) if n is not None]
    out.print(screen.plain(f"{graph.name}  ({', '.join(size) or 'not counted'})", "bold"))
    out.print(grid(("type", "nodes"), [(t.name, t.count) for t in schema.types[:_COLUMNS]]))
    lines = [(r.name, ", ".join(r.domain[:3]), ", ".join(r.range[:3]), r.count) for r in schema.relations[:_COLUMNS]]
    out.print(grid(("relation", "from", "to", "edges"), lines))
    if schema.cut:
        out.print(screen.plain(schema.cut, "yellow"))


def boxes(found: BoxSet) -> None:
    """Each table with its columns, then how they hang together."""
    out = screen.out()
    for box in found.boxes:
        size = counted(box.rows, "row") if box.rows is not None else "rows not counted"
        out.print(screen.plain(f"{box.name}  ({size}, {counted(len(box.columns), 'column')})", "bold"))
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


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


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
