"""FAULTS, "Values: types, nulls, dates, numbers": no digit, zero, name or row is lost in silence.

Files of every dialect stand in tests/sources/test_tables*.py; code that pandas 3 takes amiss in test_fault_pandas3.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from faulty import ask, csv, endpoint, kinds, sqlite

import rowhop
from rowhop.agents.pandora.agent import Pandora
from rowhop.cli import run
from rowhop.sources import open_source
from rowhop.types import Question


def rows(path: Path) -> list[dict[str, object]]:
    source = open_source(path)
    (box,) = source.boxes().boxes
    found: list[dict[str, object]] = source.load(box.name).to_pylist()
    source.close()
    return found


@pytest.mark.parametrize("form", ["import datetime\n", "from datetime import datetime\n", "import datetime as dt\n"])
def test_both_imports_of_datetime_run(form: str, in_folder: Path) -> None:
    path = csv(in_folder, "created\n2024-01-05\n2024-03-01\n2024-03-20\n")
    day = {"import datetime\n": "datetime.datetime", "import datetime as dt\n": "dt.datetime"}.get(form, "datetime")
    code = f"{form}start = {day}(2024, 2, 20)\nanswer = len(t[t['created'] >= start])"
    assert ask(path, [code], "How many were created in the last 30 days?").values == (2,)


@pytest.mark.parametrize(
    "code",
    [
        "answer = len([v for v in t['a'] if not v])",
        "answer = len([v for v in t['a'] if v is None])",
        "answer = int(t['a'].isna().sum())",
        "answer = len([v for v in t['a'].tolist() if not v or v != v])",
    ],
)
def test_a_missing_text_is_missing_in_every_way_of_asking(code: str, in_folder: Path) -> None:
    answer = ask(csv(in_folder, "a,n\nx,1\n,2\ny,3\n"), [code])
    assert answer.values == (1,)


def test_a_missing_cell_compares_without_an_error(in_folder: Path) -> None:
    path = csv(in_folder, "a,n\nx,1\n,\ny,3\n")
    assert ask(path, ["answer = len(t[(t['n'] > 0) & (t['a'] > 'a')])"]).values == (2,)
    assert ask(path, ["answer = max(t['n'].dropna())"]).values == (3,)


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("code,n\nNA,1\nDE,2\n", "utf-8", [{"code": "NA", "n": 1}, {"code": "DE", "n": 2}]),
        ("zip\n02134\n90210\n", "utf-8", [{"zip": "02134"}, {"zip": "90210"}]),
        ('n\n"1,234"\n"2,345"\n', "utf-8", [{"n": 1234}, {"n": 2345}]),
        ('m\n"1,5"\n"2,5"\n', "utf-8", [{"m": 1.5}, {"m": 2.5}]),
        ("id,n\n12345678901234567,1\n,2\n", "utf-8", [{"id": "12345678901234567", "n": 1}, {"id": None, "n": 2}]),
        ("a,b\n1,2,\n3,4,\n", "utf-8", [{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
        ("name,n\nJosé,1\nZoë,2\n", "utf-16", [{"name": "José", "n": 1}, {"name": "Zoë", "n": 2}]),
        ("name,n\nJosé,1\nZoë,2\n", "latin-1", [{"name": "José", "n": 1}, {"name": "Zoë", "n": 2}]),
        ("a;b\n1;2\n3;4\n", "utf-8", [{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
    ],
)
def test_a_file_is_read_as_it_stands(
    text: str, encoding: str, expected: list[dict[str, object]], in_folder: Path
) -> None:
    found = rows(csv(in_folder, text, encoding=encoding))
    assert [{k: row[k] for k in expected[0]} for row in found] == expected


def test_ids_with_a_gap_in_a_database_keep_their_digits(in_folder: Path) -> None:
    path = sqlite(in_folder, "CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (12345678901234567), (NULL);")
    assert ask(path, ["answer = t['id'].max()"]).values == (12345678901234567,)
    assert ask(path, ["SELECT max(id) FROM t"], language="native").values == (12345678901234567,)


def test_ids_keep_their_digits_through_a_program(in_folder: Path) -> None:
    path = csv(in_folder, "id,n\n12345678901234567,1\n,2\n12345678901234569,3\n")
    assert ask(path, ["answer = t.loc[t['n'] == 1, 'id'].iloc[0]"]).values == ("12345678901234567",)
    assert ask(path, ["answer = t['id'].max()"]).values == ("12345678901234569",)
    assert ask(path, ["SELECT max(id) FROM t"], language="sql").values == ("12345678901234569",)
    zips = csv(in_folder, "zip\n02134\n90210\n", "zips.csv")
    assert ask(zips, ["answer = zips['zip'].iloc[0]"]).values == ("02134",)


def test_dates_in_either_order_are_said_or_known(in_folder: Path) -> None:
    known = csv(in_folder, "d\n03/04/2024\n25/12/2024\n", "known.csv")
    assert ask(known, ["answer = known['d'].min()"]).values[0] in ("2024-04-03", "03/04/2024")
    assert ask(known, ["answer = int(known['d'].dt.month.max())"]).values == (12,)
    unclear = csv(in_folder, "d\n03/04/2024\n05/04/2024\n", "unclear.csv")
    answer = ask(unclear, ["answer = len(unclear)"])
    assert any("date" in kind or "day" in kind for kind in kinds(answer)), answer.warnings
    stated = open_source(unclear, rowhop_reading(day_first=False))
    box = stated.boxes().boxes[0].name
    assert str(stated.load(box).to_pylist()[0]["d"]).startswith("2024-03-04")
    stated.close()


def rowhop_reading(**stated: bool) -> object:
    from rowhop.sources import Reading

    return Reading(**stated)  # type: ignore[arg-type]


def test_a_year_is_a_number_and_can_be_a_date(in_folder: Path) -> None:
    path = csv(in_folder, "year,n\n2020,1\n2021,2\n")
    assert ask(path, ["answer = t['year'].max()"]).values == (2021,)
    assert ask(path, ["answer = t[t['year'] == 2020]['n'].sum()"]).values == (1,)


def test_times_with_and_without_a_zone_do_not_fail(in_folder: Path) -> None:
    path = csv(in_folder, "at\n2024-01-05T10:00:00Z\n2024-03-01T10:00:00Z\n")
    answer = ask(path, ["answer = len(t[t['at'] > pd.Timestamp('2024-02-01')])"] * 1)
    assert answer.values == (1,)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("answer = t['n'].sum()", 6),
        ("answer = np.int64(7) + 0 * len(t)", 7),
        ("answer = t['f'].mean()", 0.5),
        ("answer = pd.Timestamp('2024-01-05') if len(t) else 0", "2024-01-05"),
        ("answer = np.bool_(True) & (len(t) > 1)", True),
    ],
)
def test_results_are_json(code: str, value: object, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv(in_folder, "n,f\n1,0.25\n2,0.75\n3,\n")
    assert _json(code, in_folder, capsys) == [value]


def test_nan_and_infinity_are_no_numbers_of_json(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv(in_folder, "n,f\n1,0.25\n2,0.75\n3,\n")
    assert _json("answer = [1, float('nan'), float('inf'), t['f'].iloc[2]]", in_folder, capsys)[1:] == [None] * 3


def _json(code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> object:
    reply = {"kind": "model_call", "model": "m", "messages": [], "replies": [f"```python\n{code}\n```"]}
    (folder / "r.jsonl").write_text(json.dumps(reply))
    options = ["--language", "python", "--model", "replay:r.jsonl", "--json"]
    assert run(["ask", "t.csv", "How many?", *options]) == 0

    def never(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(capsys.readouterr().out, parse_constant=never)["values"]


def test_a_workbook_with_title_two_headers_total_and_formula(in_folder: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "report"
    for row in (
        ["Report by region", None, None],
        [None, "2023", "2024"],
        ["Region", "Sales", "Sales"],
        ["North", 10, 30],
        ["South", 20, 40],
        ["Total", 30, 70],
    ):
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    sheet["D3"], sheet["D4"], sheet["D5"] = "Sum", "=B4+C4", "=B5+C5"
    book.create_sheet("empty")
    book.save("r.xlsx")
    source = open_source("r.xlsx")
    (box,) = source.boxes().boxes  # the empty sheet is none
    names = [column.name for column in box.columns]
    source.close()
    assert not any("Unnamed" in name or "Report" in name for name in names)
    sales = [name for name in names if "2024" in name]
    assert len(sales) == 1
    answer = ask("r.xlsx", [f"answer = {box.name}[{sales[0]!r}].sum()"], "Sales of 2024?")
    assert "formula_without_value" in kinds(answer) or any("formula" in w.text for w in answer.warnings)
    # the row of totals is either left out or said
    assert answer.values == (70,) or any("total" in w.text.lower() for w in answer.warnings)


FACT = "ref,amount\n10,1\n10,2\n99,4\n"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "answer = fact.merge(dim, left_on='ref', right_on='id')['amount'].sum()"),
        ("sql", "SELECT sum(amount) FROM fact JOIN dim ON fact.ref = dim.id"),
    ],
)
def test_rows_lost_in_a_join_are_said(language: str, code: str, in_folder: Path) -> None:
    csv(in_folder, FACT, "fact.csv")
    csv(in_folder, "id,name\n10,ten\n", "dim.csv")
    answer = ask(["fact.csv", "dim.csv"], [code], language=language)
    assert answer.values == (3,)
    (lost,) = [w.text for w in answer.warnings if w.kind == "rows_lost"]
    assert "1 of 3 rows of fact" in lost


def test_rows_lost_in_a_join_of_a_database_are_said(in_folder: Path) -> None:
    path = sqlite(
        in_folder,
        "CREATE TABLE fact (ref INTEGER, amount INTEGER); INSERT INTO fact VALUES (10,1), (10,2), (99,4);"
        "CREATE TABLE dim (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO dim VALUES (10, 'ten');",
    )
    answer = ask(path, ["SELECT sum(amount) FROM fact JOIN dim ON fact.ref = dim.id"], language="native")
    assert answer.values == (3,)
    assert "rows_lost" in kinds(answer)


def test_null_groups_and_ties_are_said(in_folder: Path) -> None:
    path = csv(in_folder, "team,points\na,3\nb,3\n,5\nc,1\n")
    groups = ask(path, ["answer = t.groupby('team')['points'].sum()"])
    assert "null_groups" in kinds(groups)
    rest = "answer = t[t['team'].notna()].sort_values('points', ascending=False).head(1)['team'].tolist()"
    assert "ties_cut" in kinds(ask(path, [rest]))
    sql = "SELECT team FROM t WHERE team IS NOT NULL ORDER BY points DESC LIMIT 1"
    assert "ties_cut" in kinds(ask(path, [sql], language="sql"))


def test_habits_of_sqlite(in_folder: Path) -> None:
    path = sqlite(
        in_folder,
        "CREATE TABLE t (id INTEGER, d TEXT, n INTEGER, s TEXT);"
        "INSERT INTO t VALUES (1, '2024-1-5', 5, 'a'), (2, '2024-01-10', 9, 'A'), (3, '2024-01-20', NULL, NULL);",
    )
    # Such dates stay text, and the model is told what that means.
    agent = Pandora(endpoint([]), open_source(path))
    assert "they do not sort or compare by time" in agent.prompt(Question("Which is the last day?"))[-1].content
    # Over BOXes 5 / 2 is not cut.
    assert ask(path, ["answer = t.loc[t['id'] == 1, 'n'].iloc[0] / 2"]).values == (2.5,)
    assert ask(path, ["SELECT n / 2 FROM t WHERE id = 1"], language="sql").values == (2.5,)
    assert ask(path, ["SELECT count(*) FROM t WHERE s = 'A'"], language="native").values == (1,)


def test_a_comparison_that_drops_missing_cells_counts_what_is_there(in_folder: Path) -> None:
    path = sqlite(in_folder, "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (9), (5), (NULL);")
    assert ask(path, ["SELECT count(*) FROM t WHERE n <> 9"], language="native").values == (1,)
    assert ask(path, ["SELECT count(*) FROM t WHERE n IS NOT 9"], language="native").values == (2,)


def test_the_public_error_names_the_column_that_is_not_there(in_folder: Path) -> None:
    path = csv(in_folder, "start_ts,n\n1,2\n")
    source = open_source(path)
    with pytest.raises(rowhop.SourceError, match="start_ts"):
        source.load("t", ["start_tz"])
    source.close()
