"""One question asked through the public door, with replies that were written beforehand in place of a model."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import rowhop
from rowhop.models.scripted import Scripted
from rowhop.trace import CodeRun, ModelCall
from rowhop.types import Answer

REPLIES = 4  # a first one and three repairs


def endpoint(replies: Sequence[str]) -> Scripted:
    """As a model behind an endpoint: one reply a repair, in the same conversation."""
    model = Scripted(replies)
    model.constrains = False
    return model


def ask(sources: object, replies: Sequence[str], question: str = "How many?", language: str = "python") -> Answer:
    """The answer; fails when a reply is left over or missing."""
    model = endpoint([fenced(reply, language) for reply in replies])
    answer = rowhop.ask(question, sources, model=model, language=language)
    model.done()
    return answer


def fenced(code: str, language: str) -> str:
    return (
        code if "```" in code or "<" in code[:1] else f"```{'python' if language == 'python' else 'sql'}\n{code}\n```"
    )


def refused(sources: object, code: str, language: str = "python") -> str:
    """Why a program that a model gives again and again comes to nothing."""
    answer = ask(sources, [code] * REPLIES, language=language)
    assert (answer.status, answer.values) == ("gave_up", ()), answer
    return answer.because


def complaint(sources: object, bad: str, good: str, language: str = "python", question: str = "How many?") -> str:
    """What the model is told of a bad program; the good one that follows must answer."""
    answer = ask(sources, [bad, good], question, language)
    assert answer.status == "answered", answer.because
    calls = [step for step in answer.trace.steps if isinstance(step, ModelCall)]
    return calls[1].messages[-1].content


def runs(answer: Answer) -> list[CodeRun]:
    return [step for step in answer.trace.steps if isinstance(step, CodeRun)]


def kinds(answer: Answer) -> set[str]:
    return {caution.kind for caution in answer.warnings}


def csv(folder: Path, text: str, name: str = "t.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def sqlite(folder: Path, script: str, name: str = "t.db") -> Path:
    path = folder / name
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
