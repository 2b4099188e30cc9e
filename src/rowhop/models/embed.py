"""What embeds: a folder with an ONNX model (in this process), or any OpenAI-compatible /embeddings endpoint.

The embedded all-MiniLM-L6-v2 was trained on English text; other languages match by shared words only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models.threads import usable_cores

if TYPE_CHECKING:
    import numpy as np

BATCH = 64  # texts of one request
_TOGETHER = 16  # texts of one run of a local model: 64 took a third longer and twice the memory
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
LONGEST = 256  # tokens, where the folder does not say; MiniLM was trained on no longer texts

# Models that want a sentence before each query and whose older folders do not say so.
BGE_PREFIX = "Represent this sentence for searching relevant passages: "

Pooling = Literal["mean", "cls"]


class LocalEmbedder:
    """An Embedder over a folder as sentence-transformers lays it out: an ONNX model, `tokenizer.json`, and, where
    there are any, `1_Pooling/config.json`, `sentence_bert_config.json`, `config_sentence_transformers.json`.

    >>> embedder = LocalEmbedder("all-MiniLM-L6-v2")  # doctest: +SKIP
    >>> embedder.embed(["a red apple", "a green pear"]).shape  # doctest: +SKIP
    (2, 384)
    """

    remote = False

    def __init__(
        self, folder: str | Path, name: str = "", prefix: str | None = None, pooling: Pooling | None = None
    ) -> None:
        self.folder = Path(folder)
        self.name = name or self.folder.name
        self._model_file = _model_file(self.folder)
        if not (self.folder / "tokenizer.json").is_file():
            raise ModelError(f"The embedder folder {self.folder} has no tokenizer.json.")
        self.prefix = _query_prefix(self.folder, self.name) if prefix is None else prefix
        self.pooling: Pooling = pooling or _pooling(self.folder)
        self.longest = int(_read(self.folder / "sentence_bert_config.json").get("max_seq_length") or LONGEST)
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None  # the session and the tokenizer

    def __repr__(self) -> str:
        return f"LocalEmbedder({str(self.folder)!r})"

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        import numpy as np

        session, tokenizer = self._load()
        if query and self.prefix:
            texts = [self.prefix + text for text in texts]
        # Texts of like length go together, so that little is padded; an empty list still tells the dimension.
        encoded = tokenizer.encode_batch(list(texts) or [""])
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
        vectors: list[np.ndarray] = [np.empty(0, np.float32)] * len(encoded)
        for group in _groups(order):
            for i, vector in zip(group, self._run(session, [encoded[i].ids for i in group]), strict=True):
                vectors[i] = vector
        return np.stack(vectors)[: len(texts)]

    def _run(self, session: Any, rows: list[list[int]]) -> np.ndarray:
        import numpy as np

        width = max(len(ids) for ids in rows)
        ids = np.zeros((len(rows), width), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(rows):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {value.name for value in session.get_inputs()}
        if missing := wanted - given.keys():
            raise ModelError(f"The embedder {self._model_file} wants inputs that are not known: {sorted(missing)}.")
        hidden = session.run(None, {name: given[name] for name in wanted})[0].astype(np.float32)
        return unit(hidden if hidden.ndim == 2 else _pool(hidden, mask, self.pooling))

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = (_session(self._model_file), self._tokenizer())
            return self._loaded

    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing more special
            raise ModelError(f"{self.folder / 'tokenizer.json'} cannot be read as a tokenizer: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.longest)
        return tokenizer


class EndpointEmbedder:
    """An Embedder over `/embeddings` of an OpenAI-compatible endpoint."""

    def __init__(self, name: str, base_url: str, api_key: str = "", timeout: float = 60.0, prefix: str = "") -> None:
        from rowhop.models.openai import Endpoint

        self.name = name
        self.prefix = prefix
        self._endpoint = Endpoint(base_url, api_key, timeout)
        self._dimension: int | None = None

    @property
    def remote(self) -> bool:
        return self._endpoint.remote

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r}, {self._endpoint.shown!r})"

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        import numpy as np

        # An empty text is refused by many endpoints; a blank stands for it.
        wanted = [(self.prefix if query else "") + text or " " for text in texts]
        rows: list[list[float]] = []
        for start in range(0, len(wanted), BATCH):
            part = wanted[start : start + BATCH]
            found = self._endpoint.embeddings(self.name, part)
            if len(found) != len(part):
                raise ModelUnavailable(f"{self._endpoint.shown} gave {len(found)} vectors for {len(part)} texts.")
            rows += found
        if not rows:
            return np.empty((0, self._dimension or 0), np.float32)
        self._dimension = len(rows[0])
        return unit(np.asarray(rows, np.float32))


def unit(vectors: np.ndarray) -> np.ndarray:
    """The same directions with length 1; a vector of zeros stays one."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


def _pool(hidden: np.ndarray, mask: np.ndarray, pooling: Pooling) -> np.ndarray:
    import numpy as np

    if pooling == "cls":
        return np.asarray(hidden[:, 0])
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1))


def _groups(order: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(order), _TOGETHER):
        yield order[start : start + _TOGETHER]


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(4, usable_cores())
    options.log_severity_level = 4  # only fatal: nothing belongs on the user's terminal
    # A thread that spins while it waits slows everybody down on a busy machine, the chat model first of all.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library has no public root for its errors
        raise ModelUnavailable(f"The embedder {path} could not be loaded: {error}") from error


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise ModelError(f"The embedder folder {folder} has no ONNX model; looked for {', '.join(MODEL_FILES)}.")


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{path} is not JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def _pooling(folder: Path) -> Pooling:
    said = _read(folder / "1_Pooling" / "config.json")
    if said.get("pooling_mode_cls_token") or said.get("pooling_mode") == "cls":
        return "cls"
    others = [key for key in ("pooling_mode_max_tokens", "pooling_mode_lasttoken") if said.get(key)]
    if others:
        raise ModelError(f"The embedder folder {folder} asks for {others[0]}; only mean and cls pooling are known.")
    return "cls" if not said and "bge" in folder.name.lower() else "mean"


def _query_prefix(folder: Path, name: str) -> str:
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts") or {}
    if "query" in prompts:
        return str(prompts["query"])
    said = name.lower()
    return BGE_PREFIX if "bge" in said and "-en" in said else ""
