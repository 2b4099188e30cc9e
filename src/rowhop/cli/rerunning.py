"""`rowhop rerun`: a saved answer's program once more, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.cli import ANSWERED, FAULT, UNKNOWN, screen
from rowhop.cli.asking import piped
from rowhop.errors import ConfigError

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.rerun import Change, Outcome, Saved
    from rowhop.types import Table, Value

_SHOWN = 10


def again(file: Path, sources: Sequence[str], settings: Settings, as_json: bool) -> int:
    """Returns the exit code: the same, another result, or no result."""
    from rowhop import build
    from rowhop.rerun import compare, read, run

    saved = read(file)
    named = list(sources) or list(saved.sources) or list(settings.sources)
    if not named:
        raise ConfigError(f"{file} does not say which sources it was asked over. Name them: rowhop rerun {file} SOURCE")
    with piped(named) as places:
        over = build.opened(places, settings)
        try:
            outcome = run(saved.program, over, saved.question)
        finally:
            over.close()
    change = compare(saved, outcome)
    if as_json:
        made = {**asdict(outcome), "changed": bool(change), "gone": change.gone, "new": change.new}
        print(json.dumps(made, ensure_ascii=not screen.utf8(), indent=2, default=str))
    else:
        _show(saved, outcome, change)
    return FAULT if outcome.error else UNKNOWN if change else ANSWERED


def _show(saved: Saved, outcome: Outcome, change: Change) -> None:
    out = screen.out()
    if saved.question:
        out.print(screen.plain(saved.question, "bold"))
    if outcome.error:
        out.print(screen.plain(f"The program no longer runs on these data: {outcome.error}", "red"))
        return
    if not change:
        out.print(screen.plain(f"Nothing has changed: {_said(saved.values, saved.table)}", "bold green"))
    elif change.order:
        out.print(screen.plain("The same rows, in another order.", "bold"))
    elif len(change.gone) == len(change.new) == 1:
        out.print(screen.plain(f"It was: {_row(change.gone[0])}"))
        out.print(screen.plain(f"It is:  {_row(change.new[0])}", "bold"))
    else:
        for rows, word, colour in ((change.gone, "gone", "red"), (change.new, "new", "green")):
            out.print(screen.plain(f"{len(rows)} row{'' if len(rows) == 1 else 's'} {word}", "bold"))
            for row in rows[:_SHOWN]:
                out.print(screen.plain(f"  {_row(row)}", colour))
            if len(rows) > _SHOWN:
                out.print(f"  … {len(rows) - _SHOWN} more; --json lists them all.")
    for caution in outcome.warnings:
        out.print(screen.plain(f"Caution: {caution.text}", "yellow"))


def _row(row: tuple[Value, ...]) -> str:
    return ", ".join(screen.shown(v) for v in row)


def _said(values: tuple[Value, ...], table: Table | None) -> str:
    if table is not None and table.total > 1:
        return f"the same {table.total} rows."
    return _row(values) or "still nothing matches."
