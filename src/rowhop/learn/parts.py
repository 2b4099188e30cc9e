"""Measures a plan and each of its parts over the same questions, without a chat model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rowhop.agents.pasemiqa.planner import Planner
from rowhop.eval import metrics
from rowhop.eval.benchmarks import Item
from rowhop.eval.statistics import Interval, Paired, interval, paired
from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_match import MODES
from rowhop.types import Question

Ranks = Callable[[Question], list[str]]  # ids of nodes, best first
FULL = "the plan"
_KEPT = 20
_FUSED = 60  # the usual constant of reciprocal rank fusion


@dataclass(frozen=True)
class Part:
    """`against` compares the full plan's Hit@1 with this part's (b - a: what the rest of the plan brings)."""

    name: str
    hit1: Interval
    hit5: float
    recall20: float
    mrr: float
    against: Paired | None

    def told(self) -> str:
        one = f"{self.name}: Hit@1 {self.hit1.mean:.3f} ({self.hit1.low:.3f} to {self.hit1.high:.3f})"
        rest = f"Hit@5 {self.hit5:.3f}, Recall@20 {self.recall20:.3f}, MRR {self.mrr:.3f}"
        against = f"; the plan {self.against.difference:+.1%}, p = {self.against.p:.3f}" if self.against else ""
        return f"{one}, {rest}{against}"


def measure(planner: Planner, items: Sequence[Item], every: bool = True) -> list[Part]:
    """The full plan first; with `every` also its parts. A question without an answer stays in the count."""
    full: list[float] = []
    found = []
    for name, rank in [(FULL, _ids(planner)), *(_parts(planner) if every else ())]:
        rankings = [(rank(i.question), i.gold.values) for i in items]
        ones = [metrics.hit_at(r, gold, 1, identifiers=True).value for r, gold in rankings]
        full = full or ones
        found.append(
            Part(
                name,
                interval(ones),
                _mean([metrics.hit_at(r, gold, 5, identifiers=True).value for r, gold in rankings]),
                _mean([metrics.recall_at(r, gold, 20).value for r, gold in rankings]),
                _mean([metrics.reciprocal_rank(r, gold).value for r, gold in rankings]),
                paired(ones, full) if name != FULL else None,
            )
        )
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def _parts(planner: Planner) -> Iterator[tuple[str, Ranks]]:
    graph, settings = planner.graph, planner.settings
    for mode in MODES:
        alone = Planner(graph, planner.scorer, None, replace(settings, mode=mode))
        yield f"path generator alone, nodes by {mode} matching", _ids(alone)
    if planner.ranker is not None:
        yield "ranker without the path generator", _ids(Planner(graph, None, planner.ranker, settings))
    yield "words alone (BM25)", lambda q: by_words(graph, q)
    yield "meaning alone", lambda q: by_meaning(graph, q)
    yield "words and meaning (rank fusion)", lambda q: fused(by_words(graph, q), by_meaning(graph, q))


def _ids(planner: Planner) -> Ranks:
    return lambda question: [c.record.id for c in planner.plan(question).candidates]


def by_words(graph: TextGraph, question: Question) -> list[str]:
    return [m.node.id for m in graph.search(question.text, _KEPT)]


def by_meaning(graph: TextGraph, question: Question) -> list[str]:
    return [m.node.id for m in graph.nearest(question.text, _KEPT)]


def fused(*rankings: Sequence[str]) -> list[str]:
    """Reciprocal rank fusion."""
    score: dict[str, float] = {}
    for ranking in rankings:
        for place, id in enumerate(ranking):
            score[id] = score.get(id, 0.0) + 1 / (_FUSED + place)
    return sorted(score, key=lambda id: -score[id])[:_KEPT]
