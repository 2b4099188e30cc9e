"""Values on disk that may be lost at any time: a bounded SQLite file, shared by threads and processes.

A shelf never fails a question: where the file cannot be read or written, nothing is found and nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

MOST = 256 * 2**20  # bytes of values; then those longest unused go
_SLACK = 0.8  # how full it is left, so that not every value cleans up


class Shelf:
    def __init__(self, path: str | Path, most: int = MOST) -> None:
        self._path = Path(path)
        self._most = most
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._broken = False

    def get(self, key: str) -> bytes | None:
        with self._lock, self._forgiving():
            connection = self._open()
            if connection is None:
                return None
            row = connection.execute("SELECT value FROM shelf WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            connection.execute("UPDATE shelf SET used = ? WHERE key = ?", (time.time(), key))
            return bytes(row[0])
        return None

    def put(self, key: str, value: bytes) -> None:
        with self._lock, self._forgiving():
            connection = self._open()
            if connection is None or len(value) > self._most * _SLACK:
                return
            connection.execute("INSERT OR REPLACE INTO shelf VALUES (?, ?, ?)", (key, value, time.time()))
            self._clean(connection)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _clean(self, connection: sqlite3.Connection) -> None:
        (total,) = connection.execute("SELECT coalesce(sum(length(value)), 0) FROM shelf").fetchone()
        if total <= self._most:
            return
        rows = connection.execute("SELECT key, length(value) FROM shelf ORDER BY used").fetchall()
        for key, size in rows:
            if total <= self._most * _SLACK:
                break
            connection.execute("DELETE FROM shelf WHERE key = ?", (key,))
            total -= size

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._broken:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # What was asked and answered concerns only the user whose cache this is.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self._path, timeout=5, isolation_level=None, check_same_thread=False)
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("CREATE TABLE IF NOT EXISTS shelf (key TEXT PRIMARY KEY, value BLOB, used REAL)")
            connection.execute("CREATE INDEX IF NOT EXISTS by_use ON shelf (used, key, length(value))")
        return self._connection

    @contextlib.contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError:
            pass  # locked for long, disk full: this value is not kept
        except (sqlite3.DatabaseError, OSError):
            self._give_up()

    def _give_up(self) -> None:
        """The file is damaged or cannot be opened. A damaged one is taken away, so that the next run starts anew."""
        self._broken = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            with contextlib.suppress(OSError):
                self._path.unlink()
