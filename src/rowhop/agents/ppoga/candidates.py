"""The ways through the graph that may answer a question: routes from each topic, and pairs of routes that meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowhop.agents.ppoga.lessons import Lessons
from rowhop.agents.ppoga.ranker import chances, joined, table
from rowhop.graph import Hop, Node
from rowhop.graph.boxes import Ways
from rowhop.graph.routes import Explorer, Route, masked
from rowhop.memory import Entry

if TYPE_CHECKING:
    import numpy as np

FEW_RELATIONS = 60  # up to so many, three leaps are looked at
TOPICS = 3  # named in one question; more are hardly ever meant
NARROWED, SHORT, NARROWING = 15, 20, 10  # routes tried as the first of a pair; short ones, any ones as the second


@dataclass(frozen=True)
class Way:
    """One route, or two that meet: then `other` narrows what `route` has reached after its leap `meets` (from 1)."""

    route: Route
    start: Node
    other: Route | None = None
    second: Node | None = None
    meets: int = 0

    @property
    def starts(self) -> tuple[Node, ...]:
        return (self.start,) if self.second is None else (self.start, self.second)


@dataclass(frozen=True)
class Ranked:
    """`rows` are the signs of each way, `chances` the logarithms of how likely it is; in the order of `ways`."""

    ways: tuple[Way, ...]
    rows: np.ndarray
    chances: np.ndarray
    told: tuple[Entry, ...] = ()


def candidates(
    explorer: Explorer, lessons: Lessons, question: str, topics: Sequence[Node], depth: int, without: int = -1
) -> Ranked:
    """In no order. `without` is the place of a lesson that has no vote, since it was learnt from this question."""
    import numpy as np

    asked = (masked(question, [t.name for t in topics]), question)
    opinion = lessons.opinion(asked[0], explorer.lexicon, without)
    ways: list[Way] = []
    tables: list[np.ndarray] = []
    per_topic: list[tuple[list[Way], np.ndarray]] = []
    for topic in topics[:TOPICS]:
        routes = explorer.routes(topic, question, depth)
        known = {r.hops for r in routes}
        likely = sorted(opinion.routes, key=lambda h: (-opinion.routes[h], str(h)))[:8]
        # A route that the neighbours took, but that was not among the nearest in meaning.
        learnt = [Route(topic.id, tuple((h,) for h in hops)) for hops in likely if hops not in known]
        routes += [r for r in learnt if explorer.walk(r)]
        if routes:
            own = [Way(r, topic) for r in routes]
            rows = table(explorer, asked, routes, opinion)
            per_topic.append((own, rows))
            ways += own
            tables.append(rows)
    if not ways:
        return Ranked((), np.zeros((0, 0)), np.zeros(0), opinion.told)
    pairs, rows_ = _pairs(explorer, per_topic, lessons.weights)
    rows = np.concatenate([*tables, rows_]) if pairs else np.concatenate(tables)
    return Ranked((*ways, *pairs), rows, chances(rows, lessons.weights), opinion.told)


def likely(explorer: Explorer, lessons: Lessons, most: int = 3) -> Ways:
    """The likeliest ways to different nodes, for BOXes that hold no more than a question needs."""
    depth = 3 if len(explorer.graph.schema().relations) <= FEW_RELATIONS else 2

    def ways(question: str, topics: Sequence[Node]) -> list[tuple[Node, tuple[Hop, ...]]]:
        ranked = candidates(explorer, lessons, question, topics, depth)
        chosen: dict[tuple[str, ...], tuple[Node, tuple[Hop, ...]]] = {}
        for i in (-ranked.chances).argsort(kind="stable")[:24]:
            way = ranked.ways[int(i)]
            key = tuple(sorted(n.id for n in ends(explorer, way)))
            if key and way.other is None and len(chosen) < most:
                chosen.setdefault(key, (way.start, way.route.hops))
        return list(chosen.values())

    return ways


def _pairs(
    explorer: Explorer, per_topic: Sequence[tuple[list[Way], np.ndarray]], weights: Sequence[float]
) -> tuple[list[Way], list[np.ndarray]]:
    """Two topics: routes that meet, at the answer or on the way to it. Only what narrows is of use."""
    pairs: list[Way] = []
    rows: list[np.ndarray] = []
    if len(per_topic) < 2:
        return pairs, rows
    topics = {ways[0].start.id for ways, _ in per_topic}
    for a, b in ((0, 1), (1, 0)):
        (firsts, first_rows), (others, other_rows) = per_topic[a], per_topic[b]
        order = [int(i) for i in (-chances(other_rows, weights)).argsort(kind="stable")]
        short = [i for i in order if len(others[i].route.leaps) == 1][:SHORT]
        deep = [i for i in order if len(others[i].route.leaps) <= 2][:NARROWING]
        ends = {j: {n.id for n in explorer.walk(others[j].route)} - topics for j in dict.fromkeys([*short, *deep])}
        for i in [int(i) for i in (-chances(first_rows, weights)).argsort(kind="stable")][:NARROWED]:
            reached = [{n.id for n in layer} for layer in layers(explorer, firsts[i].route, firsts[i].start)]
            for j, there in ends.items():
                at = _meeting(reached, there, last=a == 0)
                if at:
                    one, two = firsts[i], others[j]
                    pairs.append(Way(one.route, one.start, two.route, two.start, at))
                    rows.append(joined(first_rows[i], other_rows[j]))
    return pairs, rows


def _meeting(reached: Sequence[set[str]], there: set[str], last: bool) -> int:
    """After which leap, from 1, the second route narrows the first; 0 where it does not. `last`: also at the end."""
    for at in range(len(reached), 0, -1):
        if at == len(reached) and not last:
            continue
        both = reached[at - 1] & there
        if both and (at == len(reached) or len(both) < len(reached[at - 1])):
            return at
    return 0


def layers(explorer: Explorer, route: Route, start: Node) -> list[tuple[Node, ...]]:
    """The nodes after each leap."""
    found: list[tuple[Node, ...]] = []
    here: tuple[Node, ...] = (start,)
    for leap in route.leaps:
        here = explorer.ends(here, leap)
        found.append(here)
    return found


def ends(explorer: Explorer, way: Way) -> tuple[Node, ...]:
    """What a way leads to, without the topics themselves unless it leads to nothing else."""
    reached = layers(explorer, way.route, way.start)
    here = reached[-1]
    if way.other is not None:
        narrow = {n.id for n in explorer.walk(way.other)}
        here = tuple(n for n in reached[way.meets - 1] if n.id in narrow)
        for leap in way.route.leaps[way.meets :]:
            here = explorer.ends(here, leap)
    starts = {n.id for n in way.starts}
    return tuple(n for n in here if n.id not in starts) or here
