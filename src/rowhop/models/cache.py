"""Replies and vectors kept on disk, so that the same request is not sent twice.

A reply is found again only when everything that may change it is the same: the model and where it runs, the messages,
the options, and a fingerprint that the caller gives (of the data). Values are JSON or plain floats, never pickles.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.models import ChatModel, Completion, Embedder, Listen, Message, Options, Usage
from rowhop.models.shelf import MOST, Shelf

if TYPE_CHECKING:
    import numpy as np

_FORMAT = 1  # raised when what is kept changes its form


class CachedModel:
    """A ChatModel that looks on the shelf first. Failures are never kept; `from_cache` tells a found reply."""

    def __init__(self, model: ChatModel, path: str | Path, fingerprint: str = "", most: int = MOST) -> None:
        self.model = model
        self._shelf = Shelf(path, most)
        self._fingerprint = fingerprint

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def remote(self) -> bool:
        return self.model.remote

    @property
    def constrains(self) -> bool:
        return self.model.constrains

    @property
    def free(self) -> bool:
        return bool(getattr(self.model, "free", False))

    def __repr__(self) -> str:
        return f"CachedModel({self.model!r})"

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        key = self._key(messages, options)
        if (kept := self._shelf.get(key)) is not None and (found := _read(kept)) is not None:
            if listen is not None:
                listen(found.text)
            return found
        done = self.model.complete(messages, options, listen)
        self._shelf.put(key, json.dumps(asdict(done), ensure_ascii=False).encode())
        return done

    def _key(self, messages: Sequence[Message], options: Options) -> str:
        asked = [[message.role, message.content] for message in messages]
        where = getattr(self.model, "identity", "")
        return _digest([_FORMAT, self.name, where, self._fingerprint, asked, asdict(options)])


class CachedEmbedder:
    """An Embedder that looks on the shelf first."""

    def __init__(self, embedder: Embedder, path: str | Path, most: int = MOST) -> None:
        self.embedder = embedder
        self._shelf = Shelf(path, most)

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def remote(self) -> bool:
        return self.embedder.remote

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        import numpy as np

        where = getattr(self.embedder, "identity", "")
        keys = [_digest([_FORMAT, self.name, where, query, text]) for text in texts]
        found = {key: kept for key in dict.fromkeys(keys) if (kept := self._shelf.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing or not keys:
            vectors = self.embedder.embed(list(missing.values()), query)
            if not keys:
                return vectors
            for key, vector in zip(missing, vectors, strict=True):
                found[key] = np.asarray(vector, "<f4").tobytes()
                self._shelf.put(key, found[key])
        return np.stack([np.frombuffer(found[key], "<f4") for key in keys]).astype(np.float32)


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _read(kept: bytes) -> Completion | None:
    try:
        data = json.loads(kept)
        usage = replace(Usage(**data["usage"]), seconds=0.0, money=None)
        return Completion(tuple(data["texts"]), usage, data["finish"], from_cache=True)
    except (ValueError, KeyError, TypeError):  # written by another version, or damaged: as if it were not there
        return None
