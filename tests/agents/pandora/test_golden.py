"""Golden traces and prompts: one run for each way through the method, compared step by step, messages included.

`make golden` writes them anew with the same replies; a change then shows as a plain diff.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.models.scripted import Scripted
from rowhop.sources import open_source
from rowhop.trace import Trace
from rowhop.tracefile import step_json
from rowhop.types import Question

GOLDEN = Path(__file__).parents[2] / "golden"
PROMPTS = Path(__file__).parents[2] / "prompts" / "pandora"
REWRITE = "ROWHOP_GOLDEN" in os.environ
COUNT = '```python\n# Count customers of Norway.\nanswer = len(customers[customers["country"] == "norway"])\n```'
BROKEN = '```python\n# Count them.\nanswer = len(customers[customers["nation"] == "Norway"])\n```'
ASKED = Question("How many customers are from Norway?")
CASES = {
    "pandora-straight": [COUNT],
    "pandora-repair": [BROKEN, COUNT],
    "pandora-gives-up": [BROKEN, "I do not know.", BROKEN, "answer = 10"],
}
_TIMED = ("at", "seconds")


def _plain(step: Any) -> dict[str, Any]:
    """Without what differs from run to run."""
    data: dict[str, Any] = step_json().dump_python(step, mode="json")
    return {key: value for key, value in data.items() if key not in _TIMED}


@pytest.mark.parametrize("case", CASES)
def test_golden_trace(case: str, examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(examples.parent)
    model = Scripted(CASES[case])
    model.constrains = False
    trace = Trace(ASKED)
    Pandora(model, open_source("examples/shop/customers.csv"), settings=PandoraSettings(demonstrations=1)).answer(
        ASKED, trace
    )
    model.done()
    lines = [json.dumps(_plain(step), ensure_ascii=False) for step in trace.steps]
    file = GOLDEN / f"{case}.jsonl"
    if REWRITE:
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("name", "source", "question"),
    [
        ("table", "shop/customers.csv", "How many customers are from Norway?"),
        ("workbook", "shop/orders.xlsx", "How many desk lamps were ordered?"),
        ("database", "library.sqlite", "Which author wrote the most poetry?"),
    ],
)
def test_prompt(name: str, source: str, question: str, examples: Path) -> None:
    agent = Pandora(Scripted([]), open_source(examples / source), settings=PandoraSettings(demonstrations=1))
    said = "\n\n".join(f"[{m.role}]\n{m.content}" for m in agent.prompt(Question(question))) + "\n"
    file = PROMPTS / f"{name}.txt"
    if REWRITE:
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")
