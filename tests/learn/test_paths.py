"""The relation-path generator: targets, training, decoding over what the graph has, and the saved model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rowhop.agents.pasemiqa.generator import Start, Trained, decode, masked, place, ranked, spread, walks
from rowhop.agents.pasemiqa.light import LightModel
from rowhop.agents.pasemiqa.untrained import Untrained
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph, open_textgraph
from rowhop.learn.paths import Example, Lesson, Training, examples_from, targets_for, train

FILMS = 24


class Letters:
    """A stand-in for an embedder: counts of letters."""

    name = "letters"
    remote = False

    def embed(self, texts: list[str], query: bool = False) -> np.ndarray:
        rows = np.array([[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts], np.float32) + 1e-3
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> TextGraph:
    folder = tmp_path_factory.mktemp("films")
    nodes = [{"id": f"f{i}", "name": f"Film {i}", "type": "film"} for i in range(FILMS)]
    nodes += [{"id": f"p{i}", "name": f"Person {i}", "type": "person"} for i in range(12)]
    nodes += [{"id": f"g{i}", "name": f"Genre {i}", "type": "genre"} for i in range(3)]
    nodes += [{"id": "alone", "name": "Alone", "type": "film"}]
    edges = [(f"f{i}", "directed by", f"p{i % 6}") for i in range(FILMS)]
    edges += [(f"f{i}", "starring", f"p{6 + i % 5}") for i in range(FILMS)]
    edges += [(f"f{i}", "has genre", f"g{i % 3}") for i in range(FILMS)]
    (folder / "nodes.jsonl").write_text("\n".join(map(json.dumps, nodes)))
    (folder / "edges.tsv").write_text("\n".join(map("\t".join, edges)))
    return open_textgraph(folder, folder / "cache")


ASKED = {
    ("directed by",): "who directed {}",
    ("starring",): "which actors play in {}",
    ("directed by", "^directed by"): "which films share their director with {}",
    ("starring", "^starring", "has genre"): "of which genres are the films that share an actor with {}",
}


def lesson(graph: TextGraph, hops: tuple[str, ...], film: int) -> Lesson:
    name = f"Film {film}"
    question = ASKED[hops].format(name)
    at = question.index(name)
    start = graph.store.position(f"f{film}")
    ends = np.array([start])
    for hop in hops:
        ends = graph.store.ends(ends, graph.store.relation_code[hop.lstrip("^")], hop.startswith("^"))
        ends = ends[ends != start]
    return Lesson(question, Start(start, "film", at, at + len(name)), frozenset(map(int, ends)))


def test_masking_hides_the_planned_node_only() -> None:
    assert masked("who directed Film 3 in 1990", Start(0, "film", 13, 19)) == "who directed film in 1990"
    assert masked("who directed Film 3", Start(0, "", 13, 19)) == "who directed …"
    assert masked("who directed it", Start(0, "film")) == "who directed it"


def test_a_name_is_placed_as_whole_words() -> None:
    assert place("films with It in it", "It") == (11, 13)
    assert place("unhappy", "happy") == (2, 7)
    assert place("nothing", "x") == place("", "x") == place("abc", "") == (0, 0)


def test_targets_agree_best_with_the_gold_nodes(films: TextGraph) -> None:
    for hops in ASKED:
        one = lesson(films, hops, 4)
        assert hops in targets_for(films, one.spot, one.gold)


def test_no_path_means_text(films: TextGraph) -> None:
    alone = Start(films.store.position("alone"), "film")
    assert targets_for(films, alone, frozenset([1])) == {(): 1.0}


def test_a_trained_generator_finds_the_paths_of_new_films(films: TextGraph, tmp_path: Path) -> None:
    lessons = [lesson(films, hops, film) for hops in ASKED for film in range(8)]
    fit = train(examples_from(films, lessons), Letters(), Training(hidden=32, rounds=200, batch=8))
    assert fit.losses[-1] < fit.losses[0] / 2
    fit.model.save(tmp_path / "paths.npz")
    scorer = Trained(LightModel.load(tmp_path / "paths.npz"), Letters())
    assert scorer.name == "trained light path model over letters"
    for hops in ASKED:
        one = lesson(films, hops, 20)
        found = decode(films, scorer, one.question, [one.spot])
        assert tuple(map(str, found[0].hops)) == hops
        assert set(ranked(films, found, k=1)) <= one.gold
        assert sum(spread(found).values()) <= 1.0 + 1e-6


def test_only_paths_that_exist_come_out(films: TextGraph) -> None:
    wish = [Example("anything", "film", ((("starring", "invented"), 1.0),), 5)]
    scorer = Trained(train(wish, Letters(), Training(hidden=8, rounds=20)).model, Letters())
    spot = Start(films.store.position("f1"), "film")
    for walked in decode(films, scorer, "anything", [spot]):
        assert "invented" not in map(str, walked.hops)
        assert len(walked.ends) or not walked.hops
    (only,) = decode(films, scorer, "anything", [Start(films.store.position("alone"), "film")])
    assert (only.hops, round(only.probability, 6)) == ((), 1.0)


def test_without_training_the_relation_names_decide(films: TextGraph) -> None:
    one = lesson(films, ("directed by",), 3)
    scorer = Untrained(Letters())
    found = decode(films, scorer, "directed by, directed by", [one.spot])
    assert scorer.name == "untrained, letters ranks the relations"
    assert str(next(w for w in found if w.hops).hops[0]) == "directed by"


def test_ties_go_by_text_then_walks_then_position(films: TextGraph) -> None:
    one = lesson(films, ("starring", "^starring", "has genre"), 0)
    found = decode(films, Untrained(Letters()), "x", [one.spot])
    walked = next(w for w in found if len(w.hops) == 2 and len(w.ends) > 2)
    many = walks(films, walked)
    order = ranked(films, [walked], k=99)
    assert order == sorted(order, key=lambda p: (-many[p], p))
    assert ranked(films, [walked], {int(walked.ends[-1]): 1.0}, 1) == [int(walked.ends[-1])]


def test_nothing_to_train_on_is_said(films: TextGraph) -> None:
    with pytest.raises(SourceError, match="nothing to train on"):
        train([], Letters())


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04broken"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(SourceError, match="not a trained path model"):
        LightModel.load(tmp_path / "bad.npz")


def test_a_pickle_in_a_model_file_is_not_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "trap.npz", facts=np.array([{"a": 1}], dtype=object))
    with pytest.raises(SourceError, match="not a trained path model"):
        LightModel.load(tmp_path / "trap.npz")
