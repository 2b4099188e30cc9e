"""The PPoGA method: decompose; for each step predict, act, observe, think; correct the path or the plan; finish.

Every answer is a set of nodes that was walked to, with its reasoning chains as triples. Departures from the paper are
listed in docs/agents.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rowhop.agents.ppoga.executor import CHAINS, Executor
from rowhop.agents.ppoga.lessons import Lessons, sparql
from rowhop.agents.ppoga.measure import Measured, asks_value, compared, measured, number
from rowhop.agents.ppoga.memory import Memory, Plan, PlanStep, StepCycle, Strategic, Verdict
from rowhop.agents.ppoga.planner import Planner, PlanSettings
from rowhop.errors import BudgetSpent, SourceError
from rowhop.graph import Edge, Graph, Node
from rowhop.graph.linking import Linker
from rowhop.graph.routes import Explorer, Leap, Route
from rowhop.models import ChatModel, Embedder
from rowhop.trace import Trace
from rowhop.types import Answer, Caution, Program, Question, Status, Table, TripleEvidence


@dataclass(frozen=True)
class PpogaSettings:
    """`corrections` per step and `replans` per question, as in the paper's memory. `predicts` off leaves predictions
    out (for measuring what they are worth). `judges`: the last step is always thought about, not only surprises."""

    plan: PlanSettings = field(default_factory=PlanSettings)
    corrections: int = 2
    replans: int = 2
    predicts: bool = True
    judges: bool = False


@dataclass(frozen=True)
class Attempt:
    """What one plan led to."""

    plan: Plan
    found: tuple[Node, ...]
    walked: tuple[tuple[Leap, ...], ...]  # per branch
    content: bool  # whether the last verdict was to finish


class Ppoga:
    def __init__(
        self,
        model: ChatModel,
        graph: Graph,
        embedder: Embedder,
        lessons: Lessons | None = None,
        settings: PpogaSettings = PpogaSettings(),
        explorer: Explorer | None = None,
    ) -> None:
        """`explorer` may be shared by several agents over one graph: it keeps the vectors of relations."""
        self.model, self.graph, self.settings = model, graph, settings
        self.explorer = explorer or Explorer(graph, embedder)
        self.linker = Linker(graph, embedder)
        self.planner = Planner(model, self.explorer, lessons or Lessons([], embedder), settings.plan)
        self.executor = Executor(model, self.explorer, settings.plan.nearest)
        self.fault: Callable[[Plan], Plan] | None = None  # for measuring corrections: spoils the first plan

    def answer(self, question: Question, trace: Trace) -> Answer:
        trace.method, trace.model = "ppoga", self.model.name
        try:
            if question.topics:
                links = self.linker.topics(question.topics, question.text)
            else:
                links = self.linker.mentions(question.text)
        except SourceError as error:
            return self._without(str(error), trace)
        if not links:
            return self._without("No node of the graph is named in the question; name one with --topic.", trace)
        for link in links:
            trace.note("topic", f"{link.said} → {link.node.name} ({link.how})")
            if link.choices:
                choices = tuple(_told(n) for n in link.choices)
                why = f"{len(choices)} nodes are called {link.said!r}."
                return Answer("ambiguous", choices=choices, because=why, cost=trace.cost, method="ppoga")
        memory = Memory(Strategic(question.text))
        attempts: list[Attempt] = []
        spent = ""
        try:
            self._run(memory, [link.node for link in links], attempts, trace)
        except BudgetSpent as error:
            spent = str(error)
        return self._answer(memory, [link.node for link in links], attempts, trace, spent)

    # ---- the workflow

    def _run(self, memory: Memory, topics: list[Node], attempts: list[Attempt], trace: Trace) -> None:
        strategic = memory.strategic
        memory.knowledge.saw(tuple(topics))
        strategic.operation = self.planner.operation(strategic.question, len(topics), trace)
        if strategic.operation == "compare" and len(topics) < 2:
            strategic.operation = "list"
        starts = topics[:1] if strategic.operation == "compare" else topics
        while strategic.replan_count <= self.settings.replans:
            plan = self.planner.decompose(memory, starts, trace)
            if plan is None:
                return
            if self.fault is not None and strategic.replan_count == 0:
                plan = self.fault(plan)
            strategic.plan = plan
            attempt = self._carry_out(memory, plan, trace)
            if attempt is not None and attempt.found:
                if strategic.operation != "list":
                    attempt = replace(attempt, content=True)
                attempts.append(attempt)
                if attempt.content:
                    return
            memory.knowledge.failed_plans.add(plan.key)
            strategic.replan_count += 1
            trace.note("replan", f"The plan was given up: {plan.said}")

    def _carry_out(self, memory: Memory, plan: Plan, trace: Trace) -> Attempt | None:
        """All steps of a plan; None where it came to nothing."""
        reached: dict[int, tuple[Node, ...]] = {i: (n,) for i, n in enumerate(plan.starts)}
        walked: dict[int, list[Leap]] = {i: [] for i in range(len(plan.starts))}
        content = True
        narrow: frozenset[str] | None = None
        for place, step in enumerate(plan.steps, 1):
            last = place == len(plan.steps)
            if step.branch == 0 and len(plan.starts) > 1 and narrow is None:
                narrow = frozenset(n.id for n in reached[1])
            done = self._step(memory, step, reached[step.branch], last, trace)
            if done is None:
                return None
            leap, found, verdict = done
            walked[step.branch].append(leap)
            if narrow is not None and len(walked[0]) == plan.meets and step.branch == 0:
                found = tuple(n for n in found if n.id in narrow)
                if not found:
                    return None
            reached[step.branch] = found
            content = verdict != "replan"
            if verdict == "replan" and not last:
                return None
            if verdict == "finish":
                break
        # Nobody asks for what the question itself names; a way there and back would otherwise give it.
        named = {n.id for n in plan.starts}
        found = tuple(n for n in reached[0] if n.id not in named) or reached[0]
        return Attempt(plan, found, tuple(tuple(w) for w in walked.values()), content)

    def _step(
        self, memory: Memory, step: PlanStep, entities: tuple[Node, ...], last: bool, trace: Trace
    ) -> tuple[Leap, tuple[Node, ...], Verdict] | None:
        """The step cycle, with path correction. None where the step cannot be done."""
        step = replace(step, status="in progress")
        memory.cycle = StepCycle(step)
        if self.settings.predicts and (last or self.settings.judges):
            memory.cycle.predict = self.planner.predict(memory, step, trace)
        best: tuple[Leap, tuple[Node, ...], Verdict] | None = None
        for tries in range(self.settings.corrections + 1):
            seen = self.executor.act(memory, step, entities, trace)
            if seen is None:
                break
            memory.cycle.observation, memory.cycle.think = seen, ""
            trace.note("observe", f"{len(seen.found)} found. {seen.error}".strip())
            verdict = self._verdict(memory, last, tries < self.settings.corrections, trace)
            trace.note("verdict", f"{verdict}. {memory.cycle.think}".strip())
            if verdict in ("proceed", "finish"):
                memory.cycle.current_step = replace(step, status="completed")
                return seen.leap, seen.found, verdict
            if seen.found and best is None:
                best = (seen.leap, seen.found, "replan")
            if verdict == "replan":
                break
            memory.knowledge.banned.add((tuple(n.id for n in entities), seen.leap))
        return best

    def _verdict(self, memory: Memory, last: bool, may_correct: bool, trace: Trace) -> Verdict:
        """Where the outcome is as predicted there is nothing to think about; else the model decides what to do."""
        seen = memory.cycle.observation
        assert seen is not None
        if last and not seen.error and not memory.knowledge.banned and self.planner.doubts(memory):
            seen = memory.cycle.observation = replace(seen, error="another plan fits the question far better")
        good: Verdict = "finish" if last else "proceed"
        again: list[Verdict] = ["correct path"] if may_correct else []
        if not seen.found:
            return self.planner.think(memory, [*again, "replan"], trace) if again else "replan"
        if seen.error or (last and self.settings.judges):
            return self.planner.think(memory, [good, *again, "replan"], trace)
        return good

    # ---- the answer

    def _answer(
        self, memory: Memory, topics: Sequence[Node], attempts: Sequence[Attempt], trace: Trace, spent: str
    ) -> Answer:
        if not attempts:
            why = spent or "No way in the graph leads from what the question names to an answer."
            return Answer("gave_up" if spent else "unknown", because=why, cost=trace.cost, method="ppoga")
        chosen = next((a for a in attempts if a.content), attempts[0])
        try:
            outcome = self._outcome(memory, topics, chosen, trace)
        except BudgetSpent as error:
            spent, outcome = str(error), Measured(tuple(n.name for n in chosen.found), chosen.found)
        evidence = self._evidence(chosen, outcome.nodes or chosen.found)
        memory.knowledge.reasoning_chains += evidence
        names = {r.id: r.name for r in self.graph.schema().relations}
        starts = [n.id for n in chosen.plan.starts]
        routes = [[h for leap in leaps for h in leap] for leaps in chosen.walked]
        status: Status = "gave_up" if spent else "answered"
        cautions = (
            () if chosen.content else (Caution("unsure", "No plan brought what was expected; this is the first."),)
        )
        return Answer(
            status,
            outcome.values,
            because=spent or outcome.because or f"It is the {chosen.plan.said}.",
            table=Table(("answer",), tuple((v,) for v in outcome.values), len(outcome.values)),
            program=Program("sparql", sparql(starts, routes)),
            evidence=tuple(self._shown(e, names) for e in evidence),
            warnings=(*cautions, *outcome.cautions, *_fallbacks(trace)),
            cost=trace.cost,
            method="ppoga",
            model=self.model.name,
            trace=trace,
        )

    def _outcome(self, memory: Memory, topics: Sequence[Node], attempt: Attempt, trace: Trace) -> Measured:
        if memory.strategic.operation == "compare":
            return compared(self.explorer, memory, topics, attempt.walked[0])
        holders, by = self._holders(memory.strategic, attempt)
        return measured(self.model, self.explorer, memory, holders or attempt.found, by, trace)

    def _holders(self, strategic: Strategic, attempt: Attempt) -> tuple[tuple[Node, ...], Leap]:
        """For "which boat has the most seats" the plan may have led to the seats: the boats are asked for, by them."""
        leaps = attempt.walked[0]
        extreme = strategic.operation in ("highest", "lowest") and not asks_value(strategic.question)
        values = all(number(n.name) is not None for n in attempt.found)
        if not extreme or not values or len(leaps) < 2 or len(attempt.plan.starts) > 1:
            return (), ()
        return self.explorer.walk(Route(attempt.plan.starts[0].id, leaps[:-1])), leaps[-1]

    def _evidence(self, attempt: Attempt, ends: Sequence[Node]) -> list[Edge]:
        """The edges by which the answers were reached, on every branch."""
        found: dict[Edge, None] = {}
        for start, leaps in zip(attempt.plan.starts, attempt.walked, strict=True):
            for end in ends[:CHAINS]:
                found.update(dict.fromkeys(self.executor.chain(start, leaps, end)))
        return list(found)

    def _shown(self, edge: Edge, relations: dict[str, str]) -> TripleEvidence:
        ends = [self.graph.node(i) for i in (edge.subject, edge.object)]
        subject, object_ = (n.name if n else i for n, i in zip(ends, (edge.subject, edge.object), strict=True))
        return TripleEvidence(subject, relations.get(edge.relation, edge.relation), object_)

    def _without(self, why: str, trace: Trace) -> Answer:
        return Answer("unknown", because=why, cost=trace.cost, method="ppoga", model=self.model.name, trace=trace)


def _told(node: Node) -> str:
    about = node.kind or node.text[:60]
    return f"{node.name} ({about}) {node.id}" if about else f"{node.name} {node.id}"


def _fallbacks(trace: Trace) -> tuple[Caution, ...]:
    notes = [s.text for s in trace.steps if s.kind == "note" and s.topic == "fallback"]
    return tuple(Caution("fallback", text) for text in notes)
