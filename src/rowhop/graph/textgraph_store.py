"""A snapshot opened for reading: memory-mapped arrays, texts in SQLite, the text index. Nodes are positions here."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rowhop.graph import textgraph_names as names

_LONGEST_QUERY = 200  # words of a query that the text index is asked with


class Record(NamedTuple):
    """`aliases` are further names."""

    id: str
    name: str
    kind: str
    text: str
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One direction of the edges in compressed rows: node i owns rel[ptr[i]:ptr[i+1]], sorted by relation, then end."""

    ptr: np.ndarray
    rel: np.ndarray
    end: np.ndarray

    def row(self, pos: int) -> tuple[np.ndarray, np.ndarray]:
        a, b = int(self.ptr[pos]), int(self.ptr[pos + 1])
        return self.rel[a:b], self.end[a:b]

    def relations(self, pos: int) -> np.ndarray:
        return np.unique(self.row(pos)[0])

    def follow(self, pos: int, relation: int) -> np.ndarray:
        rel, end = self.row(pos)
        return end[np.searchsorted(rel, relation, "left") : np.searchsorted(rel, relation, "right")]

    def rows(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All edges of many nodes: (index into `positions`, relation, end)."""
        first, last = self.ptr[positions], self.ptr[positions + 1]
        sizes = (last - first).astype(np.int64)
        owner = np.repeat(np.arange(len(positions)), sizes)
        at = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(first, sizes)
        return owner, self.rel[at], self.end[at]


class Store:
    """Thread-safe: SQLite is behind a lock, the rest is read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        self.kinds: list[str] = self.meta["nodes"]["kinds"]
        self.relations: list[str] = self.meta["edges"]["relations"]
        self.relation_code = {r: i for i, r in enumerate(self.relations)}
        self.kind_code = {k: i for i, k in enumerate(self.kinds)}
        self.kind = self._map("kind")
        self.out, self.into = (
            Side(*(self._map(f"{s}.{part}") for part in ("ptr", "rel", "end"))) for s in ("out", "in")
        )
        self._hash, self._owner = self._map("names.hash"), self._map("names.node")
        self._base = sqlite3.connect(
            f"{(folder / 'nodes.sqlite').as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        self._lock = threading.Lock()
        self._index: Any = None

    def __len__(self) -> int:
        return len(self.kind)

    def _map(self, name: str) -> np.ndarray:
        path = self.folder / f"{name}.npy"
        # An empty array cannot be mapped.
        array: np.ndarray = np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None)
        return array

    def close(self) -> None:
        with self._lock:
            self._base.close()

    def position(self, id: str) -> int | None:
        with self._lock:
            row = self._base.execute("SELECT pos FROM node WHERE id = ?", (id,)).fetchone()
        return row[0] if row else None

    def positions(self, ids: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        with self._lock:
            for i in range(0, len(ids), 500):
                some = list(ids[i : i + 500])
                marks = ",".join("?" * len(some))
                found.update(self._base.execute(f"SELECT id, pos FROM node WHERE id IN ({marks})", some))
        return found

    def records(self, positions: Iterable[int], characters: int = -1) -> dict[int, Record]:
        """Records by position; `characters` cuts their text."""
        wanted = [int(p) for p in positions]
        text = "text" if characters < 0 else f"substr(text, 1, {int(characters)})"
        found: dict[int, Record] = {}
        with self._lock:
            for i in range(0, len(wanted), 500):
                some = wanted[i : i + 500]
                marks = ",".join("?" * len(some))
                query = f"SELECT pos, id, name, kind, {text}, aliases FROM node WHERE pos IN ({marks})"
                for pos, id, name, kind, body, aliases in self._base.execute(query, some):
                    found[pos] = Record(id, name, kind, body, tuple(aliases.split("\n")) if aliases else ())
        return {p: found[p] for p in wanted if p in found}

    def record(self, position: int) -> Record:
        return self.records([position])[position]

    def all_ids(self) -> list[str]:
        with self._lock:
            return [r[0] for r in self._base.execute("SELECT id FROM node ORDER BY pos")]

    def named(self, folded: str) -> list[int]:
        """Positions of the nodes with that folded name or alias, in the data's order."""
        return self.named_many([folded])[0]

    def named_many(self, folded: Sequence[str]) -> list[list[int]]:
        asked = names.keys(folded)
        first, last = np.searchsorted(self._hash, asked, "left"), np.searchsorted(self._hash, asked, "right")
        return [sorted(map(int, self._owner[a:b])) for a, b in zip(first, last, strict=True)]

    def ends(self, positions: np.ndarray, relation: int, inverse: bool) -> np.ndarray:
        """One hop from many nodes: the nodes reached, each once, sorted."""
        side = self.into if inverse else self.out
        if len(positions) == 1:
            return np.asarray(side.follow(int(positions[0]), relation))
        _, rel, end = side.rows(positions)
        return np.unique(end[rel == relation])

    def search(self, text: str, k: int, kind: str | None = None, field: str = "") -> list[tuple[int, float]]:
        """BM25 over names and texts (or one field); only of one kind where it is given."""
        import tantivy

        index = self._text_index()
        # Only words reach the query parser: its operators are not for the text of a question.
        telling = [w for w in re.findall(r"[^\W_]+", text.lower()) if w not in names.COMMON]
        words = " ".join(telling[:_LONGEST_QUERY])
        if not words or not len(self):
            return []
        query, _ = index.parse_query_lenient(words, [field] if field else ["name", "text"])
        if kind is not None:
            only = tantivy.Query.term_query(index.schema, "kind", kind)
            must = tantivy.Occur.Must
            query = tantivy.Query.boolean_query([(must, query), (must, tantivy.Query.const_score_query(only, 0.0))])
        searcher = index.searcher()
        hits = searcher.search(query, limit=k).hits
        return [(searcher.doc(address)["pos"][0], score) for score, address in hits]

    def _text_index(self) -> Any:
        with self._lock:
            if self._index is None:
                import tantivy

                self._index = tantivy.Index.open(str(self.folder / "text"))
            return self._index
