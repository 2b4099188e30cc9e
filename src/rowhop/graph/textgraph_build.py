"""Builds a snapshot of a text graph: once, in stages, resumable, published by one rename.

Layout of a snapshot folder: nodes.sqlite (id, name, kind, text, aliases), names.*.npy (sorted hashes of folded names),
kind.npy, {out,in}.{ptr,rel,end}.npy (CSR in both directions), text/ (tantivy), meta.json (written last).
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rowhop.errors import MissingExtra, SourceError
from rowhop.graph import textgraph_names as names
from rowhop.graph.textgraph_edges import NAMES
from rowhop.graph.textgraph_read import Feed, TextNode

VERSION = 1  # of the snapshot's layout; a snapshot of another version is built again
PATTERNS = 20_000  # (kind, relation, kind) that are kept
INDEXED = 50_000  # characters of a node's text that the text index reads

Progress = Callable[[str, int, int], None]  # stage, done, total (0 where unknown)


def quiet(stage: str, done: int, total: int) -> None:
    """The progress callback for nobody."""


def build(feed: Feed, target: Path, progress: Progress = quiet) -> None:
    """Make the snapshot `target` of what `feed` reads. Stages that an interrupted build finished are kept."""
    part = target.with_name(target.name + ".part")
    stamp = {"version": VERSION, "fingerprint": feed.fingerprint()}
    state = _read_json(part / "stages.json")
    if {k: state.get(k) for k in stamp} != stamp:
        shutil.rmtree(part, ignore_errors=True)
        state = {**stamp, "done": {}}
    part.mkdir(parents=True, exist_ok=True)
    for stage in (_nodes, _edges, _text):
        name = stage.__name__.strip("_")
        if name in state["done"]:
            continue
        begun = time.monotonic()
        facts = stage(feed, part, progress)
        facts["seconds"] = round(time.monotonic() - begun, 2)
        state["done"][name] = facts
        _write_json(part / "stages.json", state)
    _write_json(
        part / "meta.json", {**stamp, "name": feed.name, "embed_kinds": list(feed.embed_kinds), **state["done"]}
    )
    shutil.rmtree(target, ignore_errors=True)
    os.replace(part, target)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    part = path.with_name(path.name + ".new")
    part.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    os.replace(part, path)


def _from_edges(feed: Feed) -> Iterator[TextNode]:
    import pyarrow.compute as pc

    seen: set[str] = set()
    for batch in feed.edges(lambda id: False):
        for column in ("subject", "object"):
            for id in pc.unique(batch.column(column)).to_pylist():
                if id and id not in seen:
                    seen.add(id)
                    yield TextNode(id, id)


def _nodes(feed: Feed, part: Path, progress: Progress) -> dict[str, Any]:
    """Write nodes.sqlite, names.*.npy and kind.npy; the first of two nodes with one id is kept."""
    (part / "nodes.sqlite").unlink(missing_ok=True)
    kinds: dict[str, int] = {}
    seen: set[str] = set()
    kind_of: list[int] = []
    hashes: list[int] = []
    owners: list[int] = []
    odd: Counter[str] = Counter()

    def rows() -> Iterator[tuple[int, str, str, str, str, str]]:
        for node in _from_edges(feed) if feed.nodes_from_edges else feed.nodes():
            if not node.id:
                odd["without id"] += 1
                continue
            if node.id in seen:
                odd["duplicate"] += 1
                continue
            seen.add(node.id)
            odd["without name"] += not node.name
            odd["without text"] += not node.text
            position = len(kind_of)
            kind_of.append(kinds.setdefault(node.kind, len(kinds)))
            for name in {names.fold(n) for n in (node.name, *node.aliases) if n}:
                hashes.append(names.key(name))
                owners.append(position)
            if position % 20_000 == 0:
                progress("nodes", position, 0)
            yield position, node.id, node.name, node.kind, node.text, "\n".join(node.aliases)

    with closing(sqlite3.connect(part / "nodes.sqlite")) as base:
        # No journal: a build that dies here does this stage again.
        base.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE node(pos INTEGER PRIMARY KEY, id TEXT, name TEXT, kind TEXT, text TEXT, aliases TEXT);"
        )
        base.executemany("INSERT INTO node VALUES (?, ?, ?, ?, ?, ?)", rows())
        base.execute("CREATE UNIQUE INDEX node_id ON node(id)")
        base.commit()
    if not kind_of:
        raise SourceError(f"{feed.name} has no nodes.")
    order = np.argsort(np.array(hashes, dtype=np.uint64), kind="stable")
    np.save(part / "names.hash.npy", np.array(hashes, dtype=np.uint64)[order])
    np.save(part / "names.node.npy", np.array(owners, dtype=np.int32)[order])
    np.save(part / "kind.npy", np.array(kind_of, dtype=np.int32))
    progress("nodes", len(kind_of), len(kind_of))
    return {"count": len(kind_of), "kinds": list(kinds), "odd": {k: n for k, n in odd.items() if n}}


def _edges(feed: Feed, part: Path, progress: Progress) -> dict[str, Any]:
    """Write both CSR directions. Edges to nodes that do not exist are left out and counted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with closing(sqlite3.connect(part / "nodes.sqlite")) as base:
        ids = pa.array([r[0] for r in base.execute("SELECT id FROM node ORDER BY pos")], pa.string())

        def known(id: str) -> bool:
            return base.execute("SELECT 1 FROM node WHERE id = ?", (id,)).fetchone() is not None

        relations: dict[str, int] = {}
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        examples: list[str] = []
        missing = total = 0
        for batch in feed.edges(known):
            subject, object_ = (pc.index_in(batch.column(c), value_set=ids) for c in (NAMES[0], NAMES[2]))
            both = pc.and_(pc.is_valid(subject), pc.is_valid(object_))
            kept = batch.filter(both)
            lost = len(batch) - len(kept)
            if lost and len(examples) < 3:
                examples += [" ".join(r.values()) for r in batch.filter(pc.invert(both)).slice(0, 3).to_pylist()]
            missing += lost
            codes = pc.dictionary_encode(kept.column("relation")).combine_chunks()
            codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
            local = np.array([relations.setdefault(r, len(relations)) for r in codes.dictionary.to_pylist()], np.int64)
            parts.append(
                (
                    subject.filter(both).to_numpy().astype(np.int64),
                    local[codes.indices.to_numpy()] if len(local) else np.zeros(0, np.int64),
                    object_.filter(both).to_numpy().astype(np.int64),
                )
            )
            total += len(kept)
            progress("edges", total, 0)
    columns = [np.concatenate([p[i] for p in parts]) if parts else np.zeros(0, np.int64) for i in range(3)]
    del parts
    count = _save_csr(part, "out", columns[0], columns[1], columns[2], len(ids), len(relations))
    _save_csr(part, "in", columns[2], columns[1], columns[0], len(ids), len(relations))
    progress("edges", count, count)
    return {
        "count": count,
        "relations": list(relations),
        "missing": missing,
        "missing_examples": examples[:3],
        "repeated": total - count,
        "patterns": _patterns(part, len(relations)),
    }


def _save_csr(part: Path, side: str, start: np.ndarray, rel: np.ndarray, end: np.ndarray, n: int, r: int) -> int:
    """Sort by (start, relation, end), drop repeats, save; returns the number of edges."""
    if n * max(r, 1) * n < 2**63:
        # One number per edge sorts several times faster than three keys.
        code = distinct((start * max(r, 1) + rel) * n + end)
        front, end = np.divmod(code, n)
        start, rel = np.divmod(front, max(r, 1))
    else:
        order = np.lexsort((end, rel, start))
        start, rel, end = start[order], rel[order], end[order]
        new = np.ones(len(start), bool)
        new[1:] = (np.diff(start) != 0) | (np.diff(rel) != 0) | (np.diff(end) != 0)
        start, rel, end = start[new], rel[new], end[new]
    pointer = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(start, minlength=n), out=pointer[1:])
    np.save(part / f"{side}.ptr.npy", pointer)
    np.save(part / f"{side}.rel.npy", rel.astype(np.int32))
    np.save(part / f"{side}.end.npy", end.astype(np.int32))
    return len(end)


def distinct(values: np.ndarray) -> np.ndarray:
    """Sorted, each once. Of ten million numbers that is twenty times faster than numpy's own `unique`."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    result: np.ndarray = ordered[first]
    return result


def _patterns(part: Path, relations: int) -> list[list[int]]:
    """(kind, relation, kind, number of edges) as codes, the most frequent first: the schema that paths follow."""
    kind = np.load(part / "kind.npy").astype(np.int64)
    pointer, rel, end = (np.load(part / f"out.{name}.npy") for name in ("ptr", "rel", "end"))
    kinds, relations = int(kind.max()) + 1, max(relations, 1)
    start = np.repeat(kind, np.diff(pointer))
    every = np.sort((start * relations + rel) * kinds + kind[end])
    codes = distinct(every)
    counts = np.diff(np.append(np.searchsorted(every, codes), len(every)))
    rows = [
        [int(c // kinds // relations), int(c // kinds % relations), int(c % kinds), int(n)]
        for c, n in zip(codes, counts, strict=True)
    ]
    return sorted(rows, key=lambda row: (-row[3], row[:3]))[:PATTERNS]


def _text(feed: Feed, part: Path, progress: Progress) -> dict[str, Any]:
    """Write the full-text index over names, aliases and texts."""
    try:
        import tantivy
    except ImportError as error:
        raise MissingExtra("A text graph needs tantivy; install it with: pip install tantivy") from error

    folder = part / "text"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    index = tantivy.Index(text_schema(), path=str(folder))
    writer = index.writer(heap_size=120_000_000, num_threads=2)
    with closing(sqlite3.connect(part / "nodes.sqlite")) as base:
        total = base.execute("SELECT count(*) FROM node").fetchone()[0]
        query = f"SELECT pos, name, kind, substr(text, 1, {INDEXED}), aliases FROM node ORDER BY pos"
        for pos, name, kind, text, aliases in base.execute(query):
            writer.add_document(
                tantivy.Document(pos=pos, kind=kind, name=[name, *aliases.split("\n")] if aliases else name, text=text)
            )
            if pos % 20_000 == 0:
                progress("text index", pos, total)
    writer.commit()
    writer.wait_merging_threads()
    progress("text index", total, total)
    return {}


def text_schema() -> Any:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_integer_field("pos", stored=True, indexed=True, fast=True)
    schema.add_text_field("kind", stored=False, tokenizer_name="raw")
    schema.add_text_field("name", stored=False, tokenizer_name="en_stem")
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    return schema.build()
