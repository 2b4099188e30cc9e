"""A knowledge graph with literals opened as a text graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.graph import Hop
from rowhop.graph.textgraph import open_textgraph

TURTLE = """
@prefix e: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
e:Town rdfs:label "town" .
e:New_Haven a e:Town ; rdfs:label "Nouveau Port"@fr, "New Haven"@en ; skos:altLabel "Elm City" ;
    rdfs:comment "A town with elms."@en ; e:founded 1638 ; e:liesIn e:Coast .
e:Coast e:has [ e:note "unnamed" ] .
"""


def test_labels_literals_types_and_edges(tmp_path: Path) -> None:
    (tmp_path / "towns.ttl").write_text(TURTLE)
    graph = open_textgraph(tmp_path / "towns.ttl", tmp_path / "cache")
    town = graph.find("New Haven")[0].node
    assert (town.id, town.kind) == ("http://example.org/New_Haven", "town")
    assert town.text == "A town with elms.\nfounded: 1638"
    assert {graph.find(n)[0].node.id for n in ("Elm City", "Nouveau Port")} == {town.id}
    assert [n.name for n in graph.follow(town.id, Hop("liesIn"))] == ["Coast"]
    (blank,) = graph.follow("http://example.org/Coast", Hop("has"))
    assert (blank.named, blank.text) == (False, "note: unnamed")


def test_a_broken_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "bad.ttl").write_text("this is no turtle")
    with pytest.raises(SourceError, match="could not be read as RDF"):
        open_textgraph(tmp_path / "bad.ttl", tmp_path / "cache")
