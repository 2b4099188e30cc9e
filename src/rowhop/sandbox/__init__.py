"""Run a program that a model wrote, over BOXes, where it can do no harm.

A program runs in a process of its own that is forked from a warm interpreter, locked down, and thrown away. The
BOXes go in as sealed memory, the answer comes back as JSON that is checked field by field; nothing is unpickled.

Covered
- Reading files, other processes, the environment and its keys: the child has an empty environment and sees only
  Python's own folders (own mount namespace, Landlock).
- Writing anywhere, making files, folders or links (seccomp, Landlock, no file may grow).
- Any network, this machine included (own network namespace, no socket call).
- Starting processes, signalling others, gaining rights (own process namespace, no capability, seccomp).
- Using things up: CPU seconds, wall seconds, memory, threads, printed text, the answer's size; and the memory of all
  runs together.
- Bytes that are no answer: whatever the child writes, the worst of it is a wrong or missing answer.

Not covered
- A program that lies: it can put any answer, row number or warning into its reply.
- Everything in the BOXes that it was given: it reads all their rows.
- Python's own files: standard library, installed packages and time zones can be read.
- The whole of its limits: it may burn its seconds and memory to the end.
- Guesses by time: caches, clocks and load of the machine can tell it something.
- Faults of the kernel: namespaces, Landlock and seccomp are as good as it is.
- A run that the user made unsafe: with `unsafe=True` a program may do all that the user may do.

Where a machine has neither namespaces nor Landlock, or no seccomp (macOS, Windows), Python programs are refused; SQL
programs still run in a child that can be killed, held by DuckDB's own lock and by limits.
"""

from __future__ import annotations

import atexit
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
            atexit.register(_shared.close)
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
