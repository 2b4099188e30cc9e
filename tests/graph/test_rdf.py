"""The embedded store over real files of every syntax, whole and broken."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rowhop.errors import ReplyError, SourceError
from rowhop.graph import LITERAL, Edge, Hop, edges, rdf, walk
from rowhop.graph import Path as Walk
from rowhop.graph.triples import Hints, TripleGraph
from rowhop.graph.vocabulary import FREEBASE, Vocabulary, node_iri, relation_iri

EX = "http://example.org/"
TURTLE = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:tarr a :Director ; rdfs:label "Béla Tarr"@hu ; skos:altLabel "Tarr Béla"@hu ; :born "1955-07-21"^^xsd:date ;
   :address [ :city :pecs ; :zip "7621" ] .
:pecs a :City ; rdfs:label "Pécs"@hu, "Fünfkirchen"@de, "Pecs (en)"@en ; rdfs:comment "A city."@en .
:satan a :Film ; rdfs:label "Satantango" ; :directedBy :tarr ; :sequelOf :satan .
:paris1 a :City ; rdfs:label "Paris" ; :country :france . :paris2 a :City ; rdfs:label "Paris" ; :country :usa .
:directedBy rdfs:domain :Film ; rdfs:range :Director .
"""
NTRIPLES = (
    "<http://example.org/a> <http://example.org/p> <http://example.org/b%20c> .\n"
    '<http://example.org/a> <http://example.org/q> "x\\ny"@en .\n'
)


def graph(tmp_path: Path, text: str | bytes, name: str, **more: object) -> TripleGraph:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rdf.open_files([file], tmp_path / "cache", **more)  # type: ignore[arg-type]


def names(nodes: object) -> list[str]:
    return [n.name for n in nodes]  # type: ignore[attr-defined]


SAME = {
    "a.nt": NTRIPLES,
    "a.nq": NTRIPLES.replace(" .\n", " <http://example.org/g> .\n"),
    "a.ttl": '@prefix : <http://example.org/> . :a :p <http://example.org/b%20c> ; :q "x\\ny"@en .',
    "a.trig": '@prefix : <http://example.org/> . :g { :a :p <http://example.org/b%20c> . } :h { :a :q "x\\ny"@en . }',
    "a.rdf": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://example.org/">'
    '<rdf:Description rdf:about="http://example.org/a"><p rdf:resource="http://example.org/b%20c"/>'
    '<q xml:lang="en">x\ny</q></rdf:Description></rdf:RDF>',
    "a.jsonld": json.dumps(
        {"@id": EX + "a", EX + "p": {"@id": EX + "b%20c"}, EX + "q": {"@value": "x\ny", "@language": "en"}}
    ),
    "a.nt.gz": gzip.compress(NTRIPLES.encode()),
}


@pytest.mark.parametrize("name", SAME)
def test_every_syntax_gives_the_same_graph(tmp_path: Path, name: str) -> None:
    g = graph(tmp_path, SAME[name], name)
    assert g.hops(EX + "a") == (Hop(EX + "p"), Hop(EX + "q"))
    (there,) = g.follow(EX + "a", Hop(EX + "p"))
    assert (there.id, there.name) == (EX + "b%20c", "b c")
    (value,) = g.follow(EX + "a", Hop(EX + "q"))
    assert (value.id, value.name, value.kind) == ('"x\\ny"@en', "x\ny", LITERAL)
    assert g.follow(value.id, Hop(EX + "q", inverse=True))[0].id == EX + "a"


PLAIN = {
    "bar.txt": "a b|r|c\nc|r|d é\n",
    "tab.tsv": "a b\tr\tc\nc\tr\td é\n",
    "head.tsv": "Head\trelation\ttail\na b\tr\tc\nc\tr\td é\r\n",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_files_show_names(tmp_path: Path, name: str) -> None:
    g = graph(tmp_path, PLAIN[name], name)
    (found,) = g.find("A B")
    assert (found.node.name, found.how) == ("a b", "folded")
    path = Walk(found.node.id, (Hop(relation_iri("r")), Hop(relation_iri("r"))))
    (end,) = walk(g, path)
    assert end.name == "d é"
    c = node_iri("c")
    assert edges(g, path, end.id) == (Edge(found.node.id, relation_iri("r"), c), Edge(c, relation_iri("r"), end.id))
    assert g.schema().relations[0].name == "r"
    assert g.schema().triples == 2


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("x.ttl", "@prefix : <http://e/> .\n:a :b 3 .\n:a :b ]", "line 3, column 7"),
        ("x.nt", "<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> <http://e/b> .\n", "line 2, column"),
        ("x.rdf", "<rdf:RDF>", "x.rdf"),
        ("x.jsonld", '{"@id": ', "x.jsonld"),
        ("x.txt", "a|b|c\na|b\n", "line 2, column 4"),
        ("x.tsv", "a\tb\tc\na\tb\tc\td\n", "line 2, column 6"),
        ("x.txt", b"a|b|c\n\xff|b|c\n", "not UTF-8"),
        ("x.nt", "", "no triples"),
    ],
)
def test_broken_files_are_refused_with_the_place(tmp_path: Path, name: str, text: str, where: str) -> None:
    with pytest.raises(SourceError, match=where):
        graph(tmp_path, text, name)


def test_relative_iris_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    ids = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        g = graph(tmp_path / folder, "<a> <p> <b> .", "r.ttl")
        ids.add(g.follow("file:///a", Hop("file:///p"))[0].id)
    assert ids == {"file:///b"}


def test_labels_types_and_languages(tmp_path: Path) -> None:
    g = graph(tmp_path, TURTLE, "a.ttl")
    pecs, tarr = g.node(EX + "pecs"), g.node(EX + "tarr")
    assert pecs is not None
    assert tarr is not None
    assert (pecs.name, pecs.kind, pecs.text) == ("Pecs (en)", "City", "A city.")
    assert tarr.name == "Béla Tarr"  # no English label: another language is better than none
    german = graph(tmp_path, TURTLE, "a.ttl", vocabulary=Vocabulary(languages=("de",)))
    assert german.node(EX + "pecs").name == "Fünfkirchen"  # type: ignore[union-attr]
    assert g.node(EX + "nobody") is None


def test_blank_nodes_can_be_walked(tmp_path: Path) -> None:
    g = graph(tmp_path, TURTLE, "a.ttl")
    (address,) = g.follow(EX + "tarr", Hop(EX + "address"))
    assert address.id.startswith("_:")
    assert not address.named
    assert set(g.hops(address.id)) == {Hop(EX + "city"), Hop(EX + "zip"), Hop(EX + "address", True)}
    (city,) = walk(g, Walk(EX + "tarr", (Hop(EX + "address"), Hop(EX + "city"))))
    assert city.name == "Pecs (en)"


def test_a_cycle_ends(tmp_path: Path) -> None:
    g = graph(tmp_path, TURTLE, "a.ttl")
    assert names(walk(g, Walk(EX + "satan", (Hop(EX + "sequelOf"),) * 5))) == ["Satantango"]


def test_names_are_found_exact_alias_folded_and_misspelt(tmp_path: Path) -> None:
    g = graph(tmp_path, TURTLE, "a.ttl")
    found = {t: [(m.node.id.removeprefix(EX), m.how) for m in g.find(t)] for t in TEXTS}
    assert found == TEXTS
    assert [m.node.id for m in g.find("Paris", kind="City")] == [EX + "paris1", EX + "paris2"]
    assert g.find("Paris", kind="Film") == ()


TEXTS = {
    "Béla Tarr": [("tarr", "name")],
    "Tarr Béla": [("tarr", "alias")],
    "bela TARR": [("tarr", "folded")],
    "Bela Tarrr": [("tarr", "fuzzy")],
    "Fünfkirchen": [("pecs", "name")],
    "Paris": [("paris1", "name"), ("paris2", "name")],
    "france": [("france", "name")],
    "1955-07-21": [('"1955-07-21"^^<http://www.w3.org/2001/XMLSchema#date>', "name")],
    "Zzyzx": [],
}


def test_schema_counts_types_and_ends(tmp_path: Path) -> None:
    schema = graph(tmp_path, TURTLE, "a.ttl").schema()
    assert [(t.name, t.count) for t in schema.types] == [("City", 3), ("Director", 1), ("Film", 1)]
    directed = schema.relation(EX + "directedBy")
    assert directed
    assert (directed.name, directed.domain, directed.range) == ("directed by", ("Film",), ("Director",))
    assert schema.relation("http://www.w3.org/2000/01/rdf-schema#label") is None


def test_hints_stand_in_for_types_and_inverses(tmp_path: Path) -> None:
    hints = Hints({"a.b.c": ("a.b", "x.y")}, {"a.b.c": "x.y.z"})
    g = graph(tmp_path, "one|a.b.c|m.0abc\nm.0abc|x.y.z|one\n", "f.txt", vocabulary=FREEBASE, hints=hints)
    relation = g.schema().relation(relation_iri("a.b.c"))
    assert relation
    assert (relation.domain, relation.range) == (("a.b",), ("x.y",))
    assert relation.inverse == relation_iri("x.y.z")
    assert not g.node(node_iri("m.0abc")).named  # type: ignore[union-attr]


def big(path: Path, rows: int = 40_000) -> Path:
    path.write_text("".join(f"node {i}|next|node {i + 1}\n" for i in range(rows)))
    assert path.stat().st_size > rdf.SMALL
    return path


def read_one(file: Path, cache: Path) -> list[str]:
    g = rdf.open_files([file], cache)
    return names(walk(g, Walk(g.find("node 7")[0].node.id, (Hop(relation_iri("next")),) * 3)))


READ_ONE = """
import sys
from pathlib import Path
from rowhop.graph import Hop, Path as Walk, rdf, walk
from rowhop.graph.vocabulary import relation_iri
g = rdf.open_files([Path(sys.argv[1])], Path(sys.argv[2]))
start = g.find("node 7")[0].node.id
print(*(n.name for n in walk(g, Walk(start, (Hop(relation_iri("next")),) * 3))))
"""


def test_a_snapshot_is_shared_by_processes_and_replaced_when_the_file_changes(tmp_path: Path) -> None:
    file, cache = big(tmp_path / "big.txt"), tmp_path / "cache"
    # Fresh processes: a fork would copy the store's locks as other threads of this one hold them, and wait for ever.
    readers = [subprocess.Popen([sys.executable, "-c", READ_ONE, file, cache], stdout=subprocess.PIPE) for _ in "abc"]
    assert [reader.communicate()[0].split() for reader in readers] == [[b"node", b"10"]] * 3
    (home,) = [p for p in (cache / "graphs").iterdir() if not p.name.startswith(".")]
    before = {p: p.stat().st_mtime_ns for p in (home / "store").iterdir()}
    assert read_one(file, cache) == ["node 10"]
    assert {p: p.stat().st_mtime_ns for p in (home / "store").iterdir()} == before
    with file.open("a") as more:
        more.write("node 9|next|another\n")
    assert read_one(file, cache) == ["another", "node 10"]


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    file = big(tmp_path / "big.txt")
    with file.open("a") as more:
        more.write("broken\n")
    with pytest.raises(SourceError, match="line 40001"):
        rdf.open_files([file], tmp_path / "cache")
    assert os.listdir(tmp_path / "cache" / "graphs") == []


def test_ids_from_a_model_cannot_carry_a_query(tmp_path: Path) -> None:
    g = graph(tmp_path, TURTLE, "a.ttl")
    with pytest.raises(ReplyError):
        g.follow(EX + "tarr", Hop("http://x> ?y . ?y <http://z"))
    with pytest.raises(ReplyError):
        g.node("tarr")
