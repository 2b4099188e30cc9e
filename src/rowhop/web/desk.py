"""Where questions wait and are worked on: a queue, a few threads, and the conversations that questions belong to."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rowhop import build, config
from rowhop.errors import ConfigError, RowhopError
from rowhop.front import Session
from rowhop.web import wire
from rowhop.web.places import Places
from rowhop.web.runs import Run, Wish

if TYPE_CHECKING:
    from rowhop.config import Settings

WAITING = 32  # questions that may wait
_KEPT = 200  # runs that the history holds
_OPEN = 6  # conversations whose sources stay open
_log = logging.getLogger(__name__)


class Full(RowhopError):
    """The queue is full; nothing was taken in."""


@dataclass
class Talk:
    """A conversation: the same sources, the same model, questions that know each other."""

    sources: tuple[str, ...]
    settings: Settings
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    session: Session | None = None
    runs: list[str] = field(default_factory=list)
    busy: bool = False


class Desk:
    """`at_once` threads take questions from the queue; those of one conversation one after the other."""

    def __init__(self, settings: Settings, places: Places, at_once: int = 2, waiting: int = WAITING) -> None:
        self.settings = settings
        self.places = places
        self.most = waiting
        self.runs: dict[str, Run] = {}
        self.talks: dict[str, Talk] = {}
        self._queue: list[Run] = []
        self._news = threading.Condition()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"rowhop-desk-{n}", daemon=True) for n in range(at_once)
        ]
        for thread in self._threads:
            thread.start()

    def talk(self, id: str, sources: Sequence[str], model: str, method: str) -> Talk:
        """The conversation that is gone on with, or a new one. Raises ConfigError."""
        if id:
            if id not in self.talks:
                raise ConfigError("This conversation is no longer there. Ask the question anew.")
            return self.talks[id]
        if not sources:
            raise ConfigError("Choose at least one source first.")
        self.places.chosen(sources)
        talk = Talk(tuple(sources), changed(self.settings, model, method))
        self.talks[talk.id] = talk
        return talk

    def ask(self, wish: Wish, talk: Talk) -> Run:
        """Put a question into the queue. Raises Full."""
        with self._news:
            if len(self._queue) >= self.most:
                raise Full(f"{self.most} questions are waiting already. Try again when some are answered.")
            run = Run(wish, talk.id)
            self.runs[run.id] = run
            talk.runs.append(run.id)
            self._queue.append(run)
            run.turn("queued", position=len(self._queue))
            self._forget_old()
            self._news.notify_all()
        return run

    def stop(self, run: Run) -> None:
        """A waiting question ends at once, one that is worked on at the model's next word or the next step."""
        with self._news:
            if run in self._queue:
                self._queue.remove(run)
                run.end("stopped", None, "Stopped before it was begun.")
                self._tell_positions()
                return
        if run.over:
            return
        run.turn("stopping")
        if run.trace is not None:
            run.trace.cancelled = True

    def close(self) -> None:
        """Stops what runs and closes every source."""
        with self._news:
            self._closed = True
            waiting, self._queue = self._queue, []
            self._news.notify_all()
        for run in waiting:
            run.end("stopped", None, "The server was stopped.")
        for run in list(self.runs.values()):
            self.stop(run)
        for thread in self._threads:
            thread.join(timeout=5)
        for talk in self.talks.values():
            if talk.session is not None and not talk.busy:
                talk.session.close()
        self.places.close()

    def forget_memory(self) -> None:
        """Conversations that are open read what was remembered when they are opened again."""
        with self._news:
            for talk in self.talks.values():
                self._shut(talk)

    def _shut(self, talk: Talk) -> None:
        if talk.session is not None and not talk.busy:
            talk.session.close()
            talk.session = None

    def _forget_old(self) -> None:
        for run in list(self.runs.values()):
            if len(self.runs) <= _KEPT:
                return
            if run.over:
                del self.runs[run.id]
                self.talks[run.talk].runs.remove(run.id)
                if not self.talks[run.talk].runs:
                    self._shut(self.talks.pop(run.talk))

    def _tell_positions(self) -> None:
        for position, run in enumerate(self._queue, 1):
            run.turn("queued", position=position)

    def _next(self) -> Run | None:
        with self._news:
            while not self._closed:
                run = next((r for r in self._queue if not self.talks[r.talk].busy), None)
                if run is not None:
                    self._queue.remove(run)
                    self.talks[run.talk].busy = True
                    run.turn("running")
                    self._tell_positions()
                    return run
                self._news.wait()
        return None

    def _work(self) -> None:
        while (run := self._next()) is not None:
            talk = self.talks[run.talk]
            try:
                self._answer(run, talk)
            except RowhopError as error:
                run.end("failed", None, str(error))
            except Exception as error:  # noqa: BLE001  the thread's last place: the page gets an end, the log the rest
                _log.exception("A run failed in a way it should not.")
                run.end("failed", None, f"rowhop failed in a way it should not: {type(error).__name__}. See its log.")
            finally:
                with self._news:
                    talk.busy = False
                    idle = [t for t in self.talks.values() if t.session is not None and not t.busy]
                    for old in idle[:-_OPEN]:
                        self._shut(old)
                    self._news.notify_all()

    def _answer(self, run: Run, talk: Talk) -> None:
        session = talk.session or self._opened(run, talk)
        talk.session = session
        wish = run.wish
        trace = session.trace(session.question(wish.question, wish.topics, wish.choice))
        trace.budget = merged(trace.budget, wish.budget)
        trace.on_step.append(run.step)
        trace.on_token.append(run.token)
        # In this order: whoever stops the run either sees the trace, or is seen here.
        run.trace = trace
        if run.state == "stopping":
            trace.cancelled = True
        answer = session.ask(wish.question, topics=wish.topics, choice=wish.choice, trace=trace)
        run.answer = answer
        if trace.cancelled and answer.status != "answered":
            run.end("stopped", wire.answer(answer), "The run was stopped.")
        else:
            run.end("answered", wire.answer(answer))

    def _opened(self, run: Run, talk: Talk) -> Session:
        told = [-1]

        def fetching(done: int, total: int) -> None:
            hundredth = done * 100 // total if total else 100
            if hundredth > told[0] and not (told[0] < 0 and done >= total):
                told[0] = hundredth
                run.add("fetch", done=done, total=total)

        places = [e.place for e in self.places.chosen(talk.sources)]
        session = Session(places, settings=talk.settings, progress=fetching)
        for id in talk.runs:
            earlier = self.runs.get(id)
            if earlier is not None and earlier.answer is not None and earlier.trace is not None:
                from rowhop.front import Exchange

                session.history.append(Exchange(earlier.trace.question, earlier.answer))
        return session


def merged(usual: Any, given: Any) -> Any:
    """The narrower of two budgets."""
    from rowhop.trace import Budget

    def least(a: Any, b: Any) -> Any:
        return min((x for x in (a, b) if x is not None), default=None)

    return Budget(
        least(usual.calls, given.calls),
        least(usual.tokens, given.tokens),
        least(usual.seconds, given.seconds),
        least(usual.money, given.money),
    )


def changed(settings: Settings, model: str, method: str) -> Settings:
    """The page names models that are offered to it and nothing that would be a path. Raises ConfigError."""
    given: dict[str, dict[str, Any]] = {}
    if model and model != settings.model.name:
        if model not in offered(settings):
            raise ConfigError(f"The model {model!r} is not offered here. There are: {', '.join(offered(settings))}.")
        given["model"] = {"name": model}
    if method and method != "auto":
        given["ask"] = {"method": method}
    return config.changed(settings, given) if given else settings


def offered(settings: Settings) -> list[str]:
    """The model that the server was started with, and the embedded ones."""
    from rowhop.models import weights

    used = settings.model.name or config.EMBEDDED
    embedded = [w.name for w in weights.KNOWN.values() if w.name != weights.EMBEDDER]
    return list(dict.fromkeys((used, *embedded)))


def described(desk: Desk, ids: Sequence[str]) -> dict[str, Any]:
    """What is in the chosen sources: BOXes, or a graph's types and relations. Raises RowhopError."""
    places = [e.place for e in desk.places.chosen(ids)]
    if not places:
        raise ConfigError("Choose at least one source first.")
    over = build.opened(places, desk.settings)
    try:
        return wire.content(over)
    finally:
        over.close()
