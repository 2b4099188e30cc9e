"""The trace of one question: every model call, program run, graph read and thought as a typed Step.

Command line, web page, evaluation and tests read only this. It is saved even when the run fails.
The Budget lives here because every cost passes through here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rowhop.errors import BudgetSpent
from rowhop.models import Completion, Message
from rowhop.types import Caution, Cost, Program, Question, Table

VERSION = 1  # of the file format; raised when a field changes its meaning


@dataclass(frozen=True)
class ModelCall:
    """`purpose` names the prompt file, e.g. "code_python" or "repair"."""

    purpose: str
    model: str
    messages: tuple[Message, ...]
    replies: tuple[str, ...]
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    money: float | None = None
    from_cache: bool = False
    at: float = 0.0  # seconds since the question was asked
    kind: Literal["model_call"] = "model_call"


@dataclass(frozen=True)
class BoxesOpened:
    """`shown` is the text that stands for the BOXes in the prompt."""

    boxes: tuple[str, ...]
    shown: str
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0
    at: float = 0.0
    kind: Literal["boxes_opened"] = "boxes_opened"


@dataclass(frozen=True)
class CodeRun:
    """`status` is the sandbox's word ("ok", "error", "timeout", …) or "refused" when a check stopped it before."""

    program: Program
    status: str
    error: str = ""
    result: Table | None = None
    warnings: tuple[Caution, ...] = ()
    seconds: float = 0.0
    at: float = 0.0
    kind: Literal["code_run"] = "code_run"


@dataclass(frozen=True)
class GraphRead:
    """One read of a graph: a query, a hop, a search. `found` shows the first results."""

    query: str
    found: tuple[str, ...] = ()
    total: int = 0
    seconds: float = 0.0
    at: float = 0.0
    kind: Literal["graph_read"] = "graph_read"


@dataclass(frozen=True)
class Note:
    """A thought, a plan, a decision. `topic` is a fixed word, e.g. "plan", "predict", "verdict", "recall"."""

    topic: str
    text: str
    at: float = 0.0
    kind: Literal["note"] = "note"


Step = ModelCall | BoxesOpened | CodeRun | GraphRead | Note


@dataclass(frozen=True)
class Header:
    question: Question
    method: str = ""
    model: str = ""
    started: str = ""  # UTC, ISO 8601
    rowhop: str = ""  # version that wrote it
    version: int = VERSION


@dataclass(frozen=True)
class Budget:
    """Limits for one question; None means no limit. `money` is in US dollars."""

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    money: float | None = None


@dataclass(frozen=True)
class Saved:
    """A trace read back from a file: `answer` is the JSON of the Answer, {} when the run failed."""

    header: Header
    steps: tuple[Step, ...]
    answer: dict[str, Any]
    error: str = ""


@dataclass
class Trace:
    """Collects steps; listeners see each one at once, and tokens as they stream.

    >>> trace = Trace(Question("How many?"))
    >>> trace.add(Note("plan", "count the rows"))
    >>> trace.steps[0].text
    'count the rows'
    """

    question: Question
    budget: Budget = Budget()
    method: str = ""
    model: str = ""
    steps: list[Step] = field(default_factory=list)
    on_step: list[Callable[[Step], None]] = field(default_factory=list)
    on_token: list[Callable[[str], None]] = field(default_factory=list)
    cancelled: bool = False
    _start: float = field(default_factory=time.monotonic)
    _started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def add(self, step: Step) -> None:
        step = replace(step, at=round(self.elapsed, 3))
        self.steps.append(step)
        for listener in self.on_step:
            listener(step)

    def note(self, topic: str, text: str) -> None:
        self.add(Note(topic, text))

    def token(self, text: str) -> None:
        """A piece of a reply has arrived. Raises BudgetSpent so that the model stops in the middle."""
        for listener in self.on_token:
            listener(text)
        self.check_time()

    def record(self, purpose: str, model: str, messages: tuple[Message, ...], done: Completion) -> None:
        u = done.usage
        self.add(
            ModelCall(
                purpose=purpose,
                model=model,
                messages=messages,
                replies=done.texts,
                prompt_tokens=u.prompt_tokens,
                reply_tokens=u.reply_tokens,
                cached_tokens=u.cached_tokens,
                seconds=round(u.seconds, 3),
                money=u.money,
                from_cache=done.from_cache,
            )
        )

    @property
    def cost(self) -> Cost:
        calls = [s for s in self.steps if isinstance(s, ModelCall) and not s.from_cache]
        prices = [c.money for c in calls]
        return Cost(
            calls=len(calls),
            prompt_tokens=sum(c.prompt_tokens for c in calls),
            reply_tokens=sum(c.reply_tokens for c in calls),
            seconds=round(self.elapsed, 3),
            money=sum(p for p in prices if p is not None) if calls and None not in prices else None,
        )

    def check_time(self) -> None:
        if self.cancelled:
            raise BudgetSpent("The run was stopped.")
        if self.budget.seconds is not None and self.elapsed > self.budget.seconds:
            raise BudgetSpent(f"The budget of {self.budget.seconds:g} seconds is spent.")

    def check_budget(self) -> None:
        """Called before each model call. Raises BudgetSpent."""
        self.check_time()
        cost, limit = self.cost, self.budget
        if limit.calls is not None and cost.calls >= limit.calls:
            raise BudgetSpent(f"The budget of {limit.calls} model calls is spent.")
        if limit.tokens is not None and cost.prompt_tokens + cost.reply_tokens >= limit.tokens:
            raise BudgetSpent(f"The budget of {limit.tokens} tokens is spent.")
        if limit.money is not None and (cost.money or 0.0) >= limit.money:
            raise BudgetSpent(f"The budget of ${limit.money:g} is spent.")

    def header(self) -> Header:
        from rowhop import __version__

        return Header(self.question, self.method, self.model, self._started, __version__)

    def save(self, path: str | Path, answer: object = None, error: str = "") -> None:
        """Write JSON Lines: the header, one line per step, and the end (answer or error)."""
        from rowhop.tracefile import write

        write(Path(path), self.header(), self.steps, answer, error)

    def _repr_html_(self) -> str:
        from rowhop import notebook

        return notebook.trace(self.question.text, self.steps)


def load(path: str | Path) -> Saved:
    """Read a saved trace. Raises SourceError when the file is not one."""
    from rowhop.tracefile import read

    return read(Path(path))
