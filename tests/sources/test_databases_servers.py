"""PostgreSQL and MariaDB as sources: every type, schemas, views, keys, comments; wrong passwords, servers that go."""

from __future__ import annotations

import datetime as dt
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import servers
from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.sources import cells, open_source
from rowhop.sources.servers import ServerSource, parse_url

SECRETS = (servers.PASSWORD, servers.ADMIN_PASSWORD, "wrong-secret")

POSTGRES = """
CREATE SCHEMA other;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN small AS numeric(5, 0);
CREATE TABLE "Notes" (
    id int PRIMARY KEY, "createdAt" timestamptz, body text, tags text[], raw bytea, day date, price numeric(12, 2),
    wide numeric(30, 0), data jsonb, span interval, flag boolean, cost money, m mood, s small, clock time
);
CREATE TABLE other."Notes" (x int);
CREATE TABLE other.link (note int REFERENCES "Notes" (id));
CREATE VIEW short AS SELECT id, body FROM "Notes";
CREATE VIEW slow AS SELECT pg_sleep(10)::text AS x;
CREATE TABLE hidden (x int);
CREATE TABLE part (id int, x int) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
COMMENT ON TABLE "Notes" IS 'all notes';
COMMENT ON COLUMN "Notes".body IS 'the text';
INSERT INTO part VALUES (2, 20), (1, 10);
INSERT INTO "Notes" VALUES
    (2, 'infinity', '', NULL, NULL, 'infinity', NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL),
    (1, '2024-01-01 10:00+02', E'a "q", b\\nx\\\\.', '{a,"b,c"}', '\\x00ff', '2024-01-01', 1.50,
     123456789012345678901234567890, '{"a": 1}', '1 day', true, 12.5, 'ok', 7, '10:00'),
    (3, NULL, NULL, '{}', NULL, '0044-03-15 BC', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""


@pytest.fixture(scope="module")
def postgres(postgres_server: servers.Server) -> Iterator[tuple[ServerSource, Any]]:
    import psycopg
    from psycopg import sql

    with psycopg.connect(postgres_server.url("postgres", "admin", servers.ADMIN_PASSWORD), autocommit=True) as c:
        c.execute("CREATE DATABASE shop")
        c.execute(sql.SQL("CREATE USER reader PASSWORD {}").format(servers.PASSWORD))
    with psycopg.connect(postgres_server.url("shop", "admin", servers.ADMIN_PASSWORD), autocommit=True) as admin:
        admin.execute(POSTGRES)
        admin.execute(
            "GRANT USAGE ON SCHEMA other TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA public, other TO reader"
        )
        admin.execute("REVOKE ALL ON hidden FROM reader")
        yield open_source(postgres_server.url("shop", "reader", servers.PASSWORD)), admin  # type: ignore[misc]


def test_postgres_boxes(postgres: tuple[ServerSource, Any]) -> None:
    source, _ = postgres
    boxes = {b.name: b for b in source.boxes().boxes}
    assert set(boxes) == {"Notes", "short", "slow", "part", "other_Notes", "link"}
    notes = boxes["Notes"]
    assert (notes.about, notes.keys, notes.rows) == ("all notes", ("id",), 3)
    assert " ".join(c.dtype for c in notes.columns) == (
        "integer datetime text list text date number number text text boolean number text integer text"
    )
    assert notes.columns[2].about == "the text"
    assert notes.columns[4].samples == ("(binary, 2 bytes)",)
    assert notes.columns[12].about == "one of 'sad', 'ok'"
    assert notes.column("createdAt") is not None
    (key,) = source.boxes().foreign_keys
    assert (key.box, key.field, key.to_box, key.to_field) == ("link", "note", "Notes", "id")
    (left,) = source.boxes().left_out
    assert left.startswith("public.slow is shown without samples")
    assert source.dialect == "postgres"


def test_postgres_load(postgres: tuple[ServerSource, Any]) -> None:
    source, _ = postgres
    first, second, third = source.load("Notes").to_pylist()
    assert first == {
        "id": 1,
        "createdAt": dt.datetime(2024, 1, 1, 8),
        "body": 'a "q", b\nx\\.',
        "tags": ["a", "b,c"],
        "raw": "00ff",
        "day": dt.date(2024, 1, 1),
        "price": 1.5,
        "wide": 123456789012345678901234567890.0,
        "data": '{"a": 1}',
        "span": "1 day",
        "flag": True,
        "cost": 12.5,
        "m": "ok",
        "s": 7,
        "clock": "10:00:00",
    }
    assert (second["body"], second["day"], second["flag"]) == ("", None, False)
    assert (third["body"], third["tags"], third["flag"]) == (None, [], None)
    assert source.load("Notes", ["body"]).column(0).to_pylist() == ['a "q", b\nx\\.', "", None]
    assert source.load("part", ["x"], 1).num_rows == 1
    assert [f.type for f in source.load("link").schema] == [cells.arrow_type("integer")]


def test_postgres_written(postgres: tuple[ServerSource, Any]) -> None:
    source, _ = postgres
    assert source.written("Notes", ["id", "day", "price", "wide"], [2, 0]).to_pylist() == [
        {"id": "3", "day": "0044-03-15 BC", "price": None, "wide": None},
        {"id": "1", "day": "2024-01-01", "price": "1.50", "wide": "123456789012345678901234567890"},
    ]
    assert sorted(source.distinct("Notes", "body", 9)) == ["", 'a "q", b\nx\\.']


POSTGRES_SELECTS = [
    ("select createdat from notes where id = 1", [dt.datetime(2024, 1, 1, 8)]),
    ('select "createdAt" from "Notes" order by id', ["2024-01-01 08:00:00", "infinity", None]),
    ("select sum(id) from notes", [6]),
    ("select avg(price) from notes", [1.5]),
    ("select count(*) from other.notes", [0]),
    ("select x from other_notes", []),
    ("select to_char(createdat, 'YYYY-MM') from notes where data->>'a' = '1'", ["2024-01"]),
    ("select tags[1] from notes where body ~ 'q'", ["a"]),
    ("select id from notes where body like '%q%' -- 100 %s %(x)s", [1]),
    ("select wide from notes where id = 1", ["123456789012345678901234567890"]),
    ("select percentile_cont(0.5) within group (order by id) from notes", [2.0]),
    ("select distinct on (flag) id from notes order by flag, id", [2, 1, 3]),
    ("select extract(year from day) from notes where id = 1", [2024]),
    ("select count(*) filter (where flag) from notes", [1]),
    ("with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select n from r", [1, 2, 3]),
]


@pytest.mark.parametrize(("statement", "expected"), POSTGRES_SELECTS)
def test_postgres_select(postgres: tuple[ServerSource, Any], statement: str, expected: list[object]) -> None:
    assert postgres[0].select(statement, 10, 5.0).column(0).to_pylist() == expected


def test_postgres_tells_the_model_what_is_wrong(postgres: tuple[ServerSource, Any]) -> None:
    with pytest.raises(ReplyError, match="could not run the statement: division by zero"):
        postgres[0].select("select 1 / (id - id) from notes", 10, 5.0)
    with pytest.raises(ReplyError, match="No table 'hidden'"):
        postgres[0].select("select * from hidden", 10, 5.0)


def test_postgres_fingerprint(postgres: tuple[ServerSource, Any]) -> None:
    source, admin = postgres
    before = source.fingerprint()
    assert source.fingerprint() == before
    admin.execute("UPDATE part SET x = 30 WHERE id = 2")
    assert source.fingerprint() != before
    assert source.select("select x from part where id = 2", 1, 5.0).column(0).to_pylist() == [30]


MYSQL = """
CREATE TABLE customer (
    id int PRIMARY KEY, name varchar(50) COMMENT 'full name', day date, moment timestamp NULL, price decimal(10, 2),
    b bit(1), e enum('x', 'y'), raw blob, y year, clock time, big bigint unsigned, j json, p point, s set('a', 'b')
) COMMENT 'buyers' CHARSET utf8mb4;
CREATE TABLE `order` (id int PRIMARY KEY, `group` text, customer int, FOREIGN KEY (customer) REFERENCES customer (id));
CREATE VIEW short AS SELECT id, name FROM customer;
CREATE SEQUENCE numbers;
SET sql_mode = '';
INSERT INTO customer VALUES
    (2, 'Bob', '0000-00-00', NULL, NULL, b'0', 'y', NULL, NULL, NULL, 1, NULL, NULL, NULL),
    (1, 'Ann é', '2024-01-01', '2024-01-01 10:00:00', 1.5, b'1', 'x', x'00ff', 2024, '10:00:00', 18446744073709551615,
     '{"a": 1}', point(1, 2), 'a,b');
INSERT INTO `order` VALUES (1, 'a', 1), (2, 'b', 2);
COMMIT
"""


@pytest.fixture(scope="module")
def mariadb(mariadb_server: servers.Server) -> Iterator[tuple[ServerSource, Any]]:
    import pymysql

    password = servers.ADMIN_PASSWORD
    with pymysql.connect(host="127.0.0.1", port=mariadb_server.port, user="root", password=password) as admin:
        with admin.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE USER reader IDENTIFIED BY %s", [servers.PASSWORD])
            cursor.execute("GRANT SELECT ON shop.* TO reader")
            cursor.execute("USE shop")
            for statement in MYSQL.split(";\n"):
                cursor.execute(statement)
        yield open_source(mariadb_server.url("shop", "reader", servers.PASSWORD)), admin  # type: ignore[misc]


def test_mariadb_boxes(mariadb: tuple[ServerSource, Any]) -> None:
    source, _ = mariadb
    boxes = {b.name: b for b in source.boxes().boxes}
    assert set(boxes) == {"customer", "order", "short"}
    customer = boxes["customer"]
    assert (customer.about, customer.keys, customer.rows) == ("buyers", ("id",), 2)
    assert " ".join(c.dtype for c in customer.columns) == (
        "integer text date datetime number boolean text text integer text integer text text text"
    )
    assert (customer.columns[1].about, customer.columns[6].about) == ("full name", "one of 'x','y'")
    (key,) = source.boxes().foreign_keys
    assert (key.box, key.field, key.to_box, key.to_field) == ("order", "customer", "customer", "id")


def test_mariadb_load_and_written(mariadb: tuple[ServerSource, Any]) -> None:
    source, _ = mariadb
    first, second = source.load("customer").to_pylist()
    assert first == {
        "id": 1,
        "name": "Ann é",
        "day": dt.date(2024, 1, 1),
        "moment": dt.datetime(2024, 1, 1, 10),
        "price": 1.5,
        "b": True,
        "e": "x",
        "raw": "00ff",
        "y": 2024,
        "clock": "10:00:00",
        "big": "18446744073709551615",
        "j": '{"a": 1}',
        "p": "POINT(1 2)",
        "s": "a,b",
    }
    assert (second["day"], second["b"]) == (None, False)
    assert source.load("order", ["group"], 1).to_pydict() == {"group": ["a"]}
    assert source.written("customer", ["id", "day", "price"], [1, 0]).to_pylist() == [
        {"id": "2", "day": "0000-00-00", "price": None},
        {"id": "1", "day": "2024-01-01", "price": "1.50"},
    ]
    assert source.distinct("customer", "e", 5) == ["x", "y"]


MYSQL_SELECTS = [
    ("select name from Customer order by id", ["Ann é", "Bob"]),
    ("select group from order order by id", ["a", "b"]),
    ("select sum(id) from customer", [3]),
    ('select name from customer where name = "Ann é"', ["Ann é"]),
    ("select name from customer where name regexp '^A'", ["Ann é"]),
    ("select b from customer order by id", [1, 0]),
    ("select year(day) from shop.customer where id = 1", [2024]),
    ("select group_concat(name order by id separator ';') from customer", ["Ann é;Bob"]),
    ("select 'it''s \\'x\\' \\\\'", ["it's 'x' \\"]),
    ("select date_format(day, '%Y-%m') from customer where id = 1", ["2024-01"]),
    ("select timestampdiff(day, day, '2024-01-03') from customer where id = 1", [2]),
    ("select id from customer order by id limit 1, 1", [2]),
]


@pytest.mark.parametrize(("statement", "expected"), MYSQL_SELECTS)
def test_mariadb_select(mariadb: tuple[ServerSource, Any], statement: str, expected: list[object]) -> None:
    assert mariadb[0].select(statement, 10, 5.0).column(0).to_pylist() == expected


def test_mariadb_fingerprint(mariadb: tuple[ServerSource, Any]) -> None:
    source, admin = mariadb
    before = source.fingerprint()
    assert source.fingerprint() == before
    with admin.cursor() as cursor:
        cursor.execute("UPDATE `order` SET customer = 1 WHERE id = 2")
        assert source.fingerprint() == before  # not committed, not to be seen
        admin.commit()
    assert source.fingerprint() != before


def test_too_big_to_load(postgres: tuple[ServerSource, Any], mariadb: tuple[ServerSource, Any]) -> None:
    for (source, _), box in ((postgres, "Notes"), (mariadb, "customer")):
        small = ServerSource(source._engine._url, source._engine, load_bytes=4)  # type: ignore[attr-defined]
        with pytest.raises(SourceError, match=f"Table '{box}' is too big to load"):
            small.load(box)


# what goes wrong, and that no password is ever in it


def _told(url: str) -> tuple[type[BaseException], str]:
    try:
        open_source(url)
    except (SourceError, SourceUnavailable) as error:
        told = "".join(traceback.format_exception(error)) + repr(error)
        assert not any(secret in told for secret in SECRETS)
        return type(error), str(error)
    raise AssertionError("it opened")


@pytest.mark.usefixtures("postgres", "mariadb")
def test_refused_and_unreachable(postgres_server: servers.Server, mariadb_server: servers.Server) -> None:
    for server in (postgres_server, mariadb_server):
        assert _told(server.url("shop", "reader", "wrong-secret"))[1].endswith("refused the user or the password.")
        kind, text = _told(server.url("nowhere", server.admin_user, servers.ADMIN_PASSWORD))
        assert (kind, "there is no database 'nowhere'" in text) == (SourceError, True)
        kind, text = _told(f"{server.scheme}://reader:wrong-secret@127.0.0.1:1/shop")
        assert (kind, "cannot be reached" in text) == (SourceUnavailable, True)
    kind, text = _told(mariadb_server.url("shop", "reader", "wrong-secret") + "?evil=wrong-secret")
    assert (kind, "the options evil are not known" in text) == (SourceError, True)


def test_no_password_in_what_a_source_shows(postgres: Any, mariadb: Any, postgres_server: servers.Server) -> None:
    assert postgres[0].name == f"postgresql://reader:***@127.0.0.1:{postgres_server.port}/shop"
    for source in (postgres[0], mariadb[0]):
        shown = [source.name, repr(source), repr(vars(source)), source.fingerprint(), repr(source.boxes())]
        shown.append(repr(vars(source._engine)))
        assert not any(secret in text for secret in SECRETS for text in shown)


def test_a_server_that_goes_away_and_comes_back() -> None:
    if reason := servers.missing_server("postgres"):
        pytest.skip(reason)
    with servers.postgres() as server:
        source = open_source(server.url("postgres", "admin", servers.ADMIN_PASSWORD))
        server.stop()
        for attempt in (lambda: source.select("SELECT 1", 1, 5.0), source.fingerprint):
            with pytest.raises(SourceUnavailable, match="cannot be reached") as caught:
                attempt()
            assert servers.ADMIN_PASSWORD not in str(caught.value)


URLS = [
    ("postgresql://ann:p%40s@h/d", "h", 5432, "d", "ann", "p@s"),
    ("postgres://ann:p@s/w@h:99/d?sslmode=require", "h", 99, "d", "ann", "p@s/w"),
    ("mysql://h/d", "h", 3306, "d", "", ""),
    ("mariadb://ann@[::1]:1/d", "::1", 1, "d", "ann", ""),
    ("postgresql:///d", "localhost", 5432, "d", "", ""),
]


@pytest.mark.parametrize(("text", "host", "port", "database", "user", "password"), URLS)
def test_urls(text: str, host: str, port: int, database: str, user: str, password: str) -> None:
    url = parse_url(text)
    assert (url.host, url.port, url.database, url.user, url.password) == (host, port, database, user, password)
    assert not password or (password not in str(url) and password not in repr(url) and ":***@" in str(url))


def test_a_url_that_cannot_be_read() -> None:
    with pytest.raises(SourceError, match="should look like postgresql://user:password@host/name"):
        open_source("postgresql://ann:wrong-secret@h h/x/y z@")
