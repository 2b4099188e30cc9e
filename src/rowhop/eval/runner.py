"""Asks the questions of a benchmark and keeps what came of each: resumable, in threads, within a time limit.

It works with any callable that answers an Item; `evaluate` builds one from settings.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rowhop.errors import BudgetSpent, OperatorError, RowhopError, SourceError
from rowhop.eval.benchmarks import Item
from rowhop.eval.runfolder import Run, RunFolder, opened
from rowhop.eval.scoring import CRASH, OPERATOR, Record, record
from rowhop.trace import Budget, Trace
from rowhop.types import Answer

# The trace is given so that it can be saved whatever becomes of the answer.
Answerer = Callable[[Item, Trace], Answer]

# After so many questions in a row that failed because the machine or a service did, the run stops.
PATIENCE = 5


@dataclass(frozen=True)
class Limits:
    """`minutes` is for this sitting; questions that have begun are finished. `budget` is for each question."""

    threads: int = 1
    minutes: float | None = None
    budget: Budget = Budget()


@dataclass(frozen=True)
class Progress:
    """`mean` is that of the main score so far; `seconds_left` is a guess, None before the first question is done."""

    done: int
    total: int
    mean: float
    seconds_left: float | None
    last: Record | None = None


Listen = Callable[[Progress], None]


@dataclass(frozen=True)
class Outcome:
    """The run as it now stands; `stopped` says in words why not every question was asked, "" when all were."""

    run: Run
    stopped: str = ""


def run(
    folder: Path,
    items: Sequence[Item],
    answer: Answerer,
    config: Mapping[str, Any],
    limits: Limits = Limits(),
    listen: Listen = lambda progress: None,
    resume: str = "",
) -> Outcome:
    """Ask what has not been asked yet. `resume`: "" for a new run, "resume", or "retry" (failures of the machine too).

    Raises ConfigError (the folder is another run's), OperatorError (the disk is full). Ctrl-C loses nothing that
    was done.
    """
    with opened(folder, config, resume != "", resume == "retry") as (place, before):
        done = {r.id: r for r in before.records if r.id in {i.id for i in items}}
        sitting = _Sitting(place, answer, limits, listen, done, len(items))
        stopped = sitting.ask([i for i in items if i.id not in done])
        return Outcome(Run(folder, before.config, tuple(sitting.done.values()), before.lost), stopped)


@dataclass
class _Sitting:
    """One stretch of work on a run, from start or resume to its end."""

    place: RunFolder
    answer: Answerer
    limits: Limits
    listen: Listen
    done: dict[str, Record]
    total: int
    live: dict[str, Trace] = field(default_factory=dict)
    start: float = field(default_factory=time.monotonic)
    faults: int = 0  # of the machine, in a row
    fresh: int = 0  # questions done in this sitting

    def ask(self, items: Sequence[Item]) -> str:
        """Work through the items; returns why it stopped before the end."""
        waiting = iter(items)
        self._tell(None)
        with ThreadPoolExecutor(self.limits.threads, "rowhop-eval") as pool:
            running: set[Future[Record]] = set()
            try:
                # Only as many as there are threads are handed out, so that stopping leaves none half done.
                while True:
                    stopped = self._why_stop()
                    if not stopped:
                        self._fill(pool, running, waiting)
                    if not running:
                        return stopped
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    running -= ended
                    for future in ended:
                        self._keep(future.result())
            except BaseException:
                for trace in list(self.live.values()):
                    trace.cancelled = True
                raise

    def _fill(self, pool: ThreadPoolExecutor, running: set[Future[Record]], waiting: Iterator[Item]) -> None:
        while len(running) < self.limits.threads and (item := next(waiting, None)) is not None:
            running.add(pool.submit(self._one, item))

    def _why_stop(self) -> str:
        minutes = self.limits.minutes
        left = self.total - len(self.done)
        if minutes is not None and time.monotonic() - self.start >= minutes * 60 and left:
            return (
                f"The {minutes:.3g} minutes are over; {left} of {self.total} questions are left. Go on with --resume."
            )
        if self.faults >= PATIENCE:
            last = list(self.done.values())[-1].error
            return (
                f"{self.faults} questions in a row failed through no fault of the method. {last} "
                "Mend it, then go on with --resume --retry."
            )
        return ""

    def _one(self, item: Item) -> Record:
        trace = Trace(item.question, self.limits.budget)
        self.live[item.id] = trace
        start = time.monotonic()
        answer, error = Answer("gave_up"), ""
        try:
            answer = self.answer(item, trace)
        except BudgetSpent as spent:
            answer = Answer("gave_up", because=str(spent), cost=trace.cost)
        except OperatorError as fault:
            error = f"{OPERATOR}{fault}"
        except RowhopError as fault:
            error = str(fault)
        except Exception as fault:  # noqa: BLE001 - a fault of the method is a result: it is kept, with its place, as 0
            error = f"{CRASH}{type(fault).__name__}: {fault}"
            trace.note("fault", traceback.format_exc())
        seconds = time.monotonic() - start
        del self.live[item.id]
        file = self.place.trace_file(item.id)
        if not trace.cancelled:
            self._save(trace, file, answer, error)
        return record(item, answer, trace, error, seconds, file)

    def _save(self, trace: Trace, file: str, answer: Answer, error: str) -> None:
        try:
            trace.save(self.place.folder / file, answer, error)
        except SourceError as fault:
            raise OperatorError(f"{fault} What was done before is safe; run the same again with --resume.") from fault

    def _keep(self, one: Record) -> None:
        self.place.append(one)
        self.done[one.id] = one
        self.fresh += 1
        self.faults = self.faults + 1 if one.machine_fault else 0
        self._tell(one)

    def _tell(self, last: Record | None) -> None:
        left = self.total - len(self.done)
        spent = time.monotonic() - self.start
        guess = spent / self.fresh * left if self.fresh else None
        if guess is not None and self.limits.minutes is not None:
            guess = min(guess, max(0.0, self.limits.minutes * 60 - spent))
        mean = sum(r.score for r in self.done.values()) / max(1, len(self.done))
        self.listen(Progress(len(self.done), self.total, mean, guess, last))
