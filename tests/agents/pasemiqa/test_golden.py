"""Golden traces and prompts: one run for each way through the method, compared step by step, messages included.

`make golden` writes them anew with the same replies; a change then shows as a plain diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rowhop.agents.pasemiqa.agent import Pasemiqa, PasemiqaSettings
from rowhop.agents.pasemiqa.planner import Planner
from rowhop.graph.textgraph import open_textgraph
from rowhop.models.late import Spelling
from rowhop.models.scripted import Scripted
from rowhop.trace import Trace
from rowhop.tracefile import step_json
from rowhop.types import Question

GOLDEN = Path(__file__).parents[2] / "golden"
PROMPTS = Path(__file__).parents[2] / "prompts" / "pasemiqa"
REWRITE = "ROWHOP_GOLDEN" in os.environ
ASKED = Question("Who keeps the Larch hut?")
CASES = {
    "pasemiqa-search": [
        "Thought: look at the hut.\nAction: Search[Larch hut]",
        "Thought: Ines.\nAction: Finish[Ines Kofler]",
    ],
    "pasemiqa-query": [
        "Action: Query[knows every goat by name]",
        "Action: Finish[Urs Aebi]\nAction: Finish[Ines Kofler]",
    ],
    "pasemiqa-unseen": ["Action: Finish[Heidi]", "Action: Finish[unknown]"],
    "pasemiqa-gives-up": ["I do not know.", "Action: Search[Larch hut]", "Action: Search[Larch hut]"],
}
_TIMED = ("at", "seconds")


def _plain(step: Any) -> dict[str, Any]:
    """Without what differs from run to run."""
    data: dict[str, Any] = step_json().dump_python(step, mode="json")
    return {key: value for key, value in data.items() if key not in _TIMED}


def agent(
    examples: Path, cache: Path, replies: list[str], compact: bool, rounds: int | None = 3
) -> tuple[Pasemiqa, Scripted]:
    model = Scripted(replies)
    # Without vectors: what a machine rounds in a sum would otherwise show in the plan's scores.
    graph = open_textgraph(examples / "trails", cache)
    settings = PasemiqaSettings(rounds=rounds, nodes=4, shown=4, compact=compact)
    return Pasemiqa(model, Planner.of(graph, Spelling()), settings), model


@pytest.mark.parametrize("case", CASES)
def test_golden_trace(case: str, examples: Path, tmp_path: Path) -> None:
    asked, model = agent(examples, tmp_path, CASES[case], compact=False)
    trace = Trace(ASKED)
    asked.answer(ASKED, trace)
    model.done()
    lines = [json.dumps(_plain(step), ensure_ascii=False) for step in trace.steps]
    file = GOLDEN / f"{case}.jsonl"
    if REWRITE:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", ["choose", "short", "long"])
def test_prompt(name: str, examples: Path, tmp_path: Path) -> None:
    asked, _ = agent(examples, tmp_path, [], name != "long", None if name == "choose" else 3)
    said = "\n\n".join(f"[{m.role}]\n{m.content}" for m in asked.prompt(ASKED)) + "\n"
    file = PROMPTS / f"{name}.txt"
    if REWRITE:
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")
