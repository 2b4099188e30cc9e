"""Learning routes for PPoGA on a graph of our own making: lessons, weights, and what they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.agents.ppoga.candidates import candidates
from rowhop.agents.ppoga.lessons import ENTRIES, WEIGHTS, Lessons, read
from rowhop.agents.ppoga.ranker import SIGNS, USUAL
from rowhop.errors import SourceError
from rowhop.graph import rdf
from rowhop.graph.routes import Explorer
from rowhop.learn.paths_rank import Solved
from rowhop.learn.routes import LearntRoutes, RouteTraining, train_routes
from rowhop.models.late import Spelling

FILMS = 48


def films() -> str:
    rows = []
    for i in range(FILMS):
        rows += [f"Film {i}|made_by|Maker {i % 12}", f"Film {i}|year|{1950 + i}", f"Film {i}|tongue|Tongue {i % 5}"]
    return "\n".join(rows) + "\n"


def asked() -> list[Solved]:
    """Words that no relation of the graph has: only lessons can tell what they mean."""
    found = []
    for i in range(FILMS):
        same = tuple(f"Film {j}" for j in range(FILMS) if j % 12 == i % 12 and j != i)
        found.append(Solved(f"who is behind Film {i}", (f"Maker {i % 12}",), (f"Film {i}",)))
        found.append(Solved(f"what else came from the hands behind Film {i}", same, (f"Film {i}",)))
    return found


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    folder = tmp_path_factory.mktemp("films")
    (folder / "films.txt").write_text(films())
    return Explorer(rdf.open_files([folder / "films.txt"], folder), Spelling())


@pytest.fixture(scope="module")
def learnt(explorer: Explorer) -> LearntRoutes:
    absent = Solved("who is behind Nothing", ("Nobody",), ("Nothing",))
    return train_routes(explorer, [*asked(), absent], RouteTraining(rounds=200))


def best(explorer: Explorer, lessons: Lessons, question: str, topic: str) -> str:
    node = explorer.graph.find(topic)[0].node
    ranked = candidates(explorer, lessons, question, [node], 2)
    return explorer.lexicon.phrase(ranked.ways[int(ranked.chances.argmax())].route.leaps, "X")


def test_every_question_that_can_be_solved_gives_a_lesson(learnt: LearntRoutes) -> None:
    assert learnt.questions == len(learnt.lessons) == 2 * FILMS
    assert len(learnt.lessons.weights) == len(SIGNS) == len(USUAL)
    assert learnt.loss < 0.5


@pytest.mark.parametrize(
    ("question", "way"),
    [
        ("who is behind Film 7", "made by of X"),
        ("who was behind Film 8", "made by of X"),
        ("what else came from the hands behind Film 9", "things whose made by is made by of X"),
    ],
)
def test_lessons_lead_the_ranking(explorer: Explorer, learnt: LearntRoutes, question: str, way: str) -> None:
    assert best(explorer, learnt.lessons, question, " ".join(question.split()[-2:])) == way


def test_what_was_learnt_is_kept(explorer: Explorer, learnt: LearntRoutes, tmp_path: Path) -> None:
    learnt.lessons.save(tmp_path)
    again = read(tmp_path, Spelling())
    assert again.weights == learnt.lessons.weights
    assert len(again) == len(learnt.lessons)
    assert best(explorer, again, "who is behind Film 7", "Film 7") == "made by of X"
    assert "Film 7" not in (tmp_path / ENTRIES).read_text()
    (tmp_path / WEIGHTS).write_text("no")
    with pytest.raises(SourceError, match="Learn it anew"):
        read(tmp_path, Spelling())


def test_a_few_questions_give_lessons_and_no_weights(explorer: Explorer, tmp_path: Path) -> None:
    few = train_routes(explorer, asked()[:6])
    assert len(few.lessons) == 6
    assert few.lessons.weights == ()
    assert len(read(tmp_path, Spelling())) == 0
