"""Where BOXes come from: files, frames, databases, graphs, and several of them together.

`open_source` takes whatever the user names; every kind then looks the same (`Source`). Nothing is ever written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from rowhop.box import BoxSet
from rowhop.errors import SourceError
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["table", "database", "graph", "text graph"]


@dataclass(frozen=True)
class Reading:
    """How files are to be read where the user knows better than what is found out. Empty means: find out."""

    encoding: str = ""
    delimiter: str = ""
    decimal: Literal["", ".", ","] = ""
    day_first: bool | None = None
    header_rows: int | None = None
    text_columns: tuple[str, ...] = ()  # keep as text whatever the cells look like


class Source(Protocol):
    """Thread-safe: several questions may read one source at once.

    `name` is what the user named it by, without any password. `dialect` is the SQL dialect of the source's own
    engine in sqlglot's words ("sqlite", "duckdb", "postgres", "mysql"), "" where it has none.
    `cautions` are what was noticed while opening, e.g. a formula without a cached value.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def dialect(self) -> str: ...
    @property
    def cautions(self) -> tuple[Caution, ...]: ...

    def boxes(self) -> BoxSet:
        """All BOXes with column types and up to 3 samples; cheap, reads no more than the first rows."""
        ...

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        """Rows of one BOX, typed as `boxes` says, in the source's order. Raises SourceError with the nearest names."""
        ...

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        """The same rows with every cell as the source writes it (text), for evidence and for display."""
        ...

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        """Up to `limit` distinct cell texts of a column, for matching against the question."""
        ...

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        """Run one guarded read-only statement in the source's own dialect. Raises ReplyError for a statement
        that is refused or fails (its text goes back to the model), SourceError where there is no dialect."""
        ...

    def fingerprint(self) -> str:
        """Changes whenever the data change; part of cache keys. Holds no secret and no data."""
        ...

    def close(self) -> None: ...


TABLE_FILES = frozenset(
    {".csv", ".tsv", ".tab", ".txt", ".psv", ".json", ".jsonl", ".ndjson", ".parquet", ".pq"}
    | {".arrow", ".feather", ".ipc", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"}
)
DATABASE_FILES = frozenset({".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb"})
GRAPH_FILES = frozenset({".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl", ".jsonld"})
DATABASE_URLS = ("postgresql://", "postgres://", "mysql://", "mariadb://", "sqlite://", "duckdb://")

SUPPORTED = (
    "files (CSV, TSV, JSON, JSON Lines, Excel, ODS, Parquet, Arrow, also compressed with gzip), folders of such files, "
    "SQLite and DuckDB files, postgresql:// and mysql:// URLs, pandas and polars frames, Arrow tables"
)


def open_source(spec: object, reading: Reading | None = None, name: str | None = None) -> Source:
    """A path, a database URL, a frame, a mapping of names to frames, or something that is a Source already.

    Raises SourceError with one sentence on what is wrong with `spec`, SourceUnavailable for a server that is down.
    """
    if isinstance(spec, str | os.PathLike):
        return _open_named(os.fspath(spec), reading or Reading(), name)
    if all(hasattr(spec, method) for method in ("boxes", "load", "fingerprint")):
        return spec  # type: ignore[return-value]
    if isinstance(spec, Mapping):
        from rowhop.sources.collection import Collection

        return Collection([open_source(frame, reading, str(key)) for key, frame in spec.items()], name or "frames")
    if type(spec).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow"):
        from rowhop.sources.tables import open_frame

        return open_frame(spec, name or "frame")
    raise SourceError(f"A {type(spec).__name__} cannot be opened as a source. It may be: {SUPPORTED}.")


def open_sources(specs: Sequence[object], reading: Reading | None = None) -> Source:
    """One source, or several as one. BOX names that occur twice get their source's name added."""
    if not specs:
        raise SourceError(f"No source was given. It may be: {SUPPORTED}.")
    if len(specs) == 1:
        return open_source(specs[0], reading)
    from rowhop.sources.collection import Collection

    return Collection([open_source(spec, reading) for spec in specs])


def _open_named(text: str, reading: Reading, name: str | None) -> Source:
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme:
        return _open_url(text, name)
    path = Path(text).expanduser()
    if path.is_dir():
        return _open_folder(path, reading, name)
    if not path.exists():
        raise SourceError(_no_such_file(path))
    if not path.is_file():
        raise SourceError(f"{path} is not a file that can be read again (a pipe or device); save it to a file first.")
    suffix = path.suffix.lower()
    kind = database_kind(path)
    if kind == "duckdb" or (not kind and suffix in (".duckdb", ".ddb")):
        from rowhop.sources.duck import DuckSource

        return DuckSource(path, name)
    if kind == "sqlite" or suffix in DATABASE_FILES:
        from rowhop.sources.sqlite import SqliteSource

        return SqliteSource(path, name)
    if suffix in GRAPH_FILES:
        return _open_graph(text)
    from rowhop.sources.tables import open_table

    return open_table(path, reading)


def _open_url(text: str, name: str | None) -> Source:
    low = text.lower()
    if low.startswith(("sqlite://", "duckdb://")):
        file = text.partition("://")[2]
        # as in SQLAlchemy: three slashes for a path from here, four for one from the root, unless only that is there
        if file.startswith("/") and (Path(file[1:]).exists() or not Path(file).exists()):
            file = file[1:]
        return open_source(file, name=name)
    if low.startswith(DATABASE_URLS):
        from rowhop.sources.servers import open_server

        return open_server(text, name)
    if low.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return open_source(unquote(urlsplit(text).path), name=name)
    if low.startswith(("http://", "https://")):
        return _open_graph(text)
    scheme = text.partition("://")[0]
    raise SourceError(f"Sources of the kind {scheme}:// are not known. A source may be: {SUPPORTED}.")


def _open_graph(text: str) -> Source:
    shown = text.partition("?")[0]
    if "://" in shown and "@" in shown:  # a password is never shown
        shown = f"{shown.partition('://')[0]}://{shown.rpartition('@')[2]}"
    raise SourceError(f"{shown} is a graph; graphs are opened by `rowhop.graph`. A table source may be: {SUPPORTED}.")


def _open_folder(path: Path, reading: Reading, name: str | None) -> Source:
    from rowhop.sources.collection import Collection

    if any(f.stem in ("nodes", "edges") and f.is_file() for f in path.iterdir()):
        return _open_graph(str(path))
    members: list[Source] = []
    skipped: list[str] = []
    for file in sorted(path.iterdir()):
        if file.name.startswith((".", "~$")) or file.name.endswith(("-wal", "-shm", "-journal", ".wal")):
            continue
        if file.is_dir():
            skipped.append(f"The folder {file.name} was not looked into.")
        elif not _is_known(file):
            skipped.append(f"{file.name} was skipped: it is no table or database that is known.")
        else:
            try:
                members.append(open_source(file, reading))
            except SourceError as error:  # one bad file does not take the others away, but it is said
                skipped.append(f"{file.name} was skipped: {error}")
    if not members:
        raise SourceError(
            f"The folder {path} holds no file that can be opened. {' '.join(skipped)} A source may be: {SUPPORTED}."
        )
    return Collection(members, name or path.name, [Caution("file_skipped", text) for text in skipped])


def _is_known(file: Path) -> bool:
    suffix = Path(file.stem).suffix if file.suffix.lower() == ".gz" else file.suffix
    return suffix.lower() in TABLE_FILES | DATABASE_FILES or database_kind(file) != ""


def database_kind(path: Path) -> Literal["", "sqlite", "duckdb"]:
    """By the first bytes, whatever the file is called."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    return "duckdb" if head[8:12] == b"DUCK" else ""


def _no_such_file(path: Path) -> str:
    from rowhop.sources.naming import nearest

    if not path.parent.is_dir():
        return f"There is no file or folder {path}, and no folder {path.parent}."
    near = nearest(path.name, [p.name for p in path.parent.iterdir()])
    return f"There is no file or folder {path}." + (f" Did you mean {near}?" if near else "")
