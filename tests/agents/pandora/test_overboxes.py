"""Pandora over a graph: what an embedded model is shown, what an endpoint's is, and what is not in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rowhop import build, config
from rowhop.models import Message
from rowhop.models.scripted import Scripted
from rowhop.trace import Budget, Trace
from rowhop.types import Answer, Question, RowEvidence

SQL = "```sql\n-- the captain, then where that person was born\n{}\n```"
BORN = Question("Where was the captain of the Otter born?", ("Otter",))


class Endpoint(Scripted):
    constrains = False


def ask(examples: Path, tmp_path: Path, question: Question, model: Scripted) -> Answer:
    settings = config.load(
        {
            "ask": {"method": "pandora", "language": "sql" if not model.constrains else "auto"},
            "cache": {"folder": str(tmp_path)},
            "embedder": {"name": "spelling"},
        }
    )
    over = build.opened([str(examples / "lakes.ttl")], settings)
    assert build.method(settings, over) == "pandora"
    return build.agent("pandora", model, over, settings, "").answer(question, Trace(question, Budget()))


def test_an_embedded_model_sees_the_likeliest_ways_as_programs(examples: Path, tmp_path: Path) -> None:
    def first(messages: Sequence[Message]) -> str:
        lines = messages[-1].content.splitlines()
        assert not any(line.startswith("village(") for line in lines)
        programs = [line for line in lines if line.startswith("SELECT ")]
        assert len(programs) == 3
        return SQL.format(next(p for p in programs if "born_in" in p and "JOIN" in p))

    answer = ask(examples, tmp_path, BORN, Scripted([first]))
    assert (answer.status, answer.values) == ("answered", ("Old Quay",))
    assert {e.box for e in answer.evidence if isinstance(e, RowEvidence)} == {"boat", "person"}


def test_another_model_gets_the_papers_form(examples: Path, tmp_path: Path) -> None:
    def first(messages: Sequence[Message]) -> str:
        shown = messages[-1].content
        assert "Programs over these tables" not in shown
        assert all(f"\n{box}(" in f"\n{shown}" for box in ("boat", "person", "lake"))
        return SQL.format("SELECT p.born_in FROM boat b JOIN person p ON b.captain = p.person WHERE b.boat = 'Otter'")

    assert ask(examples, tmp_path, BORN, Endpoint([first])).values == ("Old Quay",)


@pytest.mark.parametrize(("topics", "said"), [(("Nessie",), "no node 'Nessie'"), ((), "--topic")])
def test_what_is_not_in_the_graph_is_unknown(
    examples: Path, tmp_path: Path, topics: tuple[str, ...], said: str
) -> None:
    answer = ask(examples, tmp_path, Question("What is the meaning of life?", topics), Scripted([]))
    assert answer.status == "unknown"
    assert said in answer.because
