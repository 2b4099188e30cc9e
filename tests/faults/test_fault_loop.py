"""FAULTS, "Agent loop": it ends, with a known answer or the true reason, and never with one from elsewhere.

| fault | where else it is tested |
|---|---|
| retries return the same failing text | agents/pandora/test_agent.py: the program runs once; three samples at once |
| prose for a choice among relations | agents/ppoga/test_ppoga.py |
| fences, end marks, thoughts around a program | agents/pandora/test_reply.py |
| an endpoint that fails | test_cli_endpoint.py; models/test_openai.py |
| names that do not exist | agents/pandora/test_check.py, test_fault_names.py |
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faulty import REPLIES, ask, complaint, csv, endpoint, fenced, refused, runs, sqlite

import rowhop
from rowhop.cli import run
from rowhop.trace import ModelCall
from rowhop.types import Question

SALES = "start_ts,country,n\n2024-01-05,DE,1\n2024-02-06,FR,2\n2024-03-07,DE,4\n"


@pytest.fixture
def table(in_folder: Path) -> Path:
    return csv(in_folder, SALES)


def test_an_answer_that_is_known_ends_the_loop(table: Path) -> None:
    answer = ask(table, ["answer = len(t)"])  # a second reply would be missing
    assert (answer.status, answer.values, answer.cost.calls) == ("answered", (3,), 1)


def test_the_same_failing_reply_runs_once_and_ends(table: Path) -> None:
    answer = ask(table, ["answer = t['n'].sum() / 'x'"] * REPLIES)
    assert answer.status == "gave_up"
    assert len(runs(answer)) == 1
    asked = [step.messages[-1].content for step in answer.trace.steps if isinstance(step, ModelCall)]
    assert len(asked) == REPLIES
    assert "same program" in asked[-1]


@pytest.mark.parametrize("language", ["python", "sql"])
def test_prose_in_a_later_turn_is_no_answer(language: str, table: Path) -> None:
    bad = {"python": "answer = t['m'].sum()", "sql": "SELECT sum(m) FROM t"}[language]
    good = {"python": "answer = t['n'].sum()", "sql": "SELECT sum(n) FROM t"}[language]
    model = endpoint([fenced(bad, language), "The sum of n is certainly 12.", fenced(good, language)])
    answer = rowhop.ask("What is the sum of n?", table, model=model, language=language)
    model.done()
    assert answer.values == (7,)


def test_nothing_but_prose_gives_up(table: Path) -> None:
    model = endpoint(["The answer is 12."] * REPLIES)
    answer = rowhop.ask("What is the sum of n?", table, model=model, language="python")
    assert (answer.status, answer.values, answer.table) == ("gave_up", (), None)
    assert "no program" in answer.because


MADE_UP = {
    "a frame": "df = pd.DataFrame({'country': ['US'], 'n': [40]})\nanswer = df['n'].sum()",
    "a frame beside the data": "df = pd.DataFrame({'country': ['US'], 'n': [40]})\nx = len(t)\nanswer = df['n'].sum()",
    "over a name of the data": "t = pd.DataFrame({'country': ['US'], 'n': [40]})\nanswer = t['n'].sum()",
    "lists": "countries = ['US', 'US', 'CA']\nanswer = countries.count('US')",
    "a file in the text": "import io\nt = pd.read_csv(io.StringIO('n\\n40'))\nanswer = t['n'].sum()",
    "a constant": "answer = 40",
}


@pytest.mark.parametrize("case", MADE_UP)
def test_invented_data_is_no_source(case: str, table: Path) -> None:
    assert refused(table, MADE_UP[case])


@pytest.mark.parametrize(
    "statement", ["SELECT sum(n) FROM (VALUES (40)) AS s(n)", "SELECT 40", "SELECT 'US' AS country"]
)
def test_invented_data_is_no_source_in_sql(statement: str, table: Path) -> None:
    assert refused(table, statement, "sql")


QUERY = "SELECT sum(n) FROM t"


@pytest.mark.parametrize(
    "reply",
    [
        f"```sql\n{QUERY}\n```",
        f"```sql\n{QUERY};\n```<|im_end|>",
        f"{QUERY} < im_end >",
        f"<think>First SELECT n FROM u, then …</think>\n```sql\n{QUERY}\n```",
        f"RETURN\n```sql\n{QUERY}\n```\nRETURN",
        f"Here you are:\n\n{QUERY}",
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_wrappers_do_not_reach_the_database(reply: str, native: bool, in_folder: Path) -> None:
    path = sqlite(in_folder, "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (3), (4);")
    language = "native" if native else "sql"
    model = endpoint([reply])
    answer = rowhop.ask("What is the sum of n?", path, model=model, language=language)
    model.done()
    assert answer.values == (7,), answer.because


def test_a_failing_model_ends_the_run_with_its_reason(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = {"kind": "model_call", "model": "m", "messages": [], "replies": [fenced("answer = t['n'", "python")]}
    Path("r.jsonl").write_text("\n".join([json.dumps(call)] * REPLIES))
    options = ["--language", "python", "--model", "replay:r.jsonl", "--trace", "run.jsonl"]
    assert run(["ask", str(table), "What is the sum of n?", *options]) == 4
    told = capsys.readouterr().out
    assert "never closed" in told or "Syntax" in told  # the true reason, and no request to ask more clearly
    assert "gave_up" in Path("run.jsonl").read_text().splitlines()[-1]


def test_the_same_input_gives_the_same_each_time(table: Path) -> None:
    values = {ask(table, ["answer = t.groupby('country')['n'].sum()"]).values for _ in range(5)}
    assert len(values) == 1


@pytest.mark.parametrize(
    ("language", "bad", "good"),
    [
        ("python", "answer = t['started_at'].min()", "answer = t['start_ts'].min()"),
        ("sql", "SELECT min(started_at) FROM t", "SELECT min(start_ts) FROM t"),
    ],
)
def test_a_made_up_column_is_told_the_nearest(language: str, bad: str, good: str, table: Path) -> None:
    told = complaint(table, bad, good, language, "When was the first started?")
    assert "start_ts" in told
    assert "started_at" in told


def test_the_question_is_part_of_what_is_asked_again(table: Path) -> None:
    told = complaint(table, "answer = t['m'].sum()", "answer = t['n'].sum()", question="What is the sum of n?")
    assert Question("What is the sum of n?").text in told
