"""A graph as BOXes, as in the Pandora paper: one BOX per entity type near a question, relations as fields.

Fields with several values are exploded: one row per combination of an entity's values, up to `PRODUCT` rows for an
entity; beyond, only its longest field is, and others with several values are joined with "; " in each row. Ours,
beyond the paper: types from relations' domains where the graph has none, inverse fields (`<relation>_of`), a bound on
hubs, and `ways`: where walks are known that may answer, only their hops are kept, and each is written as a program.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowhop.box import Box, BoxSet, Column, Dtype, ForeignKey
from rowhop.errors import SourceError
from rowhop.graph import LITERAL, Graph, Hop, Node, follow_many, hops_many
from rowhop.graph.linking import Linker
from rowhop.graph.routes import masked
from rowhop.graph.verbal import Lexicon, home, words
from rowhop.models import Embedder
from rowhop.sources import Kind
from rowhop.types import Caution, Question

if TYPE_CHECKING:
    import pyarrow as pa

PRODUCT = 60  # rows of one entity
SEVERAL = "; "  # between values of a second multi-valued field in one row
UNKNOWN = "thing"  # the BOX of entities whose type nobody states


@dataclass(frozen=True)
class BoxSettings:
    """`hops` is the paper's H (2 for WebQSP, 3 for GrailQA). `relations` nearest to the question are kept.
    `fan` neighbours of one node along one relation, `nodes` in all: beyond, the subgraph is cut and says so."""

    hops: int = 2
    relations: int = 12
    fan: int = 200
    nodes: int = 4000
    rows: int = 20_000


# The walks that are likeliest to answer a question, from each topic; see `agents.ppoga.candidates`.
Ways = Callable[[str, Sequence[Node]], Sequence[tuple[Node, tuple[Hop, ...]]]]


@dataclass
class Subgraph:
    """Entities by id, and for each (entity, hop) its neighbours, within H hops of the topics."""

    entities: dict[str, Node] = field(default_factory=dict)
    triples: dict[str, dict[Hop, tuple[Node, ...]]] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


class KnowledgeBoxes:
    """A Source over a graph. `boxes_for` makes the BOXes of one question; the other methods then read those."""

    kind: Kind = "graph"
    dialect = ""

    def __init__(
        self, graph: Graph, embedder: Embedder, settings: BoxSettings = BoxSettings(), ways: Ways | None = None
    ):
        self.graph = graph
        self.name = graph.name
        self.embedder = embedder
        self.settings = settings
        self.ways = ways
        self.programs: tuple[str, ...] = ()  # the ways of the last question, each as SQL over its BOXes
        self.cautions: tuple[Caution, ...] = ()
        self._lexicon = Lexicon(graph.schema().relations)
        self._lock = threading.Lock()
        self._tables: dict[str, pa.Table] = {}
        self._set = BoxSet(())

    # ---- from a question to BOXes

    def boxes_for(self, question: Question) -> BoxSet:
        """Raises SourceError when no node of the graph is named."""
        linker = Linker(self.graph, self.embedder)
        links = linker.topics(question.topics, question.text) if question.topics else linker.mentions(question.text)
        if not links:
            raise SourceError("No node of the graph is named in the question; name one with --topic.")
        topics = [link.node for link in links]
        ways = list(self.ways(question.text, topics)) if self.ways is not None else []
        kept = frozenset(h for _, hops in ways for h in hops) or self._both_ways(question.text, topics)
        far = max((len(hops) for _, hops in ways), default=self.settings.hops)
        sub = self._subgraph(topics, kept, far)
        tables, box_of = self._build(sub)
        with self._lock:
            self._tables = tables
            self._set = BoxSet(self._described(tables), self._keys(tables), tuple(dict.fromkeys(sub.cut)))
            self.programs = tuple(p for start, hops in ways if (p := self._program(start, hops, sub, box_of)))
        return self._set

    def _both_ways(self, question: str, topics: Sequence[Node]) -> frozenset[Hop]:
        return frozenset(Hop(r, back) for r in self._nearest(question, topics) for back in (False, True))

    def _program(self, start: Node, hops: Sequence[Hop], sub: Subgraph, box_of: dict[str, str]) -> str:
        """A walk as one SELECT over the BOXes: each hop a join. "" where a BOX on the way is missing."""
        here = [start.id]
        tables: list[tuple[str, str]] = []
        for hop in hops:
            votes = Counter(box_of[i] for i in here if i in box_of and hop in sub.triples.get(i, {}))
            if not votes:
                return ""
            box = votes.most_common(1)[0][0]
            tables.append((box, self._field(hop)))
            here = [n.id for i in here if box_of.get(i) == box for n in sub.triples[i].get(hop, ())]
        joins = " ".join(
            f"JOIN {box} t{i} ON t{i - 1}.{tables[i - 2][1]} = t{i}.{box}"
            for i, (box, _) in enumerate(tables, 1)
            if i > 1
        )
        first, last = tables[0][0], f"t{len(tables)}.{tables[-1][1]}"
        name = start.name.replace("'", "''")
        other = f" AND {last} <> '{name}'" if len(hops) > 1 and start.id in here and set(here) != {start.id} else ""
        return f"SELECT DISTINCT {last} FROM {first} t1 {joins} WHERE t1.{first} = '{name}'{other}".replace("  ", " ")

    def _nearest(self, question: str, topics: Sequence[Node]) -> frozenset[str]:
        """Relations near in meaning among those that lie within reach; a relation and its inverse count as one."""
        there: dict[str, None] = {}
        layer = [t.id for t in topics]
        for _ in range(self.settings.hops):
            hops = hops_many(self.graph, layer[:40])
            there.update(dict.fromkeys(h.relation for found in hops.values() for h in found))
            layer = [
                n.id
                for h in dict.fromkeys(h for found in hops.values() for h in found)
                for nodes in follow_many(self.graph, layer[:10], h, 5).values()
                for n in nodes
            ]
        relations = list(there)
        if len(relations) <= self.settings.relations:
            return frozenset(relations)
        asked = self.embedder.embed([masked(question, [t.name for t in topics])], query=True)[0]
        near = self.embedder.embed([self._lexicon.full((Hop(r),)) for r in relations]) @ asked
        order = sorted(range(len(relations)), key=lambda i: (-float(near[i]), relations[i]))
        return frozenset(relations[i] for i in order[: self.settings.relations])

    def _subgraph(self, topics: Sequence[Node], kept: frozenset[Hop], far: int) -> Subgraph:
        """Depth-first from each topic along the kept hops. Nameless nodes cost no hop."""
        sub = Subgraph()
        stack = [(t, far) for t in reversed(topics)]
        left: dict[str, int] = {}
        while stack:
            node, hops = stack.pop()
            if left.get(node.id, -1) >= hops or (node.kind == LITERAL and node.id in left):
                continue
            left[node.id] = hops
            if len(sub.entities) >= self.settings.nodes:
                sub.cut.append(f"The neighbourhood was cut at {self.settings.nodes} nodes.")
                break
            sub.entities[node.id] = node
            if hops == 0:
                continue
            if node.id not in sub.triples:
                sub.triples[node.id] = self._edges(node, kept, sub)
            for ends in sub.triples[node.id].values():
                stack += [(n, hops - 1 if n.named else hops) for n in reversed(ends)]
        return sub

    def _edges(self, node: Node, kept: frozenset[Hop], sub: Subgraph) -> dict[Hop, tuple[Node, ...]]:
        found = {}
        for hop in self.graph.hops(node.id):
            if hop in kept:
                ends = self.graph.follow(node.id, hop, self.settings.fan + 1)
                if len(ends) > self.settings.fan:
                    sub.cut.append(
                        f"{node.name} has more than {self.settings.fan} {self._field(hop)}; the rest is cut."
                    )
                found[hop] = ends[: self.settings.fan]
        return found

    # ---- tables

    def _field(self, hop: Hop) -> str:
        relation, back = self._lexicon.forward(hop)
        said = re.sub(r"\W+", "_", words(relation.name)).strip("_") or "relation"
        return f"{said}_of" if back else said

    def _type(self, node: Node, hops: Sequence[Hop]) -> str:
        """The entity's type; where the graph has none, the domain of its relations."""
        if node.kind and node.kind != LITERAL:
            return words(node.kind)
        votes: dict[str, int] = {}
        for hop in hops:
            relation, back = self._lexicon.forward(hop)
            said = (words(relation.range[0]) if relation.range else "") if back else home(relation)
            if said:
                votes[said] = votes.get(said, 0) + 1
        return max(sorted(votes), key=lambda t: votes[t]) if votes else UNKNOWN

    def _build(self, sub: Subgraph) -> tuple[dict[str, pa.Table], dict[str, str]]:
        """The tables by BOX, and for each entity the BOX that it is in."""
        import pyarrow as pa

        groups: dict[str, list[str]] = {}
        for id, hops in sub.triples.items():
            if sub.entities[id].kind != LITERAL and hops:
                groups.setdefault(self._type(sub.entities[id], list(hops)), []).append(id)
        tables: dict[str, Any] = {}
        box_of: dict[str, str] = {}
        for said in sorted(groups):
            name = re.sub(r"\W+", "_", said).strip("_") or UNKNOWN
            fields = dict.fromkeys(self._field(h) for id in groups[said] for h in sub.triples[id])
            fields.pop(name, None)
            rows: list[dict[str, str | None]] = []
            for id in groups[said]:
                box_of[id] = name
                rows += _rows(name, sub.entities[id], self._values(sub.triples[id]), list(fields))
                if len(rows) > self.settings.rows:
                    sub.cut.append(f"The BOX {name} was cut at {self.settings.rows} rows.")
                    break
            columns = {c: pa.array([_typed(r.get(c)) for r in rows], pa.string()) for c in (name, *fields)}
            tables[name] = pa.table({c: _narrowed(v) for c, v in columns.items()})
        return tables, box_of

    def _values(self, hops: dict[Hop, tuple[Node, ...]]) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for hop, ends in hops.items():
            known = values.setdefault(self._field(hop), [])
            known += [n.name for n in ends if n.name not in known]
        return values

    def _described(self, tables: dict[str, pa.Table]) -> tuple[Box, ...]:
        boxes = []
        for name, table in tables.items():
            columns = []
            for c in table.column_names:
                samples = tuple(v for v in dict.fromkeys(table[c].slice(0, 50).to_pylist()) if v is not None)[:3]
                columns.append(Column(c, _dtype(table[c].type), samples))
            about = f"entities of the type {name.replace('_', ' ')} and what they are related to"
            boxes.append(Box(name, tuple(columns), about, (), table.num_rows, self.name))
        return tuple(boxes)

    def _keys(self, tables: dict[str, pa.Table]) -> tuple[ForeignKey, ...]:
        """Fields of two BOXes that share an entity; towards a BOX's own entities first."""
        values = {
            (t, c): {str(v) for v in table[c].to_pylist() if v is not None}
            for t, table in tables.items()
            for c in table.column_names
        }
        found = []
        for (t, c), own in values.items():
            for (u, d), other in values.items():
                if (
                    (t, c) != (u, d)
                    and (d == u or (t, c) < (u, d))
                    and not (c == t and d != u)
                    and t != u
                    and own & other
                ):
                    found.append(ForeignKey(t, c, u, d))
        return tuple(found)

    # ---- the rest of a Source

    def boxes(self) -> BoxSet:
        """The BOXes of the last question; none before the first."""
        return self._set

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        table = self._tables.get(box)
        if table is None:
            raise SourceError(f"No BOX {box!r} for this question. There are: {', '.join(self._tables) or 'none'}.")
        table = table.select(list(columns)) if columns is not None else table
        return table.slice(0, limit) if limit is not None else table

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self.load(box, columns)
        table = table.take(pa.array(list(rows), pa.int64())) if rows is not None else table
        return pa.table({c: pc.cast(table[c], pa.string()) for c in table.column_names})

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        values = self.written(box, [column])[column].to_pylist()
        return [v for v in dict.fromkeys(values) if v is not None][:limit]

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        raise SourceError(f"{self.name} is a graph: it has no SQL of its own.")

    def fingerprint(self) -> str:
        return self.graph.fingerprint()

    def close(self) -> None:
        self.graph.close()


def _rows(key: str, node: Node, values: dict[str, list[str]], fields: list[str]) -> list[dict[str, str | None]]:
    """One row per combination of values while they are few; else per value of the longest field, others joined."""
    several = [f for f in fields if len(values.get(f, ())) > 1]
    base: dict[str, str | None] = {f: SEVERAL.join(values[f]) if values.get(f) else None for f in fields}
    base[key] = node.name
    count = 1
    for f in several:
        count *= len(values[f])
    if count > PRODUCT:
        several = [max(several, key=lambda f: len(values[f]))]
    return [base | dict(zip(several, row, strict=True)) for row in itertools.product(*(values[f] for f in several))]


def _typed(value: str | None) -> str | None:
    return value or None


def _narrowed(column: Any) -> Any:
    """Numbers as numbers where every value is one; leading zeros stay text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = [v for v in column.to_pylist() if v is not None]
    if not values or not all(re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d+)?", v) for v in values):
        return column
    kind = pa.float64() if any("." in v for v in values) else pa.int64()
    return pc.cast(column, kind)


def _dtype(kind: Any) -> Dtype:
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "integer"
    return "number" if pa.types.is_floating(kind) else "text"
