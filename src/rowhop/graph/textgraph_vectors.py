"""Vectors of the nodes' texts: made once, resumable, memory-mapped; searched exactly, above 100,000 by usearch."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from rowhop.graph.textgraph_build import Progress, quiet
from rowhop.graph.textgraph_store import Store
from rowhop.models import Embedder

CHUNK = 512  # texts embedded at once; what an interrupted run loses at most
CHARACTERS = 2_000  # of a text; small embedders read no more
EXACT = 100_000  # vectors up to which every one is compared


class Vectors:
    """Unit vectors, one row per embedded node; `rows` are the nodes' positions, ascending."""

    def __init__(self, folder: Path) -> None:
        self.rows = np.load(folder / "rows.npy")
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        self.dimension = int(facts["dimension"])
        shape = (len(self.rows), self.dimension)
        self.data: np.ndarray = (
            np.memmap(folder / "data.f32", np.float32, "r", shape=shape)
            if len(self.rows)
            else np.zeros(shape, np.float32)
        )
        self._folder = folder
        self._index: Any = None

    def of(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(positions that have a vector, their vectors)."""
        at = np.searchsorted(self.rows, positions)
        at = np.minimum(at, max(len(self.rows) - 1, 0))
        have = self.rows[at] == positions if len(self.rows) else np.zeros(len(positions), bool)
        return positions[have], np.asarray(self.data[at[have]])

    def scores(self, query: np.ndarray, positions: np.ndarray) -> dict[int, float]:
        """Similarity to some nodes; a node without a vector is not in the result."""
        have, vectors = self.of(np.asarray(positions))
        return dict(zip(map(int, have), map(float, vectors @ query), strict=True))

    def nearest(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[tuple[int, float]]:
        """The `k` nearest nodes, best first; `allowed` is a mask over the rows."""
        if not len(self.rows):
            return []
        if len(self.rows) > EXACT and allowed is None:
            return self._approximate(query, k)
        scores = np.asarray(self.data) @ query
        if allowed is not None:
            scores = np.where(allowed, scores, -2.0)
        k = min(k, len(scores))
        top = np.argpartition(-scores, k - 1)[:k]
        top = top[np.lexsort((self.rows[top], -scores[top]))]
        return [(int(self.rows[i]), float(scores[i])) for i in top if scores[i] > -2.0]

    def _approximate(self, query: np.ndarray, k: int) -> list[tuple[int, float]]:
        from usearch.index import Index

        if self._index is None:
            path = self._folder / "index.usearch"
            index = Index(ndim=self.dimension, metric="ip", dtype="f16")
            if path.exists():
                index.view(str(path))
            else:
                for i in range(0, len(self.rows), 50_000):
                    index.add(np.arange(i, min(i + 50_000, len(self.rows))), np.asarray(self.data[i : i + 50_000]))
                index.save(str(path))
            self._index = index
        found = self._index.search(query, k)
        return [(int(self.rows[int(key)]), 1.0 - float(d)) for key, d in zip(found.keys, found.distances, strict=True)]


def folder_for(store: Store, embedder: Embedder) -> Path:
    return store.folder / ("vectors-" + re.sub(r"[^A-Za-z0-9.]+", "-", embedder.name))


def load(store: Store, embedder: Embedder) -> Vectors | None:
    folder = folder_for(store, embedder)
    return Vectors(folder) if (folder / "facts.json").exists() else None


def make(store: Store, embedder: Embedder, progress: Progress = quiet) -> Vectors:
    """Embed what has no vector yet; an interrupted run goes on where it stopped."""
    if (ready := load(store, embedder)) is not None:
        return ready
    folder = folder_for(store, embedder)
    part = folder.with_name(folder.name + ".part")
    part.mkdir(exist_ok=True)
    kinds = [store.kind_code[k] for k in store.meta["embed_kinds"] if k in store.kind_code]
    rows = np.flatnonzero(np.isin(store.kind, kinds)) if store.meta["embed_kinds"] else np.arange(len(store))
    with (part / "data.f32").open("ab") as file:
        dimension = int(embedder.embed(["a"]).shape[1])
        done = file.tell() // (4 * dimension) // CHUNK * CHUNK
        file.truncate(done * 4 * dimension)
        for i in range(done, len(rows), CHUNK):
            chunk = rows[i : i + CHUNK]
            records = store.records(chunk, CHARACTERS)
            texts = [document(r.name, r.kind, r.text) for r in records.values()]
            file.write(np.ascontiguousarray(embedder.embed(texts), dtype=np.float32).tobytes())
            file.flush()
            progress("vectors", min(i + CHUNK, len(rows)), len(rows))
    np.save(part / "rows.npy", rows)
    (part / "facts.json").write_text(json.dumps({"dimension": dimension, "embedder": embedder.name}), encoding="utf-8")
    os.replace(part, folder)
    return Vectors(folder)


def document(name: str, kind: str, text: str) -> str:
    """What of a node is embedded: its name first, since a small embedder reads the beginning only."""
    return f"{name}. {text}".strip() if text else f"{name} ({kind})" if kind else name or "-"
