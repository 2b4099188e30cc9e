"""Which relations of a graph are names, types and descriptions, and how an IRI is shown to people.

A preset is data: another vocabulary is another value of `Vocabulary`, not another class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
FOAF = "http://xmlns.com/foaf/0.1/"
SCHEMA = ("https://schema.org/", "http://schema.org/")
DC = ("http://purl.org/dc/terms/", "http://purl.org/dc/elements/1.1/")
FREEBASE_NS = "http://rdf.freebase.com/ns/"
WIKIDATA = "http://www.wikidata.org/"

# Names of a plain triple file become IRIs, so that one engine serves every kind of file.
NODE = "urn:rowhop:n:"
RELATION = "urn:rowhop:r:"


@dataclass(frozen=True)
class Vocabulary:
    """All IRIs. Earlier labels and languages win. `walks` limits the relations that are hops to these prefixes;
    `hidden` takes relations (or prefixes, ending in `/`, `#` or `.`) out. `unnamed` matches names that only
    machines use. `plumbing` matches relations that store machinery rather than facts."""

    name: str = "standard"
    labels: tuple[str, ...] = (
        RDFS + "label",
        SKOS + "prefLabel",
        *(s + "name" for s in SCHEMA),
        FOAF + "name",
        *(d + "title" for d in DC),
    )
    aliases: tuple[str, ...] = (SKOS + "altLabel", SKOS + "hiddenLabel", *(s + "alternateName" for s in SCHEMA))
    types: tuple[str, ...] = (RDF + "type",)
    descriptions: tuple[str, ...] = (
        RDFS + "comment",
        *(s + "description" for s in SCHEMA),
        *(d + "description" for d in DC),
        SKOS + "definition",
    )
    languages: tuple[str, ...] = ("en", "")
    walks: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    unnamed: str = ""
    claims: str = ""  # from the node of a relation to the IRI used in triples (Wikidata's wikibase:directClaim)

    @property
    def described(self) -> tuple[str, ...]:
        """Relations that are shown as part of a node and therefore are no hops."""
        return (*self.labels, *self.aliases, *self.types, *self.descriptions)

    def is_hop(self, relation: str) -> bool:
        if relation in self.described:
            return False
        if self.walks and not relation.startswith(self.walks):
            return False
        return not any(relation == h or (h[-1] in "/#." and relation.startswith(h)) for h in self.hidden)


STANDARD = Vocabulary(hidden=(RDFS + "domain", RDFS + "range", RDFS + "subClassOf", OWL + "inverseOf"))

FREEBASE = Vocabulary(
    name="freebase",
    labels=(FREEBASE_NS + "type.object.name", RDFS + "label"),
    aliases=(FREEBASE_NS + "common.topic.alias",),
    types=(FREEBASE_NS + "type.object.type", RDF + "type"),
    descriptions=(FREEBASE_NS + "common.topic.description",),
    hidden=tuple(FREEBASE_NS + p for p in ("type.", "common.", "freebase.", "kg.", "user.", "dataworld.")),
    unnamed=r"^[mg]\.[0-9a-z_]+$",
)

WIKIDATA_VOCABULARY = Vocabulary(
    name="wikidata",
    labels=(RDFS + "label",),
    aliases=(SKOS + "altLabel",),
    types=(WIKIDATA + "prop/direct/P31",),
    descriptions=("http://schema.org/description",),
    walks=(WIKIDATA + "prop/direct/",),
    claims="http://wikiba.se/ontology#directClaim",
)

PRESETS = {v.name: v for v in (STANDARD, FREEBASE, WIKIDATA_VOCABULARY)}


def node_iri(name: str) -> str:
    return NODE + quote(name, safe="")


def relation_iri(name: str) -> str:
    return RELATION + quote(name, safe="")


def local_name(iri: str) -> str:
    """What people read where there is no label: the last part of the IRI, decoded.

    >>> local_name("http://example.org/place/New_York%20City")
    'New York City'
    >>> local_name(node_iri("a|b c"))
    'a|b c'
    """
    for prefix in (NODE, RELATION):
        if iri.startswith(prefix):
            return unquote(iri[len(prefix) :])
    tail = re.split(r"[/#]", iri.rstrip("/#"))[-1] or iri
    if tail == iri and ":" in iri:
        tail = iri.rsplit(":", 1)[-1] or iri
    return unquote(tail).replace("_", " ").strip() or iri


def relation_name(iri: str) -> str:
    """Like `local_name`, but a relation's own spelling is kept where it is the file's: underscores, dots.

    >>> relation_name("http://example.org/bornIn")
    'born in'
    """
    if iri.startswith(RELATION):
        return unquote(iri[len(RELATION) :])
    if iri.startswith(FREEBASE_NS):
        return iri[len(FREEBASE_NS) :]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", local_name(iri)).lower()
