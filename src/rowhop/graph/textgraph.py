"""A graph whose nodes carry text, opened from a folder of nodes and edges (or another feed) through a snapshot.

The first opening builds the snapshot in the cache folder; later ones map it in milliseconds. When the data change,
the fingerprint does, and a new snapshot is built.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from rowhop.errors import SourceError
from rowhop.graph import Hop, How, Match, Node, NodeType, Relation, Schema
from rowhop.graph import textgraph_names as names
from rowhop.graph import textgraph_vectors as vectors
from rowhop.graph.textgraph_build import VERSION, Progress, build, quiet
from rowhop.graph.textgraph_feeds import feed_of
from rowhop.graph.textgraph_read import Feed
from rowhop.graph.textgraph_store import Record, Store
from rowhop.models import Embedder
from rowhop.types import Caution

SHOWN = 1_000  # relations and types that `schema` names
_FUZZY = 0.8  # least likeness of a fuzzy match to a name (rapidfuzz ratio of the folded forms)


class TextGraph:
    """A Graph (see `rowhop.graph`) with texts, full-text search and, once embedded, search by meaning."""

    def __init__(self, store: Store, cautions: Sequence[Caution] = ()) -> None:
        self.store = store
        self.cautions = (*cautions, *_odd(store))
        self.vectors: vectors.Vectors | None = None
        self.embedder: Embedder | None = None

    @property
    def name(self) -> str:
        return str(self.store.meta["name"])

    def embed(self, embedder: Embedder, progress: Progress = quiet) -> None:
        """Make or open the vectors by which `nearest` searches."""
        self.vectors = vectors.make(self.store, embedder, progress)
        self.embedder = embedder

    def schema(self) -> Schema:
        store = self.store
        kinds = np.bincount(store.kind, minlength=len(store.kinds))
        types = sorted(((int(n), k) for n, k in zip(kinds, store.kinds, strict=True) if k), key=lambda t: (-t[0], t[1]))
        ends: dict[int, tuple[dict[str, int], dict[str, int], list[int]]] = {}
        for a, r, b, n in self.patterns:
            domain, range_, count = ends.setdefault(r, ({}, {}, [0]))
            domain[store.kinds[a]] = domain.get(store.kinds[a], 0) + n
            range_[store.kinds[b]] = range_.get(store.kinds[b], 0) + n
            count[0] += n

        def ordered(counts: dict[str, int]) -> tuple[str, ...]:
            return tuple(k for k in sorted(counts, key=lambda k: (-counts[k], k)) if k)

        relations = [
            Relation(store.relations[r], store.relations[r], count[0], ordered(domain), ordered(range_))
            for r, (domain, range_, count) in sorted(ends.items(), key=lambda e: (-e[1][2][0], e[0]))
        ]
        over = max(len(relations), len(types)) - SHOWN
        return Schema(
            tuple(NodeType(k, k, n) for n, k in types[:SHOWN]),
            tuple(relations[:SHOWN]),
            len(store),
            int(store.meta["edges"]["count"]),
            f"Only the {SHOWN} most frequent relations and types are named." if over > 0 else "",
        )

    @property
    def patterns(self) -> list[list[int]]:
        """(kind, relation, kind, number of edges) as codes of the store, the most frequent first."""
        return self.store.meta["edges"]["patterns"]  # type: ignore[no-any-return]

    def find(self, text: str, k: int = 10, kind: str = "") -> tuple[Match, ...]:
        found: dict[int, tuple[float, How]] = {}
        if (at := self.store.position(text)) is not None:
            found[at] = (1.0, "id")
        folded = names.fold(text)
        for pos in self.store.named(folded):
            found.setdefault(pos, (1.0, "folded"))
        if len(found) < k:
            for pos, likeness in self.alike(text, 5 * k):
                if likeness >= _FUZZY:
                    found.setdefault(pos, (likeness, "fuzzy"))
        records = self.store.records(found)
        matches = [
            Match(_node(r), found[p][0], _how(r, text, found[p][1]))
            for p, r in records.items()
            if not kind or r.kind == kind
        ]
        order: dict[How, int] = {"id": 0, "name": 1, "alias": 2, "folded": 3, "fuzzy": 4}
        return tuple(sorted(matches, key=lambda m: (order[m.how], -m.score))[:k])

    def alike(self, text: str, pool: int = 50) -> list[tuple[int, float]]:
        """Nodes whose names share words with `text` by how alike they are written, 0 to 1, best first."""
        from rapidfuzz import fuzz

        folded = names.fold(text)
        records = self.store.records((p for p, _ in self.store.search(text, pool, field="name")), 0)
        scored = [
            (pos, max(fuzz.ratio(folded, names.fold(n)) for n in (r.name, *r.aliases)) / 100)
            for pos, r in records.items()
        ]
        return sorted(scored, key=lambda s: (-s[1], s[0]))

    def node(self, id: str) -> Node | None:
        pos = self.store.position(id)
        return None if pos is None else _node(self.store.record(pos))

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        records = self.store.records(self.store.positions(ids).values())
        return {r.id: _node(r) for r in records.values()}

    def hops(self, id: str) -> tuple[Hop, ...]:
        pos = self.store.position(id)
        if pos is None:
            return ()
        named = self.store.relations
        return tuple(
            [Hop(named[r]) for r in self.store.out.relations(pos)]
            + [Hop(named[r], True) for r in self.store.into.relations(pos)]
        )

    def hops_many(self, ids: Sequence[str]) -> dict[str, tuple[Hop, ...]]:
        return {id: self.hops(id) for id in ids}

    def follow(self, id: str, hop: Hop, limit: int = 1000) -> tuple[Node, ...]:
        return self.follow_many([id], hop, limit)[id]

    def follow_many(self, ids: Sequence[str], hop: Hop, limit: int = 1000) -> dict[str, tuple[Node, ...]]:
        relation = self.store.relation_code.get(hop.relation)
        at = self.store.positions(ids) if relation is not None else {}
        side = self.store.into if hop.inverse else self.store.out
        ends = {id: side.follow(pos, relation)[:limit] for id, pos in at.items()} if relation is not None else {}
        records = self.store.records({int(p) for some in ends.values() for p in some})
        return {id: tuple(_node(records[int(p)]) for p in ends.get(id, ())) for id in ids}

    def search(self, text: str, k: int = 10, kind: str = "") -> tuple[Match, ...]:
        """Nodes whose name or text shares words with `text` (BM25), best first."""
        return self._matches(self.store.search(text, k, kind or None), "text")

    def nearest(self, text: str, k: int = 10, within: Sequence[str] = (), kind: str = "") -> tuple[Match, ...]:
        """Nodes nearest in meaning to `text`, among `within` where it is given. Without vectors: by words."""
        if self.vectors is None or self.embedder is None:
            found = self.store.search(text, k if not within else len(self.store), kind or None)
            inside = set(self.store.positions(within).values())
            return self._matches([f for f in found if not inside or f[0] in inside][:k], "text")
        query = self.embedder.embed([text], query=True)[0]
        if within:
            positions = np.array(sorted(self.store.positions(within).values()), np.int64)
            scores = self.vectors.scores(query, positions)
            return self._matches(sorted(scores.items(), key=lambda s: (-s[1], s[0]))[:k], "meaning")
        allowed = None
        if kind:
            allowed = self.store.kind[self.vectors.rows] == self.store.kind_code.get(kind, -1)
        return self._matches(self.vectors.nearest(query, k, allowed), "meaning")

    def _matches(self, scored: Sequence[tuple[int, float]], how: How) -> tuple[Match, ...]:
        records = self.store.records(p for p, _ in scored)
        return tuple(Match(_node(records[p]), score, how) for p, score in scored)

    def fingerprint(self) -> str:
        return str(self.store.meta["fingerprint"])

    def close(self) -> None:
        self.store.close()

    @cached_property
    def has_text(self) -> bool:
        """Whether any node carries text; of a graph of bare names only names and paths can be asked."""
        nodes = self.store.meta["nodes"]
        return int(nodes["odd"].get("without text", 0)) < int(nodes["count"])

    @cached_property
    def degree(self) -> np.ndarray:
        """Edges of each node in both directions."""
        total: np.ndarray = np.diff(self.store.out.ptr) + np.diff(self.store.into.ptr)
        return total


def _node(record: Record) -> Node:
    return Node(record.id, record.name or record.id, record.kind, record.text, bool(record.name))


def _how(record: Record, text: str, how: How) -> How:
    if how != "folded":
        return how
    return "name" if record.name == text else "alias" if text in record.aliases else "folded"


def _odd(store: Store) -> Iterator[Caution]:
    """What was noticed while building, in words."""
    nodes, edges = store.meta["nodes"], store.meta["edges"]
    odd = nodes["odd"]
    if n := odd.get("without id"):
        yield Caution("nodes_without_id", f"{n} nodes have no id and were left out.")
    if n := odd.get("duplicate"):
        yield Caution("duplicate_ids", f"{n} nodes repeat an id; the first of each was kept.")
    if (n := odd.get("without name")) and nodes["count"]:
        yield Caution("nodes_without_name", f"{n} of {nodes['count']} nodes have no name and are shown by their id.")
    if n := edges["missing"]:
        examples = "; ".join(edges["missing_examples"])
        yield Caution(
            "edges_to_missing_nodes", f"{n} edges lead to nodes that do not exist and were left out: {examples}."
        )


def open_textgraph(
    source: str | Path | Feed, cache: str | Path, embedder: Embedder | None = None, progress: Progress = quiet
) -> TextGraph:
    """Open a folder (nodes.*, edges.*), an .obo file, GO.sqlite, a WordNet folder or another feed; built once
    under `cache`, then mapped.

    With an embedder the vectors are made too. Raises SourceError when the data are no text graph.
    """
    feed = feed_of(Path(source)) if isinstance(source, str | Path) else source
    stem = re.sub(r"[^A-Za-z0-9]+", "-", Path(feed.name).name)[:40] or "graph"
    folder = Path(cache) / "textgraphs"
    target = folder / f"{stem}-{feed.fingerprint()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cautions = _ensure(feed, target, progress)
    except OSError as error:
        raise SourceError(f"The snapshot of {feed.name} could not be written to {folder}: {error}.") from error
    graph = TextGraph(Store(target), cautions)
    if embedder is not None:
        with _locked(target):
            graph.embed(embedder, progress)
    return graph


def _ensure(feed: Feed, target: Path, progress: Progress) -> list[Caution]:
    written = _version(target)
    if written == VERSION:
        return []
    cautions = []
    with _locked(target):
        written = _version(target)  # another process may have built it meanwhile
        if written == VERSION:
            return []
        if written is not None:
            words = (
                f"The snapshot of {feed.name} has format {written}; this rowhop reads format {VERSION}: built again."
            )
            cautions.append(Caution("snapshot_rebuilt", words))
        build(feed, target, progress)
        _drop_older(target)
    return cautions


def _version(target: Path) -> int | None:
    try:
        return int(json.loads((target / "meta.json").read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _drop_older(target: Path) -> None:
    """Keep the newest two snapshots of one source: a process that still reads the last one is not disturbed."""
    stem = target.name.rsplit("-", 1)[0]
    same = re.compile(re.escape(stem) + r"-[0-9a-f]{16}(\.part|\.lock)?")
    mine = [p for p in target.parent.iterdir() if same.fullmatch(p.name) and p.is_dir()]
    older = sorted((p for p in mine if p != target), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in older[1:]:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """One builder at a time; where the system has no file locks the last one to finish wins."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(os.fspath(target) + ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
