"""Results written to files: nothing is lost, nothing becomes a formula, nothing is overwritten unasked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rowhop.cli import files
from rowhop.errors import ConfigError
from rowhop.types import Answer, Table, Value

ROWS: tuple[tuple[Value, ...], ...] = (
    ("=HYPERLINK(1)", 1, "007"),
    ("@SUM(A1)", -2.5, "170厘米"),
    ("+1 call", None, "two\nlines"),
    ("-5", 12345678901234567, "\x1b[31m"),
)
ANSWER = Answer("answered", table=Table(("=name", "n", "n"), ROWS, 4))


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert files.write(ANSWER, path, replace=False) == 4
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["'=name", "n", "n"]
    assert [r[0] for r in rows[1:]] == ["'=HYPERLINK(1)", "'@SUM(A1)", "'+1 call", "-5"]
    assert [r[1] for r in rows[1:]] == ["1", "-2.5", "", "12345678901234567"]
    assert [r[2] for r in rows[1:3]] == ["007", "170厘米"]


def test_workbook(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    path = tmp_path / "x.xlsx"
    files.write(ANSWER, path, replace=False)
    sheet = load_workbook(path).active
    cells = [list(row) for row in sheet.iter_rows()]
    assert [row[0].data_type for row in cells] == ["s"] * 5
    assert cells[1][0].value == "=HYPERLINK(1)"
    assert [row[1].value for row in cells[1:]] == [1, -2.5, None, "12345678901234567"]
    assert cells[1][2].value == "007"
    assert cells[4][2].value == "\\x1b[31m"


def test_parquet(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    files.write(ANSWER, path, replace=False)
    table = pq.read_table(path)
    assert table.column_names == ["=name", "n", "n_2"]
    assert table.column(0).to_pylist()[0] == "=HYPERLINK(1)"


def test_values_without_a_table_become_one_column(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    files.write(Answer("answered", values=(1, 2)), path, replace=False)
    assert path.read_text(encoding="utf-8").split() == ["answer", "1", "2"]


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        files.write(ANSWER, path, replace=False)
    assert path.read_text() == "mine"
    files.write(ANSWER, path, replace=True)
    assert path.read_text() != "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(("name", "words"), [("x.docx", "none of them"), ("no/where/x.csv", "no folder")])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        files.write(ANSWER, tmp_path / name, replace=False)
