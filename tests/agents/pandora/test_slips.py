"""Slips of form in pandas that are mended before a program runs, and what is left alone."""

import pytest

from rowhop.agents.pandora.check import check_python
from rowhop.box import Box, BoxSet, Column

BOXES = BoxSet((Box("t", (Column("a", "text"), Column("b", "text"), Column("n", "integer"))),))
CELLS = {"a": ["Rome", "Oslo"], "b": ["A cell that a prompt cuts", "Turin"]}


def _check(code: str) -> str:
    return check_python(code, BOXES, lambda box, column: CELLS.get(column, [])).code


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("d = t.sort_values('n')\nanswer = d.iloc[0, 'a']", "d = t.sort_values('n')\nanswer = d['a'].iloc[0]"),
        ("answer = t.iloc[-1, ['a', 'n']]", "answer = t[['a', 'n']].iloc[-1]"),
        ("i = t.index[t['n'] == 3].iloc[0]\nanswer = i", "i = t.index[t['n'] == 3][0]\nanswer = i"),
        ("d = t[t['n'] > 3]\nanswer = d.loc[0, 'a']", "d = t[t['n'] > 3]\nanswer = d['a'].iloc[0]"),
        ("answer = t.sort_values('n').loc[0, 'a']", "answer = t.sort_values('n')['a'].iloc[0]"),
        ("answer = t[t['n'].idxmax()]['a']", "answer = t.loc[t['n'].idxmax()]['a']"),
        ("answer = len(t[t['a'] == 'Rome' & t['n'] == 3])", "answer = len(t[(t['a'] == 'Rome') & (t['n'] == 3)])"),
        (
            "answer = len(t[t['a'] == 'Rome' | t['n'] == 3 & t['n'] < 9])",
            "answer = len(t[(t['a'] == 'Rome') | (t['n'] == 3) & (t['n'] < 9)])",
        ),
        (
            "answer = len(t[t['a'] == 'Rome' & t['n'].isin([3])])",
            "answer = len(t[(t['a'] == 'Rome') & t['n'].isin([3])])",
        ),
        (
            "answer = len(t[t['n'].isin([3]) & t['a'] == 'Rome'])",
            "answer = len(t[t['n'].isin([3]) & (t['a'] == 'Rome')])",
        ),
        ("answer = season['n'].sum()", "answer = t['n'].sum()"),
        ("answer = t[t['n'] == 'Rome']['a']", "answer = t[t['a'] == 'Rome']['a']"),
        ("answer = t[t['b'] == 'A cell that…']['n']", "answer = t[t['b'] == 'A cell that a prompt cuts']['n']"),
    ],
)
def test_a_slip_is_mended(written: str, runs: str) -> None:
    assert _check(written) == runs


@pytest.mark.parametrize(
    "code",
    [
        "answer = t.loc[0, 'a']",
        "d = t.sort_values('n', ignore_index=True)\nanswer = d.loc[0, 'a']",
        "d = t.groupby('n')['a'].count()\nanswer = d.loc[3]",
        "d = t[t['n'] > 3]\nd = t.set_index('n')\nanswer = d.loc[3, 'a']",
        "d = t[t['n'] > 3]\nanswer = d.loc[2001, 'a']",
        "answer = t.iloc[0, 1]",
        "answer = t[(t['n'] == 3) & (t['a'] == 'Rome')]",
        "answer = (t['n'] & 1 == 1).sum()",
        "answer = t[t['n'] == 7]",
        "answer = t[t['a'] == 'Paris']",
    ],
)
def test_what_has_another_reading_stays(code: str) -> None:
    assert _check(code) == code
