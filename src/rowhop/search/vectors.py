"""The closest vectors, exactly: one matrix product is fast enough up to about a hundred thousand of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rowhop.models import Embedder


def top(query: np.ndarray, vectors: np.ndarray, k: int) -> list[tuple[int, float]]:
    """Index and cosine of the `k` vectors closest to `query`, best first, ties in order. All are unit vectors."""
    import numpy as np

    if k <= 0 or not len(vectors):
        return []
    scores = vectors @ query
    if k < len(scores):
        # A cut through equal scores must keep the first ones, so that the result does not change from run to run.
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen = np.flatnonzero(scores >= least)
    else:
        chosen = np.arange(len(scores))
    order = chosen[np.argsort(-scores[chosen], kind="stable")][:k]
    return [(int(i), float(scores[i])) for i in order]


def closest(embedder: Embedder, query: str, texts: Sequence[str], k: int) -> list[tuple[int, float]]:
    """Index and cosine of the `k` texts closest in meaning to `query`, best first."""
    if k <= 0 or not texts:
        return []
    return top(embedder.embed([query], query=True)[0], embedder.embed(texts), k)
