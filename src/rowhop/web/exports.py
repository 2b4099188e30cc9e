"""What a run can be taken away as: its program, its result, its trace; and more rows of its evidence."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rowhop import build
from rowhop.errors import ConfigError
from rowhop.tracefile import lines
from rowhop.types import Answer, Program, RowEvidence
from rowhop.web import wire

if TYPE_CHECKING:
    from rowhop.web.desk import Desk
    from rowhop.web.runs import Run


def file(desk: Desk, run: Run, name: str) -> str | None:
    """None where the run has nothing of that name."""
    answer = run.answer
    if name == "trace.jsonl" and run.trace is not None:
        return "\n".join(lines(run.trace.header(), tuple(run.trace.steps), answer, run.error)) + "\n"
    if answer is None:
        return None
    if name == "answer.json":
        return json.dumps(
            {**wire.answer(answer), "question": run.wish.question, "sources": places(desk, run)}, indent=2
        )
    if name == "result.csv" and answer.table is not None:
        return _csv(answer)
    program = answer.program
    if program is None:
        return None
    if name == "program.py":
        return standalone(program, places(desk, run), run.wish.question)
    return program.code + "\n" if name == f"program.{program.language}" and program.language != "python" else None


def places(desk: Desk, run: Run) -> list[str]:
    """The sources of the run, as they can be named to `rowhop rerun` (never with a password)."""
    talk = desk.talks[run.talk]
    known = [desk.places.entries[i] for i in talk.sources if i in desk.places.entries]
    return [e.name if e.uploaded or "://" in e.place else e.place for e in known]


def _csv(answer: Answer) -> str:
    assert answer.table is not None
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(map(_harmless, answer.table.columns))
    write.writerows([_harmless(cell) for cell in row] for row in answer.table.rows)
    return out.getvalue()


def _harmless(cell: object) -> object:
    """A text that a spreadsheet would run as a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not _number(cell):
        return f"'{cell}"
    return "" if cell is None else cell


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_HEAD = '''"""{question}

Written by rowhop; runs without a model: pip install rowhop, then python {file}
"""

import rowhop

SOURCES = {places}

source = rowhop.open_sources(SOURCES)
'''
_PYTHON = """import numpy as np
import pandas as pd

# Each table under its name, typed as rowhop reads it.
globals().update({{box.name: source.load(box.name).to_pandas() for box in source.boxes().boxes if box.name in {boxes}}})

{code}

print(answer)
"""
_SQL = """import duckdb

SQL = {code}

tables = duckdb.connect()
for box in source.boxes().boxes:
    tables.register(box.name, source.load(box.name))
print(tables.sql(SQL).df().to_string(index=False))
"""
_NATIVE = """SQL = {code}

print(source.select(SQL, 10_000, 60).to_pandas().to_string(index=False))
"""
_SPARQL = """SPARQL = {code}

for row in source.engine.ask(SPARQL, 10_000):
    print(*(value for value in row.values()), sep="\\t")
"""


def standalone(program: Program, where: list[str], question: str) -> str:
    """A Python file that gives the same result on the same files."""
    said = " ".join(question.split()).replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
    head = _HEAD.format(question=said, file="program.py", places=json.dumps(where, ensure_ascii=False))
    if program.language == "python":
        import ast

        names = sorted({n.id for n in ast.walk(ast.parse(program.code)) if isinstance(n, ast.Name)})
        return head + _PYTHON.format(boxes=json.dumps(names), code=program.code)
    code = json.dumps(program.code, ensure_ascii=False)
    if program.language == "sparql":
        return head + _SPARQL.format(code=code)
    body = _SQL if program.dialect in ("", "duckdb") else _NATIVE
    return head + body.format(code=code)


def rows(desk: Desk, run: Run, box: str, start: int, count: int) -> dict[str, Any]:
    """Rows that the answer rests on, as the source writes them. Raises RowhopError."""
    answer = run.answer
    found = [e for e in answer.evidence if isinstance(e, RowEvidence) and e.box == box] if answer else []
    if not found:
        raise ConfigError("The answer of this run rests on no rows of such a table.")
    one = found[0]
    numbers = one.row_numbers[start : start + count]
    talk = desk.talks[run.talk]
    over = build.opened([e.place for e in desk.places.chosen(talk.sources)], talk.settings)
    try:
        if not build.is_source(over) or over.boxes().box(box) is None:
            return {**asdict(one), "start": 0}
        table = over.written(box, one.columns, numbers)
        cells = [list(row.values()) for row in table.to_pylist()]
    finally:
        over.close()
    return {
        "box": box,
        "columns": one.columns,
        "row_numbers": numbers,
        "rows": cells,
        "total": one.total,
        "start": start,
    }
