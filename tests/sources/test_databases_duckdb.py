"""DuckDB files: every type, schemas, keys and comments, and files that cannot be opened."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells
from rowhop.sources.duck import DuckSource

SCRIPT = """
CREATE SCHEMA other;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE item (
    id INTEGER PRIMARY KEY, day DATE, moment TIMESTAMP, zoned TIMESTAMPTZ, price DECIMAL(10, 2), wide HUGEINT,
    tags VARCHAR[], pair STRUCT(a INT, b VARCHAR), flag BOOLEAN, raw BLOB, span INTERVAL, clock TIME, m mood,
    big UBIGINT
);
CREATE TABLE sale (item INTEGER REFERENCES item (id), "Net sales (€)" DOUBLE);
CREATE TABLE other.sale (x INTEGER);
CREATE TABLE other.stock (x INTEGER);
CREATE VIEW priced AS SELECT id, price FROM item;
CREATE VIEW outside AS SELECT * FROM read_csv('/etc/passwd');
COMMENT ON TABLE item IS 'what is sold';
COMMENT ON COLUMN item.day IS 'first day';
INSERT INTO item VALUES
    (2, '2020-01-01', '2020-01-01 10:00:00', '2020-01-01 10:00:00+02', 1.25, 123, ['a', 'b'], {'a': 1, 'b': 'x'}, true,
     '\\x00\\xff', INTERVAL 1 DAY, '10:00:00', 'ok', 18446744073709551615),
    (1, 'infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5);
INSERT INTO sale VALUES (1, 2.5), (1, 3), (2, NULL);
"""


@pytest.fixture
def source(tmp_path: Path) -> Iterator[DuckSource]:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(SCRIPT)
    before = file.read_bytes()
    yield DuckSource(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["shop.duckdb"]


def test_boxes(source: DuckSource) -> None:
    boxes = {b.name: b for b in source.boxes().boxes}
    assert set(boxes) == {"item", "sale", "other_sale", "stock", "priced"}
    item = boxes["item"]
    assert (item.about, item.keys, item.rows, item.columns[1].about) == ("what is sold", ("id",), 2, "first day")
    assert " ".join(c.dtype for c in item.columns) == (
        "integer date datetime datetime number integer list text boolean text text text text integer"
    )
    assert item.columns[12].about == "one of 'sad', 'ok'"
    assert item.columns[9].samples == ("(binary, 2 bytes)",)
    (key,) = source.boxes().foreign_keys
    assert (key.box, key.field, key.to_box, key.to_field) == ("sale", "item", "item", "id")
    assert source.boxes().left_out == ("outside could not be read.",)


def test_load(source: DuckSource) -> None:
    table = source.load("item")
    first, second = table.to_pylist()
    assert first == {
        "id": 2,
        "day": dt.date(2020, 1, 1),
        "moment": dt.datetime(2020, 1, 1, 10),
        "zoned": dt.datetime(2020, 1, 1, 8),
        "price": 1.25,
        "wide": 123,
        "tags": ["a", "b"],
        "pair": "{'a': 1, 'b': x}",
        "flag": True,
        "raw": "00ff",
        "span": "1 day",
        "clock": "10:00:00",
        "m": "ok",
        "big": "18446744073709551615",  # digits are kept where 64 bits do not hold them
    }
    assert second == dict.fromkeys(first) | {"id": 1, "big": "5"}
    assert source.load("sale", ["Net sales (€)"], 2).to_pydict() == {"Net sales (€)": [2.5, 3.0]}
    assert [f.type for f in source.load("sale").schema] == [cells.arrow_type("integer"), cells.arrow_type("number")]


def test_written_and_distinct(source: DuckSource) -> None:
    assert source.written("item", ["id", "price", "day"], [1, 0]).to_pylist() == [
        {"id": "1", "price": None, "day": "infinity"},
        {"id": "2", "price": "1.25", "day": "2020-01-01"},
    ]
    assert source.distinct("item", "m", 5) == ["ok"]


def test_select(source: DuckSource) -> None:
    found = source.select("SELECT sum(id), max(day), sum(price), sum(wide) FROM item", 5, 5.0)
    assert list(found.to_pylist()[0].values()) == [3, "infinity", 1.25, 123]
    assert source.select("SELECT span, pair.a FROM item LIMIT 1", 5, 5.0).to_pylist() == [{"span": "1 day", "a": 1}]
    assert source.select("SELECT count(*) AS n FROM other.stock", 5, 5.0).to_pylist() == [{"n": 0}]
    assert source.select("SELECT item FROM sale JOIN item ON item.id = sale.item", 5, 5.0).num_rows == 3
    with pytest.raises(ReplyError, match="Conversion Error"):
        source.select("SELECT CAST(m AS INTEGER) FROM item", 5, 5.0)


def test_the_owner_can_write_between_two_questions(tmp_path: Path) -> None:
    file = tmp_path / "a.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    source = DuckSource(file)
    before = source.fingerprint()
    with duckdb.connect(str(file)) as connection:
        connection.execute("UPDATE t SET x = 2")
    assert source.fingerprint() != before
    assert source.load("t").to_pydict() == {"x": [2]}


def test_too_big_to_load(source: DuckSource) -> None:
    with pytest.raises(SourceError, match="Table 'sale' is too big to load"):
        DuckSource(source.path, load_bytes=8).load("sale")


def test_a_file_that_is_open_elsewhere(source: DuckSource) -> None:
    with duckdb.connect(str(source.path)), pytest.raises(SourceUnavailable, match="open in this process for writing"):
        source.load("sale")
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(source.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(SourceUnavailable, match="locked by another program"):
            source.load("sale")
        assert writer.stdin is not None
        writer.stdin.close()


def test_files_that_are_no_database(tmp_path: Path, source: DuckSource) -> None:
    raw = source.path.read_bytes()
    folder = tmp_path.parent
    (folder / "torn.duckdb").write_bytes(raw[:4096] + b"x" * 9000)
    (folder / "empty.duckdb").write_bytes(b"")
    (folder / "text.duckdb").write_bytes(b"hello, this is no database")
    for name, words in {
        "torn.duckdb": "cannot be read as a DuckDB database",
        "empty.duckdb": "is an empty file",
        "text.duckdb": "is not a DuckDB database",
        "gone.duckdb": "There is no file",
    }.items():
        with pytest.raises(SourceError, match=words) as caught:
            DuckSource(folder / name)
        assert len(str(caught.value).splitlines()) == 1
