"""Parts of a plan measured beside it."""

from __future__ import annotations

from pathlib import Path

from rowhop.agents.pasemiqa.planner import Planner
from rowhop.eval.benchmarks import load
from rowhop.graph.textgraph import open_textgraph
from rowhop.learn.parts import FULL, fused, measure
from rowhop.models.late import Spelling


def test_every_part_answers_the_same_questions(examples: Path, tmp_path: Path) -> None:
    graph = open_textgraph(examples / "trails", tmp_path, Spelling())
    items = load("plain", examples / "trails_questions.jsonl", "any")
    found = measure(Planner.of(graph, Spelling()), items)
    assert [p.name for p in found][:2] == [FULL, "path generator alone, nodes by exact matching"]
    assert {p.hit1.n for p in found} == {len(items)}
    assert found[0].against is None
    words = next(p for p in found if p.name.startswith("words alone"))
    assert words.against is not None
    assert words.against.difference == found[0].hit1.mean - words.hit1.mean
    assert all(p.hit1.mean <= p.hit5 and 0 <= p.mrr <= 1 for p in found)
    assert "; the plan " in words.told()
    assert len(measure(Planner.of(graph, Spelling()), items, every=False)) == 1


def test_rank_fusion() -> None:
    assert fused(["a", "b", "c"], ["c", "b"]) == ["c", "b", "a"]
    assert fused([], []) == []
