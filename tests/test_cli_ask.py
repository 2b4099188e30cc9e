"""`rowhop ask` from end to end, with replies that were written beforehand in place of a model."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from rowhop.cli import run
from rowhop.models import Message

ROWHOP = [sys.executable, "-c", "from rowhop.cli import main; main()"]
COUNT = '```python\n# rows of that country\nanswer = len(customers[customers["country"] == "Norway"])\n```'
ROWS = "```sql\n-- those of Norway\nSELECT name, city FROM customers WHERE country = 'Norway' ORDER BY name\n```"


@pytest.fixture
def customers(examples: Path) -> str:
    return str(examples / "shop" / "customers.csv")


def replay(folder: Path, *replies: str) -> str:
    """A model's name that gives these replies in order."""
    file = folder / "replies.jsonl"
    lines = [
        json.dumps({"kind": "model_call", "model": "written", "messages": [], "replies": [text]}) for text in replies
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    return f"replay:{file}"


def gold(customers: str) -> list[dict[str, str]]:
    with open(customers, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["country"] == "Norway"]


def test_a_value_with_program_evidence_and_cost(
    customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = replay(in_folder, COUNT)
    assert run(["ask", customers, "How many customers are from Norway?", "--language", "python", "--model", model]) == 0
    out, err = capsys.readouterr()
    count = len(gold(customers))
    assert out.splitlines()[0] == str(count)
    for words in (
        "Program (Python)",
        'customers["country"] == "Norway"',
        f"Rests on {count} rows",
        "pandora",
        "1 call",
    ):
        assert words in out
    assert err == ""


def test_json_out_and_trace(customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = replay(in_folder, ROWS)
    options = ["--language", "sql", "--model", model, "--json", "--out", "norway.csv", "--trace", "run.jsonl"]
    assert run(["ask", customers, "Who lives in Norway?", *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    names = sorted(row["name"] for row in gold(customers))
    assert answer["status"] == "answered"
    assert [row[0] for row in answer["table"]["rows"]] == names
    assert answer["program"]["language"] == "sql"
    assert answer["because"] == "those of Norway"
    with open("norway.csv", encoding="utf-8", newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["name", *names]
    assert run(["trace", "run.jsonl", "--full"]) == 0
    assert "Ran a program (sql): ok" in capsys.readouterr().out
    assert run(["ask", customers, "Who lives in Norway?", "--out", "norway.csv", "--model", model]) == 2
    # The saved run stands in for the model that gave it.
    assert run(["ask", customers, "Who lives in Norway?", "--language", "sql", "--model", "replay:run.jsonl"]) == 0


def test_a_failed_program_is_mended(customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = replay(in_folder, COUNT.replace('"country"', '"land"'), COUNT)
    options = ["--language", "python", "--model", model, "--trace", "run.jsonl"]
    assert run(["ask", customers, "How many customers are from Norway?", *options]) == 0
    assert "2 calls" in capsys.readouterr().out
    assert run(["trace", "run.jsonl"]) == 0
    assert "land" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--budget", "calls=1"], 4, "budget of 1 model calls"),
        ([], 4, "No program gave a result"),
    ],
)
def test_giving_up(
    options: list[str], code: int, words: str, customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [f"```python\nanswer = nothing_{n}\n```" for n in range(4)]
    model = replay(in_folder, *broken)
    given = ["ask", customers, "How many?", "--language", "python", "--model", model, *options]
    assert run(given) == code
    assert words in capsys.readouterr().out


def test_unknown(customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = ROWS.replace("Norway'", "Atlantis'")
    model = replay(in_folder, *[empty.replace("ORDER", f"AND {n} = {n} ORDER") for n in range(4)])
    assert run(["ask", customers, "Who is from Atlantis?", "--language", "sql", "--model", model]) == 3
    assert "No answer was found" in capsys.readouterr().out


def test_the_prompt_without_a_model(customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes.md").write_text("A *northerner* is a customer from Norway.", encoding="utf-8")
    options = ["--dry-run", "--notes", "notes.md", "--hide", "credit limit"]
    assert run(["ask", customers, "How many northerners?", *options]) == 0
    out, err = capsys.readouterr()
    assert "How many northerners?" in out
    assert "A *northerner* is a customer from Norway." in out
    assert "country" in out
    assert "credit limit" not in out.rpartition("--- user ---")[2]
    assert "Nothing was sent" in err
    assert run(["ask", customers, "How many northerners?", "--dry-run", "--share", "schema"]) == 0
    assert "Hugo Dubois" not in capsys.readouterr().out


def test_a_conversation(customers: str, in_folder: Path) -> None:
    model = replay(in_folder, COUNT, COUNT.replace("Norway", "Austria"))
    done = subprocess.run(
        [*ROWHOP, "chat", customers, "--model", model, "--language", "python"],
        input="How many customers are from Norway?\n/show\nAnd from Austria?\n/quit\nnever asked\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == str(len(gold(customers)))
    assert done.stdout.count("Program (Python)") == 2
    assert "credit limit" in done.stdout


def test_an_unknown_model(customers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ask", customers, "How many?", "--model", "qwen2.5-coder-1.5"]) == 2
    assert "Did you mean qwen2.5-coder-1.5b?" in capsys.readouterr().err
    assert run(["ask", customers, "How many?", "--model", "none.gguf"]) == 2
    assert "none.gguf" in capsys.readouterr().err


def test_an_unknown_model_fetches_nothing(
    customers: str, in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROWHOP_CACHE", str(in_folder / "cache"))
    assert run(["ask", customers, "How many?", "--model", "nobody"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (in_folder / "cache").exists()


def test_ctrl_c_leaves_nothing_behind(customers: str, in_folder: Path) -> None:
    model = replay(in_folder, "```python\nanswer = len(customers)\nwhile True:\n    answer += 1\n```")
    arguments = ["ask", customers, "How many?", "--language", "python", "--model", model]
    # The interpreter ignores Ctrl-C when the shell that started it does; a terminal never does.
    child = subprocess.Popen(
        [*ROWHOP, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        start_new_session=True,
    )
    time.sleep(4)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err.strip()) == (130, "", "Stopped.")
    assert sorted(os.listdir(in_folder)) == ["replies.jsonl"]
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


def test_a_walk_is_drawn(examples: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xml.etree import ElementTree

    from rowhop.cli.asking import Wish, within
    from rowhop.front import Session
    from rowhop.models.scripted import Scripted

    def captain(messages: Sequence[Message]) -> str:
        lines = messages[-1].content.splitlines()
        return next((line.partition(".")[0] for line in lines if ". captain of Otter" in line), '{"kind": "person"}')

    with Session(examples / "lakes.ttl", model=Scripted([captain] * 2)) as session:
        assert within(session, "Who is the captain of the Otter?", Wish(graph=Path("walk.svg"))) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "Noé Lind"
    assert "Drew 1 triple in walk.svg." in err
    words = "".join(ElementTree.parse("walk.svg").getroot().itertext())
    assert all(word in words for word in ("Otter", "captain", "Noé Lind"))


def test_a_picture_takes_no_ones_place(customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("films.nt").write_text("mine")
    Path("old.svg").write_text("mine")
    for name, words in (
        ("films.nt", "A graph to ask is a SOURCE"),
        ("old.svg", "say --replace"),
        ("x/y.svg", "folder"),
    ):
        assert run(["ask", customers, "How many?", "--graph", name, "--model", "replay:none.jsonl"]) == 2
        assert words in capsys.readouterr().err
    assert Path("films.nt").read_text() == Path("old.svg").read_text() == "mine"
    # A table is not walked.
    model = replay(in_folder, COUNT)
    options = ["--language", "python", "--model", model, "--graph", "new.svg"]
    assert run(["ask", customers, "How many customers are from Norway?", *options]) == 0
    assert "nothing to draw" in capsys.readouterr().err
    assert not Path("new.svg").exists()


def test_a_database_that_another_program_holds(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    with sqlite3.connect("shop.db") as holder:
        holder.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1);")
        holder.execute("BEGIN EXCLUSIVE")
        assert run(["ask", "shop.db", "How many?", "--model", replay(in_folder, "SELECT count(*) FROM t")]) in (1, 2)
        out, err = capsys.readouterr()
        assert out == ""
        assert "locked" in err
        assert len(err.splitlines()) == 1
        holder.rollback()
    holder.close()
    assert sorted(os.listdir(in_folder)) == ["replies.jsonl", "shop.db"]


def test_tables_without_rows_and_databases_without_tables(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    for name, script in (("rows.db", "CREATE TABLE t (n INTEGER)"), ("tables.db", "CREATE TABLE t (n); DROP TABLE t")):
        with sqlite3.connect(name) as connection:
            connection.executescript(script)
        connection.close()
    Path("head.csv").write_text("a,b\n")
    model = replay(in_folder, "```sql\nSELECT count(*) FROM t\n```")
    assert run(["ask", "rows.db", "How many?", "--language", "native", "--model", model]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "0"
    assert run(["ask", "rows.db", "How many?", "--language", "sql", "--model", model]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "0"
    model = replay(in_folder, "```python\nanswer = head['a'].tolist()\n```")
    assert run(["ask", "head.csv", "Which a?", "--language", "python", "--model", model, "--budget", "calls=1"]) in (
        3,
        4,
    )
    capsys.readouterr()
    assert run(["ask", "tables.db", "How many?", "--model", model]) == 2
    assert capsys.readouterr().err == "There is no table in tables.db that could be asked.\n"


def test_a_run_that_asks_more_than_the_recorded_one(
    customers: str, in_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = replay(in_folder, "```python\nanswer = customers['contry']\n```")
    assert run(["ask", customers, "How many?", "--language", "python", "--model", model]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "no further reply" in told
