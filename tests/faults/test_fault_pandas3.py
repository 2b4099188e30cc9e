"""FAULTS, "Values", code that models learnt on older pandas: what to write instead is said before the program runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from faulty import ask, complaint, csv

TABLE = "day,team,n\n2024-01-05,a,1\n2024-02-06,b,2\n2024-02-07,,3\n"
GOOD = "answer = t['n'].sum()"

# A program that pandas 3 refuses or takes amiss, and words that the model is told.
OLD = {
    "append": ("answer = t.append(t)['n'].sum()", "pd.concat"),
    "append kept": ("u = t.append(t)\nanswer = u['n'].sum()", "pd.concat"),
    "applymap": ("answer = t[['n']].applymap(lambda v: v + 1)", ".map(f)"),
    "iteritems": ("answer = [v for _, v in t['n'].iteritems()]", ".items()"),
    "fillna(method)": ("answer = t['team'].fillna(method='ffill').tolist()", ".ffill()"),
    "resample M": ("answer = t.resample('M', on='day')['n'].sum()", "'ME'"),
    "Grouper Q": ("answer = t.groupby(pd.Grouper(key='day', freq='Q'))['n'].sum()", "'QE'"),
    "groupby(axis)": ("answer = t[['n']].groupby(lambda c: c, axis=1).sum()", "frame.T.groupby"),
    "infer_datetime_format": ("answer = pd.to_datetime(t['day'], infer_datetime_format=True).max()", "leave it out"),
    "dtype object": ("answer = [c for c in t.columns if t[c].dtype == object]", "is_string_dtype"),
    "nanoseconds": ("answer = t['day'].astype('int64').max() // 10**9", "1970-01-01"),
    # These two change nothing, and say nothing.
    "chained assignment": ("t['n'][0] = 99\nanswer = t['n'].sum()", ".loc["),
    "fillna in place": ("t['team'].fillna('z', inplace=True)\nanswer = t['team'].tolist()", "inplace"),
}


@pytest.mark.parametrize("case", OLD)
def test_older_pandas_is_refused_with_what_to_write(case: str, in_folder: Path) -> None:
    code, words = OLD[case]
    assert words in complaint(csv(in_folder, TABLE), code, GOOD)


@pytest.mark.parametrize(
    "code",
    [
        "xs = []\nfor v in t['n']:\n    xs.append(v)\nanswer = sum(xs)",
        "xs = []\n[xs.append(v) for v in t['n']]\nanswer = sum(xs)",
        "answer = t.resample('ME', on='day')['n'].sum().sum()",
        "answer = t['n'].astype('int64').sum()",
        "answer = pd.concat([t, t])['n'].sum() // 2",
    ],
)
def test_what_still_works_is_left_alone(code: str, in_folder: Path) -> None:
    assert ask(csv(in_folder, TABLE), [code]).values == (6,)


def test_delim_whitespace_stands_in_a_file_that_may_not_be_read(in_folder: Path) -> None:
    told = complaint(csv(in_folder, TABLE), "answer = pd.read_csv('t.csv', delim_whitespace=True)", GOOD)
    assert "Do not read files" in told
