"""Which entries become demonstrations: the nearest of all, of one data set, any; quick with a thousand of them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from rowhop import build, config
from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.memory import Entry, Memory, Recall
from rowhop.models.late import Spelling
from rowhop.models.scripted import Scripted
from rowhop.sources import open_source
from rowhop.types import Question

SCHEMA = '{}: 3 rows\n"name" text: "a"\n"size" int: 1'


def entry(question: str, dataset: str = "shops", code: str = "answer = len(t)") -> Entry:
    return Entry(question, SCHEMA.format("t"), "", code, dataset=dataset, confirmed="gold answer")


def memory(*entries: Entry) -> Memory:
    found = Memory(Spelling(), seeded=False)
    for one in entries:
        found.remember(one)
    return found


def asked(entries: Sequence[Entry]) -> list[str]:
    return [e.question for e in entries]


def test_the_nearest_comes_last_from_all_data_sets() -> None:
    found = memory(entry("who won the cup?"), entry("how many red shoes?", "graph"), entry("what is far away?"))
    assert asked(found.recall("how many blue shoes?", 1, "python")) == ["how many red shoes?"]
    assert asked(found.recall("how many red cups?", 2, "python"))[-1] == "how many red shoes?"


def test_only_its_own_data_set_is_recalled_where_that_is_asked() -> None:
    found = memory(entry("how many red shoes?", "graph"), entry("how many cups?"), entry("who won?"))
    assert asked(found.recall("how many red shoes?", 1, "python", Recall("own", "shops"))) == ["how many cups?"]
    assert found.recall("how many red shoes?", 1, "python", Recall("own", "nothing")) == []


def test_random_ones_depend_on_the_seed_alone() -> None:
    found = memory(*(entry(f"question {i}?") for i in range(50)))
    first = found.recall("which?", 5, "python", Recall("random", seed=1))
    assert first == found.recall("which?", 5, "python", Recall("random", seed=1))
    assert first != found.recall("which?", 5, "python", Recall("random", seed=2))


def test_demonstrations_differ_from_one_another() -> None:
    same = [entry("how many red shoes are sold?", code=f"answer = {i} + len(t)") for i in range(5)]
    found = memory(*same, entry("how many red hats?"), entry("where?"))
    chosen = asked(found.recall("how many red shoes are sold?", 2, "python"))
    assert chosen == ["how many red hats?", "how many red shoes are sold?"]


class Counting(Spelling):
    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        self.texts += len(texts)
        return super().embed(texts, query)


def test_a_thousand_entries_are_embedded_once(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    lines = [json.dumps(asdict(entry(f"how many of kind {i}, sold in {1900 + i % 90}?"))) for i in range(1000)]
    file.write_text("\n".join(lines) + "\n")
    settings = config.load({"memory": {"file": file}, "cache": {"folder": tmp_path / "cache"}}, tmp_path)
    by = Counting()
    build.memory(settings, by).recall("how many in 1950?", 10, "python")
    before = by.texts
    start = time.perf_counter()
    for i in range(20):
        assert len(build.memory(settings, by).recall(f"how many in {1900 + i}?", 10, "python")) == 10
    assert (time.perf_counter() - start) / 20 < 0.05
    assert by.texts == before + 20
    # Another process has the vectors already.
    other = Counting()
    build.memory(settings, other).recall("how many in 1950?", 10, "python")
    assert other.texts == 1
    # What is learnt meanwhile is recalled.
    build.memory(settings, None).remember(entry("how many zebras?"))
    assert asked(build.memory(settings, by).recall("how many zebras?", 1, "python")) == ["how many zebras?"]


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        (Recall("shared"), "how many boats are there in all?"),
        (Recall("own"), "who is the oldest?"),
        (Recall("own", "boats"), "how many boats are there in all?"),
    ],
)
def test_a_prompt_shows_what_the_settings_recall(how: Recall, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "cars.csv").write_text("name,size\na,1\nb,2\n")
    source = open_source(tmp_path / "cars.csv")
    own = entry("who is the oldest?", source.name)
    kept = memory(entry("how many boats are there in all?", "boats"), own, entry("what else?", "boats"))
    chosen = PandoraSettings(language="python", demonstrations=1, recall=how)
    agent = Pandora(Scripted([]), source, kept, Spelling(), chosen)
    messages = agent.prompt(Question("how many cars are there in all?"))
    source.close()
    assert len(messages) == 4
    assert wanted in messages[1].content
