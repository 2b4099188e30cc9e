"""Scripted, Recorder and Replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from rowhop.errors import BudgetSpent, ModelError, ModelUnavailable
from rowhop.models import Message, Options
from rowhop.models.ask import ask
from rowhop.models.scripted import Recorder, Replay, Scripted
from rowhop.trace import Trace
from rowhop.types import Question

HELLO = [Message("user", "Say hello.")]
BYE = [Message("user", "Say bye.")]


def test_replies_in_order_and_all_used() -> None:
    model = Scripted(["one", lambda messages: messages[0].content.upper(), "three"])
    assert model.complete(HELLO).text == "one"
    assert model.complete(HELLO).text == "SAY HELLO."
    with pytest.raises(AssertionError, match="1 replies; the next is: 'three'"):
        model.done()
    model.complete(BYE, Options(temperature=0.5))
    model.done()
    assert [messages[0].content for messages, _ in model.asked] == ["Say hello.", "Say hello.", "Say bye."]
    assert model.asked[-1][1].temperature == 0.5


def test_no_reply_left_shows_the_prompt() -> None:
    with pytest.raises(AssertionError, match=r"no reply left(.|\n)*\[user\]\nSay hello\."):
        Scripted([]).complete(HELLO)
    with pytest.raises(AssertionError, match="no reply left"):
        Scripted(["only one"]).complete(HELLO, Options(samples=2))


def test_exception_samples_and_listening() -> None:
    model = Scripted([ModelUnavailable("down"), "a\nb", "c"])
    with pytest.raises(ModelUnavailable, match="down"):
        model.complete(HELLO)
    heard: list[str] = []
    assert model.complete(HELLO, Options(samples=2), heard.append).texts == ("a\nb", "c")
    assert heard == ["a\n", "b"]

    def stop(piece: str) -> None:
        raise BudgetSpent("enough")

    with pytest.raises(BudgetSpent):
        Scripted(["a"]).complete(HELLO, listen=stop)


def test_recorded_replies_come_again(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    recorder = Recorder(Scripted(["hello é", "bye", "hello again"], name="m"), path)
    for messages in (HELLO, BYE, HELLO):
        recorder.complete(messages)
    model = Replay(path)
    assert model.name == "m"
    assert model.complete(BYE).text == "bye"
    assert model.complete(HELLO).text == "hello é"
    assert model.complete(HELLO).text == "hello again"
    model.done()
    with pytest.raises(ModelError, match="no unused reply"):
        model.complete(HELLO)
    in_order = Replay(path, strict=False)
    assert in_order.complete(BYE).text == "hello é"
    with pytest.raises(AssertionError, match="2 replies"):
        in_order.done()


def test_replay_of_a_saved_trace(tmp_path: Path) -> None:
    trace = Trace(Question("How many?"))
    ask(Scripted(["42"]), "code", HELLO, Options(), trace)
    trace.save(tmp_path / "run.jsonl")
    again = Trace(Question("How many?"))
    model = Replay(tmp_path / "run.jsonl")
    assert ask(model, "code", HELLO, Options(), again).text == "42"
    assert again.cost.prompt_tokens == trace.cost.prompt_tokens


@pytest.mark.parametrize("content", [None, "not json", "", '{"kind": "note"}'])
def test_what_is_no_record_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match=r"x\.jsonl"):
        Replay(path)
