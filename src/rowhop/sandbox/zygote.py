"""The process that waits with pandas imported and forks a child for each program.

It holds no secret: a fresh interpreter with an empty environment and one socket. It ends when that socket
closes, however the other side died, and takes every child with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import mmap
import os
import selectors
import signal
import socket
import sys
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rowhop.sandbox import landlock, lockdown, namespaces, seccomp
from rowhop.sandbox.wire import Request

# What programs import or pandas imports late. Loaded before the walls stand: where Python lies in a folder that the
# child may not enter, it could not load them itself.
_PRELOADED = (
    "numpy", "pandas", "pyarrow", "pyarrow.ipc", "pyarrow.compute", "duckdb", "_duckdb", "dateutil.parser", "zoneinfo",
    "statistics", "decimal", "fractions", "difflib", "textwrap", "string", "random", "secrets", "heapq", "bisect",
    "itertools", "functools", "collections", "operator", "calendar", "unicodedata", "html", "csv", "hashlib", "uuid",
    "typing", "dataclasses", "enum", "numbers", "cmath", "copy", "pprint", "timeit", "locale", "ctypes", "traceback",
    "numpy.random", "numpy.linalg", "numpy.ma", "numpy.polynomial", "numpy.fft",
    "pandas.core.reshape.api", "pandas.tseries.offsets", "pandas.core.computation.eval", "concurrent.futures.thread",
    "multiprocessing", "subprocess", "socket", "datetime", "_strptime", "encodings.idna", "encodings.latin_1",
    "rowhop.sandbox.child", "rowhop.sandbox.complaints", "rowhop.sandbox.values", "rowhop.sandbox.sqlrun",
    "rowhop.sandbox.tracing", "rowhop.sandbox.lineage", "rowhop.sandbox.cautions",
)  # fmt: skip


@dataclass
class _Child:
    number: int
    pid: int
    exit_pipe: int
    deadline: float
    timed_out: bool = False


def start(control: socket.socket, config: dict[str, Any]) -> None:
    """Never returns. The first message says what holds, or why nothing can run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for rowhop, which then closes the socket
    try:
        inside = "namespaces" in config["layers"] and namespaces.enter()
        if inside and (pid := os.fork()):
            _stand_by(control, pid)
        if inside:
            lockdown.parent_death_signal()
        missing = {"namespaces": not inside, "landlock": not landlock.version(), "seccomp": not seccomp.supported()}
        layers = [layer for layer in config["layers"] if not missing.get(layer)]
        folders = _import_everything()
        proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC)
        if inside:
            namespaces.private_root(folders)
        rules = landlock.ruleset(folders) if "landlock" in layers else -1
        gc.collect()
        gc.freeze()  # a collection in a child would otherwise copy every page it looks at
        hello = {"layers": layers}
    except Exception as error:  # noqa: BLE001  whatever it is, the parent must hear of it
        control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    control.send(json.dumps(hello).encode())
    _serve(control, lockdown.World(layers, folders, proc, rules))


def _stand_by(control: socket.socket, pid: int) -> None:
    """The launcher only waits: it is the zygote's link to the host's process table."""
    control.close()
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _import_everything() -> list[str]:
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):  # what this Python lacks, a program cannot use either
            importlib.import_module(name)
    _warm_up()
    from rowhop.sandbox import sqlrun

    sqlrun.prepare()
    folders = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    for package in ("numpy", "pandas", "pyarrow", "duckdb", "dateutil"):
        folders.append(os.path.dirname(str(sys.modules[package].__file__)))
    folders.append("/usr/share/zoneinfo")
    return sorted({folder for folder in folders if folder and os.path.isdir(folder)})


def _warm_up() -> None:
    """Walk the paths that nearly every program takes, so that no child has to load them first."""
    import pandas as pd
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    frame = pd.DataFrame({"a": ["x", "y", None], "b": [1, 2, 3], "d": pd.to_datetime(["2024-01-01"] * 3)})
    frame.groupby("a").agg({"b": "sum"})
    frame.merge(frame, on="a").pivot_table(index="a", values="b_x")
    frame.sort_values("b").nlargest(1, "b").to_string()
    frame["a"].str.contains("x").fillna(False).value_counts()
    frame["d"].dt.strftime("%Y-%m")
    frame.query("b > 1").describe()
    pd.to_numeric(pd.Series(["1", "x"]), errors="coerce").rolling(2).mean()
    pd.to_datetime(pd.Series(["3 May 2020"]), errors="coerce")
    pa.Table.from_pandas(frame, nthreads=1).to_pandas(use_threads=False)


def _serve(control: socket.socket, world: lockdown.World) -> None:
    children: dict[int, _Child] = {}
    spare: _Spare | None = _Spare(world)
    with selectors.DefaultSelector() as ready:
        ready.register(control, selectors.EVENT_READ)
        while True:
            now = time.monotonic()
            wait = min((c.deadline - now for c in children.values()), default=3600.0)
            happened = {key.fd for key, _ in ready.select(max(wait, 0.0))}
            for fd, child in list(children.items()):
                if fd in happened:
                    ready.unregister(fd)
                    os.close(fd)
                    del children[fd]
                    _report(child)
                elif time.monotonic() >= child.deadline and not child.timed_out:
                    child.timed_out = True
                    os.kill(child.pid, signal.SIGKILL)
            if control.fileno() in happened:
                data, fds, _, _ = socket.recv_fds(control, 1 << 16, 250)
                if not data:
                    os._exit(0)  # rowhop is gone; the pid namespace, or the death signal, takes the children along
                message = json.loads(data)
                if "kill" in message:
                    for child in children.values():
                        if child.number == message["kill"]:
                            os.kill(child.pid, signal.SIGKILL)
                    continue
                if spare is not None and spare.ready():
                    taken, spare = spare, None
                else:
                    spare = None if spare is not None and spare.dead else spare
                    taken = _Spare(world, rehearse=False)
                child = _hand_over(message, fds, taken)
                child_fd = os.pidfd_open(child.pid)
                children[child_fd] = child
                ready.register(child_fd, selectors.EVENT_READ)
            if spare is None and not children:  # not earlier: it would compete with the program for the processor
                spare = _Spare(world)


def _hand_over(message: dict[str, Any], fds: list[int], spare: _Spare) -> _Child:
    reply, exit_pipe, request_file, *box_files = fds
    given = (reply, request_file, *box_files)
    spare.give(given)
    for fd in given:
        os.close(fd)
    return _Child(message["run"], spare.pid, exit_pipe, time.monotonic() + message["seconds"])


class _Spare:
    """A child forked ahead of its program. While rowhop waits for a model it touches the memory that every program
    touches; each page would otherwise have to be copied while a program runs."""

    def __init__(self, world: lockdown.World, rehearse: bool = True) -> None:
        self._world = world
        self._rehearse = rehearse
        self.dead = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                lockdown.parent_death_signal()
                self._wait(theirs)
            finally:
                os._exit(1)
        theirs.close()

    def ready(self) -> bool:
        """Not while it still rehearses, nor when the machine, short of memory, took it."""
        try:
            if self._socket.recv(16, socket.MSG_DONTWAIT):
                return True
        except BlockingIOError:
            return False
        self.dead = True
        os.waitpid(self.pid, 0)
        self._socket.close()
        return False

    def give(self, fds: Sequence[int]) -> None:
        socket.send_fds(self._socket, [b"go"], fds)
        self._socket.close()

    def _wait(self, theirs: socket.socket) -> None:
        from rowhop.sandbox import child

        # moved out of the way first: any of them may lie where another one goes
        kept = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (theirs.detach(), self._world.proc)]
        rules = fcntl.fcntl(self._world.rules, fcntl.F_DUPFD_CLOEXEC, 100) if self._world.rules >= 0 else -1
        for place, fd in enumerate([*kept, *([rules] if rules >= 0 else [])], start=3):
            os.dup2(fd, place)
        os.closerange(6 if rules >= 0 else 5, 1 << 16)  # the control socket and what belongs to other runs
        given = socket.socket(fileno=3)
        world = replace(self._world, proc=4, rules=5 if rules >= 0 else -1)
        if self._rehearse:
            child.rehearse()
            given.send(b"ready")
        _, fds, _, _ = socket.recv_fds(given, 16, 250)
        if not fds:
            os._exit(0)  # no program came; the zygote is gone
        reply, request_file, *box_files = fds
        given.detach()
        with mmap.mmap(request_file, 0, access=mmap.ACCESS_READ) as data:
            request = Request.from_bytes(data[:])
        child.main(request, reply, box_files, world)
        os._exit(0)


def _report(child: _Child) -> None:
    _, status, usage = os.wait4(child.pid, 0)
    report = {
        "exit": os.waitstatus_to_exitcode(status),
        "timed_out": child.timed_out,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }
    try:
        os.write(child.exit_pipe, json.dumps(report).encode())
    except BrokenPipeError:
        pass  # nobody waits for this run any more
    os.close(child.exit_pipe)
