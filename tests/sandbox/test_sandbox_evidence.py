# ruff: noqa: E501  a table reads best with one program a line
"""Which rows an answer rests on, and what the run noticed on the way, for the shapes that programs take."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from rowhop.sandbox import Sandbox
from rowhop.types import Program

ORDERS = pa.table(
    {
        "id": [10, 11, 12, 13, 14, 15],
        "customer": ["ann", "bob", "ann", "cy", None, "bob"],
        "price": [5.0, 7.0, 9.0, 9.0, 1.0, 2.0],
        "day": ["2024-01-03", "2024-01-01", "2024-02-01", "2024-03-01", "2024-01-09", "2024-01-02"],
    }
)
CUSTOMERS = pa.table({"customer": ["ann", "bob", "dan"], "city": ["Rome", "Oslo", "Rome"]})
BOXES = {"orders": ORDERS, "customers": CUSTOMERS}
BOB, ANN = {"orders": (1, 5)}, {"orders": (0, 2)}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


SHAPES = (
    ("answer = orders[orders.customer == 'bob']['price']", BOB),
    ("answer = orders[orders.customer == 'bob'].price.sum()", BOB),
    ("answer = len(orders[orders.customer == 'bob'])", BOB),
    ("answer = orders[orders['customer'] == 'bob'].shape[0]", BOB),
    ("bobs = orders[orders.customer == 'bob']\ntotal = bobs.price.sum()\nanswer = round(float(total), 2)", BOB),
    ("answer = orders.loc[orders.customer == 'bob', 'price'].mean()", BOB),
    ("answer = orders.query('customer == \"bob\"').price.tolist()", BOB),
    ("answer = list(orders[orders.customer == 'bob'].id)", BOB),
    ("answer = f\"{orders[orders.customer == 'bob'].price.sum()} euros\"", BOB),
    ("x = orders.copy()\nx['double'] = x.price * 2\nanswer = x[x.customer == 'bob'].double.sum()", BOB),
    ("orders['double'] = orders.price * 2\nanswer = orders[orders.customer == 'bob'].double.max()", {"orders": (1,)}),
    ("answer = orders[orders.customer.isin(customers[customers.city == 'Oslo'].customer)].price.sum()", BOB),
    ("answer = orders[orders.customer.str.contains('bo', na=False)].id.iloc[0]", {"orders": (1,)}),
    ("answer = orders.sort_values('price').iloc[0]['customer']", {"orders": (4,)}),
    ("answer = orders.sort_values('price').head(2)[['id', 'price']]", {"orders": (4, 5)}),
    ("answer = orders.sort_values('price', ignore_index=True).head(1)", {"orders": (0, 1, 2, 3, 4, 5)}),
    ("orders.sort_values('price', inplace=True)\nanswer = orders.head(2).id.tolist()", {"orders": (4, 5)}),
    ("answer = orders.sort_values('day').reset_index(drop=True).loc[0, 'id']", {"orders": (1,)}),
    ("answer = orders.nsmallest(2, 'price').id.tolist()", {"orders": (4, 5)}),
    ("answer = orders.loc[orders.price.idxmin()]", {"orders": (4,)}),
    ("answer = orders.loc[orders.price.idxmin(), 'customer']", {"orders": (4,)}),
    ("i = orders['price'].idxmin()\nrow = orders.loc[i]\nanswer = row['day']", {"orders": (4,)}),
    ("answer = orders[orders.price == orders.price.max()].id.tolist()", {"orders": (2, 3)}),
    ("m = orders.price.max()\nanswer = orders[orders.price == m]['id'].values[0]", {"orders": (2,)}),
    ("answer = orders.price.max()", {"orders": (2, 3)}),
    ("answer = orders.price.mean()", {"orders": (0, 1, 2, 3, 4, 5)}),
    ("answer = orders.iloc[1:3]", {"orders": (1, 2)}),
    ("answer = orders.groupby('customer').price.sum()", {"orders": (0, 1, 2, 3, 5)}),
    ("answer = orders.groupby('customer').price.sum().idxmax()", ANN),
    ("g = orders.groupby('customer')['price'].sum()\nanswer = g.idxmax()", ANN),
    ("answer = orders.groupby('customer').price.sum().sort_values(ascending=False).head(1)", ANN),
    ("answer = orders.groupby('customer').price.sum().sort_values(ascending=False).index[0]", ANN),
    ("answer = orders.groupby('customer').price.sum().nlargest(1)", ANN),
    ("t = orders.groupby('customer').agg({'price': 'sum'}).reset_index()\n"
     "answer = t.sort_values('price', ascending=False).iloc[0]['customer']", ANN),
    ("t = orders.groupby('customer', as_index=False)['price'].sum()\n"
     "answer = t.loc[t['price'].idxmax(), 'customer']", ANN),
    ("t = orders.groupby(['customer', 'day']).agg(n=('id', 'count'))\nanswer = t.head(1)", {"orders": (0,)}),
    ("t = orders.groupby('customer').size()\nanswer = t[t > 1].index.tolist()", {"orders": (0, 1, 2, 5)}),
    ("answer = orders.groupby('customer').size()['bob']", BOB),
    ("answer = orders.groupby('customer').head(1).id.tolist()", {"orders": (0, 1, 3)}),
    ("answer = orders.groupby('customer').get_group('bob').price.sum()", BOB),
    ("answer = orders.customer.value_counts()['bob']", BOB),
    ("answer = orders.customer.value_counts().head(1)", ANN),
    ("answer = orders.customer.unique().tolist()", {"orders": (0, 1, 2, 3, 4, 5)}),
    ("m = orders.merge(customers, on='customer')\nanswer = m[m.city == 'Oslo'].price.sum()",
     {"orders": (1, 5), "customers": (1,)}),
    ("m = pd.merge(orders, customers, on='customer', how='left')\nanswer = m[m.city.isna()].id.tolist()",
     {"orders": (3, 4)}),
    ("m = orders.merge(customers, on='customer')\nanswer = m.groupby('city').price.sum().idxmax()",
     {"orders": (0, 2), "customers": (0,)}),
    ("a = orders[orders.customer == 'ann'].price.sum()\nb = orders[orders.customer == 'bob'].price.sum()\n"
     "answer = a - b", {"orders": (0, 1, 2, 5)}),
    ("answer = 'yes' if orders[orders.customer == 'bob'].price.sum() > 5 else 'no'", BOB),
    ("if orders[orders.customer == 'bob'].price.sum() > 5:\n    answer = 'yes'\nelse:\n    answer = 'no'", BOB),
    ("n = 0\nfor _, row in orders[orders.customer == 'bob'].iterrows():\n    n += 1\nanswer = n", BOB),
    ("best = None\nfor row in orders.itertuples():\n    if best is None or row.price > best.price:\n        best = row\nanswer = best.id", {"orders": (0, 1, 2, 3, 4, 5)}),
    ("i = orders.index[orders.customer == 'cy'][0]\nanswer = orders.loc[i + 1, 'id']", {"orders": (4,)}),
    ("answer = orders.customer.mode()[0]", ANN),
    ("answer = orders.id[orders.price == 7].iloc[0]", {"orders": (1,)}),
    ("answer = (orders.price > 6).sum()", {"orders": (1, 2, 3)}),
    ("answer = (orders.price > 60).sum()", {"orders": (0, 1, 2, 3, 4, 5)}),
    ("answer = [r.id for r in orders[orders.customer == 'bob'].itertuples()]", BOB),
    ("def total(frame):\n    return frame.price.sum()\nanswer = total(orders[orders.customer == 'bob'])", BOB),
    ("answer = pd.concat([orders.head(1), orders.tail(1)]).id.tolist()", {"orders": (0, 5)}),
    ("answer = customers[customers.city == 'Rome'].set_index('customer').loc['dan']", {"customers": (2,)}),
    ("x = orders.set_index('id')\nanswer = x.loc[11, 'price']", {"orders": (1,)}),
    ("orders = orders[orders.price > 4]\norders = orders.reset_index(drop=True)\nanswer = orders.loc[1, 'id']",
     {"orders": (1,)}),
    ("orders['day'] = pd.to_datetime(orders['day'])\nanswer = orders[orders.day.dt.month == 2].id.tolist()",
     {"orders": (2,)}),
    ("if len(orders) > 3:\n    answer = orders.id.iloc[3]\nelse:\n    answer = 0", {"orders": (3,)}),
    ("orders.drop(0, inplace=True)\norders.reset_index(inplace=True, drop=True)\nanswer = orders.loc[0, 'id']", {}),
    ("answer = 42", {}),
    ("import random\nanswer = orders.price.sum() + random.random()", {}),
    ("orders[orders.customer == 'bob'].price.sum()", BOB),
)  # fmt: skip


@pytest.mark.parametrize(("code", "rows"), SHAPES, ids=[code.replace("\n", "; ")[:70] for code, _ in SHAPES])
def test_the_rows_behind_an_answer(sandbox: Sandbox, code: str, rows: dict[str, tuple[int, ...]]) -> None:
    run = sandbox.run(Program("python", code), BOXES)
    assert run.status == "ok", run.error
    assert run.rows == rows
    assert run.rows_total == {box: len(places) for box, places in rows.items()}


CAUTIONS = (
    ("answer = len(orders.merge(customers, on='customer'))", "rows_lost: 2 of 6 rows of orders have no match in customers"),
    ("answer = len(customers.merge(orders, on='customer'))", "rows_lost: 2 of 6 rows of orders have no match in customers"),
    ("answer = len(orders.merge(customers, on='customer', how='left'))", ""),
    ("answer = orders.groupby('customer').price.sum()",
     "null_groups: 1 of 6 rows of orders have no value in customer and are in no group"),
    ("answer = orders.groupby('customer', dropna=False).price.sum()", ""),
    ("answer = orders.sort_values('price', ascending=False).head(1).id.tolist()",
     "ties_cut: 2 rows share the value 9.0 at the cut; 1 of them was kept"),
    ("answer = orders.sort_values('price', ascending=False)['id'].iloc[0]",
     "ties_cut: 2 rows share the value 9.0 at the cut; 1 of them was kept"),
    ("answer = orders.sort_values('price', ascending=False).head(2)", ""),
    ("answer = orders.nlargest(1, 'price')", "ties_cut: 2 rows share the value 9.0 at the cut; 1 of them was kept"),
    ("answer = orders.loc[orders.price.idxmax(), 'id']",
     "ties_cut: 2 rows share the value 9.0 at the cut; 1 of them was kept"),
    ("answer = orders.customer.value_counts().index[0]",
     "ties_cut: 2 rows share the value 2 at the cut; 1 of them was kept"),
    ("answer = orders.sort_values('price').iloc[0]['id']", ""),
    ("print(orders.price.idxmax())\nanswer = len(orders)", ""),
)  # fmt: skip


@pytest.mark.parametrize(("code", "caution"), CAUTIONS, ids=[code[:70] for code, _ in CAUTIONS])
def test_what_the_run_noticed(sandbox: Sandbox, code: str, caution: str) -> None:
    run = sandbox.run(Program("python", code), BOXES)
    assert run.status == "ok", run.error
    assert run.warnings == ((caution,) if caution else ())


EVERY = {"orders": (0, 1, 2, 3, 4, 5)}
SELECTS = (
    ("SELECT price FROM orders WHERE customer = 'bob'", BOB),
    ("SELECT sum(price) FROM orders WHERE customer = 'bob'", BOB),
    ("SELECT count(*) FROM Orders", EVERY),
    ("SELECT max(price) FROM orders", {"orders": (2, 3)}),
    ("SELECT max(price) AS top FROM orders WHERE customer = 'bob'", {"orders": (1,)}),
    ("SELECT id FROM orders ORDER BY price LIMIT 1", {"orders": (4,)}),
    ("SELECT id, price * 2 AS double FROM orders ORDER BY double LIMIT 2", {"orders": (4, 5)}),
    ("SELECT id, price FROM orders ORDER BY 2 LIMIT 2", {"orders": (4, 5)}),
    ("SELECT id FROM orders WHERE price = (SELECT max(price) FROM orders)", {"orders": (2, 3)}),
    ("SELECT customer, sum(price) FROM orders GROUP BY customer", EVERY),
    ("SELECT customer, sum(price) AS s FROM orders GROUP BY customer ORDER BY s DESC LIMIT 1", ANN),
    ("SELECT customer FROM orders GROUP BY 1 HAVING count(*) > 1", {"orders": (0, 1, 2, 5)}),
    ("SELECT substr(day, 1, 7) AS m, count(*) FROM orders GROUP BY m ORDER BY 2 DESC, m LIMIT 1", {"orders": (0, 1, 4, 5)}),
    ("SELECT customer FROM orders GROUP BY customer ORDER BY customer NULLS FIRST LIMIT 1", {"orders": (4,)}),
    ("SELECT sum(o.price) FROM orders o JOIN customers c ON o.customer = c.customer WHERE c.city = 'Oslo'",
     {"orders": (1, 5), "customers": (1,)}),
    ("SELECT o.id FROM orders AS o, customers AS c WHERE o.customer = c.customer AND c.city = 'Oslo'",
     {"orders": (1, 5), "customers": (1,)}),
    ("SELECT o.id FROM orders o LEFT JOIN customers c USING (customer) WHERE c.city IS NULL", {"orders": (3, 4)}),
    ("SELECT a.id FROM orders a JOIN orders b ON a.customer = b.customer AND a.price < b.price", {"orders": (0, 1, 2, 5)}),
    ("SELECT id FROM orders WHERE customer IN (SELECT customer FROM customers WHERE city = 'Oslo')", BOB),
    ("WITH big AS (SELECT * FROM orders WHERE price > 6) SELECT count(*) FROM big", {}),
    ("WITH big AS (SELECT customer FROM orders WHERE price > 6) SELECT c.city FROM customers c WHERE c.customer IN (SELECT customer FROM big)",
     {"customers": (0, 1)}),
    ("SELECT id FROM orders UNION SELECT 1", {}),
    ("SELECT DISTINCT customer FROM orders WHERE price > 6", {"orders": (1, 2, 3)}),
)  # fmt: skip


@pytest.mark.parametrize(("sql", "rows"), SELECTS, ids=[sql[:80] for sql, _ in SELECTS])
def test_the_rows_behind_a_select(sandbox: Sandbox, sql: str, rows: dict[str, tuple[int, ...]]) -> None:
    run = sandbox.run(Program("sql", sql, "duckdb"), BOXES)
    assert run.status == "ok", run.error
    assert run.rows == rows


SQL_CAUTIONS = (
    ("SELECT count(*) FROM orders JOIN customers ON orders.customer = customers.customer",
     "rows_lost: 2 of 6 rows of orders have no match in customers"),
    ("SELECT count(*) FROM customers c JOIN orders o ON c.customer = o.customer",
     "rows_lost: 2 of 6 rows of orders have no match in customers"),
    ("SELECT id FROM orders ORDER BY price DESC LIMIT 1", "ties_cut: 2 rows share the value '9.0' at the cut; 1 of them was kept"),
    ("SELECT id FROM orders ORDER BY price DESC LIMIT 2", ""),
    ("SELECT customer, count(*) AS n FROM orders WHERE customer IS NOT NULL GROUP BY customer ORDER BY n DESC LIMIT 1",
     "ties_cut: 2 rows share the value '2' at the cut; 1 of them was kept"),
)  # fmt: skip


@pytest.mark.parametrize(("sql", "caution"), SQL_CAUTIONS, ids=[sql[:80] for sql, _ in SQL_CAUTIONS])
def test_what_a_select_left_out(sandbox: Sandbox, sql: str, caution: str) -> None:
    run = sandbox.run(Program("sql", sql, "duckdb"), BOXES)
    assert run.warnings == ((caution,) if caution else ())
