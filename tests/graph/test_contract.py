"""Both engines, the embedded store and a real endpoint, give the same answers over the same triples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from endpoints import oxigraph

from rowhop.graph import Hop, Node, edges, follow_many, hops_many, rdf, walk
from rowhop.graph import Path as Walk
from rowhop.graph.sparql import open_endpoint
from rowhop.graph.triples import TripleGraph

EX = "http://example.org/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TRIG = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:tarr a :Director ; rdfs:label "Béla Tarr"@hu , "Bela Tarr (en)"@en ; skos:altLabel "Tarr Béla"@hu ;
   :born "1955-07-21"^^xsd:date ; :address [ :city :pecs ; :zip "7621" ] , [ :city :buda ; :zip "1011" ] .
:g { :pecs a :City ; rdfs:label "Pécs"@hu ; rdfs:comment "A city."@en ; :mayor :tarr .
:buda a :City ; rdfs:label "Buda" ; :twin :pecs . :pecs :twin :buda . }
:film a :Film ; rdfs:label "Sátántangó" ; :directedBy :tarr ; :minutes 439 ; :rating 8.2 ; :note "say \\"hi\\"\\n" .
:hub rdfs:label "Hub" .
<http://example.org/per%20cent> rdfs:label "Per cent" ; :twin :hub .
:directedBy rdfs:label "directed by"@en .
""" + "".join(f":hub :member :m{i:03d} . :m{i:03d} rdfs:label 'M{i:03d}' ; a :Member .\n" for i in range(300))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TripleGraph]]:
    folder = tmp_path_factory.mktemp("contract")
    file = folder / "g.trig"
    file.write_text(TRIG)
    with oxigraph(folder / "store", file) as url:
        yield {"file": rdf.open_files([file], folder / "cache"), "endpoint": open_endpoint(url)}


@pytest.fixture(params=["file", "endpoint"])
def graph(request: pytest.FixtureRequest, both: dict[str, TripleGraph]) -> TripleGraph:
    return both[request.param]


def same(node: Node) -> Node:
    """Blank nodes have other labels in each store."""
    return Node("_:", "_:", named=False) if node.id.startswith("_:") else node


def test_schema(both: dict[str, TripleGraph]) -> None:
    schemas = [g.schema() for g in both.values()]
    assert schemas[0] == schemas[1]
    directed = schemas[0].relation(EX + "directedBy")
    assert directed
    assert (directed.name, directed.domain, directed.range) == ("directed by", ("Film",), ("Director",))


@pytest.mark.parametrize("id", ["tarr", "pecs", "buda", "film", "hub", "m007", "per%20cent", "Film", "nobody"])
def test_nodes_and_their_neighbours(both: dict[str, TripleGraph], id: str) -> None:
    one, two = both.values()
    assert one.node(EX + id) == two.node(EX + id)
    hops = one.hops(EX + id)
    assert hops == two.hops(EX + id)
    assert list(one.around([EX + id])[EX + id]) == list(two.around([EX + id])[EX + id])
    for hop in hops:
        found = [[same(n) for n in g.follow(EX + id, hop)] for g in (one, two)]
        assert found[0] == found[1]


TEXTS = ["Béla Tarr", "Tarr Béla", "bela tarr", "Bela Tar", "Pécs", "pecs", "Buda", "M007", "Nobody At All"]


@pytest.mark.parametrize("text", TEXTS)
def test_names(both: dict[str, TripleGraph], text: str) -> None:
    found = [[(m.node, m.how) for m in g.find(text, 3)] for g in both.values()]
    assert found[0] == found[1]


def test_values_are_nodes(graph: TripleGraph) -> None:
    (minutes,) = graph.follow(EX + "film", Hop(EX + "minutes"))
    assert (minutes.name, minutes.kind) == ("439", "literal")
    assert [n.name for n in graph.follow(minutes.id, Hop(EX + "minutes", True))] == ["Sátántangó"]
    (note,) = graph.follow(EX + "film", Hop(EX + "note"))
    assert note.name == 'say "hi"\n'
    assert graph.follow(note.id, Hop(EX + "note", True))[0].id == EX + "film"


def test_blank_nodes_are_walked_through(graph: TripleGraph) -> None:
    path = Walk(EX + "tarr", (Hop(EX + "address"), Hop(EX + "city")))
    assert sorted(n.name for n in walk(graph, path)) == ["Buda", "Pécs"]
    for blank in graph.follow(EX + "tarr", Hop(EX + "address")):
        (city,) = graph.follow(blank.id, Hop(EX + "city"))
        (zip,) = graph.follow(blank.id, Hop(EX + "zip"))
        assert (city.name, zip.name) in {("Pécs", "7621"), ("Buda", "1011")}
    chain = edges(graph, path, EX + "pecs")
    assert (chain[0].subject, chain[0].relation) == (EX + "tarr", EX + "address")
    assert chain[1].object == EX + "pecs"


def test_hubs_are_cut_and_cycles_end(graph: TripleGraph) -> None:
    assert len(graph.follow(EX + "hub", Hop(EX + "member"), 100)) == 100
    assert len(graph.follow(EX + "hub", Hop(EX + "member"))) == 300
    assert [n.name for n in walk(graph, Walk(EX + "buda", (Hop(EX + "twin"),) * 5))] == ["Pécs"]


def test_many_at_once(graph: TripleGraph) -> None:
    ids = [EX + f"m{i:03d}" for i in range(120)] + [EX + "nobody"]
    back = follow_many(graph, ids, Hop(EX + "member", True))
    assert all([n.name for n in back[i]] == ["Hub"] for i in ids[:-1])
    assert back[EX + "nobody"] == ()
    assert hops_many(graph, ids)[ids[0]] == (Hop(EX + "member", True),)


def test_the_label_language_follows_the_vocabulary(graph: TripleGraph) -> None:
    assert graph.node(EX + "tarr").name == "Bela Tarr (en)"  # type: ignore[union-attr]
