"""One run as a list of events that any number of viewers follow, from the first one or from where they left off.

Events are added by the thread that works on the question and read by the server's event loop.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from rowhop.trace import Budget, Step, Trace
from rowhop.tracefile import step_json
from rowhop.types import Answer

State = Literal["queued", "running", "stopping", "answered", "failed", "stopped"]
OVER = ("answered", "failed", "stopped")
# Pieces of a reply are gathered for so long: a fast model would otherwise make thousands of events.
_GATHER = 0.05
_HEARTBEAT = 10.0


@dataclass(frozen=True)
class Event:
    """`kind` is state, fetch, token, step or end."""

    seq: int
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Wish:
    """What was asked, as it came in."""

    question: str
    topics: tuple[str, ...] = ()
    choice: str = ""
    budget: Budget = Budget()


@dataclass
class Run:
    """`trace` and `answer` are there once the work has come so far."""

    wish: Wish
    talk: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "queued"
    trace: Trace | None = None
    answer: Answer | None = None
    error: str = ""
    asked: float = field(default_factory=time.time)
    remembered: bool = False
    events: list[Event] = field(default_factory=list)
    _wakers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _pieces: list[str] = field(default_factory=list)
    _flushed: float = 0.0

    def add(self, kind: str, **data: Any) -> None:
        with self._lock:
            self.events.append(Event(len(self.events) + 1, kind, data))
            wakers = list(self._wakers)
        for loop, waker in wakers:
            try:
                loop.call_soon_threadsafe(waker.set)
            except RuntimeError:
                # The viewer's loop has been closed in the meantime.
                pass

    def turn(self, state: State, **data: Any) -> None:
        self.state = state
        self.add("state", state=state, **data)

    def step(self, step: Step) -> None:
        self._flush()
        self.add("step", number=sum(e.kind == "step" for e in self.events) + 1, step=dumped(step))

    def token(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
        if time.monotonic() - self._flushed > _GATHER:
            self._flush()

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if self._pieces:
            self.add("token", text="".join(self._pieces))
            self._pieces.clear()

    def end(self, state: State, answer: dict[str, Any] | None, error: str = "") -> None:
        self._flush()
        self.state, self.error = state, error
        self.add("end", state=state, answer=answer, error=error)

    @property
    def over(self) -> bool:
        return self.state in OVER

    async def follow(self, after: int = 0) -> AsyncIterator[Event | None]:
        """Events later than number `after` until the end; None now and then as a sign of life."""
        waker = asyncio.Event()
        mark = (asyncio.get_running_loop(), waker)
        with self._lock:
            self._wakers.add(mark)
        try:
            while True:
                waker.clear()
                for event in self.events[after:]:
                    yield event
                    after = event.seq
                    if event.kind == "end":
                        return
                if after >= len(self.events) and self.over and self.events[-1].kind == "end":
                    return
                try:
                    await asyncio.wait_for(waker.wait(), _HEARTBEAT)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                self._wakers.discard(mark)


def dumped(step: Step) -> dict[str, Any]:
    made: dict[str, Any] = step_json().dump_python(step, mode="json")
    return made
