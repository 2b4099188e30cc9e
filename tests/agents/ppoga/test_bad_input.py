"""Graphs and models that make trouble: each ends in a clear outcome, within its budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from first import First, Prose

from rowhop.agents.ppoga.agent import Ppoga, PpogaSettings
from rowhop.agents.ppoga.memory import Memory, Plan, PlanStep, Strategic
from rowhop.errors import ReplyError
from rowhop.graph import Hop, Node, rdf
from rowhop.graph.triples import TripleGraph
from rowhop.graph.vocabulary import relation_iri
from rowhop.models.late import Spelling
from rowhop.trace import Budget, ModelCall, Trace
from rowhop.types import Answer, Question


def graph(folder: Path, text: str) -> TripleGraph:
    file = folder / "g.txt"
    file.write_text(text)
    return rdf.open_files([file], folder / "cache")


def ask(
    over: TripleGraph, question: Question, model: First | None = None, budget: Budget = Budget(), **settings: object
) -> tuple[Answer, Trace]:
    trace = Trace(question, budget)
    agent = Ppoga(model or First(), over, Spelling(), settings=PpogaSettings(**settings))  # type: ignore[arg-type]
    return agent.answer(question, trace), trace


def test_a_hub_of_five_thousand_neighbours(tmp_path: Path) -> None:
    over = graph(tmp_path, "".join(f"hub|keeps|thing {i}\n" for i in range(5000)) + "hub|kept by|Ann\n")
    answer, _ = ask(over, Question("who is hub kept by", ("hub",)))
    assert answer.values == ("Ann",)
    many, trace = ask(over, Question("what does hub keep", ("hub",)))
    assert many.status == "answered"
    assert len(many.values) <= 1000
    assert max(sum(len(m.content) for m in s.messages) for s in trace.steps if isinstance(s, ModelCall)) < 3000


def test_a_cycle_ends(tmp_path: Path) -> None:
    over = graph(tmp_path, "a|next|b\nb|next|a\n")
    answer, _ = ask(over, Question("what is next of next of a", ("a",)))
    assert set(answer.values) <= {"a", "b"}


def test_a_node_without_relations(tmp_path: Path) -> None:
    file = tmp_path / "g.ttl"
    file.write_text(
        "@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":alone rdfs:label 'Alone' . :a rdfs:label 'A' ; :likes :b . :b rdfs:label 'B' .\n"
    )
    over = rdf.open_files([file], tmp_path)
    answer, trace = ask(over, Question("who likes Alone", ("Alone",)))
    assert answer.status == "unknown"
    assert "No way in the graph" in answer.because
    assert not [s for s in trace.steps if isinstance(s, ModelCall)]


def test_a_relation_that_leads_nowhere_either_way_is_corrected(tmp_path: Path) -> None:
    """A planned relation that the topic does not have: nothing is found, and the path is corrected."""
    over = graph(tmp_path, "film|made by|Ann\nother|sold by|Bo\n")
    agent = Ppoga(First("correct path"), over, Spelling())
    empty = (Hop(relation_iri("sold by")),)

    def spoil(plan: Plan) -> Plan:
        return replace(plan, steps=(PlanStep("made by of film", "made by", 0, empty),))

    agent.fault = spoil
    question = Question("who made film", ("film",))
    trace = Trace(question, Budget())
    assert agent.answer(question, trace).values == ("Ann",)
    assert any(getattr(s, "topic", "") == "verdict" and s.text.startswith("correct path") for s in trace.steps)  # type: ignore[union-attr]


@pytest.mark.parametrize(("corrections", "replans", "values"), [(0, 0, ("1999",)), (2, 0, ("Ann",)), (0, 2, ("Ann",))])
def test_a_wrong_first_path(tmp_path: Path, corrections: int, replans: int, values: tuple[str, ...]) -> None:
    """The fault that is injected for measuring: without corrections it stands, with either it is mended."""
    over = graph(tmp_path, "film|made by|Ann\nfilm|year|1999\n")
    settings = PpogaSettings(corrections=corrections, replans=replans)
    agent = Ppoga(First("correct path" if corrections else "replan"), over, Spelling(), settings=settings)
    wrong = (Hop(relation_iri("year")),)
    agent.fault = lambda plan: replace(plan, steps=(PlanStep("made by of film", "made by", 0, wrong),))
    question = Question("who made film", ("film",))
    assert agent.answer(question, Trace(question, Budget())).values == values


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_no_question_goes_beyond_its_calls(tmp_path: Path, calls: int) -> None:
    over = graph(tmp_path, "".join(f"film|relation {i}|{1900 + i}\n" for i in range(30)))
    for verdict in ("correct path", "replan"):
        answer, trace = ask(over, Question("who", ("film",)), First(verdict), Budget(calls=calls))
        assert sum(isinstance(s, ModelCall) for s in trace.steps) <= calls
        assert answer.status == "gave_up"
        assert str(calls) in answer.because


def test_corrections_and_replans_are_bounded(tmp_path: Path) -> None:
    """A model that is never content: 3 plans of 3 paths at most, then the first that was found, with a warning."""
    over = graph(tmp_path, "".join(f"film|relation {i}|{1900 + i}\n" for i in range(30)))
    answer, trace = ask(over, Question("who", ("film",)), First("correct path"))
    assert sum(isinstance(s, ModelCall) for s in trace.steps) <= 3 * (1 + 1 + 3 + 3)
    assert [w.kind for w in answer.warnings] == ["unsure"]
    assert answer.values


def test_prose_everywhere_still_ends_with_a_flag(tmp_path: Path) -> None:
    over = graph(tmp_path, "film|made by|Ann\nfilm|year|1999\nAnn|born in|Rome\n")
    answer, _ = ask(over, Question("who made film", ("film",)), Prose())
    assert answer.status == "answered"
    assert "fallback" in {w.kind for w in answer.warnings}


def test_an_identifier_that_was_not_seen_is_refused(tmp_path: Path) -> None:
    over = graph(tmp_path, "film|made by|Ann\n")
    agent = Ppoga(First(), over, Spelling())
    step = PlanStep("made by of film", "made by")
    with pytest.raises(ReplyError, match="was not seen"):
        agent.executor.act(Memory(Strategic("q")), step, [Node("urn:x", "X")], Trace(Question("q"), Budget()))


@pytest.mark.parametrize(("replans", "values"), [(2, ("Ann",)), (0, ("Rex",))])
def test_a_wrong_plan_is_doubted_and_only_a_new_plan_mends_it(
    tmp_path: Path, replans: int, values: tuple[str, ...]
) -> None:
    """Kind and relation are as the plan wants them; it is the plan that does not fit the question."""
    over = graph(tmp_path, "film|made by|Ann\nfilm|barks loudly|Rex\n")
    agent = Ppoga(First("replan"), over, Spelling(), settings=PpogaSettings(corrections=0, replans=replans))
    wrong = (Hop(relation_iri("barks loudly")),)
    described = agent.explorer.lexicon.full(wrong)
    agent.fault = lambda plan: replace(plan, steps=(PlanStep("barks loudly of film", described, 0, wrong),))
    question = Question("the film was made by", ("film",))
    assert agent.answer(question, Trace(question, Budget())).values == values
