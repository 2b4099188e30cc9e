"""From settings to a Summary with the real method over real files; only the model is scripted."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from rowhop import config
from rowhop.errors import ConfigError, SourceError
from rowhop.eval import EvalOptions, benchmarks, evaluate, render_summary
from rowhop.eval.evaluate import run_name
from rowhop.models.scripted import Scripted
from rowhop.trace import load

FENCED = "```{}\n{}\n```"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text("item,amount\npen,3\nink,4\npen,5\n")
    with sqlite3.connect(tmp_path / "shop.sqlite") as db:
        db.executescript("CREATE TABLE item(name TEXT, price REAL); INSERT INTO item VALUES ('pen', 2), ('ink', 5)")
    db.close()
    rows = [
        {"id": "sum", "question": "What is the total amount?", "source": "orders.csv", "gold": 12},
        {"id": "pens", "question": "Which items cost less than 3?", "source": "shop.sqlite", "gold": ["pen"]},
        {
            "id": "dear",
            "question": "Names by price?",
            "source": "shop.sqlite",
            "sql": "SELECT name FROM item ORDER BY price",
        },
    ]
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def options(own: Path, **changes: object) -> EvalOptions:
    settings = config.load({"ask": {"language": "sql", "repairs": 0}})
    given = {"data": own, "run": own.parent / "run", "n": None, **changes}
    return EvalOptions("plain", settings, **given)  # type: ignore[arg-type]


def by_question(replies: dict[str, str]) -> list:
    """Replies that fit whichever question is asked, so that the drawn order does not matter."""

    def say(messages: object) -> str:
        text = "\n".join(m.content for m in messages)  # type: ignore[attr-defined]
        asked = max(replies, key=lambda question: text.rfind(question))
        return FENCED.format("sql", replies[asked])

    return [say] * len(replies)


REPLIES = {
    "total amount": "SELECT sum(amount) FROM orders",
    "cost less": "SELECT name FROM item WHERE price < 3",
    "Names by price": "SELECT name FROM item ORDER BY price DESC",
}


def test_a_users_own_questions(own: Path) -> None:
    model = Scripted(by_question(REPLIES))
    summary = evaluate(options(own), model=model)
    model.done()
    assert summary.n == 3
    assert summary.statuses == {"answered": 3}
    assert summary.scores["EM"].n == 3
    assert sum(r["scores"][0]["value"] for r in results(own)) == 2
    wrong = next(r for r in results(own) if r["id"] == "dear")
    assert "order" in wrong["scores"][0]["because"]
    saved = load(own.parent / "run" / wrong["trace"])
    assert (saved.header.method, saved.header.model) == ("pandora", "scripted")
    assert "EM" in render_summary(summary)


def results(own: Path) -> list[dict]:
    return [json.loads(line) for line in (own.parent / "run" / "results.jsonl").read_text().splitlines()]


def test_a_finished_run_needs_no_model(own: Path) -> None:
    evaluate(options(own), model=Scripted(by_question(REPLIES)))
    assert evaluate(options(own, resume="resume"), model=Scripted([])).n == 3


def test_cached_replies_are_not_asked_for_again(own: Path) -> None:
    evaluate(options(own, cached=True), model=Scripted(by_question(REPLIES)))
    summary = evaluate(options(own, cached=True, run=own.parent / "again"), model=Scripted([]))
    assert summary.statuses == {"answered": 3}
    assert summary.costs["calls"].worst == 0


def test_a_source_that_is_gone_fails_its_question_only(own: Path) -> None:
    (own.parent / "orders.csv").unlink()
    summary = evaluate(options(own), model=Scripted(by_question(REPLIES)[:2]))
    assert summary.statuses == {"answered": 2, "failed": 1}
    assert "orders.csv" in next(iter(summary.failures))


def test_what_is_missing_is_said(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROWHOP_BENCH_DATA", raising=False)
    with pytest.raises(ConfigError, match="--data"):
        evaluate(EvalOptions("wikitq", config.load()))
    with pytest.raises(SourceError, match=r"absent\.jsonl"):
        evaluate(options(own.parent / "absent.jsonl"))


def test_a_run_is_named_after_what_is_not_usual() -> None:
    settings = config.load({"ask": {"samples": 5, "repairs": 0}, "model": {"name": "big/model"}})
    assert run_name(EvalOptions("wikitq", settings, seed=2)) == "wikitq-big_model-samples5-repairs0-seed2"


def test_a_model_that_writes_the_gold_query_gets_every_point(tmp_path: Path) -> None:
    """What reading, guarding, running and judging cost by themselves: nothing."""
    data = os.environ.get("ROWHOP_BENCH_DATA", "")
    if not data:
        pytest.skip("ROWHOP_BENCH_DATA does not name a folder with the benchmark data.")
    drawn = benchmarks.sample(benchmarks.load("spider", Path(data) / "spider"), 40, seed=1)
    gold = {item.question.text: item.gold.sql for item in drawn}

    def say(messages: object) -> str:
        text = "\n".join(m.content for m in messages)  # type: ignore[attr-defined]
        asked = max(gold, key=lambda question: (text.rfind(question) + len(question), len(question)))
        return FENCED.format("sql", gold[asked])

    settings = config.load({"ask": {"language": "native", "repairs": 0}})
    given = EvalOptions("spider", settings, data=Path(data) / "spider", n=40, seed=1, run=tmp_path / "run")
    summary = evaluate(given, model=Scripted([say] * 40))
    assert summary.score.mean == 1.0, summary.failures
