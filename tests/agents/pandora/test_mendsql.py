"""What other engines let pass is written out for DuckDB."""

import pytest

from rowhop.agents.pandora.mendsql import mend_sql, requalify
from rowhop.box import Box, BoxSet, Column

BOXES = BoxSet((Box("t", (Column("id", "integer"), Column("name", "text"), Column("year", "text"))),))
CELLS = {"name": ["Rome, Italy", "Turin, Italy", "Oslo"], "year": ["2003", "2004"]}


@pytest.mark.parametrize(
    ("sql", "mended"),
    [
        ("SELECT id FROM t WHERE name = 'oslo'", "SELECT id FROM t WHERE name = 'Oslo'"),
        ("SELECT id FROM t WHERE name = 'Italy'", "SELECT id FROM t WHERE name IN ('Rome, Italy', 'Turin, Italy')"),
        ("SELECT id FROM t WHERE name IN ('oslo', 'x')", "SELECT id FROM t WHERE name IN ('Oslo', 'x')"),
        ("SELECT id FROM t WHERE name = 'Paris'", "SELECT id FROM t WHERE name = 'Paris'"),
        ("SELECT id FROM t WHERE year = 2003", "SELECT id FROM t WHERE year = '2003'"),
        ("SELECT id FROM t WHERE name LIKE '%oslo%'", "SELECT id FROM t WHERE name ILIKE '%oslo%'"),
        (
            "SELECT name, COUNT(*) FROM t GROUP BY id",
            'SELECT ANY_VALUE(name) AS "name", COUNT(*) FROM t GROUP BY id',
        ),
        (
            "SELECT year, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1",
            "SELECT year, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1",
        ),
        ("SELECT id + 1 AS y, COUNT(*) FROM t GROUP BY y", "SELECT id + 1 AS y, COUNT(*) FROM t GROUP BY y"),
        (
            "SELECT year FROM t GROUP BY year ORDER BY COUNT(*) DESC, id",
            "SELECT year FROM t GROUP BY year ORDER BY COUNT(*) DESC, ANY_VALUE(id)",
        ),
        (
            "SELECT year, COUNT(*) AS n FROM t GROUP BY year HAVING n > 1 ORDER BY n",
            "SELECT year, COUNT(*) AS n FROM t GROUP BY year HAVING n > 1 ORDER BY n",
        ),
        (
            "SELECT year FROM t GROUP BY year HAVING COUNT(*) > (SELECT MAX(id) FROM t)",
            "SELECT year FROM t GROUP BY year HAVING COUNT(*) > (SELECT MAX(id) FROM t)",
        ),
    ],
)
def test_mended(sql: str, mended: str) -> None:
    found, _ = mend_sql(sql, "duckdb", BOXES, lambda box, column: CELLS.get(column, []))
    assert found == mended


def test_other_engines_keep_their_own_ways() -> None:
    sql = "SELECT name, COUNT(*) FROM t WHERE name LIKE '%o%' GROUP BY id"
    assert mend_sql(sql, "sqlite", BOXES, lambda box, column: CELLS.get(column, [])) == (sql, [])


@pytest.mark.parametrize(
    ("sql", "mended"),
    [
        (
            "SELECT r.director FROM rating AS r JOIN movie AS m ON r.mid = m.mid",
            'SELECT "m".director FROM rating AS r JOIN movie AS m ON r.mid = m.mid',
        ),
        ("SELECT r.stars FROM rating AS r", "SELECT r.stars FROM rating AS r"),
        ("SELECT r.nothing FROM rating AS r JOIN movie AS m ON r.mid = m.mid", None),
        ("SELECT t.n FROM (SELECT COUNT(*) AS n FROM movie) AS t", None),
        ("SELEC broken", None),
    ],
)
def test_a_field_of_the_other_table_is_found(sql: str, mended: str | None) -> None:
    movie = Box("movie", (Column("mid", "integer"), Column("director", "text")))
    rating = Box("rating", (Column("mid", "integer"), Column("stars", "integer")))
    assert requalify(sql, "sqlite", BoxSet((movie, rating))) == (mended or sql)
