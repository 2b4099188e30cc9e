"""Models for tests and for showing a run again: Scripted says what it was told to, Recorder writes down what another
model said, Replay says it again. All are strict: what does not fit is a failure, not a guess.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rowhop.errors import ModelError
from rowhop.models import ChatModel, Completion, Listen, Message, Options, Usage

# A text, an exception to raise, or a function of the messages that gives a text.
Reply = str | BaseException | Callable[[Sequence[Message]], str]


class Scripted:
    """Gives the replies in order, one per sample. `asked` holds the messages and options of each call.

    >>> model = Scripted(["Hello!"])
    >>> model.complete([Message("user", "Say hello.")]).text
    'Hello!'
    >>> model.done()
    """

    remote = False
    free = True  # costs no money
    constrains = True

    def __init__(self, replies: Sequence[Reply], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[tuple[tuple[Message, ...], Options]] = []
        self._left = list(replies)
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        with self._lock:
            self.asked.append((tuple(messages), options))
            if len(self._left) < options.samples:
                raise AssertionError(f"{self.name} has no reply left for this prompt:\n\n{show(messages)}")
            replies, self._left = self._left[: options.samples], self._left[options.samples :]
        texts = tuple(_said(reply, messages) for reply in replies)
        _speak(texts[0], listen)
        return Completion(texts, _usage(messages, texts))

    def done(self) -> None:
        """Fails when replies are left: the run asked less than was expected."""
        if self._left:
            raise AssertionError(f"{self.name} still has {len(self._left)} replies; the next is: {self._left[0]!r}")


class Recorder:
    """Passes on what `model` says and appends each call to `path`, one JSON line each. Failures are not recorded."""

    def __init__(self, model: ChatModel, path: str | Path) -> None:
        self._model = model
        self._path = Path(path)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def remote(self) -> bool:
        return self._model.remote

    @property
    def constrains(self) -> bool:
        return self._model.constrains

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        done = self._model.complete(messages, options, listen)
        line = {
            "kind": "model_call",
            "model": self.name,
            "messages": [asdict(message) for message in messages],
            "replies": done.texts,
            "prompt_tokens": done.usage.prompt_tokens,
            "reply_tokens": done.usage.reply_tokens,
        }
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return done


class Replay:
    """Says again what stands in a saved trace or in a Recorder's file: the first unused reply to the same messages.

    `strict=False` gives the replies in order and does not compare the messages.
    """

    remote = False
    free = True
    constrains = True

    def __init__(self, path: str | Path, name: str = "", strict: bool = True) -> None:
        self._path = Path(path)
        self._calls = _recorded(self._path)
        self._strict = strict
        self._lock = threading.Lock()
        self.name = name or str(self._calls[0].get("model", "replay"))

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        wanted = [asdict(message) for message in messages]
        with self._lock:
            call = next((c for c in self._calls if not self._strict or c["messages"] == wanted), None)
            if call is None and self._strict:
                raise ModelError(f"{self._path} holds no unused reply to this prompt:\n\n{show(messages)}")
            if call is None:
                raise ModelError(
                    f"{self._path} holds no further reply: the run asked more often than the recorded one."
                )
            self._calls.remove(call)
        texts = tuple(str(text) for text in call["replies"])
        _speak(texts[0], listen)
        return Completion(texts, Usage(call.get("prompt_tokens", 0), call.get("reply_tokens", 0)))

    def done(self) -> None:
        if self._calls:
            raise AssertionError(f"{self._path} still has {len(self._calls)} replies that nobody asked for.")


def show(messages: Sequence[Message]) -> str:
    """Messages as text for people."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def _said(reply: Reply, messages: Sequence[Message]) -> str:
    if isinstance(reply, BaseException):
        raise reply
    return reply if isinstance(reply, str) else reply(messages)


def _speak(text: str, listen: Listen | None) -> None:
    if listen is not None:
        for line in text.splitlines(keepends=True):
            listen(line)


def _usage(messages: Sequence[Message], texts: Sequence[str]) -> Usage:
    # Four characters a token, and no time: the same in every run.
    return Usage(sum(len(m.content) for m in messages) // 4 + 1, sum(len(text) for text in texts) // 4 + 1)


def _recorded(path: Path) -> list[dict[str, Any]]:
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise ModelError(f"The recorded replies {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ModelError(f"{path} is not a trace or a record of replies: {error}.") from error
    calls = [line for line in lines if isinstance(line, dict) and line.get("kind") == "model_call"]
    if not calls:
        raise ModelError(f"{path} holds no replies of a model.")
    return calls
