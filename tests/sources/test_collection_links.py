"""Links between sources: found by name and cells, where no source can state them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rowhop.box import ForeignKey
from rowhop.sources import open_sources


def _database(folder: Path, rows: list[tuple[str | None, int]], column: str = "customer_id") -> Path:
    path = folder / "desk.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, "{column}" TEXT, hours INTEGER)')
        connection.executemany(f'INSERT INTO tickets ("{column}", hours) VALUES (?, ?)', rows)
    connection.close()
    return path


def _customers(folder: Path, key: str = "customer_id") -> Path:
    path = folder / "customers.csv"
    path.write_text(f"{key},name\n" + "".join(f"0{n},Name {n}\n" for n in range(1, 6)), encoding="utf-8")
    return path


def test_a_table_points_into_another_source(tmp_path: Path) -> None:
    database = _database(tmp_path, [("01", 3), ("05", 1), (None, 2), ("01", 9)], "Customer_ID")
    with_links = open_sources([_customers(tmp_path), database]).boxes()
    assert with_links.foreign_keys == (ForeignKey("tickets", "Customer_ID", "customers", "customer_id"),)


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        ([("91", 3), ("92", 1)], "customer_id"),  # other cells
        ([("01", 3), ("02", 1)], "id"),  # every table has an id
    ],
)
def test_a_name_alone_proves_nothing(rows: list[tuple[str | None, int]], key: str, tmp_path: Path) -> None:
    database = _database(tmp_path, rows, key)
    assert open_sources([_customers(tmp_path, key), database]).boxes().foreign_keys == ()
