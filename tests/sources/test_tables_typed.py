"""JSON, Parquet, Arrow and frames: sources that bring types of their own."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from rowhop.errors import SourceError
from rowhop.sources import Source
from rowhop.sources.tables import open_frame, open_table


def types(source: Source, number: int = 0) -> dict[str, str]:
    return {c.name: c.dtype for c in source.boxes().boxes[number].columns}


class TestJson:
    def opened(self, folder: Path, data: object, name: str = "a.json") -> Source:
        (folder / name).write_text(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))
        return open_table(folder / name)

    def test_records_with_gaps_and_nesting(self, tmp_path: Path) -> None:
        data = [{"id": "007", "at": {"city": "Köln", "zip": "50667"}}, {"id": "008", "n": 4.50, "ok": True}]
        source = self.opened(tmp_path, json.dumps(data).replace("4.5", "4.50"))
        assert types(source) == {"id": "text", "at.city": "text", "at.zip": "text", "n": "number", "ok": "boolean"}
        assert source.written("a").to_pylist()[1] == {
            "id": "008",
            "at.city": None,
            "at.zip": None,
            "n": "4.50",
            "ok": "true",
        }

    def test_numbers_in_text_stay_text_and_written_out_ones_are_read(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path, [{"zip": "90210", "price": "$1,200", "day": "2024-01-05"}])
        assert types(source) == {"zip": "text", "price": "integer", "day": "date"}

    def test_nested_records_become_a_table_that_points_back(self, tmp_path: Path) -> None:
        data = [{"id": 1, "items": [{"sku": "x", "n": 2}, {"sku": "y", "n": 1}]}, {"id": 2, "items": []}]
        source = self.opened(tmp_path, data, "orders.json")
        boxes = source.boxes()
        assert [b.name for b in boxes.boxes] == ["orders", "orders_items"]
        (key,) = boxes.foreign_keys
        assert (key.box, key.field, key.to_box, key.to_field) == ("orders_items", "orders_id", "orders", "id")
        assert source.load("orders_items").to_pylist()[1] == {"orders_id": 1, "sku": "y", "n": 1}

    def test_nested_records_without_an_id_count_rows(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path, [{"a": 1, "sub": [{"b": 2}]}, {"a": 1, "sub": [{"b": 3}, {"b": 4}]}])
        assert source.load("a_sub").to_pylist() == [{"a_row": 0, "b": 2}, {"a_row": 1, "b": 3}, {"a_row": 1, "b": 4}]
        assert source.load("a", ["row"]).column(0).to_pylist() == [0, 1]

    def test_lists_of_scalars(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path, [{"tags": ["x", "y"], "n": 1}, {"tags": [], "n": 2}, {"n": 3}])
        assert types(source)["tags"] == "list"
        assert source.load("a", ["tags"]).column(0).to_pylist() == [["x", "y"], [], None]
        assert source.written("a", ["tags"]).column(0).to_pylist() == ['["x", "y"]', "[]", None]

    @pytest.mark.parametrize(
        "data",
        [
            {"a": [1, 2], "b": ["x", "y"]},
            [["a", "b"], [1, "x"], [2, "y"]],
            {"columns": ["a", "b"], "data": [[1, "x"], [2, "y"]]},
            {"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}},
        ],
    )
    def test_other_shapes_of_a_table(self, tmp_path: Path, data: object) -> None:
        source = self.opened(tmp_path, data, "t.json")
        assert source.load("t").to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]

    def test_tables_by_name_and_records_by_key(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path, {"people": [{"n": 1}], "class": [{"m": 2}]})
        assert [b.name for b in source.boxes().boxes] == ["people", "class_table"]
        source = self.opened(tmp_path, {"de": {"pop": 83}, "fr": {"pop": 68}}, "b.json")
        assert source.load("b").to_pylist() == [{"key": "de", "pop": 83}, {"key": "fr", "pop": 68}]

    def test_json_lines(self, tmp_path: Path) -> None:
        source = self.opened(tmp_path, '{"a": 1}\n\n{"a": 12345678901234567890}\n', "a.jsonl")
        assert source.written("a").column(0).to_pylist() == ["1", "12345678901234567890"]
        assert self.opened(tmp_path, '{"a": 1}\n{"a": 2}\n', "b.json").load("b").num_rows == 2

    def test_no_records(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="no records"):
            self.opened(tmp_path, [])


class TestParquet:
    def table(self) -> pa.Table:
        return pa.table(
            {
                "id": pa.array([1, 2, None], pa.int32()),
                "a.b": ["02134", "x", None],
                "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]),
                "day": pa.array([dt.date(2024, 1, 5), None, dt.date(1846, 11, 9)]),
                "at": pa.array(
                    [dt.datetime(2024, 1, 5, 10, 30), None, dt.datetime(2024, 1, 6)], pa.timestamp("ns", "UTC")
                ),
                "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
                "ok": [True, False, None],
                "tags": [["p"], [], None],
                "raw": [b"\xff\x00", b"text", None],
                "where": [{"x": 1, "y": 2}, None, {"x": 3, "y": 4}],
            }
        )

    def test_types_and_writing(self, tmp_path: Path) -> None:
        pq.write_table(self.table(), tmp_path / "a.parquet")
        source = open_table(tmp_path / "a.parquet")
        assert types(source) == {
            "id": "integer",
            "a.b": "text",
            "price": "number",
            "day": "date",
            "at": "datetime",
            "kind": "text",
            "ok": "boolean",
            "tags": "list",
            "raw": "text",
            "where": "text",
        }
        assert source.boxes().boxes[0].rows == 3
        assert source.load("a", ["a.b", "at"]).to_pylist()[0] == {"a.b": "02134", "at": dt.datetime(2024, 1, 5, 10, 30)}
        assert source.written("a", None, [2, 0]).to_pylist()[1] == {
            "id": "1",
            "a.b": "02134",
            "price": "1.50",
            "day": "2024-01-05",
            "at": "2024-01-05 10:30:00",
            "kind": "u",
            "ok": "true",
            "tags": '["p"]',
            "raw": "ff00",
            "where": '{"x": 1, "y": 2}',
        }
        assert source.distinct("a", "kind", 5) == ["u", "v"]

    def test_rows_across_row_groups(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"n": list(range(100))}), tmp_path / "a.parquet", row_group_size=7)
        source = open_table(tmp_path / "a.parquet")
        assert source.written("a", None, [99, 0, 50, 50]).column(0).to_pylist() == ["99", "0", "50", "50"]
        assert source.written("a", None, []).num_rows == 0
        assert source.load("a", None, 9).column(0).to_pylist() == list(range(9))

    def test_no_rows(self, tmp_path: Path) -> None:
        pq.write_table(self.table().slice(0, 0), tmp_path / "a.parquet")
        source = open_table(tmp_path / "a.parquet")
        assert source.boxes().boxes[0].rows == 0
        assert source.load("a").num_rows == 0

    def test_arrow_files(self, tmp_path: Path) -> None:
        table = self.table().select(["id", "day"])
        pyarrow.feather.write_feather(table, tmp_path / "a.feather")
        with pa.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as writer:
            writer.write_table(table)
        for name in ("a.feather", "b.arrow"):
            assert types(open_table(tmp_path / name)) == {"id": "integer", "day": "date"}

    def test_the_stations(self, examples: Path) -> None:
        source = open_table(examples / "stations.parquet")
        assert source.boxes().boxes[0].rows == 20
        assert types(source)["opened"] == "date"


class TestFrames:
    def test_pandas(self) -> None:
        frame = pd.DataFrame(
            {
                "name": ["a", None, "c"],
                "zip": ["02134", "10001", "90210"],
                "money": ["$1,200", "$7", "$1m"],
                "n": [1.5, float("nan"), 2.0],
                "when": pd.to_datetime(["2024-01-05", None, "2024-01-07"]),
                "odd": [1, "x", "y"],
                "count": pd.array([1, None, 3], dtype="Int64"),
            }
        )
        source = open_frame(frame, "my frame")
        assert source.boxes().boxes[0].name == "my_frame"
        assert types(source) == {
            "name": "text",
            "zip": "text",
            "money": "integer",
            "n": "number",
            "when": "datetime",
            "odd": "text",
            "count": "integer",
        }
        assert source.load("my_frame", ["n", "money"]).to_pylist()[1] == {"n": None, "money": 7}
        assert source.written("my_frame", ["odd", "money"]).to_pylist()[0] == {"odd": "1", "money": "$1,200"}

    def test_index_and_levels(self) -> None:
        frame = pd.DataFrame({("sales", "2023"): [1], ("sales", "2024"): [2]}, index=pd.Index(["N"], name="region"))
        assert list(types(open_frame(frame, "f"))) == ["region", "sales 2023", "sales 2024"]
        assert list(types(open_frame(pd.DataFrame({"a": [1]}, index=["x"]), "f"))) == ["index", "a"]
        assert list(types(open_frame(pd.DataFrame({"a": [1, 2]}).iloc[1:], "f"))) == ["a"]
        assert list(types(open_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]), "f"))) == ["a", "a_2"]

    def test_series_polars_and_arrow(self) -> None:
        assert types(open_frame(pd.Series([1, 2], name="s"), "f")) == {"s": "integer"}
        assert types(open_frame(pl.DataFrame({"d": [dt.date(2024, 1, 5)], "s": ["x"]}), "f")) == {
            "d": "date",
            "s": "text",
        }
        assert types(open_frame(pl.LazyFrame({"a": [1]}), "f")) == {"a": "integer"}
        assert types(open_frame(pa.table({"a": [{"x": 1}]}), "f")) == {"a.x": "integer"}

    def test_what_is_no_frame(self) -> None:
        with pytest.raises(SourceError, match=r"Cannot read a builtins\.dict"):
            open_frame({"a": 1}, "f")
        with pytest.raises(SourceError, match="no columns"):
            open_frame(pd.DataFrame(), "f")

    def test_a_changed_cell_changes_the_fingerprint(self) -> None:
        one, two = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pd.DataFrame({"a": [1, 2], "b": ["x", "z"]})
        assert open_frame(one, "f").fingerprint() == open_frame(one.copy(), "f").fingerprint()
        assert open_frame(one, "f").fingerprint() != open_frame(two, "f").fingerprint()
