"""Files above the limit of memory reading: the limit is lowered here, the road is the same."""

from __future__ import annotations

import datetime as dt
import gzip
import time
from pathlib import Path

import pytest

from rowhop.sources import Reading, Source
from rowhop.sources.bigfile import BigTextSource
from rowhop.sources.tables import BIG_FILE, open_table

ROWS = 30_000


def big(path: Path, reading: Reading | None = None) -> BigTextSource:
    return BigTextSource(path, str(path), "big", reading or Reading())


def write(path: Path, rows: int = ROWS, last: str = "", encoding: str = "utf-8") -> Path:
    lines = ["id,name,day,price,code"]
    lines += [f'{i},"name ""{i % 7}"", ö",{2000 + i % 20}-01-05,{i / 8},{i:06d}' for i in range(rows)]
    path.write_text("\n".join(lines) + "\n" + last, encoding=encoding)
    return path


def types(source: Source) -> dict[str, str]:
    return {c.name: c.dtype for c in source.boxes().boxes[0].columns}


def kinds(source: Source) -> set[str]:
    return {c.kind for c in source.cautions}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_same_as_a_small_file(tmp_path: Path, encoding: str) -> None:
    source = big(write(tmp_path / "big.csv", encoding=encoding))
    assert types(source) == {"id": "integer", "name": "text", "day": "date", "price": "number", "code": "text"}
    loaded = source.load("big", ["id", "day", "price", "code"])
    assert loaded.num_rows == ROWS == source.boxes().boxes[0].rows
    assert loaded.slice(9, 1).to_pylist() == [{"id": 9, "day": dt.date(2009, 1, 5), "price": 1.125, "code": "000009"}]
    small = open_table(tmp_path / "big.csv")
    assert small.written("big").equals(source.written("big").combine_chunks()) or (
        small.written("big").to_pylist() == source.written("big").to_pylist()
    )
    assert small.load("big").to_pylist() == source.load("big").to_pylist()
    assert source.distinct("big", "name", 2) == ['name "0", ö', 'name "1", ö']


def test_gzip(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", 5000).read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data))
    assert big(tmp_path / "a.csv.gz").load("big", ["id"]).num_rows == 5000


def test_text_after_the_first_rows_is_loaded_as_text_and_said(tmp_path: Path) -> None:
    source = big(write(tmp_path / "big.csv", last="x77,late,never,none at all,9\n"))
    assert types(source)["id"] == "integer"
    assert "type_changed" not in kinds(source)
    loaded = source.load("big", ["id", "day"])
    assert loaded.slice(ROWS).to_pylist() == [{"id": "x77", "day": "never"}]
    assert types(source)["id"] in ("text", "mixed")
    assert "type_changed" in kinds(source)


@pytest.mark.parametrize("last", ["1,short\n", '2,"long",2001-01-01,3,4,extra,more\n'])
def test_late_ragged_rows_are_kept_and_said(tmp_path: Path, last: str) -> None:
    source = big(write(tmp_path / "big.csv", last=last))
    loaded = source.written("big")
    assert loaded.num_rows == ROWS + 1
    assert "ragged_rows" in kinds(source)
    if "extra" in last:
        assert loaded.slice(ROWS).to_pylist()[0]["column_6"] == "extra"
        assert "column_7" in types(source)


def test_a_blank_line_a_long_cell_and_a_line_break(tmp_path: Path) -> None:
    last = f'\n1,"two\nlines",2001-01-01,3,{"9" * 200_000}\n'
    source = big(write(tmp_path / "big.csv", last=last))
    (row,) = source.written("big", None, [ROWS]).to_pylist()
    assert row["name"] == "two\nlines"
    assert len(row["code"]) == 200_000


def test_total_row_and_changed_file(tmp_path: Path) -> None:
    path = write(tmp_path / "big.csv", last="Total,,,99,\n")
    source = big(path)
    assert "total_row" in kinds(source)
    before = source.fingerprint()
    assert source.load("big", ["id"]).num_rows == ROWS + 1
    time.sleep(0.01)
    write(path, 100)
    assert source.load("big", ["id"]).num_rows == 100
    assert source.fingerprint() != before
    source.close()


def test_day_order_proved_in_the_first_rows_goes_for_all(tmp_path: Path) -> None:
    lines = ["d,e", *(f"{i % 28 + 1:02d}/02/2024,{i}" for i in range(ROWS))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert big(tmp_path / "a.csv").load("big", ["d"]).column(0)[1].as_py() == dt.date(2024, 2, 2)


def test_open_table_takes_this_road_by_size(tmp_path: Path) -> None:
    line = "x" * 1000 + ",1\n"
    (tmp_path / "a.csv").write_text("a,b\n" + line * (BIG_FILE // len(line) + 1))
    source = open_table(tmp_path / "a.csv")
    assert isinstance(source, BigTextSource)
    assert source.load("a", ["b"], 3).column(0).to_pylist() == [1, 1, 1]
    assert source.written("a", ["b"], [0]).to_pylist() == [{"b": "1"}]
