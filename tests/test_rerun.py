"""A saved answer is run again without a model, and what changed is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rowhop import rerun
from rowhop.cli import run
from rowhop.errors import SourceError
from rowhop.types import Program

CODE = "SELECT name, \"credit limit\" FROM customers WHERE country = 'Norway'"


def saved(folder: Path, sql: str, values: list[object], rows: list[list[object]], **more: object) -> str:
    file = folder / "answer.json"
    table = {"columns": ["name", "n"][: len(rows[0])] if rows else [], "rows": rows, "total": len(rows)}
    program = {"language": "sql", "code": sql, "dialect": "duckdb"}
    file.write_text(json.dumps({"values": values, "table": table, "program": program, **more}), encoding="utf-8")
    return str(file)


@pytest.fixture
def shop(in_folder: Path) -> Path:
    file = in_folder / "customers.csv"
    file.write_text("name,country,credit limit\nAda,Norway,10\nBo,Norway,20\nCy,Austria,5\n", encoding="utf-8")
    return file


def test_the_same_data_give_the_same_result(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, "SELECT count(*) FROM customers", [3], [[3]], question="How many?")
    assert run(["rerun", file, str(shop)]) == 0
    printed = capsys.readouterr().out
    assert "How many?" in printed
    assert "Nothing has changed: 3" in printed


def test_a_changed_value_is_said(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, "SELECT count(*) FROM customers", [2], [[2]], sources=[str(shop)])
    assert run(["rerun", file]) == 3
    printed = capsys.readouterr().out
    assert "It was: 2" in printed
    assert "It is:  3" in printed


def test_rows_that_came_and_went_are_said(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, CODE, ["Ada", 10, "Di", 7, "Di", 7], [["Ada", 10], ["Di", 7], ["Di", 7]])
    assert run(["rerun", file, str(shop), "--json"]) == 3
    made = json.loads(capsys.readouterr().out)
    assert (made["gone"], made["new"]) == ([["Di", 7], ["Di", 7]], [["Bo", 20]])
    assert run(["rerun", file, str(shop)]) == 3
    assert "2 rows gone\n  Di, 7\n  Di, 7\n1 row new\n  Bo, 20" in capsys.readouterr().out


def test_another_order_is_no_other_row(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, CODE, ["Bo", 20, "Ada", 10], [["Bo", 20], ["Ada", 10]])
    assert run(["rerun", file, str(shop)]) == 3
    assert "in another order" in capsys.readouterr().out


def test_a_program_that_no_longer_runs_says_why(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, "SELECT land FROM customers", ["x"], [["x"]])
    assert run(["rerun", file, str(shop)]) == 1
    assert "no longer runs" in capsys.readouterr().out


def test_what_a_file_holds_is_checked_like_a_models_program(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(shop.parent, "DROP TABLE customers", [], [["x"]])
    assert run(["rerun", file, str(shop)]) == 1
    before = shop.read_bytes()
    code = Path(file)
    made = json.loads(code.read_text(encoding="utf-8"))
    made["program"] = {"language": "python", "code": "open('hit', 'w')\nanswer = 1", "dialect": ""}
    code.write_text(json.dumps(made), encoding="utf-8")
    assert run(["rerun", file, str(shop)]) == 1
    assert not Path("hit").exists()
    assert shop.read_bytes() == before
    capsys.readouterr()


def test_a_trace_can_be_run_again(examples: Path, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = {"kind": "model_call", "replies": ["n\n```sql\nSELECT count(*) FROM customers\n```"]}
    (in_folder / "replies.jsonl").write_text(json.dumps(reply) + "\n", encoding="utf-8")
    shop = str(examples / "shop" / "customers.csv")
    asked = ["ask", shop, "How many?", "--language", "sql", "--model", "replay:replies.jsonl", "--trace", "run.jsonl"]
    assert run(asked) == 0
    assert run(["rerun", "run.jsonl", shop]) == 0
    assert "Nothing has changed: 30" in capsys.readouterr().out


def test_a_query_over_a_graph_is_run_again(examples: Path) -> None:
    import rowhop

    with_captain = (
        "SELECT DISTINCT ?answer WHERE { <http://example.org/lakes/otter> <http://example.org/lakes/captain> ?answer }"
    )
    over = rowhop.open_sources(str(examples / "lakes.ttl"))
    try:
        found = rerun.run(Program("sparql", with_captain), over)
        assert found.values == ("Noé Lind",)
        assert "UPDATE" in rerun.run(Program("sparql", "DELETE WHERE { ?s ?p ?o }"), over).error.upper()
    finally:
        over.close()


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"program": 3, "values": []}', '{"values": [1]}', "\0", '{"a":1}\n{}']
)
def test_what_is_no_answer_is_refused_in_words(text: str, in_folder: Path) -> None:
    file = in_folder / "broken.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=r"broken\.json"):
        rerun.read(file)


def test_sources_are_needed(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rerun", saved(in_folder, "SELECT 1", [1], [[1]])]) == 2
    assert "Name them" in capsys.readouterr().err
    assert run(["rerun", "nowhere.json"]) == 2
