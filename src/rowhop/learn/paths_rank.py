"""Trains all that plans on one graph: relation paths, the answer's type, and the ranker over both (stacked).

The ranker must not learn from predictions that the other two made about their own lessons: those are made in folds,
each by models that have not seen the question.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rowhop.agents.pasemiqa.generator import Start, Trained, Walked, decode, place
from rowhop.agents.pasemiqa.planner import PATHS, RANKER, TYPES
from rowhop.agents.pasemiqa.ranker import FEATURES, Features, Pool, TrainedRanker
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_match import Mode, match
from rowhop.learn.paths import Adam, Example, Fit, Lesson, Progress, Training, examples_from, train
from rowhop.models import Embedder


@dataclass(frozen=True)
class Solved:
    """A question with its gold nodes by id; `topics` are nodes known beforehand."""

    question: str
    gold: tuple[str, ...]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planning:
    """All that was trained; `ranker` None where there was too little to train it on, or no text."""

    paths: Fit | None
    types: Fit | None
    ranker: TrainedRanker | None
    questions: int
    seconds: float

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if self.paths is not None:
            self.paths.model.save(folder / PATHS)
        if self.types is not None:
            self.types.model.save(folder / TYPES)
        if self.ranker is not None:
            self.ranker.save(folder / RANKER)


@dataclass(frozen=True)
class RankTraining:
    """`least` questions are needed for the ranker; the rest are the small networks' knobs."""

    least: int = 40
    folds: int = 3
    members: int = 3
    hidden: int = 8
    rounds: int = 12
    rate: float = 3e-3
    decay: float = 1e-2
    dropout: float = 0.1
    longest: int = 2
    beam: int = 8
    mode: Mode = "fused"


_LIGHT = Training(hidden=32, rounds=18, batch=64)
_THOROUGH = Training(rounds=40)


@dataclass(frozen=True)
class _Case:
    question: str
    gold: frozenset[int]
    starts: tuple[Start, ...]


def train_planning(
    graph: TextGraph,
    embedder: Embedder,
    solved: Sequence[Solved],
    how: RankTraining = RankTraining(),
    light: Training = _LIGHT,
    progress: Progress | None = None,
) -> Planning:
    """Raises SourceError when no question has gold nodes that the graph holds."""
    begun = time.monotonic()
    cases = _cases(graph, solved, how.mode)
    if not cases:
        raise SourceError("There is nothing to train on: no question has gold nodes that the graph holds.")
    if not graph.has_text:
        return _paths_only(graph, embedder, cases, how, progress, begun)
    lessons = [_lessons(graph, [c], how.longest) for c in cases]
    if progress:
        progress("tracing", len(cases), len(cases))
    everything = np.ones(len(cases), bool)
    paths, types = _models(graph, embedder, cases, lessons, everything, light)
    ranker = None
    if len(cases) >= how.least:
        fold = np.random.default_rng(0).integers(0, how.folds, len(cases))
        pools: list[Pool | None] = [None] * len(cases)
        for number in range(how.folds):
            p, t = _models(graph, embedder, cases, lessons, fold != number, light)
            features = Features(graph, embedder, t.model)
            for i in np.flatnonzero(fold == number):
                walked = _walk(graph, embedder, p, cases[i], how)
                pools[i] = features.pool(cases[i].question, walked)
            if progress:
                progress("ranking", number + 1, how.folds)
        ranker = _fit(Features(graph, embedder, types.model), pools, cases, how)
    return Planning(paths, types, ranker, len(cases), time.monotonic() - begun)


def _paths_only(
    graph: TextGraph,
    embedder: Embedder,
    cases: Sequence[_Case],
    how: RankTraining,
    progress: Progress | None,
    begun: float,
) -> Planning:
    """A graph of bare names: nothing but paths can tell its nodes apart."""
    lessons = [Lesson(c.question, s, c.gold) for c in cases for s in c.starts]
    examples = examples_from(graph, lessons, how.longest, progress)
    return Planning(train(examples, embedder, _THOROUGH, progress), None, None, len(cases), time.monotonic() - begun)


def _cases(graph: TextGraph, solved: Sequence[Solved], mode: Mode) -> list[_Case]:
    kinds, kind = graph.store.kinds, graph.store.kind
    cases = []
    for one in solved:
        gold = frozenset(graph.store.positions(one.gold).values())
        if not gold:
            continue
        given = graph.store.positions(one.topics)
        starts = [Start(p, kinds[kind[p]], *place(one.question, t)) for t, p in given.items()]
        if not starts:
            found = {m.position: m for m in reversed(match(graph, one.question, mode, 1)) if m.how != "text"}
            starts = [Start(m.position, kinds[kind[m.position]], m.start, m.end, m.score) for m in found.values()]
        cases.append(_Case(one.question, gold, tuple(starts)))
    return cases


def _lessons(graph: TextGraph, cases: Sequence[_Case], longest: int) -> list[Example]:
    return examples_from(graph, [Lesson(c.question, s, c.gold) for c in cases for s in c.starts], longest)


def _models(
    graph: TextGraph,
    embedder: Embedder,
    cases: Sequence[_Case],
    lessons: Sequence[Sequence[Example]],
    kept: np.ndarray,
    light: Training,
) -> tuple[Fit | None, Fit]:
    examples = [e for some, keep in zip(lessons, kept, strict=True) if keep for e in some]
    paths = train(examples, embedder, light) if examples else None
    asked = []
    for case, keep in zip(cases, kept, strict=True):
        if keep:
            counts = Counter(graph.store.kinds[graph.store.kind[p]] for p in case.gold)
            total = sum(counts.values())
            asked.append(Example(case.question, "", tuple(((k,), n / total) for k, n in counts.items())))
    return paths, train(asked, embedder, light)


def _walk(graph: TextGraph, embedder: Embedder, paths: Fit | None, case: _Case, how: RankTraining) -> list[Walked]:
    if paths is None or not case.starts:
        return []
    return decode(graph, Trained(paths.model, embedder), case.question, case.starts, how.beam, how.longest)


def _fit(
    features: Features, pools: Sequence[Pool | None], cases: Sequence[_Case], how: RankTraining
) -> TrainedRanker | None:
    """Listwise: half the target lies evenly on the gold nodes, half where the model already finds one of them."""
    pairs = [
        (pool.rows, np.isin(pool.positions, list(case.gold)))
        for pool, case in zip(pools, cases, strict=True)
        if pool is not None
    ]
    pairs = [(x, y) for x, y in pairs if y.any()]
    if len(pairs) < how.least // 2:
        return None
    rows = np.concatenate([x for x, _ in pairs])
    weights = {"mean": rows.mean(0), "deviation": rows.std(0) + 1e-3}
    pairs = [((x - weights["mean"]) / weights["deviation"], y) for x, y in pairs]
    for member in range(how.members):
        weights |= {f"{k}{member}": w for k, w in _member(pairs, how, member).items()}
    return TrainedRanker(features, weights, how.members)


def _member(pairs: Sequence[tuple[np.ndarray, np.ndarray]], how: RankTraining, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    width = len(FEATURES)
    w = {
        "a": random.standard_normal((width, how.hidden)) / np.sqrt(width),
        "b": np.zeros(how.hidden),
        "v": random.standard_normal(how.hidden) * 0.1,
        "l": np.zeros(width),
    }
    optimiser = Adam(how.rate, how.decay)
    for number in range(how.rounds):
        optimiser.rate = how.rate * 0.5 * (1 + np.cos(np.pi * number / how.rounds))
        for i in random.permutation(len(pairs)):
            x, y = pairs[i]
            x = x * (random.random(width) >= how.dropout)
            h = np.tanh(x @ w["a"] + w["b"])
            scores = h @ w["v"] + x @ w["l"]
            p = np.exp(scores - scores.max())
            p /= p.sum()
            target = 0.5 * y * p / max(float((y * p).sum()), 1e-12) + 0.5 * y / y.sum()
            error = p - target
            back = np.outer(error, w["v"]) * (1 - h * h)
            optimiser.update(w, {"a": x.T @ back, "b": back.sum(0), "v": h.T @ error, "l": x.T @ error})
    return w
