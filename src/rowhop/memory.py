"""Solved questions across runs and kinds of knowledge: what a prompt's demonstrations are taken from.

An entry is one question, the BOXes as they were shown, and the program that gave the confirmed answer.
Entries are JSON Lines, to be read, edited and shared as text. Nothing unconfirmed is ever remembered.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter, ValidationError

from rowhop.errors import ConfigError
from rowhop.models import Embedder
from rowhop.types import Language

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["table", "database", "graph", "text graph"]
# Which demonstrations a question gets: the same for all, the nearest of all, the nearest of its own data set, any.
How = Literal["auto", "fixed", "shared", "own", "random"]
# How alike two demonstrations may be before the second one teaches nothing (cosine of their questions).
ALIKE = 0.95
# What likeness to those chosen already takes from a demonstration's nearness to the question.
DIVERSE = 0.3
_POOL = 10  # candidates looked through for each demonstration wanted


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


@dataclass(frozen=True)
class Recall:
    """`auto` is what measured best for the model; `dataset` is whose entries are "own", `seed` draws the random ones.

    In the paper's words: "shared" is the full method, "own" is −SD, "random" is −SR.
    """

    how: How = "auto"
    dataset: str = ""
    seed: int = 0


@cache
def _json() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


def seeds() -> tuple[Entry, ...]:
    """The entries that ship with rowhop, written over tables of our own."""
    text = files("rowhop").joinpath("seed_memory.jsonl").read_text(encoding="utf-8")
    return tuple(_json().validate_json(line) for line in text.splitlines() if line.strip())


class Memory:
    """Thread-safe. `file` is where entries of the user's own are kept; None keeps them in this process only.

    Without an embedder, recall takes entries in the file's order. `keeping` is the same embedder behind a store, so
    that a thousand entries are embedded once and not in each process.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        file: Path | None = None,
        seeded: bool = True,
        keeping: Embedder | None = None,
    ) -> None:
        self.embedder = embedder
        self.file = file
        self._keeping = keeping if keeping is not None else embedder
        self._own: list[Entry] = _read(file) if file is not None and file.exists() else []
        self._seeds = list(seeds()) if seeded else []
        self._lock = threading.Lock()
        self._vectors: dict[tuple[str, Language, str], tuple[list[Entry], np.ndarray]] = {}

    def entries(self, language: Language | None = None) -> list[Entry]:
        """All entries, the shipped ones first."""
        return [e for e in (*self._seeds, *self._own) if language is None or e.language == language]

    def fixed(self, k: int, language: Language, kind: Kind) -> list[Entry]:
        """The first `k` entries in the file's order, those of the same kind of source first. The same for every
        question, so that a model's prefix cache holds them."""
        found = self.entries(language)
        return ([e for e in found if e.kind == kind] or found)[:k]

    def recall(self, question: str, k: int, language: Language, how: Recall = Recall("shared")) -> list[Entry]:
        """`k` entries for a question, the nearest last and none twice alike; from all kinds and data sets, from one
        data set, or at random (the same ones for the same seed and question)."""
        dataset = how.dataset if how.how == "own" else ""
        found, embedder = self._among(language, dataset), self.embedder
        if how.how == "random":
            drawn = sorted(found, key=lambda e: hashlib.sha256(f"{how.seed}\0{question}\0{e.id}".encode()).digest())
            return drawn[:k]
        if embedder is None or len(found) <= k:
            return found[:k]
        # The question first: an embedder that cannot be had says so, and takes another name, at its first use.
        asked = embedder.embed([question], query=True)[0]
        found, vectors = self._embedded(embedder.name, language, dataset)
        near = vectors @ asked
        chosen = _diverse(near, vectors, k)
        return [found[i] for i in sorted(chosen, key=lambda i: near[i])]

    def _among(self, language: Language, dataset: str) -> list[Entry]:
        return [e for e in self.entries(language) if not dataset or e.dataset == dataset]

    def _embedded(self, name: str, language: Language, dataset: str) -> tuple[list[Entry], np.ndarray]:
        import numpy as np

        with self._lock:
            key = (name, language, dataset)
            if key not in self._vectors:
                entries = self._among(language, dataset)
                assert self._keeping is not None
                vectors = self._keeping.embed([e.question for e in entries])
                self._vectors[key] = entries, np.asarray(vectors, dtype=np.float32)
            return self._vectors[key]

    def remember(self, entry: Entry) -> bool:
        """Keep a confirmed entry; False when it is there already. Raises ConfigError for one without confirmation."""
        if not entry.confirmed:
            raise ConfigError("Only a question whose answer was confirmed can be remembered.")
        with self._lock:
            if any(e.id == entry.id for e in self.entries()):
                return False
            self._own.append(entry)
            self._vectors.clear()
            self._save()
        return True

    def forget(self, id: str) -> bool:
        """Remove one of the user's own entries; False when there is none of that id."""
        with self._lock:
            kept = [e for e in self._own if e.id != id]
            gone = len(kept) < len(self._own)
            self._own = kept
            self._vectors.clear()
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


def _diverse(near: np.ndarray, vectors: np.ndarray, k: int) -> list[int]:
    """Places of `k` vectors that are near to the question and not to one another."""
    import numpy as np

    pool = np.argsort(-near, kind="stable")[: _POOL * k]
    worth, likeness = near[pool].astype(np.float32), np.full(len(pool), -1.0, np.float32)
    chosen: list[int] = []
    while len(chosen) < k:
        gain = np.where(likeness < ALIKE, worth - DIVERSE * np.maximum(likeness, 0), -np.inf)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf:
            break
        chosen.append(int(pool[best]))
        likeness = np.maximum(likeness, vectors[pool] @ vectors[pool[best]])
    return chosen


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
