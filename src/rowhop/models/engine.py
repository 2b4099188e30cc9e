"""One loaded GGUF file: a thread that owns llama.cpp's server object and takes requests one after the other.

Requests wait in the thread's queue, so several callers may share a file; the caller stays free to be interrupted.
Only `local.py` uses this.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import queue
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rowhop.errors import ModelUnavailable
from rowhop.models import Listen
from rowhop.models.threads import free_cores

SLOTS = 8  # prompts whose state is kept, and replies at once: five samples beside a few stable prefixes
BATCH = 256  # prompt tokens between two chances to stop
SPINS = "2000"  # turns at a barrier, some tens of microseconds
HEARTBEAT = 0.25  # seconds between two looks at the caller's time limit
PATIENCE = 20.0  # seconds that the end of the process waits for a model to stop

_engines: dict[tuple[Path, int, int | None], Engine] = {}
_lock = threading.Lock()


class _Job:
    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.chunks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.stopped = False

    def take(self, chunk: dict[str, Any]) -> bool:
        """Called by llama.cpp with each chunk; True ends the reply."""
        self.chunks.put(chunk)
        return self.stopped


class Engine:
    """Use `engine_for`: it shares engines, so that one file is in memory once."""

    def __init__(self, path: Path, context: int, threads: int | None) -> None:
        self._path, self._context, self._threads = path, context, threads
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._failure = ""
        self._current: _Job | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"rowhop-{path.stem}", daemon=True)
        self._thread.start()

    def wait(self, listen: Listen | None) -> None:
        """Until the file is loaded. Raises ModelUnavailable when it cannot be."""
        while not self._ready.wait(HEARTBEAT):
            if listen is not None:
                listen("")
        if self._failure:
            raise ModelUnavailable(self._failure)

    def run(self, body: dict[str, Any], listen: Listen | None) -> Iterator[dict[str, Any]]:
        """The chunks of one reply. Leaving the loop early, by an exception too, stops the model."""
        self.wait(listen)
        job = _Job(body)
        self._jobs.put(job)
        try:
            while True:
                try:
                    chunk = job.chunks.get(timeout=HEARTBEAT)
                except queue.Empty:
                    if listen is not None:
                        listen("")
                    continue
                if chunk is None:
                    return
                yield chunk
        finally:
            job.stopped = True

    def close(self, patience: float) -> None:
        """Stop the reply in progress and free the file."""
        self._closed = True
        if current := self._current:
            current.stopped = True
        self._jobs.put(None)
        self._thread.join(patience)

    def _work(self) -> None:
        server = None
        try:
            threads = self._threads or free_cores()
            library = None if self._closed else _library()
            if library is not None and not self._closed:
                server = _start(library, self._path, self._context, threads)
        except (RuntimeError, ImportError, OSError) as error:
            self._failure = f"The model {self._path} could not be loaded: {error}"
        except BaseException:
            # Ours to mend; whoever waits must not wait for ever.
            self._failure = f"The model {self._path} could not be loaded."
            raise
        finally:
            self._ready.set()
        used = False
        while server is not None and (job := self._jobs.get()) is not None:
            self._current, used = job, True
            if not job.stopped:
                try:
                    server.handle_chat_completions(job.body, job.take)
                except RuntimeError as error:
                    job.chunks.put({"error": {"message": str(error)}})
            job.chunks.put(None)
        self._current = None
        if server is not None and not used:
            # An end that comes before its loop has begun is lost, and freeing it would wait for ever.
            server.handle_chat_completions({"messages": [{"role": "user", "content": "."}], "max_tokens": 1})


def engine_for(path: Path, context: int, threads: int | None) -> Engine:
    """The engine of this file, started when there is none yet."""
    key = (path.resolve(), context, threads)
    with _lock:
        engine = _engines.get(key)
        if engine is None or engine._failure:
            engine = _engines[key] = Engine(*key)
        return engine


@atexit.register
def close_all() -> None:
    """Free every loaded file. Runs at the end of the process: llama.cpp's threads must not outlive the interpreter."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close(PATIENCE)


def _start(library: Any, path: Path, context: int, threads: int) -> Any:
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = SLOTS
    params.kv_unified = True  # the slots share the context, so that one prompt may use all of it
    params.cache_ram_mib = 0
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = -1  # nothing of llama.cpp's log belongs on the user's terminal
    params.warmup = False
    params.ui = False
    params.endpoint_slots = False
    params.cors_origins = "null"
    params.api_keys = [secrets.token_urlsafe(32)]
    with _door() as door, _own_signals():
        params.hostnames = [door]
        return library.Server(params)


def _library() -> Any:
    """xllamacpp, with threads that wait a little at a barrier and then sleep.

    By default they would turn for milliseconds, which on a busy machine takes the core from the very thread they
    wait for: a reply with two threads was seen to become twenty times slower. The setting is read once, at loading.
    """
    name = "GOMP_SPINCOUNT"
    if name in os.environ or "OMP_WAIT_POLICY" in os.environ:  # the user knows better
        import xllamacpp

        return xllamacpp
    os.environ[name] = SPINS
    try:
        import xllamacpp
    finally:
        os.environ.pop(name, None)  # not for child processes
    return xllamacpp


@contextlib.contextmanager
def _door() -> Iterator[str]:
    """Where the server object listens: a socket whose name is gone when the model is loaded."""
    if sys.platform == "win32":
        yield "127.0.0.1"
        return
    # Short and not under TMPDIR's guess of others: a socket's name may have about 100 characters.
    with tempfile.TemporaryDirectory(prefix="rowhop-") as folder:
        yield os.path.join(folder, "m.sock")


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """The server object takes SIGINT and SIGTERM for itself; give them back, from whichever thread this is."""
    get, put = ctypes.pythonapi.PyOS_getsig, ctypes.pythonapi.PyOS_setsig
    get.argtypes, get.restype = [ctypes.c_int], ctypes.c_void_p
    put.argtypes, put.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    kept = {number: get(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            put(number, handler)
