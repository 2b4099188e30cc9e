"""Workbooks: written by openpyxl here, and by LibreOffice once (tests/fixtures/sheets)."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from rowhop.errors import SourceError
from rowhop.sources.tables import open_table

SHEETS = Path(__file__).parents[1] / "fixtures" / "sheets"


def report(path: Path) -> Path:
    """Merged title and two header rows, a text number, a formula never computed, a total row, an empty sheet."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"] = "Report by region"
    sheet.merge_cells("A1:C1")
    sheet["A2"], sheet["B2"] = "Region", "Sales"
    sheet.merge_cells("A2:A3")
    sheet.merge_cells("B2:C2")
    sheet["B3"], sheet["C3"] = "2023", "2024"
    sheet.append(["North", "1,200", 5])
    sheet.append(["South", 980, 7])
    sheet.append(["Total", "=SUM(B4:B5)", 12])
    book.create_sheet("Notes")
    book.save(path)
    return path


def test_title_merged_headers_formula_and_total(tmp_path: Path) -> None:
    source = open_table(report(tmp_path / "sales.xlsx"))
    (box,) = source.boxes().boxes
    assert box.name == "sales"
    assert box.about == "Report by region"
    assert [(c.name, c.dtype) for c in box.columns] == [
        ("Region", "text"),
        ("Sales 2023", "integer"),
        ("Sales 2024", "integer"),
    ]
    assert source.load("sales").to_pylist() == [
        {"Region": "North", "Sales 2023": 1200, "Sales 2024": 5},
        {"Region": "South", "Sales 2023": 980, "Sales 2024": 7},
        {"Region": "Total", "Sales 2023": None, "Sales 2024": 12},
    ]
    said = {c.kind: c.text for c in source.cautions}
    assert "B6" in said["formula_without_value"]
    assert "row 2" in said["total_row"]


@pytest.mark.parametrize("file", ["report.xlsx", "report.xls", "report.ods"])
def test_libreoffice_files_say_the_same(file: str) -> None:
    source = open_table(SHEETS / file)
    regions, prices = source.boxes().boxes
    assert [b.name for b in (regions, prices)] == ["Regions", "Price_list"]
    assert regions.origin.endswith(f"{file}, sheet Regions")
    assert [c.name for c in regions.columns] == ["Region", "Sales 2023", "Sales 2024", "Since"]
    loaded = source.load("Regions").to_pylist()
    assert loaded[0] == {
        "Region": "North",
        "Sales 2023": 1200,
        "Sales 2024": 1350.5,
        "Since": dt.date(2001, 5, 17),
    }
    assert loaded[3]["Sales 2023"] == 2180
    assert [c.kind for c in source.cautions] == ["total_row"]
    assert source.load("Price_list", ["Code", "Name"]).to_pylist()[1] == {"Code": "00456", "Name": "时间 clock"}
    assert source.load("Price_list", ["Seen at"]).column(0)[0].as_py() == dt.datetime(2024, 3, 1, 14, 30)


def test_a_locked_workbook_is_said() -> None:
    with pytest.raises(SourceError, match="locked by a password"):
        open_table(SHEETS / "locked.xlsx")


def test_an_empty_workbook(tmp_path: Path) -> None:
    import openpyxl

    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    with pytest.raises(SourceError, match="all of its sheets are empty"):
        open_table(tmp_path / "a.xlsx")


def test_values_keep_their_kind(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "class"
    sheet.append([])
    sheet.append([None, "code", "share", "at", "ok", "noise"])
    sheet.append([None, "007", 0.125, dt.datetime(2024, 5, 6, 7, 8), True, 0.1 + 0.2])
    sheet.append([None, "008", 2, dt.datetime(2024, 5, 7), False, 1e300])
    book.save(tmp_path / "a.xlsx")
    source = open_table(tmp_path / "a.xlsx")
    (box,) = source.boxes().boxes
    assert box.name == "class_table"
    assert {c.name: c.dtype for c in box.columns} == {
        "code": "text",
        "share": "number",
        "at": "datetime",
        "ok": "boolean",
        "noise": "number",
    }
    assert source.written("class_table").to_pylist()[0] == {
        "code": "007",
        "share": "0.125",
        "at": "2024-05-06 07:08:00",
        "ok": "TRUE",
        "noise": "0.3",
    }


def test_merged_cells_in_the_rows_say_the_same_of_each(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["region", "shop", "n"], ["North", "a", 1], [None, "b", 2], ["South", "c", 3]):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    book.save(tmp_path / "a.xlsx")
    source = open_table(tmp_path / "a.xlsx")
    assert source.load("a", ["region"]).column(0).to_pylist() == ["North", "North", "South"]


def test_the_shop_workbook(examples: Path) -> None:
    source = open_table(examples / "shop" / "orders.xlsx")
    orders, products = source.boxes().boxes
    assert (orders.name, orders.rows, orders.about) == ("orders", 60, "Orders of the year 2024")
    assert (products.name, products.rows) == ("products", 9)
    assert orders.column("customer_id").dtype == "text"
    assert orders.column("date").dtype == "date"
    assert orders.column("paid").dtype == "boolean"
    assert source.cautions == ()
    (link,) = source.boxes().foreign_keys
    assert (link.box, link.field, link.to_box, link.to_field) == ("orders", "product", "products", "product")
    assert orders.keys == ("order_no",)


def test_a_link_needs_cells_that_are_found(tmp_path: Path) -> None:
    import openpyxl

    def links(cells: list[object]) -> int:
        book = openpyxl.Workbook()
        people, cities = book.active, book.create_sheet("cities")
        for number, cell in enumerate(["City", *cells]):
            people.append([number or "n", cell])
        for row in (["city", "land"], ["Lyon", "FR"], ["Graz", "AT"]):
            cities.append(row)
        book.save(tmp_path / "a.xlsx")
        return len(open_table(tmp_path / "a.xlsx").boxes().foreign_keys)

    assert links(["Lyon", "Graz", "Lyon"]) == 1
    assert links(["Lyon", "Oslo", "Bonn"]) == 0
    assert links([1, 2, 3]) == 0
