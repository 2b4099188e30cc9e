"""Keys that files do not state: which column identifies a row, and which column of one sheet points into another.

Only what the cells bear out is reported; a name alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rowhop.box import ForeignKey

if TYPE_CHECKING:
    import pyarrow as pa

# A link is believed when so many of the cells are found on the other side; the rest are broken references.
LEAST_FOUND = 0.9
# Above this many rows the search would be felt.
MOST_ROWS = 200_000

_ENDINGS = ("_id", " id", "-id", "_key", "_no", " no", " no.", "_nr", " nr", "_code", " code", "number")


def find_keys(columns: Mapping[str, pa.ChunkedArray]) -> tuple[str, ...]:
    """The first column, where its name says that it identifies and its cells agree."""
    name = next(iter(columns), "")
    lower = name.lower().strip()
    if lower in ("id", "key", "code", "uuid", "isbn", "no", "no.", "nr", "#") or lower.endswith(_ENDINGS):
        return (name,) if _is_unique(columns[name]) else ()
    return ()


def find_links(tables: Mapping[str, Mapping[str, pa.ChunkedArray]]) -> list[ForeignKey]:
    """Columns of the same name in two sheets, where the cells of one are found among the distinct ones of the other."""
    links = []
    for target, columns in tables.items():
        name = next(iter(columns), "")
        if not name or len(columns[name]) > MOST_ROWS or len(columns[name]) < 2 or not _is_unique(columns[name]):
            continue
        for box, others in tables.items():
            own = next((n for n in others if n.lower() == name.lower()), None)
            if box != target and own is not None and _points(others[own], columns[name]):
                links.append(ForeignKey(box, own, target, name))
    return _one_way(links, tables)


def _one_way(links: Sequence[ForeignKey], tables: Mapping[str, Mapping[str, pa.ChunkedArray]]) -> list[ForeignKey]:
    """Two sheets with a row for the same things point at each other; the later or shorter one keeps its link."""
    kept: list[ForeignKey] = []
    order = list(tables)
    for link in links:
        if any((b.box, b.to_box) == (link.to_box, link.box) for b in links):
            own, other = len(tables[link.box][link.field]), len(tables[link.to_box][link.to_field])
            if own > other or (own == other and order.index(link.box) < order.index(link.to_box)):
                continue
        kept.append(link)
    return kept


def _is_unique(values: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(values) or values.null_count or pa.types.is_list(values.type):
        return False
    return bool(pc.count_distinct(values).as_py() == len(values))


def _points(values: pa.ChunkedArray, into: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    if values.type != into.type or len(values) > MOST_ROWS or values.null_count == len(values):
        return False
    cells = values.drop_null()
    return bool(pc.sum(pc.is_in(cells, into.combine_chunks())).as_py() >= LEAST_FOUND * len(cells))
