"""PPoGA over real SPARQL servers that speak the vocabularies of Freebase and Wikidata, and over one that goes away."""

from __future__ import annotations

from pathlib import Path

import pytest
from endpoints import oxigraph
from first import First
from test_sparql import FREEBASE, WIKIDATA

from rowhop.agents.ppoga.agent import Ppoga
from rowhop.errors import SourceUnavailable
from rowhop.graph.sparql import open_endpoint
from rowhop.models.late import Spelling
from rowhop.trace import Budget, Trace
from rowhop.types import Question, TripleEvidence


@pytest.mark.parametrize(
    ("vocabulary", "data", "question", "topic", "answer", "hops"),
    [
        ("freebase", FREEBASE, "institution of education of Ann Lee", "A. Lee", "Yale", 2),
        ("wikidata", WIKIDATA, "what is the place of birth of Ann Lee", "Mother Ann", "Manchester", 1),
    ],
)
def test_a_question_over_a_public_vocabulary(
    tmp_path: Path, vocabulary: str, data: str, question: str, topic: str, answer: str, hops: int
) -> None:
    file = tmp_path / "g.ttl"
    file.write_text(data)
    asked = Question(question, (topic,))
    with oxigraph(tmp_path / "store", file) as url:
        trace = Trace(asked, Budget())
        found = Ppoga(First(), open_endpoint(url, vocabulary), Spelling()).answer(asked, trace)
    assert (found.status, found.values) == ("answered", (answer,))
    assert len(found.evidence) == hops
    first, last = found.evidence[0], found.evidence[-1]
    assert isinstance(first, TripleEvidence)
    assert isinstance(last, TripleEvidence)
    assert (first.subject, last.object) == ("Ann Lee", answer)


def test_a_server_that_goes_away_is_told(tmp_path: Path) -> None:
    file = tmp_path / "g.ttl"
    file.write_text(WIKIDATA)
    with oxigraph(tmp_path / "store", file) as url:
        graph = open_endpoint(url, "wikidata")
        graph.schema()
        agent = Ppoga(First(), graph, Spelling())
    asked = Question("what is the place of birth of Ann Lee", ("Ann Lee",))
    with pytest.raises(SourceUnavailable, match="cannot be reached"):
        agent.answer(asked, Trace(asked, Budget()))
