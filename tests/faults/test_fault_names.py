"""FAULTS, "Names: spaces, unicode, case, reserved words, duplicates": shown as they are, found, and asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faulty import ask, complaint, csv, endpoint, sqlite

from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.sources import open_source
from rowhop.types import Question

ROWHOP = [sys.executable, "-c", "from rowhop.cli import main; main()"]


def columns(path: Path) -> list[str]:
    source = open_source(path)
    (box,) = source.boxes().boxes
    source.close()
    return [column.name for column in box.columns]


def test_headers_that_are_dates_or_hold_punctuation(in_folder: Path) -> None:
    path = csv(in_folder, "2024-01-01,Net sales (€),a.b\n1,2,3\n4,5,6\n")
    assert columns(path) == ["2024-01-01", "Net sales (€)", "a.b"]
    code = 'answer = [t["2024-01-01"].sum(), t["Net sales (€)"].sum(), t["a.b"].sum()]'
    assert ask(path, [code]).values == (5, 7, 9)
    sql = 'SELECT sum("2024-01-01"), sum("Net sales (€)"), sum("a.b") FROM t'
    assert ask(path, [sql], language="sql").values == (5, 7, 9)


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("language", ["python", "sql"])
def test_chinese_names_reach_the_model_as_they_are(compact: bool, language: str, in_folder: Path) -> None:
    path = csv(in_folder, "时间,姓名\n2020-01-05,张伟\n2019-03-01,王芳\n")
    model = endpoint([])
    model.constrains = compact
    agent = Pandora(model, open_source(path), settings=PandoraSettings(language=language))  # type: ignore[arg-type]
    asked = agent.prompt(Question("最早的时间？"))[-1].content
    assert "时间" in asked.partition("Q: ")[0]
    assert "张伟" in asked
    assert "\\u" not in asked
    code = 'answer = t["时间"].min()' if language == "python" else 'SELECT min("时间") FROM t'
    assert ask(path, [code], "最早的时间？", language).values == ("2019-03-01",)


def test_a_console_of_another_code_page(in_folder: Path) -> None:
    csv(in_folder, "身高\n170厘米\n")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([*ROWHOP, "show", "t.csv"], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    done = subprocess.run(
        [*ROWHOP, "ask", "t.csv", "身高?", "--dry-run"], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr


def test_reserved_words_as_names(in_folder: Path) -> None:
    path = sqlite(
        in_folder,
        'CREATE TABLE "order" ("group" TEXT, "select" INTEGER, "from" INTEGER, "end" INTEGER);'
        "INSERT INTO \"order\" VALUES ('a', 1, 10, 100), ('b', 2, 20, 200);",
    )
    native = 'SELECT "group", sum("from" + "end") FROM "order" GROUP BY "group" ORDER BY "group"'
    assert ask(path, [native], language="native").values == ("a", 110, "b", 220)
    assert ask(path, [native], language="sql").values == ("a", 110, "b", 220)
    source = open_source(path)
    name = source.boxes().boxes[0].name
    source.close()
    assert ask(path, [f'answer = {name}["select"].sum()']).values == (3,)


def test_a_misspelt_quoted_column_is_no_text(in_folder: Path) -> None:
    path = sqlite(in_folder, 'CREATE TABLE "order" ("group" TEXT); INSERT INTO "order" VALUES (\'a\');')
    told = complaint(path, 'SELECT "grup" FROM "order"', 'SELECT "group" FROM "order"', "native")
    assert "grup" in told
    assert "Did you mean 'group'?" in told


def test_mixed_case_names(in_folder: Path) -> None:
    path = sqlite(in_folder, 'CREATE TABLE "Notes" ("createdAt" TEXT); INSERT INTO "Notes" VALUES (\'2024-01-05\');')
    assert ask(path, ["SELECT createdat FROM notes"], language="native").values == ("2024-01-05",)
    assert ask(path, ["SELECT createdat FROM notes"], language="sql").values == ("2024-01-05",)
    # in Python the case counts; a slip in it is mended and said
    answer = ask(path, ["answer = Notes['createdat'].tolist()"])
    assert answer.values == ("2024-01-05",)
    assert "field_adjusted" in {caution.kind for caution in answer.warnings}


def test_duplicate_headers_keep_their_cells(in_folder: Path) -> None:
    path = csv(in_folder, "a,a,a.1,Name \n1,2,3,x\n4,5,6,y\n")
    names = columns(path)
    assert len(set(map(str.lower, names))) == 4
    assert names[0] == "a"
    assert names[3] == "Name"  # no blank at its end
    code = f"answer = [int(t[c].sum()) for c in {names[:3]!r}]"
    assert ask(path, [code]).values == (5, 7, 9)


def test_blank_headers_get_names(in_folder: Path) -> None:
    names = columns(csv(in_folder, "a,,\n1,2,3\n4,5,6\n"))
    assert names[0] == "a"
    assert all(names)
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    "code",
    [
        "answer = t['count'].sum()",
        "answer = t[t['class'] == 'b']['count'].sum() + 3",
        "answer = t.query('`my col` > 0')['count'].sum()",
        "answer = t.loc[t['my col'] > 0, 'count'].sum()",
    ],
)
def test_columns_called_like_methods_and_keywords(code: str, in_folder: Path) -> None:
    path = csv(in_folder, "count,class,my col\n3,a,1\n4,b,2\n")
    assert ask(path, [code]).values == (7,)


def test_a_method_taken_for_a_column_is_the_column(in_folder: Path) -> None:
    path = csv(in_folder, "count,class\n3,a\n4,b\n")
    assert ask(path, ["answer = t.count.sum()"]).values == (7,)
    assert ask(path, ["answer = t[t.count > 3]['class'].iloc[0]"]).values == ("b",)
    assert ask(path, ["answer = t.count()['class']"]).values == (2,)


@pytest.mark.parametrize("name", ["2024 sales (final).csv", "日本.csv", "select.csv", "a-b.c.csv", "T.CSV"])
def test_a_file_of_any_name_is_an_identifier(name: str, in_folder: Path) -> None:
    path = csv(in_folder, "n\n1\n2\n", name)
    source = open_source(path)
    (box,) = source.boxes().boxes
    source.close()
    assert box.name.isidentifier()
    assert ask(path, [f"answer = {box.name}['n'].sum()"]).values == (3,)
    assert ask(path, [f'SELECT sum(n) FROM "{box.name}"'], language="sql").values == (3,)
