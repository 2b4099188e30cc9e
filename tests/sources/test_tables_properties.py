"""Whatever the cells are: none of their text is lost, and what is loaded stands beside what is written."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rowhop.sources.columns import Hints, type_column
from rowhop.sources.dates import read_date, read_dates
from rowhop.sources.figures import read_figure, read_figures
from rowhop.sources.headers import box_name, column_names
from rowhop.sources.tables import open_text

LETTERS = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\r\ufeff")
TEXT = st.text(LETTERS, max_size=12)
LIKE_VALUES = st.sampled_from(
    (
        *("1,234", "1.5", "7", "-3", "$4.5m", "12%", "(5)", "02134", "2024-01-05", "5/6/2024", "Jan 5, 1990", "–"),
        *("792 (241)", "Total", "true", "1990", "", " ", "1e5", "T3", "12345678901234567", "3–1", "2:03.45", "NA"),
    )
)
FORMS = st.sampled_from(["%d/%m/%Y", "%B %-d, %Y", "%-d %b %Y", "%Y-%m-%d"])
CELL = st.one_of(TEXT, LIKE_VALUES)


def as_csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue()


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=12)))
@example([["a", "1"], ["b", "x"]])
def test_no_cell_is_lost(rows: list[list[str]]) -> None:
    header = [f"head {i}" for i in range(len(rows[0]))]
    source = open_text(as_csv([header, *rows]), "t")
    written = source.written("t")
    assert written.column_names == header
    assert [list(r.values()) for r in written.to_pylist()] == rows
    loaded = source.load("t")
    assert loaded.num_rows == len(rows)
    dtypes = {c.name: c.dtype for c in source.boxes().boxes[0].columns}
    for number, name in enumerate(header):
        for row, value in zip(rows, loaded.column(name).to_pylist(), strict=True):
            if dtypes[name] in ("text", "mixed"):
                assert (value or "") == row[number].strip(" \t\n\f\v\u00a0\u2007\u202f\u200b\ufeff")


@settings(deadline=None, max_examples=150)
@given(st.lists(st.one_of(st.integers(-(10**14), 10**14), st.none()), min_size=1, max_size=30))
def test_integers_come_back(numbers: list[int | None]) -> None:
    texts = ["" if n is None else str(n) for n in numbers]
    typed = type_column("n", pa.chunked_array([pa.array(texts)]), Hints())
    if any(n is not None for n in numbers):
        assert typed.dtype == "integer"
        assert typed.values.to_pylist() == numbers


@settings(deadline=None, max_examples=150)
@given(st.lists(st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: round(x, 3)), min_size=1, max_size=30))
def test_grouped_and_decimal_numbers_come_back(numbers: list[float]) -> None:
    for write in (lambda x: f"{x:,.2f}", lambda x: f"{x:,.2f}".translate({44: ".", 46: ","}), lambda x: f"${x:,.2f}"):
        texts = [write(abs(x)) for x in numbers]
        typed = type_column("n", pa.chunked_array([pa.array(texts)]), Hints())
        assert typed.values.to_pylist() == [float(f"{abs(x):.2f}") for x in numbers]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.dates(min_value=dt.date(1000, 1, 1)), min_size=1, max_size=20, unique=True), FORMS)
def test_dates_come_back(days: list[dt.date], form: str) -> None:
    read = read_dates([d.strftime(form) for d in days], [1] * len(days), day_first=True)
    assert read is not None
    assert list(read.values) == days


@settings(deadline=None, max_examples=300)
@given(TEXT)
def test_readers_never_fail(text: str) -> None:
    read_figure(text)
    read_figures([text], [1])
    if text:
        read_date(text)
    assert box_name(text).isidentifier()


@settings(deadline=None, max_examples=150)
@given(st.lists(TEXT, min_size=1, max_size=8))
def test_names_are_unique_without_case(headers: list[str]) -> None:
    names, _ = column_names(headers, "t")
    assert len({n.lower() for n in names}) == len(headers)
    assert all(names)
