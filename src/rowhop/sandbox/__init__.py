"""Run a program that a model wrote, over BOXes, where it can do no harm."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowhop.sandbox.launcher import Sandbox
from rowhop.sandbox.run import DEFAULT, Limits, Run, RunStatus, Shape

if TYPE_CHECKING:
    import pyarrow as pa

    from rowhop.types import Program

__all__ = ["Limits", "Run", "RunStatus", "Sandbox", "Shape", "available", "run_code"]

_shared: Sandbox | None = None
_lock = threading.Lock()


def shared() -> Sandbox:
    """The sandbox of this process; started by its first program."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Sandbox()
        return _shared


def available() -> str:
    """Empty where Python programs can be run, else the sentence that says why not."""
    return shared().available()


def run_code(program: Program, boxes: Mapping[str, pa.Table], limits: Limits = DEFAULT) -> Run:
    """Run one program over the BOXes in the shared sandbox.

    Python sees each BOX as a DataFrame under its name, with `pd` and `np`, and leaves its result in `answer`.
    SQL is one SELECT over the same names, in DuckDB's dialect.
    """
    return shared().run(program, boxes, limits)
