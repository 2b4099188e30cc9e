"""The paper's memory of one question, in its three layers. Nothing here outlives the question.

The knowledge layer survives a new plan: what was explored need not be explored again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rowhop.graph import Edge, Node
from rowhop.graph.routes import Leap

StepStatus = Literal["not started", "in progress", "completed"]
Verdict = Literal["proceed", "correct path", "replan", "finish"]
Operation = Literal["list", "count", "highest", "lowest", "compare"]


@dataclass(frozen=True)
class PlanStep:
    """`branch` numbers the topic it starts from; `leap` is what the planner has seen to exist, () in a free plan."""

    objective: str
    description: str
    branch: int = 0
    leap: Leap = ()
    status: StepStatus = "not started"


@dataclass(frozen=True)
class Plan:
    """`starts` has one topic per branch. Where there are two, the second narrows the first after its step `meets`
    (counted from 1 within the first branch). `sample` are a few of the nodes it leads to."""

    starts: tuple[Node, ...]
    steps: tuple[PlanStep, ...]
    said: str
    meets: int = 0
    score: float = 0.0
    sample: tuple[str, ...] = ()

    def of(self, branch: int) -> tuple[PlanStep, ...]:
        return tuple(s for s in self.steps if s.branch == branch)

    @property
    def key(self) -> tuple[object, ...]:
        return (*(n.id for n in self.starts), *((s.branch, s.leap) for s in self.steps), self.meets)


@dataclass(frozen=True)
class Prediction:
    """What a step is expected to bring, said before it is taken."""

    kind: str = ""
    many: Literal["one", "several", ""] = ""


@dataclass(frozen=True)
class Observation:
    """`error` is the error signal in words, "" where the step brought what was predicted."""

    leap: Leap
    found: tuple[Node, ...]
    error: str = ""


@dataclass
class Strategic:
    question: str
    operation: Operation = "list"
    plan: Plan | None = None
    replan_count: int = 0


@dataclass
class StepCycle:
    current_step: PlanStep | None = None
    predict: Prediction = Prediction()
    observation: Observation | None = None
    think: str = ""


@dataclass
class Knowledge:
    """`explored_relations` keeps every query's result: none runs twice. `banned` holds the paths that failed."""

    explored_entities: dict[str, Node] = field(default_factory=dict)
    explored_relations: dict[tuple[tuple[str, ...], Leap], tuple[Node, ...]] = field(default_factory=dict)
    exploration_path: list[str] = field(default_factory=list)
    reasoning_chains: list[Edge] = field(default_factory=list)
    banned: set[tuple[tuple[str, ...], Leap]] = field(default_factory=set)
    failed_plans: set[tuple[object, ...]] = field(default_factory=set)

    def saw(self, nodes: tuple[Node, ...]) -> None:
        self.explored_entities.update((n.id, n) for n in nodes)


@dataclass
class Memory:
    strategic: Strategic
    cycle: StepCycle = field(default_factory=StepCycle)
    knowledge: Knowledge = field(default_factory=Knowledge)
