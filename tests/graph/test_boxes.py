"""A graph as BOXes over our own example, by hand-counted rows and fields."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.graph import rdf
from rowhop.graph.boxes import BoxSettings, KnowledgeBoxes
from rowhop.models.late import Spelling
from rowhop.types import Question


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
