"""The command line over an endpoint that behaves, misbehaves, and answers again from the cache only what it may."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fake_endpoint import KEY, Script, serve

import rowhop
from rowhop.cli import run
from rowhop.models.scripted import Scripted

SUM = "```python\nanswer = int(t['n'].sum())\n```"
Ask = Callable[..., int]


@pytest.fixture
def table(in_folder: Path) -> Path:
    path = in_folder / "t.csv"
    path.write_text("name,n\na,1\nb,2\n", encoding="utf-8")
    return path


@pytest.fixture
def ask(table: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def ask_(server: Script, *options: str, question: str = "What is the sum of n?", model: str = "big") -> int:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return run(["ask", "t.csv", question, "--model", model, "--language", "python", *options])

    return ask_


def first_line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.splitlines()[0]


def test_a_reply_is_used_again_only_for_the_same_question_data_and_model(
    ask: Ask, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(text=SUM) as server:
        assert ask(server) == 0
        assert first_line(capsys) == "3"
        assert ask(server) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[0] == "3"
        assert "no call to a model" in out
        assert len(server.bodies) == 1
        # One cell changed: the reply in the cache belongs to other data.
        table.write_text("name,n\na,1\nb,5\n", encoding="utf-8")
        assert ask(server) == 0
        assert first_line(capsys) == "6"
        assert len(server.bodies) == 2
        ask(server, model="bigger")
        ask(server, question="And the sum of n, please?")
        assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("acts", "code", "words"),
    [
        (["401"], 2, "key"),
        (["404"], 2, "big"),
        (["quota"], 2, "quota of this key is used up"),
        (["html"], 2, "127.0.0.1"),
        (["429", "ok"], 0, ""),
        (["500", "ok"], 0, ""),
        (["cut", "ok"], 0, ""),
        (["not-json", "ok"], 0, ""),
        (["whole"], 0, ""),
    ],
)
def test_an_endpoint_that_misbehaves(
    acts: list[str], code: int, words: str, ask: Ask, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(*acts, text=SUM, retry_after="0.05") as server:
        assert ask(server, "--trace", "run.jsonl") == code
    out, err = capsys.readouterr()
    assert words in err
    assert len(err.splitlines()) == (1 if code else 0)
    assert KEY not in out + err
    assert all(KEY.encode() not in file.read_bytes() for file in in_folder.rglob("*") if file.is_file())
    assert all(KEY.encode() not in file.read_bytes() for file in Path.home().rglob("*") if file.is_file())
    if code:
        assert out == ""
        # The run is saved all the same.
        assert json.loads(Path("run.jsonl").read_text().splitlines()[-1])["end"]["error"]


def test_a_budget_in_seconds_stops_in_the_middle_of_a_reply(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    with serve("slow", text="word " * 400) as server:
        assert ask(server, "--budget", "seconds=2") == 4
    assert "2 seconds" in capsys.readouterr().out


def test_a_budget_in_money_needs_a_price(ask: Ask, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(text=SUM) as server:
        assert ask(server, "--budget", "money=0.10") == 2
        assert "price of big is not known" in capsys.readouterr().err
        (in_folder / "prices.toml").write_text("[big]\nprompt = 1.0\nreply = 2.0\n")
        (in_folder / "rowhop.toml").write_text('[model]\nprices = "prices.toml"\n')
        assert ask(server, "--budget", "money=0.10") == 0
        assert "$0.0000" in capsys.readouterr().out


def test_two_samples_that_agree(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(text=SUM) as server:
        assert ask(server, "--samples", "3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["confidence"] == 1.0


def test_eight_questions_at_once(tmp_path: Path) -> None:
    """Different data, the same question: every thread gets its own answer, trace and cost."""

    def one(number: int) -> tuple[rowhop.Answer, str]:
        path = tmp_path / f"part{number}" / "t.csv"
        path.parent.mkdir()
        path.write_text("name,n\n" + "".join(f"x{number},{number * 100 + i}\n" for i in range(50)), encoding="utf-8")
        model = Scripted([SUM], name=f"model{number}")
        answer = rowhop.ask("What is the sum of n?", [str(path)], model=model, language="python")
        model.done()
        return answer, f"x{number}"

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(8)))
    for number, (answer, name) in enumerate(done):
        assert answer.values == (sum(number * 100 + i for i in range(50)),)
        assert answer.model == f"model{number}"
        assert answer.cost.calls == 1
        (rows,) = answer.evidence
        assert isinstance(rows, rowhop.RowEvidence)
        assert name in str(rows.rows[0])
