"""Orders candidate nodes for a question by a small trained model over what text, names, paths and types say of them.

The features know no data set: words and meaning, the type the question asks for, the planned paths and how many of
the planned nodes they join, neighbours whose names the question shares, and how connected a node is.
Here it is applied; it is trained in `rowhop.learn.paths_rank`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np

from rowhop.agents.pasemiqa.generator import Walked
from rowhop.agents.pasemiqa.light import LightModel, features
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph
from rowhop.models import Embedder

VERSION = 1  # of the saved form
FEATURES = (
    *("words", "words in name", "meaning", "mean meaning", "type", "type share", "degree"),
    *("rank by words", "rank by meaning", "rank by degree"),
    *("best path", "paths joined", "path share", "path agreement", "reached", "mentioned"),
    *("neighbour named", "second neighbour named", "neighbours named", "neighbours' neighbours named"),
    *("beside a mention", "near a mention", "mentions beside", "mentions near", "any mention"),
    *("meaning, spread", "words, spread"),
)
_TAKEN = 60  # nodes that each signal brings into the pool
_HITS = 400  # nodes that the text index finds
_FRONTIER = 5_000  # nodes whose neighbours are looked at
_LEAST = -9.0  # log-probability of a type the model has never seen
_SILENT = 0.02  # what a planned node without a path to a candidate counts in the agreement


class Ranker(Protocol):
    """`name` is told with every answer."""

    @property
    def name(self) -> str: ...

    def rank(self, question: str, walked: Sequence[Walked], keep: int) -> list[tuple[int, float]]:
        """(position, score), best first."""
        ...


@dataclass(frozen=True)
class Pool:
    """Candidate nodes, ascending, and one row of features each."""

    positions: np.ndarray
    rows: np.ndarray


class Features:
    """Computes the pool of one question. `types` is a LightModel whose first hop is the type of the answer."""

    def __init__(self, graph: TextGraph, embedder: Embedder, types: LightModel) -> None:
        self.graph, self.embedder, self.types = graph, embedder, types

    @cached_property
    def _connected(self) -> np.ndarray:
        """Nodes of each type by falling degree, one after the other."""
        order: np.ndarray = np.lexsort((-self.graph.degree, self.graph.store.kind))
        return order

    def type_scores(self, question: str) -> np.ndarray:
        """Log-probability of each type of the graph being the answer's."""
        row = self.types.hidden(features(self.embedder, [question]))[0]
        scores = self.types.next(row, (), "")
        code = self.types.token_code
        return np.array([scores[code[k]] if k in code else _LEAST for k in self.graph.store.kinds], np.float32)

    def pool(self, question: str, walked: Sequence[Walked]) -> Pool:
        graph, store = self.graph, self.graph.store
        words, in_name = self._words(question, ""), self._words(question, "name")
        types = self.type_scores(question)
        query = self.embedder.embed([question], query=True)[0]
        near = dict(graph.vectors.nearest(query, _HITS)) if graph.vectors else {}
        positions = self._candidates(words, near, types, walked)
        meaning = graph.vectors.scores(query, positions) if graph.vectors else {}
        mean = graph.vectors.means(query, positions) if graph.vectors else {}
        sim = np.array([meaning.get(int(p), 0.0) for p in positions], np.float32)
        kind = store.kind[positions]
        degree = np.log1p(graph.degree[positions]).astype(np.float32)
        best_word = max(float(words.max()), 1e-6)
        text = words[positions] / best_word
        columns = [
            text,
            in_name[positions] / max(float(in_name.max()), 1e-6),
            sim,
            np.array([mean.get(int(p), 0.0) for p in positions], np.float32),
            types[kind],
            np.exp(types[kind]),
            degree,
            *(_ranks(v, kind) for v in (text, sim, degree)),
            *_paths(walked, positions),
            *self._neighbours(positions, in_name / max(float(in_name.max()), 1e-6), walked),
            _spread(sim),
            _spread(text),
        ]
        return Pool(positions, np.stack(columns, 1).astype(np.float32))

    def _words(self, question: str, field: str) -> np.ndarray:
        scores = np.zeros(len(self.graph.store), np.float32)
        for position, score in self.graph.store.search(question, _HITS, field=field):
            scores[position] = score
        return scores

    def _candidates(
        self, words: np.ndarray, near: dict[int, float], types: np.ndarray, walked: Sequence[Walked]
    ) -> np.ndarray:
        """What any signal brings: words, meaning, both of the likely types, ends of paths, the most connected."""
        store = self.graph.store
        hits = np.flatnonzero(words)
        hits = hits[np.argsort(-words[hits], kind="stable")]
        likely = [int(k) for k in np.argsort(-types)[:2]]
        by_type = [hits[store.kind[hits] == k][:_TAKEN] for k in likely]
        order = np.array(list(near), np.int64)
        by_type += [order[store.kind[order] == k][:_TAKEN] for k in likely] if len(order) else []
        connected = self._connected
        kinds = store.kind[connected]
        for k in likely:
            first = int(np.searchsorted(kinds, k, "left"))
            by_type.append(connected[first : min(first + _TAKEN // 2, int(np.searchsorted(kinds, k, "right")))])
        ends = np.unique(np.concatenate([w.ends[:_FRONTIER] for w in walked if len(w.ends)] or [np.zeros(0, np.int64)]))
        if len(ends):
            value = types[store.kind[ends]].astype(np.float64)
            for w in walked:
                value += 3 * w.probability * np.isin(ends, w.ends)
            by_type.append(ends[np.argsort(-value, kind="stable")][: 2 * _TAKEN])
        return np.unique(np.concatenate([hits[:_TAKEN], order[:_TAKEN], *by_type])).astype(np.int64)

    def _neighbours(self, positions: np.ndarray, named: np.ndarray, walked: Sequence[Walked]) -> list[np.ndarray]:
        """How strongly the question names a candidate's neighbours, and theirs; the same for the planned nodes."""
        mentioned = np.zeros(len(named), np.float32)
        mentioned[[w.start.position for w in walked if w.start.end]] = 1.0
        columns = []
        for signal in (named, mentioned):
            first, first_mean = self._push(signal)
            second, second_mean = self._push(first)
            columns += [first[positions], second[positions], first_mean[positions], second_mean[positions]]
        columns.append(np.full(len(positions), float(mentioned.any()), np.float32))
        return columns

    def _push(self, signal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(largest, mean) of the signal over each node's neighbours, from the strongest few thousand nodes."""
        store = self.graph.store
        lit = np.flatnonzero(signal)
        if len(lit) > _FRONTIER:
            lit = np.sort(lit[np.argsort(-signal[lit], kind="stable")[:_FRONTIER]])
        largest, total = np.zeros(len(signal), np.float32), np.zeros(len(signal), np.float32)
        for side in (store.out, store.into):
            owner, _, ends = side.rows(lit)
            np.maximum.at(largest, ends, signal[lit][owner])
            np.add.at(total, ends, signal[lit][owner])
        return largest, total / np.maximum(self.graph.degree, 1)


def _ranks(values: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """1 / (1 + rank) among the candidates of the same type."""
    out = np.zeros(len(values), np.float32)
    for k in np.unique(kind):
        at = np.flatnonzero(kind == k)
        out[at[np.argsort(-values[at], kind="stable")]] = 1 / (1 + np.arange(len(at)))
    return out


def _spread(values: np.ndarray) -> np.ndarray:
    deviation = float(values.std()) if len(values) else 0.0
    result: np.ndarray = (values - values.mean()) / deviation if deviation > 1e-6 else values * 0
    return result


def _paths(walked: Sequence[Walked], positions: np.ndarray) -> list[np.ndarray]:
    """Best path, sum over planned nodes, even share, agreement of the planned nodes, reached at all, mentioned."""
    starts = {w.start.position: w.start for w in walked if w.start.end > w.start.start}
    best, joined, share, agreement = (np.zeros(len(positions), np.float32) for _ in range(4))
    for start in starts:
        own = np.zeros(len(positions), np.float32)
        for w in walked:
            if w.start.position == start and len(w.ends):
                inside = np.isin(positions, w.ends)
                own = np.maximum(own, w.probability * inside)
                share += inside * (w.probability / len(w.ends))
        best = np.maximum(best, own)
        joined += own
        agreement += np.log(own + _SILENT)
    mentioned = np.isin(positions, list(starts)).astype(np.float32)
    return [best, joined, 10 * share, agreement / max(len(starts), 1), (best > 0).astype(np.float32), mentioned]


@dataclass
class TrainedRanker:
    """An ensemble of small networks over the features; `weights` hold mean, deviation and, per member, a b v l."""

    features: Features
    weights: dict[str, np.ndarray]
    members: int

    @property
    def name(self) -> str:
        return "trained ranker"

    def scores(self, rows: np.ndarray) -> np.ndarray:
        x = (rows - self.weights["mean"]) / self.weights["deviation"]
        total = np.zeros(len(x))
        for i in range(self.members):
            a, b, v, line = (self.weights[f"{name}{i}"] for name in ("a", "b", "v", "l"))
            total += np.tanh(x @ a + b) @ v + x @ line
        result: np.ndarray = total / self.members
        return result

    def rank(self, question: str, walked: Sequence[Walked], keep: int) -> list[tuple[int, float]]:
        """(position, share of probability among the candidates), best first."""
        pool = self.features.pool(question, walked)
        if not len(pool.positions):
            return []
        scores = self.scores(pool.rows)
        share = np.exp(scores - scores.max())
        share /= share.sum()
        order = np.lexsort((pool.positions, -scores))[:keep]
        return [(int(pool.positions[i]), float(share[i])) for i in order]

    def save(self, path: Path) -> None:
        facts = {"version": VERSION, "members": self.members, "features": FEATURES}
        with path.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **self.weights)  # type: ignore[arg-type]


def load(path: Path, graph: TextGraph, embedder: Embedder, types: LightModel) -> TrainedRanker:
    """Raises SourceError when the file is no such ranker. Nothing in it is executed."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            if facts["version"] != VERSION or tuple(facts["features"]) != FEATURES:
                raise SourceError(f"{path} was trained by another rowhop; train the paths again.")
            weights = {k: file[k] for k in file.files if k != "facts"}
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise SourceError(f"{path} is not a trained ranker: {error}.") from error
    return TrainedRanker(Features(graph, embedder, types), weights, int(facts["members"]))
