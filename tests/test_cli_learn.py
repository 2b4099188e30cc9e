"""`rowhop learn` keeps what was confirmed and shows it to later questions; `rowhop model` lists and gets models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rowhop.cli import run

MEMORY = Path(".local") / "share" / "rowhop" / "memory.jsonl"


@pytest.fixture
def solved(examples: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A saved run over the examples."""
    reply = '```python\n# rows of that country\nanswer = len(customers[customers["country"] == "Norway"])\n```'
    call = {"kind": "model_call", "model": "written", "messages": [], "replies": [reply]}
    (in_folder / "replies.jsonl").write_text(json.dumps(call), encoding="utf-8")
    table = str(examples / "shop" / "customers.csv")
    options = ["--language", "python", "--model", "replay:replies.jsonl", "--trace", "run.jsonl"]
    assert run(["ask", table, "How many customers are from Norway?", *options]) == 0
    capsys.readouterr()
    return "run.jsonl"


def test_a_confirmed_run_is_kept_once_and_forgotten(solved: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["learn", solved]) == 0
    assert run(["learn", solved]) == 0
    err = capsys.readouterr().err
    assert "Learnt 1 of 1" in err
    assert "Learnt 0 of 1" in err
    (line,) = (Path.home() / MEMORY).read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert entry["question"] == "How many customers are from Norway?"
    assert entry["confirmed"] == "user"
    assert 'customers["country"]' in entry["code"]
    assert run(["learn", "--list"]) == 0
    listed = capsys.readouterr().out
    (own,) = [row for row in listed.splitlines() if "How many customers are from Norway?" in row]
    assert run(["learn", "--forget", own.split()[0]]) == 0
    assert (Path.home() / MEMORY).read_text(encoding="utf-8") == ""


def test_what_was_learnt_enters_a_prompt(
    solved: str, examples: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["learn", solved]) == 0
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    table = str(examples / "shop" / "customers.csv")
    asked = ["ask", table, "How many customers are from Austria?", "--model", "big", "--language", "python"]
    assert run([*asked, "--dry-run"]) == 0
    assert "How many customers are from Norway?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn"], "What should be learnt?"),
        (["learn", "none.jsonl"], "could not be read"),
        (["learn", "notes.txt"], "is not an entry"),
        (["learn", "failed.jsonl"], "nothing to learn"),
        (["learn", "--forget", "abc"], "No entry of your own has the id abc"),
        (["model", "get", "nope"], "No embedded model is named nope"),
        (["model", "get", "smollm2", "--from", "none.gguf"], "There is no file none.gguf"),
        (["model", "test", "nope"], "no endpoint is set"),
    ],
)
def test_mistakes(arguments: list[str], words: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_folder / "notes.txt").write_text("hello\n")
    header = {"header": {"question": {"text": "How many?"}}}
    end = {"end": {"answer": {"status": "gave_up"}, "error": ""}}
    (in_folder / "failed.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(end)}\n")
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert words in err


def test_models_are_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert run(["model", "list", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["used"] == "qwen2.5-coder-1.5b"
    assert [m["present"] for m in read["models"]] == [False] * len(read["models"])
    assert read["endpoint"] == "the OpenAI API"
    assert run(["model", "list"]) == 0
    out = capsys.readouterr().out
    assert "qwen2.5-coder-0.5b" in out
    assert "sk-secret" not in out


def test_weights_that_are_not_the_expected_ones(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_folder / "wrong.gguf").write_bytes(b"GGUF wrong")
    assert run(["model", "get", "smollm2", "--from", "wrong.gguf"]) == 1
    assert "SHA-256" in capsys.readouterr().err
    assert not list(Path.home().rglob("*.gguf*"))
