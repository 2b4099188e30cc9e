"""Planning without training: what a path is called, which types a question asks for, and what they do to a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rowhop.agents.pasemiqa.agent import Pasemiqa
from rowhop.agents.pasemiqa.planner import Planner
from rowhop.agents.pasemiqa.untrained import Untrained, asked_kinds
from rowhop.graph.textgraph import TextGraph, open_textgraph
from rowhop.models.scripted import Scripted
from rowhop.trace import Trace
from rowhop.types import Question

KINDS = ("hut", "valley", "trail", "gene/protein", "biological_process")

_MEANT = {"keeper": "person", "hut": "place", "valley": "place"}


class Meanings:
    """A stand-in for an embedder that knows what the tests need: words, and that a keeper is a person, huts places."""

    name = "meanings"
    remote = False

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        rows = np.full((len(texts), 64), 1e-3, np.float32)
        for i, text in enumerate(texts):
            for word in text.lower().replace("?", "").split():
                for meant in {word, _MEANT.get(word, word)}:
                    rows[i, sum(map(ord, meant)) % 64] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def trails(examples: Path, tmp_path: Path) -> TextGraph:
    return open_textgraph(examples / "trails", tmp_path, Meanings())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("In which valleys does it snow?", {"valley"}),
        ("Which hut in the valley is new?", {"hut"}),
        ("What genes interact with it?", {"gene/protein"}),
        ("Name the biological processes of this gene", {"biological_process"}),
        ("Is there a hut?", set()),
        ("", set()),
        ("which " * 5_000, set()),
    ],
)
def test_the_type_that_a_question_names(question: str, expected: set[str]) -> None:
    assert asked_kinds(question, KINDS) == expected


def test_a_path_is_told_with_the_types_it_joins(trails: TextGraph) -> None:
    scorer = Untrained(Meanings(), trails)
    assert scorer.told("keeper", ["keeps", "lies in"]) == "keeper keeps hut, hut lies in valley"
    assert scorer.told("hut", ["^keeps"]) == "keeper keeps hut"
    assert scorer.told("", ["starred_actors"]) == "starred actors"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who keeps the Larch hut?", "Ines Kofler"),
        ("In which valley is the hut that Urs Aebi keeps?", "Sella valley"),
        ("Which trail passes the Gorge house?", "Gorge path"),
        ("Which trail is shady and good with a pram?", "Wood path"),
    ],
)
def test_the_asked_type_leads_the_plan(trails: TextGraph, question: str, expected: str) -> None:
    plan = Planner.of(trails, Meanings()).plan(Question(question))
    assert plan.generator == "untrained, meanings ranks the relations"
    assert plan.candidates[0].record.name == expected


def test_one_path_from_a_named_node_to_the_asked_type_needs_no_model(trails: TextGraph) -> None:
    trace = Trace(Question("In which valley lies the Stone hut?"))
    answer = Pasemiqa(Scripted([]), Planner.of(trails, Meanings())).answer(trace.question, trace)
    assert (answer.status, answer.values, answer.cost.calls) == ("answered", ("Arven valley",), 0)
    assert answer.because.startswith("One path leads")


def test_a_question_that_tells_a_text_means_that_node(trails: TextGraph) -> None:
    told = "Larch hut: exposed, with iron rungs; only for those who do not fear heights."
    assert Planner.of(trails, Meanings()).plan(Question(told)).candidates[0].record.name == "Ridge path"
