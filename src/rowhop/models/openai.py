"""Any endpoint that speaks the OpenAI protocol, through the official SDK. The one place with back-off.

A key never stands in a message, a repr or a chained exception: what an endpoint says is scrubbed, what it says about
a key is not repeated at all, and the SDK's own exceptions are not kept as causes.
"""

from __future__ import annotations

import ipaddress
import json
import random
import re
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models import Completion, Listen, Message, Options, Usage
from rowhop.models.heartbeat import EVERY, attended

T = TypeVar("T")

PATIENCE = 60.0  # the longest pause that an endpoint may ask for before we give up
# What some endpoints or models refuse: it is left out, or replaced, and the request sent again.
OPTIONAL = (
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "seed",
    "stop",
    "stream_options",
    "response_format",
    "n",
)


class _Again(Exception):
    """The call failed in a way that may pass. `wait`: seconds the endpoint asked for."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class _Refused(Exception):
    """The endpoint does not take this parameter."""

    def __init__(self, parameter: str, why: str) -> None:
        super().__init__(why)
        self.parameter = parameter


class Endpoint:
    """One address with its key: the connection, the retries and the words for what went wrong."""

    def __init__(self, base_url: str, api_key: str = "", timeout: float = 60.0, retries: int = 4) -> None:
        import openai

        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ModelError("The address of the model endpoint must look like https://host/v1.")
        port = f":{parts.port}" if parts.port else ""
        self.shown = f"{parts.scheme}://{parts.hostname}{port}{parts.path}"  # no user, password or query
        self.remote = not _is_loopback(parts.hostname)
        self.retries = retries
        self._secrets = [s for s in (api_key, parts.password) if s]
        self.client = openai.OpenAI(
            api_key=api_key or "none",
            base_url=base_url,
            timeout=openai.Timeout(timeout, connect=min(10.0, timeout)),
            max_retries=0,  # ours also mend a broken stream and can be interrupted
        )
        # In a cycle the collector may come to a socket before it comes to the client that would close it.
        weakref.finalize(self, self.client.close)

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"

    def embeddings(self, model: str, texts: list[str]) -> list[list[float]]:
        def once() -> list[list[float]]:
            reply = self.client.embeddings.create(model=model, input=texts, encoding_format="float")
            if not hasattr(reply, "data"):  # the SDK hands on text that is not JSON as it is
                raise ModelError(self.not_the_protocol())
            return [row.embedding for row in sorted(reply.data, key=lambda row: row.index)]

        return self.call(model, once, None)

    def call(self, model: str, once: Callable[[], T], listen: Listen | None) -> T:
        """`once()`, again with growing pauses while its failure may pass."""
        for attempt in range(self.retries + 1):
            try:
                return self._guarded(model, once)
            except _Again as failure:
                pause = failure.wait if failure.wait is not None else random.uniform(0.5, 1.0) * 2**attempt
                if attempt == self.retries or pause > PATIENCE:
                    asked = f" It asks to wait {pause:.0f} seconds." if pause > PATIENCE else ""
                    raise ModelUnavailable(f"{failure} (tried {attempt + 1} times).{asked}") from None
                _sleep(pause, listen)
        raise AssertionError("unreachable")

    def _guarded(self, model: str, once: Callable[[], T]) -> T:
        import openai

        try:
            return once()
        except openai.APITimeoutError:
            raise _Again(f"{self.shown} did not answer in time") from None
        except openai.APIConnectionError as error:
            raise _Again(
                f"{self.shown} could not be reached or broke off: {self.scrub(error.__cause__ or error)}"
            ) from None
        except openai.APIStatusError as error:
            raise self._status(model, error) from None
        except openai.APIError as error:  # an error sent inside the stream
            raise _Again(f"{self.shown} broke off: {self.scrub(error.message)}") from None
        except json.JSONDecodeError:
            raise _Again(f"{self.shown} sent something that is not JSON") from None

    def _status(self, model: str, error: Any) -> Exception:
        """What an HTTP error means."""
        code, said = error.status_code, self.scrub(_message(error))
        if code in (401, 403):  # what the endpoint says may repeat a part of the key
            return ModelError(f"{self.shown} refused the key ({code}). Check the API key and what it may use.")
        if code == 404:
            return ModelError(f"{self.shown} does not know the model {model!r} (404). Check its name and the address.")
        if code == 429 and error.code == "insufficient_quota":
            return ModelError(f"{self.shown} says that the quota of this key is used up (429).")
        if code in (408, 409, 425, 429) or code >= 500:
            return _Again(f"{self.shown} answered with error {code}: {said}", _retry_after(error.response.headers))
        if code in (400, 422) and (parameter := _named(error, said)):
            return _Refused(parameter, said)
        return ModelError(f"{self.shown} refused the request ({code}): {said}")

    def scrub(self, said: object) -> str:
        text = str(said)
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = re.sub(r"\b(?:sk|pk|key)-[\w*-]{6,}", "…", text)
        return " ".join(text.split())[:300]

    def not_the_protocol(self) -> str:
        return f"{self.shown} does not speak the OpenAI protocol: it sent a web page. The address often ends in /v1."


class OpenAIModel:
    """A ChatModel over `/chat/completions`. An endpoint on this machine counts as not remote: prompts do not leave
    the machine unless that endpoint sends them on.

    >>> model = OpenAIModel("gpt-5-mini", "https://api.example.com/v1", api_key="…")  # doctest: +SKIP
    """

    constrains = False  # a schema is asked for where the endpoint takes one, but none takes a grammar for sure

    def __init__(self, name: str, base_url: str, api_key: str = "", timeout: float = 60.0, retries: int = 4) -> None:
        self.name = name
        self._endpoint = Endpoint(base_url, api_key, timeout, retries)
        self._refused: frozenset[str] = frozenset()  # learnt from the endpoint's answers

    @property
    def remote(self) -> bool:
        return self._endpoint.remote

    @property
    def identity(self) -> str:
        """For caches: the same name at another address may be another model."""
        return self._endpoint.shown

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, {self._endpoint.shown!r})"

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        """Streams. After a broken stream the reply starts anew, and `listen` hears it from its start again."""
        start = time.monotonic()
        replies: list[_Reply] = []
        texts: list[str] = []
        while len(texts) < options.samples:
            # An endpoint that ignores `n` gives one reply at a time.
            hear = listen if not texts else None if listen is None else lambda _: listen("")
            reply = self._one(messages, options, options.samples - len(texts), len(texts), hear)
            texts += ["".join(reply.pieces[i]) for i in sorted(reply.pieces)]
            replies.append(reply)
        usages = [r.usage or _estimate(messages, r) for r in replies]
        money = [u.money for u in usages if u.money is not None]
        usage = Usage(
            sum(u.prompt_tokens for u in usages),
            sum(u.reply_tokens for u in usages),
            sum(u.cached_tokens for u in usages),
            time.monotonic() - start,
            sum(money) if len(money) == len(usages) else None,
        )
        return Completion(tuple(texts[: options.samples]), usage, replies[0].finish)

    def _one(
        self, messages: Sequence[Message], options: Options, count: int, first: int, listen: Listen | None
    ) -> _Reply:
        while True:
            body = self._body(messages, options, count, first)
            try:
                return self._endpoint.call(self.name, lambda body=body: self._stream(body, listen), listen)  # type: ignore[misc]
            except _Refused as refusal:
                if refusal.parameter not in body or refusal.parameter in self._refused:
                    raise ModelError(f"{self._endpoint.shown} refused the request: {refusal}") from None
                self._refused |= {refusal.parameter}

    def _body(self, messages: Sequence[Message], options: Options, count: int, first: int) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": options.temperature,
            "seed": options.seed + first,
            limit: options.max_tokens,
        }
        if options.stop:
            body["stop"] = list(options.stop)
        if count > 1:
            body["n"] = count
        if options.schema:
            schema = {"name": "reply", "schema": json.loads(options.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {key: value for key, value in body.items() if key not in self._refused}

    def _stream(self, body: dict[str, Any], listen: Listen | None) -> _Reply:
        reply = _Reply()
        for chunk in attended(lambda: self._chunks(body), listen):
            piece = reply.add(chunk)
            if listen is not None:
                listen(piece)
        if not reply.pieces or None in reply.finishes.values():
            raise _Again(f"{self._endpoint.shown} broke off in the middle of a reply")
        return reply

    def _chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._endpoint.client.chat.completions.create(**body) as stream:
            kind = stream.response.headers.get("content-type", "")
            if "html" in kind:
                raise ModelError(self._endpoint.not_the_protocol())
            if "application/json" in kind:  # an endpoint that does not stream
                yield _whole(json.loads(stream.response.read()), self._endpoint)
                return
            for chunk in stream:
                yield chunk.model_dump()


class _Reply:
    """Collects the pieces of one request's replies, by their index."""

    def __init__(self) -> None:
        self.pieces: dict[int, list[str]] = {}
        self.finishes: dict[int, str | None] = {}
        self.usage: Usage | None = None

    @property
    def finish(self) -> Literal["stop", "length"]:
        return "length" if self.finishes[min(self.finishes)] == "length" else "stop"

    def add(self, chunk: dict[str, Any]) -> str:
        """The text that this chunk adds to the first reply."""
        heard = ""
        for choice in chunk.get("choices") or ():
            index = choice.get("index") or 0
            piece = (choice.get("delta") or choice.get("message") or {}).get("content") or ""
            self.pieces.setdefault(index, []).append(piece)
            self.finishes[index] = choice.get("finish_reason") or self.finishes.get(index)
            heard += piece if index == 0 else ""
        if used := chunk.get("usage"):
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            cost = used.get("cost")  # some endpoints say in dollars what the call cost
            money = float(cost) if isinstance(cost, int | float) else None
            self.usage = Usage(used.get("prompt_tokens") or 0, used.get("completion_tokens") or 0, cached, 0.0, money)
        return heard


def _whole(data: Any, endpoint: Endpoint) -> dict[str, Any]:
    if not isinstance(data, dict) or not data.get("choices"):
        said = endpoint.scrub(json.dumps(data.get("error", data) if isinstance(data, dict) else data))
        raise _Again(f"{endpoint.shown} sent JSON without a reply: {said}")
    return data


def _estimate(messages: Sequence[Message], reply: _Reply) -> Usage:
    """For endpoints that do not count: about four characters of English text are a token."""
    prompt = sum(len(m.content) + 16 for m in messages)
    replied = sum(len(piece) for pieces in reply.pieces.values() for piece in pieces)
    return Usage(prompt // 4 + 1, replied // 4 + 1)


def _message(error: Any) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    if "html" in error.response.headers.get("content-type", ""):
        return "a web page"
    return str(error.message)


def _named(error: Any, said: str) -> str:
    """The optional parameter that a refusal is about, or ""."""
    if error.param in OPTIONAL:
        return str(error.param)
    places = {name: re.search(rf"['\"`]{name}['\"`]" if name == "n" else rf"\b{name}\b", said) for name in OPTIONAL}
    # "Use 'max_completion_tokens' instead" names two: the one complained about comes first.
    found = {name: place.start() for name, place in places.items() if place}
    return min(found, key=found.__getitem__, default="")


def _retry_after(headers: Any) -> float | None:
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):  # absent, or a date: our own pause will do
        return None


def _sleep(seconds: float, listen: Listen | None) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if listen is not None:
            listen("")
        time.sleep(min(EVERY, left))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
