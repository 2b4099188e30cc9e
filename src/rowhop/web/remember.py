"""From a run whose answer a person found right to an entry of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowhop import build
from rowhop.errors import ConfigError
from rowhop.memory import Entry
from rowhop.trace import BoxesOpened

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.web.runs import Run


def entry(run: Run) -> Entry:
    """Raises ConfigError where there is no answer by a program."""
    answer = run.answer
    if answer is None or answer.status != "answered" or answer.program is None or run.trace is None:
        raise ConfigError("This run has no answer by a program; there is nothing to remember from it.")
    shown = [step.shown for step in run.trace.steps if isinstance(step, BoxesOpened)]
    return Entry(
        question=run.wish.question,
        schema=shown[-1] if shown else "",
        rationale=answer.because,
        code=answer.program.code,
        language=answer.program.language,
        confirmed="user",
    )


def confirm(settings: Settings, run: Run) -> bool:
    """Keep it; False when it was kept before."""
    added = build.memory(settings, None).remember(entry(run))
    run.remembered = True
    return added
