"""The picture of a walk is well-formed, complete and safe to open."""

from __future__ import annotations

from xml.etree import ElementTree

from rowhop.graph.picture import MOST, svg
from rowhop.types import TripleEvidence

SPACE = "{http://www.w3.org/2000/svg}"


def test_nodes_edges_and_marks() -> None:
    triples = [TripleEvidence("Otter", "captain", "Noé"), TripleEvidence("Noé", "people.person.born_in", "Old Quay")]
    root = ElementTree.fromstring(svg(triples, answers=["Old Quay"], topics=["Otter"]))
    titles = [t.text for t in root.iter(SPACE + "title")]
    assert titles == ["Otter", "Noé", "Old Quay"]
    left = [float(r.get("x", "0")) for r in root.iter(SPACE + "rect")][1:]
    assert left == sorted(left)
    assert len(list(root.iter(SPACE + "line"))) == 2


def test_names_cannot_carry_markup_and_many_triples_are_cut() -> None:
    evil = "<script>alert(1)</script>"
    text = svg([TripleEvidence(evil, evil, f"n{i}") for i in range(MOST + 5)])
    ElementTree.fromstring(text)
    assert "<script" not in text
    assert "and 5 more" in text


def test_nothing_walked() -> None:
    ElementTree.fromstring(svg([]))
