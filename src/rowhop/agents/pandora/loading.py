"""Brings the rows of the BOXes that a program uses, and of these only the columns that it can reach."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowhop.agents.pandora.words import fold
from rowhop.box import Box, BoxSet
from rowhop.sources import Source
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

# Below this many rows all columns are brought: it costs nothing, and no way of using them goes wrong.
SMALL = 20_000
# Ways of using a frame that reach columns without naming them.
_WHOLE = frozenset(
    """columns iloc iat items iterrows itertuples select_dtypes describe info T transpose values to_numpy to_dict
    to_records dtypes shape size melt stack corr cov nunique agg apply map isna isnull notna dropna drop_duplicates
    duplicated filter pipe""".split()
)
TOTALS = frozenset({"total", "totals", "sum", "gesamt", "summe", "insgesamt", "grand total", "overall total", "total:"})


@dataclass(frozen=True)
class Loaded:
    """`tables` maps BOX names to Arrow tables. Rows of totals at the end of a table are not part of them."""

    tables: dict[str, pa.Table]
    cautions: tuple[Caution, ...] = ()


def python_columns(boxes: BoxSet, code: str) -> dict[str, tuple[str, ...]]:
    """The BOXes that a program names, each with the columns that it can reach."""
    tree = ast.parse(code)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    used: dict[str, tuple[str, ...]] = {}
    for box in boxes.boxes:
        if box.name not in names:
            continue
        named = tuple(c.name for c in box.columns if c.name in texts or c.name in attributes or _in(c.name, texts))
        whole = not named or attributes & _WHOLE or box.rows is None or box.rows <= SMALL
        used[box.name] = tuple(c.name for c in box.columns) if whole else named
    return used


def _in(column: str, texts: set[str]) -> bool:
    """Inside a longer text, as in df.query("Year > 2000")."""
    return any(column in text for text in texts)


def load(source: Source, boxes: BoxSet, used: Mapping[str, tuple[str, ...]]) -> Loaded:
    tables: dict[str, pa.Table] = {}
    cautions: list[Caution] = []
    for name, columns in used.items():
        box = boxes.box(name)
        if box is None:
            continue
        wanted = tuple(c.name for c in box.columns) if "*" in columns else columns
        tables[name], caution = _rows(source, box, wanted)
        if caution is not None:
            cautions.append(caution)
    return Loaded(tables, tuple(cautions))


def _rows(source: Source, box: Box, columns: tuple[str, ...]) -> tuple[pa.Table, Caution | None]:
    table = source.load(box.name, columns)
    if source.dialect or table.num_rows > SMALL:  # a database's table ends in no total
        return table, None
    total = total_rows(source, box, table.num_rows)
    if not total:
        return table, None
    text = f"The last row of {box.name} is a total ({total[0]!r}) and was not counted."
    return table.slice(0, table.num_rows - len(total)), Caution("total_row_left_out", text)


def total_rows(source: Source, box: Box, rows: int) -> list[str]:
    """What stands in the label of each closing row that is a total; the rows' number is the list's length."""
    labels = [c.name for c in box.columns if c.dtype in ("text", "mixed")][:3]
    if not labels or rows < 3:
        return []
    found: list[str] = []
    for back in range(1, 3):
        cells = source.written(box.name, labels, [rows - back]).to_pylist()[0]
        said = next((c for c in cells.values() if c and fold(c).strip(" .:") in TOTALS), None)
        if said is None:
            break
        found.append(said)
    return found
