"""How values look in a notebook: HTML in which everything from data or a model is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowhop.box import Box
    from rowhop.types import Answer, Evidence

ROWS = 20  # of a table
STEPS = 100  # of a trace
_TEXT = 2000  # characters of one text
_DIM = "opacity:.65;font-size:90%"
_PRE = "white-space:pre-wrap;overflow-wrap:anywhere;padding:6px 8px;border:1px solid rgba(128,128,128,.35)"
# Characters that turn the direction of what follows, or cannot be seen.
_UNSEEN = {c: f"\\u{c:04x}" for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200E, 0x200F, 0xFEFF)}


def answer(of: Answer) -> str:
    """Value or table, then program, evidence and warnings, folded."""
    parts = []
    if of.status != "answered":
        said = {"unknown": "No answer was found.", "ambiguous": "The question can mean several things."}
        parts.append(f"<b>{said.get(of.status, 'Gave up before an answer was certain.')}</b>")
    parts += [f"<div>{_text(choice)}</div>" for choice in of.choices]
    if of.table is not None and (len(of.table.columns) > 1 or of.table.total > 1):
        parts.append(_table(of.table.columns, of.table.rows, of.table.total))
    else:
        parts += [f'<div style="font-size:150%;font-weight:600">{_cell(v)}</div>' for v in of.values[:ROWS]]
    if of.because:
        parts.append(f'<div style="{_DIM}">{_text(of.because)}</div>')
    parts += [f"<div>⚠ {_text(w.text)}</div>" for w in of.warnings]
    if of.program is not None:
        parts.append(_fold(f"Program ({of.program.language})", _pre(of.program.code)))
    if of.evidence:
        parts.append(_fold("What it rests on", "".join(_evidence(e) for e in of.evidence[:STEPS])))
    footing = " · ".join(filter(None, (of.method, of.model, f"{of.cost.seconds:.1f} s" if of.cost.seconds else "")))
    return f'<div>{"".join(parts)}<div style="{_DIM}">{_text(footing)}</div></div>'


def box(of: Box) -> str:
    """Name, size, and the columns with types and samples."""
    size = "" if of.rows is None else f" ({of.rows:,} rows)"
    rows = [
        (f"{c.name} (key)" if c.name in of.keys else c.name, c.dtype, ", ".join(map(str, c.samples)))
        for c in of.columns
    ]
    shown = _table(("column", "type", "for example"), rows, len(rows), most=len(rows))
    about = f'<div style="{_DIM}">{_text(of.about)}</div>' if of.about else ""
    return f"<div><b>{_text(of.name)}</b>{size}{about}{shown}</div>"


def trace(question: str, steps: Sequence[Any]) -> str:
    """The steps in order, each folded."""
    lines = []
    for number, step in enumerate(steps[:STEPS], 1):
        head, body = _step(step)
        lines.append(_fold(f"{number}. {head} ({step.at:.2f} s)", _pre(body)))
    if len(steps) > STEPS:
        lines.append(f'<div style="{_DIM}">{len(steps) - STEPS} more steps</div>')
    return f"<div><b>{_text(question)}</b>{''.join(lines)}</div>"


def _step(step: Any) -> tuple[str, str]:
    match step.kind:
        case "boxes_opened":
            return f"Opened {', '.join(step.boxes)}", step.shown
        case "model_call":
            return f"Asked {step.model} ({step.purpose})", "\n\n".join(step.replies)
        case "code_run":
            return f"Ran a program: {step.status}", f"{step.program.code}\n\n{step.error}".strip()
        case "graph_read":
            return "Read the graph", "\n".join((step.query, *step.found))
        case _:
            return step.topic, step.text


def _evidence(one: Evidence) -> str:
    match one.kind:
        case "rows":
            numbered = [(n + 1, *row) for n, row in zip(one.row_numbers, one.rows, strict=False)]
            return f"<div>{_text(one.box)}</div>{_table(('row', *one.columns), numbered, one.total)}"
        case "triple":
            return f"<div>{_text(one.subject)} — {_text(one.relation)} → {_text(one.object)}</div>"
        case "text":
            return f"<div><b>{_text(one.node)}</b>: “{_text(one.text)}”</div>"


def _table(columns: Iterable[str], rows: Sequence[Sequence[Any]], total: int, most: int = ROWS) -> str:
    head = "".join(f"<th>{_text(c)}</th>" for c in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(v)}</td>' for v in row)}</tr>" for row in rows[:most])
    more = f'<div style="{_DIM}">{total:,} rows in all</div>' if total > min(len(rows), most) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    return "—" if value is None else _text(value)


def _pre(text: str) -> str:
    return f'<pre style="{_PRE}">{_text(text)}</pre>'


def _fold(title: str, inside: str) -> str:
    return f"<details><summary>{_text(title)}</summary>{inside}</details>"


def _text(value: Any) -> str:
    text = str(value).translate(_UNSEEN)
    return escape(text if len(text) <= _TEXT else text[: _TEXT - 1] + "…")
