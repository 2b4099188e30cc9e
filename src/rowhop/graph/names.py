"""An index of names over a graph's nodes: SQLite, exact and folded by key, misspelt by shared letter triples.

Built once per snapshot when a name is first looked for; a build that breaks off leaves nothing behind.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

from rowhop.graph.terms import fold

# What a name is to its node. Lower is surer.
NAME, ALIAS = 0, 1
CLOSE = 78.0  # least likeness in per cent for a misspelt name; below it, unrelated short names appear


class NameIndex:
    def __init__(self, path: Path | None):
        """`path` None keeps the index in memory."""
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    @property
    def built(self) -> bool:
        return self._db is not None or (self._path is not None and self._path.exists())

    def build(self, names: Iterable[tuple[str, str, int]]) -> None:
        """From (name, node id, NAME or ALIAS)."""
        part = None if self._path is None else self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        if part is not None:
            part.unlink(missing_ok=True)
        db = sqlite3.connect(":memory:" if part is None else part, check_same_thread=False)
        db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE names(folded TEXT, name TEXT, id TEXT, how INTEGER);"
            "CREATE VIRTUAL TABLE grams USING fts5(folded, content='names', tokenize='trigram', detail='none');"
        )
        rows = ((fold(name), name, id, how) for name, id, how in names)
        db.executemany("INSERT INTO names VALUES(?,?,?,?)", rows)
        db.executescript(
            "CREATE INDEX by_folded ON names(folded);INSERT INTO grams(rowid, folded) SELECT rowid, folded FROM names;"
        )
        db.commit()
        if part is None:
            self._db = db
            return
        db.close()
        assert self._path is not None
        os.replace(part, self._path)

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            assert self._path is not None
            self._db = sqlite3.connect(f"file:{self._path}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        return self._db

    def find(self, text: str, k: int) -> list[tuple[str, float, str]]:
        """(id, score, how), best first: the name as written, then without accents and case, then nearly so."""
        with self._lock:
            same = self._open().execute(
                "SELECT name, id, how FROM names WHERE folded = ? LIMIT ?", (fold(text), max(k, 200))
            )
            return ranked(text, same.fetchall(), k) or self._near(text, k)

    def _near(self, text: str, k: int) -> list[tuple[str, float, str]]:
        from rapidfuzz import fuzz

        folded = fold(text)
        grams = list(dict.fromkeys(folded[i : i + 3] for i in range(len(folded) - 2)))[:30]
        if not grams:
            return []
        wanted = " OR ".join('"' + g.replace('"', '""') + '"' for g in grams)
        rows = self._open().execute(
            "SELECT n.folded, n.id FROM grams g JOIN names n ON n.rowid = g.rowid"
            " WHERE grams MATCH ? ORDER BY bm25(grams) LIMIT 300",
            (wanted,),
        )
        best: dict[str, float] = {}
        for name, id in rows:
            likeness = max(fuzz.ratio(folded, name), fuzz.token_sort_ratio(folded, name) - 2)
            if likeness >= CLOSE:
                best[id] = max(best.get(id, 0.0), likeness)
        order = sorted(best, key=lambda i: (-best[i], i))[:k]
        return [(i, round(best[i] / 100, 4), "fuzzy") for i in order]

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def ranked(text: str, rows: Iterable[tuple[str, str, int]], k: int) -> list[tuple[str, float, str]]:
    """Order nodes whose folded names agree with `text`: exact name, exact alias, folded name, folded alias."""
    best: dict[str, tuple[int, float, str]] = {}
    for name, id, how in rows:
        exact = name == text
        rank = how + (0 if exact else 2)
        score, word = ((1.0, "name"), (0.95, "alias"), (0.9, "folded"), (0.85, "folded"))[rank]
        if id not in best or rank < best[id][0]:
            best[id] = (rank, score, word)
    order = sorted(best, key=lambda i: (best[i][0], i))[:k]
    return [(i, best[i][1], best[i][2]) for i in order]
