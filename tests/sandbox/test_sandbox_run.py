"""What a program sees, and what comes back from it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from rowhop.sandbox import Limits, Run, Sandbox
from rowhop.types import Program

ORDERS = pa.table({"name": ["Ann", "Bob", None], "n": [1, 2, None], "price": [1.5, 2.0, 9.25]})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def python(sandbox: Sandbox, code: str, limits: Limits = Limits(), **boxes: pa.Table) -> Run:
    return sandbox.run(Program("python", code), boxes or {"orders": ORDERS}, limits)


def test_a_scalar(sandbox: Sandbox) -> None:
    run = python(sandbox, "answer = orders.price.sum()")
    assert (run.status, run.shape, run.values) == ("ok", "scalar", (12.75,))


def test_sql(sandbox: Sandbox) -> None:
    run = sandbox.run(Program("sql", "SELECT name, n FROM orders WHERE n > 1", "duckdb"), {"orders": ORDERS})
    assert run.table is not None
    assert run.table.to_pylist() == [{"name": "Bob", "n": 2}]


def test_a_missing_answer(sandbox: Sandbox) -> None:
    run = python(sandbox, "x = 1")
    assert (run.status, run.error) == ("error", "The program did not set `answer`.")
