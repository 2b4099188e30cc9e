"""Small files of every kind, written by the test, opened and read back: names, types, writing, cautions."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rowhop.box import Box
from rowhop.errors import SourceError
from rowhop.sources import Reading, Source
from rowhop.sources.tables import open_table, open_text


def opened(path: Path, content: str | bytes, reading: Reading | None = None) -> Source:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_table(path, reading)


def only(source: Source) -> Box:
    (box,) = source.boxes().boxes
    return box


def types(source: Source) -> dict[str, str]:
    return {c.name: c.dtype for c in only(source).columns}


def values(source: Source, column: str) -> list[object]:
    return source.load(only(source).name, [column]).column(0).to_pylist()


def texts(source: Source, column: str) -> list[object]:
    return source.written(only(source).name, [column]).column(0).to_pylist()


def kinds(source: Source) -> set[str]:
    return {c.kind for c in source.cautions}


class TestNames:
    def test_headers_keep_their_exact_text(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "2024-01-01,Net sales (€),a.b,时间,count,class,my col\n1,2,3,4,5,6,7\n")
        assert [c.name for c in only(source).columns] == [
            *("2024-01-01", "Net sales (€)", "a.b", "时间", "count", "class", "my col")
        ]

    def test_doubled_and_blank_headers_stay_apart(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a,a,a.1,,Name ,name\n1,2,3,4,5,6\n")
        assert [c.name for c in only(source).columns] == ["a", "a_2", "a.1", "column_4", "Name", "name_2"]
        assert {"duplicate_headers", "blank_headers"} <= kinds(source)
        assert source.load("a").to_pylist() == [{"a": 1, "a_2": 2, "a.1": 3, "column_4": 4, "Name": 5, "name_2": 6}]

    def test_a_header_of_two_lines_becomes_one(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", '"Area\nHectares",b\n1,2\n')
        assert only(source).columns[0].name == "Area Hectares"

    @pytest.mark.parametrize(
        ("file", "name"),
        [
            ("2024 sales.csv", "table_2024_sales"),
            ("class.csv", "class_table"),
            ("list.csv", "list_table"),
            ("order.csv", "order_table"),
            ("Umsätze.csv", "Umsätze"),
            ("时间.csv", "时间"),
            ("a-b.c.csv", "a_b_c"),
            ("df.csv", "df_table"),
        ],
    )
    def test_the_box_is_an_identifier(self, tmp_path: Path, file: str, name: str) -> None:
        box = only(opened(tmp_path / file, "x,y\n1,2\n"))
        assert box.name == name
        assert box.name.isidentifier()

    def test_unknown_names_get_the_nearest(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "orders.csv", "amount,day\n1,2\n")
        with pytest.raises(SourceError, match="Did you mean 'amount'"):
            source.load("orders", ["Ammount"])
        with pytest.raises(SourceError, match=r"No table 'order' in .* 'orders'"):
            source.load("order")


class TestDialects:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_the_delimiter_is_found(self, tmp_path: Path, delimiter: str) -> None:
        rows = ["a b", "name", "n"], ["x, y", "Z; z", "1"], ["q", "w|e", "2"]
        lines = [delimiter.join(f'"{c}"' if delimiter in c else c for c in row) for row in rows]
        source = opened(tmp_path / "a.csv", "\n".join(lines) + "\n")
        assert source.written("a").to_pylist()[0] == {"a b": "x, y", "name": "Z; z", "n": "1"}

    def test_a_stated_delimiter_wins(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a:b,c\n1:2,3\n", Reading(delimiter=":"))
        assert types(source) == {"a": "integer", "b,c": "number"} or list(types(source)) == ["a", "b,c"]

    def test_an_address_with_commas_does_not_mislead(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "Name;Address, City\nAnn;1 Road, Bath\nBob;2 Road, York\n")
        assert [c.name for c in only(source).columns] == ["Name", "Address, City"]

    @pytest.mark.parametrize(
        ("encoding", "content"),
        [
            ("utf-8", "stadt;größe\nKöln;1\n"),
            ("utf-8-sig", "stadt;größe\nKöln;1\n"),
            ("utf-16", "stadt;größe\nKöln;1\n"),
            ("utf-16-le", "stadt;größe\nKöln;1\n"),
            ("utf-16-be", "stadt;größe\nKöln;1\n"),
            ("cp1252", "stadt;größe\nKöln;1\n"),
            ("latin-1", "stadt;größe\nKöln;1\n"),
        ],
    )
    def test_encodings(self, tmp_path: Path, encoding: str, content: str) -> None:
        source = opened(tmp_path / "a.csv", content.encode(encoding))
        assert source.written("a").to_pylist() == [{"stadt": "Köln", "größe": "1"}]
        assert ("encoding_guessed" in kinds(source)) == (encoding in ("cp1252", "latin-1"))

    def test_a_stated_encoding_wins_and_a_wrong_one_is_said(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "имя,n\nАнна,1\n".encode("cp1251"), Reading(encoding="cp1251"))
        assert texts(source, "имя") == ["Анна"]
        with pytest.raises(SourceError, match="no such encoding"):
            open_table(tmp_path / "a.csv", Reading(encoding="klingon"))
        with pytest.raises(SourceError, match="State another encoding"):
            open_table(tmp_path / "a.csv", Reading(encoding="ascii"))

    def test_backslash_escapes(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", '"t","n"\n"say \\"hi\\", you","1"\n"","2"\n')
        assert texts(source, "t") == ['say "hi", you', ""]

    def test_a_windows_path_is_no_escape(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", '"p","n"\n"C:\\new\\",1\n"C:\\temp\\",2\n')
        assert texts(source, "p") == ["C:\\new\\", "C:\\temp\\"]

    def test_single_quotes_and_doubled_quotes(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "'a','b'\n'x, y','it''s'\n'q','r'\n")
        assert source.written("a").to_pylist()[0] == {"a": "x, y", "b": "it's"}
        source = opened(tmp_path / "b.csv", 'a,b\n"x ""y""",2\n')
        assert texts(source, "a") == ['x "y"']

    def test_extra_fields_do_not_become_an_index(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a,b\n1,2,3\n4,5,6\n7,8\n9\n")
        assert source.written("a").to_pylist()[0] == {"a": "1", "b": "2", "column_3": "3"}
        assert values(source, "a") == [1, 4, 7, 9]
        assert "ragged_rows" in kinds(source)

    def test_a_trailing_delimiter_adds_no_column(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a,b,\n1,2,\n3,4,\n")
        assert types(source) == {"a": "integer", "b": "integer"}
        assert not kinds(source)

    def test_a_title_above_the_header(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "Report 2024\n\nregion,sales,cost\nN,1,2\nS,3,4\n")
        assert types(source) == {"region": "text", "sales": "integer", "cost": "integer"}
        assert only(source).about == "Report 2024"

    def test_no_header(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "1.5,2.5\n3.5,4.5\n")
        assert types(source) == {"column_1": "number", "column_2": "number"}
        assert "no_header" in kinds(source)
        source = opened(tmp_path / "b.csv", "x,y\nz,w\n", Reading(header_rows=0))
        assert texts(source, "column_1") == ["x", "z"]

    def test_years_as_headers_are_a_header(self, tmp_path: Path) -> None:
        assert list(types(opened(tmp_path / "a.csv", "2001,2002\n5,6\n7,8\n"))) == ["2001", "2002"]

    def test_a_very_long_cell(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", f'a,b\n"{"x" * 200_000}",1\n')
        assert len(str(texts(source, "a")[0])) == 200_000
        assert len(str(only(source).columns[0].samples[0])) <= 80

    def test_gzip_and_the_separator_line(self, tmp_path: Path) -> None:
        assert values(opened(tmp_path / "a.csv.gz", gzip.compress(b"sep=;\nx;y\n1;2\n")), "y") == [2]
        assert only(open_table(tmp_path / "a.csv.gz")).name == "a"


class TestValues:
    def test_ids_stay_text(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "zip,id,country\n02134,12345678901234567,NA\n10001,12345678901234568,DE\n")
        assert set(types(source).values()) == {"text"}
        assert values(source, "id") == ["12345678901234567", "12345678901234568"]
        assert values(source, "country") == ["NA", "DE"]

    @pytest.mark.parametrize(
        ("cells", "expected"),
        [
            (["1,234", "56", "6,830"], [1234, 56, 6830]),
            (["$4.5m", "$900k", "$1bn"], [4_500_000, 900_000, 1_000_000_000]),
            (["12%", "3.5%"], [12.0, 3.5]),
            (["10", "(5)", "7"], [10, -5, 7]),
            (["1.234,56", "7,5"], [1234.56, 7.5]),
            (["1 234", "5 678"], [1234, 5678]),
            (["1'234.50", "2"], [1234.5, 2.0]),
            (["1st", "2nd", "13th"], [1, 2, 13]),
            (["1.", "2.", "10."], [1, 2, 10]),
            (["−3", "+4", "–5"], [-3, 4, -5]),
            (["€ 1.200,00", "€ 15,50"], [1200.0, 15.5]),
            (["5 kW", "10 kW"], [5, 10]),
            (["1,53,339", "2,00,000"], [153339, 200000]),
            (["2020", "1999"], [2020, 1999]),
            (["1e-05", "2.5e+20"], [1e-05, 2.5e20]),
            (["5", "–", "N/A", "7"], [5, None, None, 7]),
            (["74,745", "75,013[1]", "80,000*"], [74745, 75013, 80000]),
            (["215 km (134 mi)", "97 km (60 mi)"], [215, 97]),
            (["4.5 million", "1.25 million"], [4_500_000, 1_250_000]),
            ([".409", "1.000", "0.5"], [0.409, 1.0, 0.5]),
            (["5", "T8", "T8", "10"], [5, 8, 8, 10]),
        ],
    )
    def test_numbers_as_people_write_them(self, tmp_path: Path, cells: list[str], expected: list[float]) -> None:
        source = opened(tmp_path / "a.csv", "k|v\n" + "".join(f"x|{c}\n" for c in cells))
        assert types(source)["v"] in ("integer", "number")
        assert values(source, "v") == expected
        assert texts(source, "v") == cells

    @pytest.mark.parametrize(
        "cells",
        [
            ["3–1", "2–2"],
            ["6–4, 6–3", "7–5, 6–2"],
            ["2:03.45", "1:59.10"],
            ["12A", "13B"],
            ["1.2.3", "1.10.0"],
            ["12E45", "13E46"],
            ["1986–1990", "1991–2000"],
            ["10 Main St", "12 Main St"],
        ],
    )
    def test_what_only_looks_like_numbers_stays_text(self, tmp_path: Path, cells: list[str]) -> None:
        source = opened(tmp_path / "a.csv", "k|v\n" + "".join(f"x|{c}\n" for c in cells))
        assert types(source)["v"] in ("text", "mixed")
        assert values(source, "v") == cells

    def test_the_example_shows_how_the_source_writes(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", 'n,p,plain\n"1,234",$4.5m,7\n"5",$1m,8\n')
        columns = {c.name: c.parsed_from for c in only(source).columns}
        assert columns == {"n": "1,234", "p": "$4.5m", "plain": ""}

    def test_a_column_of_several_kinds_is_mixed(self, tmp_path: Path) -> None:
        cells = ["792 (241)", "6,830 est.", "–", "N/A", "TBD", "about 5", "7"]
        source = opened(tmp_path / "a.csv", "k|v\n" + "".join(f"x|{c}\n" for c in cells))
        assert types(source)["v"] == "mixed"
        assert texts(source, "v") == cells

    def test_few_remarks_are_dropped_and_said(self, tmp_path: Path) -> None:
        cells = ["6,830 est.", *(str(n) for n in range(5000, 5009))]
        source = opened(tmp_path / "a.csv", "k|v\n" + "".join(f"x|{c}\n" for c in cells))
        assert values(source, "v")[0] == 6830
        assert "remarks_dropped" in kinds(source)

    def test_a_text_that_spans_cells_does_not_spoil_numbers(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "year,w,l,t\n1990,1,2,3\n1991,out ill,out ill,out ill\n1992,4,5,6\n")
        assert types(source) == {"year": "integer", "w": "integer", "l": "integer", "t": "integer"}
        assert values(source, "w") == [1, None, 4]
        assert texts(source, "w") == ["1", "out ill", "4"]

    def test_a_season_among_years_counts_as_its_first_year(self, tmp_path: Path) -> None:
        cells = ["1951", "1965", "1977–78", "1982", "c. 1990"]
        source = opened(tmp_path / "a.csv", "k|v\n" + "".join(f"x|{c}\n" for c in cells))
        assert values(source, "v") == [1951, 1965, 1977, 1982, 1990]
        assert texts(source, "v") == cells
        seasons = opened(tmp_path / "b.csv", "s,n\n1994–95,1\n1995–96,2\n")
        assert types(seasons)["s"] == "text"

    def test_another_column_proves_the_decimal_sign(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a;b\n1.234;5,5\n2.000;6,25\n")
        assert values(source, "a") == [1234, 2000]
        assert values(source, "b") == [5.5, 6.25]
        assert values(opened(tmp_path / "b.csv", "a,b\n1.234,x\n2.000,y\n"), "a") == [1.234, 2.0]

    def test_semicolons_speak_for_a_decimal_comma(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a;b\n1,234;x\n2,500;y\n")
        assert values(source, "a") == [1.234, 2.5]
        assert "decimal_guessed" in kinds(source)

    def test_a_stated_decimal_sign_wins(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a|b\n1.234|x\n2.000|y\n", Reading(decimal=","))
        assert values(source, "a") == [1234, 2000]

    def test_stated_text_columns(self, tmp_path: Path) -> None:
        assert values(opened(tmp_path / "a.csv", "a,b\n1,2\n", Reading(text_columns=("a",))), "a") == ["1"]

    def test_truth_values(self, tmp_path: Path) -> None:
        assert values(opened(tmp_path / "a.csv", "a,b\nTrue,1\nFALSE,2\n,3\n"), "a") == [True, False, None]

    def test_empty_cells_are_missing_and_still_written(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a,b\nx,1\n,2\n  ,\n")
        assert values(source, "a") == ["x", None, None]
        assert texts(source, "a") == ["x", "", "  "]
        assert values(source, "b") == [1, 2, None]

    def test_a_total_row_is_said_and_kept(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "region,sales\nN,1\nS,2\nTotal,3\n")
        (said,) = [c for c in source.cautions if c.kind == "total_row"]
        assert "row 2" in said.text
        assert values(source, "sales") == [1, 2, 3]

    def test_a_total_label_does_not_spoil_the_years(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "year,goals\n1999,1\n2000,2\nTotal,3\n")
        assert values(source, "year") == [1999, 2000, None]
        assert "total_row" in kinds(source)


class TestDates:
    @pytest.mark.parametrize(
        "cell",
        [
            *(
                "1990-07-05",
                "1990/07/05",
                "July 5, 1990",
                "Jul 5, 1990",
                "5 July 1990",
                "5th of July 1990",
                "05-Jul-90",
            ),
            *("5. Juli 1990", "5 juillet 1990", "5 de julio de 1990", "Thursday, July 5, 1990", "1990年7月5日"),
            *("July 5th, 1990", "1990-07-05 00:00:00", "5 July 1990[2]"),
        ],
    )
    def test_forms(self, tmp_path: Path, cell: str) -> None:
        source = opened(tmp_path / "a.csv", f"d|n\n{cell}|1\n{cell}|2\n")
        (column,) = [c for c in only(source).columns if c.name == "d"]
        assert column.dtype in ("date", "datetime")
        assert str(values(source, "d")[0])[:10] == "1990-07-05"
        assert texts(source, "d") == [cell, cell]

    def test_the_whole_column_decides_day_and_month(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "d,n\n03/04/2024,1\n05/04/2024,2\n25/12/2024,3\n")
        assert values(source, "d") == [dt.date(2024, 4, 3), dt.date(2024, 4, 5), dt.date(2024, 12, 25)]
        assert "day_month_guessed" not in kinds(source)
        source = opened(tmp_path / "b.csv", "d,n\n03/04/2024,1\n12/25/2024,3\n")
        assert values(source, "d")[0] == dt.date(2024, 3, 4)

    def test_an_open_order_is_guessed_and_said(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "d,n\n03/04/2024,1\n05/04/2024,2\n")
        assert types(source)["d"] == "date"
        assert "day_month_guessed" in kinds(source)
        stated = open_table(tmp_path / "a.csv", Reading(day_first=True))
        assert values(stated, "d") == [dt.date(2024, 4, 3), dt.date(2024, 4, 5)]
        assert "day_month_guessed" not in kinds(stated)

    def test_another_column_proves_the_order(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "d,e\n03/04/2024,25/12/2023\n05/04/2024,01/01/2024\n")
        assert values(source, "d")[0] == dt.date(2024, 4, 3)
        assert "day_month_guessed" not in kinds(source)

    def test_clock_times(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "t,n\n2024-01-05T10:30:00Z,1\n2024-01-05 12:00:00+00:00,2\n")
        assert values(source, "t") == [dt.datetime(2024, 1, 5, 10, 30), dt.datetime(2024, 1, 5, 12)]
        assert "UTC" in only(source).columns[0].about
        source = opened(tmp_path / "b.csv", 't,n\n"1/5/2024 3:05 PM",1\n"1/25/2024 12:00 AM",2\n')
        assert values(source, "t") == [dt.datetime(2024, 1, 5, 15, 5), dt.datetime(2024, 1, 25)]

    def test_times_with_and_without_a_zone_stay_text(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "t,n\n2024-01-05T10:30:00Z,1\n2024-01-05T10:30:00,2\n")
        assert types(source)["t"] == "mixed"

    def test_a_year_is_no_date(self, tmp_path: Path) -> None:
        assert types(opened(tmp_path / "a.csv", "y,n\n2020,1\n1970,2\n"))["y"] == "integer"

    def test_years_among_dates(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", 'd,n\n"May 4, 1990",1\n"June 1, 1991",2\n1992,3\n"July 9, 1993",4\n')
        assert values(source, "d")[2] == dt.date(1992, 1, 1)
        assert "dates_partial" in kinds(source)

    def test_a_date_before_1900_and_an_impossible_one(self, tmp_path: Path) -> None:
        assert values(opened(tmp_path / "a.csv", 'd,n\n"9 November 1846",1\n'), "d") == [dt.date(1846, 11, 9)]
        assert types(opened(tmp_path / "b.csv", "d,n\n2024-02-30,1\n2024-01-01,2\n"))["d"] == "mixed"


class TestBadInput:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("empty.csv", b"", "empty"),
            ("blank.csv", b" \n\n", "empty"),
            ("picture.csv", bytes(range(256)) * 20, "binary"),
            ("paper.pdf", b"%PDF-1.7 ...", "PDF"),
            ("book.xlsx", b"PK\x03\x04broken", "as a workbook"),
            ("book.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "as a workbook"),
            ("a.parquet", b"PAR1 and nothing more PAR1", "Parquet"),
            ("a.arrow", b"ARROW1\0\0 cut", "Arrow"),
            ("a.csv.gz", b"\x1f\x8b\x08\x00broken", "gzip"),
            ("a.json", b'{"a": [1, 2', "JSON"),
            ("a.jsonl", b'{"a": 1}\n{"a": \n', "line 2"),
            ("page.xls", b"<html><table><tr><td>1</td></tr></table></html>", "web page"),
            ("a.sqlite.csv", b"SQLite format 3\0" + b"\0" * 100, "SQLite"),
        ],
    )
    def test_one_clear_sentence(self, tmp_path: Path, name: str, content: bytes, message: str) -> None:
        with pytest.raises(SourceError, match=message) as error:
            opened(tmp_path / name, content)
        assert "\n" not in str(error.value)
        assert name in str(error.value)

    def test_missing_and_folder(self, tmp_path: Path) -> None:
        (tmp_path / "orders.csv").write_text("a\n1\n")
        with pytest.raises(SourceError, match=r"Did you mean 'orders.csv'"):
            open_table(tmp_path / "order.csv")
        with pytest.raises(SourceError, match="does not exist"):
            open_table(tmp_path / "nowhere" / "order.csv")
        with pytest.raises(SourceError, match="is a folder"):
            open_table(tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
    def test_permission(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("a\n1\n")
        path.chmod(0)
        with pytest.raises(SourceError, match="permission denied"):
            open_table(path)

    def test_header_only(self, tmp_path: Path) -> None:
        source = opened(tmp_path / "a.csv", "a,b\n")
        assert only(source).rows == 0
        assert source.load("a").num_rows == 0
        assert [c.name for c in only(source).columns] == ["a", "b"]


def test_a_csv_with_the_ending_of_a_workbook(tmp_path: Path) -> None:
    assert values(opened(tmp_path / "export.xls", "a\tb\n1\t2\n"), "b") == [2]


def test_eight_threads_read_one_source(tmp_path: Path) -> None:
    rows = "".join(f'{i},"{i:,}","May {i % 28 + 1}, 1990"\n' for i in range(500))
    source = opened(tmp_path / "a.csv", "id,n,day\n" + rows)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: (source.boxes(), source.load("a").to_pydict()), range(24)))
    assert all(f == found[0] for f in found)
    assert found[0][1]["n"] == list(range(500))


def test_stdin_and_select() -> None:
    source = open_text("a,b\n1,2\n", "stdin")
    assert source.load("stdin").to_pylist() == [{"a": 1, "b": 2}]
    assert open_text(b'[{"a": 1}]').load("stdin").to_pylist() == [{"a": 1}]
    with pytest.raises(SourceError, match="no SQL of its own"):
        source.select("SELECT 1", 10, 1.0)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    source = opened(path, "a,b\n1,2\n")
    before = source.fingerprint()
    assert values(source, "a") == [1]
    time.sleep(0.01)
    path.write_text("a,b\n7,2\n")
    assert values(source, "a") == [7]
    assert source.fingerprint() != before


def test_distinct_by_frequency(tmp_path: Path) -> None:
    source = opened(tmp_path / "a.csv", "a,b\nx,1\ny,2\ny,3\n,4\nz,5\n")
    assert source.distinct("a", "a", 10) == ["y", "x", "z"]
    assert source.distinct("a", "a", 1) == ["y"]


def test_the_shop_customers(examples: Path) -> None:
    source = open_table(examples / "shop" / "customers.csv")
    assert types(source)["customer_id"] == "text"
    assert types(source)["customer since"] == "date"
    assert types(source)["credit limit"] == "integer"
    assert only(source).keys == ("customer_id",)
    assert only(source).rows == 30
