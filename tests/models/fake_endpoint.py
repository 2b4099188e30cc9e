"""A real HTTP server that speaks the OpenAI protocol and misbehaves on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Quiet(ThreadingHTTPServer):
    """A client that hangs up is part of the play; what the server thinks of it is not what the program printed."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


KEY = "sk-test-0123456789abcdefSECRET"
HTML = b"<!doctype html><html><body>Welcome to the portal</body></html>"


@dataclass
class Script:
    """What the server does with each request in turn; the last one stays. A string names a misbehaviour:
    "ok", "sleep", "429", "500", "html", "cut", "cut-quietly", "not-json", "401", "404", "quota", "error-in-stream",
    "whole" (does not stream), "slow" (a piece each 50 ms), "refuse:<parameter>"."""

    acts: list[str]
    text: str = "Hello there, this is a reply."
    usage: bool = True
    ignores_n: bool = False
    cost: float | None = None
    retry_after: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    broken_pipes: int = 0
    url: str = ""

    def next(self) -> str:
        return self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]


@contextmanager
def serve(*acts: str, **settings: Any) -> Iterator[Script]:
    script = Script(list(acts) or ["ok"], **settings)

    class Handler(_Handler):
        pass

    Handler.script = script
    server = _Quiet(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    script: Script
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.script.bodies.append(body)
        act = self.script.next()
        try:
            self._act(act, body)
        except (BrokenPipeError, ConnectionResetError):
            self.script.broken_pipes += 1
            self.close_connection = True

    def _act(self, act: str, body: dict[str, Any]) -> object:
        if self.headers["authorization"] != f"Bearer {KEY}" or act == "401":
            shown = self.headers["authorization"]
            return self._json(
                401, {"error": {"message": f"Incorrect API key provided: {shown}", "code": "invalid_api_key"}}
            )
        if act == "sleep":
            time.sleep(1.5)
            act = "ok"
        parameter = act.removeprefix("refuse:")
        if parameter != act:
            if parameter in body:
                said = f"Unsupported parameter: '{parameter}' is not supported with this model."
                if parameter == "max_tokens":
                    said += " Use 'max_completion_tokens' instead."
                return self._json(400, {"error": {"message": said, "type": "invalid_request_error"}})
            act = "ok"
        match act:
            case "429" | "500":
                return self._json(int(act), {"error": {"message": f"busy, key was {KEY}"}})
            case "quota":
                return self._json(429, {"error": {"message": "pay first", "code": "insufficient_quota"}})
            case "404":
                return self._json(404, {"error": {"message": "no such model", "code": "model_not_found"}})
            case "400":
                return self._json(400, {"error": {"message": "This model's maximum context length is 8192 tokens."}})
            case "html":
                return self._send(200, "text/html", HTML)
            case "html-502":
                return self._send(502, "text/html", HTML)
        if self.path.endswith("/embeddings"):
            return self._embeddings(body)
        if act == "whole":
            return self._json(200, self._final(body) | {"usage": self._usage()})
        return self._stream(act, body)

    def _embeddings(self, body: dict[str, Any]) -> None:
        rows = [{"index": i, "embedding": [float(len(text)), 1.0, 0.0]} for i, text in enumerate(body["input"])]
        self._json(
            200,
            {
                "object": "list",
                "model": body["model"],
                "data": rows[::-1],
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            },
        )

    def _final(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.script.text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}

    def _usage(self) -> dict[str, Any]:
        used: dict[str, Any] = {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27}
        used["prompt_tokens_details"] = {"cached_tokens": 16}
        return used | ({"cost": self.script.cost} if self.script.cost is not None else {})

    def _stream(self, act: str, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        count = 1 if self.script.ignores_n else body.get("n", 1)
        words = self.script.text.split(" ")
        pieces = [word + (" " if i < len(words) - 1 else "") for i, word in enumerate(words)]
        for number, piece in enumerate(pieces):
            if act.startswith("cut") and number == 2:
                if act == "cut-quietly":
                    self._chunk(b"")
                self.close_connection = True
                if act == "cut":
                    self.connection.close()
                return
            if act == "not-json" and number == 1:
                self._chunk(b"data: {oops\n\n")
            if act == "error-in-stream" and number == 1:
                self._event({"error": {"message": f"overloaded, key {KEY}", "code": 500}})
            if act == "slow":
                time.sleep(0.05)
            for index in range(count):
                self._event(self._delta(body, index, {"content": piece}, None))
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 1000
        finish = "length" if limit < len(words) else "stop"
        for index in range(count):
            self._event(self._delta(body, index, {}, finish))
        if self.script.usage and "stream_options" in body:
            self._event(self._delta(body, 0, {}, None) | {"choices": [], "usage": self._usage()})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _delta(self, body: dict[str, Any], index: int, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [choice]}

    def _event(self, value: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, code: int, value: dict[str, Any]) -> None:
        self._send(code, "application/json", json.dumps(value).encode())

    def _send(self, code: int, kind: str, data: bytes) -> None:
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if self.script.retry_after and code in (429, 503):
            self.send_header("retry-after", self.script.retry_after)
        self.end_headers()
        self.wfile.write(data)
