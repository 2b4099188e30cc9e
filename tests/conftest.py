"""For every test: no real environment, no settings of the person who runs it, no network beyond this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Where a person's weights lie: tests marked `model` use them, and nothing else of the real home.
REAL_CACHE = Path(os.environ.get("ROWHOP_CACHE") or Path.home() / ".cache" / "rowhop")
_CLEARED = ("ROWHOP_", "OPENAI_", "HF_", "XDG_")
_KEPT = ("ROWHOP_BENCH_DATA",)


@pytest.fixture(autouse=True)
def _clean_environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith(_CLEARED) and name not in _KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("NO_COLOR", "1")
    if request.node.get_closest_marker("model"):
        monkeypatch.setenv("ROWHOP_CACHE", str(REAL_CACHE))
    else:
        # The home is empty: the embedded embedder would be fetched anew.
        monkeypatch.setenv("ROWHOP_EMBEDDER", "spelling")


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("live") or request.node.get_closest_marker("model"):
        return
    real = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if self.family != socket.AF_UNIX and host not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"A test tried to reach {host}; tests stay on this machine.")
        real(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture
def examples() -> Path:
    """The examples that documentation, demo and tests share."""
    return ROOT / "examples"


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
