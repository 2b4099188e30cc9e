"""The Executor: carries out one step on the graph and says how far the outcome is from what was predicted.

Entity selection from data, relation exploration, entity exploration, pruning, selection from candidates. Answers may be
sets, so that a step keeps all the entities its relation leads to and not a single one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from rowhop.agents.ppoga.choice import choose, numbered
from rowhop.agents.ppoga.lessons import sparql
from rowhop.agents.ppoga.memory import Memory, Observation, PlanStep, Prediction
from rowhop.errors import ReplyError
from rowhop.graph import LITERAL, Edge, Node, Path, edges
from rowhop.graph.routes import PRUNE_ABOVE, Explorer, Leap
from rowhop.models import ChatModel
from rowhop.trace import GraphRead, Trace

SHOWN = 8  # relations a model chooses among
ALIKE = 0.75  # likeness of a relation to its step's description; a plan that was made here has 1
CHAINS = 40  # ends of a step whose edges are kept as evidence


class Executor:
    def __init__(self, model: ChatModel, explorer: Explorer, nearest: float = 1.0):
        """`nearest`: an embedded model is offered only what is at most so much farther in meaning than the best."""
        self.model, self.explorer, self.nearest = model, explorer, nearest

    def act(self, memory: Memory, step: PlanStep, entities: Sequence[Node], trace: Trace) -> Observation | None:
        """One try at a step; None where every way on is banned."""
        for node in entities:
            if node.id not in memory.knowledge.explored_entities:
                raise ReplyError(f"{node.name!r} was not seen in this question.")
        leap = self._leap(memory, step, entities, trace)
        if leap is None:
            return None
        found = self.explore(memory, entities, leap, trace)
        error = error_signal(memory.cycle.predict, found)
        if not error and leap == step.leap and not self._fits(step, leap):
            error = f"{self.explorer.lexicon.brief(leap)} is not the {step.objective}"
        return Observation(leap, found, error)

    def _fits(self, step: PlanStep, leap: Leap) -> bool:
        """Whether the relation says what the step is described to look for."""
        if not step.description:
            return True
        said, wanted = self.explorer.vectors([self.explorer.lexicon.full(leap), step.description])
        return float(said @ wanted) >= ALIKE

    def _leap(self, memory: Memory, step: PlanStep, entities: Sequence[Node], trace: Trace) -> Leap | None:
        banned = memory.knowledge.banned
        key = _key(entities)
        if step.leap and (key, step.leap) not in banned:
            return step.leap
        there = [leap for leap in self.explorer.leaps(entities) if (key, leap) not in banned]
        if not there:
            return None
        texts = (step.description or step.objective, step.objective, memory.strategic.question)
        ranked = self.explorer.rank_leaps(there, texts)[:PRUNE_ABOVE]
        best = [
            leap for leap, near in ranked[:SHOWN] if not self.model.constrains or near > ranked[0][1] - self.nearest
        ]
        tried = [self.explorer.lexicon.brief(leap) for k, leap in banned if k == key]
        lines = [self.explorer.lexicon.phrase([leap], "them") for leap in best]
        names = ", ".join(n.name for n in entities[:3]) + (" and others" if len(entities) > 3 else "")
        said = f"Tried without success: {', '.join(sorted(tried))}." if tried else ""
        chosen: int | None = 0
        if len(best) > 1:
            chosen = choose(
                self.model,
                "choose",
                len(best),
                trace,
                question=memory.strategic.question,
                objective=step.objective,
                entities=names,
                choices=numbered(lines),
                tried=said,
            )
        if chosen is None:
            trace.note("fallback", "The reply named no relation; the nearest in meaning was taken.")
        return best[chosen or 0]

    def explore(self, memory: Memory, entities: Sequence[Node], leap: Leap, trace: Trace) -> tuple[Node, ...]:
        """What the leap leads to. A query that ran before in this question is not run again."""
        knowledge = memory.knowledge
        key = (_key(entities), leap)
        if key in knowledge.explored_relations:
            return knowledge.explored_relations[key]
        start = time.monotonic()
        ends = self.explorer.ends(entities, leap)
        found = tuple(n for n in ends if n.id not in {e.id for e in entities}) or ends
        knowledge.explored_relations[key] = found
        knowledge.saw(found)
        knowledge.exploration_path.append(self.explorer.lexicon.brief(leap))
        query = sparql([entities[0].id if len(entities) == 1 else "?those"], [leap])
        seconds = round(time.monotonic() - start, 4)
        trace.add(GraphRead(query, tuple(n.name for n in found[:10]), len(found), seconds))
        return found

    def chain(self, start: Node, leaps: Sequence[Leap], end: Node) -> tuple[Edge, ...]:
        hops = tuple(h for leap in leaps for h in leap)
        return edges(self.explorer.graph, Path(start.id, hops), end.id)


def _key(entities: Sequence[Node]) -> tuple[str, ...]:
    return tuple(n.id for n in entities)


_DATE = re.compile(r"^-?\d{4}(-\d\d(-\d\d)?)?(T.*)?$")
_NUMBER = re.compile(r"^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?$", re.IGNORECASE)


def value_kind(nodes: Sequence[Node]) -> str:
    """date, number, text or name: what can be told from the nodes themselves."""
    some = [n.name for n in nodes[:20]]
    if some and all(_DATE.match(n) for n in some):
        return "date"
    if some and all(_NUMBER.match(n) for n in some):
        return "number"
    return "text" if nodes and all(n.kind == LITERAL for n in nodes[:20]) else "name"


def error_signal(predicted: Prediction, found: Sequence[Node]) -> str:
    """In words, how the outcome differs from the prediction; "" where it does not.

    The number of things is no surprise by itself: a graph may know one of several.
    """
    if not found:
        return "nothing was found"
    kind = value_kind(found)
    values, wanted = ("date", "number"), predicted.kind
    if wanted in values and kind not in values:
        return f"a {wanted} was expected, names were found"
    if wanted in ("person", "place", "group", "work", "event") and kind in values:
        return f"a {wanted} was expected, a {kind} was found"
    if predicted.many == "one" and len(found) > 20:
        return f"one was expected, {len(found)} were found"
    return ""
