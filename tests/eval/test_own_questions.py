"""Our own questions with gold: those made by rule over MetaQA's shape, and those over the lakes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rowhop.eval.benchmarks import load
from rowhop.eval.graph_benchmarks import graph_of
from rowhop.graph import rdf
from rowhop.graph.linking import Linker


def kb(folder: Path) -> Path:
    """Films of our own: person i directs and writes i % 4 + 2 of them, in years that differ."""
    rows = []
    for i in range(40):
        for j in range(i % 4 + 2):
            film = f"Film {i}-{j}"
            rows += [f"{film}|directed_by|Maker {i}", f"{film}|written_by|Maker {i}", f"{film}|starred_actors|Star {i}"]
            rows.append(f"{film}|release_year|{1900 + 3 * i % 90 + j}")
    (folder / "kb.txt").write_text("\n".join(rows) + "\n")
    return folder


def test_fifteen_of_each_kind_with_the_answers_of_the_triples(tmp_path: Path) -> None:
    items = load("metaqa-own", kb(tmp_path))
    assert Counter(i.level for i in items) == dict.fromkeys(("count", "comparison", "superlative", "date"), 15)
    assert items == load("metaqa-own", tmp_path)
    assert len({i.question.text for i in items}) == 60
    for item in items:
        who = item.question.topics[0]
        number = int(who.split()[1].partition("-")[0])
        if item.level == "count":
            assert item.gold.values == (number % 4 + 2,)
        if item.level == "superlative":
            last = "latest" in item.question.text
            assert item.gold.values == (f"Film {number}-{number % 4 + 1 if last else 0}",)
        if item.level == "date" and who.startswith("Film"):
            assert item.gold.values == (str(1900 + 3 * number % 90 + int(who.partition("-")[2])),)
    graph = graph_of(items[0].sources, tmp_path / "cache")
    assert graph is not None
    assert all(Linker(graph).topics(i.question.topics, i.question.text) for i in items)


def test_the_lakes_have_five_of_each_kind(examples: Path, tmp_path: Path) -> None:
    items = load("plain", examples / "lakes_questions.jsonl")
    assert Counter(i.id.partition("-")[0] for i in items) == dict.fromkeys(
        ("count", "compare", "superlative", "date"), 5
    )
    graph = rdf.open_files([examples / "lakes.ttl"], tmp_path)
    assert all(Linker(graph).topics(i.question.topics, i.question.text) for i in items)
