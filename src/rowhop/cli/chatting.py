"""`rowhop chat`: one question after the other, each knowing the ones before."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowhop.cli import answers, consent, screen
from rowhop.cli.models import fetching
from rowhop.cli.progress import Progress
from rowhop.errors import ConfigError, RowhopError

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.front import Session

_HELP = "Type a question. /new forgets what was asked, /show lists the tables, /quit ends."


def chat(sources: Sequence[str], settings: Settings) -> int:
    """Questions from the terminal, or one per line from a pipe, until the end or /quit."""
    from rowhop.front import Session

    if "-" in sources:
        raise ConfigError("chat reads its questions from stdin, so - cannot be a source here. Name a file.")
    with fetching() as progress:
        session = Session(sources, settings=settings, progress=progress)
    with session:
        consent.tell(session)
        if sys.stdin.isatty():
            screen.say(_HELP)
        while (line := _line()) is not None:
            if line.startswith("/"):
                if not _command(line, session):
                    return 0
            elif line:
                _ask(session, line)
        return 0


def _line() -> str | None:
    try:
        return input("? " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


def _command(line: str, session: Session) -> bool:
    """Returns whether the conversation goes on."""
    match line:
        case "/quit" | "/exit" | "/q":
            return False
        case "/new":
            session.history.clear()
        case "/show":
            from rowhop.cli.showing import content

            content(session.source)
        case _:
            screen.say(_HELP)
    return True


def _ask(session: Session, question: str) -> None:
    from rowhop.front import saved

    trace = session.trace(session.question(question))
    try:
        with Progress(trace):
            answer = saved(session, question, trace)
    except RowhopError as error:
        # A conversation outlives one question that failed.
        screen.complain(str(error), 1)
        return
    except KeyboardInterrupt:
        screen.complain("Stopped this question; /quit ends the conversation.", 1)
        return
    answers.show(answer)
