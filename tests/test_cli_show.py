"""`rowhop show`, and every source that is not one: a sentence, an exit code, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rowhop.cli import run

ROWHOP = [sys.executable, "-c", "from rowhop.cli import main; main()"]


def test_a_table(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(examples / "shop" / "customers.csv"), "--rows", "2"]) == 0
    out, err = capsys.readouterr()
    assert "customers  (30 rows, 6 columns)" in out
    assert "customer_id      text, key   0001, 0002, 0003" in out
    assert "first rows" in out
    assert err == ""


def test_one_row_is_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.csv").write_text("town\nOslo\n", encoding="utf-8")
    assert run(["show", str(tmp_path / "one.csv")]) == 0
    assert "one  (1 row, 1 column)" in capsys.readouterr().out


def test_a_database_with_its_keys(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(examples / "library.sqlite")]) == 0
    assert "books.author_id → authors.author_id" in capsys.readouterr().out


def test_json_lists_everything(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(examples / "shop"), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert {"customers", "orders", "products", "tickets"} <= {b["name"] for b in read["boxes"]}


def test_sources_by_name(in_folder: Path, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_folder / "rowhop.toml").write_text(f'[sources]\nclients = "{examples / "shop" / "customers.csv"}"\n')
    assert run(["show", "clients"]) == 0
    assert run(["show"]) == 0
    assert capsys.readouterr().out.count("credit limit") == 2


@pytest.mark.parametrize(
    ("data", "name"),
    [(b"a;b\n1;2\n", "a"), (b'{"a": 1}\n{"a": 2}\n', "a"), (b'[{"a": 1}]', "a"), (b'{\n"a": [1]\n}', "a")],
)
def test_a_pipe(data: bytes, name: str, in_folder: Path) -> None:
    done = subprocess.run([*ROWHOP, "show", "-", "--json"], input=data, capture_output=True, check=True)
    boxes = json.loads(done.stdout)["boxes"]
    assert boxes[0]["name"] == "stdin"
    assert boxes[0]["columns"][0]["name"] == name


def test_a_stated_reading_wins(in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (in_folder / "t.csv").write_text("zip|n\n2134|1,5\n", encoding="latin-1")
    assert run(["show", "t.csv", "--json", "--read", "delimiter=|", "--read", "text_columns=zip"]) == 0
    columns = json.loads(capsys.readouterr().out)["boxes"][0]["columns"]
    assert [(c["name"], c["dtype"]) for c in columns] == [("zip", "text"), ("n", "number")]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_console_that_cannot_show_a_character(encoding: str, extra: list[str], in_folder: Path) -> None:
    (in_folder / "t.csv").write_text("时间,größe,x\n170厘米,3 €,\x1b[31mred\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([*ROWHOP, "show", "t.csv", *extra], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    if extra:
        assert json.loads(done.stdout.decode(encoding))["boxes"][0]["columns"][0]["name"] == "时间"


def bad(folder: Path, name: str) -> str:
    """A source that cannot be read; returns how it is named on the command line."""
    path = folder / name
    match name:
        case "empty.csv":
            path.touch()
        case "binary.csv" | "binary.xlsx" | "binary.bin":
            path.write_bytes(bytes(range(256)) * 20)
        case "corrupt.db":
            path.write_bytes(b"SQLite format 3\0" + b"\xff" * 2000)
        case "corrupt.parquet":
            path.write_bytes(b"PAR1 nothing PAR1")
        case "cut.json":
            path.write_text('{"a": [1,')
        case "folder":
            path.mkdir()
        case "missin.csv":
            (folder / "missing.csv").write_text("a\n1\n")
        case _:
            return name
    return str(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.csv", "is empty"),
        ("binary.csv", "binary"),
        ("binary.xlsx", "binary.xlsx"),
        ("binary.bin", "binary"),
        ("corrupt.db", "cannot be read as a SQLite database"),
        ("corrupt.parquet", "Parquet"),
        ("cut.json", "JSON"),
        ("folder", "holds no file that can be opened"),
        ("missin.csv", "Did you mean missing.csv?"),
        ("ftp://host/file", "are not known"),
    ],
)
def test_what_is_no_source(name: str, words: str, in_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = bad(in_folder, name)
    before = sorted(p.name for p in in_folder.rglob("*"))
    assert run(["show", named]) == 2
    assert run(["ask", named, "How many?"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert len(err.splitlines()) == 2
    assert sorted(p.name for p in in_folder.rglob("*")) == before


def test_a_password_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "postgresql://me:secretword@127.0.0.1:1/db"]) == 1
    assert "secretword" not in capsys.readouterr().err
