"""`rowhop learn`: keep answers that a person confirmed, to show them to the model with later questions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rowhop.cli import screen
from rowhop.cli.answers import grid
from rowhop.errors import ConfigError
from rowhop.trace import BoxesOpened, load

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.memory import Entry, Memory


def learn(files: Sequence[Path], settings: Settings, listed: bool, forget: str) -> int:
    """Add entries from saved runs or entry files, list the user's own, or remove one."""
    from rowhop import build

    memory = build.memory(settings, None)
    if forget:
        if not memory.forget(forget):
            raise ConfigError(f"No entry of your own has the id {forget}. See rowhop learn --list.")
        screen.say(f"Removed {forget} from {memory.file}.")
    elif not files and not listed:
        raise ConfigError("What should be learnt? Name a run that --trace saved and whose answer is right.")
    for file in files:
        found = list(_entries(file))
        added = sum(memory.remember(entry) for entry in found)
        screen.say(f"Learnt {added} of {len(found)} from {file}, kept in {memory.file}.")
    if listed:
        _list(memory)
    return 0


def _list(memory: Memory) -> None:
    rows = [(e.id, e.question, e.language, e.kind, e.dataset, e.confirmed) for e in memory.entries()]
    screen.out().print(grid(("id", "question", "language", "kind", "data", "confirmed by"), rows))


def _entries(file: Path) -> Iterator[Entry]:
    """A saved run gives one entry; a file of entries gives each of its lines."""
    from rowhop.memory import Memory

    try:
        first = file.read_text(encoding="utf-8").partition("\n")[0]
    except OSError as error:
        raise ConfigError(f"{file} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is neither a saved run nor a file of entries: it is not UTF-8 text.") from error
    if _is_trace(first):
        yield _of_run(file)
    else:
        yield from Memory(None, file, seeded=False).entries()


def _is_trace(line: str) -> bool:
    try:
        return "header" in json.loads(line)
    except (ValueError, TypeError):
        return False


def _of_run(file: Path) -> Entry:
    from rowhop.memory import Entry
    from rowhop.types import Language

    run = load(file)
    answer: dict[str, Any] = run.answer
    program = answer.get("program") or {}
    if answer.get("status") != "answered" or program.get("language") not in get_args(Language):
        raise ConfigError(f"The run in {file} has no answer by a program; there is nothing to learn from it.")
    shown = [step.shown for step in run.steps if isinstance(step, BoxesOpened)]
    return Entry(
        question=run.header.question.text,
        schema=shown[-1] if shown else "",
        rationale=str(answer.get("because", "")),
        code=str(program.get("code", "")),
        language=program["language"],
        dataset=file.stem,
        confirmed="user",
    )
