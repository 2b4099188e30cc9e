"""`rowhop ask`: sort out what was typed, ask, show the answer, write the files."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.cli import answers, consent, files, screen
from rowhop.cli.models import fetching
from rowhop.cli.progress import Progress
from rowhop.errors import ConfigError
from rowhop.types import Answer

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.front import Session

# How the kinds of files begin that may come through a pipe; anything else is read as CSV.
_STARTS = ((b"PAR1", ".parquet"), (b"PK\x03\x04", ".xlsx"), (b"SQLite format 3", ".db"), (b"ARROW1", ".arrow"))


@dataclass(frozen=True)
class Wish:
    """What is to happen with the answer."""

    json: bool = False
    out: Path | None = None
    replace: bool = False
    trace: Path | None = None
    graph: Path | None = None
    dry_run: bool = False
    topics: tuple[str, ...] = ()
    choose: int | None = None


def ask(sources: Sequence[str], question: str, settings: Settings, wish: Wish) -> int:
    """Returns the exit code that the answer's status stands for."""
    from rowhop.front import Session

    check(sources, question, settings.sources)
    if wish.out:
        files.check(wish.out, wish.replace)
    if wish.graph:
        files.check_picture(wish.graph, wish.replace)
    if wish.trace:
        files.check_trace(wish.trace)
    with piped(sources) as named:
        with fetching() as progress:
            session = Session(named, settings=settings, sends=not wish.dry_run, progress=progress)
        with session:
            return within(session, question, wish)


def within(session: Session, question: str, wish: Wish) -> int:
    """One question of a session that is open."""
    if wish.dry_run:
        return _prompt(session, question, wish)
    consent.tell(session)
    answer = _asked(session, question, wish)
    if wish.json:
        print(answers.as_json(answer))
    else:
        answers.show(answer)
    if wish.out and (answer.table is not None or answer.values):
        _written(answer, wish.out, wish.replace)
    if wish.graph:
        _drawn(answer, wish.graph)
    return answers.CODES[answer.status]


def check(sources: Sequence[str], question: str, known: Container[str] = ()) -> None:
    """Raises ConfigError where a source stands in the question's place, or nothing does."""
    if not question.strip():
        raise ConfigError('The question is empty. Ask something, e.g. "How many rows are there?"')
    if _exists(question) or question in known:
        if sources and not any(_exists(s) or "://" in s for s in sources):
            raise ConfigError(f'The question comes last: rowhop ask {question} "{sources[0]}"')
        named = " ".join((*sources, question))
        raise ConfigError(f'A question is missing: rowhop ask {named} "How many rows are there?"')


@contextmanager
def piped(sources: Sequence[str]) -> Iterator[list[str]]:
    """What comes through stdin (`-`) as a file that lasts as long as the block."""
    from tempfile import TemporaryDirectory

    if "-" not in sources:
        yield list(sources)
        return
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise ConfigError("Nothing came through stdin. Pipe a file into rowhop, or name one instead of -.")
    with TemporaryDirectory(prefix="rowhop-") as folder:
        file = Path(folder) / f"stdin{_suffix(data)}"
        file.write_bytes(data)
        yield [str(file) if s == "-" else s for s in sources]


def _suffix(data: bytes) -> str:
    for start, suffix in _STARTS:
        if data.startswith(start):
            return suffix
    first = data.lstrip()[:1]
    if first == b"[":
        return ".json"
    # One object on the first line of several is JSON Lines; one object over many lines is JSON.
    if first == b"{":
        return ".jsonl" if data.strip().split(b"\n")[0].rstrip().endswith(b"}") else ".json"
    return ".csv"


def _exists(word: str) -> bool:
    try:
        return Path(word).exists()
    except (OSError, ValueError):  # too long for a path, or with a null character: a question, then
        return False


def _prompt(session: Session, question: str, wish: Wish) -> int:
    import json

    messages = session.prompt(question, topics=wish.topics)
    if wish.json:
        print(json.dumps([{"role": m.role, "content": m.content} for m in messages], indent=2))
    for message in () if wish.json else messages:
        print(f"--- {message.role} ---\n{screen.clean(message.content)}")
    screen.say(f"Nothing was sent. This is what {session.model.name} would get first.")
    return 0


def _asked(session: Session, question: str, wish: Wish) -> Answer:
    answer = _once(session, question, wish, "")
    if answer.status != "ambiguous" or wish.choose is None:
        return answer
    if wish.choose > len(answer.choices):
        raise ConfigError(f"There is no choice {wish.choose}: the question can mean {len(answer.choices)} things.")
    return _once(session, question, wish, answer.choices[wish.choose - 1])


def _once(session: Session, question: str, wish: Wish, choice: str) -> Answer:
    from rowhop.front import saved

    trace = session.trace(session.question(question, wish.topics, choice))
    with Progress(trace):
        return saved(session, question, trace, topics=wish.topics, choice=choice, file=wish.trace)


def _drawn(answer: Answer, file: Path) -> None:
    from rowhop.graph.picture import svg

    triples = [e for e in answer.evidence if e.kind == "triple"]
    if not triples:
        screen.say(f"No graph was walked, so that there is nothing to draw in {file}.")
        return
    topics = [t for t in {e.subject for e in triples} | {e.object for e in triples} if t in answer.because]
    try:
        file.write_text(svg(triples, [str(v) for v in answer.values], topics), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The picture could not be written to {file}: {error.strerror}.") from error
    screen.say(f"Drew {len(triples)} triple{'' if len(triples) == 1 else 's'} in {file}.")


def _written(answer: Answer, out: Path, replace: bool) -> None:
    rows = files.write(answer, out, replace)
    screen.say(f"Wrote {rows} row{'' if rows == 1 else 's'} to {out}.")
    if answer.table is not None and answer.table.total > rows:
        screen.say(f"The result has {answer.table.total} rows; only the first {rows} were kept.")
