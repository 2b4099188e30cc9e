"""Replies and vectors on disk: found only when everything is the same, never a failure, bounded."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fake_endpoint import KEY, serve

from rowhop.errors import ModelUnavailable
from rowhop.models import Message, Options
from rowhop.models.ask import ask
from rowhop.models.cache import CachedEmbedder, CachedModel
from rowhop.models.openai import OpenAIModel
from rowhop.models.scripted import Scripted
from rowhop.models.shelf import Shelf
from rowhop.trace import Trace
from rowhop.types import Question

HELLO = [Message("user", "Say hello.")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sub" / "replies.sqlite"


def test_second_time_nothing_is_sent(path: Path) -> None:
    heard: list[str] = []
    CachedModel(Scripted(["hello é"]), path).complete(HELLO)
    model = CachedModel(Scripted([]), path)
    done = model.complete(HELLO, listen=heard.append)
    assert done.from_cache
    assert done.text == "hello é" == "".join(heard)
    assert done.usage.seconds == 0
    trace = Trace(Question("?"))
    ask(model, "code", HELLO, Options(), trace)
    assert trace.cost.calls == 0


@pytest.mark.parametrize(
    ("messages", "options", "fingerprint", "name"),
    [
        ([Message("user", "Say hello!")], Options(), "", "m"),
        ([Message("system", "Say hello.")], Options(), "", "m"),
        (HELLO, Options(temperature=0.1), "", "m"),
        (HELLO, Options(seed=1), "", "m"),
        (HELLO, Options(stop=("x",)), "", "m"),
        (HELLO, Options(grammar="root ::= x"), "", "m"),
        (HELLO, Options(), "one cell changed", "m"),
        (HELLO, Options(), "", "another model"),
    ],
)
def test_any_change_asks_anew(
    path: Path, messages: list[Message], options: Options, fingerprint: str, name: str
) -> None:
    CachedModel(Scripted(["old"], "m"), path).complete(HELLO)
    done = CachedModel(Scripted(["new"], name), path, fingerprint).complete(messages, options)
    assert (done.text, done.from_cache) == ("new", False)


def test_same_name_at_another_address_is_another_model(path: Path) -> None:
    with serve("ok", text="from one") as one, serve("ok", text="from two") as two:
        for script in (one, two, one):
            said = CachedModel(OpenAIModel("m", script.url, KEY), path).complete(HELLO)
            assert said.text == script.text
        assert said.from_cache
        assert len(one.bodies) == 1


def test_no_key_in_the_file(path: Path) -> None:
    with serve("ok") as script:
        CachedModel(OpenAIModel("m", script.url, KEY), path).complete(HELLO)
    for file in path.parent.iterdir():
        assert KEY.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_failures_are_not_kept(path: Path) -> None:
    model = CachedModel(Scripted([ModelUnavailable("down"), "up"]), path)
    with pytest.raises(ModelUnavailable):
        model.complete(HELLO)
    assert model.complete(HELLO).text == "up"


def test_damaged_file_is_no_failure_and_mends_itself(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is not a database" * 300)
    assert CachedModel(Scripted(["a"]), path).complete(HELLO).text == "a"
    assert CachedModel(Scripted(["b"]), path).complete(HELLO).text == "b"
    assert CachedModel(Scripted([]), path).complete(HELLO).from_cache


def test_unreadable_value_is_asked_anew(path: Path) -> None:
    CachedModel(Scripted(["a"]), path).complete(HELLO)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE shelf SET value = ?", (b'{"texts": 5}',))
    connection.close()
    assert CachedModel(Scripted(["b"]), path).complete(HELLO).text == "b"


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = CachedModel(Scripted(["a", "b"]), tmp_path / "file" / "replies.sqlite")
    assert model.complete(HELLO).text == "a"
    assert model.complete(HELLO).text == "b"


def test_shelf_is_bounded_and_drops_what_was_longest_unused(path: Path) -> None:
    shelf = Shelf(path, most=10_000)
    for number in range(9):
        shelf.put(f"k{number}", b"x" * 1000)
    assert shelf.get("k0") is not None  # used again
    shelf.put("k9", b"x" * 1000)
    shelf.put("k10", b"x" * 1000)
    kept = [number for number in range(11) if shelf.get(f"k{number}") is not None]
    assert 0 in kept
    assert 10 in kept
    assert 1 not in kept
    assert len(kept) <= 10
    shelf.put("big", b"x" * 20_000)
    assert shelf.get("big") is None


def test_threads_and_processes_share_it(path: Path) -> None:
    code = (
        "import sys; from rowhop.models.shelf import Shelf; s = Shelf(sys.argv[1]);"
        "[s.put(f'p{i}', b'v') for i in range(50)]"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)])
    shelf = Shelf(path)

    def work(name: str) -> None:
        for number in range(50):
            shelf.put(f"{name}{number}", name.encode())
            assert shelf.get(f"{name}{number}") == name.encode()

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert child.wait(30) == 0
    assert all(shelf.get(f"{name}{number}") for name in "abcdp" for number in range(50))
    shelf.close()


class Counting:
    """Embeds by length, and counts."""

    name = "counting"
    remote = False

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        self.texts += texts
        return np.asarray([[len(text), float(query)] for text in texts], np.float32).reshape(len(texts), 2)


def test_vectors_are_kept(path: Path) -> None:
    counting = Counting()
    embedder = CachedEmbedder(counting, path)
    first = embedder.embed(["a", "bb", "a"])
    assert counting.texts == ["a", "bb"]
    again = embedder.embed(["bb", "ccc", "a"])
    assert counting.texts == ["a", "bb", "ccc"]
    assert again.tolist() == [[2, 0], [3, 0], [1, 0]]
    assert first.dtype == again.dtype == np.float32
    assert embedder.embed(["a"], query=True).tolist() == [[1, 1]]
    assert embedder.embed([]).shape == (0, 2)
