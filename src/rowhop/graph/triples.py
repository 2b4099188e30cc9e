"""A graph over anything that answers SPARQL. Every read is a query; engines differ only in who runs it.

`rdf` gives the embedded engine, `sparql` the one that asks an endpoint; both give the same answers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote

from rowhop.graph import LITERAL, Hop, Match, Node, NodeType, Relation, Schema
from rowhop.graph.terms import in_query, is_blank, is_literal, parts
from rowhop.graph.vocabulary import OWL, RDFS, STANDARD, Vocabulary, local_name, relation_name

Row = Mapping[str, str]  # variable -> id; unbound variables are absent
TYPES_SHOWN = 500
EDGES_READ = 3000  # of one node, each way; a hub with more is read hop by hop
KEPT = 50_000  # nodes whose surroundings are kept
SAMPLE = 60  # triples of a relation that are looked at to learn the types at its ends


class Engine(Protocol):
    """Runs SELECT queries. `given` binds selected variables beforehand (the only way to name a blank node)."""

    @property
    def many(self) -> bool:
        """Whether asking for several nodes in one query is cheaper than one query each."""
        ...

    def select(self, query: str, given: Mapping[str, str] | None = None, limit: int = 0) -> list[Row]: ...

    def facts(self, id: str, relations: Sequence[str]) -> list[tuple[str, str]]:
        """(relation, value) of one node, for those relations. Only asked where `many` is False."""
        ...

    def find(self, text: str, k: int) -> list[tuple[str, float, str]]:
        """(node id, score, how) of nodes called so, best first."""
        ...

    def fingerprint(self) -> str: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Hints:
    """What is known about relations beyond the graph's own triples, by relation name.

    `roles` gives (domain, range), `inverses` the relation that says the same backwards, `plumbing` the types of
    nodes that only join others (Freebase's compound values).
    """

    roles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    inverses: Mapping[str, str] = field(default_factory=dict)
    plumbing: frozenset[str] = frozenset()


class TripleGraph:
    """Nodes are cached: a name is read once. Thread-safe as its engine is."""

    def __init__(self, name: str, engine: Engine, vocabulary: Vocabulary = STANDARD, hints: Hints | None = None):
        self.name = name
        self.engine = engine
        self.vocabulary = vocabulary
        self.hints = hints or Hints()
        self._nodes: dict[str, Node] = {}
        self._around: dict[str, dict[Hop, tuple[Node, ...]]] = {}
        self._followed: dict[tuple[str, Hop, int], tuple[Node, ...]] = {}
        self._schema: Schema | None = None
        self._lock = threading.Lock()
        self._unnamed = re.compile(vocabulary.unnamed) if vocabulary.unnamed else None

    def node(self, id: str) -> Node | None:
        if id in self._nodes:
            return self._nodes[id]
        if not is_literal(id) and not self._exists(id):
            return None
        return self._described([id])[0]

    def _exists(self, id: str) -> bool:
        if is_blank(id):
            return bool(self.engine.select("SELECT ?n ?p WHERE { ?n ?p ?o } LIMIT 1", {"n": id}))
        term = in_query(id)
        ways = f"{{ {term} ?p ?o }} UNION {{ ?s ?p {term} }}"
        return bool(self.engine.select(f"SELECT ?p WHERE {{ {ways} }} LIMIT 1"))

    def hops(self, id: str) -> tuple[Hop, ...]:
        out = self.engine.select("SELECT DISTINCT ?n ?p WHERE { ?n ?p ?o }", {"n": id}) if not is_literal(id) else []
        back = self.engine.select("SELECT DISTINCT ?n ?p WHERE { ?s ?p ?n }", {"n": id})
        return self._in_order((r["p"] for r in out), (r["p"] for r in back))

    def _in_order(self, out: object, back: object) -> tuple[Hop, ...]:
        keep = self.vocabulary.is_hop
        forth = [Hop(p) for p in sorted(set(out)) if keep(p)]  # type: ignore[call-overload]
        return (*forth, *(Hop(p, True) for p in sorted(set(back)) if keep(p)))  # type: ignore[call-overload]

    def hops_many(self, ids: Sequence[str]) -> dict[str, tuple[Hop, ...]]:
        if not self.engine.many:
            return {id: self.hops(id) for id in ids}
        plain = [i for i in ids if not is_blank(i)]
        result = {i: self.hops(i) for i in ids if is_blank(i)}
        out: dict[str, set[str]] = {i: set() for i in plain}
        back: dict[str, set[str]] = {i: set() for i in plain}
        for some in _chunks(plain, 100):
            values = " ".join(in_query(i) for i in some)
            for r in self.engine.select(f"SELECT DISTINCT ?n ?p WHERE {{ VALUES ?n {{ {values} }} ?n ?p ?o }}"):
                out.setdefault(r["n"], set()).add(r["p"])
            for r in self.engine.select(f"SELECT DISTINCT ?n ?p WHERE {{ VALUES ?n {{ {values} }} ?s ?p ?n }}"):
                back.setdefault(r["n"], set()).add(r["p"])
        result.update({i: self._in_order(out[i], back[i]) for i in plain})
        return result

    def follow(self, id: str, hop: Hop, limit: int = 1000) -> tuple[Node, ...]:
        if is_literal(id) and not hop.inverse:
            return ()
        key = (id, hop, limit)
        if key not in self._followed:
            if len(self._followed) > KEPT:
                self._followed.clear()
            query = f"SELECT DISTINCT ?n ?o WHERE {{ {_pattern('?n', hop, '?o')} }} ORDER BY ?o LIMIT {limit:d}"
            rows = self.engine.select(query, {"n": id}, limit)
            self._followed[key] = tuple(self._described([r["o"] for r in rows]))
        return self._followed[key]

    def follow_many(self, ids: Sequence[str], hop: Hop, limit: int = 1000) -> dict[str, tuple[Node, ...]]:
        if not self.engine.many:
            return {id: self.follow(id, hop, limit) for id in ids}
        result = {i: self.follow(i, hop, limit) for i in ids if is_blank(i)}
        ends: dict[str, list[str]] = {i: [] for i in ids if not is_blank(i)}
        for some in _chunks(list(ends), 50):
            values = " ".join(in_query(i) for i in some)
            query = (
                f"SELECT DISTINCT ?n ?o WHERE {{ VALUES ?n {{ {values} }} {_pattern('?n', hop, '?o')} }} ORDER BY ?n ?o"
            )
            for r in self.engine.select(query, limit=limit * len(some)):
                ends.setdefault(r["n"], []).append(r["o"])
        nodes = {n.id: n for n in self._described(list({o for os in ends.values() for o in os[:limit]}))}
        result.update({i: tuple(nodes[o] for o in os[:limit]) for i, os in ends.items()})
        return result

    def around(self, ids: Sequence[str], few: int = 8) -> dict[str, dict[Hop, tuple[Node, ...]]]:
        """From one read of a node's edges where they are few, else hop by hop; kept, since walks come back."""
        if len(self._around) > KEPT:
            self._around.clear()
        result = {}
        for id in ids:
            if id not in self._around:
                self._around[id] = self._read_around(id, few)
            result[id] = self._around[id]
        return result

    def _read_around(self, id: str, few: int) -> dict[Hop, tuple[Node, ...]]:
        ends: dict[Hop, list[str]] = {}
        for inverse, edge in ((False, "?n ?p ?o"), (True, "?o ?p ?n")):
            if is_literal(id) and not inverse:
                continue
            rows = self.engine.select(f"SELECT ?n ?p ?o WHERE {{ {edge} }} LIMIT {EDGES_READ}", {"n": id})
            for r in rows:
                if self.vocabulary.is_hop(r["p"]):
                    ends.setdefault(Hop(r["p"], inverse), []).append(r["o"])
            if len(rows) == EDGES_READ:  # a hub: relations beyond those read must not be missed
                query = f"SELECT DISTINCT ?n ?p WHERE {{ {edge} }}"
                for r in self.engine.select(query, {"n": id}):
                    hop = Hop(r["p"], inverse)
                    if hop not in ends and self.vocabulary.is_hop(r["p"]):
                        ends[hop] = [n.id for n in self.follow(id, hop, few)]
        some = {hop: list(dict.fromkeys(found))[:few] for hop, found in ends.items()}
        nodes = {n.id: n for n in self._described(list({o for os in some.values() for o in os}))}
        order = sorted(some, key=lambda h: (h.inverse, h.relation))
        return {hop: tuple(nodes[o] for o in some[hop]) for hop in order}

    def find(self, text: str, k: int = 10, kind: str = "") -> tuple[Match, ...]:
        found = self.engine.find(text, k if not kind else max(50, k * 10))
        nodes = {n.id: n for n in self._described([id for id, _, _ in found])}
        all_ = (Match(nodes[id], score, how) for id, score, how in found)  # type: ignore[arg-type]
        return tuple(m for m in all_ if not kind or kind.casefold() in self.kinds(m.node.id))[:k]

    def kinds(self, id: str) -> tuple[str, ...]:
        """Names of all types of a node, case-folded; `Node.kind` is only the first."""
        if is_literal(id):
            return (LITERAL,)
        values = " ".join(in_query(t) for t in self.vocabulary.types)
        rows = self.engine.select(f"SELECT DISTINCT ?n ?t WHERE {{ VALUES ?p {{ {values} }} ?n ?p ?t }}", {"n": id})
        return tuple(n.name.casefold() for n in self._described(sorted(r["t"] for r in rows)))

    def schema(self) -> Schema:
        with self._lock:
            if self._schema is None:
                self._schema = self._read_schema()
        return self._schema

    def fingerprint(self) -> str:
        return self.engine.fingerprint()

    def close(self) -> None:
        self.engine.close()

    # ---- names

    def _described(self, ids: Sequence[str]) -> list[Node]:
        new = [i for i in dict.fromkeys(ids) if i not in self._nodes]
        facts: dict[str, dict[str, list[str]]] = {i: {} for i in new}
        asked = [i for i in new if not is_literal(i) and not i.startswith("urn:rowhop:")]
        values = " ".join(in_query(p) for p in self.vocabulary.described)
        if self.engine.many:
            for some in _chunks([i for i in asked if not is_blank(i)], 100):
                nodes = " ".join(in_query(i) for i in some)
                query = f"SELECT ?n ?p ?v WHERE {{ VALUES ?n {{ {nodes} }} VALUES ?p {{ {values} }} ?n ?p ?v }}"
                for r in self.engine.select(query):
                    facts[r["n"]].setdefault(r["p"], []).append(r["v"])
        else:
            for id in asked:
                for relation, value in self.engine.facts(id, self.vocabulary.described):
                    facts[id].setdefault(relation, []).append(value)
        kinds = self._kind_names(facts) if asked else {}
        for id in new:
            self._nodes[id] = self._make(id, facts[id], kinds)
        return [self._nodes[i] for i in ids]

    def _kind_names(self, facts: Mapping[str, Mapping[str, list[str]]]) -> dict[str, str]:
        """Names of the types met; types have names like any node, and are asked for once."""
        met = {t for f in facts.values() for p in self.vocabulary.types for t in f.get(p, ()) if not is_literal(t)}
        own = met & facts.keys()  # a class among the nodes asked for would ask for itself again
        names = {n.id: n.name for n in self._described(sorted(met - own))}
        return names | {t: self._label(facts[t]) or local_name(t) for t in own}

    def _label(self, facts: Mapping[str, list[str]]) -> str:
        for relation in self.vocabulary.labels if facts else ():
            if found := _spoken(facts.get(relation, ()), self.vocabulary.languages):
                return found
        return ""

    def _make(self, id: str, facts: Mapping[str, list[str]], kinds: Mapping[str, str]) -> Node:
        if is_literal(id):
            return Node(id, parts(id)[0], LITERAL)
        name = self._label(facts)
        types = sorted(t for p in self.vocabulary.types for t in facts.get(p, ()))
        kind = next((kinds[t] for t in types if t in kinds), "")
        about = [_spoken(facts.get(p, ()), self.vocabulary.languages) for p in self.vocabulary.descriptions]
        text = next((t for t in about if t), "")
        if name or not is_blank(id):
            shown = name or local_name(id)
            machine = not name and self._unnamed is not None and bool(self._unnamed.search(shown))
            return Node(id, shown, kind, text, named=not machine)
        return Node(id, id, kind, text, named=False)

    # ---- schema

    def _read_schema(self) -> Schema:
        counted = self.engine.select("SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p")
        counts = {r["p"]: int(parts(r["n"])[0]) for r in counted if "p" in r}
        types = self._types()
        declared = self._declared()
        hops = sorted((p for p in counts if self.vocabulary.is_hop(p)), key=lambda p: (-counts[p], p))
        names = self._relation_names(hops)
        inverses = self._inverses(hops)
        relations = []
        for p in hops:
            domain, range_ = self._ends(p, bool(types), names[p], declared)
            relations.append(Relation(p, names[p], counts[p], domain, range_, inverses.get(p, "")))
        return Schema(types, tuple(relations), triples=sum(counts.values()))

    def _types(self) -> tuple[NodeType, ...]:
        found: dict[str, int] = {}
        for t in self.vocabulary.types:
            which = f"{{ ?s {in_query(t)} ?t }} GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT {TYPES_SHOWN}"
            query = f"SELECT ?t (COUNT(*) AS ?n) WHERE {which}"
            for r in self.engine.select(query):
                if "t" in r:
                    found[r["t"]] = found.get(r["t"], 0) + int(parts(r["n"])[0])
        nodes = self._described(list(found))
        return tuple(NodeType(n.id, n.name, found[n.id]) for n in nodes)

    def _relation_names(self, ids: Sequence[str]) -> dict[str, str]:
        given = {n.id: n for n in self._described(ids)}
        names = {i: relation_name(i) if given[i].name == local_name(i) else given[i].name for i in ids}
        if self.vocabulary.claims:
            claim = in_query(self.vocabulary.claims)
            for some in _chunks(list(ids), 100):
                values = " ".join(in_query(i) for i in some)
                rows = self.engine.select(f"SELECT ?n ?c WHERE {{ VALUES ?c {{ {values} }} ?n {claim} ?c }}")
                props = {r["c"]: r["n"] for r in rows}
                said = {n.id: n.name for n in self._described(list(props.values()))}
                names.update({c: said[n] for c, n in props.items()})
        return names

    def _declared(self) -> dict[str, tuple[list[str], list[str]]]:
        """rdfs:domain and rdfs:range, where the graph states them."""
        found: dict[str, tuple[list[str], list[str]]] = {}
        for side, relation in enumerate(("domain", "range")):
            rows = self.engine.select(f"SELECT ?p ?t WHERE {{ ?p <{RDFS}{relation}> ?t }} ORDER BY ?p ?t")
            for r in rows:
                if not is_blank(r["t"]):
                    found.setdefault(r["p"], ([], []))[side].append(self._described([r["t"]])[0].name)
        return found

    def _ends(
        self, relation: str, typed: bool, name: str, declared: Mapping[str, tuple[list[str], list[str]]]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if name in self.hints.roles:
            domain, range_ = self.hints.roles[name]
            return (domain,), (range_,)
        said = declared.get(relation, ([], []))
        if not typed and not any(said):
            return (), ()
        rows = self.engine.select(f"SELECT ?s ?o WHERE {{ ?s {in_query(relation)} ?o }} LIMIT {SAMPLE}")
        found: list[tuple[str, ...]] = []
        for side, var in enumerate(("s", "o")):
            seen: dict[str, int] = {}
            for node in self._described([r[var] for r in rows]):
                if node.kind:
                    seen[node.kind] = seen.get(node.kind, 0) + 1
            often = sorted(seen, key=lambda k: (-seen[k], k))
            found.append(tuple(dict.fromkeys([*said[side], *often])))
        return found[0], found[1]

    def _inverses(self, relations: Sequence[str]) -> dict[str, str]:
        rows = self.engine.select(f"SELECT ?a ?b WHERE {{ ?a <{OWL}inverseOf> ?b }}")
        found = {r["a"]: r["b"] for r in rows} | {r["b"]: r["a"] for r in rows}
        for p in relations:
            name = relation_name(p)
            if other := self.hints.inverses.get(name):
                found[p] = p.replace(quote(name, safe=""), quote(other, safe=""))
        return found


def _pattern(subject: str, hop: Hop, object: str) -> str:
    relation = in_query(hop.relation)
    return f"{object} {relation} {subject}" if hop.inverse else f"{subject} {relation} {object}"


def _chunks(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _spoken(values: Sequence[str], languages: Sequence[str]) -> str:
    """The value in the first language that is there, else in any language: a foreign name is better than none."""
    if not values:  # most nodes have few of the relations that name and describe
        return ""
    texts = sorted((parts(v) for v in values if is_literal(v)), key=lambda p: p[1] + "\0" + p[0])
    for wanted in languages:
        for value, language, _ in texts:
            if language == wanted or (wanted and language.startswith(wanted + "-")):
                return value
    return texts[0][0] if texts else ""
