"""Text graphs out of the files that others publish: OBO, the Gene Ontology's SQLite with genes, WordNet, triples.

STaRK's published folders hold pickles, which run code when they are loaded: they are refused with a sentence.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.errors import SourceError
from rowhop.graph import textgraph_edges
from rowhop.graph.textgraph_edges import Known, Triple, batched
from rowhop.graph.textgraph_read import Feed, FolderFeed, TextNode, is_folder, stamp

if TYPE_CHECKING:
    import pyarrow as pa


_RDF = (".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl", ".jsonld")


def feed_of(path: Path) -> Feed:
    """The feed for what a path holds. Raises SourceError, in words, when it is no text graph."""
    if path.is_dir():
        if is_folder(path):
            return FolderFeed.of(path)
        if (path / "data.noun").is_file():
            return WordNetFeed(str(path), path)
        if pickles := sorted(p.name for p in path.rglob("*.pkl"))[:3] + sorted(p.name for p in path.rglob("*.pt"))[:3]:
            raise SourceError(
                f"{path} holds pickled files ({', '.join(pickles)}), as STaRK publishes them. Loading a pickle runs "
                "whatever it says, so rowhop does not. Export the graph where you trust it: nodes.jsonl with id, name, "
                "type and text, one node per line, and edges.tsv with subject, relation and object."
            )
        return FolderFeed.of(path)
    if path.suffix.lower() == ".obo":
        return OboFeed(str(path), path)
    if path.suffix.lower() in (".sqlite", ".db") and path.is_file() and _has_table(path, "go_term"):
        genes = path.with_name("org.Hs.eg.sqlite")
        return GoFeed(str(path), path, genes if genes.is_file() else None)
    if Path(path.name.lower().removesuffix(".gz")).suffix in _RDF and path.is_file():
        from rowhop.graph.textgraph_rdf import RdfFeed

        return RdfFeed(str(path), path)
    if path.suffix.lower() in (".txt", ".tsv", ".csv", ".parquet") and path.is_file():
        return TripleFileFeed(str(path), path)
    raise SourceError(f"{path} is not a text graph: a folder with nodes.* and edges.*, an .obo file or GO.sqlite is.")


@dataclass
class TriplesFeed:
    """Triples and, where there are any, nodes from memory. `changes` must differ when they do."""

    name: str
    triples: Sequence[Triple]
    changes: str
    listed: Sequence[TextNode] = ()
    embed_kinds: tuple[str, ...] = ()

    @property
    def nodes_from_edges(self) -> bool:
        return not self.listed

    def nodes(self) -> Iterator[TextNode]:
        return iter(self.listed)

    def edges(self, known: Known) -> Iterator[pa.Table]:
        return batched(self.triples)

    def fingerprint(self) -> str:
        return self.changes


@dataclass
class TripleFileFeed:
    """One file of triples, `subject|relation|object` in .txt; the ends are the nodes, and their ids their names."""

    name: str
    path: Path
    nodes_from_edges: bool = True
    embed_kinds: tuple[str, ...] = ("no text",)  # bare names are found as names

    def nodes(self) -> Iterator[TextNode]:
        return iter(())

    def edges(self, known: Known) -> Iterator[pa.Table]:
        if self.path.suffix.lower() != ".txt":
            return textgraph_edges.read(self.path, known)
        return batched(self._lines())

    def _lines(self) -> Iterator[Triple]:
        with self.path.open(encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                parts = line.rstrip("\r\n").split("\t" if "\t" in line else "|", 2)
                if len(parts) == 3:
                    yield parts[0].strip(), parts[1].strip(), parts[2].strip()
                elif line.strip():
                    raise SourceError(f"{self.path} line {number} is no triple: subject|relation|object is expected.")

    def fingerprint(self) -> str:
        return stamp([self.path])


_TAG = re.compile(r"^([A-Za-z_-]+):\s*(.*)$")
_QUOTED = re.compile(r'^"((?:[^"\\]|\\.)*)"\s*(\S*)')


@dataclass
class OboFeed:
    """An ontology in OBO format: terms with definition and synonyms; is_a and relationship lines are the edges."""

    name: str
    path: Path
    nodes_from_edges: bool = False
    embed_kinds: tuple[str, ...] = ()

    def _terms(self) -> Iterator[dict[str, list[str]]]:
        term: dict[str, list[str]] | None = None
        with self.path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                line = line.rstrip("\r\n")
                if line.startswith("["):
                    if term:
                        yield term
                    term = {} if line == "[Term]" else None
                elif term is not None and (tag := _TAG.match(line)):
                    term.setdefault(tag.group(1), []).append(tag.group(2))
        if term:
            yield term

    def nodes(self) -> Iterator[TextNode]:
        for term in self._terms():
            if "true" in term.get("is_obsolete", []):
                continue
            synonyms = [
                m.group(1) for s in term.get("synonym", []) if (m := _QUOTED.match(s)) and m.group(2) == "EXACT"
            ]
            yield TextNode(
                _bare(term.get("id", [""])[0]),
                term.get("name", [""])[0],
                term.get("namespace", ["term"])[0],
                "\n".join(filter(None, [_unquoted(d) for d in term.get("def", [])[:1] + term.get("comment", [])])),
                tuple(synonyms),
            )

    def edges(self, known: Known) -> Iterator[pa.Table]:
        def triples() -> Iterator[Triple]:
            for term in self._terms():
                id = _bare(term.get("id", [""])[0])
                yield from ((id, "is a", _bare(parent)) for parent in term.get("is_a", []))
                for line in term.get("relationship", []):
                    relation, _, rest = line.partition(" ")
                    yield id, relation.replace("_", " "), _bare(rest)

        return batched(triples())

    def fingerprint(self) -> str:
        return stamp([self.path])


def _bare(value: str) -> str:
    """An id without modifiers {…} and the comment after the exclamation mark."""
    return re.split(r"\s[!{]", value + " ", maxsplit=1)[0].strip()


def _unquoted(value: str) -> str:
    match = _QUOTED.match(value)
    return match.group(1).replace('\\"', '"').replace("\\n", "\n") if match else value


_ONTOLOGIES = (("bp", "biological process"), ("mf", "molecular function"), ("cc", "cellular component"))
_PARENTS = {"isa": "is a", "is_a": "is a", "partof": "part of"}
_CARRIES = {"bp": "takes part in", "mf": "has function", "cc": "is located in"}


@dataclass
class GoFeed:
    """Bioconductor's GO.sqlite: terms with definitions; with org.Hs.eg.sqlite also genes and their annotations.

    Genes carry a name of a few words only, so the terms alone are embedded.
    """

    name: str
    path: Path
    genes: Path | None = None
    nodes_from_edges: bool = False
    embed_kinds: tuple[str, ...] = tuple(kind for _, kind in _ONTOLOGIES)

    def nodes(self) -> Iterator[TextNode]:
        kinds = {short.upper(): kind for short, kind in _ONTOLOGIES}
        with closing(_read_only(self.path)) as base:
            synonyms: dict[int, list[str]] = {}
            for id, synonym in base.execute("SELECT _id, synonym FROM go_synonym WHERE like_go_id = 0"):
                synonyms.setdefault(id, []).append(synonym)
            for row, id, term, ontology, text in base.execute(
                "SELECT _id, go_id, term, ontology, definition FROM go_term"
            ):
                yield TextNode(id, term, kinds.get(ontology, ontology), text or "", tuple(synonyms.get(row, ())))
        if self.genes is not None:
            with closing(_read_only(self.genes)) as base:
                aliases: dict[int, list[str]] = {}
                for row, alias in base.execute("SELECT _id, alias_symbol FROM alias"):
                    aliases.setdefault(row, []).append(alias)
                query = "SELECT g._id, g.gene_id, i.symbol, i.gene_name FROM genes g JOIN gene_info i ON i._id = g._id"
                for row, id, symbol, name in base.execute(query):
                    others = tuple(dict.fromkeys([name, *(a for a in aliases.get(row, ()) if a != symbol)]))
                    yield TextNode(f"gene:{id}", symbol, "gene", name, others)

    def edges(self, known: Known) -> Iterator[pa.Table]:
        return batched(self._triples())

    def _triples(self) -> Iterator[Triple]:
        with closing(_read_only(self.path)) as base:
            for short, _ in _ONTOLOGIES:
                query = (
                    f"SELECT a.go_id, p.relationship_type, b.go_id FROM go_{short}_parents p "
                    "JOIN go_term a ON a._id = p._id JOIN go_term b ON b._id = p._parent_id"
                )
                for child, relation, parent in base.execute(query):
                    yield child, _PARENTS.get(relation, relation.replace("_", " ")), parent
        if self.genes is not None:
            with closing(_read_only(self.genes)) as base:
                for short, _ in _ONTOLOGIES:
                    query = f"SELECT g.gene_id, t.go_id FROM go_{short} t JOIN genes g ON g._id = t._id"
                    for gene, term in base.execute(query):
                        yield f"gene:{gene}", _CARRIES[short], term

    def fingerprint(self) -> str:
        return stamp(p for p in (self.path, self.genes) if p is not None)


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


def _has_table(path: Path, table: str) -> bool:
    try:
        with closing(_read_only(path)) as base:
            return base.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None
    except sqlite3.DatabaseError:
        return False


_PARTS = {"noun": "noun", "verb": "verb", "adj": "adjective", "adv": "adverb"}
_LETTER = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_POINTERS = {
    "@": "is a kind of",
    "@i": "is an instance of",
    "#m": "is a member of",
    "#s": "is a substance of",
    "#p": "is a part of",
    "!": "is the opposite of",
    "*": "entails",
    ">": "causes",
    "&": "is similar to",
    "=": "is about the attribute",
    ";c": "belongs to the topic",
    ";r": "belongs to the region",
    ";u": "belongs to the usage",
    "+": "is derived from",
}  # the other pointers are the inverse of one of these


@dataclass
class WordNetFeed:
    """WordNet's data.* files: one node per synset, its words as names, its gloss as text."""

    name: str
    folder: Path
    nodes_from_edges: bool = False
    embed_kinds: tuple[str, ...] = ()

    def _synsets(self) -> Iterator[tuple[str, str, list[str], list[str], str]]:
        """(id, part of speech, words, the fields after the words, gloss)."""
        for part, kind in _PARTS.items():
            path = self.folder / f"data.{part}"
            if not path.is_file():
                continue
            with path.open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.startswith(" ") or " | " not in line:
                        continue
                    data, _, gloss = line.partition(" | ")
                    fields = data.split()
                    count = int(fields[3], 16)
                    words = [re.sub(r"\((a|p|ip)\)$", "", w).replace("_", " ") for w in fields[4 : 4 + 2 * count : 2]]
                    yield f"{_LETTER[part]}{fields[0]}", kind, words, fields[4 + 2 * count :], gloss.strip()

    def nodes(self) -> Iterator[TextNode]:
        for id, kind, words, _, gloss in self._synsets():
            yield TextNode(id, words[0], kind, gloss, tuple(words[1:]))

    def edges(self, known: Known) -> Iterator[pa.Table]:
        return batched(self._triples())

    def _triples(self) -> Iterator[Triple]:
        # Head and satellite adjectives (a, s) stand in one file.
        files = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}
        for id, _, _, rest, _ in self._synsets():
            for i in range(int(rest[0])):
                pointer, target, part = rest[1 + 4 * i : 4 + 4 * i]
                if pointer in _POINTERS:
                    yield id, _POINTERS[pointer], f"{files[part]}{target}"

    def fingerprint(self) -> str:
        return stamp(p for p in (self.folder / f"data.{part}" for part in _PARTS) if p.is_file())
