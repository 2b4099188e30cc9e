"""Solved questions across runs and kinds of knowledge: what a prompt's demonstrations are taken from.

An entry is one question, the BOXes as they were shown, and the program that gave the confirmed answer.
Entries are JSON Lines, to be read, edited and shared as text. Nothing unconfirmed is ever remembered.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from rowhop.errors import ConfigError
from rowhop.models import Embedder
from rowhop.types import Language

Kind = Literal["table", "database", "graph", "text graph"]
# How alike two demonstrations may be before the second one teaches nothing (cosine of their questions).
ALIKE = 0.95


@dataclass(frozen=True)
class Entry:
    """`schema` is the BOXes' text as in a prompt; `dataset` groups entries that came from one place."""

    question: str
    schema: str
    rationale: str
    code: str
    language: Language = "python"
    kind: Kind = "table"
    dataset: str = ""
    confirmed: str = ""  # by what: "gold answer", "user"

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.question}\0{self.schema}\0{self.code}".encode()).hexdigest()[:12]


@cache
def _json() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


def seeds() -> tuple[Entry, ...]:
    """The entries that ship with rowhop, written over tables of our own."""
    text = files("rowhop").joinpath("seed_memory.jsonl").read_text(encoding="utf-8")
    return tuple(_json().validate_json(line) for line in text.splitlines() if line.strip())


class Memory:
    """Thread-safe. `file` is where entries of the user's own are kept; None keeps them in this process only.

    Without an embedder, recall takes entries in the file's order.
    """

    def __init__(self, embedder: Embedder | None = None, file: Path | None = None, seeded: bool = True) -> None:
        self.embedder = embedder
        self.file = file
        self._own: list[Entry] = _read(file) if file is not None and file.exists() else []
        self._seeds = list(seeds()) if seeded else []
        self._lock = threading.Lock()
        self._vectors: dict[tuple[str, str], list[float]] = {}

    def entries(self, language: Language | None = None) -> list[Entry]:
        """All entries, the shipped ones first."""
        return [e for e in (*self._seeds, *self._own) if language is None or e.language == language]

    def fixed(self, k: int, language: Language, kind: Kind) -> list[Entry]:
        """The first `k` entries in the file's order, those of the same kind of source first. The same for every
        question, so that a model's prefix cache holds them."""
        found = self.entries(language)
        return ([e for e in found if e.kind == kind] or found)[:k]

    def recall(self, question: str, k: int, language: Language) -> list[Entry]:
        """The `k` entries nearest to a question, across all kinds and data sets, nearest last; none twice alike."""
        found, embedder = self.entries(language), self.embedder
        if embedder is None or len(found) <= k:
            return found[:k]
        import numpy as np

        vectors = np.array(self._embedded(found, embedder), dtype=np.float32)
        near = vectors @ embedder.embed([question], query=True)[0]
        chosen: list[int] = []
        for i in np.argsort(-near, kind="stable"):
            if all(float(vectors[i] @ vectors[j]) < ALIKE for j in chosen):
                chosen.append(int(i))
            if len(chosen) == k:
                break
        return [found[i] for i in reversed(chosen)]

    def _embedded(self, entries: Sequence[Entry], embedder: Embedder) -> list[list[float]]:
        with self._lock:
            new = [e for e in entries if (embedder.name, e.id) not in self._vectors]
            if new:
                for entry, vector in zip(new, embedder.embed([e.question for e in new]), strict=True):
                    self._vectors[embedder.name, entry.id] = [float(x) for x in vector]
            return [self._vectors[embedder.name, e.id] for e in entries]

    def remember(self, entry: Entry) -> bool:
        """Keep a confirmed entry; False when it is there already. Raises ConfigError for one without confirmation."""
        if not entry.confirmed:
            raise ConfigError("Only a question whose answer was confirmed can be remembered.")
        with self._lock:
            if any(e.id == entry.id for e in self.entries()):
                return False
            self._own.append(entry)
            self._save()
        return True

    def forget(self, id: str) -> bool:
        """Remove one of the user's own entries; False when there is none of that id."""
        with self._lock:
            kept = [e for e in self._own if e.id != id]
            gone = len(kept) < len(self._own)
            self._own = kept
            if gone:
                self._save()
        return gone

    def _save(self) -> None:
        if self.file is None:
            return
        part = self.file.with_name(self.file.name + ".part")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(asdict(e), ensure_ascii=False) for e in self._own]
            part.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            os.replace(part, self.file)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ConfigError(f"The memory could not be written to {self.file}: {error.strerror}.") from error


def _read(file: Path) -> list[Entry]:
    found: list[Entry] = []
    number = 0
    try:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):  # noqa: B007  told below
            if line.strip():
                found.append(_json().validate_json(line))
    except OSError as error:
        raise ConfigError(f"The memory {file} could not be read: {error.strerror}.") from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise ConfigError(f"The memory {file}, line {number}, is not an entry; mend or remove that line.") from error
    return found
