"""Says, once per source and endpoint, what leaves the machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from rowhop.cli import screen

if TYPE_CHECKING:
    from rowhop.front import Session

_LEVELS = {
    "schema": "the names and types of columns, and no cell",
    "samples": "the names and types of columns, some sample cells, cells that match words of the question, and up to "
    "six rows",
    "all": "the names and types of columns, sample and matching cells, all rows of a small table, and results of "
    "programs",
}


def tell(session: Session) -> None:
    """One remark on stderr before the first prompt about these sources goes to a remote model."""
    if not session.model.remote:
        return
    settings = session.settings
    where = settings.model.base_url or "the OpenAI API"
    share = settings.share
    key = "|".join((session.source.name, where, session.model.name, share.data, *share.hide))
    mark = hashlib.sha256(key.encode()).hexdigest()
    file = settings.cache_folder / "told"
    if file.exists() and mark in file.read_text(encoding="ascii").split():
        return
    hidden = f" Hidden: {', '.join(share.hide)}." if share.hide else ""
    screen.say(
        f"{session.model.name} runs at {where}. It gets your question, notes, and of {session.source.name} "
        f"{_LEVELS[share.data]}.{hidden} Less with --share schema or --hide COLUMN; see it with --dry-run. (Said once.)"
    )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="ascii") as told:
            told.write(mark + "\n")
    except OSError:
        # It is then said again next time, which does no harm.
        pass
