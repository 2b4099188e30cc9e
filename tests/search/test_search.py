"""Names that look alike, and the closest vectors."""

from __future__ import annotations

import numpy as np
import pytest

from rowhop.search.text import nearest, plain
from rowhop.search.vectors import top


@pytest.mark.parametrize(
    ("name", "names", "best"),
    [
        ("started_at", ["start_ts", "StartedAt", "name"], "StartedAt"),
        ("custmer", ["orders", "customers", "days"], "customers"),
        ("price", ["unit_price", "day", "id"], "unit_price"),
        ("groesse", ["Größe", "Name"], "Größe"),
        ("Zurich", ["Genève", "Zürich"], "Zürich"),
        ("时间", ["地点", "时间"], "时间"),
        ("NAME", ["name"], "name"),
    ],
)
def test_nearest(name: str, names: list[str], best: str) -> None:
    assert nearest(name, names)[0] == best


def test_nearest_finds_nothing_where_nothing_is_near() -> None:
    assert nearest("zebra", ["id", "count_of_orders"]) == []
    assert nearest("", ["a"]) == []
    assert nearest("!!", ["a"]) == []
    assert nearest("a", []) == []
    assert nearest("ab", ["ab", "AB", "ab"], k=5) == ["ab", "AB"]


def test_plain() -> None:
    assert plain("createdAt  (UTC)") == "created at utc"
    assert plain("Straße-Nr_5") == "strasse nr 5"
    assert plain("٣ مدن") == "٣ مدن"


def test_top_is_exact_and_stable() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = sorted(range(500), key=lambda i: -float(vectors[i] @ vectors[7]))[:10]
    found = top(vectors[7], vectors, 10)
    assert [i for i, _ in found] == expected
    assert found[0] == (7, pytest.approx(1.0))
    same = np.ones((50, 2), np.float32)
    assert [i for i, _ in top(same[0], same, 3)] == [0, 1, 2]
    assert top(same[0], same, 0) == []
    assert top(same[0], same[:0], 3) == []
    assert len(top(same[0], same, 99)) == 50
