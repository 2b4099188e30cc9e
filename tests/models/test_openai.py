"""OpenAIModel against a server that misbehaves on demand."""

from __future__ import annotations

import gc
import logging
import time
import traceback
from contextlib import suppress

import pytest
from fake_endpoint import KEY, Script, serve

from rowhop.errors import BudgetSpent, ModelError, ModelUnavailable, RowhopError
from rowhop.models import Message, Options
from rowhop.models.embed import EndpointEmbedder
from rowhop.models.openai import OpenAIModel

HELLO = [Message("system", "Be short."), Message("user", "Say hello.")]
TEXT = "Hello there, this is a reply."


def model(script: Script, **settings: object) -> OpenAIModel:
    return OpenAIModel("tiny", script.url, KEY, **settings)  # type: ignore[arg-type]


def test_reply_streams_with_usage() -> None:
    heard: list[str] = []
    with serve("ok") as script:
        done = model(script).complete(HELLO, Options(max_tokens=50, stop=("END",), seed=7), heard.append)
    assert done.text == TEXT == "".join(heard)
    assert len([piece for piece in heard if piece]) == 6
    assert (done.usage.prompt_tokens, done.usage.reply_tokens, done.usage.cached_tokens) == (20, 7, 16)
    assert done.usage.seconds > 0
    assert done.usage.money is None
    assert done.finish == "stop"
    body = script.bodies[0]
    assert body["messages"] == [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Say hello."}]
    assert (body["max_tokens"], body["stop"], body["seed"], body["temperature"]) == (50, ["END"], 7, 0.0)


def test_length_is_told() -> None:
    with serve("ok") as script:
        assert model(script).complete(HELLO, Options(max_tokens=3)).finish == "length"


@pytest.mark.parametrize("act", ["429", "500", "html-502", "cut", "cut-quietly", "not-json", "error-in-stream"])
def test_passing_failure_is_tried_again(act: str) -> None:
    with serve(act, "ok") as script:
        assert model(script).complete(HELLO).text == TEXT
        assert len(script.bodies) == 2


@pytest.mark.parametrize("act", ["500", "cut", "cut-quietly", "not-json", "error-in-stream"])
def test_lasting_failure_is_unavailable(act: str) -> None:
    with serve(act) as script, pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1.*tried 2 times") as caught:
        model(script, retries=1).complete(HELLO)
    assert_no_secret(caught.value)


def test_retry_after_is_honoured() -> None:
    with serve("429", "ok", retry_after="1") as script:
        start = time.monotonic()
        model(script).complete(HELLO)
        assert 0.95 < time.monotonic() - start < 4


def test_too_long_a_pause_is_told_at_once() -> None:
    with serve("429", retry_after="3600") as script, pytest.raises(ModelUnavailable, match="wait 3600 seconds"):
        model(script).complete(HELLO)


def test_sleeping_endpoint_times_out_and_is_tried_again() -> None:
    with serve("sleep", "ok") as script:
        assert model(script, timeout=0.4).complete(HELLO).text == TEXT
    with serve("sleep") as script, pytest.raises(ModelUnavailable, match="did not answer in time"):
        model(script, timeout=0.2, retries=1).complete(HELLO)


def test_web_page_is_told_in_words() -> None:
    with serve("html") as script, pytest.raises(ModelError, match=r"web page.*ends in /v1"):
        model(script).complete(HELLO)
    with serve("html") as script, pytest.raises(ModelError, match="web page"):
        EndpointEmbedder("tiny", script.url, KEY).embed(["a"])


def test_unknown_model_and_quota_and_refusal() -> None:
    with serve("404") as script, pytest.raises(ModelError, match="does not know the model 'tiny'"):
        model(script).complete(HELLO)
    with serve("quota") as script, pytest.raises(ModelError, match="quota"):
        model(script).complete(HELLO)
    with serve("400") as script, pytest.raises(ModelError, match="maximum context length"):
        model(script).complete(HELLO)
    assert len(script.bodies) == 1


def test_nobody_there() -> None:
    with serve("ok") as script:
        address = script.url
    with pytest.raises(ModelUnavailable, match="could not be reached"):
        OpenAIModel("tiny", address, KEY, retries=1).complete(HELLO)


@pytest.mark.parametrize("act", ["401", "500", "429", "error-in-stream", "refuse:messages"])
def test_key_is_never_shown(act: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    with serve(act) as script:
        asked = model(script, retries=0)
        assert_text_clean(repr(asked) + repr(asked._endpoint) + str(vars(asked)))
        with pytest.raises(RowhopError) as caught:
            asked.complete(HELLO)
    assert_no_secret(caught.value)
    out, err = capfd.readouterr()
    assert_text_clean(out + err + caplog.text)


def test_wrong_key() -> None:
    wrong = "sk-wrong-key-that-must-not-show"
    with serve("ok") as script, pytest.raises(ModelError, match=r"refused the key \(401\)") as caught:
        OpenAIModel("tiny", script.url, wrong).complete(HELLO)
    assert "sk-" not in "".join(traceback.format_exception(caught.value))
    assert len(script.bodies) == 1


def test_secrets_in_the_address_are_not_shown() -> None:
    with serve("500") as script:
        address = script.url.replace("http://", "http://anna:hunter2@") + "?api-key=hunter3"
        asked = OpenAIModel("tiny", address, KEY, retries=0)
        with pytest.raises(RowhopError) as caught:
            asked.complete(HELLO)
    said = repr(asked) + "".join(traceback.format_exception(caught.value))
    assert "hunter" not in said
    with pytest.raises(ModelError, match="must look like"):
        OpenAIModel("tiny", "ftp://anna:hunter2@host/")


def assert_no_secret(error: BaseException) -> None:
    assert_text_clean("".join(traceback.format_exception(error)) + repr(error))


def assert_text_clean(text: str) -> None:
    assert KEY not in text
    assert "SECRET" not in text


def test_samples_in_one_call() -> None:
    heard: list[str] = []
    with serve("ok") as script:
        done = model(script).complete(HELLO, Options(samples=3, temperature=0.8), heard.append)
    assert done.texts == (TEXT,) * 3
    assert "".join(heard) == TEXT
    assert len(script.bodies) == 1


def test_samples_where_n_is_ignored_or_refused() -> None:
    with serve("ok", ignores_n=True) as script:
        done = model(script).complete(HELLO, Options(samples=3))
        assert done.texts == (TEXT,) * 3
        assert done.usage.prompt_tokens == 60
        assert [body["seed"] for body in script.bodies] == [0, 1, 2]
    with serve("refuse:n") as script:
        assert len(model(script).complete(HELLO, Options(samples=2)).texts) == 2


@pytest.mark.parametrize(
    "parameter", ["max_tokens", "temperature", "seed", "stop", "stream_options", "response_format"]
)
def test_refused_parameter_is_left_out_from_then_on(parameter: str) -> None:
    options = Options(stop=("END",), schema='{"type": "object"}', max_tokens=40)
    with serve(f"refuse:{parameter}") as script:
        asked = model(script)
        assert asked.complete(HELLO, options).text == TEXT
        assert parameter in script.bodies[0]
        assert parameter not in script.bodies[1]
        asked.complete(HELLO, options)
        assert len(script.bodies) == 3
        if parameter == "max_tokens":
            assert script.bodies[-1]["max_completion_tokens"] == 40


def test_schema_is_sent() -> None:
    with serve("ok") as script:
        model(script).complete(HELLO, Options(schema='{"type": "object"}'))
    assert script.bodies[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_usage_is_estimated_where_none_is_given() -> None:
    with serve("ok", usage=False) as script:
        used = model(script).complete(HELLO).usage
    assert used.prompt_tokens > 5
    assert used.reply_tokens == len(TEXT) // 4 + 1


def test_the_endpoints_own_price() -> None:
    with serve("ok", cost=0.0123) as script:
        assert model(script).complete(HELLO).usage.money == 0.0123


def test_endpoint_that_does_not_stream() -> None:
    with serve("whole") as script:
        done = model(script).complete(HELLO)
    assert done.text == TEXT
    assert done.usage.prompt_tokens == 20


def test_listener_stops_the_reply_and_the_connection() -> None:
    heard: list[str] = []

    def listen(piece: str) -> None:
        heard.append(piece)
        if len([h for h in heard if h]) == 3:
            raise BudgetSpent("enough")

    with serve("slow", text="word " * 400) as script:
        with pytest.raises(BudgetSpent, match="enough"):
            model(script).complete(HELLO, listen=listen)
        end = time.monotonic() + 5
        while not script.broken_pipes and time.monotonic() < end:
            time.sleep(0.05)
        assert script.broken_pipes == 1
        assert len(script.bodies) == 1


@pytest.mark.parametrize("act", ["sleep", "429"])
def test_listener_can_stop_the_waiting(act: str) -> None:
    start = time.monotonic()

    def listen(piece: str) -> None:
        if time.monotonic() - start > 0.3:
            raise BudgetSpent("time is up")

    with serve(act, retry_after="30") as script, pytest.raises(BudgetSpent):
        model(script).complete(HELLO, listen=listen)
    assert time.monotonic() - start < 1.4


@pytest.mark.parametrize("act", ["ok", "cut"])
def test_connections_are_closed_with_the_model(act: str) -> None:
    with serve(act) as script:
        speaking = model(script, retries=0)
        with suppress(ModelUnavailable):
            speaking.complete(HELLO)
        client = speaking._endpoint.client
        speaking.itself = speaking  # type: ignore[attr-defined]  # a cycle, as a kept exception makes one
        del speaking
        assert not client.is_closed()
        gc.collect()
        assert client.is_closed()


def test_remote_means_leaving_the_machine() -> None:
    for address in ("http://localhost:8080/v1", "http://127.0.0.1/v1", "http://[::1]:1/v1"):
        assert not OpenAIModel("m", address).remote
    for address in ("https://api.example.com/v1", "http://192.168.1.5/v1", "http://localhost.example.com/v1"):
        assert OpenAIModel("m", address).remote


def test_endpoint_embedder() -> None:
    with serve("429", "ok") as script:
        embedder = EndpointEmbedder("e5", script.url, KEY, prefix="query: ")
        vectors = embedder.embed(["a", "abc", ""])
        assert vectors.shape == (3, 3)
        assert vectors.dtype == "float32"
        assert abs((vectors**2).sum(axis=1) - 1).max() < 1e-6
        assert vectors[1, 0] > vectors[0, 0]  # in the order asked
        embedder.embed(["a"], query=True)
        assert script.bodies[-1]["input"] == ["query: a"]
        assert embedder.embed([]).shape == (0, 3)
        assert not embedder.remote
        assert KEY not in repr(embedder)
