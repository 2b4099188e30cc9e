"""PostgreSQL and MySQL or MariaDB servers as sources, named by a URL whose password is never shown.

What both have in common; what is said to each stands in `postgres` and `mysql`.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import parse_qsl, unquote

from rowhop.box import BoxSet, Column
from rowhop.errors import SourceError
from rowhop.sources.databases import LOAD_BYTES, Catalog, Table, catalog, chosen, marked
from rowhop.sources.readonly import Relation, check
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

CONNECT_SECONDS = 10
LOAD_SECONDS = 300
CATALOG_SECONDS = 30  # how long the list of tables is believed
COUNT_BYTES = 32 << 20  # tables up to this size are counted
RESULT_BYTES = 256 << 20

_URL = re.compile(
    r"(?P<scheme>\w+)://"
    r"(?:(?P<user>[^:@/]*)(?::(?P<password>.*))?@)?"  # the last @ ends a password that has one itself
    r"(?P<host>\[[^\]]*\]|[^@:/?\s]*)(?::(?P<port>\d+))?"
    r"(?:/(?P<database>[^?@]*))?(?:\?(?P<options>.*))?",
    re.DOTALL,
)
_PORTS = {"postgresql": 5432, "mysql": 3306}
_SCHEMES = {"postgres": "postgresql", "mariadb": "mysql"}


@dataclass(frozen=True)
class Url:
    """Where a server is. `str()` and `repr()` show no password and no options."""

    scheme: Literal["postgresql", "mysql"]
    host: str
    port: int
    database: str
    user: str = ""
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    shown_scheme: str = ""

    def __str__(self) -> str:
        secret = ":***" if self.password else ""
        user = f"{self.user}{secret}@" if self.user or secret else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.shown_scheme or self.scheme}://{user}{host}{port}/{self.database}"

    def clean(self, text: str) -> str:
        """A driver's message without the password."""
        return text.replace(self.password, "***") if self.password else text


def parse_url(text: str) -> Url:
    """
    >>> str(parse_url("postgresql://ann:p%40ss@db.example/shop")), str(parse_url("mysql://ann:p@s/s@h:99/shop"))
    ('postgresql://ann:***@db.example/shop', 'mysql://ann:***@h:99/shop')
    """
    found = _URL.fullmatch(text.strip())
    if found is None or not (found["host"] or found["database"]):
        raise SourceError("The database URL cannot be read. It should look like postgresql://user:password@host/name.")
    shown = found["scheme"].lower()
    scheme: Literal["postgresql", "mysql"] = "mysql" if _SCHEMES.get(shown, shown) == "mysql" else "postgresql"
    return Url(
        scheme=scheme,
        host=unquote(found["host"] or "").strip("[]") or "localhost",
        port=int(found["port"] or _PORTS[scheme]),
        database=unquote(found["database"] or ""),
        user=unquote(found["user"] or ""),
        password=unquote(found["password"] or ""),
        options=dict(parse_qsl(found["options"] or "")),
        shown_scheme=shown,
    )


class Engine(Protocol):
    """One server's way of doing what `ServerSource` needs. Every call opens a connection that can only read.

    Raises SourceUnavailable when the server cannot be reached, SourceError when it refuses.
    """

    dialect: str

    def tables(self) -> tuple[list[Table], list[str], str]:
        """Tables, sentences on what was left out, and the default schema."""
        ...

    def fetch(self, relation: Relation, columns: Sequence[Column], limit: int | None, most: int) -> pa.Table: ...

    def texts(self, relation: Relation, columns: Sequence[Column], rows: Sequence[int] | None) -> pa.Table: ...

    def distinct(self, relation: Relation, column: Column, limit: int) -> list[str]: ...

    def run(self, sql: str, most: int, seconds: float) -> pa.Table:
        """At most `most` rows. Raises ReplyError for a statement that fails."""
        ...

    def state(self) -> str:
        """Changes with every change that a reader could see."""
        ...


class ServerSource:
    """One database of a server; see `Source`."""

    kind: Literal["database"] = "database"
    cautions: tuple[Caution, ...] = ()

    def __init__(self, url: Url, engine: Engine, name: str | None = None, load_bytes: int = LOAD_BYTES) -> None:
        self.name = name or str(url)
        self.dialect = engine.dialect
        self._where = f"{url.host}:{url.port}/{url.database} as {url.user}"
        self._engine = engine
        self._load_bytes = load_bytes
        self._known: tuple[float, Catalog] | None = None
        self.catalog()

    def boxes(self) -> BoxSet:
        return self.catalog().boxes

    def catalog(self) -> Catalog:
        known = self._known
        if known is None or time.monotonic() - known[0] > CATALOG_SECONDS:
            tables, left_out, default_schema = self._engine.tables()
            known = (time.monotonic(), catalog(tables, self.name, default_schema, left_out))
            self._known = known
        return known[1]

    def load(self, box: str, columns: Sequence[str] | None = None, limit: int | None = None) -> pa.Table:
        relation = self.catalog().relation(box, self.name)
        wanted = chosen(relation.box, columns)
        if not wanted:
            raise SourceError(f"Loading table '{box}' needs at least one column.")
        return self._engine.fetch(relation, wanted, limit, self._load_bytes)

    def written(self, box: str, columns: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> pa.Table:
        relation = self.catalog().relation(box, self.name)
        return self._engine.texts(relation, chosen(relation.box, columns), rows)

    def distinct(self, box: str, column: str, limit: int) -> list[str]:
        relation = self.catalog().relation(box, self.name)
        return self._engine.distinct(relation, chosen(relation.box, [column])[0], limit)

    def select(self, sql: str, limit: int, seconds: float) -> pa.Table:
        checked = check(sql, self.dialect, self.catalog().relations)
        return marked(self._engine.run(checked.sql, limit + 1, seconds), limit)

    def fingerprint(self) -> str:
        shape = [(r.path, [(c.name, c.dtype) for c in r.box.columns]) for r in self.catalog().relations]
        return hashlib.sha256(repr((self._where, shape, self._engine.state())).encode()).hexdigest()[:32]

    def close(self) -> None:
        self._known = None


def open_server(text: str, name: str | None = None) -> ServerSource:
    """Raises SourceError for a URL that cannot be read or is refused, SourceUnavailable for a server that is down."""
    url = parse_url(text)
    if url.scheme == "postgresql":
        from rowhop.sources.postgres import Postgres

        return ServerSource(url, Postgres(url), name)
    from rowhop.sources.mysql import Mysql

    return ServerSource(url, Mysql(url), name)


def numbered(sql: str, rows: Sequence[int]) -> str:
    """Rows of a query by their place in it; the query names its columns c0, c1, … and its row number `n`."""
    wanted = ", ".join(str(int(r)) for r in rows) or "NULL"
    return f"SELECT * FROM ({sql}) AS numbered WHERE n IN ({wanted}) ORDER BY n"
