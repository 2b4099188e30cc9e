"""The only road from an agent to a model: check the budget, complete, record, read the reply."""

from __future__ import annotations

from collections.abc import Sequence

from rowhop.models import ChatModel, Completion, Message, Options
from rowhop.trace import Trace


def ask(model: ChatModel, purpose: str, messages: Sequence[Message], options: Options, trace: Trace) -> Completion:
    """One call, recorded as a ModelCall step. Raises BudgetSpent before the call or in the middle of the reply."""
    trace.check_budget()
    done = model.complete(tuple(messages), options, trace.token)
    trace.record(purpose, model.name, tuple(messages), done)
    return done
