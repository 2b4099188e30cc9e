"""JSON and JSON Lines: records become rows, nested records dotted columns, nested lists of records further tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rowhop.box import ForeignKey
from rowhop.errors import SourceError
from rowhop.sources.columns import Typed
from rowhop.sources.headers import Heading, box_name, column_names
from rowhop.sources.sheets import Sheet, sheet_from_grid

# Nested deeper than this, a value is kept as JSON text in one cell.
DEEPEST = 8


class _Numeral(str):
    """A number of the file as it is written there, so that 4.50 keeps its last digit."""


@dataclass
class _Rows:
    """A table in the making: columns in order of appearance, None where a record lacks one."""

    name: str
    count: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict)
    foreign_keys: list[ForeignKey] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        for name, value in row.items():
            column = self.columns.setdefault(name, [])
            column.extend([None] * (self.count - len(column)))
            column.append(value)
        self.count += 1


def read_json(text: str, name: str, stem: str, lines: bool = False) -> list[Sheet]:
    data = _parse(text.lstrip("\ufeff"), name, lines)
    box = box_name(stem)
    if _is_grid(data):
        grid = [[_written(c) or "" for c in row] for row in data]
        return [sheet_from_grid(box, grid[1:], Heading(0, 0, tuple(grid[0])), name)]
    tables: dict[str, _Rows] = {}
    for table, records in _tables_of(data, box):
        _collect(tables, table, records, None)
    if not any(t.columns for t in tables.values()):
        raise SourceError(f"{name} holds no records. Give a list of objects, or one object a line.")
    return [_sheet(t, name) for t in tables.values() if t.columns]


def _parse(text: str, name: str, lines: bool) -> Any:
    if lines:
        return _parse_lines(text, name)
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Extra data") and "\n" in text.strip():
            return _parse_lines(text, name)
        raise SourceError(
            f"Cannot read {name} as JSON: {error.msg} at line {error.lineno}, column {error.colno}. Mend it there."
        ) from None
    except RecursionError:
        raise SourceError(f"Cannot read {name} as JSON: it is nested too deeply for a table.") from None


def _parse_lines(text: str, name: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                records.append(_loads(line))
            except json.JSONDecodeError as error:
                raise SourceError(f"Cannot read {name} as JSON Lines: {error.msg} in line {number}.") from None
    return records


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=_Numeral, parse_int=_Numeral)


def _is_grid(data: Any) -> bool:
    """A list of equally long lists, the first of which holds names."""
    return (
        isinstance(data, list)
        and len(data) > 1
        and all(isinstance(row, list) and len(row) == len(data[0]) for row in data)
        and all(isinstance(c, str) and not isinstance(c, _Numeral) for c in data[0])
        and not any(isinstance(c, list | dict) for row in data for c in row)
    )


def _tables_of(data: Any, box: str) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    if isinstance(data, list):
        return [(box, [r if isinstance(r, dict) else {"value": r} for r in data])]
    if not isinstance(data, dict):
        return [(box, [{"value": data}])]
    if set(data) >= {"columns", "data"} and isinstance(data["data"], list) and isinstance(data["columns"], list):
        heads = [str(c) for c in data["columns"]]
        return [(box, [dict(zip(heads, row, strict=False)) for row in data["data"] if isinstance(row, list)])]
    values = list(data.values())
    if values and all(isinstance(v, list) for v in values):
        if all(not isinstance(c, dict) for v in values for c in v) and len({len(v) for v in values}) == 1:
            return [(box, [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)])]
        if all(isinstance(c, dict) for v in values for c in v):
            return [(box_name(key), list(rows)) for key, rows in data.items()]
    if len(values) > 1 and all(isinstance(v, dict) for v in values) and len({tuple(sorted(v)) for v in values}) == 1:
        if all(k.isdigit() for v in values for k in v):  # columns of numbered cells, as pandas writes them
            order = list(values[0])
            return [(box, [{name: column[k] for name, column in data.items()} for k in order])]
        return [(box, [{"key": key, **record} for key, record in data.items()])]
    return [(box, [data])]


def _collect(
    tables: dict[str, _Rows], table: str, records: Sequence[dict[str, Any]], parent: tuple[str, str] | None
) -> None:
    """Add records to their table; lists of records inside them go to tables of their own, which point back."""
    rows = tables.setdefault(table, _Rows(table))
    if parent is not None and not rows.foreign_keys:
        rows.foreign_keys.append(ForeignKey(table, f"{parent[0]}_{parent[1]}", parent[0], parent[1]))
    flat = [_flatten(r) for r in records]
    nested = {k for r in flat for k, v in r.items() if _is_records(v)}
    key = _key_of(flat) if nested else ""
    for record in flat:
        if nested and not key:
            record = {"row": _Numeral(rows.count), **record}
        rows.add({k: v for k, v in record.items() if k not in nested or not _is_records(v)})
        for name in nested:
            if _is_records(record.get(name)):
                child, back = box_name(f"{table}_{name}"), f"{table}_{key or 'row'}"
                own = record[key] if key else record["row"]
                _collect(tables, child, [{back: own, **r} for r in record[name]], (table, key or "row"))


def _key_of(records: Sequence[dict[str, Any]]) -> str:
    for name in ("id", "_id", "key", "uuid", "name"):
        values = [r.get(name) for r in records]
        if all(isinstance(v, str) for v in values) and len(set(values)) == len(values):
            return name
    return ""


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _flatten(record: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            flat.update(_flatten(value, f"{prefix}{name}.", depth + 1))
        else:
            flat[prefix + name] = value
    return flat


def _written(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Numerals back to numbers, for writing as JSON."""
    if isinstance(value, _Numeral):
        return float(value) if any(c in value for c in ".eE") else int(value)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def _sheet(rows: _Rows, origin: str) -> Sheet:
    import pyarrow as pa

    columns = {n: v + [None] * (rows.count - len(v)) for n, v in rows.columns.items()}
    names, cautions = column_names(list(columns), rows.name)
    texts, typed, declared = {}, {}, set()
    for name, values in zip(names, columns.values(), strict=True):
        texts[name] = pa.array([_written(v) for v in values], pa.string())
        lists = _lists(values)
        if lists is not None:
            typed[name] = Typed(pa.chunked_array([lists]), "list")
        elif all(v is None or (isinstance(v, str) and not isinstance(v, _Numeral)) for v in values):
            declared.add(name)
    return Sheet(
        rows.name,
        pa.table(texts),
        origin,
        cautions=tuple(cautions),
        typed=typed,
        declared_text=frozenset(declared),
        foreign_keys=tuple(rows.foreign_keys),
    )


def _lists(values: Sequence[Any]) -> Any:
    """An Arrow list column where every value is a list of scalars, else None."""
    import pyarrow as pa

    if not any(isinstance(v, list) for v in values) or not all(v is None or isinstance(v, list) for v in values):
        return None
    if any(isinstance(c, dict | list) for v in values if v for c in v):
        return None
    try:
        return pa.array([_plain(v) for v in values])
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if v is None else [_written(c) for c in v] for v in values], pa.list_(pa.string()))
