"""Habits of models that are no fault of the answer: loads, prints, a missing `answer`, a reply that was cut off."""

import pytest

from rowhop.agents.pandora.check import check_python
from rowhop.box import Box, BoxSet, Column
from rowhop.errors import ReplyError

BOXES = BoxSet((Box("towns", (Column("city", "text"), Column("people", "integer"))),))


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("df = pd.read_csv('towns.csv')\nanswer = df['city'].nunique()", "df = towns\nanswer = df['city'].nunique()"),
        ("towns = pd.read_excel('x.xlsx')\nanswer = len(towns)", "answer = len(towns)"),
        ("answer = len(df)", "answer = len(towns)"),
        ("answer = len(towns)\nprint(answer)", "answer = len(towns)"),
        ("print(len(towns))", "answer = len(towns)"),
        ("n = len(towns)\nn + 1", "n = len(towns)\nanswer = n + 1"),
        ("n = len(towns)", "n = answer = len(towns)"),
        ("answer = len(towns)\nprint('There are', answer", "answer = len(towns)"),
    ],
)
def test_a_program_runs_without_its_habit(written: str, runs: str) -> None:
    assert check_python(written, BOXES).code == runs


@pytest.mark.parametrize(
    "written",
    [
        "towns = pd.DataFrame({'city': ['Oslo']})\nanswer = len(towns)",
        "df = pd.DataFrame({'made': [1, 2]})\nanswer = df['made'].sum()",
        "df = pd.read_csv('towns.csv')\nanswer = 3",
        "answer = pd.read_csv('/etc/passwd')",
        "df = pd.concat([pd.read_csv('a.csv'), pd.read_csv('b.csv')])\nanswer = len(df)",
    ],
)
def test_what_does_not_rest_on_the_data_is_still_refused(written: str) -> None:
    with pytest.raises(ReplyError):
        check_python(written, BOXES)
