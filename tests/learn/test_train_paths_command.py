"""`rowhop train-paths` over the example graph, and asking with what it learnt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rowhop.cli import run
from rowhop.graph import Hop
from rowhop.graph.textgraph import open_textgraph


def test_learn_and_measure_on_ones_own_questions(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path))
    questions = str(examples / "trails_questions.jsonl")
    assert run(["train-paths", "plain", "--data", questions, "--measure", "any"]) == 0
    told = capsys.readouterr().err
    assert "Learnt from 12 questions" in told
    assert "without a ranker" in told
    assert "12 questions, without a chat model" in told
    assert "  the plan: Hit@1 " in told
    for part in ("nodes by exact matching", "nodes by fused matching", "words alone", "meaning alone", "rank fusion"):
        assert f"{part}" in told
    assert "; the plan +" in told
    assert len(list((tmp_path / "paths").glob("*/paths.npz"))) == 1


def test_questions_over_several_graphs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path))
    (tmp_path / "q.jsonl").write_text(
        '{"question": "a", "source": "x", "gold": 1}\n{"question": "b", "source": "y", "gold": 1}\n'
    )
    assert run(["train-paths", "plain", "--data", str(tmp_path / "q.jsonl")]) == 2
    assert "name 2 sources" in capsys.readouterr().err


def test_paths_over_a_file_of_bare_triples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path))
    films = [f"Film {i}|directed_by|Person {i % 5}\nFilm {i}|starring|Actor {i % 7}" for i in range(20)]
    (tmp_path / "kb.txt").write_text("\n".join(films))
    for hops, split, first, last in (("1-hop", "train", 0, 12), ("1-hop", "dev", 12, 20)):
        (tmp_path / hops).mkdir(exist_ok=True)
        asked = [f"who directed [Film {i}]\tPerson {i % 5}\tx" for i in range(first, last)]
        asked += [f"who acts in [Film {i}]\tActor {i % 7}\tx" for i in range(first, last)]
        (tmp_path / hops / f"{split}.txt").write_text("\n".join(asked))
    assert run(["train-paths", "metaqa", "--data", str(tmp_path), "--measure", "dev", "--hops", "3"]) == 0
    assert "1-hop: 16 questions" in (told := capsys.readouterr().err)
    assert "the plan: Hit@1 1.000 " in told
    assert "words alone" not in told


def test_a_file_of_triples(tmp_path: Path) -> None:
    (tmp_path / "kb.txt").write_text("Alien|directed_by|Ridley Scott\nAlien|release_year|1979\n\n")
    graph = open_textgraph(tmp_path / "kb.txt", tmp_path / "cache")
    assert [n.name for n in graph.follow("Ridley Scott", Hop("directed_by", True))] == ["Alien"]


def test_routes_for_ppoga_over_a_benchmark_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The layout of MetaQA, with films of our own."""
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ROWHOP_EMBEDDER", "spelling")
    data = tmp_path / "metaqa"
    (data / "1-hop").mkdir(parents=True)
    (data / "kb.txt").write_text("".join(f"Film {i}|directed_by|Maker {i}\n" for i in range(9)))
    lines = [f"who directed [Film {i}]\tMaker {i}\tmovie_to_director\n" for i in range(9)]
    (data / "1-hop" / "train.txt").write_text("".join(lines))
    assert run(["train-paths", "metaqa", "--data", str(data), "--method", "ppoga", "--n", "5"]) == 0
    told = capsys.readouterr().err
    assert "Learnt from 5 of 5 questions" in told
    assert len(list((tmp_path / "cache" / "paths").glob("*/routes/lessons.jsonl"))) == 1


def test_the_answer_stands_above_the_ranking(
    examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(tmp_path))
    call = {"kind": "model_call", "model": "written", "messages": [], "replies": ["Action: Finish[Rosa Tschan]"]}
    (tmp_path / "replies.jsonl").write_text(json.dumps(call))
    question = ["ask", str(examples / "trails"), "Who keeps the Gorge house?", "--model"]
    assert run([*question, f"replay:{tmp_path / 'replies.jsonl'}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Rosa Tschan"
    assert any(line.startswith(" p3 ") and "Rosa Tschan" in line for line in lines[1:5])
    assert any(line.startswith("… ") and "more rows" in line for line in lines)
