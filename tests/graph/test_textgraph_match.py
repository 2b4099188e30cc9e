"""Which nodes a question speaks of: names, names written differently, texts, and the paper's order of them."""

from __future__ import annotations

import json

import pytest

from rowhop.graph.textgraph import TextGraph, open_textgraph
from rowhop.graph.textgraph_match import MODES, match

NODES = [
    {"id": "a", "name": "membrane", "type": "part", "text": "A thin layer that bounds a cell."},
    {"id": "b", "name": "apical plasma membrane", "type": "part", "text": "The side of a cell that faces the lumen."},
    {"id": "c", "name": "SET", "type": "gene", "text": "An inhibitor of phosphatases."},
    {"id": "d", "name": "inclusion body", "type": "part", "text": "An aggregate of proteins."},
    {"id": "e", "name": "MMP9", "type": "gene", "text": "An enzyme that cuts collagen.", "aliases": ["gelatinase B"]},
    {"id": "f", "name": "Paris", "type": "city", "text": "The capital of France."},
    {"id": "g", "name": "Paris", "type": "city", "text": "A town in Texas."},
    {"id": "h", "name": "Café Zürich", "type": "bar", "text": "Coffee and cake."},
    {"id": "i", "name": "it", "type": "word", "text": "A pronoun."},
    {"id": "j", "name": "", "type": "note", "text": "Volcanoes of the southern islands."},
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> TextGraph:
    folder = tmp_path_factory.mktemp("match")
    (folder / "nodes.jsonl").write_text("\n".join(map(json.dumps, NODES)))
    (folder / "edges.tsv").write_text("g\tin\th\n")
    return open_textgraph(folder, folder / "cache")


def found(graph: TextGraph, question: str, mode: str) -> list[tuple[str, str]]:
    return [(NODES[m.position]["id"], m.how) for m in match(graph, question, mode, 2)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is in the apical plasma membrane?", ["b"]),
        ("which genes were set free?", []),
        ("what does SET inhibit?", ["c"]),
        ("what cuts collagen: gelatinase b?", ["e"]),
        ("cafe zurich menu", ["h"]),
        ("where is it?", []),
        ("how far is Paris?", ["g", "f"]),
        ("", []),
    ],
)
def test_names_in_a_question(graph: TextGraph, question: str, expected: list[str]) -> None:
    assert [i for i, _ in found(graph, question, "exact")] == expected


def test_a_mention_knows_where_it_stands(graph: TextGraph) -> None:
    question = "Is the apical  plasma membrane thin?"
    (mention,) = match(graph, question, "exact")
    assert question[mention.start : mention.end] == "apical  plasma membrane"


def test_a_shared_name_shares_the_score(graph: TextGraph) -> None:
    assert [m.score for m in match(graph, "Paris", "exact")] == [0.5, 0.5]


def test_hybrid_takes_text_only_where_no_name_stands(graph: TextGraph) -> None:
    assert found(graph, "an aggregate with SET", "hybrid") == [("c", "name")]
    assert found(graph, "volcanoes in the south", "hybrid") == [("j", "text")]
    # The paper's mode has no fuzzy match: a plural is not found by name.
    assert ("d", "fuzzy") not in found(graph, "inclusion bodys", "hybrid")


def test_fused_finds_names_written_differently_and_text_too(graph: TextGraph) -> None:
    assert found(graph, "which inclusion bodys hold SET?", "fused")[:2] == [("c", "name"), ("d", "fuzzy")]
    assert ("j", "text") in found(graph, "volcanoes near Paris", "fused")
    assert ("a", "fuzzy") not in found(graph, "the apical plasma membrane", "fused")


def test_every_mode_survives_an_odd_question(graph: TextGraph) -> None:
    for mode in MODES:
        for question in ("", "?!", "🙂", "a" * 50_000, "$hole {x} \x00"):
            match(graph, question, mode)
