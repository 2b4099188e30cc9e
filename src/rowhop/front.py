"""The front door: `ask` for one question, `Session` for several that build on each other.

`import rowhop` reaches this module only when one of its names is used, so that the import stays light.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rowhop import build, config, providers, telemetry
from rowhop.errors import BudgetSpent, ConfigError, RowhopError
from rowhop.models import ChatModel, Message
from rowhop.trace import Budget, Step, Trace
from rowhop.types import Answer, Question

if TYPE_CHECKING:
    from rowhop.agents import Agent
    from rowhop.config import Settings

# Of a conversation: how many earlier exchanges a follow-up question carries, and how much of each.
_EARLIER = 4
_SHOWN = 400
# Counts, names and times; never the question, a prompt, a cell or an answer.
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Exchange:
    """One question of a conversation and what came of it."""

    question: Question
    answer: Answer


class Session:
    """Several questions over the same sources; each one knows what was asked and answered before.

    `sources` are paths, URLs, frames, names from `rowhop.toml`, or one opened Source. `model` is a name or any
    ChatModel; `agent` stands in for the methods that come with rowhop. Closing it closes what it opened itself.

        with rowhop.Session(["orders.csv"]) as session:
            session.ask("How many orders are there?")
            session.ask("And in May?")
    """

    def __init__(
        self,
        sources: object,
        *,
        model: str | ChatModel | None = None,
        agent: Agent | None = None,
        notes: str = "",
        settings: Settings | None = None,
        sends: bool = True,
        progress: providers.Fetching | None = None,
    ) -> None:
        self.settings = settings or config.load()
        if isinstance(model, str):
            self.settings = _with_model(self.settings, model)
        self.history: list[Exchange] = []
        self._owns = not build.is_open(sources)
        self.source: build.Knowledge = build.opened(sources, self.settings)
        try:
            self.notes = "\n\n".join(filter(None, (build.notes(self.settings), notes.strip())))
            if model is None or isinstance(model, str):
                model = providers.chat_model(self.settings, self.source, sends=sends, progress=progress)
            self.model: ChatModel = model
            self.method = "own" if agent else build.method(self.settings, self.source)
            self._agent: Agent = agent or build.agent(self.method, self.model, self.source, self.settings, self.notes)
        except BaseException:
            self.close()
            raise

    def ask(self, question: str, *, topics: Sequence[str] = (), choice: str = "", trace: Trace | None = None) -> Answer:
        """Answer a question. `choice` says which of an ambiguous answer's choices is meant.

        Raises RowhopError; `trace` then holds what was done so far. A spent budget is not an error.
        """
        asked = self.question(question, topics, choice)
        trace = trace if trace is not None else self.trace(asked)
        trace.question, trace.method, trace.model = asked, self.method, self.model.name
        answer = self._answered(asked, trace)
        noticed = (*getattr(self.source, "cautions", ()), *answer.warnings)
        answer = replace(
            answer,
            method=self.method,
            model=self.model.name,
            warnings=tuple(dict.fromkeys(noticed)),
            trace=trace,
        )
        self.history.append(Exchange(replace(asked, context=""), answer))
        return answer

    def _answered(self, asked: Question, trace: Trace) -> Answer:
        _log.info("Asking %s by %s.", self.model.name, self.method)
        trace.on_step.append(_logged)
        try:
            with telemetry.spans(trace):
                answer = self._agent.answer(asked, trace)
        except BudgetSpent as spent:
            answer = Answer("gave_up", because=str(spent), cost=trace.cost)
        except RowhopError as error:
            _log.info("The run ended with a %s after %.2f s.", type(error).__name__, trace.elapsed)
            raise
        finally:
            trace.on_step.remove(_logged)
        _log.info("The run ended with status %s after %.2f s.", answer.status, trace.elapsed)
        return answer

    async def ask_async(
        self, question: str, *, topics: Sequence[str] = (), choice: str = "", trace: Trace | None = None
    ) -> Answer:
        """`ask` without blocking the event loop. A cancelled task stops the run at the model's next word."""
        running = trace if trace is not None else self.trace(self.question(question, topics, choice))
        work = asyncio.ensure_future(asyncio.to_thread(self.ask, question, topics=topics, choice=choice, trace=running))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            running.cancelled = True
            # The thread still reads the sources; they may be closed only when it is done.
            await asyncio.wait([work])
            raise

    def trace(self, question: Question) -> Trace:
        """A fresh trace with this session's budget, to listen to or to save."""
        return Trace(question, budget=build.budget(self.settings, self.model))

    def question(self, text: str, topics: Sequence[str] = (), choice: str = "") -> Question:
        """The question as the agent gets it: with what was asked before, and which choice was taken."""
        text = text.strip()
        if not text:
            raise ConfigError('The question is empty. Ask something, e.g. "How many rows are there?"')
        context = [_told(e) for e in self.history[-_EARLIER:]]
        if choice:
            topics = (*topics, choice)
            context.append(f"The question means: {choice}")
        return Question(text, tuple(topics), context="\n".join(context))

    def prompt(self, question: str, *, topics: Sequence[str] = ()) -> tuple[Message, ...]:
        """The exact messages of the first call; nothing is sent. Raises ConfigError where a method has none."""
        shown = getattr(self._agent, "prompt", None)
        if shown is None:
            raise ConfigError(
                f"The method {self.method} has no single prompt to show: what it sends depends on replies."
            )
        messages: tuple[Message, ...] = shown(self.question(question, topics))
        return messages

    def close(self) -> None:
        if self._owns:
            self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def ask(
    question: str,
    sources: object,
    *,
    model: str | ChatModel | None = None,
    method: str = "auto",
    samples: int = 1,
    budget: Budget | None = None,
    notes: str = "",
    share: str = "samples",
    hide: Iterable[str] = (),
    language: str = "auto",
    topics: Sequence[str] = (),
    choice: str = "",
    trace: str | Path | None = None,
    settings: Settings | None = None,
) -> Answer:
    """Answer one question from tables, databases or graphs.

    `sources`: a path, URL, frame, name from `rowhop.toml`, an opened Source, or a list of them.
    `trace`: a file that the run is saved to, whatever comes of it. `answer.trace` holds the same steps.
    What is left at its default comes from `rowhop.toml` and the environment. Raises RowhopError.

        rowhop.ask("How many orders are there?", "orders.csv").values    # (8,)
    """
    given: dict[str, dict[str, Any]] = {"ask": {}, "share": {}, "budget": {}}
    for section, key, value, default in (
        ("ask", "method", method, "auto"),
        ("ask", "samples", samples, 1),
        ("ask", "language", language, "auto"),
        ("share", "data", share, "samples"),
        ("share", "hide", tuple(hide), ()),
    ):
        if value != default:
            given[section][key] = value
    if budget is not None:
        given["budget"] = {k: v for k, v in vars(budget).items() if v is not None}
    settings = _merged(settings, given)
    with Session(sources, model=model, notes=notes, settings=settings) as session:
        run = session.trace(session.question(question, topics, choice))
        return saved(session, question, run, topics=topics, choice=choice, file=trace)


async def ask_async(
    question: str,
    sources: object,
    *,
    model: str | ChatModel | None = None,
    notes: str = "",
    topics: Sequence[str] = (),
    choice: str = "",
    settings: Settings | None = None,
) -> Answer:
    """`ask` for programs with an event loop; what else `ask` takes is said by `settings`.

    A cancelled task stops the run at the model's next word. Raises RowhopError.
    """
    session = await asyncio.to_thread(Session, sources, model=model, notes=notes, settings=settings)
    with session:
        return await session.ask_async(question, topics=topics, choice=choice)


def saved(
    session: Session,
    question: str,
    trace: Trace,
    *,
    topics: Sequence[str] = (),
    choice: str = "",
    file: str | Path | None = None,
) -> Answer:
    """Ask, and save the trace to `file` whatever happens."""
    answer: Answer | None = None
    failed = ""
    try:
        answer = session.ask(question, topics=topics, choice=choice, trace=trace)
        return answer
    except BaseException as error:
        failed = str(error) if isinstance(error, RowhopError) else type(error).__name__
        raise
    finally:
        if file is not None:
            trace.save(file, answer, failed)


def open_sources(sources: object, *, settings: Settings | None = None) -> build.Knowledge:
    """Open one or several sources as one Source (or Graph). Close it when done, or use it in a Session."""
    return build.opened(sources, settings or config.load())


def _logged(step: Step) -> None:
    _log.debug("%s after %.2f s", step.kind, step.at)


def _told(exchange: Exchange) -> str:
    answer = exchange.answer
    lines = [f"Earlier question: {exchange.question.text}"]
    if answer.program is not None:
        lines.append(f"Program: {_cut(answer.program.code)}")
    result = ", ".join("nothing" if v is None else str(v) for v in answer.values[:20])
    lines.append(f"Answer: {_cut(result or answer.status)}")
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _with_model(settings: Settings, name: str) -> Settings:
    return _merged(settings, {"model": {"name": name}})


def _merged(settings: Settings | None, given: Mapping[str, Mapping[str, Any]]) -> Settings:
    if settings is None:
        return config.load(given)
    return config.changed(settings, given)
