"""Relation paths for a question: a beam over the hops that the graph has from the planned nodes.

Only sequences of relations that exist come out. Which hop is likely is a Scorer's matter: a trained light model,
the embedder or a language model without training, or nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rowhop.agents.pasemiqa.light import STOP, TEXT, LightModel, features
from rowhop.graph import Hop
from rowhop.graph.textgraph import TextGraph
from rowhop.models import Embedder

LONGEST = 3  # hops
_PEEK = 2_000  # reached nodes whose relations are looked at
_REACH = 100_000  # reached nodes that are kept
_UNSEEN = -12.0  # log-probability of a hop that the model has never seen


@dataclass(frozen=True)
class Start:
    """A planned node: where it stands in the question (start < end, or 0, 0 where it was found by text)."""

    position: int
    kind: str
    start: int = 0
    end: int = 0
    weight: float = 1.0


@dataclass(frozen=True)
class Walked:
    """A relation path from one planned node with its probability and the nodes at its end; () hops mean "text"."""

    start: Start
    hops: tuple[Hop, ...]
    probability: float
    ends: np.ndarray = field(repr=False, compare=False)


def masked(question: str, spot: Start) -> str:
    """The question without the planned node's name: paths are learnt for every node of a type, not for one."""
    if spot.end <= spot.start:
        return question
    return f"{question[: spot.start]}{spot.kind or '…'}{question[spot.end :]}"


def place(question: str, name: str) -> tuple[int, int]:
    """Where a name stands in a question, as whole words if it can be ("It" is not in "with"); else 0, 0."""
    whole = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)
    if whole:
        return whole.span()
    at = question.find(name)
    return (at, at + len(name)) if at >= 0 and name else (0, 0)


class Scorer(Protocol):
    """`name` is told with every answer: it says who planned."""

    @property
    def name(self) -> str: ...

    def begin(self, question: str, spots: Sequence[Start]) -> list[object]:
        """What is computed once per planned node."""
        ...

    def next(self, state: object, kind: str, prefix: Sequence[str], options: Sequence[str]) -> np.ndarray:
        """Log-probabilities of `options` (hops as text, STOP, TEXT) after `prefix`."""
        ...


class Trained:
    """The trained light model."""

    def __init__(self, model: LightModel, embedder: Embedder) -> None:
        self.model, self.embedder = model, embedder

    @property
    def name(self) -> str:
        return f"trained {self.model.name}"

    def begin(self, question: str, spots: Sequence[Start]) -> list[object]:
        rows = self.model.hidden(features(self.embedder, [masked(question, s) for s in spots]))
        return list(rows)

    def next(self, state: object, kind: str, prefix: Sequence[str], options: Sequence[str]) -> np.ndarray:
        every = self.model.next(np.asarray(state), prefix, kind)
        code = self.model.token_code
        return np.array([every[code[o]] if o in code else _UNSEEN for o in options])


@dataclass
class _Partial:
    hops: tuple[tuple[int, bool], ...]
    tokens: tuple[str, ...]
    score: float
    ends: np.ndarray


def hops_from(graph: TextGraph, positions: np.ndarray) -> list[tuple[int, bool]]:
    """The hops that leave or reach a set of nodes; of a large set the first ones are looked at."""
    some = np.asarray(positions[:_PEEK], np.int64)
    found: list[tuple[int, bool]] = []
    for side, inverse in ((graph.store.out, False), (graph.store.into, True)):
        found += [(int(r), inverse) for r in np.unique(side.rows(some)[1])]
    return found


def token(graph: TextGraph, relation: int, inverse: bool) -> str:
    return str(Hop(graph.store.relations[relation], inverse))


def reach(graph: TextGraph, positions: np.ndarray, relation: int, inverse: bool, start: int) -> np.ndarray:
    """One hop further, never back to the start: a film is not among the films that share its director."""
    ends = graph.store.ends(positions, relation, inverse)
    return np.asarray(ends[ends != start][:_REACH], np.int64)


def decode(
    graph: TextGraph, scorer: Scorer, question: str, spots: Sequence[Start], beam: int = 8, longest: int = LONGEST
) -> list[Walked]:
    """The most likely paths from each planned node with their ends, best first."""
    found: list[Walked] = []
    if not spots:
        return found
    for spot, state in zip(spots, scorer.begin(question, spots), strict=True):
        found += _from_one(graph, scorer, spot, state, beam, longest)
    return sorted(found, key=lambda w: -w.probability * w.start.weight)


def _from_one(graph: TextGraph, scorer: Scorer, spot: Start, state: object, beam: int, longest: int) -> list[Walked]:
    done: list[Walked] = []
    open_ = [_Partial((), (), 0.0, np.array([spot.position], np.int64))]
    while open_:
        grown: list[tuple[float, _Partial, tuple[int, bool]]] = []
        for partial in open_:
            hops = hops_from(graph, partial.ends) if len(partial.hops) < longest else []
            last = STOP if partial.hops else TEXT
            options = [last, *(token(graph, r, i) for r, i in hops)]
            scores = scorer.next(state, spot.kind, partial.tokens, options)
            # What the graph does not have is impossible: its share goes to what is there.
            scores = scores - np.logaddexp.reduce(scores)
            done.append(_walked(graph, spot, partial, partial.score + float(scores[0])))
            grown += [(partial.score + float(s), partial, h) for s, h in zip(scores[1:], hops, strict=True)]
        grown.sort(key=lambda g: -g[0])
        open_ = []
        for score, partial, (relation, inverse) in grown[:beam]:
            ends = reach(graph, partial.ends, relation, inverse, spot.position)
            if len(ends):
                hops_ = (*partial.hops, (relation, inverse))
                open_.append(_Partial(hops_, (*partial.tokens, token(graph, relation, inverse)), score, ends))
    done.sort(key=lambda w: -w.probability)
    return done[:beam]


def _walked(graph: TextGraph, spot: Start, partial: _Partial, score: float) -> Walked:
    hops = tuple(Hop(graph.store.relations[r], inverse) for r, inverse in partial.hops)
    return Walked(spot, hops, float(np.exp(score)), partial.ends if hops else np.zeros(0, np.int64))


def spread(found: Sequence[Walked]) -> dict[int, float]:
    """Probability of each node: a path's probability shared evenly by the nodes at its end, summed over paths."""
    total: dict[int, float] = {}
    for walked in found:
        if len(walked.ends):
            share = walked.probability * walked.start.weight / len(walked.ends)
            for end in map(int, walked.ends):
                total[end] = total.get(end, 0.0) + share
    return total


def ranked(
    graph: TextGraph, found: Sequence[Walked], likeness: dict[int, float] | None = None, k: int = 20
) -> list[int]:
    """The `k` first nodes of a plan: by the best path that leads to them, then text similarity, walks, position.

    The even share alone would put the few ends of an unlikely path before the many ends of a likely one.
    """
    order: list[int] = []
    for walked in found:
        if len(order) >= k:
            break
        many = walks(graph, walked) if walked.hops else {}
        alike = likeness or {}
        ends = sorted(map(int, walked.ends), key=lambda p: (-alike.get(p, 0.0), -many.get(p, 0.0), p))
        order += [p for p in ends if p not in order][: k - len(order)]
    return order


def walks(graph: TextGraph, walked: Walked) -> dict[int, float]:
    """How many walks along the path lead to each of its ends."""
    counts = {walked.start.position: 1.0}
    for hop in walked.hops:
        side = graph.store.into if hop.inverse else graph.store.out
        relation = graph.store.relation_code[hop.relation]
        following: dict[int, float] = {}
        for position, count in list(counts.items())[:_PEEK]:
            for end in map(int, side.follow(position, relation)):
                if end != walked.start.position:
                    following[end] = following.get(end, 0.0) + count
        counts = following
    return counts
