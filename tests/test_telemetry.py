"""The log and the spans of a run: counts and names, and nothing of the data."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_endpoint import KEY
from fake_endpoint import serve as endpoint

import rowhop
from rowhop import config
from rowhop.models.scripted import Scripted

QUESTION = "How many customers are from Norway?"
COUNT = "Why.\n```sql\nSELECT count(*) FROM customers WHERE country = 'Norway'\n```"


@pytest.fixture
def settings() -> config.Settings:
    return config.load({"ask": {"language": "sql"}, "cache": {"replies": False}})


@pytest.fixture
def shop(examples: Path) -> Path:
    return examples / "shop" / "customers.csv"


@pytest.fixture(scope="module")
def exported() -> Iterator[object]:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    trace.set_tracer_provider(provider)
    yield memory
    provider.shutdown()


def test_a_run_is_a_span_with_its_calls_below(shop: Path, settings: config.Settings, exported: object) -> None:
    exported.clear()  # type: ignore[attr-defined]
    rowhop.ask(QUESTION, shop, model=Scripted([COUNT]), settings=settings)
    spans = {s.name: s for s in exported.get_finished_spans()}  # type: ignore[attr-defined]
    run, call, tool = spans["invoke_agent pandora"], spans["chat scripted"], spans["execute_tool sql"]
    assert call.parent.span_id == tool.parent.span_id == run.context.span_id
    assert call.attributes["gen_ai.operation.name"] == "chat"
    assert call.attributes["gen_ai.usage.input_tokens"] == run.attributes["gen_ai.usage.input_tokens"] > 0
    assert tool.attributes["rowhop.status"] == "ok"
    told = "".join(s.to_json() for s in spans.values())
    assert "Norway" not in told
    assert "SELECT" not in told


def test_a_failed_run_is_a_failed_span(shop: Path, settings: config.Settings, exported: object) -> None:
    exported.clear()  # type: ignore[attr-defined]
    with pytest.raises(rowhop.ModelError):
        rowhop.ask(QUESTION, shop, model=Scripted([rowhop.ModelError("a secret in Norway")]), settings=settings)
    (run,) = exported.get_finished_spans()  # type: ignore[attr-defined]
    assert run.attributes["error.type"] == "ModelError"
    assert not run.status.is_ok
    assert "Norway" not in run.to_json()


def test_the_log_tells_how_it_went_and_nothing_of_the_data(
    shop: Path, settings: config.Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="rowhop"):
        rowhop.ask(QUESTION, shop, model=Scripted([COUNT]), settings=settings)
    told = caplog.text
    assert "status answered" in told
    assert "model_call" in told
    assert "Norway" not in told


def test_a_library_has_a_silent_log() -> None:
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("rowhop").handlers)


def test_two_questions_at_once_in_an_event_loop(shop: Path, settings: config.Settings) -> None:
    async def both() -> list[rowhop.Answer]:
        asked = [rowhop.ask_async(QUESTION, shop, model=Scripted([COUNT]), settings=settings) for _ in range(2)]
        return list(await asyncio.gather(*asked))

    assert [a.values for a in asyncio.run(both())] == [(10,), (10,)]


def test_a_cancelled_task_stops_the_run(shop: Path) -> None:
    with endpoint("slow", text="word " * 100) as script:
        model = {"name": "big", "base_url": script.url, "api_key": KEY}
        given = config.load({"model": model, "cache": {"replies": False}})

        async def stopped() -> rowhop.Trace:
            with rowhop.Session(shop, settings=given) as session:
                trace = session.trace(session.question(QUESTION))
                heard = asyncio.Event()
                loop = asyncio.get_running_loop()
                trace.on_token.append(lambda _: loop.call_soon_threadsafe(heard.set) and None)
                task = asyncio.create_task(session.ask_async(QUESTION, trace=trace))
                await heard.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return trace

        trace = asyncio.run(stopped())
    assert trace.elapsed < 3
    assert not any(step.kind == "model_call" for step in trace.steps)
