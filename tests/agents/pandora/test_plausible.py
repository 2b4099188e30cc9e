"""What a second look at a result doubts, and what it leaves alone."""

import pytest

from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.agents.pandora.plausible import doubt
from rowhop.box import Box, BoxSet, Column
from rowhop.models.scripted import Scripted
from rowhop.sources import open_source
from rowhop.trace import Trace
from rowhop.types import Question

BOXES = BoxSet((Box("cups", (Column("Year", "integer"), Column("Winner", "text"), Column("Goals", "integer"))),))


@pytest.mark.parametrize(
    ("question", "values", "said"),
    [
        ("how many goals did Ana score?", ["Ana Ruiz"], "asks for a number"),
        ("how many cups did Ana win?", [2001, 2002], "one number"),
        ("Which winner had the most goals?", [15], "a cell of 'Winner'"),
        ("who won in 2004?", [7], "a cell of 'Winner'"),
        ("who won right after Ana Ruiz?", ["Ana Ruiz"], "stands in the question"),
        ("what was the earliest winner?", [2001], "a cell of 'Winner'"),
        ("which of them scored more, Ana or Tom?", [15], "what to choose from"),
        ("did Ana score more or less than 4 goals?", [True], "what to choose from"),
    ],
)
def test_doubted(question: str, values: list[object], said: str) -> None:
    assert said in doubt(question, values, BOXES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("how many goals did Ana score?", [15]),
        ("how many goals did Ana and Tom score?", [15, 9]),
        ("how many points?", ["1,234"]),
        ("which year had the most goals?", [2003]),
        ("what is the most goals?", [15]),
        ("who won more, Ana or Tom?", ["Ana"]),
        ("did Ana win?", [True]),
        ("did Ana score 3 or more goals?", [True]),
        ("did Ana score more or less than 4 goals?", ["less"]),
        ("what year was better, 2001 or 2002?", [2001]),
        ("what year did Ana or Tom win?", [2001]),
        ("what is the most goals?", [12]),
        ("which winners had more than ten goals?", ["Ana", "Li"]),
        ("wer hat am meisten Tore?", [15]),
        ("who won in 1990?", [None]),
    ],
)
def test_left_alone(question: str, values: list[object]) -> None:
    assert doubt(question, values, BOXES) == ""  # type: ignore[arg-type]


class Small(Scripted):
    constrains = True


def _asked(replies: list[str]) -> tuple[object, ...]:
    import pandas as pd

    cups = pd.DataFrame({"Year": [2001, 2002], "Winner": ["Ana", "Tom"], "Goals": [12, 9]})
    model = Small(replies)
    agent = Pandora(model, open_source(cups, name="cups"), settings=PandoraSettings(language="python", repairs=1))
    question = Question("which winner had the most goals?")
    answer = agent.answer(question, Trace(question))
    model.done()
    return answer.values


GOALS = "```python\n# The most goals.\nanswer = cups['Goals'].max()\n```"
WINNER = "```python\n# Whose goals are most.\nanswer = cups.loc[cups['Goals'].idxmax(), 'Winner']\n```"


def test_a_doubted_result_is_repaired() -> None:
    assert _asked([GOALS, GOALS, WINNER, GOALS]) == ("Ana",)


def test_a_doubted_result_stands_where_no_better_one_comes() -> None:
    assert _asked([GOALS, GOALS, GOALS, GOALS]) == (12,)


def test_a_large_model_that_says_unknown_is_not_asked_again() -> None:
    import pandas as pd

    model = Scripted(["```python\n# No city in it.\nanswer = None\n```"])
    model.constrains = False
    cups = open_source(pd.DataFrame({"Winner": ["Ana", "Tom"]}), name="cups")
    question = Question("which city has the most people?")
    answer = Pandora(model, cups, settings=PandoraSettings(language="python")).answer(question, Trace(question))
    model.done()
    assert answer.status == "unknown"
