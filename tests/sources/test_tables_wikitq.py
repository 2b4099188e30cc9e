"""The tables of WikiTableQuestions: backslash-escaped quotes, line breaks in cells; every cell must come through."""

from __future__ import annotations

import csv
import os
import statistics
import time
from pathlib import Path

import pytest

from rowhop.sources.tables import open_table

DATA = os.environ.get("ROWHOP_BENCH_DATA", "")
needs_data = pytest.mark.skipif(
    not DATA or not Path(DATA, "wikitq", "csv").is_dir(),
    reason="ROWHOP_BENCH_DATA names no folder with wikitq/csv",
)


@needs_data
def test_nothing_of_any_table_is_lost() -> None:
    files = sorted(Path(DATA, "wikitq", "csv").glob("*/*.csv"))
    assert len(files) > 1000
    for file in files:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [r for r in csv.reader(lines, escapechar="\\", doublequote=False) if r]
        source = open_table(file)
        (box,) = source.boxes().boxes
        written = source.written(box.name)
        assert (box.rows, len(box.columns)) == (len(rows) - 1, len(rows[0])), file
        assert list(map(list, zip(*(c.to_pylist() for c in written.columns), strict=True))) == rows[1:], file


@needs_data
def test_a_small_table_opens_at_once() -> None:
    files = sorted(Path(DATA, "wikitq", "csv").glob("*/*.csv"))[::10]
    open_table(files[0]).boxes()
    spent = []
    for file in files:
        start = time.process_time()
        open_table(file).boxes()
        spent.append(time.process_time() - start)
    assert statistics.median(spent) <= 0.010
