"""How BOXes look in a prompt: one line a field with its type and a few values, and the joins that are there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from rowhop.box import Box, BoxSet, Column
from rowhop.types import Value

# A cell is cut here; prose says enough with its beginning, and one cell of 200 KB must not fill the prompt.
CELL = 32
CELL_IN_ROW = 60
# What the question names is compared with, and a cell cut in the middle tempts a model to invent its end.
CELL_MATCHED = 72
NAME = 120
_SHORT = 24  # a longer cell shows nothing about how values of a column are written
_TYPES = {"integer": "int", "number": "float", "boolean": "bool", "mixed": "text"}


def show(boxes: BoxSet, samples: int = 3) -> str:
    """The BOXes as a prompt shows them; `samples` = 0 shows the schema only. One BOX has a line for each field:

    orders: 24 rows
    "id" int: 1, 2, 3
    "city" text: "Oslo", "Rome" | in question: "Rome"

    Several have a line each, and what the question names comes last: so the text before it stays the same from
    question to question, and a model's prefix cache holds it.

    book(book_id int, title text "Salt", author_id int)
    author(author_id int, country text "Chile")
    Joins: book.author_id = author.author_id
    In question: author.country "Norway"
    """
    if len(boxes.boxes) > 1:
        return _show_lines(boxes, samples)
    parts = [show_box(box, samples) for box in boxes.boxes]
    return "\n".join(parts)


def _show_lines(boxes: BoxSet, samples: int) -> str:
    parts = [box_line(box, samples) for box in boxes.boxes]
    if joins := [
        f"{_name(k.box)}.{_name(k.field)} = {_name(k.to_box)}.{_name(k.to_field)}" for k in boxes.foreign_keys
    ]:
        parts.append("Joins: " + ", ".join(joins))
    named = [
        f"{_name(box.name)}.{_name(column.name)} " + ", ".join(quoted(cell, CELL_MATCHED) for cell in column.matched)
        for box in boxes.boxes
        for column in box.columns
        if column.matched and samples
    ]
    if named:
        parts.append("In question: " + "; ".join(named))
    return "\n".join(parts)


def box_line(box: Box, samples: int = 3) -> str:
    fields = ", ".join(_field(column, samples) for column in box.columns)
    return f"{_name(box.name)}({fields})" + (f" -- {_cut(box.about, NAME)}" if box.about else "")


def _field(column: Column, samples: int) -> str:
    field = f"{_name(column.name)} {_TYPES.get(column.dtype, column.dtype)}"
    if column.about:
        field += f" ({_cut(column.about, NAME)})"
    # A number says little about its column; a text shows how values are written.
    if samples and column.dtype in ("text", "mixed", "date", "datetime"):
        short = [v for v in column.samples if isinstance(v, str) and 0 < len(v) <= _SHORT]
        field += "".join(" " + value for value in _distinct(short, 1 if samples < 4 else 3))
    return field


def _name(name: str) -> str:
    """Quoted only where a program has to quote it."""
    return name if name.isidentifier() else quoted(name, NAME)


def show_box(box: Box, samples: int = 3) -> str:
    rows = f": {box.rows} rows" if box.rows is not None else ":"
    lines = [f"{box.name}{rows}" + (f" ({_cut(box.about, NAME)})" if box.about else "")]
    lines += [_line(column, samples) for column in box.columns]
    return "\n".join(lines)


def _line(column: Column, samples: int) -> str:
    kind = _TYPES.get(column.dtype, column.dtype)
    line = f"{quoted(column.name, NAME)} {kind}"
    if column.about:
        line += f" ({_cut(column.about, NAME)})"
    if samples and (values := _distinct(column.samples, samples)):
        line += ": " + ", ".join(values)
    if samples and column.matched:
        line += " | in question: " + ", ".join(quoted(cell, CELL_MATCHED) for cell in column.matched)
    return line


def show_rows(rows: Sequence[tuple[int, Sequence[Value]]], fields: Sequence[str], room: int) -> str:
    """Whole rows with their position from 0, as many of them as `room` characters hold; "" where that is none.

    Rows:
    | "id" | "city"
    0 | 1 | "Oslo"
    7 | 8 | "Rome"
    """
    lines = ["Rows:", " | ".join(["", *(quoted(name, NAME) for name in fields)]).lstrip()]
    used = sum(map(len, lines))
    for position, cells in rows:
        line = " | ".join([str(position), *(quoted(c, CELL_IN_ROW) if isinstance(c, str) else _bare(c) for c in cells)])
        used += len(line) + 1
        if used > room:
            break
        lines.append(line)
    return "\n".join(lines) if len(lines) > 2 else ""


def _distinct(values: Sequence[Value], most: int) -> list[str]:
    return list(dict.fromkeys(quoted(v) if isinstance(v, str) else _bare(v) for v in values))[:most]


def _bare(value: Value) -> str:
    return "null" if value is None else str(value)


def quoted(text: str, most: int = CELL) -> str:
    """As a JSON string: a line break or a quote in a cell stays inside it, other letters stay as they are."""
    return json.dumps(_cut(text, most), ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def schema_only(boxes: BoxSet) -> BoxSet:
    """Without any value of the data, for `share = schema`."""
    return replace(boxes, boxes=tuple(replace(b, columns=tuple(map(_without_values, b.columns))) for b in boxes.boxes))


def _without_values(column: Column) -> Column:
    return replace(column, samples=(), matched=(), parsed_from="")
