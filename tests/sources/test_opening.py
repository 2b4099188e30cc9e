"""`open_source` and `open_sources`: what a spec may be, what is said of one that is not, and several as one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.sources import Source, open_source, open_sources
from rowhop.sources.collection import Collection


def database(
    path: Path, script: str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, who INT); INSERT INTO orders VALUES (1, 7)"
) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def names(source: Source) -> list[str]:
    return [b.name for b in source.boxes().boxes]


def test_a_database_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    import duckdb

    assert open_source(database(tmp_path / "a.bin")).dialect == "sqlite"
    with duckdb.connect(str(tmp_path / "b.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    assert open_source(str(tmp_path / "b.db")).dialect == "duckdb"
    (tmp_path / "b.db").rename(tmp_path / "c.csv")
    assert open_source(tmp_path / "c.csv").dialect == "duckdb"


def test_urls_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = database(tmp_path / "my shop.db")
    monkeypatch.chdir(tmp_path)
    for text in (f"sqlite:///{file}", "sqlite:///my shop.db", file.as_uri(), f"sqlite://{file}"):
        assert names(open_source(text)) == ["orders"], text


def test_frames_and_mappings() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    frame = pd.DataFrame({"x": [1, 2]})
    for one in (frame, pl.DataFrame({"x": [1, 2]}), pa.table({"x": [1, 2]})):
        assert open_source(one, name="people").load("people").to_pydict() == {"x": [1, 2]}
    both = open_source({"people": frame, "other people": frame})
    assert names(both) == ["people", "other_people"]
    assert open_source(both) is both


def test_a_folder(tmp_path: Path) -> None:
    database(tmp_path / "shop.db")
    (tmp_path / "customers.csv").write_text("id,name\n7,Ann\n")
    (tmp_path / "notes.docx").write_bytes(b"x")
    (tmp_path / ".hidden.csv").write_text("a\n1\n")
    (tmp_path / "~$book.xlsx").write_bytes(b"x")
    (tmp_path / "more").mkdir()
    (tmp_path / "zero.db").write_bytes(b"")
    source = open_source(tmp_path)
    assert names(source) == ["customers", "orders"]
    assert [c.text for c in source.cautions] == [
        "The folder more was not looked into.",
        "notes.docx was skipped: it is no table or database that is known.",
        f"zero.db was skipped: {tmp_path / 'zero.db'} is an empty file, not a database.",
    ]
    assert source.dialect == ""


def test_every_kind_of_table_in_a_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "bars.psv").write_text("id|name\n7|Ann\n")
    (tmp_path / "book.xlsb").write_bytes(b"PK\x03\x04 no workbook")
    source = open_source(tmp_path)
    assert [c.name for c in source.boxes().boxes[0].columns] == ["id", "name"]
    # It is known for a workbook, and said to be broken.
    (caution,) = source.cautions
    assert caution.text.startswith("book.xlsb was skipped")
    assert "known" not in caution.text


REFUSED = [
    ("gone/x.csv", "and no folder"),
    ("custmers.csv", "Did you mean customers.csv?"),
    ("empty", "holds no file that can be opened"),
    ("graph", "is a graph"),
    ("http://ann:wrong-secret@h/sparql?key=wrong-secret", "http://h/sparql is a graph"),
    ("facts.ttl", "is a graph"),
    ("oracle://ann:wrong-secret@h/d", "Sources of the kind oracle:// are not known"),
    ("/dev/null", "is not a file that can be read again"),
    (7, "A int cannot be opened as a source. It may be: files"),
    (None, "A NoneType cannot be opened"),
]


@pytest.mark.parametrize(("spec", "words"), REFUSED)
def test_refused_in_one_sentence(spec: object, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "nodes.jsonl").write_text("{}")
    (tmp_path / "customers.csv").write_text("id\n1\n")
    (tmp_path / "facts.ttl").write_text("<a> <b> <c> .")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        open_source(spec)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_no_source() -> None:
    with pytest.raises(SourceError, match="No source was given"):
        open_sources([])


def test_several_sources_as_one(tmp_path: Path) -> None:
    first, second = database(tmp_path / "shop.db"), database(tmp_path / "old shop.db")
    (tmp_path / "orders.csv").write_text("id,name\n7,Ann\n8,Bob\n")
    keys = "CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE line (of INT REFERENCES orders)"
    third = database(tmp_path / "keys.db", keys)
    source = open_sources([first, second, tmp_path / "orders.csv", third])
    assert isinstance(source, Collection)
    assert names(source) == ["orders", "orders_old_shop", "orders_orders", "orders_keys", "line"]
    assert source.load("orders_orders", ["name"]).to_pydict() == {"name": ["Ann", "Bob"]}
    assert source.written("orders_orders", ["name"], [1]).to_pydict() == {"name": ["Bob"]}
    assert source.distinct("orders_old_shop", "who", 3) == ["7"]
    (key,) = source.boxes().foreign_keys
    assert (key.box, key.to_box) == ("line", "orders_keys")
    with pytest.raises(SourceError, match="Did you mean 'orders_keys'"):
        source.load("order_keys")
    assert source.dialect == ""
    with pytest.raises(SourceError, match="share no SQL of their own"):
        source.select("SELECT 1", 1, 1.0)


def test_a_collection_changes_with_any_of_its_members(tmp_path: Path) -> None:
    first, second = database(tmp_path / "a.db"), database(tmp_path / "b.db", "CREATE TABLE t (x)")
    source = open_sources([first, second])
    before = source.fingerprint()
    with closing(sqlite3.connect(second)) as connection:
        connection.executescript("CREATE TABLE u (y); INSERT INTO t VALUES (1)")
    assert source.fingerprint() != before
    assert names(source) == ["orders", "t", "u"]


def test_one_spec_is_that_source(tmp_path: Path) -> None:
    assert open_sources([database(tmp_path / "a.db")]).dialect == "sqlite"
