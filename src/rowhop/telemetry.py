"""A run as OpenTelemetry spans, where `opentelemetry-api` is installed: names and attributes by its GenAI conventions.

What was asked, sent or answered is never part of a span: counts, names and times only. Without the package, or without
a provider that the application has set, nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowhop.trace import Step, Trace

_NAME = "rowhop"


@contextmanager
def spans(trace: Trace) -> Iterator[None]:
    """One span for the run, with one below it for each call of a model, program and read of a graph."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.trace") is None:
        yield
        return
    from opentelemetry import context
    from opentelemetry import trace as api
    from opentelemetry.trace import Status, StatusCode

    tracer = api.get_tracer(_NAME)
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": _NAME,
        "gen_ai.agent.name": trace.method or _NAME,
        "gen_ai.request.model": trace.model,
    }
    # Errors are told by their type: a message may hold data.
    with tracer.start_as_current_span(
        f"invoke_agent {trace.method or _NAME}",
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as run:
        # A step is told by the thread that made it, which need not be this one.
        within = context.get_current()

        def listen(step: Step) -> None:
            _span(tracer, step, within)

        trace.on_step.append(listen)
        try:
            yield
        except BaseException as error:
            run.set_attribute("error.type", type(error).__name__)
            run.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
        finally:
            trace.on_step.remove(listen)
            cost = trace.cost
            run.set_attribute("gen_ai.usage.input_tokens", cost.prompt_tokens)
            run.set_attribute("gen_ai.usage.output_tokens", cost.reply_tokens)


def _span(tracer: Any, step: Step, within: Any) -> None:
    """A step is known when it is over; its span began as many seconds ago as it took."""
    match step.kind:
        case "model_call":
            name = f"chat {step.model}"
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": step.model,
                "gen_ai.usage.input_tokens": step.prompt_tokens,
                "gen_ai.usage.output_tokens": step.reply_tokens,
                "rowhop.purpose": step.purpose,
                "rowhop.from_cache": step.from_cache,
            }
        case "code_run":
            name = f"execute_tool {step.program.language}"
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": step.program.language,
                "rowhop.status": step.status,
            }
        case "graph_read":
            name = "execute_tool graph"
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "graph",
                "rowhop.found": step.total,
            }
        case _:
            return
    end = time.time_ns()
    span = tracer.start_span(name, context=within, attributes=attributes, start_time=end - int(step.seconds * 1e9))
    span.end(end_time=end)
