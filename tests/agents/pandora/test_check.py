"""What is said of a program before it runs, and what is mended in it."""

import pytest

from rowhop.agents.pandora.check import check_python
from rowhop.box import Box, BoxSet, Column
from rowhop.errors import ReplyError

BOXES = BoxSet(
    (
        Box(
            "games",
            (Column("Venue", "text"), Column("Net sales (€)", "number"), Column("n", "integer"), Column("Day", "date")),
        ),
    )
)
CELLS = {"Venue": ["Rome, Italy", "Turin, Italy", "Oslo"]}


def _check(code: str) -> str:
    return check_python(code, BOXES, lambda box, column: CELLS.get(column, [])).code


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("answer = games['n'] > 1).sum()", "not valid Python"),
        ("df = pd.DataFrame({'a': [1]})\nanswer = df", "must be computed from the data"),
        ("games = pd.DataFrame({'n': [1]})\nanswer = games['n'].sum()", "Do not make up data"),
        ("answer = pd.read_csv('games.csv')", "Do not read files"),
        ("answer = pd.io.parsers.read_csv('/etc/passwd')", "Do not read files"),
        ("answer = 'Rome'", "must be computed from the data"),
        ("seen = pd.to_numeric(games['n'])\nanswer = pd.Series([40]).sum()", "must be computed from the data"),
        ("answer = gmaes['m'].sum() + len(games)", "Did you mean 'games'"),
        ("games['n'][0] = 99\nanswer = games", "changes nothing in pandas 3"),
        ("games['n'].fillna(0, inplace=True)\nanswer = games['n'].sum()", "changes nothing in pandas 3"),
    ],
)
def test_refused(code: str, complaint: str) -> None:
    with pytest.raises(ReplyError, match=complaint):
        _check(code)


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("answer = games[games['venue'] == 'Oslo']", "answer = games[games['Venue'] == 'Oslo']"),
        ("answer = games['net sales']", "answer = games['Net sales (€)']"),
        ("answer = games['Net Sales €']", "answer = games['Net sales (€)']"),
        ("answer = games[games['Venue'] == 'oslo']", "answer = games[games['Venue'] == 'Oslo']"),
        (
            "answer = games[games['Venue'] == 'Italy']",
            "answer = games[games['Venue'].isin(['Rome, Italy', 'Turin, Italy'])]",
        ),
        ("answer = games[games['Venue'].isin(['rome'])]", "answer = games[games['Venue'].isin(['Rome, Italy'])]"),
        ("answer = games[games['Venue'] == 'Paris']", "answer = games[games['Venue'] == 'Paris']"),
        ("answer = int(games['n'] > 1).sum())", "answer = int((games['n'] > 1).sum())"),
        ("answer = games[games['Day'] == 2003]", "answer = games[games['Day'].dt.year == 2003]"),
        ("answer = games[games['Day'] >= 5]", "answer = games[games['Day'] >= 5]"),
        (
            "answer = games.loc[games['n'].idxmax(), 'Venue'].iloc[0]",
            "answer = games.loc[games['n'].idxmax(), 'Venue']",
        ),
        ("answer = games['Venue'].value_counts().idxmax().tolist()", "answer = games['Venue'].value_counts().idxmax()"),
        ("games['venue'] = 1\nanswer = games['venue']", "games['venue'] = 1\nanswer = games['venue']"),
    ],
)
def test_mended(code: str, mended: str) -> None:
    assert _check(code) == mended


@pytest.mark.parametrize(
    "code",
    [
        "found = []\nfor v in games['n']:\n    found.append(v)\nanswer = found",
        "found = {}\n[found.setdefault(v, 1) for v in games['n']]\nanswer = found",
        "found = [0]\nfound[0] = games['n'].sum()\nanswer = found[0]",
        "def total():\n    return games['n'].sum()\nanswer = total()",
        "def main():\n    global answer\n    answer = len(games)\nmain()",
        "answer = 'no'\nif (games['n'] > 3).any():\n    answer = 'yes'",
        "limit = 3\nif (n := games['n'].max()) > limit:\n    answer = n",
        "with pd.option_context('mode.copy_on_write', True):\n    x = games['n']\nanswer = x.sum()",
    ],
)
def test_what_rests_on_the_data_may_run(code: str) -> None:
    assert _check(code) == code


def test_what_was_mended_is_said() -> None:
    checked = check_python("answer = games[games['venue'] == 'oslo']", BOXES, lambda box, column: CELLS.get(column, []))
    assert [c.kind for c in checked.cautions] == ["field_adjusted", "value_adjusted"]
    assert checked.cautions[1].text == "No Venue is 'oslo'; taken as 'Oslo'."


@pytest.mark.parametrize("form", ["import datetime", "from datetime import datetime", "import re, math"])
def test_imports_are_known_names(form: str) -> None:
    assert _check(f"{form}\nanswer = games['n'].sum()")
