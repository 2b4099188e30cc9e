"""The light relation-path model: which hop comes next, given the question's vector and the hops so far. Numpy only.

One hidden layer over (embedder's vector, hashed words of the masked question) and (last two hops, length, type of the
start). Here it is applied, saved and loaded; it is trained in `rowhop.learn.paths`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from rowhop.errors import SourceError
from rowhop.graph.textgraph_names import words
from rowhop.models import Embedder

BUCKETS = 2048  # hashed words and pairs of words
STOP, TEXT = "<stop>", "<text>"  # the path ends here; no path, the text decides
VERSION = 1  # of the saved form


def bag(text: str) -> np.ndarray:
    """Words, pairs and triples of words, hashed: templates and negations that a sentence vector blurs."""
    found = ["<", *(w for w, _, _ in words(text)), ">"]
    grams = [*found[1:-1], *(" ".join(found[i : i + 2]) for i in range(len(found) - 1))]
    grams += [" ".join(found[i : i + 3]) for i in range(len(found) - 2)]
    vector = np.zeros(BUCKETS, np.float32)
    for gram in grams:
        vector[zlib.crc32(gram.encode()) % BUCKETS] = 1.0
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector


def features(embedder: Embedder, questions: Sequence[str]) -> np.ndarray:
    """One row per (masked) question."""
    if not questions:
        return np.zeros((0, 0), np.float32)
    return np.hstack([embedder.embed(questions).astype(np.float32), np.array([bag(q) for q in questions])])


@dataclass
class LightModel:
    """`tokens` are STOP, TEXT and the hops ("treats", "^treats" against its direction); `kinds` types of start nodes.

    Weights: `w` input, `before` and `earlier` the last two tokens (one row more: none), `length`, `kind` (one row more:
    unknown), `bias`; `v`, `c` output.
    """

    tokens: list[str]
    kinds: list[str]
    embedder: str
    weights: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        self.token_code = {t: i for i, t in enumerate(self.tokens)}
        self.kind_code = {k: i for i, k in enumerate(self.kinds)}

    @property
    def name(self) -> str:
        return f"light path model over {self.embedder}"

    @property
    def longest(self) -> int:
        """Hops of the longest path it has learnt."""
        return len(self.weights["length"]) - 2

    def hidden(self, x: np.ndarray) -> np.ndarray:
        """The question's share of the hidden layer; computed once per question."""
        part: np.ndarray = x @ self.weights["w"] + self.weights["bias"]
        return part

    def state(self, prefix: Sequence[str], kind: str) -> tuple[int, int, int, int]:
        none = len(self.tokens)
        codes = [self.token_code.get(t, none) for t in prefix]
        before = codes[-1] if codes else none
        earlier = codes[-2] if len(codes) > 1 else none
        longest = len(self.weights["length"]) - 1
        return before, earlier, min(len(codes), longest), self.kind_code.get(kind, len(self.kinds))

    def next(self, hidden: np.ndarray, prefix: Sequence[str], kind: str) -> np.ndarray:
        """Log-probabilities over `tokens`."""
        before, earlier, length, kind_code = self.state(prefix, kind)
        w = self.weights
        h = np.tanh(hidden + w["before"][before] + w["earlier"][earlier] + w["length"][length] + w["kind"][kind_code])
        logits = h @ w["v"] + w["c"]
        logits -= logits.max()
        result: np.ndarray = logits - np.log(np.exp(logits).sum())
        return result

    def save(self, path: Path) -> None:
        facts = {"version": VERSION, "tokens": self.tokens, "kinds": self.kinds, "embedder": self.embedder}
        with path.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **self.weights)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> LightModel:
        """Raises SourceError when the file is not such a model. Nothing in it is executed."""
        try:
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                if facts["version"] != VERSION:
                    raise SourceError(f"{path} has format {facts['version']}; train the paths again.")
                weights = {k: file[k] for k in file.files if k != "facts"}
            return cls(facts["tokens"], facts["kinds"], facts["embedder"], weights)
        except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
            raise SourceError(f"{path} is not a trained path model: {error}.") from error
