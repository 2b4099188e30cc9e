"""Names in questions and the nodes they mean, over our own example graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.graph import rdf
from rowhop.graph.linking import Linker
from rowhop.graph.triples import TripleGraph
from rowhop.models.late import Spelling

LAKES = "http://example.org/lakes/"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> TripleGraph:
    file = Path(__file__).parents[2] / "examples" / "lakes.ttl"
    return rdf.open_files([file], tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Who is the captain of the Otter?", ["otter"]),
        ("Where was Ada Röst born?", ["ada"]),
        ("where was ada rost born", ["ada"]),
        ("Which boats does Captain Ada steer on Lake Wend?", ["ada", "wend"]),
        ("How deep is lake orla?", ["orla"]),
        ("Where was Noe Lindt born?", ["noe"]),
        ("What is the meaning of life?", []),
    ],
)
def test_mentions(graph: TripleGraph, question: str, ids: list[str]) -> None:
    links = Linker(graph).mentions(question)
    assert sorted(link.node.id.removeprefix(LAKES) for link in links) == sorted(ids)


def test_namesakes_without_a_clue_are_given_back(graph: TripleGraph) -> None:
    (link,) = Linker(graph).mentions("Tell me about Heron")
    assert [n.kind for n in link.choices] == ["Boat", "Village"]


def test_the_question_tells_namesakes_apart(graph: TripleGraph) -> None:
    linker = Linker(graph, Spelling())
    boats = [x for x in linker.mentions("When was the boat Heron launched and how many seats?") if x.said == "Heron"]
    assert boats[0].node.kind == "Boat"
    assert not boats[0].choices


def test_topics_by_id_and_by_name(graph: TripleGraph) -> None:
    links = Linker(graph).topics([LAKES + "heron", "Noe Lind"], "")
    assert [(x.node.name, x.how) for x in links] == [("Heron", "id"), ("Noé Lind", "folded")]
    with pytest.raises(SourceError, match="Did you mean Otter"):
        Linker(graph).topics(["Ottter"], "")
