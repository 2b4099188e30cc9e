"""What of the rows a prompt holds: for a model of an endpoint, and by what the user shares."""

import pandas as pd
import pytest

from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.agents.pandora.show import show_rows
from rowhop.models.scripted import Scripted
from rowhop.sources import open_source
from rowhop.types import Question

TOWNS = pd.DataFrame({"town": [f"Town {i}" for i in range(40)], "people": range(100, 140)})


class Endpoint(Scripted):
    constrains = False


class Small(Scripted):
    constrains = True


def shown(model: Scripted, asked: str = "how many people live in town 30?", **settings: object) -> str:
    agent = Pandora(model, open_source(TOWNS, name="towns"), settings=PandoraSettings(**settings))  # type: ignore[arg-type]
    return agent.prompt(Question(asked))[-1].content


def test_an_endpoint_sees_first_and_named_rows() -> None:
    prompt = shown(Endpoint([]))
    assert '\n0 | "Town 0" | 100\n' in prompt
    assert '\n30 | "Town 30" | 130\n' in prompt
    assert "Town 7" not in prompt
    assert "Town 39" not in prompt


def test_all_means_the_whole_table() -> None:
    prompt = shown(Endpoint([]), share="all")
    assert all(f'\n{i} | "Town {i}" | {100 + i}\n' in prompt for i in range(40))


@pytest.mark.parametrize("model", [Small([]), Endpoint([])])
def test_schema_means_no_row(model: Scripted) -> None:
    assert "Town 0" not in shown(model, share="schema")
    assert "Rows:" not in shown(model, share="schema")


def test_hidden_columns_are_in_no_row() -> None:
    prompt = shown(Endpoint([]), share="all", hidden=("people",))
    assert "Town 39" in prompt
    assert "139" not in prompt


def test_the_embedded_model_sees_no_rows() -> None:
    assert "Rows:" not in shown(Small([]))


def test_rows_stay_in_their_room() -> None:
    rows = [(i, [f"cell {i}", "line\nbreak " * 40]) for i in range(100)]
    text = show_rows(rows, ["a", "b"], 1_000)
    assert len(text) <= 1_000
    assert '0 | "cell 0" | "line break' in text
    assert "99 |" not in text
    assert show_rows(rows, ["a", "b"], 40) == ""
