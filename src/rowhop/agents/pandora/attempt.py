"""One program from check to result, whatever its language: Python, SQL over BOXes, or the source's own SQL."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rowhop.agents.pandora import loading, result
from rowhop.agents.pandora.check import check_python
from rowhop.agents.pandora.mendsql import mend_sql, requalify
from rowhop.agents.pandora.result import Result
from rowhop.box import BoxSet
from rowhop.errors import ReplyError, SourceError
from rowhop.sandbox import Limits, Run, Sandbox, run_code
from rowhop.sources import Source
from rowhop.trace import CodeRun, Trace
from rowhop.types import Caution, Program

if TYPE_CHECKING:
    import pyarrow as pa

# Cells of a column that compared values are looked up among.
CELLS = 5_000
# Tables of more rows are not read again just to tell the rows behind an answer.
EVIDENCE_ROWS = 200_000


@dataclass(frozen=True)
class Attempt:
    """`complaint` is what the model is told, empty when there is a result. `program` is what ran, after mending."""

    program: Program
    rationale: str
    complaint: str = ""
    result: Result | None = None
    run: Run | None = None
    cautions: tuple[Caution, ...] = ()
    doubt: str = ""  # what is odd about the result, see `plausible`

    @property
    def ok(self) -> bool:
        return self.result is not None

    @property
    def empty(self) -> bool:
        return self.result is not None and self.result.empty

    @property
    def sound(self) -> bool:
        """A result that rests on something."""
        return self.ok and not self.empty and not self.nothing

    @property
    def says_unknown(self) -> bool:
        """`answer = None`: the tables cannot tell, as the model sees it."""
        return self.empty and self.program.code.strip() == "answer = None"

    @property
    def nothing(self) -> bool:
        """A count of 0 over no row at all: the conditions met nothing, which is a slip more often than not."""
        if self.result is None or self.run is None or self.program.language != "python":
            return False
        return self.result.values in ((0,), (0.0,)) and not any(self.run.rows_total.values())


class Workbench:
    """Runs programs over the chosen BOXes of one question. Loaded rows are kept for the next attempt."""

    def __init__(self, source: Source, boxes: BoxSet, trace: Trace, unsafe: Sandbox | None = None) -> None:
        self.source = source
        self.boxes = boxes
        self.trace = trace
        self.unsafe = unsafe
        self._loaded: dict[tuple[str, tuple[str, ...]], tuple[pa.Table, tuple[Caution, ...]]] = {}
        self.cells = lru_cache(maxsize=256)(self._cells)

    def _cells(self, box: str, column: str) -> list[str]:
        return self.source.distinct(box, column, CELLS)

    def attempt(self, program: Program, rationale: str) -> Attempt:
        start = time.monotonic()
        cautions: list[Caution] = []
        try:
            run, program = self._run(program, cautions)
        except ReplyError as refused:
            self._record(program, "refused", str(refused), None, (), start)
            return Attempt(program, rationale, str(refused))
        cautions += result.cautions(run.warnings)
        if run.status != "ok":
            complaint = run.error or f"The program ended with: {run.status}."
            self._record(program, run.status, complaint, None, cautions, start)
            return Attempt(program, rationale, complaint, run=run, cautions=tuple(cautions))
        found = result.result_of(run)
        cautions += result.cut_short(run, found)
        self._record(program, "ok", "", found, cautions, start)
        return Attempt(program, rationale, "", found, run, tuple(cautions))

    def _run(self, program: Program, cautions: list[Caution]) -> tuple[Run, Program]:
        if program.language == "python":
            checked = check_python(program.code, self.boxes, self.cells)
            cautions += checked.cautions
            program = Program("python", checked.code)
            loaded = self._load(loading.python_columns(self.boxes, checked.code), cautions)
            return self._sandboxed(program, loaded), program
        from rowhop.sources.readonly import check_select

        dialect = program.dialect or "duckdb"
        selected = check_select(requalify(program.code, dialect, self.boxes), dialect, self.boxes)
        if not selected.boxes_used and selected.sql.upper() != "SELECT NULL":  # which says that the tables cannot tell
            listed = ", ".join(box.name for box in self.boxes.boxes)
            raise ReplyError(f"The answer must be computed from the data. The tables are: {listed}.")
        mended, changes = mend_sql(selected.sql, dialect, self.boxes, self.cells)
        cautions += changes
        program = Program("sql", mended, dialect)
        if dialect == self.source.dialect:
            return self._native(program), program
        return self._sandboxed(program, self._load(selected.boxes_used, cautions)), program

    def with_rows(self, done: Attempt) -> Run:
        """The run with the rows that its answer rests on. A statement that the database itself ran is run once more
        over the BOXes for that, where they are small; rows are told only when both results are the same."""
        assert done.run is not None
        if done.program.language != "sql" or done.run.rows or done.program.dialect != self.source.dialect:
            return done.run
        import sqlglot
        from sqlglot.errors import SqlglotError

        from rowhop.sources.readonly import check_select

        try:
            sql = sqlglot.transpile(done.program.code, read=done.program.dialect, write="duckdb")[0]
            selected = check_select(sql, "duckdb", self.boxes)
            used = [self.boxes.box(name) for name in selected.boxes_used]
            if any(box is None or box.rows is None or box.rows > EVIDENCE_ROWS for box in used):
                return done.run
            sql, _ = mend_sql(selected.sql, "duckdb", self.boxes, self.cells)
            again = self._sandboxed(Program("sql", sql, "duckdb"), self._load(selected.boxes_used, []))
        except (ReplyError, SqlglotError, SourceError):
            return done.run
        same = again.status == "ok" and done.result is not None and result.result_of(again).key == done.result.key
        return again if same else done.run

    def _sandboxed(self, program: Program, tables: Mapping[str, pa.Table]) -> Run:
        limits = _limits(self.trace)
        return self.unsafe.run(program, tables, limits) if self.unsafe else run_code(program, tables, limits)

    def _native(self, program: Program) -> Run:
        start = time.monotonic()
        table = self.source.select(program.code, result.ROWS, _limits(self.trace).wall_seconds)
        return Run("ok", "frame", table=table, seconds=time.monotonic() - start)

    def _load(self, used: Mapping[str, tuple[str, ...]], cautions: list[Caution]) -> dict[str, pa.Table]:
        tables: dict[str, pa.Table] = {}
        for name, columns in used.items():
            key = (name, tuple(columns))
            if key not in self._loaded:
                one = loading.load(self.source, self.boxes, {name: columns})
                self._loaded[key] = one.tables[name], one.cautions
            tables[name], found = self._loaded[key]
            cautions += found
        return tables

    def _record(
        self, program: Program, status: str, error: str, found: Result | None, warned: object, start: float
    ) -> None:
        table = found.table if found is not None else None
        if table is not None and len(table.rows) > 20:
            table = type(table)(table.columns, table.rows[:20], table.total)
        warnings = tuple(warned) if isinstance(warned, list | tuple) else ()
        self.trace.add(CodeRun(program, status, error, table, warnings, round(time.monotonic() - start, 4)))


def _limits(trace: Trace) -> Limits:
    """The sandbox's limits, cut to what is left of the question's seconds."""
    usual = Limits()
    if trace.budget.seconds is None:
        return usual
    left = max(0.5, trace.budget.seconds - trace.elapsed)
    return Limits(cpu_seconds=max(1, min(usual.cpu_seconds, int(left) + 1)), wall_seconds=min(usual.wall_seconds, left))
