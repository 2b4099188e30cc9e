"""Runs a program that is known already, without a model: a saved answer's on changed data, or one that a person wrote.

The same checks and the same sandbox as in a question's run.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from rowhop import build
from rowhop.errors import ReplyError, SourceError
from rowhop.trace import Budget, Trace
from rowhop.types import Caution, Evidence, Program, Question, Table, Value

if TYPE_CHECKING:
    from rowhop.build import Knowledge

_MOST = 10_000  # rows of a result
_SECONDS = 60.0


@dataclass(frozen=True)
class Saved:
    """What of a saved answer is needed to run it again. `sources` is empty where the file names none."""

    question: str
    program: Program
    values: tuple[Value, ...]
    table: Table | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """`error` says why there is no result; otherwise `values` are its cells in order."""

    values: tuple[Value, ...] = ()
    table: Table | None = None
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[Caution, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Change:
    """Rows of the result that are no longer there and rows that are new, each as often as it occurs."""

    gone: tuple[tuple[Value, ...], ...] = ()
    new: tuple[tuple[Value, ...], ...] = ()
    order: bool = False  # the same rows in another order

    def __bool__(self) -> bool:
        return bool(self.gone or self.new or self.order)


def read(file: Path) -> Saved:
    """What `--json` printed, what the page downloads as answer.json, or what `--trace` saved. Raises SourceError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SourceError(f"The answer {file} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{file} is no saved answer: it is not UTF-8 text.") from error
    try:
        found = _answer(text)
        if not found.get("program"):
            raise SourceError(f"The answer in {file} came by no program; there is nothing to run again.")
        return Saved(
            str(found.get("question") or ""),
            TypeAdapter(Program).validate_python(found["program"]),
            TypeAdapter(tuple[Value, ...]).validate_python(found["values"]),
            TypeAdapter(Table | None).validate_python(found.get("table")),
            TypeAdapter(tuple[str, ...]).validate_python(found.get("sources") or ()),
        )
    except (ValueError, ValidationError, LookupError, AttributeError, TypeError) as error:
        raise SourceError(
            f"{file} is no saved answer. Name a file with what --json printed or --trace saved."
        ) from error


def _answer(text: str) -> dict[str, Any]:
    """One object, or the lines of a trace: its header has the question, its end the answer."""
    try:
        found = json.loads(text)
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        header, end = lines[0]["header"], lines[-1]["end"]
        return {**(end["answer"] or {}), "question": header["question"]["text"]}
    if not isinstance(found, dict):
        raise ValueError("it is not one JSON object")
    return found


def run(program: Program, over: Knowledge, question: str = "") -> Outcome:
    """Run a program over opened sources. What is wrong with the program is an Outcome, not an exception."""
    if program.language == "sparql":
        return _sparql(program.code, over)
    if not build.is_source(over):
        return Outcome(error=f"A program in {program.language} runs over tables, and {over.name} is a graph.")
    from rowhop.agents.pandora import result
    from rowhop.agents.pandora.attempt import Workbench

    bench = Workbench(over, over.boxes(), Trace(Question(question), Budget(seconds=_SECONDS)))
    done = bench.attempt(program, "")
    if done.result is None:
        return Outcome(error=done.complaint, warnings=done.cautions)
    values = result.as_written(done.result, over, bench.boxes, done.program.code)
    evidence = result.evidence(bench.with_rows(done), over, bench.boxes)
    return Outcome(values, done.result.table, evidence, done.cautions)


def _sparql(query: str, over: Knowledge) -> Outcome:
    engine = getattr(over, "engine", None)
    if engine is None:
        return Outcome(error=f"A SPARQL query runs over a graph of triples, and {over.name} is none.")
    try:
        rows = engine.ask(query, _MOST)
    except ReplyError as refused:
        return Outcome(error=str(refused))
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    ids = {value for row in rows for value in row.values() if value is not None}
    names = {id: node.name for id in ids if build.is_graph(over) and (node := over.node(id)) is not None}
    cells = tuple(tuple(names.get(row.get(c), row.get(c)) for c in columns) for row in rows)
    return Outcome(tuple(v for row in cells for v in row), Table(columns, cells, len(cells)))


def compare(before: Saved, after: Outcome) -> Change:
    """What is different, as rows where both are tables, else as values."""
    old, new = _rows(before.table, before.values), _rows(after.table, after.values)
    if before.table is not None and before.table.total <= 1:
        # A saved value may be in the source's writing ("6,830"), which the table's cell is not.
        old, new = [(v,) for v in before.values], [(v,) for v in after.values]
    were, are = Counter(map(_key, old)), Counter(map(_key, new))
    gone, come = were - are, are - were
    return Change(
        _picked(old, gone),
        _picked(new, come),
        order=not gone and not come and [*map(_key, old)] != [*map(_key, new)],
    )


def _rows(table: Table | None, values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    return list(table.rows) if table is not None else [(v,) for v in values]


def _key(row: tuple[Value, ...]) -> str:
    """Floats that differ only in their last digits are the same."""
    return json.dumps([float(f"{v:.12g}") if isinstance(v, float) else v for v in row], default=str)


def _picked(rows: list[tuple[Value, ...]], wanted: Counter[str]) -> tuple[tuple[Value, ...], ...]:
    left = Counter(wanted)
    found = []
    for row in rows:
        if left[_key(row)] > 0:
            left[_key(row)] -= 1
            found.append(row)
    return tuple(found)
