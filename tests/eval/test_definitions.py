"""Questions made from definitions: other words, no name given away, gold that the graph holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.eval.definitions import main, paraphrase, questions
from rowhop.graph.textgraph import TextGraph, open_textgraph
from rowhop.graph.textgraph_names import fold
from rowhop.models.late import Spelling

TERM = """
[Term]
id: G:{n}
name: {name}
namespace: process
def: "The directed movement of {what} from one side of a wall to the other side ({n})." []
is_a: G:0
"""


@pytest.fixture
def ontology(tmp_path: Path) -> Path:
    things = ["sugar", "salt", "water", "iron", "air", "sand", "oil", "milk"]
    terms = [TERM.format(n=n, name=f"{what} haulage", what=what) for n, what in enumerate(things, 1)]
    terms.append(TERM.format(n=9, name="gravel", what="gravel"))  # its definition gives its name away
    head = "format-version: 1.2\n\n[Term]\nid: G:0\nname: haulage\nnamespace: process\n"
    (tmp_path / "haulage.obo").write_text(head + "".join(terms))
    return tmp_path / "haulage.obo"


@pytest.fixture
def graph(ontology: Path, tmp_path: Path) -> TextGraph:
    return open_textgraph(ontology, tmp_path / "cache", Spelling())


def test_other_words() -> None:
    assert paraphrase("Catalysis of the reaction: a + b = c. Also known.") == "speeding up the conversion: a + b = c"
    assert paraphrase("") == ""


def test_no_question_names_its_node(graph: TextGraph) -> None:
    made = questions(graph, 6)
    assert len(made) == 6
    assert made == questions(graph, 6)
    for one in made:
        assert one.gold
        assert all(f" {fold(n.name)} " not in f" {fold(one.question)} " for n in graph.nodes(one.gold).values())
        assert "G:9" not in one.gold
    assert {one.relation for one in made} == {"", "is a"}


def test_measuring(
    ontology: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path / "cache"))
    assert main([str(ontology), "--n", "4", "--show"]) == 0
    told = capsys.readouterr().out
    assert "the carrying of" in told
    assert "4 questions\nthe plan: Hit@1 " in told
    assert "text alone, no path: Hit@1" in told
