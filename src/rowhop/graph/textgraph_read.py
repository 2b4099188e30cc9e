"""Reads nodes and edges from the files people keep them in; what is built of them is `textgraph_build`'s matter.

A Feed yields nodes one by one and edges in batches. Ids are text from here on: 144, "144" and 144.0 are one node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rowhop.errors import SourceError
from rowhop.graph import textgraph_edges
from rowhop.graph.textgraph_edges import Known, as_id, as_text

if TYPE_CHECKING:
    import pyarrow as pa

_ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_ID = ("id", "node_id", "nodeid", "node", "identifier", "_id", "key")
_NAME = ("name", "label", "title", "node_name")
_KIND = ("type", "kind", "category", "class", "node_type")
_TEXT = ("text", "description", "definition", "abstract", "document", "doc", "details", "summary")
_ALIASES = ("aliases", "alias", "synonyms", "synonym", "other_names")


@dataclass(frozen=True)
class TextNode:
    """A node as its file tells it. `aliases` are further names it can be found by."""

    id: str
    name: str = ""
    kind: str = ""
    text: str = ""
    aliases: tuple[str, ...] = ()


class Feed(Protocol):
    """`name` is what the user named it by. `nodes_from_edges`: no list of nodes, the edges' ends are the nodes.

    `embed_kinds` names the types of nodes whose text is worth a vector; empty means all.
    """

    name: str
    nodes_from_edges: bool
    embed_kinds: tuple[str, ...]

    def nodes(self) -> Iterator[TextNode]: ...
    def edges(self, known: Known) -> Iterator[pa.Table]:
        """Batches with the columns subject, relation, object (text); a fresh pass at each call."""
        ...

    def fingerprint(self) -> str:
        """Changes whenever the data change."""
        ...


def _pick(row: dict[str, Any], names: Sequence[str]) -> str | None:
    lowered = {str(k).strip().casefold(): k for k in row if k is not None}
    return next((lowered[n] for n in names if n in lowered), None)


@dataclass
class NodeShape:
    """Which field of a file of nodes means what; every further field becomes a line of the node's text."""

    id: str
    name: str | None
    kind: str | None
    text: str | None
    aliases: str | None

    @classmethod
    def of(cls, row: dict[str, Any], where: str) -> NodeShape:
        id_ = _pick(row, _ID)
        if id_ is None:
            raise SourceError(f"{where} has no column of node ids. It has: {', '.join(map(str, row))}. Name one 'id'.")
        return cls(id_, *(_pick(row, names) for names in (_NAME, _KIND, _TEXT, _ALIASES)))

    def node(self, row: dict[str, Any]) -> TextNode:
        def cell(key: str | None) -> object:
            return row.get(key) if key else None

        aliases = cell(self.aliases)
        if isinstance(aliases, str):
            aliases = [a.strip() for a in aliases.split("|")]
        known = (self.id, self.name, self.kind, self.text, self.aliases)
        rest = [f"{k}: {as_text(v)}" for k, v in row.items() if k not in known and k is not None and as_text(v)]
        return TextNode(
            as_id(cell(self.id)),
            as_text(cell(self.name)).strip(),
            as_text(cell(self.kind)).strip(),
            "\n".join(filter(None, [as_text(cell(self.text)).strip(), *rest])),
            tuple(a for a in map(as_text, aliases if isinstance(aliases, list) else ()) if a),
        )


def read_nodes(path: Path) -> Iterator[TextNode]:
    """The nodes of one file, with or without a header (then: id, name, type, text)."""
    ending = path.suffix.lower()
    if ending in (".jsonl", ".ndjson", ".parquet"):
        shapes: dict[tuple[str, ...], NodeShape] = {}  # in JSON Lines each row may have other fields
        for row in textgraph_edges.rows_parquet(path) if ending == ".parquet" else textgraph_edges.rows_jsonl(path):
            fields = tuple(row)
            if fields not in shapes:
                if shapes and _pick(row, _ID) is None:
                    yield TextNode("")  # counted as a node without id
                    continue
                shapes[fields] = NodeShape.of(row, str(path))
            yield shapes[fields].node(row)
        return
    rows = textgraph_edges.rows_separated(path)
    first = next(rows, None)
    if first is None:
        return
    if _pick(dict.fromkeys(first), _ID) is None or len({*first}) < len(first):
        names, head = ["id", "name", "type", "text", *(f"field {i}" for i in range(5, len(first) + 1))], [first]
    else:
        names, head = first, []
    shape = NodeShape.of(dict.fromkeys(names), str(path))
    for cells in [*head, *rows] if head else rows:
        if cells:
            yield shape.node(dict(zip(names, cells, strict=False)))


def stamp(paths: Iterable[Path]) -> str:
    """Size, time and both ends of each file: reading a gigabyte at every start would be too slow."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        info = path.stat()
        digest.update(f"{path.name}\0{info.st_size}\0{info.st_mtime_ns}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(65_536))
            if info.st_size > 131_072:
                file.seek(-65_536, 2)
                digest.update(file.read())
    return digest.hexdigest()


@dataclass
class FolderFeed:
    """A folder with nodes.(jsonl|csv|tsv|parquet) and edges.(tsv|csv|parquet|jsonl), or only one of the two."""

    name: str
    nodes_file: Path | None
    edges_file: Path | None
    nodes_from_edges: bool = False
    embed_kinds: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path) -> FolderFeed:
        nodes, edges = (_one(folder, stem) for stem in ("nodes", "edges"))
        if nodes is None and edges is None:
            endings = ", ".join(e[1:] for e in _ENDINGS)
            raise SourceError(f"{folder} is not a text graph: it has neither nodes.* nor edges.* ({endings}).")
        return cls(str(folder), nodes, edges, nodes_from_edges=nodes is None)

    def nodes(self) -> Iterator[TextNode]:
        return read_nodes(self.nodes_file) if self.nodes_file is not None else iter(())

    def edges(self, known: Known) -> Iterator[pa.Table]:
        return textgraph_edges.read(self.edges_file, known) if self.edges_file is not None else iter(())

    def fingerprint(self) -> str:
        return stamp(p for p in (self.nodes_file, self.edges_file) if p is not None)


def is_folder(path: Path) -> bool:
    """Whether a folder looks like nodes and edges (its files are not opened)."""
    return path.is_dir() and (_one(path, "edges") is not None or _one(path, "nodes") is not None)


def _one(folder: Path, stem: str) -> Path | None:
    found = [folder / f"{stem}{e}" for e in _ENDINGS if (folder / f"{stem}{e}").is_file()]
    if len(found) > 1:
        raise SourceError(f"{folder} has {' and '.join(p.name for p in found)}; keep one of them.")
    return found[0] if found else None
