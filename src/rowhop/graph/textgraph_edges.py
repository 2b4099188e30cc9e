"""Reads edges from TSV, CSV, Parquet and JSON Lines as batches of text columns; and the rows of such files."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

Triple = tuple[str, str, str]  # subject, relation, object; the ends by id
Known = Callable[[str], bool]  # whether a node has that id

BATCH = 200_000  # edges that are held as Python text at once
NAMES = ("subject", "relation", "object")
UNNAMED = "linked to"  # the relation where a file has only two columns or a cell is empty
_SUBJECT = ("subject", "head", "source", "src", "from", "h", "x_index", "x_id", "start", "node1", "id1")
_RELATION = ("relation", "predicate", "rel", "type", "edge_type", "edge", "label", "r", "relationship")
_OBJECT = ("object", "tail", "target", "dst", "to", "t", "y_index", "y_id", "end", "node2", "id2")


def as_id(value: object) -> str:
    """An id as text: whole floats lose their ".0", which a gap in a column of numbers gives them."""
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        if value.is_integer():
            return str(int(value))
    return str(value).strip()


def as_text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple):
        return "; ".join(as_text(v) for v in value)
    if isinstance(value, dict):
        return "; ".join(f"{k}: {as_text(v)}" for k, v in value.items())
    return str(value)


def rows_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise SourceError(f"{path} line {number} is not JSON: {error}.") from error
            if not isinstance(row, dict):
                raise SourceError(f'{path} line {number} is not a JSON object like {{"id": 1, "name": …}}.')
            yield row


def rows_separated(path: Path) -> Iterator[list[str]]:
    # The default of 131,072 characters per cell is less than the text of one long document.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    tabs = path.suffix.lower() == ".tsv"
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        # Quotes in a TSV are part of the value in most files of this kind, unless a cell starts with one.
        yield from csv.reader(
            lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
        )


def rows_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} could not be read as Parquet: {error}.") from error
    for batch in file.iter_batches():
        yield from batch.to_pylist()


@dataclass(frozen=True)
class EdgeShape:
    """Positions of subject, relation and object; relation None where the file has only two columns."""

    subject: int
    relation: int | None
    end: int
    header: bool

    @classmethod
    def of(cls, first: Sequence[object], second: Sequence[object] | None, known: Known, where: str) -> EdgeShape:
        cells = [str(c).strip().casefold() for c in first]
        if len(cells) < 2:
            raise SourceError(f"{where} has one column; edges need subject, relation and object, separated by tabs.")

        def at(names: Sequence[str]) -> int | None:
            return next((cells.index(n) for n in names if n in cells), None)

        subject, relation, object_ = at(_SUBJECT), at(_RELATION), at(_OBJECT)
        if subject is not None and object_ is not None:
            return cls(subject, relation, object_, True)
        last = 2 if len(cells) > 2 else 1
        # Headings of their own ("gene", "does", "protein"): no node has that id, while the second line's ends exist.
        strange = not known(as_id(first[0])) and not known(as_id(first[last]))
        header = strange and second is not None and len(second) > last and known(as_id(second[0]))
        return cls(0, 1 if last == 2 else None, last, header)

    @property
    def columns(self) -> tuple[int | None, int | None, int | None]:
        return self.subject, self.relation, self.end

    @property
    def width(self) -> int:
        return 1 + max(self.subject, self.end, self.relation or 0)

    def triple(self, cells: Sequence[Any]) -> Triple | None:
        if len(cells) < self.width:
            return None
        relation = as_text(cells[self.relation]).strip() if self.relation is not None else UNNAMED
        return as_id(cells[self.subject]), relation or UNNAMED, as_id(cells[self.end])


def table(triples: Iterable[Triple]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*triples, strict=True)) or [(), (), ()]
    return pa.table({n: pa.array(c, pa.string()) for n, c in zip(NAMES, columns, strict=True)})


def batched(triples: Iterable[Triple]) -> Iterator[pa.Table]:
    rest = iter(triples)
    while batch := list(islice(rest, BATCH)):
        yield table(batch)


def read(path: Path, known: Known) -> Iterator[pa.Table]:
    """Batches of one file's edges. `known` decides, where the words do not, whether line 1 is a heading."""
    if path.suffix.lower() == ".parquet":
        yield from _read_parquet(path, known)
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        rows = rows_jsonl(path)
        first = next(rows, None)
        if first is not None:
            names = list(first)
            shape = EdgeShape.of(names, None, known, str(path))
            lines = ([row.get(n) for n in names] for row in _chain(first, rows))
            yield from batched(t for t in map(shape.triple, lines) if t is not None)
    else:
        yield from _read_separated(path, known)


def _chain(first: dict[str, Any], rest: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _read_separated(path: Path, known: Known) -> Iterator[pa.Table]:
    import pyarrow as pa

    head = list(islice((r for r in rows_separated(path) if r), 2))
    if not head:
        return
    shape = EdgeShape.of(head[0], head[1] if len(head) > 1 else None, known, str(path))
    done = 0
    try:
        for batch in _arrow_csv(path, len(head[0]), shape):
            yield batch
            done += 1
    except pa.ArrowInvalid:
        # Text that is not UTF-8, or a line longer than a block: slower, but it reads on.
        if done:
            raise SourceError(f"{path} has a line that could not be read; save it as UTF-8.") from None
        rows = islice((r for r in rows_separated(path) if r), 1 if shape.header else 0, None)
        yield from batched(t for t in map(shape.triple, rows) if t is not None)


def _arrow_csv(path: Path, width: int, shape: EdgeShape) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.csv as pc

    tabs = path.suffix.lower() == ".tsv"
    names = [f"f{i}" for i in range(width)]
    reader = pc.open_csv(
        path,
        read_options=pc.ReadOptions(column_names=names, skip_rows=1 if shape.header else 0, block_size=1 << 26),
        parse_options=pc.ParseOptions(
            delimiter="\t" if tabs else ",",
            quote_char=False if tabs else '"',
            newlines_in_values=not tabs,
            invalid_row_handler=lambda row: "skip",
        ),
        convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    )
    for batch in reader:
        yield _as_columns([None if c is None else batch.column(c) for c in shape.columns], len(batch))


def _read_parquet(path: Path, known: Known) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} could not be read as Parquet: {error}.") from error
    shape = EdgeShape.of(file.schema_arrow.names, None, known, str(path))
    for batch in file.iter_batches(batch_size=1_000_000):
        yield _as_columns([None if c is None else batch.column(c) for c in shape.columns], len(batch))


def _as_columns(columns: Sequence[pa.Array | None], rows: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    def text(column: pa.Array | None) -> pa.Array:
        if column is None:
            return pa.array([UNNAMED] * rows, pa.string())
        if pa.types.is_floating(column.type):
            column = pa.array([as_id(v) for v in column.to_pylist()], pa.string())
        return pc.utf8_trim_whitespace(pc.fill_null(column.cast(pa.string()), ""))

    subject, relation, object_ = map(text, columns)
    relation = pc.if_else(pc.equal(relation, ""), UNNAMED, relation)
    return pa.table({"subject": subject, "relation": relation, "object": object_})
