"""Graphs: nodes joined by relations, whatever holds them (a file, an endpoint, a folder of nodes with text).

Five methods make a graph; everything else (`walk`, linking, BOXes, the agents) is written once over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

LITERAL = "literal"  # the `kind` of a node that is a value (a date, a number, a text) and not a thing

# How a node was found, from the surest to the least sure.
How = Literal["id", "name", "alias", "folded", "fuzzy", "text", "meaning"]


@dataclass(frozen=True)
class Node:
    """`id` is what the graph calls it (an IRI, `_:b1`, a literal in N-Triples form, a key); `name` is for people.

    `kind` is the name of its type, "" where the graph gives none, `LITERAL` for a value. `text` describes it.
    A node without a name of its own (an intermediate node) is named by its id, and `named` is False.
    """

    id: str
    name: str
    kind: str = ""
    text: str = ""
    named: bool = True


@dataclass(frozen=True)
class Hop:
    """One relation, along its direction or, with `inverse`, against it. `relation` is the relation's id."""

    relation: str
    inverse: bool = False

    def __str__(self) -> str:
        return f"^{self.relation}" if self.inverse else self.relation


@dataclass(frozen=True)
class Path:
    """Hops from a node on. `start` is a node's id."""

    start: str
    hops: tuple[Hop, ...] = ()

    def then(self, hop: Hop) -> Path:
        return Path(self.start, (*self.hops, hop))


@dataclass(frozen=True)
class Match:
    """A node found by `Graph.find`: `score` is 1.0 for an exact name; comparable within one answer only."""

    node: Node
    score: float = 1.0
    how: How = "name"


@dataclass(frozen=True)
class NodeType:
    id: str
    name: str
    count: int | None = None  # None where counting would cost a scan


@dataclass(frozen=True)
class Relation:
    """`domain` and `range` are names of types seen (or declared) at its two ends, the most frequent first.
    `inverse` is the id of the relation that says the same backwards, "" where none is known."""

    id: str
    name: str
    count: int | None = None
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    inverse: str = ""


@dataclass(frozen=True)
class Schema:
    """What kinds of things and relations there are, the most frequent first. `cut` says in words what was left out."""

    types: tuple[NodeType, ...] = ()
    relations: tuple[Relation, ...] = ()
    nodes: int | None = None
    triples: int | None = None
    cut: str = ""

    def relation(self, id: str) -> Relation | None:
        return next((r for r in self.relations if r.id == id), None)


@dataclass(frozen=True)
class Edge:
    """One walked edge in the direction in which the graph holds it; ids, not names."""

    subject: str
    relation: str
    object: str


class Graph(Protocol):
    """Read-only and thread-safe. `name` is what the user named it by, without any password.

    Every method may raise SourceUnavailable (an endpoint that is down or too slow).
    """

    @property
    def name(self) -> str: ...

    def schema(self) -> Schema: ...

    def find(self, text: str, k: int = 10, kind: str = "") -> tuple[Match, ...]:
        """Up to `k` nodes called `text` or much alike, best first; only of type `kind` where one is named."""
        ...

    def node(self, id: str) -> Node | None:
        """None where the graph holds no such node."""
        ...

    def hops(self, id: str) -> tuple[Hop, ...]:
        """Every relation that leaves or reaches the node, in a fixed order."""
        ...

    def follow(self, id: str, hop: Hop, limit: int = 1000) -> tuple[Node, ...]:
        """The nodes at the other end, at most `limit`, in a fixed order, each once."""
        ...

    def fingerprint(self) -> str:
        """Changes whenever the data change; part of cache keys."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Bulk(Protocol):
    """A graph that reads many nodes in one go. An endpoint would otherwise be asked once per node."""

    def follow_many(self, ids: Sequence[str], hop: Hop, limit: int = 1000) -> dict[str, tuple[Node, ...]]: ...

    def hops_many(self, ids: Sequence[str]) -> dict[str, tuple[Hop, ...]]: ...

    def around(self, ids: Sequence[str], few: int) -> dict[str, dict[Hop, tuple[Node, ...]]]:
        """Every hop of each node, with at least one and about `few` of the nodes it leads to."""
        ...


def follow_many(graph: Graph, ids: Sequence[str], hop: Hop, limit: int = 1000) -> dict[str, tuple[Node, ...]]:
    """What `follow` gives for each id; `limit` is per id."""
    if isinstance(graph, Bulk):
        return graph.follow_many(ids, hop, limit)
    return {id: graph.follow(id, hop, limit) for id in ids}


def hops_many(graph: Graph, ids: Sequence[str]) -> dict[str, tuple[Hop, ...]]:
    if isinstance(graph, Bulk):
        return graph.hops_many(ids)
    return {id: graph.hops(id) for id in ids}


def around(graph: Graph, ids: Sequence[str], few: int = 8) -> dict[str, dict[Hop, tuple[Node, ...]]]:
    """What lies about each node: enough of it to see which hops there are and to what they lead."""
    if isinstance(graph, Bulk):
        return graph.around(ids, few)
    return {id: {hop: graph.follow(id, hop, few) for hop in graph.hops(id)} for id in ids}


def walk(graph: Graph, path: Path, limit: int = 1000) -> tuple[Node, ...]:
    """The nodes at the end of a path, each once, at most `limit` per hop, in a fixed order. Cycles do no harm."""
    start = graph.node(path.start)
    if start is None:
        return ()
    here: tuple[Node, ...] = (start,)
    for hop in path.hops:
        here = step(graph, here, hop, limit)
    return here


def step(graph: Graph, nodes: Iterable[Node], hop: Hop, limit: int = 1000) -> tuple[Node, ...]:
    """One hop from several nodes at once."""
    ids = [n.id for n in nodes]
    ends = follow_many(graph, ids, hop, limit)
    found: dict[str, Node] = {}
    for id in ids:
        for node in ends.get(id, ()):
            found.setdefault(node.id, node)
            if len(found) >= limit:
                return tuple(found.values())
    return tuple(found.values())


def edges(graph: Graph, path: Path, end: str, limit: int = 1000) -> tuple[Edge, ...]:
    """One chain of edges by which `path` reaches the node `end`, () where it does not."""
    layers: list[dict[str, str]] = []  # for each hop: node reached -> node it was reached from
    here: list[str] = [path.start]
    for hop in path.hops:
        came: dict[str, str] = {}
        for id, nodes in follow_many(graph, here, hop, limit).items():
            for node in nodes:
                came.setdefault(node.id, id)
        layers.append(came)
        here = list(came)[:limit]
    chain: list[Edge] = []
    for hop, came in zip(reversed(path.hops), reversed(layers), strict=True):
        if end not in came:
            return ()
        before = came[end]
        chain.append(Edge(end, hop.relation, before) if hop.inverse else Edge(before, hop.relation, end))
        end = before
    return tuple(reversed(chain))
