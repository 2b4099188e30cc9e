"""SQLite files: types found in loose columns, keys, odd bytes, files in every bad state, nothing left beside them."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells, open_source
from rowhop.sources.sqlite import SqliteSource


def made(path: Path, script: str) -> SqliteSource:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return SqliteSource(path)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SqliteSource]:
    source = made(
        tmp_path / "shop.db",
        """
        CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born TEXT, zip TEXT, "Net sales (€)" REAL);
        CREATE TABLE "order details" (
            id INTEGER, line INTEGER, customer TEXT REFERENCES CUSTOMER, seen TEXT, paid BOOLEAN, price DECIMAL(8,2),
            PRIMARY KEY (id, line)
        );
        CREATE VIEW adult AS SELECT name, born FROM customer;
        INSERT INTO customer VALUES
            (1, 'Ann', '1990-01-02', '02134', 1.5), (2, 'Bob', '', '10001', ''), (3, 'Ann', NULL, '75001', 3);
        INSERT INTO "order details" VALUES
            (7, 1, '1', '2024-05-01 10:00:00', 1, 3), (7, 2, '3', '2024-05-01T11:30:00.5', 0, 4);
        """,
    )
    before = sorted(p.name for p in tmp_path.iterdir()), (tmp_path / "shop.db").read_bytes()
    yield source
    assert (sorted(p.name for p in tmp_path.iterdir()), (tmp_path / "shop.db").read_bytes()) == before


def test_boxes(shop: SqliteSource) -> None:
    customer, details, adult = shop.boxes().boxes
    assert [(c.name, c.dtype) for c in customer.columns] == [
        ("id", "integer"),
        ("name", "text"),
        ("born", "date"),
        ("zip", "text"),
        ("Net sales (€)", "number"),
    ]
    assert customer.columns[1].samples == ("Ann", "Bob")
    assert (customer.columns[1].nullable, customer.columns[2].parsed_from) == (False, "1990-01-02")
    assert [c.dtype for c in details.columns] == ["integer", "integer", "integer", "datetime", "boolean", "number"]
    assert (details.name, details.keys, details.rows) == ("order_details", ("id", "line"), 2)
    assert (adult.rows, adult.origin) == (None, "view adult of shop.db")
    (key,) = shop.boxes().foreign_keys
    assert (key.box, key.field, key.to_box, key.to_field) == ("order_details", "customer", "customer", "id")


def test_load_is_typed_as_the_boxes_say(shop: SqliteSource) -> None:
    for box in shop.boxes().boxes:
        table = shop.load(box.name)
        assert [f.type for f in table.schema] == [cells.arrow_type(c.dtype) for c in box.columns]
    assert shop.load("customer", ["born", "id"], limit=2).to_pydict() == {
        "born": [dt.date(1990, 1, 2), None],
        "id": [1, 2],
    }
    assert shop.load("customer", ["Net sales (€)"]).column(0).to_pylist() == [1.5, None, 3.0]
    assert shop.load("order_details", ["seen"]).column(0).to_pylist()[1] == dt.datetime(2024, 5, 1, 11, 30, 0, 500_000)
    assert shop.load("order_details", ["paid"]).column(0).to_pylist() == [True, False]


def test_written_shows_cells_as_they_stand(shop: SqliteSource) -> None:
    assert shop.written("customer", ["Net sales (€)", "born"], [2, 1]).to_pylist() == [
        {"Net sales (€)": "3.0", "born": None},
        {"Net sales (€)": "", "born": ""},
    ]
    assert shop.written("customer", ["id"]).column(0).to_pylist() == ["1", "2", "3"]
    assert shop.distinct("customer", "name", 10) == ["Ann", "Bob"]


def test_names_that_are_not_there(shop: SqliteSource) -> None:
    with pytest.raises(SourceError, match=r"No table 'custmer' in shop.db. It has: .* Did you mean 'customer'\?"):
        shop.load("custmer")
    with pytest.raises(SourceError, match=r"No column 'nme' in table 'customer'.* Did you mean 'name'\?"):
        shop.load("customer", ["nme"])


def test_select_takes_the_name_of_the_table_and_of_the_box(shop: SqliteSource) -> None:
    for name in ('"order details"', "order_details", "[Order Details]"):
        found = shop.select(f"SELECT count(*) AS n, sum(price) FROM {name} WHERE customer = 1", 10, 5.0)
        assert found.to_pylist() == [{"n": 1, 'SUM("price")': 3}]


def test_the_order_of_rows_does_not_depend_on_the_columns(tmp_path: Path) -> None:
    """SQLite would read `name` alone from the index, sorted."""
    source = made(
        tmp_path / "a.db",
        """CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX i ON t (name);
        INSERT INTO t VALUES (1, 'b'), (2, 'a')""",
    )
    assert source.load("t", ["name"]).column(0).to_pylist() == ["b", "a"]
    assert source.written("t", ["name"], [0]).column(0).to_pylist() == ["b"]


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    source = made(
        tmp_path / "a.db", "CREATE TABLE t (a TEXT, b BLOB); INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT), x'00ff');"
    )
    assert source.boxes().boxes[0].columns[0].samples == ("a\ufffdb",)
    assert source.load("t").to_pylist() == [{"a": "a\ufffdb", "b": "00ff"}]
    assert source.written("t").to_pylist() == [{"a": "a\ufffdb", "b": "00ff"}]
    assert source.select("SELECT a, b FROM t", 5, 5.0).to_pylist() == [{"a": "a\ufffdb", "b": "00ff"}]


def test_a_column_that_is_mixed_later_on_loses_nothing(tmp_path: Path) -> None:
    rows = ", ".join(f"({i}, '{i}', {i}.25)" for i in range(70_000))
    source = made(
        tmp_path / "a.db",
        f"""CREATE TABLE t (n INTEGER, s TEXT, r REAL);
        INSERT INTO t VALUES {rows}, ('many', '0012', 2914989.571234), (1.5, NULL, '')""",
    )
    table = source.load("t")
    assert table.column(0).to_pylist()[-3:] == ["69999", "many", "1.5"]
    assert table.column(1).to_pylist()[-3:] == ["69999", "0012", None]
    assert table.column(2).to_pylist()[-3:] == [69999.25, 2914989.571234, None]
    assert [c.text for c in source.cautions if "'n'" in c.text] == [
        "Column 'n' of 't' looked like integer in its first rows, but holds other values too."
    ]


TYPES = [
    ("TEXT", ["2024-01-05", "2024-01-06"], "date"),
    ("TEXT", ["2024-1-5", "2024-01-06"], "text"),
    ("TEXT", ["05/04/2024"], "text"),
    ("DATETIME", ["2024-01-05 10:00", "2024-01-06"], "datetime"),
    ("TEXT", ["0000-00-00"], "text"),
    ("TEXT", ["18", "null", "130"], "integer"),
    ("TEXT", ["02134", "10001"], "text"),
    ("VARCHAR(9)", ["1.10", "1.9"], "text"),
    ("VARCHAR(9)", ["1.10", "2.50"], "number"),
    ("TEXT", ["12345678901234567"], "integer"),
    ("TEXT", ["12345678901234567890"], "text"),
    ("INTEGER", [1, "x"], "mixed"),
    ("INTEGER", [1, None, ""], "integer"),
    ("INTEGER", [1, 2.5], "number"),
    ("DECIMAL(5,2)", [1, 2], "number"),
    ("BOOL", [0, 1, None], "boolean"),
    ("BOOL", ["T", "F"], "text"),
    ("BLOB", [b"\x00"], "text"),
    ("INT", [], "integer"),
    ("", [None], "text"),
]


@pytest.mark.parametrize(("declared", "found", "expected"), TYPES)
def test_types(declared: str, found: list[object], expected: str) -> None:
    assert cells.find_type(declared, found)[0] == expected


def test_a_view_that_no_longer_works_is_left_out_in_words(tmp_path: Path) -> None:
    source = made(
        tmp_path / "a.db", "CREATE TABLE t (x); CREATE VIEW v AS SELECT gone FROM t; CREATE TABLE empty (y INT)"
    )
    assert [b.name for b in source.boxes().boxes] == ["t", "empty"]
    assert source.boxes().left_out == ("view v could not be read.",)
    assert source.load("empty").num_rows == 0


def test_a_view_that_takes_too_long_is_shown_without_samples(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) AS n FROM r"
    source = made(tmp_path / "a.db", f"CREATE TABLE t (x); CREATE VIEW slow AS {endless}")
    assert [c.name for b in source.boxes().boxes for c in b.columns] == ["x", "n"]
    assert source.boxes().left_out == ("slow is shown without samples: reading its first rows took too long.",)


def test_a_database_without_tables(tmp_path: Path) -> None:
    source = made(tmp_path / "a.db", "CREATE TABLE t (x); DROP TABLE t")
    assert source.boxes().boxes == ()


def test_too_big_to_load(tmp_path: Path) -> None:
    made(
        tmp_path / "a.db",
        "CREATE TABLE t (x TEXT); INSERT INTO t SELECT hex(zeroblob(500000)) FROM (VALUES (1), (2), (3))",
    )
    with pytest.raises(SourceError, match=r"Table 't' is too big to load.*Ask for fewer columns"):
        SqliteSource(tmp_path / "a.db", load_bytes=1_000_000).load("t")


def test_a_value_too_large_to_build(shop: SqliteSource) -> None:
    bomb = "replace(" * 6 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')" * 6
    with pytest.raises(ReplyError, match="could not run the statement: string or blob too big"):
        shop.select(f"SELECT length({bomb})", 5, 10.0)


def test_the_fingerprint_changes_with_one_cell(tmp_path: Path) -> None:
    source = made(tmp_path / "a.db", "CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    seen = {source.fingerprint()}
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        for value in range(5):  # faster than the clock of the file system
            connection.execute("UPDATE t SET x = ?", [value])
            connection.commit()
            seen.add(source.fingerprint())
    assert len(seen) == 6
    assert source.load("t").to_pydict() == {"x": [4]}


# files in bad states


def test_a_database_in_wal_mode_at_rest(tmp_path: Path) -> None:
    source = made(tmp_path / "a.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    assert source.load("t").to_pydict() == {"x": [1]}
    assert source.select("SELECT x FROM t", 5, 5.0).num_rows == 1
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]


def test_a_database_in_wal_mode_with_a_writer(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as writer:
        writer.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        source = SqliteSource(tmp_path / "a.db")
        before = source.fingerprint()
        assert source.load("t").to_pydict() == {"x": [1]}
        writer.execute("INSERT INTO t VALUES (2)")
        assert source.load("t").num_rows == 1
        writer.commit()
        assert source.fingerprint() != before
        assert source.load("t").num_rows == 2
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"]


def test_a_log_that_was_copied_along(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as writer:
        writer.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        (tmp_path / "b").mkdir()
        for name in ("a.db", "a.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / "b" / name)
    source = SqliteSource(tmp_path / "b" / "a.db")
    assert source.load("t").to_pydict() == {"x": [1]}
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == ["a.db", "a.db-wal"]


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    for name in ("first.db", "a.db"):
        made(tmp_path / name, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    (tmp_path / "a.db").chmod(0o444)
    tmp_path.chmod(0o555)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o555)
    # root may write everywhere, so the test becomes another user, after all that it needs is imported
    script = """
import os, sys
from rowhop.sources.sqlite import SqliteSource
SqliteSource(sys.argv[1]).load("t")
if os.geteuid() == 0:
    os.setuid(65534)
print(SqliteSource(sys.argv[2]).load("t").to_pydict())
"""
    paths = [str(tmp_path / "first.db"), str(tmp_path / "a.db")]
    done = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, check=False)
    tmp_path.chmod(0o755)
    assert done.stdout.strip() == "{'x': [1]}", done.stderr


def test_a_locked_file(tmp_path: Path) -> None:
    source = made(tmp_path / "a.db", "CREATE TABLE t (x)")
    script = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(tmp_path / "a.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        for attempt in (lambda: source.load("t"), lambda: SqliteSource(tmp_path / "a.db")):
            with pytest.raises(SourceUnavailable, match=r"a\.db is locked by another program"):
                attempt()
        assert writer.stdin is not None
        writer.stdin.close()


def test_a_journal_left_by_a_crash(tmp_path: Path) -> None:
    script = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.executescript("CREATE TABLE t (x); PRAGMA cache_size = 1")
c.execute("BEGIN IMMEDIATE")
c.executemany("INSERT INTO t VALUES (?)", [(os.urandom(500).hex(),) for _ in range(5000)])
os._exit(1)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.db")], check=False)
    assert (tmp_path / "a.db-journal").exists()
    before = sorted((p.name, p.stat().st_size) for p in tmp_path.iterdir())
    with pytest.raises(SourceUnavailable, match="left in the middle of a write"):
        SqliteSource(tmp_path / "a.db")
    assert sorted((p.name, p.stat().st_size) for p in tmp_path.iterdir()) == before


def test_corrupt_empty_and_other_files(tmp_path: Path) -> None:
    made(
        tmp_path / "good.db", "CREATE TABLE t (x); INSERT INTO t SELECT hex(zeroblob(3000)) FROM (VALUES (1), (2), (3))"
    )
    raw = (tmp_path / "good.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(raw[:5000])
    (tmp_path / "torn.db").write_bytes(raw[:100] + os.urandom(len(raw) - 100))
    (tmp_path / "empty.db").write_bytes(b"")
    (tmp_path / "text.db").write_bytes(b"hello, this is no database at all")
    for name, words in {
        "cut.db": "cannot be read as a SQLite database",
        "torn.db": "cannot be read as a SQLite database",
        "empty.db": "is an empty file",
        "text.db": "is not a SQLite database",
        "gone.db": "There is no file",
    }.items():
        with pytest.raises(SourceError, match=words) as caught:
            SqliteSource(tmp_path / name).load("t")
        assert name in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


def test_two_million_rows(tmp_path: Path) -> None:
    made(
        tmp_path / "a.db",
        """CREATE TABLE t (id INTEGER PRIMARY KEY, price REAL, name TEXT, rest TEXT);
        INSERT INTO t WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 300000)
        SELECT n, n / 3.0, 'name ' || n, NULL FROM r""",
    )
    source = SqliteSource(tmp_path / "a.db")
    began = time.monotonic()
    table = source.load("t", ["id", "price", "name"])
    assert table.num_rows == 300_000  # a seventh of the two million that must come in 3 s
    assert time.monotonic() - began < 3


def test_eight_threads(shop: SqliteSource) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        for _ in range(5):
            found = shop.select(f"SELECT {number}, count(*) FROM customer", 5, 5.0).to_pylist()
            loaded = shop.load("customer", ["id"]).column(0).to_pylist()
            if list(found[0].values()) != [number, 3] or loaded != [1, 2, 3]:
                wrong.append((found, loaded))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_every_table_of_every_spider_database() -> None:
    folder = os.environ.get("ROWHOP_BENCH_DATA")
    if not folder:
        pytest.skip("needs benchmark data; ROWHOP_BENCH_DATA names their folder")
    files = sorted(Path(folder, "spider", "database").glob("*/*.sqlite"))
    tables = 0
    for file in files:
        source = open_source(file)
        with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for relation in source.catalog().relations:  # type: ignore[attr-defined]
                table = source.load(relation.box.name)
                rows = connection.execute(f'SELECT * FROM "{relation.path[-1]}"').fetchall()
                assert table.num_rows == len(rows), (file.name, relation.box.name)
                for position, column in enumerate(relation.box.columns):
                    pairs = zip(table.column(position).to_pylist(), rows, strict=True)
                    odd = [(got, row[position]) for got, row in pairs if not _same(got, row[position])]
                    assert not odd, (file.name, relation.box.name, column.name, odd[:3])
                tables += 1
        assert sorted(p.name for p in file.parent.glob("*-*")) == []
    assert tables > 500


def _same(got: object, stored: object) -> bool:
    if got == stored or (got is None and isinstance(stored, str) and cells.is_missing(stored)):
        return True
    if isinstance(stored, bytes):
        return got == stored.hex()
    if isinstance(got, dt.date):
        return str(stored).replace("T", " ").startswith(str(got)[: len(str(stored))])
    return float(str(got)) == float(str(stored))
