"""What solved questions teach about new ones: which route a question of like wording took.

A lesson is an entry of `rowhop.memory` in SPARQL: the question with its topic masked, and the route as a property path.
Lessons are learnt in `rowhop.learn.routes`; here they are kept, read and asked.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.errors import SourceError
from rowhop.graph import Hop
from rowhop.graph.verbal import Lexicon
from rowhop.memory import Entry, Memory
from rowhop.models import Embedder

if TYPE_CHECKING:
    import numpy as np

NEIGHBOURS = 20  # solved questions that vote
SHARPNESS = 8  # power of the similarity: near-identical wordings outweigh merely related ones
TOLD = 2  # of them that a prompt shows
ENTRIES, WEIGHTS = "lessons.jsonl", "weights.json"
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
class Opinion:
    """What the nearest solved questions say, as shares of their votes: for whole routes, for a route's last hop, for
    its number of hops. `near` is the likeness of the nearest one. `meaning` and `kind` are the mean vectors of their
    routes' words and of what those lead to, None where nothing was learnt."""

    routes: Mapping[tuple[Hop, ...], float]
    last: Mapping[Hop, float]
    lengths: Mapping[int, float]
    near: float = 0.0
    meaning: np.ndarray | None = None
    kind: np.ndarray | None = None
    told: tuple[Entry, ...] = ()


class Lessons:
    """`weights` are those of the ranking of routes, where they were learnt with the lessons (see `ranker`)."""

    def __init__(self, entries: Sequence[Entry], embedder: Embedder, weights: Sequence[float] = ()):
        self._known = [(e, h) for e in entries if e.language == "sparql" and (h := hops_of(e.code))]
        self._embedder = embedder
        self.weights = tuple(weights)
        self._vectors: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def opinion(self, question: str, lexicon: Lexicon, without: int = -1) -> Opinion:
        """On a masked question. `without` leaves out one entry, by its place: a case must not vote for itself."""
        import numpy as np

        if not self._known:
            return Opinion({}, {}, {})
        if self._vectors is None:
            self._vectors = (
                self._embedder.embed([e.question for e, _ in self._known]),
                self._embedder.embed([lexicon.whole(h) for _, h in self._known]),
                self._embedder.embed([lexicon.target(h) or "thing" for _, h in self._known]),
            )
        questions, routes, kinds = self._vectors
        near = questions @ self._embedder.embed([question])[0]
        order = [int(i) for i in np.argsort(-near, kind="stable")[: 4 * NEIGHBOURS]]
        order = [i for i in order if i != without][:NEIGHBOURS]
        weights = [float(max(near[i], 0.0)) ** SHARPNESS for i in order]
        total = sum(weights)
        if not total:
            return Opinion({}, {}, {})
        votes: dict[tuple[Hop, ...], float] = defaultdict(float)
        last: dict[Hop, float] = defaultdict(float)
        lengths: dict[int, float] = defaultdict(float)
        for i, weight in zip(order, weights, strict=True):
            hops = self._known[i][1]
            votes[hops] += weight / total
            last[hops[-1]] += weight / total
            lengths[len(hops)] += weight / total
        shares = np.array(weights, np.float32) / total
        told = tuple(self._known[i][0] for i in order[:TOLD])
        meaning, kind = shares @ routes[order], shares @ kinds[order]
        return Opinion(votes, last, lengths, float(near[order[0]]), meaning, kind, told)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(asdict(e), ensure_ascii=False) for e, _ in self._known]
        (folder / ENTRIES).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        (folder / WEIGHTS).write_text(json.dumps(self.weights), encoding="utf-8")


def read(folder: Path, embedder: Embedder, more: Sequence[Entry] = ()) -> Lessons:
    """What was learnt about one graph, with `more` entries of the user's own; nothing where nothing was."""
    if not (folder / ENTRIES).exists():
        return Lessons(more, embedder)
    entries = Memory(None, folder / ENTRIES, seeded=False).entries()
    try:
        weights = [float(w) for w in json.loads((folder / WEIGHTS).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise SourceError(f"What was learnt in {folder} cannot be read: {error}. Learn it anew.") from error
    return Lessons([*entries, *more], embedder, weights)
