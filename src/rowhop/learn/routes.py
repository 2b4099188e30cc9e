"""Learning routes for PPoGA on one graph, from questions whose answers are known: lessons, and the weights of signs.

A lesson is the route that reaches the answers and least else. The weights are fitted on the same questions, each
ranked without its own vote. Nothing is learnt about names: topics are masked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from rowhop.agents.ppoga.candidates import Ranked, Way, candidates, ends
from rowhop.agents.ppoga.lessons import Lessons, sparql
from rowhop.agents.ppoga.ranker import SIGNS
from rowhop.errors import SourceError
from rowhop.graph import Node
from rowhop.graph.linking import Linker
from rowhop.graph.routes import Explorer, Route, masked
from rowhop.learn.paths_rank import Solved
from rowhop.memory import Entry

if TYPE_CHECKING:
    import numpy as np

FEW = 6  # nodes of a layer that a first look follows
PROMISING = 8  # ways that are walked to their end after the first look
ENOUGH = 0.5  # F1 with the answers from which a way is a lesson
FEWEST = 40  # cases for fitting weights; with less, the usual ones are as good


@dataclass(frozen=True)
class RouteTraining:
    """`weighed` cases at most are ranked anew to fit the weights; all give lessons."""

    depth: int = 2
    weighed: int = 300
    rounds: int = 400
    rate: float = 0.05
    decay: float = 0.003


@dataclass(frozen=True)
class LearntRoutes:
    """`loss` is the mean of the fitted cases: minus the logarithm of the chance given to the right ways."""

    lessons: Lessons
    questions: int
    loss: float
    seconds: float


@dataclass(frozen=True)
class _Case:
    question: str
    topics: tuple[Node, ...]
    gold: frozenset[str]


def train_routes(
    explorer: Explorer,
    solved: Sequence[Solved],
    how: RouteTraining = RouteTraining(),
    progress: Callable[[str, int, int], object] = lambda what, done, of: None,
) -> LearntRoutes:
    """Questions whose topics are not in the graph, or whose answers no way reaches, teach nothing."""
    start = time.monotonic()
    linker = Linker(explorer.graph, explorer.embedder)
    entries: list[Entry] = []
    cases: list[_Case] = []
    nothing = Lessons([], explorer.embedder)
    for number, one in enumerate(solved, 1):
        progress("routes", number, len(solved))
        try:
            links = linker.topics(one.topics, one.question) if one.topics else linker.mentions(one.question)
        except SourceError:
            continue
        case = _Case(one.question, tuple(x.node for x in links), frozenset(one.gold))
        ranked = candidates(explorer, nothing, case.question, case.topics, how.depth)
        best = best_ways(explorer, ranked, case.gold)
        if best:
            entries.append(lesson(explorer, case.question, case.topics, best[0]))
            cases.append(case)
    lessons = Lessons(entries, explorer.embedder)
    weights, loss = _weights(explorer, lessons, cases, how, progress)
    return LearntRoutes(
        Lessons(entries, explorer.embedder, weights), len(entries), loss, round(time.monotonic() - start, 1)
    )


def lesson(explorer: Explorer, question: str, topics: Sequence[Node], way: Way) -> Entry:
    said = explorer.lexicon.phrase(way.route.leaps, "X")
    code = sparql(["?topic"], [way.route.hops])
    return Entry(masked(question, [t.name for t in topics]), "", said, code, "sparql", "graph", "", "gold answer")


def best_ways(explorer: Explorer, ranked: Ranked, gold: frozenset[str]) -> list[Way]:
    """The ways that fit the answers best, the shortest and likeliest first; [] where none fits well enough."""
    order = sorted(range(len(ranked.ways)), key=lambda i: -ranked.chances[i])
    looks = [(_look(explorer, ranked.ways[i], gold), -n, ranked.ways[i]) for n, i in enumerate(order)]
    looks = sorted((x for x in looks if x[0] > 0), key=lambda x: (-x[0], len(x[2].route.leaps), -x[1]))[:PROMISING]
    fits = [(_fit(explorer, way, gold), -len(way.route.leaps), rank, way) for _, rank, way in looks]
    if not fits:
        return []
    most = max(f[0] for f in fits)
    if most < ENOUGH:
        return []
    good = sorted((f for f in fits if f[0] > most - 0.01), key=lambda f: (-f[1], -f[2]))
    return [f[3] for f in good if f[1] == good[0][1]]


def _look(explorer: Explorer, way: Way, gold: frozenset[str]) -> float:
    """Share of answers among a few of the nodes that a way leads to."""
    if way.other is not None:
        found = ends(explorer, way)
    else:
        found = (way.start,)
        for leap in way.route.leaps:
            found = explorer.ends(found[:FEW], leap)
    names = {n.name for n in found if n.id != way.start.id}
    return len(names & gold) / len(names) if names else 0.0


def _fit(explorer: Explorer, way: Way, gold: frozenset[str]) -> float:
    names = {n.name for n in ends(explorer, way)}
    return 2 * len(names & gold) / (len(names) + len(gold)) if names else 0.0


# ---- the weights


def _weights(
    explorer: Explorer,
    lessons: Lessons,
    cases: Sequence[_Case],
    how: RouteTraining,
    progress: Callable[[str, int, int], object],
) -> tuple[tuple[float, ...], float]:
    import numpy as np

    data: list[tuple[np.ndarray, np.ndarray]] = []
    some = list(enumerate(cases))[:: max(1, len(cases) // how.weighed)][: how.weighed]
    for number, (place, case) in enumerate(some, 1):
        progress("weights", number, len(some))
        ranked = candidates(explorer, lessons, case.question, case.topics, how.depth, place)
        right = {_key(w) for w in best_ways(explorer, ranked, case.gold)}
        wanted = np.array([_key(w) in right for w in ranked.ways], np.float64)
        if wanted.any():
            data.append((ranked.rows, wanted / wanted.sum()))
    if len(data) < FEWEST:
        return (), 0.0
    return fitted(data, how)


def _key(way: Way) -> tuple[Route, Route | None, int]:
    bare = Route(way.route.start, way.route.leaps)
    return bare, Route(way.other.start, way.other.leaps) if way.other else None, way.meets


def fitted(data: Sequence[tuple[np.ndarray, np.ndarray]], how: RouteTraining) -> tuple[tuple[float, ...], float]:
    """Softmax regression by Adam over whole cases: which of a question's ways is right."""
    import numpy as np

    every = np.concatenate([rows for rows, _ in data])
    mean, spread = every.mean(0), every.std(0) + 1e-6
    spread[spread < 1e-3] = 1e9  # a sign that hardly ever differs has no weight
    scaled = [((rows - mean) / spread, wanted) for rows, wanted in data]
    weights, first, second = (np.zeros(len(SIGNS)) for _ in range(3))
    for step in range(1, how.rounds + 1):
        slope = how.decay * weights
        for rows, wanted in scaled:
            slope = slope + rows.T @ (_shares(rows @ weights) - wanted) / len(scaled)
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope * slope
        pace = how.rate / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        weights = weights - pace * first / (1 - 0.9**step)
    given = [float(_shares(rows @ weights)[wanted > 0].sum()) for rows, wanted in scaled]
    losses = [-log(max(share, 1e-9)) for share in given]
    return tuple(float(w) for w in weights / spread), sum(losses) / len(losses)


def _shares(scores: np.ndarray) -> np.ndarray:
    import numpy as np

    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())
