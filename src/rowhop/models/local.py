"""The embedded model: a GGUF file run inside this process by llama.cpp (through xllamacpp). Nothing leaves the machine.

llama.cpp's server object always opens an HTTP door. Ours is a Unix socket in a folder only this user may enter, with a
random key, and its name is removed as soon as the model is loaded, so that nobody can knock. What remains: between the
start and the end of loading (seconds) a process of the same user that guesses the key could send prompts, and on
Windows the door is a port on 127.0.0.1 that stays open behind the random key and tells anyone which model it is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models import Completion, Listen, Message, Options, Usage
from rowhop.models.engine import SLOTS, engine_for


class LocalModel:
    """A ChatModel over one GGUF file. The file is loaded at the first reply, once per process.

    >>> model = LocalModel("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")  # doctest: +SKIP
    >>> model.complete([Message("user", "Say hello.")]).text  # doctest: +SKIP
    'Hello!'
    """

    remote = False
    free = True  # costs no money
    constrains = True

    def __init__(self, path: str | Path, name: str = "", context: int = 8192, threads: int | None = None) -> None:
        self.path = Path(path)
        self.name = name or self.path.stem
        self.context = context  # tokens of prompt and reply together
        self.threads = threads  # None: the cores that are free when the model is loaded
        if not self.path.is_file():
            raise ModelError(f"There is no model file {self.path}. `rowhop model` lists the models and gets them.")
        with self.path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(f"{self.path} is not a GGUF model file.")

    @property
    def identity(self) -> str:
        """For caches: another file under the same name is another model."""
        found = self.path.stat()
        return f"{self.path.resolve()} {found.st_size} {found.st_mtime_ns} {self.context}"

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r}, {self.name!r})"

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        """Stream the reply; `listen` hears the first sample only, and an empty piece now and then while it waits,
        so that a time limit also ends a long prompt. Its exception stops the model and comes through."""
        start = time.monotonic()
        engine = engine_for(self.path, self.context, self.threads)
        texts: list[str] = []
        total = Usage()
        finish: Literal["stop", "length"] = "stop"
        for first in range(0, options.samples, SLOTS):
            count = min(SLOTS, options.samples - first)
            reply = _Reply(count)
            for chunk in engine.run(_body(messages, options, count, first), listen):
                piece = reply.add(chunk, self)
                if listen is not None and not first:
                    listen(piece)
            texts += ["".join(pieces) for pieces in reply.pieces]
            finish = reply.finish if not first else finish
            total = _add(total, reply.usage)
        usage = Usage(total.prompt_tokens, total.reply_tokens, total.cached_tokens, time.monotonic() - start)
        return Completion(tuple(texts), usage, finish)

    def load(self) -> None:
        """Load the file now, so that the first question does not wait for it."""
        engine_for(self.path, self.context, self.threads).wait(None)


class _Reply:
    """Collects the pieces of `count` replies that arrive interleaved."""

    def __init__(self, count: int) -> None:
        self.pieces: list[list[str]] = [[] for _ in range(count)]
        self.usage = Usage()
        self.finish: Literal["stop", "length"] = "stop"

    def add(self, chunk: dict[str, Any], model: LocalModel) -> str:
        """The text that this chunk adds to the first reply; "" for progress, other replies and the end."""
        if "error" in chunk:
            raise _error(chunk["error"], model)
        heard = ""
        for choice in chunk.get("choices", ()):
            piece = choice["delta"].get("content") or ""
            self.pieces[choice["index"]].append(piece)
            if choice["index"] == 0:
                heard += piece
                if choice.get("finish_reason") == "length":
                    self.finish = "length"
        if used := chunk.get("usage"):
            count = len(self.pieces)  # the figures count the prompt once per reply, but it was read once
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.usage = Usage(used["prompt_tokens"] // count, used["completion_tokens"], cached // count)
        return heard


def _add(a: Usage, b: Usage) -> Usage:
    return Usage(a.prompt_tokens + b.prompt_tokens, a.reply_tokens + b.reply_tokens, a.cached_tokens + b.cached_tokens)


def _body(messages: Sequence[Message], options: Options, count: int, first: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "seed": options.seed + first,
        "n": count,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk for each batch of the prompt: a chance to stop
        "cache_prompt": True,
    }
    if options.stop:
        body["stop"] = list(options.stop)
    if options.grammar:
        body["grammar"] = options.grammar
    elif options.schema:
        body["json_schema"] = json.loads(options.schema)
    return body


def _error(error: dict[str, Any], model: LocalModel) -> ModelError | ModelUnavailable:
    if error.get("type") == "exceed_context_size_error":
        return ModelError(
            f"The prompt has {error['n_prompt_tokens']} tokens, but {model.name} reads at most {error['n_ctx']}. "
            "Ask about fewer or smaller sources, or set a larger context for the model."
        )
    text = f"{model.name} could not reply: {error.get('message', error)}"
    return ModelError(text) if error.get("code") == 400 else ModelUnavailable(text)
