"""What goes in and what comes out: Question, Answer, and the evidence an answer rests on.

Plain frozen values without behaviour. JSON crosses only through pydantic's TypeAdapter (see `trace`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

# A JSON scalar, as a cell of a result: dates are ISO 8601 text, a missing value is None.
Value = str | int | float | bool | None

Language = Literal["python", "sql", "sparql"]
Status = Literal["answered", "unknown", "ambiguous", "gave_up"]


@dataclass(frozen=True)
class Question:
    text: str
    topics: tuple[str, ...] = ()  # nodes known beforehand (graphs)
    id: str = ""
    context: str = ""  # what was asked and answered before, in a conversation; enters the prompt


@dataclass(frozen=True)
class Program:
    """What was run. `dialect` names the SQL dialect ("duckdb" over BOXes, else the source's own)."""

    language: Language
    code: str
    dialect: str = ""


@dataclass(frozen=True)
class Table:
    """A result as rows. `rows` may be cut; `total` is the number of rows before the cut."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    total: int


@dataclass(frozen=True)
class RowEvidence:
    """Rows of one BOX that the answer rests on, found by the program's run and not by the model.

    `row_numbers` count from 0 in the source's order; `total` counts before the cut;
    `columns` and `rows` show them as they stand in the source.
    """

    source: str
    box: str
    row_numbers: tuple[int, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    total: int
    kind: Literal["rows"] = "rows"


@dataclass(frozen=True)
class TripleEvidence:
    """One edge of a graph that the answer rests on."""

    subject: str
    relation: str
    object: str
    kind: Literal["triple"] = "triple"


@dataclass(frozen=True)
class TextEvidence:
    """A span of a node's text that the answer rests on."""

    node: str
    text: str
    start: int
    end: int
    kind: Literal["text"] = "text"


Evidence = RowEvidence | TripleEvidence | TextEvidence


@dataclass(frozen=True)
class Caution:
    """Something that may make the answer wrong without an error, e.g. rows lost in a join.

    `kind` is a fixed word that programs can test (`rows_lost`, `ties_cut`, `total_row`, …), `text` is for people.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Cost:
    """What a run used. `money` is in US dollars, None where no price is known."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
    money: float | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a question.

    `values` are the cells of the result in order (a single-column result has one per row).
    `confidence` is the share of samples that agree, None with one sample.
    """

    status: Status
    values: tuple[Value, ...] = ()
    choices: tuple[str, ...] = ()  # for status "ambiguous": what the question may mean
    because: str = ""  # the model's rationale, or why there is no answer
    table: Table | None = None
    program: Program | None = None
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[Caution, ...] = ()
    confidence: float | None = None
    cost: Cost = field(default_factory=Cost)
    method: str = ""
    model: str = ""
    trace: Any = field(default=None, repr=False, compare=False)  # the run's Trace; not part of the JSON

    def _repr_html_(self) -> str:
        from rowhop import notebook

        return notebook.answer(self)
