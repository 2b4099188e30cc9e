"""Text graphs from OBO, the Gene Ontology's SQLite with genes, WordNet and triples; STaRK's pickles are refused."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.graph import Hop
from rowhop.graph.textgraph import open_textgraph
from rowhop.graph.textgraph_feeds import GoFeed, TriplesFeed

OBO = """format-version: 1.2
ontology: tools

[Term]
id: T:1
name: tool
namespace: things
def: "A thing one works with, e.g. a \\"plane\\"." [src:1]
synonym: "implement" EXACT []
synonym: "stuff" BROAD []

[Term]
id: T:2
name: hammer
is_a: T:1 {source="x"} ! tool
relationship: part_of T:3 ! set
comment: Has a head.

[Term]
id: T:3
name: set

[Term]
id: T:9
name: gone
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""


def test_an_obo_file(tmp_path: Path) -> None:
    (tmp_path / "tools.obo").write_text(OBO)
    graph = open_textgraph(tmp_path / "tools.obo", tmp_path / "cache")
    assert graph.node("T:1").text == 'A thing one works with, e.g. a "plane".'
    assert [(m.node.id, m.how) for m in graph.find("implement")] == [("T:1", "alias")]
    assert graph.find("stuff") == ()
    assert graph.hops("T:2") == (Hop("is a"), Hop("part of"))
    assert [n.name for n in graph.follow("T:2", Hop("part of"))] == ["set"]
    assert graph.node("T:9") is None
    assert graph.node("T:2").kind == "term"


def test_the_gene_ontology_with_genes(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "GO.sqlite") as base:
        base.executescript(
            "CREATE TABLE go_term(_id, go_id, term, ontology, definition);"
            "CREATE TABLE go_synonym(_id, synonym, secondary, like_go_id);"
            "CREATE TABLE go_bp_parents(_id, _parent_id, relationship_type);"
            "CREATE TABLE go_mf_parents(_id, _parent_id, relationship_type);"
            "CREATE TABLE go_cc_parents(_id, _parent_id, relationship_type);"
            "INSERT INTO go_term VALUES (1, 'GO:1', 'growth', 'BP', 'Getting larger.');"
            "INSERT INTO go_term VALUES (2, 'GO:2', 'cell growth', 'BP', NULL);"
            "INSERT INTO go_synonym VALUES (2, 'cellular growth', NULL, 0), (2, 'GO:7', 'GO:7', 1);"
            "INSERT INTO go_bp_parents VALUES (2, 1, 'isa');"
        )
    with sqlite3.connect(tmp_path / "org.Hs.eg.sqlite") as base:
        base.executescript(
            "CREATE TABLE genes(_id, gene_id); CREATE TABLE gene_info(_id, gene_name, symbol);"
            "CREATE TABLE alias(_id, alias_symbol); CREATE TABLE go_bp(_id, go_id, evidence);"
            "CREATE TABLE go_mf(_id, go_id, evidence); CREATE TABLE go_cc(_id, go_id, evidence);"
            "INSERT INTO genes VALUES (1, '10'); INSERT INTO gene_info VALUES (1, 'growth factor', 'GF1');"
            "INSERT INTO alias VALUES (1, 'GF1'), (1, 'GFX');"
            "INSERT INTO go_bp VALUES (1, 'GO:2', 'IEA'), (1, 'GO:2', 'IDA');"
        )
    graph = open_textgraph(tmp_path / "GO.sqlite", tmp_path / "cache")
    assert [n.name for n in graph.follow("gene:10", Hop("takes part in"))] == ["cell growth"]
    assert [n.name for n in graph.follow("GO:2", Hop("is a"))] == ["growth"]
    assert [m.node.id for m in graph.find("GFX")] == ["gene:10"]
    assert [m.node.id for m in graph.find("cellular growth")][:1] == ["GO:2"]
    assert GoFeed("x", tmp_path / "GO.sqlite").embed_kinds[0] == "biological process"


def test_wordnet(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(
        "  1 This software is licensed\n"
        '00000001 03 n 02 dog 0 domestic_dog 0 001 @ 00000002 n 0000 | a pet; "he walked the dog"  \n'
        "00000002 03 n 01 animal 0 001 ~ 00000001 n 0000 | a living thing  \n"
    )
    (tmp_path / "data.adj").write_text("00000001 00 s 01 galore(ip) 0 000 | in plenty  \n")
    graph = open_textgraph(tmp_path, tmp_path / "cache")
    assert [n.name for n in graph.follow("n00000001", Hop("is a kind of"))] == ["animal"]
    assert graph.find("domestic dog")[0].node.text == 'a pet; "he walked the dog"'
    assert graph.find("galore")[0].node.kind == "adjective"
    assert graph.hops("n00000002") == (Hop("is a kind of", True),)


def test_triples_from_memory(tmp_path: Path) -> None:
    feed = TriplesFeed("mine", [("a", "knows", "b"), ("b", "knows", "c")], changes="1")
    graph = open_textgraph(feed, tmp_path)
    assert [n.id for n in graph.follow("c", Hop("knows", True))] == ["b"]


class Mark:
    """Unpickling this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


def test_pickles_are_refused_and_not_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "stark"
    (folder / "processed").mkdir(parents=True)
    (folder / "processed" / "node_info.pkl").write_bytes(pickle.dumps(Mark(tmp_path / "PWN")))
    with pytest.raises(SourceError, match=r"pickled files \(node_info.pkl\).*Export the graph"):
        open_textgraph(folder, tmp_path / "cache")
    assert not (tmp_path / "PWN").exists()


def test_what_is_no_text_graph(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"not a database, only a name")
    for path in ("a.sqlite", "missing.txt"):
        with pytest.raises(SourceError, match="is not a text graph"):
            open_textgraph(tmp_path / path, tmp_path / "cache")
