"""What every request passes: the token, the Host and Origin it claims, the size of its body; and the headers of every
reply. Written as plain ASGI, so that event streams are not buffered."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
BODY = 256_000  # bytes of a request that is no upload
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_CLOSED = (
    "<!doctype html><meta charset=utf-8><title>rowhop</title><p>This page is opened by the address that "
    "<code>rowhop serve</code> printed; it carries a token. Copy it whole from the terminal."
)


class Guard:
    """`upload` is the path whose body may have up to `most` bytes."""

    def __init__(self, app: App, token: str, port: int, upload: str, most: int) -> None:
        self.app = app
        self.token = token
        self.cookie = f"rowhop_{port}"
        self.upload = upload
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                return
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        path = str(scope["path"])
        refused = _stranger(headers)
        if not refused and not path.startswith("/static/") and not self._knows(scope, headers):
            if path == "/":
                await _reply(send, 403, _CLOSED, "text/html; charset=utf-8")
                return
            refused = "The token is missing or wrong. Open the address that rowhop serve printed."
        if refused:
            await _reply(send, 403, _error(refused), "application/json")
            return
        limit = self.most if path == self.upload else BODY
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            await _reply(send, 413, _error(f"A request may have {limit:,} bytes here."), "application/json")
            return
        await self.app(scope, _counted(receive, limit), self._dressed(send, path))

    def _knows(self, scope: Scope, headers: dict[str, str]) -> bool:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        given = [*query.get("token", []), headers.get("authorization", "").removeprefix("Bearer ")]
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        if self.cookie in cookies:
            given.append(cookies[self.cookie].value)
        return any(secrets.compare_digest(one.encode(), self.token.encode()) for one in given)

    def _dressed(self, send: Send, path: str) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = dict(_HEADERS)
                if path == "/":
                    own["set-cookie"] = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                there = [(k, v) for k, v in message.get("headers", []) if k.decode("latin-1").lower() not in own]
                message["headers"] = [*there, *((k.encode(), v.encode()) for k, v in own.items())]
            await send(message)

        return dressed


def _stranger(headers: dict[str, str]) -> str:
    """Why the request does not come from the page itself: another site's script, or a name that was bent to here."""
    if _host(headers.get("host", "")) not in LOOPBACK:
        return "This server answers to 127.0.0.1 and localhost only."
    origin = headers.get("origin", "")
    if origin and origin.partition("://")[2] != headers["host"]:
        return "The request comes from another site."
    if headers.get("sec-fetch-site", "none") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        return "The request comes from another site."
    return ""


def _host(value: str) -> str:
    try:
        return urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""


class TooLong(Exception):
    """The body went on beyond what was allowed."""


def _counted(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLong
        return message

    return counted


def _error(text: str) -> str:
    import json

    return json.dumps({"error": text})


async def _reply(send: Send, status: int, text: str, kind: str) -> None:
    body = text.encode()
    headers = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]
    headers += [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
