"""An Answer on the terminal and as JSON."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from rowhop.cli import AMBIGUOUS, ANSWERED, GAVE_UP, UNKNOWN, screen
from rowhop.types import Answer, Cost, Evidence, Program, RowEvidence, Table, TextEvidence, TripleEvidence

CODES = {"answered": ANSWERED, "unknown": UNKNOWN, "gave_up": GAVE_UP, "ambiguous": AMBIGUOUS}
_ROWS = 20  # of a result that the terminal shows
_RANKED = 6  # of a ranking under its answer
_EVIDENCE_ROWS = 5
_C1 = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LANGUAGES = {"python": "Python", "sql": "SQL", "sparql": "SPARQL"}


def show(answer: Answer) -> None:
    """Value or table, program, evidence, warnings, cost."""
    out = screen.out()
    _result(answer)
    if answer.program is not None:
        out.print()
        program(answer.program)
    _evidence(answer.evidence)
    if answer.warnings:
        out.print()
    for caution in answer.warnings:
        out.print(screen.plain(f"Caution: {caution.text}", "yellow"))
    out.print()
    out.print(screen.plain(_footing(answer), "dim"))


def _result(answer: Answer) -> None:
    out = screen.out()
    found = answer.table is not None or bool(answer.values)
    if answer.status == "ambiguous":
        out.print(screen.plain(answer.because or "The question can mean several things:", "bold"))
        for number, choice in enumerate(answer.choices, 1):
            out.print(screen.plain(f"  {number}  {choice}"))
        out.print("Say which with --choose N.")
        return
    if answer.status != "answered":
        head = "No answer was found." if answer.status == "unknown" else "Gave up before an answer was certain."
        out.print(screen.plain(f"{head} {answer.because}".rstrip(), "bold"))
        if not found:
            return
        out.print("The best result so far:")
    ranked = answer.method == "pasemiqa" and answer.table is not None
    if answer.table is not None and not ranked and (len(answer.table.columns) > 1 or answer.table.total > 1):
        table(answer.table)
    elif answer.values:
        out.print(screen.plain("\n".join(screen.shown(v) for v in answer.values[:_ROWS]), "bold green"))
        if len(answer.values) > _ROWS:
            out.print(f"… {len(answer.values) - _ROWS} more; --out FILE writes all of them.")
        if ranked and answer.table is not None and answer.table.total > 1:
            table(answer.table, _RANKED)  # the answer, and what else came into question
    else:
        out.print(screen.plain("Nothing matches: the result is empty.", "bold"))


def table(found: Table, most: int = _ROWS) -> None:
    """A result as a table; what is not shown is said."""
    out = screen.out()
    out.print(grid(found.columns, found.rows[:most]))
    if found.total > most:
        out.print(f"… {found.total - most} more rows; --out FILE writes all that were kept.")


def grid(columns: tuple[str, ...], rows: Any) -> Any:
    """A rich table in which nothing is cut and nothing is read as markup."""
    from rich import box
    from rich.table import Table as Grid

    drawn = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = [bool(rows) and all(_number(r[i]) for r in rows) for i in range(len(columns))]
    for name, is_number in zip(columns, numeric, strict=True):
        drawn.add_column(screen.plain(name), overflow="fold", justify="right" if is_number else "left")
    for row in rows:
        drawn.add_row(*(screen.plain(screen.shown(v)) for v in row))
    return drawn


def program(run: Program) -> None:
    out = screen.out()
    name = _LANGUAGES[run.language]
    out.print(screen.plain(f"Program ({name}{', ' + run.dialect if run.dialect else ''})", "bold"))
    code = screen.clean(run.code.rstrip())
    if out.is_terminal:
        from rich.syntax import Syntax

        out.print(Syntax(code, run.language, theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        out.print(code, soft_wrap=True)


def _evidence(found: tuple[Evidence, ...]) -> None:
    out = screen.out()
    for rows in found:
        if isinstance(rows, RowEvidence):
            out.print()
            _rows(rows)
    walked = [one for one in found if not isinstance(one, RowEvidence)]
    if walked:
        out.print()
        out.print(screen.plain("Rests on", "bold"))
    for one in walked[:_ROWS]:
        match one:
            case TripleEvidence():
                out.print(screen.plain(f"  {one.subject} —{one.relation}→ {one.object}"))
            case TextEvidence():
                out.print(screen.plain(f"  {one.node}: “{one.text}”"))
    if len(walked) > _ROWS:
        out.print(f"  … {len(walked) - _ROWS} more; --json has them all.")


def _rows(one: RowEvidence) -> None:
    out = screen.out()
    shown = one.rows[:_EVIDENCE_ROWS]
    count = f"{one.total} row{'' if one.total == 1 else 's'}"
    first = f", the first {len(shown)}" if one.total > len(shown) else ""
    out.print(screen.plain(f"Rests on {count} of {_place(one)}{first}", "bold"))
    numbered = tuple((number + 1, *row) for number, row in zip(one.row_numbers, shown, strict=False))
    if numbered and one.columns:
        out.print(grid(("row", *one.columns), numbered))


def _place(rows: RowEvidence) -> str:
    return rows.box if not rows.source or rows.source == rows.box else f"{rows.box} ({rows.source})"


def _footing(answer: Answer) -> str:
    parts = [answer.method, answer.model] if answer.method else []
    if answer.confidence is not None:
        parts.append(f"{answer.confidence:.0%} of the samples agree")
    return " · ".join(filter(None, [*parts, cost(answer.cost)]))


def cost(used: Cost) -> str:
    """
    >>> cost(Cost(calls=1, prompt_tokens=300, reply_tokens=20, seconds=2.5))
    '1 call · 300 + 20 tokens · 2.5 s'
    """
    calls = f"{used.calls} call{'' if used.calls == 1 else 's'}" if used.calls else "no call to a model"
    tokens = f"{used.prompt_tokens} + {used.reply_tokens} tokens" if used.calls else ""
    money = f"${used.money:.4f}" if used.money else ""
    return " · ".join(filter(None, [calls, tokens, f"{used.seconds:.1f} s", money]))


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Answer)


def as_json(answer: Answer) -> str:
    """The Answer as JSON that any console can carry; numbers JSON has no word for (NaN, infinity) are null."""
    raw = _adapter().dump_json(answer, exclude={"trace"})
    text = json.dumps(json.loads(raw), ensure_ascii=not screen.utf8(), indent=2)
    return _C1.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def schema() -> dict[str, Any]:
    """The JSON Schema of what `--json` prints."""
    made: dict[str, Any] = _adapter().json_schema(mode="serialization")
    made["properties"].pop("trace", None)
    return made
