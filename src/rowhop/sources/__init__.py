"""Where BOXes come from: files, frames, databases, graphs, and several of them together.

`open_source` takes whatever the user names; every kind then looks the same (`Source`). Nothing is ever written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from rowhop.box import BoxSet
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
