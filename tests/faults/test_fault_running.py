"""FAULTS, "Size, entities, running", what is not about graphs: room, threads, caches, and what an answer rests on.

| fault | where else it is tested |
|---|---|
| 420 columns, 200 tables, a cell of 200 KB | agents/pandora/test_choose.py: which are chosen, and what is said |
| one cell changed, another model, the same question | test_cli_endpoint.py: through the reply cache on disk |
| an endpoint that sleeps, says 429, sends HTML, breaks off | test_cli_endpoint.py; models/test_openai.py |
| a wrong key | test_cli_endpoint.py: not in output, trace or cache; models/test_openai.py: not in logs and tracebacks |
| the memory of all programs together | sandbox/test_sandbox_life.py |
"""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from faulty import ask, csv, endpoint, fenced, refused, sqlite

import rowhop
from rowhop.agents.pandora.agent import Pandora
from rowhop.sources import open_source
from rowhop.types import Question

MOST = 24_000  # characters: 6,000 tokens of tables, and the words around them


def prompt(path: Path, question: str) -> str:
    source = open_source(path)
    try:
        return "\n".join(m.content for m in Pandora(endpoint([]), source).prompt(Question(question)))
    finally:
        source.close()


def test_420_columns_of_long_cells_stay_in_the_budget(in_folder: Path) -> None:
    names = [f"measure {i}" for i in range(419)] + ["humidity in June"]
    rows = [",".join(f"{'x' * 58}{i}{n % 10}" for n in range(420)) for i in range(3)]
    path = csv(in_folder, "\n".join([",".join(names), *rows]) + "\n")
    shown = prompt(path, "What is the humidity in June?")
    assert len(shown) < MOST
    assert "humidity in June" in shown
    answer = ask(path, ["answer = t['humidity in June'].iloc[0]"], "What is the humidity in June?")
    assert any("of 420 columns" in caution.text for caution in answer.warnings)
    # What was not shown is there all the same.
    assert ask(path, ["answer = len(t['measure 400'])"]).values == (3,)


def test_200_tables_stay_in_the_budget(in_folder: Path) -> None:
    fields = ", ".join(f"note_{k} TEXT" for k in range(12))
    script = "".join(f"CREATE TABLE archive_{i} (id INTEGER, {fields});" for i in range(199))
    path = sqlite(
        in_folder, script + "CREATE TABLE invoice (id INTEGER, total REAL); INSERT INTO invoice VALUES (1, 9.5);"
    )
    shown = prompt(path, "What is the total of all invoices?")
    assert len(shown) < MOST
    assert "invoice" in shown
    answer = ask(path, ["SELECT sum(total) FROM invoice"], "What is the total of all invoices?", "native")
    assert answer.values == (9.5,)
    assert any("of 200 tables" in caution.text for caution in answer.warnings)


def test_one_cell_of_200_kb(in_folder: Path) -> None:
    path = csv(in_folder, "id,note\n1," + "long " * 40_000 + "\n2,short\n")
    assert len(prompt(path, "Which note is long?")) < MOST
    answer = ask(path, ["answer = t.loc[t['id'] == 1, 'note'].iloc[0]"])
    assert len(str(answer.values[0])) == 199_999


@pytest.mark.parametrize("language", ["sql", "native"])
def test_a_result_of_a_million_rows_is_cut_and_said(language: str, in_folder: Path) -> None:
    path = sqlite(in_folder, "CREATE TABLE t (n INTEGER);")
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", ((i,) for i in range(1000)))
    connection.close()
    answer = ask(path, ["SELECT a.n FROM t AS a CROSS JOIN t AS b"], language=language)
    assert answer.table is not None
    assert len(answer.table.rows) == 10_000
    (cut,) = [caution.text for caution in answer.warnings if caution.kind == "rows_cut"]
    assert "10,000" in cut


def test_a_merge_of_one_key_with_itself_ends(in_folder: Path) -> None:
    path = csv(in_folder, "k,n\n" + "".join(f"1,{i}\n" for i in range(3000)))
    answer = ask(path, ["answer = len(t.merge(t, on='k'))"])
    assert answer.values == (9_000_000,)


def test_a_merge_that_needs_more_than_there_may_be_ends(in_folder: Path) -> None:
    path = csv(in_folder, "k,n\n" + "".join(f"1,{i}\n" for i in range(3000)))
    because = refused(path, "answer = len(t.merge(t, on='k').merge(t, on='k'))")
    assert "memory" in because.lower()


KINDS = ("csv", "sqlite", "json", "xlsx")


def part(folder: Path, number: int) -> tuple[Path, str]:
    """A source of its own kind and with its own values; the table is `t` in each."""
    kind = KINDS[number % len(KINDS)]
    rows = [{"name": f"x{number}", "n": number * 100 + i} for i in range(20)]
    home = folder / f"part{number}"
    home.mkdir()
    path = home / f"t.{kind}"
    if kind == "sqlite":
        values = ",".join(f"('{row['name']}', {row['n']})" for row in rows)
        return sqlite(home, f"CREATE TABLE t (name TEXT, n INTEGER); INSERT INTO t VALUES {values};", "t.sqlite"), "t"
    if kind == "json":
        import json

        path.write_text(json.dumps(rows))
    elif kind == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        book.active.title = "t"
        for row in (("name", "n"), *((row["name"], row["n"]) for row in rows)):
            book.active.append(row)
        book.save(path)
    else:
        path.write_text("name,n\n" + "".join(f"{row['name']},{row['n']}\n" for row in rows))
    return path, "t"


def test_eight_threads_with_eight_sources_get_their_own(in_folder: Path) -> None:
    """The same question at the same moment, in three languages; each waits for the others before its model speaks."""
    gate = threading.Barrier(8, timeout=60)

    def one(number: int) -> rowhop.Answer:
        path, name = part(in_folder, number)
        language = ("python", "sql", "native" if path.suffix == ".sqlite" else "sql")[number % 3]
        code = f"answer = {name}['n'].sum()" if language == "python" else f"SELECT sum(n) FROM {name}"

        def reply(_: object) -> str:
            gate.wait()
            return fenced(code, language)

        model = endpoint([reply])  # type: ignore[list-item]
        return rowhop.ask("What is the sum of n?", path, model=model, language=language)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(8)))
    for number, answer in enumerate(answers):
        assert answer.values == (sum(number * 100 + i for i in range(20)),), (number, answer.because)
        assert answer.cost.calls == 1
        others = {f"x{i}" for i in range(8)} - {f"x{number}"}
        assert not any(f"'{other}'" in str(answer.evidence) for other in others)
        (evidence,) = answer.evidence
        assert isinstance(evidence, rowhop.RowEvidence)
        assert f"x{number}" in str(evidence.rows)


def test_the_same_file_changed_between_two_questions(in_folder: Path) -> None:
    path = csv(in_folder, "n\n1\n2\n")
    assert ask(path, ["answer = t['n'].sum()"]).values == (3,)
    csv(in_folder, "n\n1\n5\n")
    assert ask(path, ["answer = t['n'].sum()"]).values == (6,)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "answer = t[t['team'] == 'b']['n'].sum()"),
        ("sql", "SELECT sum(n) FROM t WHERE team = 'b'"),
    ],
)
def test_evidence_is_made_by_the_program(language: str, code: str, in_folder: Path) -> None:
    path = csv(in_folder, "team,n\na,1\nb,2\nb,4\n")
    said = f"# Rests on row 1 of t, team a.\n{code}" if language == "python" else f"-- row 1, team a\n{code}"
    answer = ask(path, [said], language=language)
    assert answer.values == (6,)
    (evidence,) = answer.evidence
    assert isinstance(evidence, rowhop.RowEvidence)
    assert {row[0] for row in evidence.rows} == {"b"}
    assert evidence.total == 2


def test_a_program_without_end_ends(in_folder: Path) -> None:
    path = csv(in_folder, "n\n1\n")
    begun = time.monotonic()
    model = endpoint([fenced("answer = len(t)\nwhile True:\n    answer += 1", "python")])
    answer = rowhop.ask("How many?", path, model=model, language="python", budget=rowhop.Budget(seconds=3, calls=1))
    assert answer.status == "gave_up"
    assert time.monotonic() - begun < 20
