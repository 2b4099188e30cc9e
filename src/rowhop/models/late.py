"""An embedder that is fetched when it is first needed, and compares spelling where it cannot be had.

Most questions need no embedder. One that does should not fail because a machine has no network.
"""

from __future__ import annotations

import logging
import re
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models import Embedder

if TYPE_CHECKING:
    import numpy as np

_LOG = logging.getLogger("rowhop")
_WIDTH = 1024


class Spelling:
    """Unit vectors from words and their letter triples: likeness of spelling, not of meaning."""

    name = "spelling"
    remote = False

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        import numpy as np

        vectors = np.zeros((len(texts), _WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                padded = f"<{word}>"
                for part in (padded, *(padded[i : i + 3] for i in range(len(padded) - 2))):
                    vectors[row, zlib.crc32(part.encode()) % _WIDTH] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


class Late:
    """Opens its embedder with `opening` at the first use, once; thread-safe."""

    remote = False

    def __init__(self, opening: Callable[[], Embedder], name: str) -> None:
        self._opening = opening
        self._name = name
        self._inner: Embedder | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._inner.name if self._inner is not None else self._name

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        with self._lock:
            if self._inner is None:
                self._inner = self._open()
        return self._inner.embed(texts, query)

    def _open(self) -> Embedder:
        try:
            return self._opening()
        except (ModelError, ModelUnavailable) as error:
            _LOG.warning("Words are compared by spelling, not by meaning, because the embedder is missing: %s", error)
            return Spelling()
