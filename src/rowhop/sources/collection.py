"""Several sources as one: their BOXes side by side, each under a name of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.box import Box, BoxSet, ForeignKey
from rowhop.errors import SourceError
from rowhop.sources.keys import MOST_ROWS, find_links
from rowhop.sources.naming import identifier, missing, unique
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

    from rowhop.sources import Kind, Source


class Collection:
    """See `Source`. A BOX whose name is taken gets its source's name added: `orders`, `orders_shop`."""

    def __init__(self, members: Sequence[Source], name: str = "", cautions: Sequence[Caution] = ()) -> None:
        self.members = tuple(members)
        self.name = name or " + ".join(m.name for m in members)
        self._cautions = tuple(cautions)
        self._known: tuple[tuple[BoxSet, ...], BoxSet, dict[str, tuple[Source, str]]] | None = None
        self.boxes()

    @property
    def kind(self) -> Kind:
        kinds = {m.kind for m in self.members}
        return kinds.pop() if len(kinds) == 1 else "table"

    @property
    def dialect(self) -> str:
        """Of the database when it is the only member: no engine sees the rows of two sources."""
        return self.members[0].dialect if len(self.members) == 1 else ""

    @property
    def cautions(self) -> tuple[Caution, ...]:
        return self._cautions + tuple(c for m in self.members for c in m.cautions)

    def boxes(self) -> BoxSet:
        parts = tuple(m.boxes() for m in self.members)
        if self._known is None or self._known[0] != parts:
            self._known = (parts, *_joined(self.members, parts))
        return self._known[1]

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        member, own = self._owner(box)
        return member.load(own, columns, limit)

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        member, own = self._owner(box)
        return member.written(own, columns, rows)

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        member, own = self._owner(box)
        return member.distinct(own, column, limit)

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        if not self.dialect:
            raise SourceError(f"{self.name} is several sources: they share no SQL of their own.")
        return self.members[0].select(sql, limit, seconds)

    def fingerprint(self) -> str:
        parts = [m.fingerprint() for m in self.members]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def close(self) -> None:
        for member in self.members:
            member.close()

    def _owner(self, box: str) -> tuple[Source, str]:
        self.boxes()
        assert self._known is not None
        owners = self._known[2]
        if box not in owners:
            raise SourceError(missing("table", box, list(owners), self.name))
        return owners[box]


def _joined(members: Sequence[Source], parts: Sequence[BoxSet]) -> tuple[BoxSet, dict[str, tuple[Source, str]]]:
    boxes: list[Box] = []
    keys: list[ForeignKey] = []
    left_out: list[str] = []
    owners: dict[str, tuple[Source, str]] = {}
    for member, part in zip(members, parts, strict=True):
        stem = identifier(Path(member.name.partition("?")[0]).stem)
        new = {}
        for box in part.boxes:
            new[box.name] = unique(box.name, owners, stem)
            owners[new[box.name]] = (member, box.name)
            boxes.append(replace(box, name=new[box.name]))
        keys += [replace(k, box=new[k.box], to_box=new[k.to_box]) for k in part.foreign_keys]
        left_out += part.left_out
    keys += _across(boxes, owners)
    return BoxSet(tuple(boxes), tuple(keys), tuple(left_out)), owners


def _across(boxes: Sequence[Box], owners: Mapping[str, tuple[Source, str]]) -> list[ForeignKey]:
    """Links between sources, which no source can state: a key of one, by name and cells, in a table of another."""
    links: list[ForeignKey] = []
    for target in boxes:
        key = target.keys[0] if len(target.keys) == 1 else ""
        # Every table may have an "id"; that two of them agree says nothing.
        if not key or key.lower() in ("id", "key", "code", "no", "nr", "#", "uuid") or not _small(target):
            continue
        for box in boxes:
            own = next((c.name for c in box.columns if c.name.lower() == key.lower()), None)
            if own is None or owners[box.name][0] is owners[target.name][0] or not _small(box):
                continue
            if box.keys == (own,) and (box.rows or 0) >= (target.rows or 0):
                continue  # two tables of the same things: the smaller one points
            columns = {target.name: _column(owners, target.name, key), box.name: _column(owners, box.name, own)}
            links += [k for k in find_links(columns) if (k.box, k.to_box) == (box.name, target.name)]
    return links


def _small(box: Box) -> bool:
    return box.rows is not None and box.rows <= MOST_ROWS


def _column(owners: Mapping[str, tuple[Source, str]], box: str, column: str) -> dict[str, pa.ChunkedArray]:
    member, own = owners[box]
    return {column: member.load(own, [column]).column(0)}
