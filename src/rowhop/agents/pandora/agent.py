"""The Pandora method: BOXes and demonstrations → rationale and program → run → feedback → Answer.

The loop of the paper, for programs in Python (the paper's), in SQL over the same BOXes, and in the source's own
SQL (the paper's −CS). Departures are listed in docs/agents.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rowhop.agents.pandora import result
from rowhop.agents.pandora.attempt import Attempt, Workbench
from rowhop.agents.pandora.grammar import SQL, python_grammar
from rowhop.agents.pandora.plausible import doubt
from rowhop.agents.pandora.prompt import Prompt
from rowhop.agents.pandora.reply import read
from rowhop.errors import BudgetSpent, ReplyError, SourceError
from rowhop.memory import Memory, Recall
from rowhop.models import ChatModel, Completion, Embedder, Message, Options
from rowhop.models.ask import ask
from rowhop.sandbox import Sandbox, available
from rowhop.sources import Source
from rowhop.trace import BoxesOpened, Trace
from rowhop.types import Answer, Caution, Language, Question

Choice = Literal["auto", "python", "sql", "native"]
SAMPLED = 0.7  # temperature of several samples
WARMER = 0.3  # temperature added for each repair by a model that repeats itself
REPAIRING, TRIES = 0.8, 3  # temperature and samples of a repair by a model on this machine


@dataclass(frozen=True)
class PandoraSettings:
    """`demonstrations` None means what measured best: a fixed block or none for a model on this machine, 10
    recalled ones for an endpoint. `repairs` is the paper's L; 0 switches execution guidance off."""

    language: Choice = "auto"
    repairs: int = 3
    demonstrations: int | None = None
    recall: Recall = field(default_factory=Recall)
    samples: int = 1
    notes: str = ""
    share: Literal["schema", "samples", "all"] = "samples"
    hidden: tuple[str, ...] = ()
    empty_is_failure: bool = True
    prompt_tokens: int | None = None
    unsafe: bool = False


class Pandora:
    """Answers over one source; safe to use from several threads."""

    def __init__(
        self,
        model: ChatModel,
        source: Source,
        memory: Memory | None = None,
        embedder: Embedder | None = None,
        settings: PandoraSettings = PandoraSettings(),
    ) -> None:
        self.model = model
        self.source = source
        self.settings = settings
        self.language, self.dialect = self._language()
        self.prompts = Prompt(
            source=source,
            memory=memory if memory is not None else Memory(embedder),
            embedder=embedder,
            settings=settings,
            language=self.language,
            dialect=self.dialect,
            compact=model.constrains,
        )

    def _language(self) -> tuple[Language, str]:
        """The program language, and the SQL dialect where there is one."""
        asked = self.settings.language
        if asked == "auto":
            # Measured (docs/benchmarks.md): a database's own SQL is written best, and single tables are read best in
            # pandas; small models also join tables better in SQL.
            several = len(self.source.boxes().boxes) > 1
            if self.source.kind == "database" and self.source.dialect:
                asked = "native"
            elif (several and self.model.constrains) or (not self.settings.unsafe and available()):
                asked = "sql"
            else:
                asked = "python"
        if asked == "python":
            return "python", ""
        if asked == "native" and self.source.dialect:
            return "sql", self.source.dialect
        return "sql", "duckdb"

    def prompt(self, question: Question) -> tuple[Message, ...]:
        """What would be sent first; nothing is sent."""
        return self.prompts.messages(self.prompts.shown(self.prompts.boxes(question)), question)

    def answer(self, question: Question, trace: Trace) -> Answer:
        trace.method, trace.model = "pandora", self.model.name
        start = time.monotonic()
        boxes = self.prompts.boxes(question)
        if not boxes.boxes:
            raise SourceError(f"There is no table in {self.source.name} that could be asked.")
        shown = self.prompts.shown(boxes)
        names = tuple(box.name for box in boxes.boxes)
        trace.add(BoxesOpened(names, shown, boxes.left_out, round(time.monotonic() - start, 4)))
        # A program may use every field of the source, also one that had no room in the prompt.
        everything = self.prompts.allowed()
        bench = Workbench(self.source, everything, trace, Sandbox(unsafe=True) if self.settings.unsafe else None)
        run = _Run(self, question, trace, bench, self.prompts.messages(shown, question))
        try:
            best = run.solve()
            spent = ""
        except BudgetSpent as error:
            best, spent = run.best(), str(error)
        finally:
            if bench.unsafe is not None:
                bench.unsafe.close()
        return self._answer(best, run, trace, spent, boxes.left_out)

    def _answer(self, best: Attempt | None, run: _Run, trace: Trace, spent: str, left_out: Sequence[str]) -> Answer:
        warnings = [*self.source.cautions, *(Caution("left_out", text) for text in left_out)]
        common = Answer("gave_up", method="pandora", model=self.model.name, trace=trace)
        if best is None or best.result is None or best.run is None:
            last = run.attempts[-1] if run.attempts else None
            because = spent or (f"No program gave a result. The last one: {last.complaint}" if last else run.failure)
            program = last.program if last else None
            return replace(common, because=because, program=program, warnings=tuple(warnings), cost=trace.cost)
        rows = run.bench.with_rows(best)
        # A database that ran the statement itself noticed nothing; the second run over the BOXes did.
        warnings += [*best.cautions, *result.cautions(rows.warnings)]
        because = best.rationale
        if spent:
            status: Literal["answered", "unknown", "gave_up"] = "gave_up"
            because = f"{spent} The best so far: {because}"
        else:
            status = "unknown" if best.empty else "answered"
        if status == "unknown":
            because = f"Nothing in the data fits. {because}".strip()
        return replace(
            common,
            status=status,
            values=()
            if status == "unknown"
            else result.as_written(best.result, self.source, run.bench.boxes, best.program.code),
            because=because,
            table=best.result.table,
            program=best.program,
            evidence=result.evidence(rows, self.source, run.bench.boxes),
            warnings=tuple(dict.fromkeys(warnings)),
            confidence=run.agreement,
            cost=trace.cost,
        )


class _Run:
    """One question being answered: the attempts so far, and what to try next."""

    def __init__(
        self, agent: Pandora, question: Question, trace: Trace, bench: Workbench, messages: tuple[Message, ...]
    ) -> None:
        self.agent = agent
        self.question = question
        self.trace = trace
        self.bench = bench
        self.messages = messages
        self.attempts: list[Attempt] = []
        self.seen: dict[str, Attempt] = {}
        self.agreement: float | None = None
        self.grammar = ""
        if agent.model.constrains:
            self.grammar = python_grammar(bench.boxes) if agent.language == "python" else SQL
        self.failure = "The model gave no program."

    def solve(self) -> Attempt | None:
        settings = self.agent.settings
        samples = max(1, settings.samples)
        warm = SAMPLED if samples > 1 else 0.0
        options = Options(temperature=warm, samples=samples, max_tokens=self._most(), seed=1, grammar=self.grammar)
        done = ask(self.agent.model, "code", self.messages, options, self.trace)
        found = self._vote(done) if samples > 1 else self._try(done.text)
        if samples > 1:
            self.agreement = self._agreement(found, samples)
        for number in range(1, settings.repairs + 1):
            if found.ok and not (settings.empty_is_failure and (found.doubt or not found.sound)):
                return found
            # A large model that says so means it, and more asking drives it to inventions; a small one gives up early.
            if found.says_unknown and not self.agent.model.constrains:
                return found
            found = self._repair(found, number)
        return self.best()

    def _most(self) -> int:
        return 160 if self.agent.model.constrains else 1500

    def _repair(self, failed: Attempt, number: int) -> Attempt:
        complaint = (
            failed.complaint or failed.doubt or "It ran, but no row fits its conditions, so the answer is empty."
        )
        prompts = self.agent.prompts
        reply = failed.program.code
        messages = prompts.repair(self.messages, self.question, reply, complaint)
        if self.agent.model.constrains:
            # A small model learns little from a complaint: several warm tries in one call cost hardly more than one.
            options = Options(
                temperature=REPAIRING, samples=TRIES, max_tokens=self._most(), seed=number + 1, grammar=self.grammar
            )
            return self._vote(ask(self.agent.model, "repair", messages, options, self.trace))
        repeats = sum(a.program.code == failed.program.code for a in self.attempts) > 1
        options = Options(temperature=WARMER * number if repeats else 0.0, max_tokens=self._most(), seed=number + 1)
        return self._try(ask(self.agent.model, "repair", messages, options, self.trace).text)

    def _try(self, text: str) -> Attempt:
        try:
            reply = read(text, self.agent.language, self.agent.dialect)
        except ReplyError as error:
            from rowhop.types import Program

            attempt = Attempt(Program(self.agent.language, "", self.agent.dialect), "", str(error))
            self.failure = str(error)
            self.attempts.append(attempt)
            return attempt
        code = reply.program.code
        if code in self.seen:
            known = self.seen[code]
            same = "This is the same program as before, and it fails in the same way: "
            attempt = known if known.ok else replace(known, complaint=same + known.complaint.removeprefix(same))
        else:
            attempt = self.bench.attempt(reply.program, reply.rationale)
            if attempt.result is not None and self.agent.model.constrains:
                # A large model knows what was asked; a doubt would cost it a call.
                attempt = replace(attempt, doubt=doubt(self.question.text, attempt.result.values, self.bench.boxes))
            self.seen[code] = attempt
        self.attempts.append(attempt)
        return attempt

    def _vote(self, done: Completion) -> Attempt:
        """The result that most samples agree on; the earliest of equals."""
        tried = [self._try(text) for text in done.texts]
        sound = [a for a in tried if a.sound]
        fitting = [a for a in sound if not a.doubt] or sound or [a for a in tried if a.ok]
        if not fitting:
            return tried[0]
        counts = Counter(a.result.key for a in fitting if a.result is not None)
        winner = counts.most_common(1)[0][0]
        return next(a for a in fitting if a.result is not None and a.result.key == winner)

    def _agreement(self, found: Attempt, samples: int) -> float | None:
        """The share of samples that gave the same result."""
        if found.result is None:
            return None
        same = sum(a.result is not None and a.result.key == found.result.key for a in self.attempts)
        return round(same / samples, 3)

    def best(self) -> Attempt | None:
        """The last attempt with a result, one that rests on rows first."""
        fitting = [a for a in self.attempts if a.ok]
        sound = [a for a in fitting if a.sound]
        if undoubted := [a for a in sound if not a.doubt]:
            return undoubted[-1]
        if sound:
            return sound[0]  # what was doubted and could not be done better
        telling = [a for a in fitting if not a.empty] or fitting
        return telling[-1] if telling else None
