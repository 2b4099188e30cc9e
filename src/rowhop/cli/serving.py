"""`rowhop serve` and `rowhop mcp`: the web page, and the same functions for other programs."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from rowhop.cli import screen
from rowhop.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from rowhop.config import Settings

HOST = "127.0.0.1"
PORT = 8765
_MOST = 65_535


def serve(
    sources: Sequence[str], settings: Settings, port: int, browser: bool, folders: Sequence[Path], upload_mb: int
) -> int:
    """Open the page and answer until Ctrl-C."""
    try:
        import uvicorn

        from rowhop.web.app import make
    except ModuleNotFoundError as error:
        raise MissingExtra(f"The page needs {error.name}: pip install 'rowhop[web]'.") from error
    from rowhop.web.desk import Desk
    from rowhop.web.places import Places

    places = Places(_folders(sources, folders), upload_mb * 1_000_000)
    for source in sources or settings.sources:
        places.add(_place(source, settings))
    door = _door(port)
    token = secrets.token_urlsafe(24)
    found = door.getsockname()[1]
    address = f"http://{HOST}:{found}/?token={token}"
    app = make(Desk(settings, places), token, found)
    screen.out().print(f"rowhop is at {address}", soft_wrap=True)
    screen.say("It answers on this machine only, to whoever has this address. Ctrl-C ends it.")
    if browser:
        # The page is asked for when the server is up; a machine without a browser does nothing here.
        Timer(0.5, webbrowser.open, (address,)).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=2))
    server.run(sockets=[door])
    return 0


def mcp(sources: Sequence[str], settings: Settings, http: bool, port: int) -> int:
    """Serve until the client goes away (stdio) or until Ctrl-C (HTTP)."""
    try:
        from rowhop.mcp import server
    except ModuleNotFoundError as error:
        raise MissingExtra(f"The MCP server needs {error.name}: pip install 'rowhop[mcp]'.") from error
    if not sources and not settings.sources:
        raise ConfigError("No source was named. Name what may be asked: rowhop mcp orders.csv shop.db")
    for source in sources:
        _place(source, settings)
    made = server(sources, settings)
    if not http:
        made.run("stdio")
        return 0
    door = _door(port)
    number = door.getsockname()[1]
    door.close()
    # The SDK checks Host and Origin itself when it is bound to this machine.
    screen.say(f"MCP at http://{HOST}:{number}/mcp (streamable HTTP, this machine only). Ctrl-C ends it.")
    made.run("streamable-http", host=HOST, port=number)
    return 0


def _place(source: str, settings: Settings) -> str:
    if source in settings.sources or "://" in source:
        return source
    path = Path(source).expanduser()
    if not path.exists():
        raise ConfigError(f"There is no file or folder {source}.")
    return str(path.resolve())


def _folders(sources: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"There is no folder {folder}.")
    # Without any, what lies here may be named; with sources, only these.
    return list(folders) or ([] if sources else [Path.cwd()])


def _door(port: int) -> socket.socket:
    """The port that was asked for; without one the usual one, or any that is free."""
    if port > _MOST:
        raise ConfigError(f"There is no port {port}; ports go to {_MOST}.")
    for number in [port] if port else [PORT, 0]:
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, number))
            return door
        except OSError as error:
            door.close()
            refused = error
    raise ConfigError(f"The port {port} cannot be used: {refused.strerror}. Take another one with --port.")
