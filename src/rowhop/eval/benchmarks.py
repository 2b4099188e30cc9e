"""Benchmarks as lists of Items, read from the layouts in which they are published; nothing is fetched.

Here: what an Item is, sampling, and the benchmarks over tables and databases. `graph_benchmarks` has the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rowhop.errors import ConfigError, SourceError
from rowhop.eval.wikitq import unescape
from rowhop.types import Question, Value

# How answers are judged: as a set by WikiTableQuestions' rules, by the result of SQL, as a list, as a ranking of ids.
Judging = Literal["denotation", "execution", "list", "ranking"]


@dataclass(frozen=True)
class Gold:
    """The right answer. `canonical` is what the benchmark says the values mean; `sql` a query that gives them."""

    values: tuple[Value, ...] = ()
    canonical: tuple[str, ...] = ()
    sql: str = ""


@dataclass(frozen=True)
class Item:
    """One question of a benchmark. `sources` are paths or URLs; `level` is the benchmark's own grouping, if any."""

    id: str
    question: Question
    sources: tuple[str, ...]
    gold: Gold
    judging: Judging
    level: str = ""


def sample(items: Sequence[Item], n: int | None, seed: int = 0) -> list[Item]:
    """`n` items drawn by the seed alone. A smaller sample with the same seed is the beginning of a larger one.

    The order comes from each item's id, so it does not change when other items are added or moved.
    """
    drawn = sorted(items, key=lambda i: hashlib.sha256(f"{seed}:{i.id}".encode()).digest())
    return drawn if n is None else drawn[:n]


def load(name: str, folder: Path, split: str = "") -> list[Item]:
    """All items of a benchmark. Raises ConfigError for an unknown name, SourceError for files not as expected."""
    from rowhop.eval import graph_benchmarks as graphs
    from rowhop.eval import own_questions

    known: dict[str, tuple[Callable[[Path, str], list[Item]], str]] = {
        "wikitq": (wikitq, "dev"),
        "spider": (spider, "dev"),
        "plain": (plain, ""),
        "metaqa-own": (own_questions.questions, ""),
        "metaqa": (graphs.metaqa, "dev"),
        "pathquestion": (graphs.pathquestion, "measure"),
        "webqsp": (graphs.webqsp, "measure"),
        "cwq": (graphs.cwq, "measure"),
        "grailqa": (graphs.grailqa, "measure"),
        "stark-prime": (graphs.stark, "val"),
    }
    if name not in known:
        raise ConfigError(f"There is no benchmark {name}. There are: {', '.join(known)}.")
    reader, usual = known[name]
    items = reader(folder, split or usual)
    if not items:
        raise SourceError(f"The benchmark {name} in {folder} has no questions{f' in {split}' if split else ''}.")
    _check_ids(items, folder)
    return items


def _check_ids(items: Sequence[Item], folder: Path) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise SourceError(f"Two questions of {folder} have the same id {item.id!r}; each needs its own.")
        seen.add(item.id)


def wikitq(folder: Path, split: str) -> list[Item]:
    """WikiTableQuestions: `split` is "dev", "train" or the stem of one of its .tsv files."""
    stem = f"random-split-1-{split}" if split in ("dev", "train") else split
    file = first_file(folder, f"data/{stem}.tsv", f"{stem}.tsv")
    canonical = _canonical(folder / "tagged" / "data" / f"{stem}.tagged")
    items = []
    for where, row in tsv(file, header=True):
        name, text, context, target = (field(row, key, where) for key in ("id", "utterance", "context", "targetValue"))
        gold = Gold(tuple(unescape(target)), canonical.get(name, ()))
        items.append(Item(name, Question(text, id=name), (str(folder / context),), gold, "denotation"))
    return items


def _canonical(tagged: Path) -> dict[str, tuple[str, ...]]:
    """The published meanings of gold answers; where they are absent the score is DA-raw."""
    if not tagged.is_file():
        return {}
    rows = tsv(tagged, header=True)
    return {field(row, "id", where): tuple(unescape(field(row, "targetCanon", where))) for where, row in rows}


def spider(folder: Path, split: str) -> list[Item]:
    """Spider: `dev.json` or `train.json` (`train_spider.json` as published), SQLite files under `database/`."""
    file = first_file(folder, f"{split}.json", f"{split}_spider.json")
    items = []
    for number, (where, row) in enumerate(objects(file)):
        name = f"{split}-{number:04d}"
        db = field(row, "db_id", where)
        source = str(folder / "database" / db / f"{db}.sqlite")
        question = Question(field(row, "question", where).strip(), id=name)
        items.append(Item(name, question, (source,), Gold(sql=field(row, "query", where)), "execution", level=db))
    return items


def plain(file: Path, split: str = "") -> list[Item]:
    """A user's own questions: JSON Lines with `question`, `source` (a path or a list, from the file's folder) and
    `gold` (a value or a list), `gold_ids` (ids of nodes of a graph, scored as a ranking) or `sql` (a gold query for a
    SQLite source); `id`, `topics` and `split` may be given. A row without `split` belongs to every part."""
    items = []
    for number, (where, row) in enumerate(objects(file), 1):
        text = field(row, "question", where)
        if split and row.get("split", split) != split:
            continue
        name = str(row.get("id", f"line-{number}"))
        question = Question(text, tuple(map(str, listing(row.get("topics")))), id=name)
        named = listing(row.get("source"))
        if not named or not all(isinstance(s, str) for s in named):
            raise SourceError(f"{where} needs a field 'source' with a path, a URL or a list of them.")
        sources = tuple(s if "://" in s else str(file.parent / s) for s in named)
        if "sql" in row:
            items.append(Item(name, question, sources, Gold(sql=field(row, "sql", where)), "execution"))
        elif "gold_ids" in row:
            items.append(Item(name, question, sources, Gold(tuple(map(str, listing(row["gold_ids"])))), "ranking"))
        elif "gold" in row:
            items.append(Item(name, question, sources, Gold(tuple(listing(row["gold"]))), "list"))
        else:
            raise SourceError(f"{where} has neither 'gold', 'gold_ids' nor 'sql'. It has: {', '.join(row)}.")
    return items


def first_file(folder: Path, *names: str) -> Path:
    """The first of several names under which a file is published."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise SourceError(
        f"None of {', '.join(names)} is in {folder}. Name the folder of the benchmark as it is published."
    )


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SourceError(f"The benchmark file {file} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"The benchmark file {file} is not UTF-8 text.") from error


def tsv(file: Path, header: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of tab-separated text without quoting, by column name or, without a header, by "0", "1", …"""
    # Not splitlines: a cell may hold characters that Python, but not the file format, takes for the end of a line.
    lines = [line.removesuffix("\r") for line in text_of(file).split("\n")]
    names = lines[0].split("\t") if header else []
    for number, line in enumerate(lines[len(names) > 0 :], 1 + bool(names)):
        if line:
            cells = line.split("\t")
            keys = names or [str(i) for i in range(len(cells))]
            yield f"Line {number} of {file}", dict(zip(keys, cells, strict=False))


def objects(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list or of JSON Lines, each with its place in words."""
    text = text_of(file)
    try:
        if text.lstrip().startswith("["):
            rows = [(f"Entry {i} of {file}", row) for i, row in enumerate(json.loads(text), 1)]
        else:
            lines = [(f"Line {i} of {file}", line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
            rows = [(where, _line(where, line)) for where, line in lines]
    except json.JSONDecodeError as error:
        raise SourceError(f"{file} is not valid JSON: {error.msg} in line {error.lineno}.") from error
    for where, row in rows:
        if not isinstance(row, dict):
            raise SourceError(f"{where} is not an object with named fields.")
        yield where, row


def _line(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise SourceError(f"{where} is not valid JSON: {error.msg}.") from error


def field(row: dict[str, Any], name: str, where: str) -> str:
    """A field that must hold text. Raises SourceError with the place and the fields that are there."""
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{where} needs a field {name!r} with text. It has: {', '.join(map(str, row))}.")
    return value


def listing(value: Any) -> list[Any]:
    """A list as it is, nothing as the empty list, anything else as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
