# ruff: noqa: E501  a table reads best with one case a line
"""From what pandas holds to what the caller gets: every kind of answer, there and back."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rowhop.sandbox import Limits, Run, Sandbox, values, wire
from rowhop.types import Program

ORDERS = pa.table(
    {
        "name": ["Ann", "Bob", None],
        "n": [1, None, 3],
        "big": [12345678901234567, None, 3],
        "price": [1.5, 2.0, None],
        "paid": [True, None, False],
        "day": pa.array([dt.date(2024, 1, 5), None, dt.date(2023, 2, 1)]),
        "at": pa.array([dt.datetime(2024, 1, 5, 10, 30), None, dt.datetime(2023, 2, 1)], pa.timestamp("us")),
        "tags": [["a", "b"], [], None],
        "money": pa.array(["1.10", "2.20", None]).cast(pa.decimal128(10, 2)),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def run(sandbox: Sandbox, code: str, limits: Limits = Limits()) -> Run:
    return sandbox.run(Program("python", code), {"orders": ORDERS}, limits)


SCALARS: tuple[tuple[str, object], ...] = (
    ("1", 1),
    ("orders.n.sum()", 4),
    ("orders.big.max()", 12345678901234567),
    ("orders.price.mean()", 1.75),
    ("np.float64('nan')", None),
    ("float('inf')", None),
    ("pd.NaT", None),
    ("pd.NA", None),
    ("np.bool_(True)", True),
    ("np.int64(7)", 7),
    ("2 ** 80", 2**80),
    ("'x'", "x"),
    ("b'caf\\xc3\\xa9'", "café"),
    ("orders.day.max()", "2024-01-05"),
    ("orders['at'].max()", "2024-01-05T10:30:00"),
    ("orders.money.sum()", 3.3000000000000003),
    ("__import__('decimal').Decimal('1.5')", 1.5),
    ("__import__('datetime').date(2024, 1, 5)", "2024-01-05"),
    ("__import__('datetime').time(9, 30)", "09:30:00"),
    ("pd.Timestamp('2024-01-05 10:00', tz='Europe/Paris')", "2024-01-05T10:00:00+01:00"),
    ("pd.Period('2024-01')", "2024-01"),
    ("pd.Timedelta('2 days')", "2 days 00:00:00"),
    ("np.datetime64('2024-01-05')", "2024-01-05"),
    ("complex(1, 2)", "(1+2j)"),
    ("np.array(5)", 5),
    ("'a' in orders.tags[0]", True),
)


@pytest.mark.parametrize(("expression", "value"), SCALARS, ids=[s[0] for s in SCALARS])
def test_a_scalar(sandbox: Sandbox, expression: str, value: object) -> None:
    result = run(sandbox, f"answer = {expression}")
    assert (result.status, result.shape, result.error) == ("ok", "scalar", "")
    assert result.values == (value,)
    assert type(result.values[0]) is type(value)


LISTS: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("[1, 'x', None, 2.5]", (1, "x", None, 2.5)),
    ("(1, 2)", (1, 2)),
    ("{'b', 'a'}", ("a", "b")),
    ("orders.name.tolist()", ("Ann", "Bob", None)),
    ("orders.n.tolist()", (1, None, 3)),
    ("orders.name.unique()", ("Ann", "Bob", None)),
    ("np.array([1, 2])", (1, 2)),
    ("pd.Index(['a', 'b'])", ("a", "b")),
    ("orders.price.values", (1.5, 2.0, None)),
    ("range(3)", (0, 1, 2)),
    ("(x for x in 'ab')", ("a", "b")),
    ("{'a': 1}.keys()", ("a",)),
    ("[]", ()),
    ("[[1, 2], [3]]", ("[1, 2]", "[3]")),
    ("pd.to_datetime(['2024-01-05', None])", ("2024-01-05", None)),
    ("orders.kind.unique()", ("x", "y")),
)


@pytest.mark.parametrize(("expression", "value"), LISTS, ids=[s[0] for s in LISTS])
def test_a_list(sandbox: Sandbox, expression: str, value: tuple[object, ...]) -> None:
    result = run(sandbox, f"answer = {expression}")
    assert (result.status, result.shape, result.error) == ("ok", "list", "")
    assert result.values == value


TABLES: tuple[tuple[str, str, dict[str, list[Any]]], ...] = (
    ("orders[['name', 'n']].head(2)", "frame", {"name": ["Ann", "Bob"], "n": [1, None]}),
    ("orders[orders.n > 1][['name', 'n']]", "frame", {"name": [None], "n": [3]}),
    ("orders.groupby('kind').n.sum()", "series", {"kind": ["x", "y"], "n": [4, 0]}),
    ("orders.groupby('kind')[['n']].sum()", "frame", {"kind": ["x", "y"], "n": [4, 0]}),
    ("orders.groupby(['kind', 'name']).size()", "series", {"kind": ["x", "y"], "name": ["Ann", "Bob"], "answer": [1, 1]}),
    ("orders.groupby('kind').agg({'n': ['min', 'max']})", "frame", {"kind": ["x", "y"], "n min": [1, None], "n max": [3, None]}),
    ("orders.kind.value_counts()", "series", {"kind": ["x", "y"], "count": [2, 1]}),
    ("orders.sort_values('n', ascending=False).n", "series", {"n": [3, 1, None]}),
    ("orders.loc[0, ['name', 'n']]", "series", {"name": ["Ann"], "n": [1]}),
    ("orders[['name', 'n']].iloc[0]", "series", {"name": ["Ann"], "n": [1]}),
    ("orders[['n', 'price']].sum()", "series", {"index": ["n", "price"], "answer": [4.0, 3.5]}),
    ("orders[['day', 'at']].head(1)", "frame", {"day": [dt.date(2024, 1, 5)], "at": [dt.datetime(2024, 1, 5, 10, 30)]}),
    ("orders[['paid', 'kind']]", "frame", {"paid": [True, None, False], "kind": ["x", "y", "x"]}),
    ("orders[['tags']].head(1)", "frame", {"tags": ['["a", "b"]']}),
    ("{'Rome': 2, 'Oslo': 1}", "series", {"key": ["Rome", "Oslo"], "value": [2, 1]}),
    ("{'city': ['Rome', 'Oslo'], 'n': [1, 2]}", "frame", {"city": ["Rome", "Oslo"], "n": [1, 2]}),
    ("[('Rome', 2), ('Oslo', 1)]", "frame", {"0": ["Rome", "Oslo"], "1": [2, 1]}),
    ("[{'a': 1, 'b': 'x'}, {'a': 2}]", "frame", {"a": [1, 2], "b": ["x", None]}),
    ("np.array([[1, 2], [3, 4]])", "frame", {"0": [1, 3], "1": [2, 4]}),
    ("pd.DataFrame({'a': [1, 'x', None]})", "frame", {"a": ["1", "x", None]}),
    ("pd.DataFrame({'a': [2 ** 70, 1]})", "frame", {"a": [str(2**70), "1"]}),
    ("orders[['name']].assign(name2=1).set_axis(['x', 'x'], axis=1).head(1)", "frame", {"x": [1]}),
    ("orders[orders.n > 99][['name']]", "frame", {"name": []}),
    ("pd.Series([1, 2], index=pd.period_range('2024-01', periods=2, freq='M'), name='n')", "series",
     {"index": ["2024-01", "2024-02"], "n": [1, 2]}),
    ("orders.set_index('name')[['n']].head(1)", "frame", {"name": ["Ann"], "n": [1]}),
)  # fmt: skip


@pytest.mark.parametrize(("expression", "shape", "columns"), TABLES, ids=[t[0] for t in TABLES])
def test_a_table(sandbox: Sandbox, expression: str, shape: str, columns: dict[str, list[Any]]) -> None:
    result = run(sandbox, f"answer = {expression}")
    assert (result.status, result.shape, result.error) == ("ok", shape, "")
    assert result.table is not None
    assert {n: c.to_pylist() for n, c in zip(result.table.column_names, result.table.columns, strict=True)} == columns


REFUSED = (
    ("answer = orders.groupby('name')", "`answer` holds a DataFrameGroupBy, which is not a value, list, Series or DataFrame."),
    ("answer = len", "`answer` holds a builtin_function_or_method, which is not a value, list, Series or DataFrame."),
    ("answer = pd", "`answer` holds a module, which is not a value, list, Series or DataFrame."),
    ("x = 1", "The program did not set `answer`."),
    ("print('x')", "The program did not set `answer`."),
    ("", "The program did not set `answer`."),
    ("answer = orders['Nmae']", "KeyError: 'Nmae' (line 1). Nearest columns: 'name'"),
    ("x = 1\nanswer = orders[['Name', 'n']]", "KeyError: \"['Name'] not in index\" (line 2). Nearest columns: 'name'"),
    ("answer = orders.pirce.sum()", "AttributeError: 'DataFrame' object has no attribute 'pirce' (line 1). Nearest columns: 'price'"),
    ("answer = order.n.sum()", "NameError: name 'order' is not defined (line 1). Nearest names: orders"),
    ("answer = orders.sort_values('Price')", "KeyError: 'Price' (line 1). Nearest columns: 'price'"),
    ("answer = (", "SyntaxError: '(' was never closed (line 1): answer = ("),
    ("def f():\n    return 1 / 0\nanswer = f()", "ZeroDivisionError: division by zero (line 2)"),
    ("import sys; sys.exit(3)", "SystemExit: 3 (line 1)"),
)  # fmt: skip


@pytest.mark.parametrize(("code", "words"), REFUSED, ids=[r[0] for r in REFUSED])
def test_an_error_is_said_to_the_model(sandbox: Sandbox, code: str, words: str) -> None:
    result = run(sandbox, code)
    assert result.status == "error"
    assert result.error == words
    assert result.line == (int(words.split("(line ")[1].split(")")[0]) if "(line" in words else 0)


IMPORTS = (
    "import datetime\nanswer = str(datetime.date(2024, 1, 1))",
    "from datetime import datetime\nanswer = str(datetime(2024, 1, 1).date())",
    "import re, math, statistics, collections, itertools, json, decimal, functools, operator, string, random\n"
    "answer = '2024-01-01'",
    "from dateutil import parser\nanswer = str(parser.parse('1 January 2024').date())",
    "import numpy as np\nimport pandas as pd\nanswer = '2024-01-01'",
    "import calendar, textwrap, difflib, unicodedata, zoneinfo\nanswer = '2024-01-01'",
    "from zoneinfo import ZoneInfo\nanswer = str(pd.Timestamp('2024-01-01', tz=ZoneInfo('Asia/Tokyo')).date())",
    "answer = str(pd.to_datetime(pd.Series(['1 Jan 2024']), format='mixed').dt.date[0])",
    "answer = str(pd.Series(pd.to_datetime(['2024-01-01'])).dt.tz_localize('UTC').dt.tz_convert('Asia/Tokyo').dt.date[0])",
)


@pytest.mark.parametrize("code", IMPORTS)
def test_the_usual_imports_work(sandbox: Sandbox, code: str) -> None:
    assert run(sandbox, code).values == ("2024-01-01",)


def test_a_frame_can_be_written_to_and_the_next_run_sees_none_of_it(sandbox: Sandbox) -> None:
    code = "orders.loc[0, 'price'] = 100.0\norders['n'] = 5\norders.price.values\nanswer = orders.price.sum()"
    assert run(sandbox, code).values == (102.0,)
    assert run(sandbox, "answer = orders.price.sum()").values == (3.5,)


ANY_COLUMN = (
    pa.array(["a", None], pa.large_string()),
    pa.array([b"a", None]),
    pa.nulls(2),
    pa.array([2**64 - 1, 1], pa.uint64()),
    pa.array([1.5, None], pa.float32()).cast(pa.float16()),
    pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("us", "Europe/Paris")),
    pa.array([dt.datetime(1500, 1, 1), None], pa.timestamp("s")),
    pa.array([dt.time(1), None], pa.time64("us")),
    pa.array([dt.timedelta(1), None]),
    pa.array([{"a": 1}, None]),
    pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    pa.array(["1.1", None]).cast(pa.decimal256(40, 1)),
    pa.array([True, False]),
)


@pytest.mark.parametrize("column", ANY_COLUMN, ids=[str(c.type) for c in ANY_COLUMN])
def test_a_column_of_any_type_goes_there_and_back(sandbox: Sandbox, column: pa.Array) -> None:
    table = pa.table({"x": column})
    for program in (Program("python", "answer = box"), Program("sql", "SELECT * FROM box", "duckdb")):
        result = sandbox.run(program, {"box": table})
        assert result.error == ""
        assert result.table is not None
        assert result.table.column("x").null_count == column.null_count
        assert result.rows == {"box": (0, 1)}


def test_a_hostile_column_name_is_only_a_name(sandbox: Sandbox) -> None:
    name = "]\nimport os; os.remove('/tmp/poc') # {0} $x \"\n["
    table = pa.table({name: [1]})
    assert sandbox.run(Program("python", "answer = box.columns.tolist()"), {"box": table}).values == (name,)
    selected = sandbox.run(Program("sql", "SELECT * FROM box", "duckdb"), {"box": table}).table
    assert selected is not None
    assert selected.column_names == [name]


def test_tables_of_every_form(sandbox: Sandbox) -> None:
    """Empty, sliced, in several pieces, with the same name twice."""
    code = Program("python", "answer = box")
    empty = sandbox.run(code, {"box": pa.table({"a": pa.array([], pa.int64())})}).table
    sliced = sandbox.run(code, {"box": pa.table({"a": [1, 2, 3]}).slice(1, 1)}).table
    pieces = sandbox.run(code, {"box": pa.concat_tables([pa.table({"a": [1]}), pa.table({"a": [2]})])}).table
    twice = sandbox.run(code, {"box": pa.table([[1], [2]], names=["a", "a"])}).table
    assert [t is not None and [c.to_pylist() for c in t.columns] for t in (empty, sliced, pieces, twice)] == [
        [[]],
        [[2]],
        [[1, 2]],
        [[1], [2]],
    ]


def test_output_is_capped(sandbox: Sandbox) -> None:
    result = run(sandbox, "print('x' * 1000)\nanswer = 1", Limits(output_bytes=100))
    assert result.output == "x" * 100
    assert run(sandbox, "import sys\nprint('a')\nprint('b', file=sys.stderr)\nanswer = 1").output == "a\nb\n"


def test_pandas_warnings_come_back(sandbox: Sandbox) -> None:
    result = run(sandbox, "orders['name'][0] = 'x'\nanswer = orders.name[0]")
    assert result.values == ("Ann",)
    assert result.warnings[0].startswith("python: ChainedAssignmentError: ")
    assert result.warnings[0].endswith("(line 1)")
    chained = run(sandbox, "orders['name'].fillna('z', inplace=True)\nanswer = orders.name.tolist()")
    assert chained.values == ("Ann", "Bob", None)
    assert "ChainedAssignmentError" in chained.warnings[0]


def test_the_last_line_counts_where_nothing_was_set(sandbox: Sandbox) -> None:
    result = run(sandbox, "x = orders.n.sum()\nx + 1")
    assert result.values == (5,)
    assert result.warnings == ("no_answer: the program did not set `answer`; the value of its last line was taken",)


def test_a_program_may_test_for_main(sandbox: Sandbox) -> None:
    assert run(sandbox, "def main():\n    return 7\nif __name__ == '__main__':\n    answer = main()").values == (7,)


SELECTS = (
    ("SELECT name, n FROM orders WHERE n > 1", {"name": [None], "n": [3]}),
    ("SELECT sum(n) AS s, avg(price) AS a FROM orders", {"s": [4], "a": [1.75]}),
    ("SELECT sum(big) AS s FROM orders", {"s": [12345678901234570]}),
    ('SELECT day, "at" FROM orders LIMIT 1', {"day": [dt.date(2024, 1, 5)], "at": [dt.datetime(2024, 1, 5, 10, 30)]}),
    ("SELECT sum(money) AS m FROM orders", {"m": [3.3]}),
    ("SELECT paid, tags FROM orders LIMIT 1", {"paid": [True], "tags": ['["a", "b"]']}),
    ("SELECT kind, count(*) AS c FROM orders GROUP BY kind ORDER BY 1", {"kind": ["x", "y"], "c": [2, 1]}),
    ("SELECT name FROM orders WHERE false", {"name": []}),
    ("SELECT {'a': 1} AS s, DATE '2024-01-05' - DATE '2024-01-01' AS d", {"s": ['{"a": 1}'], "d": [4]}),
    ("SELECT TIME '09:30' AS t, INTERVAL 2 DAY AS i", {"t": ["09:30:00"], "i": ["2 days, 0:00:00"]}),
)


@pytest.mark.parametrize(("sql", "columns"), SELECTS, ids=[s[0] for s in SELECTS])
def test_a_select(sandbox: Sandbox, sql: str, columns: dict[str, list[Any]]) -> None:
    result = sandbox.run(Program("sql", sql, "duckdb"), {"orders": ORDERS})
    assert (result.status, result.shape, result.error) == ("ok", "frame", "")
    assert result.table is not None
    assert result.table.to_pydict() == columns


def test_a_misspelt_table(sandbox: Sandbox) -> None:
    result = sandbox.run(Program("sql", "SELECT * FROM order_", "duckdb"), {"orders": ORDERS})
    assert result.error == "Catalog Error: Table with name order_ does not exist! The tables are: orders"


def test_a_select_that_fails_says_what_there_is(sandbox: Sandbox) -> None:
    result = sandbox.run(Program("sql", "SELECT\n nmae FROM orders", "duckdb"), {"orders": ORDERS})
    assert result.status == "error"
    assert '"nmae" not found' in result.error
    assert '"name"' in result.error


# -- anything pandas can hold survives the way, or is refused in words

plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
    st.times(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(max_size=4),
    st.lists(st.integers(), max_size=3),
)
frames = st.dictionaries(st.text(max_size=4), st.lists(plain, min_size=3, max_size=3), min_size=1, max_size=4)


def through(answer: Any) -> Run:
    """The child's half and the parent's half, without the processes between them."""
    message = {"status": "ok", **values.to_message(answer, lambda _: False)}
    return wire.read_run(json.loads(json.dumps(message, allow_nan=False)), Limits())


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(plain, max_size=6))
def test_any_list_comes_through(answer: list[Any]) -> None:
    result = through(answer)
    if result.shape == "list":
        assert len(result.values) == len(answer)
        for got, given_ in zip(result.values, answer, strict=True):
            if isinstance(given_, (bool, int, str)) or given_ is None:
                assert got == given_ or "\ud800" <= max(str(given_), default="") <= "\udfff"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(frames)
def test_any_frame_comes_through(columns: dict[str, list[Any]]) -> None:
    result = through(pd.DataFrame(columns))
    assert result.table is not None
    assert result.table.num_columns == len(columns)
    assert result.table.num_rows == 3
    for cells, column in zip(columns.values(), result.table.columns, strict=True):
        missing = [
            c is None or (isinstance(c, float) and (c != c or c in (float("inf"), float("-inf")))) for c in cells
        ]
        assert [v is None for v in column.to_pylist()] == missing


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(["status", "shape", "values", "columns", "error", "line", "output", "warnings", "peak_mb"])
statuses = st.sampled_from(["ok", "error", "scalar", "list", "frame", "series", "too_big"])


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(keys, statuses | json_like))
def test_a_forged_reply_is_read_or_refused(message: dict[str, Any]) -> None:
    try:
        result = wire.read_run(message, Limits())
        wire.read_rows(message, {"orders": 3})
    except wire.BadReply:
        return
    assert all(v is None or isinstance(v, (bool, int, float, str)) for v in result.values)
