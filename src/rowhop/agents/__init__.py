"""What every method is: something that answers a question and leaves a trace. No base class, no tools framework."""

from __future__ import annotations

from typing import Protocol

from rowhop.trace import Trace
from rowhop.types import Answer, Question


class Agent(Protocol):
    def answer(self, question: Question, trace: Trace) -> Answer:
        """Never raises for a bad reply or a spent budget (that is an Answer with status "gave_up");
        raises UserError and OperatorError when the source, the model or the machine is at fault."""
        ...
