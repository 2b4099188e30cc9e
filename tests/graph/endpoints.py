"""Endpoints for the tests: a real SPARQL server, and a small HTTP server that misbehaves as told."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

OXIGRAPH = Path(sys.executable).with_name("oxigraph")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def oxigraph(folder: Path, *files: Path) -> Iterator[str]:
    """A server over the files' triples; gives its query address."""
    subprocess.run(
        [OXIGRAPH, "load", "-l", folder, "--base", "file:///", "-f", *files],
        check=True,
        capture_output=True,
        timeout=60,
    )
    port = free_port()
    command = [OXIGRAPH, "serve-read-only", "-l", folder, "-b", f"127.0.0.1:{port}", "--union-default-graph"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/query"
        finally:
            server.terminate()


# What a reply is: status, headers, body, and how it is sent.
Reply = tuple[int, dict[str, str], bytes]


@contextmanager
def saying(script: Callable[[int, dict[str, str], str], Reply]) -> Iterator[str]:
    """A server whose n-th reply (from 1) is what `script(n, headers, body)` says."""
    count = 0

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal count
            count += 1
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, headers, data = script(count, dict(self.headers), body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/sparql"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
