"""Golden traces: one run for each way through the method, compared step by step, messages included.

`make golden` writes them anew with the same replies; a change then shows as a plain diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rowhop.agents.ppoga.agent import Ppoga, PpogaSettings
from rowhop.agents.ppoga.planner import PlanSettings
from rowhop.graph import rdf
from rowhop.models import Message
from rowhop.models.late import Spelling
from rowhop.models.scripted import Reply, Scripted
from rowhop.trace import Budget, Trace
from rowhop.tracefile import step_json
from rowhop.types import Question

GOLDEN = Path(__file__).parents[2] / "golden"
REWRITE = "ROWHOP_GOLDEN" in os.environ
ASKED = Question("Who is the captain of the Otter?", ("Otter",))


def expect(kind: str) -> str:
    return json.dumps({"kind": kind, "many": "one"})


def judge(thought: str, verdict: str) -> str:
    return json.dumps({"thought": thought, "verdict": verdict})


def pick(words: str) -> Callable[[Sequence[Message]], str]:
    """Chooses the line that says so, wherever it stands."""

    def reply(messages: Sequence[Message]) -> str:
        lines = [line.partition(". ") for line in messages[-1].content.splitlines()]
        return next(number for number, _, said in lines if said.partition(" (")[0] == words)

    return reply


SEATS, CAPTAIN = pick("seats of Otter"), pick("captain of Otter")
NO_CAPTAIN = "a number is no captain"
CASES: dict[str, list[Reply]] = {
    "ppoga-straight": [CAPTAIN, expect("person")],
    "ppoga-path": [SEATS, expect("person"), judge(NO_CAPTAIN, "correct path"), pick("captain of them")],
    "ppoga-plan": [SEATS, expect("person"), judge(NO_CAPTAIN, "replan"), CAPTAIN, expect("person")],
    "ppoga-gives-up": [SEATS, expect("person"), judge(NO_CAPTAIN, "replan")],
}


def _plain(step: Any) -> dict[str, Any]:
    """Without what differs from run to run."""
    data: dict[str, Any] = step_json().dump_python(step, mode="json")
    return {key: value for key, value in data.items() if key not in ("at", "seconds")}


@pytest.mark.parametrize("case", CASES)
def test_golden_trace(case: str, examples: Path, tmp_path: Path) -> None:
    model = Scripted(CASES[case])
    graph = rdf.open_files([examples / "lakes.ttl"], tmp_path)
    # Spelling instead of vectors: what a machine rounds in a sum would otherwise show in the order of choices.
    trace = Trace(ASKED, Budget(calls=3) if case == "ppoga-gives-up" else Budget())
    settings = PpogaSettings(plan=PlanSettings(shown=12, close=99.0, nearest=9.0))
    Ppoga(model, graph, Spelling(), settings=settings).answer(ASKED, trace)
    model.done()
    lines = [json.dumps(_plain(step), ensure_ascii=False) for step in trace.steps]
    file = GOLDEN / f"{case}.jsonl"
    if REWRITE:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == file.read_text(encoding="utf-8").splitlines()
