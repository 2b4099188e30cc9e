"""A run in a plain new process: for systems that have none of the sandbox's walls (macOS, Windows).

SQL is held by DuckDB's lock, the time limit and, where there are any, resource limits; Python runs here only when the
user asked for it to run unsafely.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from rowhop.sandbox import wire
from rowhop.sandbox.run import Limits

if TYPE_CHECKING:
    import pyarrow as pa

_BOOT = (
    "import sys,json; n=int.from_bytes(sys.stdin.buffer.read(4),'big'); "
    "sys.path[:]=json.loads(sys.stdin.buffer.read(n)); from rowhop.sandbox.cold import child; child()"
)
_LENGTH = struct.Struct("!Q")


def run(request: wire.Request, boxes: Mapping[str, pa.Table]) -> tuple[bytes, bool]:
    """What the child wrote, and whether it had to be stopped."""
    path = json.dumps([os.path.abspath(p) for p in sys.path if p and os.path.exists(p)]).encode()
    parts = [request.to_bytes(), *(_arrow(table) for table in boxes.values())]
    sent = [len(path).to_bytes(4, "big"), path, *(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))]
    environment = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}
    with subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", _BOOT],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            written, _ = process.communicate(b"".join(sent), timeout=request.limits.wall_seconds)
            return written, False
        except subprocess.TimeoutExpired:
            process.kill()
            written, _ = process.communicate()
            return written, True


def _arrow(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def child() -> None:
    """The other side: the program's prints must not mix with the reply, so the reply moves to its own place."""
    from rowhop.sandbox import child as running
    from rowhop.sandbox import sqlrun
    from rowhop.sandbox.boxfile import MappedBox

    received = sys.stdin.buffer
    request = wire.Request.from_bytes(_part(received))
    boxes = {name: MappedBox(*_pages(_part(received))) for name in request.boxes}
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(1, os.O_BINARY)
    os.dup2(1, running.REPLY_FD)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    frames = {name: box.frame() for name, box in boxes.items()} if request.language == "python" else {}
    sqlrun.prepare()
    _limit(request.limits)
    running.answer(request, boxes, frames)
    os._exit(0)


def _part(received: BinaryIO) -> bytes:
    (length,) = _LENGTH.unpack(received.read(_LENGTH.size))
    return received.read(length)


def _pages(data: bytes) -> tuple[mmap.mmap, mmap.mmap]:
    both = mmap.mmap(-1, len(data)), mmap.mmap(-1, len(data))
    for pages in both:
        pages[:] = data
    return both


def _limit(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # Windows: only the clock holds
        return
    for kind, value in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, (1 << 30) + (limits.memory_mb << 20)),  # the libraries' own data come first
    ):
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):
            continue  # a system that has no such limit
