"""Rows of BOXes behind the places of a frame, a series or a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Positions = np.ndarray[Any, np.dtype[np.int64]]
Found = dict[str, Positions]


@dataclass(frozen=True)
class Origin:
    """Per place one row of each BOX in `columns` (-1: none), or with `groups` the places of `columns` it stands for."""

    columns: tuple[tuple[str, Positions], ...]
    groups: tuple[Positions, ...] | None = None

    def __len__(self) -> int:
        return len(self.columns[0][1]) if self.groups is None else len(self.groups)

    def take(self, places: Any) -> Origin:
        if self.groups is not None:
            return Origin(self.columns, tuple(self.groups[i] for i in np.atleast_1d(np.arange(len(self))[places])))
        return Origin(tuple((box, np.atleast_1d(rows[places])) for box, rows in self.columns))

    def grouped(self, groups: Sequence[Positions]) -> Origin:
        if self.groups is None:
            return Origin(self.columns, tuple(groups))
        empty = np.empty(0, dtype=np.int64)
        return Origin(self.columns, tuple(np.concatenate([empty, *(self.groups[i] for i in g)]) for g in groups))

    def rows(self) -> Found:
        found: Found = {}
        places = None if self.groups is None else np.concatenate([np.empty(0, dtype=np.int64), *self.groups])
        for box, rows in self.columns:
            taken = rows if places is None else rows[places]
            found[box] = np.union1d(found.get(box, np.empty(0, dtype=np.int64)), taken[taken >= 0])
        return found


def by_labels(origin: Origin, before: pd.Index, after: pd.Index | None) -> Origin | None:
    if after is None:
        return None
    if after is before or (len(after) == len(before) and after.equals(before)):
        return origin if len(before) == len(origin) else None
    if not before.is_unique or len(before) != len(origin):
        return None
    places = before.get_indexer(after)
    return None if (places < 0).any() else origin.take(places)


def by_value(origin: Origin, holder: Any, value: Any) -> Origin | None:
    if not isinstance(holder, pd.Series) or len(holder) != len(origin):
        return None
    places = holder.groupby(holder, dropna=False).indices
    wanted = value.index if isinstance(value, pd.Series) and value.name in ("count", "proportion") else value
    return origin.grouped([np.asarray(places[label]) for label in wanted])


def stacked(origins: Sequence[Origin]) -> Origin:
    boxes = list(dict.fromkeys(box for o in origins for box, _ in o.columns))
    columns = []
    for box in boxes:
        parts = [dict(o.columns).get(box, np.full(len(o), -1, dtype=np.int64)) for o in origins]
        columns.append((box, np.concatenate(parts)))
    return Origin(tuple(columns))


def union(many: Sequence[Found]) -> Found:
    found: Found = {}
    for one in many:
        for box, rows in one.items():
            found[box] = np.union1d(found[box], rows) if box in found else rows
    return found
