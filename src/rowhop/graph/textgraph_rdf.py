"""An RDF file as a text graph: labels become names, literals text, what leads from node to node edges."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

from rowhop.errors import SourceError
from rowhop.graph import rdf
from rowhop.graph.textgraph_edges import Known, Triple, batched
from rowhop.graph.textgraph_read import TextNode, stamp
from rowhop.graph.vocabulary import STANDARD, Vocabulary, local_name

if TYPE_CHECKING:
    import pyarrow as pa
    import pyoxigraph as ox


@dataclass
class _Facts:
    labels: dict[int, str] = field(default_factory=dict)  # by preference: the lower the better
    aliases: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    kind: str = ""

    @property
    def name(self) -> str:
        return self.labels[min(self.labels)] if self.labels else ""


@dataclass
class RdfFeed:
    """All nodes are held in memory while the snapshot is built. Blank nodes are numbered as they appear."""

    name: str
    path: Path
    vocabulary: Vocabulary = STANDARD
    nodes_from_edges: bool = False
    embed_kinds: tuple[str, ...] = ()

    def _facts(self) -> Iterator[tuple[str, str, str | ox.Literal]]:
        """Subject, relation and object, the latter a literal or an id. Parsers name blank nodes anew each time."""
        import pyoxigraph as ox

        blank: dict[str, str] = {}

        def id_of(term: object) -> str:
            if isinstance(term, ox.BlankNode):
                return blank.setdefault(term.value, f"_:b{len(blank)}")
            if isinstance(term, ox.NamedNode):
                return term.value
            raise SourceError(f"{self.path} has statements about statements; a text graph has no place for them.")

        try:
            with _opened(self.path) as file:
                base = f"file:///{quote(self.path.name)}"
                for quad in ox.parse(file, format=rdf.FORMATS[rdf.extension(self.path)], base_iri=base):
                    object_ = quad.object if isinstance(quad.object, ox.Literal) else id_of(quad.object)
                    yield id_of(quad.subject), quad.predicate.value, object_
        except (SyntaxError, ValueError, OSError) as error:
            raise SourceError(f"{self.path} could not be read as RDF: {error}.") from error

    def nodes(self) -> Iterator[TextNode]:
        words = self.vocabulary
        found: dict[str, _Facts] = {}
        for subject, relation, value in self._facts():
            facts = found.setdefault(subject, _Facts())
            if not isinstance(value, str):
                self._literal(facts, relation, value)
            elif relation in words.types:
                facts.kind = facts.kind or value
            else:
                found.setdefault(value, _Facts())
        for id, facts in found.items():
            text = "\n".join(facts.texts)
            yield TextNode(id, facts.name or _told(id), self._kind(facts.kind, found), text, tuple(facts.aliases))

    def _kind(self, kind: str, found: dict[str, _Facts]) -> str:
        named = found.get(kind)
        return (named.name if named else "") or _told(kind)

    def _literal(self, facts: _Facts, relation: str, value: ox.Literal) -> None:
        words, language = self.vocabulary, value.language or ""
        known = language in words.languages
        if relation in words.labels:
            rank = words.labels.index(relation) + 100 * (words.languages.index(language) if known else 9)
            facts.labels.setdefault(rank, value.value)
            facts.aliases.append(value.value)
        elif relation in words.aliases:
            facts.aliases.append(value.value)
        elif known and relation in words.descriptions:
            facts.texts.insert(0, value.value)
        elif known:
            facts.texts.append(f"{local_name(relation)}: {value.value}")

    def edges(self, known: Known) -> Iterator[pa.Table]:
        return batched(self._triples())

    def _triples(self) -> Iterator[Triple]:
        for subject, relation, value in self._facts():
            if isinstance(value, str) and relation not in self.vocabulary.types:
                yield subject, local_name(relation), value

    def fingerprint(self) -> str:
        return stamp([self.path])


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _told(id: str) -> str:
    return "" if not id or id.startswith("_:") else local_name(id).replace("_", " ")
