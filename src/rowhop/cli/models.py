"""`rowhop model`: which models are there, get one, test one."""

from __future__ import annotations

from pathlib import Path


def listed(as_json: bool) -> int:
    raise NotImplementedError


def get(name: str, source: Path | None) -> int:
    raise NotImplementedError


def test(name: str | None) -> int:
    raise NotImplementedError
