"""The example data: what `examples/make.py` writes is what lies there, and the parts fit together."""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path

from rowhop.sources.tables import open_table


def dump(path: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_the_script_writes_the_same_data(examples: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_examples", examples / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.main(tmp_path)
    for file in ("shop/customers.csv", "shop/orders.xlsx", "stations.parquet"):
        before, after = open_table(examples / file), open_table(tmp_path / file)
        for box in before.boxes().boxes:
            assert before.written(box.name).equals(after.written(box.name)), file
    for file in ("shop/helpdesk.sqlite", "library.sqlite"):
        assert dump(examples / file) == dump(tmp_path / file)


def test_the_customers_are_found_in_the_other_sources(examples: Path) -> None:
    source = open_table(examples / "shop" / "customers.csv")
    ids = set(source.load("customers", ["customer_id"]).column(0).to_pylist())
    names = set(source.load("customers", ["name"]).column(0).to_pylist())
    orders = open_table(examples / "shop" / "orders.xlsx").load("orders", ["customer_id"]).column(0).to_pylist()
    assert set(orders) <= ids
    desk = sqlite3.connect(examples / "shop" / "helpdesk.sqlite")
    assert {i for (i,) in desk.execute("SELECT customer_id FROM tickets")} <= ids
    desk.close()
    library = sqlite3.connect(examples / "library.sqlite")
    assert len(names & {n for (n,) in library.execute("SELECT name FROM members")}) == 8
    library.close()
