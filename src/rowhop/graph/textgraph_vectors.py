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

CHUNK = 512  # nodes whose passages are embedded at once; what an interrupted run loses at most
PASSAGE = 400  # characters; a detail deep in a long text is lost in one vector over all of it
PASSAGES = 40  # of one node
EXACT = 100_000  # vectors up to which every one is compared


_SENTENCE = re.compile(r"(?<=[.;!?\]])\s+|\n+")


class Vectors:
    """Unit vectors, one row per passage of a node's text; `rows` are the nodes' positions, ascending, so that the
    passages of one node stand together. A node is as near as its nearest passage."""

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

    def scores(self, query: np.ndarray, positions: np.ndarray) -> dict[int, float]:
        """Similarity of each node's nearest passage; a node without a vector is not in the result."""
        return self._over(np.maximum, query, positions)

    def means(self, query: np.ndarray, positions: np.ndarray) -> dict[int, float]:
        """Mean similarity over each node's passages."""
        total = self._over(np.add, query, positions)
        rows = self.rows
        count = {p: int(np.searchsorted(rows, p, "right") - np.searchsorted(rows, p, "left")) for p in total}
        return {p: s / count[p] for p, s in total.items()}

    def _over(self, how: np.ufunc, query: np.ndarray, positions: np.ndarray) -> dict[int, float]:
        wanted = np.asarray(positions, np.int64)
        first, last = np.searchsorted(self.rows, wanted, "left"), np.searchsorted(self.rows, wanted, "right")
        wanted, first, last = (a[last > first] for a in (wanted, first, last))
        if not len(wanted):
            return {}
        sizes = last - first
        begins = np.cumsum(sizes) - sizes
        at = np.arange(int(sizes.sum())) - np.repeat(begins, sizes) + np.repeat(first, sizes)
        over = how.reduceat(np.asarray(self.data[at]) @ query, begins)
        return dict(zip(map(int, wanted), map(float, over), strict=True))

    def nearest(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[tuple[int, float]]:
        """The `k` nearest nodes, best first; `allowed` is a mask over the rows."""
        if not len(self.rows):
            return []
        if len(self.rows) > EXACT and allowed is None:
            return self._approximate(query, k)
        scores = np.asarray(self.data) @ query
        if allowed is not None:
            scores = np.where(allowed, scores, -2.0)
        return self._nodes(scores, k)

    def _nodes(self, scores: np.ndarray, k: int) -> list[tuple[int, float]]:
        """Each node once, by its best passage; as many passages are looked at as that takes."""
        taken = min(len(scores), 4 * k)
        while True:
            top = np.argpartition(-scores, taken - 1)[:taken]
            top = top[np.lexsort((self.rows[top], -scores[top]))]
            found: dict[int, float] = {}
            for i in top:
                if scores[i] > -2.0:
                    found.setdefault(int(self.rows[i]), float(scores[i]))
            if len(found) >= k or taken == len(scores):
                return list(found.items())[:k]
            taken = min(len(scores), 4 * taken)

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
        found = self._index.search(query, 4 * k)
        nodes: dict[int, float] = {}
        for key, distance in zip(found.keys, found.distances, strict=True):
            nodes.setdefault(int(self.rows[int(key)]), 1.0 - float(distance))
        return list(nodes.items())[:k]


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
    nodes = np.flatnonzero(np.isin(store.kind, kinds)) if store.meta["embed_kinds"] else np.arange(len(store))
    done = len(list(part.glob("chunk-*.npz")))
    for number in range(done, -(-len(nodes) // CHUNK)):
        chunk = nodes[number * CHUNK : (number + 1) * CHUNK]
        texts = [(p, t) for p, r in store.records(chunk).items() for t in passages(r.name, r.kind, r.text)]
        data = embedder.embed([t for _, t in texts]).astype(np.float32)
        written = part / "writing.npz"
        np.savez(written, rows=np.array([p for p, _ in texts], np.int64), data=data)
        os.replace(written, part / f"chunk-{number:06}.npz")
        progress("vectors", min((number + 1) * CHUNK, len(nodes)), len(nodes))
    dimension = _join(part)
    (part / "facts.json").write_text(json.dumps({"dimension": dimension, "embedder": embedder.name}), encoding="utf-8")
    os.replace(part, folder)
    return Vectors(folder)


def _join(part: Path) -> int:
    """All chunks as one file that can be mapped; returns the dimension."""
    rows, dimension = [np.zeros(0, np.int64)], 0
    chunks = sorted(part.glob("chunk-*.npz"))
    with (part / "data.f32").open("wb") as file:
        for chunk in chunks:
            with chunk.open("rb") as raw, np.load(raw) as saved:
                rows.append(saved["rows"])
                dimension = saved["data"].shape[1]
                file.write(np.ascontiguousarray(saved["data"]).tobytes())
    np.save(part / "rows.npy", np.concatenate(rows))
    for chunk in chunks:
        chunk.unlink()
    return dimension


def passages(name: str, kind: str, text: str) -> list[str]:
    """What of a node is embedded: its text in passages, each with the name before it."""
    found: list[str] = []
    for sentence in _SENTENCE.split(text[: PASSAGE * PASSAGES]):
        for piece in (sentence[i : i + PASSAGE] for i in range(0, len(sentence), PASSAGE)):
            if found and len(found[-1]) + len(piece) < PASSAGE:
                found[-1] += " " + piece
            elif piece.strip():
                found.append(piece.strip())
    if not found:
        return [f"{name} ({kind})" if kind and name else name or "-"]
    return [f"{name}. {p}" if name else p for p in found[:PASSAGES]]
