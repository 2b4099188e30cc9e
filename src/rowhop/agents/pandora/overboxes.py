"""Pandora over a graph, which has other BOXes for each question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rowhop.agents import Agent
from rowhop.errors import SourceError
from rowhop.trace import Trace
from rowhop.types import Answer, Question


@dataclass(frozen=True)
class OverBoxes:
    """Each question has an agent of its own. What names nothing in the graph is unknown, and no failure."""

    agent_for: Callable[[Question], Agent]

    def answer(self, question: Question, trace: Trace) -> Answer:
        try:
            agent = self.agent_for(question)
        except SourceError as error:
            trace.method = "pandora"
            return Answer("unknown", because=str(error), method="pandora", cost=trace.cost, trace=trace)
        return agent.answer(question, trace)
