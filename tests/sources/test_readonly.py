"""The check of a model's statement, without an engine: what it mends, what it notes, what it says to the model."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sqlite3
from pathlib import Path

import pytest

from rowhop.box import Box, BoxSet, Column
from rowhop.errors import ReplyError
from rowhop.sources.readonly import check_select


def box(name: str, *columns: str) -> Box:
    return Box(name, tuple(Column(c, "text") for c in columns), keys=columns[:1])


SHOP = BoxSet(
    (
        box("order", "id", "group", "select", "customer"),
        box("customer", "id", "name", "Country", "Net sales (€)"),
        box("时间", "id", "最早的时间"),
    )
)


def used(sql: str, dialect: str = "duckdb") -> dict[str, tuple[str, ...]]:
    return check_select(sql, dialect, SHOP).boxes_used


def message(sql: str, dialect: str = "duckdb") -> str:
    with pytest.raises(ReplyError) as caught:
        check_select(sql, dialect, SHOP)
    return str(caught.value)


MENDED = [
    ("select NAME from Customer", 'SELECT "name" FROM "customer"'),
    ("select `name` from customer", 'SELECT "name" FROM "customer"'),
    ('select "net sales (€)" from customer', 'SELECT "Net sales (€)" FROM "customer"'),
    ("select group from order", 'SELECT "group" FROM "order"'),
    ("select o.group from order o", 'SELECT o."group" FROM "order" AS o'),
    ("select customer.name from customer as c", 'SELECT c."name" FROM "customer" AS c'),
    ("select name from main.customer", 'SELECT "name" FROM "customer"'),
    ("select 最早的时间 from 时间", 'SELECT "最早的时间" FROM "时间"'),
    (
        'select name from customer where country = "France"',
        'SELECT "name" FROM "customer" WHERE "Country" = \'France\'',
    ),
    (
        'select id from customer where name in ("Ann", "")',
        'SELECT "id" FROM "customer" WHERE "name" IN (\'Ann\', \'\')',
    ),
    (
        "with A as (select name n from customer) select a.N from a",
        'WITH A AS (SELECT "name" AS n FROM "customer") SELECT A.n FROM A',
    ),
    ("select /*+ SET_VAR(x=1) */ 1 /* drop */ -- all", "SELECT 1"),
    ("from customer select name;", 'SELECT "name" FROM "customer"'),
]


@pytest.mark.parametrize(("sql", "expected"), MENDED)
def test_case_and_quoting_are_mended(sql: str, expected: str) -> None:
    assert check_select(sql, "duckdb", SHOP).sql == expected


USED = [
    ("select count(*) from customer", {"customer": ("id",)}),
    ("select * from customer", {"customer": ("*",)}),
    (
        'select c.*, o.id from customer c join "order" o on o.customer = c.id',
        {"customer": ("*",), "order": ("id", "customer")},
    ),
    (
        'select name from customer where id in (select customer from "order")',
        {"customer": ("id", "name"), "order": ("customer",)},
    ),
    (
        'select name from customer c where exists (select 1 from "order" where customer = c.id)',
        {"customer": ("id", "name"), "order": ("customer",)},
    ),
    ("select n from (select name as n, country from customer) t order by n", {"customer": ("name", "Country")}),
    ("select a.name from customer a join customer b using (id)", {"customer": ("id", "name")}),
    (
        'select id from customer union select customer from "order" order by id',
        {"customer": ("id",), "order": ("customer",)},
    ),
    (
        "select name, rank() over (partition by country order by id) from customer qualify rank() over () = 1",
        {"customer": ("id", "name", "Country")},
    ),
    (
        "with customer as (select * from customer where country = 'x') select name from customer",
        {"customer": ("*",)},
    ),
    (
        "with recursive r as (select id from customer union all select r.id from r) select * from r",
        {"customer": ("id",)},
    ),
    ("select 1", {}),
]


@pytest.mark.parametrize(("sql", "expected"), USED)
def test_the_columns_that_are_used(sql: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert used(sql) == expected


UNKNOWN = [
    (
        'select grup from "order"',
        "No column 'grup' in table 'order'. It has: id, group, select, customer. Did you mean 'group'?",
    ),
    (
        'select "grup" from "order"',
        "No column 'grup' in table 'order'. It has: id, group, select, customer. Did you mean 'group'?",
    ),
    ('select o.grup from "order" o', "Did you mean 'group'?"),
    ('select name from "order"', "'name' is a column of customer."),
    ("select x.name from customer c", "No table or alias 'x' in this part of the statement. It has: c."),
    ("select name from custmer", "No table 'custmer'. There are: order, customer, 时间. Did you mean 'customer'?"),
    ("select z from (select name from customer)", "No column 'z' in the subquery. It has: name."),
    ("select t.z from (select * from customer) t", "No column 'z' in subquery 't'."),
    ("select name from customer union select nme from customer", "Did you mean 'name'?"),
    ('select name from customer where name = "contry"', "Did you mean 'Country'?"),
    ('select nme, id from customer, "order"', "There are: customer: id, name"),
    ("select selec from", "Syntax error in DuckDB SQL at line 1"),
    ("select group_by(name) from customer", "Function group_by is not available here (DuckDB SQL)."),
    ("select julianday(name) from customer", "Use date_diff('day', a, b)."),
    ("", "There is no statement."),
    ("-- only a comment", "There is no statement."),
    ("select ':' || $1", "A parameter or variable is not allowed"),
    ("select " + "(" * 3000 + "1" + ")" * 3000, "nested too deeply"),
    ("select " + "1," * 20_000 + "1", "the most is 20,000"),
]


@pytest.mark.parametrize(("sql", "expected"), UNKNOWN, ids=[s[:40] for s, _ in UNKNOWN])
def test_what_the_model_is_told(sql: str, expected: str) -> None:
    assert expected in message(sql)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres"])
def test_a_misspelt_quoted_column_is_no_text(dialect: str) -> None:
    """SQLite itself answers 'grup' for every row."""
    assert "Did you mean 'group'?" in message('SELECT "grup" FROM "order"', dialect)


def test_a_mysql_text_in_double_quotes_is_a_text() -> None:
    assert "'grup'" in check_select('SELECT "grup" FROM `order`', "mysql", SHOP).sql


def test_columns_that_differ_in_case_alone() -> None:
    boxes = BoxSet((box("t", "Name", "name", "NAME"),))
    assert check_select('select "Name", "name", "NAME", t."Name" from t', "postgres", boxes).sql == (
        'SELECT "Name", "name", "NAME", "t"."Name" FROM "t"'
    )


def test_a_function_of_another_engine_is_named_with_what_there_is() -> None:
    assert "Use strftime('%Y', column)." in message("select year(name) from customer", "sqlite")


def test_messages_stay_short_for_wide_tables() -> None:
    wide = BoxSet((box("wide", *(f"column_{i}" for i in range(420))),))
    with pytest.raises(ReplyError) as caught:
        check_select("select colum_7 from wide", "duckdb", wide)
    assert len(str(caught.value)) < 900
    assert "and 380 more" in str(caught.value)


def test_broken_statements_are_refused_and_never_crash(capfd: pytest.CaptureFixture[str]) -> None:
    dice = random.Random(0)
    seeds = [re.findall(r"\w+|'[^']*'|\"[^\"]*\"|\S", sql) for sql, _ in (*MENDED, *USED, *UNKNOWN) if len(sql) < 200]
    seeds += [
        s.split()
        for s in ("WITH RECURSIVE r AS ( SELECT 1 ) RESET SELECT x", "SELECT date_add ( d ) , INTERVAL 1 day )")
    ]
    words = [word for seed in seeds for word in seed]
    for _ in range(150):
        broken = list(dice.choice(seeds))
        for _ in range(dice.randint(0, 3)):
            place = dice.randrange(len(broken) + 1)
            broken[place : place + dice.randint(0, 1)] = [dice.choice(words)]
        for dialect in ("sqlite", "duckdb", "postgres", "mysql"):
            with contextlib.suppress(ReplyError):
                check_select(" ".join(broken), dialect, SHOP)
    assert capfd.readouterr().err == ""


def test_gold_statements_of_spider_keep_their_meaning() -> None:
    folder = os.environ.get("ROWHOP_BENCH_DATA")
    if not folder:
        pytest.skip("needs benchmark data; ROWHOP_BENCH_DATA names their folder")
    questions = json.loads(Path(folder, "spider", "dev.json").read_text())
    databases: dict[str, tuple[sqlite3.Connection, BoxSet]] = {}
    checked = 0
    for database, sql in sorted({(q["db_id"], q["query"]) for q in questions}):
        if database not in databases:
            databases[database] = _opened(Path(folder, "spider", "database", database, f"{database}.sqlite"))
        connection, boxes = databases[database]
        try:
            gold = connection.execute(sql).fetchall()
        except sqlite3.Error:
            continue
        assert connection.execute(check_select(sql, "sqlite", boxes).sql).fetchall() == gold, sql
        checked += 1
    assert checked > 300


def _opened(file: Path) -> tuple[sqlite3.Connection, BoxSet]:
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    boxes = [box(n, *(c[1] for c in connection.execute(f'PRAGMA table_info("{n}")'))) for n in names]
    return connection, BoxSet(tuple(boxes))
