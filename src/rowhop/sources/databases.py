"""What the databases share: the catalogue of their tables as BOXes, and the limits on what is loaded.

Each engine has its own module (`sqlite`, `duck`, `servers`); nothing here speaks to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.box import Box, BoxSet, Column, ForeignKey
from rowhop.errors import SourceError
from rowhop.sources.naming import identifier, missing, unique
from rowhop.sources.readonly import Relation

if TYPE_CHECKING:
    import pyarrow as pa

LOAD_BYTES = 2 << 30  # of one BOX in memory; a model's program needs as much again
SAMPLE_ROWS = 200  # first rows from which types and samples are found
SAMPLE_SECONDS = 2  # after which a view is shown without samples
CUT = b"rowhop.cut"  # in a result's schema metadata: there were more rows than the limit


@dataclass(frozen=True)
class Table:
    """A table or view as an engine's catalogue tells it. `foreign` is (fields, to_path, to_fields)."""

    path: tuple[str, ...]
    columns: tuple[Column, ...]
    keys: tuple[str, ...] = ()
    foreign: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = ()
    view: bool = False
    rows: int | None = None
    about: str = ""
    declared: tuple[str, ...] = ()  # the engine's own types, beside `columns`


@dataclass(frozen=True)
class Catalog:
    relations: tuple[Relation, ...]
    boxes: BoxSet

    @cached_property
    def _by_box(self) -> dict[str, Relation]:
        return {r.box.name: r for r in self.relations}

    def relation(self, box: str, source: str) -> Relation:
        found = self._by_box.get(box)
        if found is None:
            raise SourceError(missing("table", box, list(self._by_box), source))
        return found


def catalog(tables: Sequence[Table], source: str, default_schema: str = "", left_out: Sequence[str] = ()) -> Catalog:
    """BOXes out of tables. The schema enters a BOX's name only where it is not the default and is needed."""
    names: dict[tuple[str, ...], str] = {}
    ordered = sorted(tables, key=lambda t: len(t.path) > 1 and t.path[0] != default_schema)
    for table in ordered:
        schema = table.path[0] if len(table.path) > 1 else ""
        name = identifier(table.path[-1])
        if name.lower() in (n.lower() for n in names.values()) and schema and schema != default_schema:
            name = identifier(f"{schema}_{table.path[-1]}")
        names[table.path] = unique(name, names.values())
    relations = []
    for table in tables:
        shown = table.path[1:] if len(table.path) > 1 and table.path[0] == default_schema else table.path
        origin = f"{'view' if table.view else 'table'} {'.'.join(shown)} of {source}"
        box = Box(names[table.path], table.columns, table.about, table.keys, table.rows, origin)
        relations.append(Relation(box, table.path, table.view, table.declared))
    keys = _foreign_keys(tables, names)
    return Catalog(tuple(relations), BoxSet(tuple(r.box for r in relations), keys, tuple(left_out)))


def _foreign_keys(tables: Sequence[Table], names: dict[tuple[str, ...], str]) -> tuple[ForeignKey, ...]:
    """Declared ones, in the spelling of the tables they name; one to a table or field that is not there is left out."""
    by_low = {tuple(p.lower() for p in t.path): t for t in tables}
    found = []
    for table in tables:
        for fields, to_path, to_fields in table.foreign:
            target = by_low.get(tuple(p.lower() for p in to_path))
            if target is None:
                continue
            for field, to_field in zip(fields, to_fields or target.keys, strict=False):
                here, there = _spelled(table, field), _spelled(target, to_field)
                if here and there:
                    found.append(ForeignKey(names[table.path], here, names[target.path], there))
    return tuple(dict.fromkeys(found))


def _spelled(table: Table, field: str) -> str | None:
    return next((c.name for c in table.columns if c.name.lower() == field.lower()), None)


def chosen(box: Box, columns: Sequence[str] | None) -> tuple[Column, ...]:
    """The named columns of a BOX in the order asked for. Raises SourceError with the nearest names."""
    if columns is None:
        return box.columns
    found = []
    for name in columns:
        column = box.column(name)
        if column is None:
            raise SourceError(missing("column", name, [c.name for c in box.columns], f"table '{box.name}'"))
        found.append(column)
    return tuple(found)


def too_big(box: str, size: int, limit: int) -> SourceError:
    return SourceError(
        f"Table '{box}' is too big to load: more than {size / 1e9:.1f} GB of the columns asked for, and the limit is "
        f"{limit / 1e9:.1f} GB. Ask for fewer columns, or use a query in the database's own SQL."
    )


def marked(table: pa.Table, limit: int) -> pa.Table:
    """A result of at most `limit` rows; when there were more, its schema says so (see `was_cut`)."""
    if table.num_rows <= limit:
        return table
    metadata = {**(table.schema.metadata or {}), CUT: b"1"}
    return table.slice(0, limit).replace_schema_metadata(metadata)


def was_cut(table: pa.Table) -> bool:
    """Whether a result of `Source.select` was cut at its limit."""
    return CUT in (table.schema.metadata or {})


def typed_alike(tables: Sequence[Table]) -> list[Table]:
    """Both ends of a foreign key get one type where one side holds the numbers as text, so that they can be joined.

    SQLite compares '1' and 1 as equal over such a pair; pandas and DuckDB do not.
    """
    by_low = {tuple(p.lower() for p in t.path): n for n, t in enumerate(tables)}
    types = [{c.name.lower(): c for c in t.columns} for t in tables]
    for number, table in enumerate(tables):
        for fields, to_path, to_fields in table.foreign:
            target = by_low.get(tuple(p.lower() for p in to_path))
            if target is None:
                continue
            for field, to_field in zip(fields, to_fields or tables[target].keys, strict=False):
                here, there = types[number].get(field.lower()), types[target].get(to_field.lower())
                if here and there and {here.dtype, there.dtype} == {"text", "integer"}:
                    _widen(types, (number, here), (target, there))
    return [replace(t, columns=tuple(types[n][c.name.lower()] for c in t.columns)) for n, t in enumerate(tables)]


def _widen(types: list[dict[str, Column]], *ends: tuple[int, Column]) -> None:
    """Text wins over integers that were read out of text: only there is the change without loss."""
    for number, column in ends:
        if column.dtype == "integer" and column.parsed_from:
            plain = tuple(str(s) for s in column.samples)
            types[number][column.name.lower()] = replace(column, dtype="text", parsed_from="", samples=plain)


def unreadable(path: Path, error: OSError) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(f"There is no file {path}.")
    return SourceError(f"{path} cannot be read: {error.strerror or error}.")
