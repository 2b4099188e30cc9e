"""rowhop's side of the sandbox: starts the zygote, sends programs, reads what comes back."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rowhop.errors import SandboxUnavailable
from rowhop.sandbox import cold, sqlrows, wire
from rowhop.sandbox.boxfile import BoxFiles, memory_file
from rowhop.sandbox.run import DEFAULT, LAYERS, Limits, Run
from rowhop.types import Program

if TYPE_CHECKING:
    import pyarrow as pa

_START_SECONDS, _GRACE_SECONDS, _EVIDENCE_SECONDS, _LOST_EARLY_SECONDS = 60.0, 20.0, 2.0, 0.4
_MOST_BOXES = 200
# run in the new interpreter before anything else: the parent's path, so that it finds the same packages
_BOOT = (
    "import sys,socket,json; s=socket.socket(fileno=int(sys.argv[1])); c=json.loads(s.recv(1<<20)); "
    "sys.path[:]=c['path']; from rowhop.sandbox.zygote import start; start(s,c)"
)
_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # each arena reserves 64 MB of address space, which is what the memory limit counts
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


class Zygote:
    """One running zygote and the socket to it."""

    def __init__(self, layers: tuple[str, ...]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", _BOOT, str(theirs.fileno())],
                env=_ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in the terminal does not reach it
            )
        self.socket = ours
        ours.settimeout(_START_SECONDS)
        path = [os.path.abspath(p) for p in sys.path if p and os.path.exists(p)]
        try:
            ours.send(json.dumps({"layers": layers, "path": path}).encode())
            hello = ours.recv(1 << 16)
        except OSError as error:
            self.close()
            raise SandboxUnavailable(f"The sandbox process did not start: {error}.") from error
        if not hello:
            self.close()
            raise SandboxUnavailable(f"The sandbox process ended at its start (exit {self._process.returncode}).")
        said = json.loads(hello)
        if "failed" in said:
            self.close()
            raise SandboxUnavailable(f"The sandbox process could not be set up: {said['failed']}.")
        self.layers: tuple[str, ...] = tuple(said["layers"])
        ours.settimeout(_GRACE_SECONDS)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: dict[str, Any], fds: list[int]) -> None:
        socket.send_fds(self.socket, [json.dumps(message).encode()], fds)

    def close(self) -> None:
        self.socket.close()
        self._process.kill()
        self._process.wait()


class Sandbox:
    """Runs programs in locked-down children; safe to use from many threads, started when first needed.

    `total_memory_mb` caps what all programs that run at the same time may use together: further ones wait.
    `unsafe` runs Python programs without any wall but limits. `layers` leaves single walls out, and `warm=False`
    starts a new interpreter for each run, as systems other than Linux have to.

        with Sandbox() as sandbox:
            run = sandbox.run(Program("python", "answer = len(orders)"), {"orders": table})
    """

    def __init__(
        self,
        *,
        layers: tuple[str, ...] = LAYERS,
        total_memory_mb: int | None = None,
        unsafe: bool = False,
        warm: bool | None = None,
    ) -> None:
        self._wanted = () if unsafe else layers
        self._unsafe = unsafe
        self._warm = hasattr(os, "memfd_create") and hasattr(os, "pidfd_open") if warm is None else warm
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._boxes = BoxFiles()
        self._total_mb = total_memory_mb or _half_of_memory()
        self._free_mb = self._total_mb
        self._room = threading.Condition()
        self._owner = os.getpid()
        self._numbers = itertools.count()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            if self._zygote is not None and os.getpid() == self._owner:
                self._zygote.close()
            self._zygote = None
        self._boxes.close()

    def layers(self) -> tuple[str, ...]:
        """The walls that stand on this machine."""
        return self._started().layers if self._warm else ()

    def available(self) -> str:
        """Empty, or the sentence that says why Python programs cannot be run safely here."""
        try:
            return "" if self._unsafe else _what_is_missing(self.layers())
        except SandboxUnavailable as error:
            return str(error)

    def run(
        self, program: Program, boxes: Mapping[str, pa.Table], limits: Limits = DEFAULT, *, evidence: bool = True
    ) -> Run:
        """Run one program over the BOXes. Raises SandboxUnavailable where that cannot be done safely."""
        if program.language == "python" and (reason := self.available()):
            raise SandboxUnavailable(reason)
        used = _mentioned(program, boxes)
        probes = sqlrows.probes(program.code, used) if evidence and program.language == "sql" else ()
        request = wire.Request(program.language, program.code, tuple(used), limits, evidence, probes, tuple(boxes))
        need = min(limits.memory_mb, self._total_mb)
        with self._room:
            self._room.wait_for(lambda: self._free_mb >= need)
            self._free_mb -= need
        begun = time.perf_counter()
        try:
            run = self._run(request, used)
        finally:
            with self._room:
                self._free_mb += need
                self._room.notify_all()
        return replace(run, seconds=time.perf_counter() - begun)

    def _started(self) -> Zygote:
        with self._lock:
            if self._owner != os.getpid():  # after a fork the socket belongs to the other process
                self._owner, self._zygote = os.getpid(), None
            if self._zygote is not None and not self._zygote.alive:
                self._zygote.close()
                self._zygote = None
            if self._zygote is None:
                self._zygote = self._start()
            return self._zygote

    def _start(self) -> Zygote:
        try:
            return Zygote(self._wanted)
        except SandboxUnavailable:
            # some systems let a process into a user namespace and then deny it everything there
            if "namespaces" not in self._wanted:
                raise
            self._wanted = tuple(layer for layer in self._wanted if layer != "namespaces")
            return Zygote(self._wanted)

    def _run(self, request: wire.Request, boxes: Mapping[str, pa.Table]) -> Run:
        if not self._warm:
            return _run_cold(request, boxes)
        files = [self._boxes.get(table) for table in boxes.values()]
        for _ in range(2):
            begun = time.monotonic()
            run = self._attempt(request, boxes, files)
            # a zygote that was lost since the last run may still take a program; one that is lost after a while
            # may have been lost because of the program, which then is not tried again
            if run is not None or time.monotonic() - begun > _LOST_EARLY_SECONDS:
                return run or Run("crash", error="The sandbox process ended while the program ran.")
        raise SandboxUnavailable("The sandbox process ended twice before a program could run.")

    def _attempt(self, request: wire.Request, boxes: Mapping[str, pa.Table], files: list[int]) -> Run | None:
        """None where the zygote went away."""
        zygote = self._started()
        number = next(self._numbers)
        reply, reply_end = os.pipe()
        exit_pipe, exit_end = os.pipe()
        ends = [reply_end, exit_end, memory_file(request.to_bytes())]
        try:
            try:
                zygote.send({"run": number, "seconds": request.limits.wall_seconds}, [*ends, *files])
            finally:
                for fd in ends:
                    os.close(fd)
            return _Conversation(request, boxes, reply, exit_pipe).finish()
        except (OSError, ConnectionLost):
            self._lost(zygote)
            return None
        finally:
            os.close(reply)
            os.close(exit_pipe)
            # it has said what it had to say; a hostile one would linger and keep its memory
            with contextlib.suppress(OSError):
                zygote.send({"kill": number}, [])

    def _lost(self, zygote: Zygote) -> None:
        with self._lock:
            zygote.close()
            if self._zygote is zygote:
                self._zygote = None


class ConnectionLost(Exception):
    """The zygote ended before it reported a child's end. Stays inside the sandbox package."""


def _run_cold(request: wire.Request, boxes: Mapping[str, pa.Table]) -> Run:
    written, stopped = cold.run(request, boxes)
    buffer = bytearray(written)
    try:
        first = wire.take_frame(buffer)
        if first is None:
            limit = request.limits.wall_seconds
            return Run("timeout", error=f"The program ran longer than {limit:g} seconds.") if stopped else _CRASH
        run = wire.read_run(first, request.limits)
        second = wire.take_frame(buffer) or {}
    except wire.BadReply:
        return _CRASH
    return _add_evidence(run, second, boxes)


_CRASH = Run("crash", error="The program's process ended without a result.")


def _add_evidence(run: Run, second: dict[str, Any], boxes: Mapping[str, pa.Table]) -> Run:
    """The answer stands already; rows and cautions are added where they have the right shape."""
    try:
        rows, totals = wire.read_rows(second, {name: table.num_rows for name, table in boxes.items()})
        return replace(run, rows=rows, rows_total=totals, warnings=run.warnings + wire.read_warnings(second))
    except wire.BadReply:
        return run


class _Conversation:
    """Reading one child's frames and the zygote's report of its end."""

    def __init__(self, request: wire.Request, boxes: Mapping[str, pa.Table], reply: int, exit_pipe: int) -> None:
        self._request = request
        self._boxes = boxes
        self._reply, self._exit_pipe = reply, exit_pipe
        self._buffer = bytearray()

    def finish(self) -> Run:
        limits = self._request.limits
        first = self._frame(time.monotonic() + limits.wall_seconds + _GRACE_SECONDS)
        if first == "too_big":
            return Run("too_big", error="The program wrote more than a result may hold.")
        if not isinstance(first, dict):
            return _end_without_reply(self._report(), limits)
        try:
            run = wire.read_run(first, limits)
        except wire.BadReply as error:
            return Run("crash", error=f"The program's result could not be read ({error}).")
        if run.status != "ok" or not self._request.evidence:
            return run
        second = self._frame(time.monotonic() + _EVIDENCE_SECONDS)
        return _add_evidence(run, second, self._boxes) if isinstance(second, dict) else run

    def _frame(self, deadline: float) -> dict[str, Any] | str:
        """A frame, or "end" or "too_big"."""
        most = wire.largest_reply(self._request.limits)
        while True:
            try:
                frame = wire.take_frame(self._buffer)
            except wire.BadReply:
                return {}
            if frame is not None:
                return frame
            if len(self._buffer) > most:
                return "too_big"
            readable, _, _ = select.select([self._reply], [], [], max(deadline - time.monotonic(), 0))
            chunk = os.read(self._reply, 1 << 20) if readable else b""
            if not chunk:
                return "end"
            self._buffer += chunk

    def _report(self) -> dict[str, Any]:
        readable, _, _ = select.select([self._exit_pipe], [], [], _GRACE_SECONDS)
        data = os.read(self._exit_pipe, 1 << 16) if readable else b""
        return dict(json.loads(data)) if data else {}


def _end_without_reply(report: dict[str, Any], limits: Limits) -> Run:
    if not report:
        raise ConnectionLost
    peak = float(report["peak_mb"])
    if report["timed_out"]:
        return Run("timeout", error=f"The program ran longer than {limits.wall_seconds:g} seconds.", peak_mb=peak)
    # The kernel counts whole ticks, so that on a busy machine its signal comes before the seconds are full.
    spent = report["cpu"] >= limits.cpu_seconds * 0.95
    if report["exit"] == -signal.SIGXCPU or (report["exit"] < 0 and spent):
        return Run("timeout", error=f"The program computed longer than {limits.cpu_seconds} seconds.", peak_mb=peak)
    return Run(
        "crash", error=f"The program's process ended without a result ({_ending(report['exit'])}).", peak_mb=peak
    )


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _mentioned(program: Program, boxes: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """A BOX whose name does not stand in the program cannot be used by it."""
    code = program.code.casefold()
    used = {name: table for name, table in boxes.items() if name.casefold() in code}
    if len(used) > _MOST_BOXES:
        raise SandboxUnavailable(f"A program over {len(used)} BOXes cannot be run; {_MOST_BOXES} are the most.")
    return used


def _half_of_memory() -> int:
    return max(int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2) >> 20, 512)


def _what_is_missing(layers: tuple[str, ...]) -> str:
    if "seccomp" not in layers:
        return (
            "Python programs cannot be run safely here: the system has no seccomp for this processor. Use SQL programs."
        )
    if "namespaces" not in layers and "landlock" not in layers:
        return (
            "Python programs cannot be run safely here: the system denies both namespaces and Landlock. "
            "Use SQL programs, or pass --unsafe-run to run Python without a sandbox."
        )
    return ""
