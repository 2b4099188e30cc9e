"""Local embedders: pooling, prefix, truncation, with a tiny ONNX model written here; and the real MiniLM."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models.embed import LocalEmbedder, unit

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "apple", "pear", "query", ":"]


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def value(name: str, kind: int, *dims: str | int) -> bytes:
    shape = b"".join(block(1, number(1, d) if isinstance(d, int) else block(2, d)) for d in dims)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, shape)))


def tiny_onnx() -> bytes:
    """A model whose state for a token is its row in a table (an ONNX file is a protocol buffer)."""
    table = np.eye(len(WORDS), dtype=np.float32)
    tensor = (
        number(1, len(WORDS)) + number(1, len(WORDS)) + number(2, 1) + block(8, "table") + block(9, table.tobytes())
    )
    node = block(1, "table") + block(1, "input_ids") + block(2, "last_hidden_state") + block(4, "Gather")
    graph = block(1, node) + block(2, "g") + block(5, tensor)
    graph += block(11, value("input_ids", 7, "batch", "tokens"))
    graph += block(12, value("last_hidden_state", 1, "batch", "tokens", len(WORDS)))
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 13))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder = tmp_path / "tiny"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(tiny_onnx())
    return folder


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


def test_mean_pooling_ignores_padding(folder: Path) -> None:
    vectors = LocalEmbedder(folder).embed(["apple", "pear pear apple", ""])
    assert vectors.shape == (3, len(WORDS))
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    expected = np.zeros(len(WORDS))
    expected[[2, 3, 4, 5]] = 1, 1, 1, 2
    assert vectors[1] == pytest.approx(expected / np.linalg.norm(expected))


def test_cls_pooling_as_the_folder_says(folder: Path) -> None:
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    vectors = LocalEmbedder(folder).embed(["apple", "pear"])
    assert vectors[:, 2].tolist() == [1, 1]
    assert LocalEmbedder(folder, pooling="mean").embed(["apple"])[0, 4] > 0
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_lasttoken": True})
    with pytest.raises(ModelError, match="pooling_mode_lasttoken"):
        LocalEmbedder(folder)


def test_query_prefix(folder: Path) -> None:
    stated = LocalEmbedder(folder, prefix="query: ")
    assert stated.embed(["apple"], query=True)[0, 6] > 0
    assert stated.embed(["apple"])[0, 6] == 0
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "document": ""}})
    assert LocalEmbedder(folder).embed(["apple"], query=True)[0, 6] > 0
    bge = folder.rename(folder.with_name("bge-large-en-v1.5"))
    (bge / "config_sentence_transformers.json").unlink()
    assert LocalEmbedder(bge).prefix.startswith("Represent this sentence")
    assert LocalEmbedder(bge).pooling == "cls"


def test_truncation(folder: Path) -> None:
    write(folder / "sentence_bert_config.json", {"max_seq_length": 4})
    vector = LocalEmbedder(folder).embed(["apple apple pear pear pear"])[0]
    assert vector[4] > 0
    assert vector[5] == 0  # [CLS] apple apple [SEP]


def test_many_texts_keep_their_order(folder: Path) -> None:
    texts = ["apple" if i % 3 else "pear " * (i % 7 + 1) for i in range(200)]
    embedder = LocalEmbedder(folder)
    vectors = embedder.embed(texts)
    assert embedder.embed([]).shape == (0, len(WORDS))
    for i in (0, 1, 63, 64, 199):
        assert vectors[i] == pytest.approx(embedder.embed([texts[i]])[0])


def test_threads_share_an_embedder(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed(["apple", "pear"]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all((vectors == found[0]).all() for vectors in found)


def test_folders_that_are_no_embedders(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match="has no ONNX model"):
        LocalEmbedder(tmp_path)
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelUnavailable, match="could not be loaded"):
        LocalEmbedder(folder).embed(["a"])
    (folder / "model.onnx").write_bytes(tiny_onnx())
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be read as a tokenizer"):
        LocalEmbedder(folder).embed(["a"])
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no tokenizer"):
        LocalEmbedder(folder)
    out, err = capfd.readouterr()
    assert out + err == ""


def test_unit_keeps_zeros() -> None:
    assert unit(np.asarray([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist() == [
        [np.float32(0.6), np.float32(0.8)],
        [0, 0],
    ]


@pytest.mark.model
def test_minilm_knows_meanings(weights_folder: Path) -> None:
    from rowhop.models.weights import fetch, present
    from rowhop.search.vectors import closest

    if not present("minilm", weights_folder):
        pytest.skip("minilm is not there; `rowhop model get minilm` fetches it")
    embedder = LocalEmbedder(fetch("minilm", weights_folder))
    found = closest(embedder, "Who wrote it?", ["price", "author", "number of pages"], 1)
    assert found[0][0] == 1
    assert embedder.embed(["word " * 3000]).shape == (1, 384)
