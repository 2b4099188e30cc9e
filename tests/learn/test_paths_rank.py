"""Training everything that plans on one graph, and planning with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rowhop.agents.pasemiqa import ranker as ranking
from rowhop.agents.pasemiqa.agent import Pasemiqa
from rowhop.agents.pasemiqa.light import LightModel
from rowhop.agents.pasemiqa.planner import PATHS, RANKER, TYPES, Planner
from rowhop.agents.pasemiqa.ranker import FEATURES, Features
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph, open_textgraph
from rowhop.learn.paths import Training
from rowhop.learn.paths_rank import RankTraining, Solved, train_planning
from rowhop.models.scripted import Scripted
from rowhop.trace import Trace
from rowhop.types import Question

CITIES, RIVERS = 40, 10
QUICK = Training(hidden=16, rounds=40, batch=16)


class Letters:
    """A stand-in for an embedder: counts of letters."""

    name = "letters"
    remote = False

    def embed(self, texts: list[str], query: bool = False) -> np.ndarray:
        rows = np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32) + 1e-3
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> TextGraph:
    folder = tmp_path_factory.mktemp("rivers")
    sights = ["castle", "harbour", "market", "museum"]
    nodes = [{"id": f"r{i}", "name": f"River {i}", "type": "river", "text": "Flows to the sea."} for i in range(RIVERS)]
    nodes += [
        {"id": f"c{i}", "name": f"City {i}", "type": "city", "text": f"Known for its {sights[i // RIVERS]}."}
        for i in range(CITIES)
    ]
    edges = [(f"c{i}", "lies on", f"r{i % RIVERS}") for i in range(CITIES)]
    (folder / "nodes.jsonl").write_text("\n".join(map(json.dumps, nodes)))
    (folder / "edges.tsv").write_text("\n".join(map("\t".join, edges)))
    return open_textgraph(folder, folder / "cache", Letters())


def questions(first: int, last: int) -> list[Solved]:
    sights = ["castle", "harbour", "market", "museum"]
    cities = [
        Solved(f"Which city on River {i} has a {s}?", (f"c{RIVERS * k + i}",))
        for i in range(first, last)
        for k, s in enumerate(sights)
    ]
    return cities + [Solved(f"On which river lies City {i}?", (f"r{i % RIVERS}",)) for i in range(first, last)]


@pytest.fixture(scope="module")
def trained(rivers: TextGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    planning = train_planning(rivers, Letters(), questions(0, 8), RankTraining(rounds=30), QUICK)
    assert planning.ranker is not None
    assert planning.questions == 40
    planning.save(folder)
    return folder


def test_a_path_and_a_detail_of_the_text_decide_together(rivers: TextGraph, trained: Path) -> None:
    planner = Planner.of(rivers, Letters(), trained)
    assert planner.generator == "trained light path model over letters; trained ranker"
    right = [planner.plan(Question(q.question)).candidates[0].record.id == q.gold[0] for q in questions(8, 10)]
    assert sum(right) >= 8, right


def test_candidates_carry_the_path_that_leads_to_them(rivers: TextGraph, trained: Path) -> None:
    plan = Planner.of(rivers, Letters(), trained).plan(Question("On which river lies City 39?"))
    assert plan.candidates[0].record.id == "r9"
    assert [str(h) for h in plan.candidates[0].via.hops] == ["lies on"]
    assert sum(c.score for c in plan.candidates) <= 1.0 + 1e-6


def test_a_question_that_names_no_node_is_planned_by_text(rivers: TextGraph, trained: Path) -> None:
    plan = Planner.of(rivers, Letters(), trained).plan(Question("Where is a harbour?"))
    assert plan.paths == ()
    assert plan.candidates


def test_features_are_finite_and_named(rivers: TextGraph, trained: Path) -> None:
    features = Features(rivers, Letters(), LightModel.load(trained / TYPES))
    for question in ("Which city on River 1 has a castle?", "", "?", "river " * 500):
        pool = features.pool(question, [])
        assert pool.rows.shape == (len(pool.positions), len(FEATURES))
        assert np.isfinite(pool.rows).all()


def test_too_few_questions_train_no_ranker(rivers: TextGraph, tmp_path: Path) -> None:
    planning = train_planning(rivers, Letters(), questions(0, 1), light=QUICK)
    planning.save(tmp_path)
    assert planning.ranker is None
    assert (tmp_path / PATHS).is_file()
    assert not (tmp_path / RANKER).exists()
    assert Planner.of(rivers, Letters(), tmp_path).generator == "trained light path model over letters"


def test_gold_that_the_graph_does_not_hold_is_said(rivers: TextGraph) -> None:
    with pytest.raises(SourceError, match="no question has gold nodes"):
        train_planning(rivers, Letters(), [Solved("x", ("nowhere",))])


def test_another_embedder_is_refused_in_words(rivers: TextGraph, trained: Path) -> None:
    other = Letters()
    other.name = "other"
    with pytest.raises(SourceError, match="trained with the embedder letters, not other"):
        Planner.of(rivers, other, trained)


def test_a_broken_ranker_is_refused(rivers: TextGraph, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "r.npz").write_bytes((trained / PATHS).read_bytes())
    with pytest.raises(SourceError, match="not a trained ranker"):
        ranking.load(tmp_path / "r.npz", rivers, Letters(), LightModel.load(trained / TYPES))


def test_without_training_the_embedder_plans(rivers: TextGraph, tmp_path: Path) -> None:
    assert Planner.of(rivers, Letters(), tmp_path).generator == "untrained, letters ranks the relations"


def test_a_sure_plan_does_not_ask_a_small_model(rivers: TextGraph, trained: Path) -> None:
    planner = Planner.of(rivers, Letters(), trained)
    question = Question("On which river lies City 39?")
    trace = Trace(question)
    answer = Pasemiqa(Scripted([]), planner).answer(question, trace)
    assert planner.plan(question).candidates[0].score >= 0.6
    assert (answer.status, answer.values, answer.cost.calls) == ("answered", ("River 9",), 0)
    assert "no model was asked" in answer.because
    unsure = Pasemiqa(model := Scripted(["Action: Finish[1]"]), planner)
    assert unsure.answer(Question("Which city has a market?"), Trace(question)).status == "answered"
    model.done()
