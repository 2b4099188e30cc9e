"""From names in a question to nodes: label, alias, folded and misspelt names, then meaning.

Two nodes of one name are told apart by what stands around them; where that does not decide, the choices are given back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rowhop.errors import SourceError
from rowhop.graph import Graph, Match, Node
from rowhop.graph.verbal import words
from rowhop.models import Embedder

LONGEST = 8  # words of a name looked for in a question
CLEAR = 0.04  # how much nearer in meaning one of two namesakes must be
SURE = ("id", "name", "alias", "folded")

# Words that are names of something in some graph and hardly ever meant as one.
_COMMON = frozenset(
    "a an and are as at be by did do does for from has have how i in is it its me name of on or that the their there "
    "this to was were what when where which who whom whose why will with film films movie movies year years".split()
)


@dataclass(frozen=True)
class Link:
    """`choices` is empty where the node is clear; else it holds the namesakes, the likeliest first."""

    said: str
    node: Node
    how: str = "name"
    choices: tuple[Node, ...] = ()


class Linker:
    def __init__(self, graph: Graph, embedder: Embedder | None = None):
        self.graph = graph
        self.embedder = embedder

    def topics(self, names: Sequence[str], question: str) -> list[Link]:
        """Nodes known beforehand, by id or by name. Raises SourceError for one that is not there."""
        links = []
        for name in names:
            link = self._named(name, question)
            if link is None:
                near = [m.node.name for m in self.graph.find(name, 3)]
                hint = f" Did you mean {' or '.join(near)}?" if near else ""
                raise SourceError(f"There is no node {name!r} in {self.graph.name}.{hint}")
            links.append(link)
        return links

    def _named(self, name: str, question: str) -> Link | None:
        if re.match(r"[a-z][a-z0-9+.-]*:\S+$", name, re.IGNORECASE) and (node := self.graph.node(name)):
            return Link(name, node, "id")
        found = [m for m in self.graph.find(name, 20) if m.how in SURE]
        return self._decided(name, found, question) if found else None

    def mentions(self, question: str) -> list[Link]:
        """Names of nodes that stand in the question, the longest first; none inside another."""
        tokens = [(m.start(), m.end()) for m in re.finditer(r"[^\s?!,;:\"“”()]+", question)]
        taken: list[tuple[int, int]] = []
        links: list[Link] = []
        for size in range(min(LONGEST, len(tokens)), 0, -1):
            for i in range(len(tokens) - size + 1):
                start, end = tokens[i][0], tokens[i + size - 1][1]
                if any(start < b and a < end for a, b in taken):
                    continue
                link = self._mention(question[start:end], question, size)
                if link:
                    taken.append((start, end))
                    links.append(link)
        return links or self._meant(question)

    def _mention(self, said: str, question: str, size: int) -> Link | None:
        said = re.sub(r"('s|’s|\.)$", "", said)
        if size == 1 and (said.casefold() in _COMMON or len(said) < 2):
            return None
        found = [m for m in self.graph.find(said, 20) if m.how in SURE]
        if size == 1 and said.islower():
            found = [m for m in found if m.node.name == said and not self._everyday(m.node)]
        return self._decided(said, found, question) if found else None

    def _everyday(self, node: Node) -> bool:
        """A type or relation of that name: the word is then part of the question, not its topic."""
        schema = self.graph.schema()
        names = {words(r.name) for r in schema.relations} | {t.name.casefold() for t in schema.types}
        return node.name.casefold() in names

    def _meant(self, question: str) -> list[Link]:
        """Where no name stands in the question as written: misspelt ones among its capitalised runs."""
        runs = re.findall(r"(?:[A-Z\u00c0-\u00dd][\w'’-]*\s?)+", question)
        for run in sorted((r.strip() for r in runs), key=len, reverse=True):
            found = self.graph.find(run, 5) if len(run) > 3 else ()
            if found:
                return [Link(run, found[0].node, found[0].how)]
        return []

    def _decided(self, said: str, found: Sequence[Match], question: str) -> Link:
        best = [m for m in found if m.score == found[0].score]
        if len(best) == 1:
            return Link(said, best[0].node, best[0].how)
        order = self._by_context([m.node for m in best], said, question)
        if order is not None:
            return Link(said, order[0], "meaning")
        return Link(said, best[0].node, best[0].how, tuple(m.node for m in best))

    def _by_context(self, nodes: Sequence[Node], said: str, question: str) -> list[Node] | None:
        """Namesakes ordered by how near their surroundings are to the question; None where it does not decide."""
        if self.embedder is None:
            return None
        about = [describe(self.graph, n) for n in nodes]
        vectors = self.embedder.embed(about)
        asked = self.embedder.embed([question], query=True)[0]
        rest = {w.casefold() for w in re.findall(r"\w{3,}", question.replace(said, ""))}
        shared = [len(rest & {w.casefold() for w in re.findall(r"\w{3,}", a)}) for a in about]
        near = [float(v @ asked) + 0.1 * n for v, n in zip(vectors, shared, strict=True)]
        order = sorted(range(len(nodes)), key=lambda i: (-near[i], nodes[i].id))
        if near[order[0]] - near[order[1]] < CLEAR:
            return None
        return [nodes[i] for i in order]


def describe(graph: Graph, node: Node, most: int = 12) -> str:
    """A node by its surroundings: what tells it from a namesake."""
    parts = [node.name, node.kind, node.text[:200]]
    names = {r.id: r.name for r in graph.schema().relations}
    for hop in graph.hops(node.id)[:most]:
        ends = graph.follow(node.id, hop, 3)
        parts.append(f"{words(names.get(hop.relation, hop.relation))} {', '.join(n.name for n in ends if n.named)}")
    return ". ".join(p for p in parts if p)
