"""The graphs of benchmarks: plain triples as a graph, and a fragment of Freebase with what its side files say."""

from __future__ import annotations

from pathlib import Path

from rowhop.eval.graph_benchmarks import graph_of
from rowhop.graph import Hop
from rowhop.graph.vocabulary import node_iri, relation_iri


def test_plain_triples(tmp_path: Path) -> None:
    file = tmp_path / "kb.txt"
    file.write_text("Film|directed_by|Ann\n")
    graph = graph_of((str(file),), tmp_path)
    assert graph is not None
    assert [n.name for n in graph.follow(node_iri("Film"), Hop(relation_iri("directed_by")))] == ["Ann"]


def test_a_fragment_of_freebase(tmp_path: Path) -> None:
    (tmp_path / "triples.tsv").write_text("Ann\tpeople.person.spouse_s\tm.0x1\nm.0x1\tpeople.marriage.spouse\tBo\n")
    (tmp_path / "roles.txt").write_text("people.person people.person.spouse_s people.marriage\n")
    (tmp_path / "reverse_properties.tsv").write_text("people.marriage.spouse\tpeople.person.spouse_s\n")
    graph = graph_of((str(tmp_path / "triples.tsv"),), tmp_path)
    assert graph is not None
    (between,) = graph.follow(node_iri("Ann"), Hop(relation_iri("people.person.spouse_s")))
    assert not between.named
    spouse = graph.schema().relation(relation_iri("people.person.spouse_s"))
    assert spouse is not None
    assert (spouse.domain, spouse.range) == (("people.person",), ("people.marriage",))
    assert spouse.inverse == relation_iri("people.marriage.spouse")


def test_other_files_are_left_to_others(tmp_path: Path) -> None:
    assert graph_of((str(tmp_path / "orders.csv"),), tmp_path) is None
    assert graph_of((), tmp_path) is None
