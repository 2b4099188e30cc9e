"""The Planner: decomposes a question into steps, predicts what a step brings, thinks about what it brought.

A plan is chosen among routes that the graph has, so that no step asks for what cannot be walked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
_NO_CUES = frozenset("best west east north-west interest guest forest request test quest honest rest modest".split())
_OPERATIONS: tuple[Operation, ...] = ("list", "count", "highest", "lowest", "compare")
OFFERED = 3  # times as many plans as are shown at once: what is left after some have failed
_KINDS = ("person", "place", "group", "work", "event", "date", "number", "thing")
_PREDICTION = {
    "type": "object",
    "properties": {"kind": {"enum": list(_KINDS)}, "many": {"enum": ["one", "several"]}},
    "required": ["kind", "many"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class PlanSettings:
    """`depth` None: three leaps where there are few relations, else two. `brevity` is taken off for each leap after
    the first. `trust` weighs solved questions against nearness in words; `sure` is the vote that needs no choice."""

    depth: int | None = None
    shown: int = 8
    brevity: float = 0.2
    trust: float = 1.0
    sure: float = 0.55


class Planner:
    def __init__(
        self, model: ChatModel, explorer: Explorer, lessons: Lessons, settings: PlanSettings = PlanSettings()
    ) -> None:
        self.model, self.explorer, self.lessons, self.settings = model, explorer, lessons, settings
        few = len(explorer.graph.schema().relations) <= 60
        self.depth = settings.depth or (3 if few else 2)
        self._candidates: dict[tuple[str, tuple[str, ...]], tuple[list[Plan], str]] = {}

    # ---- decomposition

    def operation(self, question: str, trace: Trace) -> Operation:
        cues = [c.casefold() for c in _CUES.findall(question)]
        if not [c for c in cues if c not in _NO_CUES]:
            return "list"
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
        chosen: int | None = 0
        clear = best[0].score >= self.settings.trust * self.settings.sure and (
            len(best) == 1 or best[0].score - best[1].score > 0.3
        )
        if len(best) > 1 and not clear:
            lines = numbered([f"{p.said} ({', '.join(s[:30] for s in p.sample)})" for p in best])
            chosen = choose(self.model, "plan", len(best), trace, question=question, choices=lines, solved=solved)
        if chosen is None:
            trace.note("fallback", "The reply named no plan; the nearest in meaning was taken.")
        plan = best[chosen or 0]
        trace.note("plan", plan.said + "\n" + "\n".join(f"{i}. {s.objective}" for i, s in enumerate(plan.steps, 1)))
        return plan

    def candidates(self, question: str, topics: Sequence[Node]) -> tuple[list[Plan], str]:
        """Plans, the likeliest first, and the solved questions that speak for them, as a prompt shows them."""
        per_topic: list[list[Route]] = []
        told: list[str] = []
        for topic in topics[:3]:
            routes = self.explorer.routes(topic, question, self.depth, self.settings.shown)
            scored = {r.leaps: r.score - self.settings.brevity * (len(r.leaps) - 1) for r in routes}
            hints, entries = self.lessons.hints(question, [t.name for t in topics], self.explorer.graph, topic)
            flat = {tuple(h for leap in leaps for h in leap): leaps for leaps in scored}
            for hint in hints:
                leaps = flat.get(hint.hops) or tuple((h,) for h in hint.hops)
                base = scored.get(leaps, min(scored.values(), default=0.0))
                scored[leaps] = base + self.settings.trust * hint.share * hint.near**4
            told += [f"Question: {e.question}\nAnswer: {e.rationale}" for e in entries[:2]]
            ranked = sorted(scored, key=lambda r: (-scored[r], str(r)))
            per_topic.append([Route(topic.id, r, scored[r]) for r in ranked])
        nodes = {t.id: t for t in topics}
        plans = [self._single(r, nodes[r.start]) for routes in per_topic for r in routes]
        plans += self._joined(per_topic, nodes)
        plans.sort(key=lambda p: -p.score)
        return self._distinct(plans), "\n".join(dict.fromkeys(told))

    def _distinct(self, plans: Sequence[Plan]) -> list[Plan]:
        """The best plans with a glimpse of where they lead. A relation and its inverse, stated both ways, are said
        alike: only where they lead elsewhere are both offered. What leads nowhere is not offered."""
        seen: dict[tuple[str, tuple[str, ...]], Plan] = {}
        for plan in plans:
            sample = self._sample(plan)
            if sample:
                seen.setdefault((plan.said, sample), replace(plan, sample=sample))
            if len(seen) >= OFFERED * self.settings.shown:
                break
        return list(seen.values())

    def _sample(self, plan: Plan) -> tuple[str, ...]:
        reached = {branch: self._layers(plan.of(branch), start) for branch, start in enumerate(plan.starts)}
        here = reached[0][-1]
        if len(plan.starts) > 1:
            narrow = {n.id for n in reached[1][-1]}
            here = tuple(n for n in reached[0][plan.meets - 1] if n.id in narrow)
            for step in plan.of(0)[plan.meets :]:
                here = self.explorer.ends(here, step.leap)
        starts = {n.id for n in plan.starts}
        names = [n.name for n in here if n.id not in starts]
        return tuple(names[:2])

    def _single(self, route: Route, start: Node) -> Plan:
        said = self.explorer.lexicon.phrase(route.leaps, start.name)
        return Plan((start,), self._steps(route, start, 0), said, score=route.score)

    def _steps(self, route: Route, start: Node, branch: int) -> tuple[PlanStep, ...]:
        steps = []
        of = start.name
        for leap in route.leaps:
            said = self.explorer.lexicon.phrase([leap], of)
            steps.append(PlanStep(said, self.explorer.lexicon.full(leap), branch, leap))
            of = "those"
        return tuple(steps)

    def _joined(self, per_topic: Sequence[Sequence[Route]], nodes: dict[str, Node]) -> list[Plan]:
        """Two topics: routes that meet, at the answer or on the way to it. Meeting is strong evidence."""
        plans: list[Plan] = []
        if len(per_topic) < 2:
            return plans
        for a, b in ((0, 1), (1, 0)):
            layers = {
                r: [{n.id for n in at} for at in self._layers(self._steps(r, nodes[r.start], 0), nodes[r.start])]
                for r in per_topic[a][:10]
            }
            for other in per_topic[b][:10]:
                if len(other.leaps) > 2:
                    continue
                ends = {n.id for n in self.explorer.walk(other)}
                for route, reached in layers.items():
                    for at in range(len(route.leaps), 0, -1):
                        if (a, at) != (1, len(route.leaps)) and ends & reached[at - 1] - set(nodes):
                            plans.append(self._pair(route, other, at, nodes))
                            break
        return plans

    def _layers(self, steps: Sequence[PlanStep], start: Node) -> list[tuple[Node, ...]]:
        layers: list[tuple[Node, ...]] = []
        here: tuple[Node, ...] = (start,)
        for step in steps:
            here = self.explorer.ends(here, step.leap)
            layers.append(here)
        return layers

    def _pair(self, route: Route, other: Route, at: int, nodes: dict[str, Node]) -> Plan:
        lexicon = self.explorer.lexicon
        one, two = nodes[route.start], nodes[other.start]
        first, second = lexicon.phrase(route.leaps[:at], one.name), lexicon.phrase(other.leaps, two.name)
        both = f"({first}, that is also {second})"
        said = lexicon.phrase(route.leaps[at:], both) if at < len(route.leaps) else both[1:-1]
        steps = (*self._steps(other, two, 1), *self._steps(route, one, 0))
        return Plan((one, two), steps, said, at, 0.15 + (route.score + other.score) / 2)

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
