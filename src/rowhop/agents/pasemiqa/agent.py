"""The PASemiQA method: a plan, then rounds of Thought, Action and Observation; the last Finish is the answer.

A node may be the answer only when the plan or an observation has shown it. Departures are listed in docs/agents.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rowhop import prompts
from rowhop.agents.pasemiqa import compact
from rowhop.agents.pasemiqa.actions import UNKNOWN, Action, Board, best_span, excerpt, one_line, read
from rowhop.agents.pasemiqa.planner import Candidate, Plan, Planner, told_path
from rowhop.errors import BudgetSpent, ReplyError
from rowhop.graph import Path, edges
from rowhop.graph.textgraph_names import fold
from rowhop.models import ChatModel, Message, Options
from rowhop.models.ask import ask
from rowhop.trace import GraphRead, Trace
from rowhop.types import Answer, Evidence, Question, Status, Table, TextEvidence, TripleEvidence

_PACKAGE = "rowhop.agents.pasemiqa"
_WIDE = 100_000  # nodes of one hop that are followed to tell a path's edges
_FOUND_BY = 100  # characters of the text by which a path's start was found
_QUOTE = 300  # characters of a node's text that stand as evidence
_EVIDENCE = 5  # answers that carry evidence
_ROUNDS = 5  # what T is unless it is said


@dataclass(frozen=True)
class PasemiqaSettings:
    """`rounds` is the paper's T (None: 5, and 1 where `compact`), `nodes` its K. `compact`: short prompts and replies
    by grammar (embedded models); None means: as the model can. `shown` candidates of the plan enter the prompt; with a
    ranker only those at least `likely` times as likely as the first (what is merely similar leads a small model
    astray)."""

    rounds: int | None = None
    nodes: int = 10
    shown: int = 10
    text_length: int = 300
    compact: bool | None = None
    likely: float = 0.0


@dataclass
class _Run:
    """One question being answered. `finished` is the last Finish: None before the first, [] for unknown.
    `sure`: the plan left nothing to decide."""

    plan: Plan
    board: Board
    finished: list[int] | None = None
    done: list[Action] = field(default_factory=list)
    thought: str = ""
    sure: bool = False

    @property
    def planned(self) -> list[int]:
        return [c.position for c in self.plan.candidates]


class Pasemiqa:
    """Answers over one text graph. Without a chat model the plan's best candidate is the answer."""

    def __init__(
        self, model: ChatModel | None, planner: Planner, settings: PasemiqaSettings = PasemiqaSettings()
    ) -> None:
        self.model, self.planner, self.settings = model, planner, settings
        constrains = bool(model and model.constrains)
        self.compact = constrains if settings.compact is None else settings.compact
        self.rounds = settings.rounds or (compact.ROUNDS if self.compact else _ROUNDS)
        if self.compact:
            self.settings = replace(
                settings,
                shown=min(settings.shown, compact.SHOWN),
                text_length=compact.TEXT_LENGTH,
                likely=settings.likely or compact.LIKELY,
            )

    def prompt(self, question: Question) -> tuple[Message, ...]:
        """What would be sent first; nothing is sent."""
        board = Board(self.planner.graph, question.text, self.settings.nodes, self.settings.text_length)
        return tuple(self.messages(question, self.planner.plan(question), board))

    def answer(self, question: Question, trace: Trace) -> Answer:
        trace.method, trace.model = "pasemiqa", self.model.name if self.model else ""
        plan = self.planner.plan(question, trace)
        board = Board(self.planner.graph, question.text, self.settings.nodes, self.settings.text_length)
        run = _Run(plan, board)
        spent = ""
        if self.model is not None and self.compact and (sure := compact.sure(plan, self.planner.ranker is not None)):
            run.sure, run.thought = True, sure
            trace.note("plan", sure)
        elif self.model is not None:
            try:
                self._rounds(self.model, question, run, trace)
            except BudgetSpent as error:
                spent = str(error)
        return self._answer(question, run, trace, spent)

    def messages(self, question: Question, plan: Plan, board: Board) -> list[Message]:
        """The first prompt. Filling it numbers the plan's candidates on the board."""
        shown = board.show(c.position for c in self._shown(plan))
        candidates = "\n".join(shown) or "none"
        if self.compact:
            system = prompts.text(_PACKAGE, "system_short" if self.rounds > 1 else "system_choose")
            some = zip(shown, self._shown(plan), strict=True)
            lines = [compact.line(told, self._chain(c), self._found_by(c, question)) for told, c in some]
            user = prompts.fill(
                prompts.text(_PACKAGE, "plan_short"), candidates="\n".join(lines) or "none", question=question.text
            )
        else:
            system = prompts.fill(prompts.text(_PACKAGE, "system"), rounds=str(self.rounds))
            matched = board.show((m.position for m in plan.matched[: self.settings.nodes]), 0)
            names = self.planner.graph.store.records({w.start.position for w in plan.paths}, 0)
            paths = [told_path(w, names[w.start.position].name) for w in plan.paths[: self.settings.nodes]]
            user = prompts.fill(
                prompts.text(_PACKAGE, "plan"),
                question=question.text,
                matched="\n".join(matched) or "none",
                paths="\n".join(paths) or "text: no path was planned",
                candidates=candidates,
            )
        return [Message("system", system), Message("user", user)]

    def _chain(self, candidate: Candidate) -> list[TripleEvidence]:
        """The edges of a candidate's path, by name."""
        graph, via = self.planner.graph, candidate.via
        if via is None:
            return []
        start = graph.store.record(via.start.position).id
        chain = edges(graph, Path(start, via.hops), candidate.record.id, _WIDE)
        names = {i: n.name for i, n in graph.nodes([e.subject for e in chain] + [e.object for e in chain]).items()}
        return [TripleEvidence(names[e.subject], e.relation, names[e.object]) for e in chain]

    def _found_by(self, candidate: Candidate, question: Question) -> str:
        via = candidate.via
        if via is None or via.start.end > via.start.start:
            return ""
        text = self.planner.graph.store.record(via.start.position).text
        return one_line(excerpt(text, question.text, _FOUND_BY), _FOUND_BY)

    def _shown(self, plan: Plan) -> list[Candidate]:
        ranked = self.planner.ranker is not None
        if not self.compact and not ranked:
            return list(plan.candidates[: self.settings.shown])
        return compact.shown(plan, self.settings.shown, self.settings.likely, ranked)

    def _rounds(self, model: ChatModel, question: Question, run: _Run, trace: Trace) -> None:
        messages = self.messages(question, run.plan, run.board)
        for number in range(1, self.rounds + 1):
            left = self.rounds - number
            reply = ask(
                model,
                ("system_short" if self.rounds > 1 else "system_choose") if self.compact else "system",
                messages,
                self._options(left == 0, run.board),
                trace,
            ).text
            observation, ended = self._act(reply, run, trace)
            if ended:
                return
            told = f"{left} rounds are left." if left > 1 else "This is the last round: Finish now." if left else ""
            text = prompts.fill(prompts.text(_PACKAGE, "observation"), observation=observation, left=told)
            messages += [Message("assistant", reply), Message("user", text)]

    def _options(self, last: bool, board: Board) -> Options:
        if not self.compact:
            return Options(max_tokens=400, stop=("Observation:",))
        return Options(max_tokens=60, grammar=compact.choosing(board) if last else compact.acting(board))

    def _act(self, reply: str, run: _Run, trace: Trace) -> tuple[str, bool]:
        """Carry out every action of a reply in order; (what was observed, whether the run ends)."""
        try:
            actions = read(reply)
        except ReplyError as error:
            return str(error), False
        run.thought = reply.split("Action:")[0].partition("Thought:")[2].strip()
        if run.thought:
            trace.note("thought", run.thought)
        told: list[str] = []
        ended = False
        for action in actions[:5]:
            if action.verb == "Finish":
                observation, ended = self._finish(action, run)
            elif action in run.done:
                observation, ended = (
                    "You have done that already; its result stands above. Do something else or Finish.",
                    False,
                )
            else:
                observation, ended = self._look(action, run), False
            run.done.append(action)
            trace.add(GraphRead(f"{action.verb}[{action.argument}]", tuple(observation.splitlines()[:12])))
            told.append(observation)
        return "\n".join(told), ended

    def _look(self, action: Action, run: _Run) -> str:
        if action.verb == "Search":
            return run.board.search(action.argument)
        return run.board.query(action.argument, run.planned)

    def _finish(self, action: Action, run: _Run) -> tuple[str, bool]:
        nodes, dropped = run.board.finish(action.argument)
        if dropped:
            # Kept all the same: should no round be left, the nodes that were seen are the answer.
            run.finished = nodes or run.finished
            return (
                f"Not accepted: {'; '.join(dropped)} was never shown to you. "
                "Finish only with nodes from the plan or an observation, or Finish[unknown].",
                False,
            )
        if not nodes and fold(action.argument) != UNKNOWN:
            return "Finish was empty. Name a node, or Finish[unknown].", False
        run.finished = nodes
        return f"Finished with {'; '.join(map(run.board.name, nodes)) or UNKNOWN}.", True

    def _answer(self, question: Question, run: _Run, trace: Trace, spent: str) -> Answer:
        status: Status = "answered"
        because = run.thought
        chosen = run.finished
        if chosen is None:
            chosen = run.planned[:1]
            if self.model is not None and not run.sure:
                status = "gave_up"
                because = f"{spent or 'No Finish within the rounds.'} The plan's best candidate stands."
            elif not chosen:
                status = "unknown"
        elif spent:
            status, because = "gave_up", f"{spent} The last Finish stands."
        elif not chosen:
            status = "unknown"
        order = list(dict.fromkeys([*chosen, *run.planned])) if status != "unknown" else []
        run.board.records |= self.planner.graph.store.records([p for p in order if p not in run.board.records])
        return Answer(
            status,
            values=tuple(run.board.name(p) for p in chosen),
            because=because or f"Planned by: {run.plan.generator}.",
            table=self._table(order, chosen, run),
            evidence=self._evidence(question, chosen[:_EVIDENCE], run),
            warnings=self.planner.graph.cautions,
            cost=trace.cost,
            method="pasemiqa",
            model=self.model.name if self.model else "",
            trace=trace,
        )

    def _table(self, order: Sequence[int], chosen: Sequence[int], run: _Run) -> Table:
        """The ranked nodes: those of the last Finish, then the plan's other candidates."""
        via = {c.position: c for c in run.plan.candidates}
        rows = []
        for position in order:
            record = run.board.records[position]
            by: Literal["finish", "plan"] = "finish" if position in chosen and run.finished is not None else "plan"
            rows.append((record.id, run.board.name(position), record.kind, by, self._told(via.get(position), run)))
        return Table(("id", "name", "type", "by", "path"), tuple(rows), len(rows))

    def _told(self, candidate: Candidate | None, run: _Run) -> str:
        if candidate is None or candidate.via is None:
            return "text"
        start = candidate.via.start.position
        record = run.board.records.get(start) or self.planner.graph.store.record(start)
        return " ".join([record.name or record.id, *map(str, candidate.via.hops)])

    def _evidence(self, question: Question, chosen: Sequence[int], run: _Run) -> tuple[Evidence, ...]:
        """For each answer the edges of its path and the sentence nearest to the question, as the graph holds them."""
        graph = self.planner.graph
        via = {c.position: c for c in run.plan.candidates}
        found: list[Evidence] = []
        for position in chosen:
            record = graph.store.record(position)
            if (candidate := via.get(position)) is not None:
                found += self._chain(candidate)
            if record.text:
                a, b = best_span(record.text, question.text, _QUOTE)
                found.append(TextEvidence(run.board.name(position), record.text[a:b], a, b))
        return tuple(found)
