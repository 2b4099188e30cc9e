"""Routes: the ways that lead from a node to others, found by looking at the graph and ranked by meaning.

A leap is one step of thought: a hop, or two where the node between has no name. Only leaps that exist are offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowhop.graph import Graph, Hop, Node, around, step
from rowhop.graph.verbal import Lexicon
from rowhop.models import Embedder

if TYPE_CHECKING:
    import numpy as np

Leap = tuple[Hop, ...]

LOOKED_AT = 40  # nodes of one layer whose relations are read; a hub's neighbours are much alike
FURTHER = 12  # the same for layers beyond the first, which are many
PRUNE_ABOVE = 70  # the paper's threshold for pruning by embedding
WIDE = 400  # routes of one length that are walked further
KEPT = 120  # routes of each length beyond the first that are ranked by their whole text


@dataclass(frozen=True)
class Route:
    """`score` is the nearness in meaning to the question; higher is nearer."""

    start: str
    leaps: tuple[Leap, ...]
    score: float = 0.0

    @property
    def hops(self) -> tuple[Hop, ...]:
        return tuple(h for leap in self.leaps for h in leap)


class Explorer:
    """Finds and ranks leaps and routes. Keeps the vectors of relations: they are few and come again."""

    def __init__(self, graph: Graph, embedder: Embedder, limit: int = 1000):
        self.graph = graph
        self.embedder = embedder
        self.limit = limit
        self.lexicon = Lexicon(graph.schema().relations)
        self._vectors: dict[str, np.ndarray] = {}

    # ---- what there is

    def leaps(self, nodes: Sequence[Node], looked_at: int = LOOKED_AT) -> tuple[Leap, ...]:
        """Every leap from any of the nodes, in a fixed order."""
        ends: dict[Hop, dict[str, Node]] = {}
        for hops in around(self.graph, [n.id for n in nodes[:looked_at]]).values():
            for hop, some in hops.items():
                ends.setdefault(hop, {}).update((n.id, n) for n in some)
        found: dict[Leap, None] = {}
        for hop, reached in ends.items():
            nameless = [id for id, n in reached.items() if not n.named]
            if len(nameless) < len(reached):
                found[(hop,)] = None
            back = Hop(hop.relation, not hop.inverse)
            for onward in around(self.graph, nameless[:looked_at]).values():
                for second, some in onward.items():
                    # Back to where one came from is no leap, unless others took part in the same event.
                    if any(n.named for n in some) and (second != back or len(some) > 1):
                        found[(hop, second)] = None
        return tuple(found)

    def ends(self, nodes: Iterable[Node], leap: Leap) -> tuple[Node, ...]:
        """The named nodes a leap leads to."""
        here: Sequence[Node] = tuple(nodes)
        for i, hop in enumerate(leap):
            here = step(self.graph, here, hop, self.limit)
            if i + 1 < len(leap):
                here = [n for n in here if not n.named]
        return tuple(n for n in here if n.named)

    def walk(self, route: Route) -> tuple[Node, ...]:
        start = self.graph.node(route.start)
        here: tuple[Node, ...] = (start,) if start else ()
        for leap in route.leaps:
            here = self.ends(here, leap)
        return here

    # ---- which are meant

    def rank_leaps(self, leaps: Sequence[Leap], texts: Sequence[str]) -> list[tuple[Leap, float]]:
        """Nearest first to what is looked for; `texts` are ways to say it."""
        if not leaps:
            return []
        wanted = self._wanted(texts)
        self._embed([self.lexicon.whole(leap) for leap in leaps])
        scores = [float(self._leap_vectors(leap) @ wanted) for leap in leaps]
        order = sorted(range(len(leaps)), key=lambda i: (-scores[i], str(leaps[i])))
        return [(leaps[i], scores[i]) for i in order]

    def routes(self, start: Node, question: str, depth: int, keep: int = KEPT) -> list[Route]:
        """Routes of 1 to `depth` leaps, the nearest to the question first: all of one leap, and of each further
        length the best `keep`."""
        wanted = self._wanted((masked(question, [start.name]), question))
        layer: list[tuple[tuple[Leap, ...], tuple[Node, ...]]] = [((), (start,))]
        best: list[Route] = []
        for level in range(1, depth + 1):
            grown: list[tuple[tuple[Leap, ...], tuple[Node, ...]]] = []
            for leaps, here in layer:
                onward = self.leaps(here, LOOKED_AT if level == 1 else FURTHER)
                onward = tuple(leap for leap in onward if not _circles((*leaps, leap)))
                self.vectors([self.lexicon.whole(leap) for leap in onward])
                grown += [((*leaps, leap), here) for leap in onward]
            scored = [(self._added(leaps, wanted), leaps, here) for leaps, here in grown]
            scored.sort(key=lambda g: (-g[0], str(g[1])))
            chosen = scored if level == 1 else scored[:keep]
            best += [Route(start.id, leaps, score) for score, leaps, _ in chosen]
            if level < depth:
                reached = [(leaps, self.ends(here[:FURTHER], leaps[-1])) for _, leaps, here in chosen[:WIDE]]
                layer = [(leaps, ends) for leaps, ends in reached if ends]
        return best

    # ---- vectors

    def _wanted(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        mean: np.ndarray = np.mean([self._vector(t) for t in texts], axis=0)
        return mean

    def _leap_vectors(self, leap: Leap) -> np.ndarray:
        return self._vector(self.lexicon.whole(leap))

    def _added(self, leaps: Sequence[Leap], wanted: np.ndarray) -> float:
        """Nearness of the sum of the leaps' vectors: no text has to be embedded for a route's first ranking."""
        import numpy as np

        total = np.sum([self._leap_vectors(leap) for leap in leaps], axis=0)
        return float(total @ wanted / (np.linalg.norm(total) or 1.0))

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """One row per text; each text is embedded once in the explorer's life."""
        import numpy as np

        return self._embed(texts) if texts else np.zeros((0, 0), np.float32)

    def _vector(self, text: str) -> np.ndarray:
        if text not in self._vectors:
            self._vectors[text] = self.embedder.embed([text])[0]
        return self._vectors[text]

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        import numpy as np

        new = [t for t in dict.fromkeys(texts) if t not in self._vectors]
        if new:
            self._vectors.update(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self._vectors[t] for t in texts])


def _circles(leaps: Sequence[Leap]) -> bool:
    """There, back and there again: what this reaches, the first leap reaches already."""
    return len(leaps) > 2 and leaps[-1] == leaps[-3] and leaps[-2] == back(leaps[-1])


def back(leap: Leap) -> Leap:
    """The same way in the other direction."""
    return tuple(Hop(h.relation, not h.inverse) for h in reversed(leap))


def masked(question: str, names: Sequence[str]) -> str:
    """The question with the topics' names taken out: their words would pull towards relations of like words.

    >>> masked("who wrote The Art of War?", ["The Art of War"])
    'who wrote X?'
    >>> masked("what did ben franklin invent", ["Benjamin Franklin"])
    'what did X invent'
    """
    for name in sorted(names, key=len, reverse=True):
        spot = re.compile(rf"\[?{re.escape(name)}\]?", re.IGNORECASE)
        if spot.search(question):
            question = spot.sub("X", question)
            continue
        stems = [w[:4].lower() for w in re.findall(r"\w+", name) if len(w) > 2]
        heads = [w[:3].lower() for w in re.findall(r"\w+", name) if len(w) > 2]
        parts = []
        for word in question.split():
            bare = re.sub(r"('s)?\W*$", "", word).lower()
            known = len(bare) > 2 and (bare[:4] in stems or (bare in heads))
            parts.append("X" if known else word)
        question = re.sub(r"X( X)+", "X", " ".join(parts))
    return question
