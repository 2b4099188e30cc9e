"""Execution match of Spider: does the predicted SQL give the gold SQL's result on one database file?

Agrees with the test-suite evaluator without value plugging and with DISTINCT not kept. A program that is not SQL
of the database's own dialect is judged by its result table (`result_match`).
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rowhop.errors import SourceError
from rowhop.eval.metrics import Score
from rowhop.types import Answer, Value

Cell = Value | bytes
Rows = list[tuple[Cell, ...]]

NAME = "EX"
SUITE = "EX-suite"  # over the variants of a database, where a folder holds them
SECONDS = 20.0  # for one query
MOST_ROWS = 200_000
MOST_BYTES = 50_000_000  # of one cell: `zeroblob(1e9)` must not fill the memory
_STEPS = 10_000  # of SQLite's machine between two looks at the clock

# Pieces of SQL in which a semicolon or a word has no meaning of its own, then words, then any other character.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?\*/ | \w+ | .""",
    re.VERBOSE | re.DOTALL,
)
_SPLIT_SIGNS = (("> =", ">="), ("< =", "<="), ("! =", "!="))
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.0+)?(?:Z|\+00:00)?")


@dataclass(frozen=True)
class Result:
    """Rows of a query, or why there are none."""

    rows: Rows
    error: str = ""


def first_statement(sql: str, keep_distinct: bool = False) -> str:
    """The text up to the first semicolon, comparison signs joined, without the word DISTINCT."""
    for split, joined in _SPLIT_SIGNS:
        sql = sql.replace(split, joined)
    kept: list[str] = []
    for token in _TOKEN.findall(sql):
        if token == ";" and "".join(kept).strip():
            break
        if keep_distinct or token.lower() != "distinct":
            kept.append(token)
    return "".join(kept)


def ordered(gold_sql: str) -> bool:
    """Row order counts exactly when the gold text contains `order by`, wherever it stands."""
    return "order by" in gold_sql.lower()


def run_sql(database: Path, sql: str, seconds: float = SECONDS) -> Result:
    """Run one statement; reading is all it may do. Text that is not UTF-8 loses its odd bytes."""
    deadline = time.monotonic() + seconds
    try:
        with closing(_open(database)) as db:
            db.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
            rows = db.execute(sql).fetchmany(MOST_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        late = time.monotonic() > deadline
        return Result([], f"it ran longer than {seconds:g} seconds" if late else str(error) or type(error).__name__)
    if len(rows) > MOST_ROWS:
        return Result([], f"it gives more than {MOST_ROWS:,} rows")
    return Result([tuple(row) for row in rows])


def _open(database: Path) -> sqlite3.Connection:
    place = f"file:{quote(str(database.resolve()))}?mode=ro"
    db = sqlite3.connect(place, uri=True)
    db.text_factory = lambda raw: raw.decode("utf-8", errors="ignore")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    # Read-only mode alone would still let VACUUM INTO and ATTACH touch other files.
    db.set_authorizer(_allow)
    return db


def _allow(action: int, one: str | None, two: str | None, *_: object) -> int:
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (two or "").lower() == "load_extension" else sqlite3.SQLITE_OK
    reading = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
    return sqlite3.SQLITE_OK if action in reading else sqlite3.SQLITE_DENY


def execution_match(database: Path, gold_sql: str, predicted_sql: str, seconds: float = SECONDS) -> Score:
    """1 if both queries, DISTINCT taken out of both, give the same rows. Raises SourceError when gold fails."""
    gold = gold_rows(database, gold_sql, seconds=seconds)
    found = run_sql(database, first_statement(predicted_sql), seconds)
    if found.error:
        return Score(NAME, 0.0, f"The predicted query fails: {found.error}.")
    return same_rows(gold, found.rows, ordered(gold_sql))


def suite_match(database: Path, gold_sql: str, predicted_sql: str, seconds: float = SECONDS) -> Score:
    """Test-suite accuracy: 1 if the queries agree on every variant of the database, the .sqlite files beside it."""
    variants = sorted(database.parent.glob("*.sqlite"))
    for variant in variants:
        score = execution_match(variant, gold_sql, predicted_sql, seconds)
        if not score.value:
            return Score(SUITE, 0.0, f"On {variant.name}: {score.because}")
    return Score(SUITE, 1.0, f"The queries agree on all {len(variants)} variants.")


def has_suite(database: Path) -> bool:
    return len(list(database.parent.glob("*.sqlite"))) > 1


def gold_rows(database: Path, gold_sql: str, keep_distinct: bool = False, seconds: float = SECONDS) -> Rows:
    gold = run_sql(database, first_statement(gold_sql, keep_distinct), seconds)
    if gold.error:
        raise SourceError(f"The gold query fails on {database.name}: {gold.error}. It was: {gold_sql}")
    return gold.rows


def same_rows(gold: Sequence[Sequence[Cell]], found: Sequence[Sequence[Cell]], order_matters: bool) -> Score:
    """1 if one permutation of columns turns one result into the other, as a list or, without order, as a bag.

    Cells are compared exactly: no tolerance, text is not a number, missing equals only missing. An integer equals
    the float of the same value (the official code rejects some such rows next to certain other values).
    """
    want, have = [tuple(row) for row in gold], [tuple(row) for row in found]
    if not want and not have:
        return Score(NAME, 1.0, "Both results are empty.")
    if len(want) != len(have):
        return Score(NAME, 0.0, f"The result has {len(have)} rows, the gold result {len(want)}.")
    width = {len(row) for row in want + have}
    if len(width) != 1:
        return Score(NAME, 0.0, f"The result has {len(have[0])} columns, the gold result {len(want[0])}.")
    form: Callable[[list[object]], object] = list if order_matters else Counter
    for _ in _matching_columns(want, have, form):
        return Score(NAME, 1.0, f"All {len(want)} rows agree{' in order' if order_matters else ''}.")
    if order_matters and any(True for _ in _matching_columns(want, have, Counter)):
        return Score(NAME, 0.0, "The rows agree, but not their order, which the gold query asks for.")
    return Score(NAME, 0.0, f"The rows differ; gold begins with {want[0]!r}, the result with {have[0]!r}.")


def _matching_columns(want: Rows, have: Rows, form: Callable[[list[object]], object]) -> Iterator[tuple[int, ...]]:
    """Orders of `have`'s columns under which both agree; a column is placed only where the rows so far agree."""
    width = len(want[0])
    targets = [form([row[: k + 1] for row in want]) for k in range(width)]

    def place(chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(chosen) == width:
            yield chosen
            return
        for column in range(width):
            if column not in chosen:
                order = (*chosen, column)
                if form([tuple(row[c] for c in order) for row in have]) == targets[len(chosen)]:
                    yield from place(order)

    return place(())


def result_match(database: Path, gold_sql: str, rows: Sequence[Sequence[Value]], seconds: float = SECONDS) -> Score:
    """Judge a result table. The gold query may keep or lose its DISTINCT, as the official check forgives either."""
    order = ordered(gold_sql)
    found = [tuple(brought_back(cell) for cell in row) for row in rows]
    best: Score | None = None
    for keep in (True, False):
        gold = [tuple(brought_back(c) for c in row) for row in gold_rows(database, gold_sql, keep, seconds)]
        score = same_rows(gold, found, order)
        if score.value:
            return score
        best = best or score
    assert best is not None
    return best


def brought_back(cell: Cell) -> Cell:
    """A cell as the database would give it: NaN is missing, midnight or a `T` between date and time is a frame's."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, str) and (moment := _MOMENT.fullmatch(cell)):
        day, clock = moment.groups()
        return day if clock == "00:00:00" else f"{day} {clock}"
    return cell


def answer_match(database: Path, gold_sql: str, answer: Answer, seconds: float = SECONDS) -> Score:
    """Judge an Answer: SQL of SQLite by execution match, any other program by its result."""
    program = answer.program
    if program is not None and program.language == "sql" and program.dialect == "sqlite":
        return execution_match(database, gold_sql, program.code, seconds)
    if answer.table is not None:
        if answer.table.total > len(answer.table.rows):
            return Score(NAME, 0.0, f"The result was cut: {len(answer.table.rows)} of {answer.table.total} rows.")
        rows: Sequence[Sequence[Value]] = answer.table.rows
    else:
        rows = [(value,) for value in answer.values]
    score = result_match(database, gold_sql, rows, seconds)
    if score.value or program is None or program.language != "sql":
        return score
    return _without_distinct(database, gold_sql, program.code, rows, seconds) or score


def _without_distinct(
    database: Path, gold_sql: str, code: str, rows: Sequence[Sequence[Value]], seconds: float
) -> Score | None:
    """DISTINCT counts in neither query, so SQL of another dialect is judged without it as well.

    Only where its translation gives on this file what the program gave; None otherwise.
    """
    import sqlglot

    if "distinct" not in code.lower():
        return None
    try:
        translated = sqlglot.transpile(code, read="duckdb", write="sqlite")[0]
    except (sqlglot.errors.SqlglotError, IndexError):
        return None
    again = run_sql(database, translated, seconds)
    given = [tuple(brought_back(cell) for cell in row) for row in rows]
    if again.error or not same_rows(again.rows, given, order_matters=False).value:
        return None
    score = execution_match(database, gold_sql, translated, seconds)
    return Score(NAME, score.value, f"DISTINCT taken out of both: {score.because}") if score.value else None
