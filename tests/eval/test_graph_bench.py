"""The store's benchmark over a small file: it runs, and what it counts is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.eval import graph_bench


def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert graph_bench.main(["--folder", str(tmp_path), "--triples", "20000"]) == 0
    told = capsys.readouterr().out
    assert "rowhop: load s" in told
    assert "rdflib: " in told


def test_the_neighbourhood_has_ten_thousand_triples(tmp_path: Path) -> None:
    file = graph_bench.write_triples(tmp_path / "t.nt", 12_000)
    assert len(file.read_text().splitlines()) == 12_000
    found = graph_bench.ours(file, tmp_path / "cache")
    assert found["box rows"] >= 9_900


def test_a_large_file_is_loaded_apart(tmp_path: Path) -> None:
    found = graph_bench.large(tmp_path, 0.002)
    assert found["peak GB"] < 2
    assert not list(tmp_path.glob("large*"))
