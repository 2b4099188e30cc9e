"""The PPoGA loop over our own example graph: each verdict, each operation, and models that misbehave."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rowhop.agents.ppoga.agent import Ppoga, PpogaSettings
from rowhop.agents.ppoga.candidates import candidates
from rowhop.agents.ppoga.executor import error_signal
from rowhop.agents.ppoga.lessons import Lessons
from rowhop.agents.ppoga.memory import Plan, PlanStep, Prediction
from rowhop.agents.ppoga.planner import PlanSettings
from rowhop.graph import Hop, Node, rdf
from rowhop.graph.triples import TripleGraph
from rowhop.learn.routes import best_ways, lesson
from rowhop.models import Message
from rowhop.models.late import Spelling
from rowhop.models.scripted import Scripted
from rowhop.trace import Budget, GraphRead, ModelCall, Note, Trace
from rowhop.types import Answer, Question, TripleEvidence


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> TripleGraph:
    file = Path(__file__).parents[3] / "examples" / "lakes.ttl"
    return rdf.open_files([file], tmp_path_factory.mktemp("cache"))


def pick(words: str) -> Callable[[Sequence[Message]], str]:
    """Chooses the line that says so: the order of lines is not what these tests are about."""

    def reply(messages: Sequence[Message]) -> str:
        for line in messages[-1].content.splitlines():
            number, _, said = line.partition(". ")
            if said == words or said.partition(" (")[0] == words:
                return number
        raise AssertionError(f"{words!r} is not offered in:\n{messages[-1].content}")

    return reply


def predicted(kind: str, many: str = "one") -> str:
    return json.dumps({"kind": kind, "many": many})


def verdict(said: str) -> str:
    return json.dumps({"thought": "hm", "verdict": said})


def run(
    graph: TripleGraph, question: Question, replies: list[object], budget: Budget = Budget(), **settings: object
) -> tuple[Answer, Trace, Scripted]:
    model = Scripted(replies)  # type: ignore[arg-type]
    chosen = PpogaSettings(plan=PlanSettings(shown=40, close=99.0, nearest=9.0, weighed=200), **settings)  # type: ignore[arg-type]
    agent = Ppoga(model, graph, Spelling(), settings=chosen)
    trace = Trace(question, budget)
    return agent.answer(question, trace), trace, model


CAPTAIN = Question("Who is the captain of the Otter?", ("Otter",))
BORN = Question("Where was the captain of the Otter born?", ("Otter",))


def test_a_straight_answer_with_its_chain(lakes: TripleGraph) -> None:
    answer, trace, model = run(lakes, BORN, [pick("born in of captain of Otter"), predicted("place")])
    model.done()
    assert (answer.status, answer.values) == ("answered", ("Old Quay",))
    assert answer.evidence == (
        TripleEvidence("Otter", "captain", "Noé Lind"),
        TripleEvidence("Noé Lind", "born in", "Old Quay"),
    )
    assert answer.program
    assert answer.program.code.count("/") >= 4
    reads = [s for s in trace.steps if isinstance(s, GraphRead)]
    assert len(reads) == 2
    assert answer.cost.calls == 2


def test_a_surprise_can_be_accepted(lakes: TripleGraph) -> None:
    replies = [pick("captain of Otter"), predicted("date"), verdict("finish")]
    answer, _, model = run(lakes, CAPTAIN, replies)
    model.done()
    assert answer.values == ("Noé Lind",)


def test_the_path_is_corrected_and_the_failed_one_is_not_offered_again(lakes: TripleGraph) -> None:
    def second(messages: Sequence[Message]) -> str:
        offered = messages[-1].content
        assert "launched of them" not in offered
        assert "Tried without success: launched" in offered
        return pick("captain of them")(messages)

    replies = [pick("launched of Otter"), predicted("person"), verdict("correct path"), second]
    answer, trace, model = run(lakes, CAPTAIN, replies)
    model.done()
    assert answer.values == ("Noé Lind",)
    assert any(isinstance(s, Note) and s.topic == "verdict" and "correct path" in s.text for s in trace.steps)


def test_the_plan_is_corrected_and_the_failed_one_is_not_offered_again(lakes: TripleGraph) -> None:
    def again(messages: Sequence[Message]) -> str:
        assert ". launched of Otter (" not in messages[-1].content
        return pick("captain of Otter")(messages)

    replies = [pick("launched of Otter"), predicted("person"), verdict("replan"), again, predicted("person")]
    answer, trace, model = run(lakes, CAPTAIN, replies)
    model.done()
    assert answer.values == ("Noé Lind",)
    assert sum(isinstance(s, Note) and s.topic == "plan" for s in trace.steps) == 2


def test_no_query_runs_twice_though_plans_share_steps(lakes: TripleGraph) -> None:
    replies = [
        pick("depth in metres of sails on of Otter"),
        predicted("person"),
        verdict("replan"),
        pick("boat whose sails on is sails on of Otter"),
        predicted("thing"),
    ]
    answer, trace, _ = run(lakes, BORN, replies)
    assert answer.values == ("Heron",)
    queries = [s.query for s in trace.steps if isinstance(s, GraphRead)]
    assert len(queries) == len(set(queries))


def test_a_relation_that_is_not_what_the_step_asks_for_is_an_error_signal(lakes: TripleGraph) -> None:
    """Found by meaning alone, though a person was predicted and persons were found."""
    model = Scripted([predicted("person"), verdict("correct path")])
    agent = Ppoga(model, lakes, Spelling())
    captain, sails = (Hop(f"http://example.org/lakes/{r}") for r in ("captain", "sailsOn"))
    wrong = PlanStep("captain of Otter", agent.explorer.lexicon.full((captain,)), 0, (sails,))
    agent.fault = lambda plan: replace(plan, steps=(wrong,))
    trace = Trace(CAPTAIN)
    assert agent.answer(CAPTAIN, trace).values == ("Noé Lind",)
    model.done()  # the next relation was clear: no choice was asked for
    assert any(isinstance(s, Note) and "sails on is not the captain of Otter" in s.text for s in trace.steps)


def test_giving_up_keeps_the_first_that_was_found(lakes: TripleGraph) -> None:
    replies = [pick("launched of Otter"), predicted("person"), verdict("replan")]
    answer, _, model = run(lakes, CAPTAIN, replies, replans=0)
    model.done()
    assert answer.values == ("1987-06-12",)
    assert [w.kind for w in answer.warnings] == ["unsure"]


def test_a_spent_budget_ends_the_run(lakes: TripleGraph) -> None:
    replies = [pick("launched of Otter"), predicted("person"), verdict("replan")]
    answer, _, _ = run(lakes, CAPTAIN, replies, Budget(calls=3))
    assert (answer.status, answer.values) == ("gave_up", ("1987-06-12",))
    assert "3 model calls" in answer.because


def test_prose_where_a_choice_is_due(lakes: TripleGraph) -> None:
    class Prose(Scripted):
        constrains = False

    model = Prose(["I think it is the captain, surely.", "Some person."])
    trace = Trace(CAPTAIN)
    answer = Ppoga(model, lakes, Spelling()).answer(CAPTAIN, trace)
    assert answer.status == "answered"
    assert "fallback" in {w.kind for w in answer.warnings}


@pytest.mark.parametrize(
    ("question", "operation", "replies", "values"),
    [
        (
            Question("How many boats have Ada Röst as captain?", ("Ada Röst",)),
            "",
            ["boat whose captain is Ada Röst"],
            (2,),
        ),
        (Question("How many seats has the Otter?", ("Otter",)), "", ["seats of Otter"], ("120",)),
        (
            Question("Which boat on Lake Wend has the most seats?", ("Lake Wend",)),
            "3",
            ["boat whose sails on is Lake Wend", "seats of each"],
            ("Otter",),
        ),
        (
            Question("Which boat on Lake Wend was launched first?", ("Lake Wend",)),
            "4",
            ["boat whose sails on is Lake Wend", "launched of each"],
            ("Heron",),
        ),
        (
            Question("Which boat on Lake Wend has the most seats?", ("Lake Wend",)),
            "3",
            ["seats of boat whose sails on is Lake Wend"],
            ("Otter",),
        ),
        (
            Question("How many seats has the largest boat on Lake Wend?", ("Lake Wend",)),
            "3",
            ["seats of boat whose sails on is Lake Wend"],
            ("120",),
        ),
        (Question("Which has more seats, Otter or Pike?", ("Otter", "Pike")), "", ["seats of Otter"], ("Otter",)),
    ],
)
def test_operations(
    lakes: TripleGraph, question: Question, operation: str, replies: list[str], values: tuple[object, ...]
) -> None:
    first, *rest = replies
    asked = [operation] if operation else []  # wording without doubt costs no call
    script = [*asked, pick(first), predicted("thing", "several"), *map(pick, rest)]
    answer, _, model = run(lakes, question, script)
    model.done()
    assert answer.values == values


def test_two_topics_meet(lakes: TripleGraph) -> None:
    question = Question("Which boat of Ada Röst sails on Lake Wend?", ("Ada Röst", "Lake Wend"))
    said = "boat whose captain is Ada Röst, that is also boat whose sails on is Lake Wend"
    answer, _, _ = run(lakes, question, [pick(said), predicted("thing"), predicted("thing")])
    assert answer.values == ("Heron",)
    assert TripleEvidence("Heron", "sails on", "Lake Wend") in answer.evidence


def test_namesakes_are_asked_back(lakes: TripleGraph) -> None:
    answer, _, model = run(lakes, Question("What about it?", ("Heron",)), [])
    model.done()
    assert answer.status == "ambiguous"
    assert len(answer.choices) == 2


@pytest.mark.parametrize("topics", [(), ("Nessie",)])
def test_what_is_not_in_the_graph_is_unknown(lakes: TripleGraph, topics: tuple[str, ...]) -> None:
    answer, _, model = run(lakes, Question("What is the meaning of life?", topics), [])
    model.done()
    assert answer.status == "unknown"
    assert answer.because


def test_solved_questions_lead_the_plan(lakes: TripleGraph) -> None:
    model = Scripted([predicted("place")])
    agent = Ppoga(model, lakes, Spelling())
    heron = lakes.node("http://example.org/lakes/heron")
    assert heron
    asked = "Where was the captain of the Heron born?"
    ranked = candidates(agent.explorer, Lessons([], Spelling()), asked, [heron], 2)
    entry = lesson(agent.explorer, asked, [heron], best_ways(agent.explorer, ranked, frozenset({"Millbeck"}))[0])
    assert entry.question == "Where was the captain of the X born?"
    agent = Ppoga(model, lakes, Spelling(), Lessons([entry], Spelling()))
    assert agent.answer(BORN, Trace(BORN)).values == ("Old Quay",)
    model.done()  # near-identical wording: no choice among plans was needed


def test_a_fault_in_the_plan_is_mended(lakes: TripleGraph) -> None:
    """The wrong plan that measurements inject: the way back goes through replan."""
    model = Scripted(
        [
            pick("captain of Otter"),
            predicted("person"),
            verdict("replan"),
            pick("captain of Otter"),
            predicted("person"),
        ]
    )
    agent = Ppoga(model, lakes, Spelling(), settings=PpogaSettings(plan=PlanSettings(close=99.0, nearest=9.0)))

    def spoil(plan: Plan) -> Plan:
        other = next(p for p in agent.planner.candidates(CAPTAIN.text, plan.starts)[0] if p.said == "launched of Otter")
        return replace(other)

    agent.fault = spoil
    assert agent.answer(CAPTAIN, Trace(CAPTAIN)).values == ("Noé Lind",)


def test_every_call_is_short(lakes: TripleGraph) -> None:
    model = Scripted([pick("captain of Otter"), predicted("person")])
    trace = Trace(CAPTAIN)
    wide = PpogaSettings(plan=PlanSettings(close=99.0, nearest=9.0))
    Ppoga(model, lakes, Spelling(), settings=wide).answer(CAPTAIN, trace)
    for call in (s for s in trace.steps if isinstance(s, ModelCall)):
        assert sum(len(m.content) for m in call.messages) < 1500


@pytest.mark.parametrize(
    ("predicted", "names", "error"),
    [
        (Prediction("person"), [], "nothing was found"),
        (Prediction("person"), ["1999"], "date was found"),
        (Prediction("date"), ["Ann"], "names were found"),
        (Prediction("number"), ["1999"], ""),
        (Prediction("date"), ["1999-01-02"], ""),
        (Prediction("thing", "one"), [str(i) + "x" for i in range(30)], "30 were found"),
        (Prediction(), ["Ann"], ""),
    ],
)
def test_the_error_signal(predicted: Prediction, names: list[str], error: str) -> None:
    signal = error_signal(predicted, [Node(n, n) for n in names])
    assert error in signal
    assert bool(signal) == bool(error)


def test_a_plan_names_its_steps() -> None:
    plan = Plan((Node("a", "A"),), (PlanStep("x of A", "", 0), PlanStep("y of B", "", 1)), "x of A")
    assert [s.objective for s in plan.of(1)] == ["y of B"]
