"""What solved questions teach about new ones: which route a question of like wording took.

A lesson is an entry of `rowhop.memory` in SPARQL: the question with its topic masked, and the route as a property path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowhop.graph import Graph, Hop, Node, Path, walk
from rowhop.graph.routes import Explorer, Leap, masked
from rowhop.memory import Entry
from rowhop.models import Embedder

if TYPE_CHECKING:
    import numpy as np

NEIGHBOURS = 8  # solved questions that vote
SHARPNESS = 10  # power of the similarity: near-identical wordings outweigh merely related ones
_STEP = re.compile(r"(\^?)<([^<>\s]+)>")


def sparql(starts: Sequence[str], routes: Sequence[Sequence[Hop]]) -> str:
    """A query that gives what the routes reach, all of them at once.

    >>> sparql(["urn:a"], [[Hop("urn:r"), Hop("urn:s", True)]])
    'SELECT DISTINCT ?answer WHERE { <urn:a> <urn:r>/^<urn:s> ?answer }'
    """
    ways = []
    for start, hops in zip(starts, routes, strict=True):
        way = "/".join(f"{'^' if h.inverse else ''}<{h.relation}>" for h in hops)
        term = start if start.startswith(("?", '"', "_:")) else f"<{start}>"
        ways.append(f"{term} {way} ?answer" if hops else f"VALUES ?answer {{ {term} }}")
    return f"SELECT DISTINCT ?answer WHERE {{ {' . '.join(ways)} }}"


def hops_of(code: str) -> tuple[Hop, ...]:
    """The route of a lesson's query; () where it has more than one."""
    body = code[code.find("{") + 1 :].partition("?topic ")[2]
    if " . " in body:
        return ()
    return tuple(Hop(iri, bool(back)) for back, iri in _STEP.findall(body))


@dataclass(frozen=True)
class Hint:
    """`share` of the neighbours' votes that a route has; `near` is the likeness of the nearest."""

    hops: tuple[Hop, ...]
    share: float
    near: float


class Lessons:
    def __init__(self, entries: Sequence[Entry], embedder: Embedder):
        self._known = [(e, h) for e in entries if e.language == "sparql" and (h := hops_of(e.code))]
        self._embedder = embedder
        self._vectors: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self._known)

    def hints(self, question: str, topics: Sequence[str], graph: Graph, start: Node) -> tuple[list[Hint], list[Entry]]:
        """Routes of the nearest solved questions that exist from `start`, and those questions, nearest first."""
        import numpy as np

        if not self._known:
            return [], []
        if self._vectors is None:
            self._vectors = self._embedder.embed([e.question for e, _ in self._known])
        near = self._vectors @ self._embedder.embed([masked(question, topics)])[0]
        votes: dict[tuple[Hop, ...], float] = {}
        exists: dict[tuple[Hop, ...], bool] = {}
        used: list[Entry] = []
        total, best = 0.0, 0.0
        for i in np.argsort(-near, kind="stable")[: 10 * NEIGHBOURS]:
            entry, hops = self._known[int(i)]
            if hops not in exists:
                exists[hops] = bool(walk(graph, Path(start.id, hops), 50))
            if not exists[hops]:
                continue
            weight = float(max(near[int(i)], 0.0)) ** SHARPNESS
            votes[hops] = votes.get(hops, 0.0) + weight
            total, best = total + weight, max(best, float(near[int(i)]))
            used.append(entry)
            if len(used) == NEIGHBOURS:
                break
        hints = [Hint(h, v / total, best) for h, v in votes.items()] if total else []
        return sorted(hints, key=lambda h: (-h.share, str(h.hops))), used


def solve(
    explorer: Explorer, question: str, topic: Node, gold: frozenset[str], depth: int, dataset: str = ""
) -> Entry | None:
    """A lesson from a question with its gold answers: the shortest route that reaches them and least else.

    None where no route reaches more of them than of other nodes. Among equals, the nearest in meaning is taken.
    """
    best: tuple[float, int, float] = (0.0, 0, 0.0)
    chosen: tuple[Leap, ...] = ()
    for route in explorer.routes(topic, question, depth, 40):
        names = {n.name for n in explorer.walk(route)} - {topic.name}
        fit = len(names & gold) / len(names | gold) if names else 0.0
        rank = (round(fit, 3), -len(route.leaps), route.score)
        if rank > best:
            best, chosen = rank, route.leaps
    if best[0] < 0.5:
        return None
    hops = tuple(h for leap in chosen for h in leap)
    said = explorer.lexicon.phrase(chosen, "X")
    code = sparql(["?topic"], [hops])
    return Entry(masked(question, [topic.name]), "", said, code, "sparql", "graph", dataset, "gold answer")
