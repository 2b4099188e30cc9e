"""The Planner: decomposes a question into steps, predicts what a step brings, thinks about what it brought.

A plan is chosen among routes that the graph has, so that no step asks for what cannot be walked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Literal

from rowhop.agents.ppoga.candidates import FEW_RELATIONS, Ranked, Way, candidates, ends
from rowhop.agents.ppoga.choice import choose, messages, numbered
from rowhop.agents.ppoga.lessons import Lessons
from rowhop.agents.ppoga.memory import Memory, Operation, Plan, PlanStep, Prediction, Verdict
from rowhop.graph import Node
from rowhop.graph.routes import Explorer, Route
from rowhop.models import ChatModel, Options
from rowhop.models.ask import ask
from rowhop.trace import Trace

# Words without which a question is taken to ask for the things themselves; saves a call on most questions.
_CUES = re.compile(
    r"\b(how many|how much|number of|count|most|least|fewest|more|fewer|less|\w+est|first|last|earlier|later|"
    r"older|younger|newer|larger|smaller|bigger|longer|shorter|higher|lower)\b",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(r"\b(most|least|fewest|first|last|\w{2,}est)\b", re.IGNORECASE)
_NO_CUES = frozenset("best west east north-west interest guest forest request test quest honest rest modest".split())
_OPERATIONS: tuple[Operation, ...] = ("list", "count", "highest", "lowest", "compare")
_KINDS = ("person", "place", "group", "work", "event", "date", "number", "thing")
_PREDICTION = {
    "type": "object",
    "properties": {"kind": {"enum": list(_KINDS)}, "many": {"enum": ["one", "several"]}},
    "required": ["kind", "many"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class PlanSettings:
    """`depth` None: three leaps where there are few relations, else two. `shown` plans at most are offered to a model.
    `close`: a model that is weak at choosing (an embedded one) decides only between plans whose chances (logarithms)
    are at most so far from the best one's; where there is but one, it is not asked."""

    depth: int | None = None
    shown: int = 12
    close: float = 0.3
    far: float = 2.0  # how much farther than `close` a plan is from the best one to be doubted
    nearest: float = 0.05  # the same for relations within a step, in likeness
    weighed: int = 24  # likeliest ways that are walked to see where they lead


class Planner:
    def __init__(
        self, model: ChatModel, explorer: Explorer, lessons: Lessons, settings: PlanSettings = PlanSettings()
    ) -> None:
        self.model, self.explorer, self.lessons, self.settings = model, explorer, lessons, settings
        few = len(explorer.graph.schema().relations) <= FEW_RELATIONS
        self.depth = settings.depth or (3 if few else 2)
        self._candidates: dict[tuple[str, tuple[str, ...]], tuple[list[Plan], str]] = {}

    # ---- decomposition

    def operation(self, question: str, topics: int, trace: Trace) -> Operation:
        """What to do with what is found. Wording that leaves no doubt costs no call."""
        cues = [c.casefold() for c in _CUES.findall(question)]
        cues = [c for c in cues if c not in _NO_CUES]
        if not cues:
            return "list"
        if topics > 1 and re.search(r"\bor\b", question, re.IGNORECASE):
            return "compare"
        if re.search(r"\b(how many|number of)\b", question, re.IGNORECASE) and not _SUPERLATIVE.search(question):
            return "count"
        chosen = choose(self.model, "operation", len(_OPERATIONS), trace, question=question)
        return "list" if chosen is None else _OPERATIONS[chosen]

    def decompose(self, memory: Memory, topics: Sequence[Node], trace: Trace) -> Plan | None:
        """A plan that has not failed; None where there is none left."""
        question = memory.strategic.question
        key = (question, tuple(t.id for t in topics))
        if key not in self._candidates:
            self._candidates = {key: self.candidates(question, topics)}  # only this question's: plans do not age well
        plans, solved = self._candidates[key]
        plans = [p for p in plans if p.key not in memory.knowledge.failed_plans]
        if not plans:
            return None
        best = plans[: self.settings.shown]
        if self.model.constrains:
            best = [p for p in best if p.score >= best[0].score - self.settings.close]
        chosen: int | None = 0
        if len(best) > 1:
            lines = numbered([f"{p.said} ({', '.join(s[:30] for s in p.sample)})" for p in best])
            solved = "" if self.model.constrains else solved
            chosen = choose(self.model, "plan", len(best), trace, question=question, choices=lines, solved=solved)
        if chosen is None:
            trace.note("fallback", "The reply named no plan; the likeliest was taken.")
        plan = best[chosen or 0]
        trace.note("plan", plan.said + "\n" + "\n".join(f"{i}. {s.objective}" for i, s in enumerate(plan.steps, 1)))
        return plan

    def doubts(self, memory: Memory) -> bool:
        """Whether another plan fits the question far better than the one that was carried out. Only for a model whose
        choice is weighed against the ranking; another's choice stands."""
        plan = memory.strategic.plan
        if plan is None or not self.model.constrains or not self._candidates:
            return False
        ((plans, _),) = self._candidates.values()
        left = [p for p in plans if p.key not in memory.knowledge.failed_plans]
        own = next((p.score for p in left if p.key == plan.key), None)
        return bool(left) and (own is None or own < left[0].score - self.settings.close - self.settings.far)

    def candidates(self, question: str, topics: Sequence[Node]) -> tuple[list[Plan], str]:
        """Plans, the likeliest first, and the solved questions that speak for them, as a prompt shows them."""
        ranked = candidates(self.explorer, self.lessons, question, topics, self.depth)
        told = [f"Question: {e.question}\nAnswer: {e.rationale}" for e in ranked.told]
        return self._distinct(ranked), "\n".join(dict.fromkeys(told))

    def _distinct(self, ranked: Ranked) -> list[Plan]:
        """The likeliest plans with a glimpse of where they lead. Ways to the same nodes are one plan, by the shortest
        of them, with their chances together. What leads nowhere is not offered."""
        order = sorted(range(len(ranked.ways)), key=lambda i: (-ranked.chances[i], len(ranked.ways[i].route.leaps)))
        chance: dict[tuple[str, ...], float] = {}
        plans: dict[tuple[str, ...], Plan] = {}
        for i in order[: self.settings.weighed]:
            found = ends(self.explorer, ranked.ways[i])
            key = tuple(sorted(n.id for n in found))
            if found:
                own = exp(float(ranked.chances[i]))
                # A relation and its inverse share their chance; many pairs that narrow to one node prove nothing.
                alone = ranked.ways[i].other is None
                chance[key] = chance.get(key, 0.0) + own if alone else max(chance.get(key, 0.0), own)
                plan = self._plan(ranked.ways[i])
                if key not in plans or len(plan.steps) < len(plans[key].steps):
                    plans[key] = replace(plan, sample=tuple(n.name for n in found[:2]))
        made = [replace(plan, score=log(chance[key] or 1e-300)) for key, plan in plans.items()]
        return sorted(made, key=lambda p: -p.score)

    def _plan(self, way: Way) -> Plan:
        if way.other is not None and way.second is not None:
            return self._pair(way.route, way.other, way.meets, {n.id: n for n in way.starts})
        return self._single(way.route, way.start)

    def _single(self, route: Route, start: Node) -> Plan:
        said = self.explorer.lexicon.phrase(route.leaps, start.name)
        return Plan((start,), self._steps(route, start, 0), said)

    def _steps(self, route: Route, start: Node, branch: int) -> tuple[PlanStep, ...]:
        steps = []
        of = start.name
        for leap in route.leaps:
            said = self.explorer.lexicon.phrase([leap], of)
            steps.append(PlanStep(said, self.explorer.lexicon.full(leap), branch, leap))
            of = "those"
        return tuple(steps)

    def _pair(self, route: Route, other: Route, at: int, nodes: dict[str, Node]) -> Plan:
        lexicon = self.explorer.lexicon
        one, two = nodes[route.start], nodes[other.start]
        first, second = lexicon.phrase(route.leaps[:at], one.name), lexicon.phrase(other.leaps, two.name)
        both = f"({first}, that is also {second})"
        said = lexicon.phrase(route.leaps[at:], both) if at < len(route.leaps) else both[1:-1]
        steps = (*self._steps(other, two, 1), *self._steps(route, one, 0))
        return Plan((one, two), steps, said, at)

    # ---- prediction, thought and verdict

    def predict(self, memory: Memory, step: PlanStep, trace: Trace) -> Prediction:
        holes = {"question": memory.strategic.question, "objective": step.objective}
        options = Options(max_tokens=40, schema=json.dumps(_PREDICTION) if self.model.constrains else "")
        found = _json(ask(self.model, "predict", messages("predict", holes), options, trace).text)
        kind = str(found.get("kind", "")).casefold()
        many = found.get("many")
        number: Literal["one", "several", ""] = many if many in ("one", "several") else ""
        prediction = Prediction(kind if kind in _KINDS else "", number)
        trace.note("predict", f"{prediction.many} {prediction.kind}".strip() or "nothing usable was predicted")
        return prediction

    def think(self, memory: Memory, allowed: Sequence[Verdict], trace: Trace) -> Verdict:
        """A thought on what was observed and the verdict, among those that are possible now."""
        cycle, plan = memory.cycle, memory.strategic.plan
        assert cycle.current_step
        assert cycle.observation
        assert plan
        found = [n.name for n in cycle.observation.found[:5]]
        more = len(cycle.observation.found) - len(found)
        expected = f"{cycle.predict.many} {cycle.predict.kind}".strip()
        holes = {
            "question": memory.strategic.question,
            "plan": plan.said,
            "objective": cycle.current_step.objective,
            "expected": expected or "not predicted",
            "found": (", ".join(found) or "nothing") + (f" and {more} more" if more > 0 else ""),
            "surprise": cycle.observation.error or "none",
            "verdicts": ", ".join(allowed),
            "example": allowed[0],
        }
        schema = {
            "type": "object",
            "properties": {"thought": {"type": "string", "maxLength": 60}, "verdict": {"enum": list(allowed)}},
            "required": ["thought", "verdict"],
            "additionalProperties": False,
        }
        options = Options(max_tokens=60, schema=json.dumps(schema) if self.model.constrains else "")
        reply = _json(ask(self.model, "think", messages("think", holes), options, trace).text)
        cycle.think = str(reply.get("thought", ""))
        verdict = next((v for v in allowed if v == reply.get("verdict")), None)
        if verdict is None:
            trace.note("fallback", f"The reply gave no verdict; it was taken to be {allowed[0]}.")
        return verdict or allowed[0]


def _json(reply: str) -> dict[str, object]:
    """The object in a reply, {} where there is none."""
    try:
        found = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
