"""A graph as BOXes over our own example, by hand-counted rows and fields."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.graph import Hop, Node, rdf
from rowhop.graph.boxes import BoxSettings, KnowledgeBoxes
from rowhop.models.late import Spelling
from rowhop.types import Question

LAKES = "http://example.org/lakes/"


@pytest.fixture
def lakes(tmp_path: Path) -> KnowledgeBoxes:
    file = Path(__file__).parents[2] / "examples" / "lakes.ttl"
    return KnowledgeBoxes(rdf.open_files([file], tmp_path), Spelling())


def test_one_box_per_type_with_fields_and_keys(lakes: KnowledgeBoxes) -> None:
    found = lakes.boxes_for(Question("Where was the captain of the Otter born?", ("Otter",)))
    assert {b.name for b in found.boxes} == {"boat", "lake", "person"}
    boat = lakes.load("boat").to_pylist()
    assert {
        "boat": "Otter",
        "captain": "Noé Lind",
        "launched": "1987-06-12",
        "seats": 120,
        "sails_on": "Lake Wend",
    } in boat
    assert lakes.load("person").to_pylist()[0] == {"person": "Noé Lind", "born_in": "Old Quay", "captain_of": "Otter"}
    keys = {(k.box, k.field, k.to_box, k.to_field) for k in found.foreign_keys}
    assert ("boat", "captain", "person", "person") in keys


def test_an_inverse_field_with_several_values_is_one_row_each(lakes: KnowledgeBoxes) -> None:
    lakes.boxes_for(Question("Which boats does Ada Röst steer?", ("Ada Röst",)))
    rows = lakes.load("person").to_pylist()
    assert sorted(r["captain_of"] for r in rows if r["person"] == "Ada Röst") == ["Heron", "Pike"]


def test_relations_near_the_question_are_kept(lakes: KnowledgeBoxes) -> None:
    few = KnowledgeBoxes(lakes.graph, Spelling(), BoxSettings(relations=1))
    few.boxes_for(Question("Who is the captain of the Otter?", ("Otter",)))
    assert few.load("boat").column_names == ["boat", "captain"]


def test_a_plain_file_has_types_from_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("film a|directed_by|Ann\nfilm b|directed_by|Ann\n")
    source = KnowledgeBoxes(rdf.open_files([file], tmp_path), Spelling())
    source.boxes_for(Question("films of Ann", ("Ann",)))
    rows = source.load("thing").to_pylist()
    assert {r["directed_by_of"] for r in rows if r["thing"] == "Ann"} == {"film a", "film b"}


def test_hubs_are_cut_and_it_is_said(tmp_path: Path) -> None:
    file = tmp_path / "hub.txt"
    file.write_text("".join(f"hub|has|n{i}\n" for i in range(5000)))
    source = KnowledgeBoxes(rdf.open_files([file], tmp_path), Spelling())
    start = time.monotonic()
    found = source.boxes_for(Question("what has hub", ("hub",)))
    assert time.monotonic() - start < 10
    assert "more than 200" in found.left_out[0]


def test_no_topic_is_an_error(lakes: KnowledgeBoxes) -> None:
    with pytest.raises(SourceError, match="--topic"):
        lakes.boxes_for(Question("What is the meaning of life?"))
    with pytest.raises(SourceError, match="No BOX"):
        lakes.load("nothing")


def test_known_ways_keep_only_their_hops_and_become_programs(lakes: KnowledgeBoxes) -> None:
    captain, born, sails = (Hop(LAKES + r) for r in ("captain", "bornIn", "sailsOn"))
    ways = {"born": (captain, born), "beside": (sails, Hop(LAKES + "sailsOn", True))}

    def known(question: str, topics: Sequence[Node]) -> list[tuple[Node, tuple[Hop, ...]]]:
        return [(topics[0], hops) for word, hops in ways.items() if word in question]

    source = KnowledgeBoxes(lakes.graph, Spelling(), ways=known)
    source.boxes_for(Question("Where was the captain of the Otter born?", ("Otter",)))
    assert source.load("boat").to_pylist() == [{"boat": "Otter", "captain": "Noé Lind"}]
    assert source.load("person").to_pylist() == [{"person": "Noé Lind", "born_in": "Old Quay"}]
    assert source.programs == (
        "SELECT DISTINCT t2.born_in FROM boat t1 JOIN person t2 ON t1.captain = t2.person WHERE t1.boat = 'Otter'",
    )
    assert answers(source) == [["Old Quay"]]
    source.boxes_for(Question("What sails beside the Otter?", ("Otter",)))
    assert source.programs[0].endswith("WHERE t1.boat = 'Otter' AND t2.sails_on_of <> 'Otter'")
    assert answers(source) == [["Heron"]]


def answers(source: KnowledgeBoxes) -> list[list[str]]:
    """What each program gives, run by the engine that runs programs over BOXes."""
    import duckdb

    db = duckdb.connect()
    for box in source.boxes().boxes:
        db.register(box.name, source.load(box.name))
    return [sorted(str(row[0]) for row in db.sql(program).fetchall()) for program in source.programs]


@pytest.mark.parametrize(("each", "rows"), [(3, 9), (30, 30)])
def test_several_values_are_combined_while_they_are_few(tmp_path: Path, each: int, rows: int) -> None:
    file = tmp_path / "p.txt"
    file.write_text("".join(f"film|played_by|actor {i}\nfilm|written_by|writer {i}\n" for i in range(each)))
    source = KnowledgeBoxes(rdf.open_files([file], tmp_path), Spelling(), BoxSettings(hops=1))
    source.boxes_for(Question("who wrote and played in film", ("film",)))
    table = source.load("thing").to_pylist()
    assert len(table) == rows
    assert all(("; " in r["written_by"]) == (each > 3) for r in table)


def test_a_quote_in_a_name_stays_in_the_name(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("D'Artagnan's|made_by|Ann\n")
    hop = rdf.open_files([file], tmp_path).schema().relations[0].id
    graph = rdf.open_files([file], tmp_path)
    source = KnowledgeBoxes(graph, Spelling(), ways=lambda q, topics: [(topics[0], (Hop(hop),))])
    source.boxes_for(Question("who made it", ("D'Artagnan's",)))
    assert answers(source) == [["Ann"]]


def test_intermediate_nodes_are_boxes_between(tmp_path: Path) -> None:
    file = tmp_path / "g.ttl"
    file.write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":ann a :Person ; rdfs:label 'Ann' ; :marriage _:m . _:m a :Marriage ; :spouse :bo ; :year 1999 .\n"
        ":bo a :Person ; rdfs:label 'Bo' .\n"
    )
    graph = rdf.open_files([file], tmp_path)
    hops = (Hop("http://e/marriage"), Hop("http://e/spouse"))
    source = KnowledgeBoxes(graph, Spelling(), ways=lambda q, topics: [(topics[0], hops)])
    source.boxes_for(Question("Who did Ann marry?", ("Ann",)))
    assert answers(source) == [["Bo"]]
