"""A real server of the page in a thread, over a replayed model or an endpoint of the tests' own."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from rowhop import config
from rowhop.web.app import make
from rowhop.web.desk import Desk
from rowhop.web.places import Places

TOKEN = "test-token-0123456789"
COUNT = "Count them.\n```sql\nSELECT count(*) FROM customers WHERE country = 'Norway'\n```"
PER_COUNTRY = (
    "Group.\n```sql\nSELECT country, count(*) AS customers FROM customers GROUP BY country ORDER BY 2 DESC\n```"
)


def replay(folder: Path, *replies: str, name: str = "replies") -> str:
    file = folder / f"{name}.jsonl"
    lines = [{"kind": "model_call", "model": "replayed", "replies": [reply], "prompt_tokens": 9} for reply in replies]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return f"replay:{file}"


@dataclass
class Served:
    url: str
    desk: Desk
    port: int

    @property
    def address(self) -> str:
        return f"{self.url}/?token={TOKEN}"

    def client(self, **options: Any) -> httpx.Client:
        headers = {"authorization": f"Bearer {TOKEN}", **options.pop("headers", {})}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, **options)

    def sources(self) -> list[str]:
        return list(self.desk.places.entries)

    def ask(self, client: httpx.Client, question: str, **more: Any) -> str:
        form = {"question": question, "sources": [] if "talk" in more else self.sources(), **more}
        reply = client.post("/api/runs", json=form)
        assert reply.status_code == 202, reply.text
        return str(reply.json()["run"])


@contextmanager
def serve(
    sources: Sequence[Path | str],
    given: dict[str, dict[str, Any]],
    folders: Sequence[Path] = (),
    *,
    limit: int = 1_000_000,
    at_once: int = 2,
    waiting: int = 32,
) -> Iterator[Served]:
    places = Places(folders, limit)
    for source in sources:
        places.add(str(source))
    given = {"cache": {"replies": False}, "ask": {"language": "sql"}, **given}
    desk = Desk(config.load(given), places, at_once, waiting)
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    port = door.getsockname()[1]
    app = make(desk, TOKEN, port)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
    thread.start()
    end = time.monotonic() + 10
    while not server.started and time.monotonic() < end:
        time.sleep(0.005)
    try:
        yield Served(f"http://127.0.0.1:{port}", desk, port)
    finally:
        server.should_exit = True
        thread.join(10)
        door.close()


def events(client: httpx.Client, run: str, after: str = "") -> list[tuple[str, dict[str, Any]]]:
    """All events of a run until its end."""
    found: list[tuple[str, dict[str, Any]]] = []
    with client.stream("GET", f"/api/runs/{run}/events", headers={"last-event-id": after}) as reply:
        assert reply.status_code == 200
        kind = ""
        for line in reply.iter_lines():
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                found.append((kind, json.loads(line[6:])))
    return found


def ended(client: httpx.Client, run: str) -> dict[str, Any]:
    kind, data = events(client, run)[-1]
    assert kind == "end"
    return data
